//! The swarm, and injected bugs that it must find.

mod bugs;
mod defects;
mod labs;
mod shards;
