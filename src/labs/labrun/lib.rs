//! Runs of labs: from a plan to a run in the virtual or in the real world, and to its outcome.
//!
//! All that runs is compiled here, for speed; files, studies and drawn labs are in `lab`, for size.

mod data_times;
mod outcome;
mod plan;
mod population;
mod promises;
#[cfg(feature = "dpdk")]
pub mod real;
pub mod record;
mod run;
pub mod trial;
mod verdict;
mod workers;

pub use outcome::*;
pub use plan::*;
pub use run::{Options, Progress, Recording, Run, RunError, Runner, World, run};
#[cfg(any(test, feature = "rig"))]
pub use run::{run_changed, run_divided};
pub use workers::{Threads, Workers};
