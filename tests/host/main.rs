//! Hosts of the virtual world, and stations on ports in memory.

#[path = "../support/bench.rs"]
mod bench;
#[path = "../common/mod.rs"]
mod common;
#[path = "../support/link.rs"]
mod link;
#[path = "../support/messages.rs"]
mod messages;

mod meter;
mod neighbours;
mod qcn;
mod reactions;
mod station;
mod streams;
mod transport;
