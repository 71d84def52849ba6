//! The traffic generator as its users see it: named ports at locations, flows between them,
//! counters, captures.
//!
//! [`plan`] is the test to run, which [`resolve`] makes from an Open Traffic Generator
//! configuration, of a client or of an [`otg_file`]. [`report`] holds the results, from which every
//! table, file and response is made; [`judge`] compares them with the configuration, [`memory`]
//! calculates the memory that a test takes, and [`history`] records the results over time.
//! [`drive`] runs a test from start to end in either world.

pub mod capture;
pub mod drive;
#[cfg(feature = "dpdk")]
pub mod engine;
pub mod figures;
pub mod history;
pub mod judge;
mod location;
pub mod memory;
pub mod otg_file;
pub mod plan;
#[cfg(feature = "dpdk")]
pub mod real_run;
pub mod replay;
pub mod report;
pub mod resolve;
#[cfg(feature = "dpdk")]
pub mod self_test;
#[cfg(feature = "dpdk")]
pub mod session;
pub mod standing;
pub mod stations;
pub mod tally;
pub mod virtual_run;

pub use figures::Measured;
pub use location::{Access, QUEUES_MAX};
pub use stations::{Punctuality, RATE_DEFAULT, asked_rates, stations};

#[cfg(test)]
#[path = "../../../tests/shared/testfolder.rs"]
mod testfolder;
