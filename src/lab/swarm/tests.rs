//! The swarm, and injected bugs that it must find.

mod bugs;
mod labs;
mod shards;
