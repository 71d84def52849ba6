//! Labs: a file with nodes, links, flows, faults and checks, run in the virtual or in the real
//! world.

pub mod cdf;
mod ends;
mod error;
pub mod explore;
mod file;
mod memory;
mod message_log;
mod outcome;
mod path;
mod plan;
mod population;
#[cfg(feature = "dpdk")]
pub mod real;
pub mod record;
mod resolve;
mod run;
pub mod study;
pub mod swarm;
mod threads;
mod verdict;
mod virtual_run;
mod workers;
mod world;

pub use error::RunError;
pub use file::{LabFile, examine, is_lab, load, load_changed, parse, resolve_raw};
pub use labfile as raw;
pub use labfile::lab_schema;
pub use memory::{memory_needed, refuse_memory};
pub use outcome::*;
pub use path::find;
pub use plan::*;
pub use resolve::{LinkView, Resolved};
pub use run::{Runner, run};
pub use threads::Threads;
pub use virtual_run::{Options, Progress, Recording, Run};
pub use workers::Workers;
pub use world::World;

#[cfg(test)]
#[path = "../testfolder.rs"]
mod testfolder;
#[cfg(test)]
mod tests;
