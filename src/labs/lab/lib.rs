//! Labs: a file with nodes, links, flows, faults and checks, run in the virtual or in the real
//! world.

pub mod cdf;
pub mod explore;
mod file;
mod memory;
mod resolve;
pub mod study;
pub mod swarm;

pub use file::{LabFile, examine, is_lab, load, load_raw, parse, resolve_raw};
pub use labfile as raw;
pub use labfile::lab_schema;
pub use labrun::*;
pub use memory::{memory_needed, refuse_memory};
pub use resolve::{LinkView, Resolved, set_tester};

#[cfg(test)]
#[path = "../../../tests/shared/testfolder.rs"]
mod testfolder;
#[cfg(test)]
mod tests;
