//! Runs of labs: from a plan to a run in the virtual or in the real world, and to its outcome.
//!
//! All that runs is compiled here, for speed; files, studies and drawn labs are in `lab`, for size.

mod ends;
mod error;
pub mod message_log;
mod outcome;
mod path;
mod plan;
mod population;
#[cfg(feature = "dpdk")]
pub mod real;
pub mod record;
mod run;
mod threads;
pub mod trial;
mod verdict;
mod virtual_run;
mod workers;
mod world;

pub use error::RunError;
pub use outcome::*;
pub use path::find;
pub use plan::*;
pub use run::{Runner, run};
pub use threads::Threads;
pub use virtual_run::{Options, Progress, Recording, Run};
#[cfg(any(test, feature = "rig"))]
pub use virtual_run::{run_changed, run_divided};
pub use workers::Workers;
pub use world::World;
