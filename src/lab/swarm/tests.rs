//! The swarm itself, and bugs that it has to find.

mod bugs;
mod labs;
