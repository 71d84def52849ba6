//! The traffic generator as its users see it: named ports at locations, flows between them, what
//! was counted, what was captured.
//!
//! [`plan`] is what is to be run, made by `otg` of an Open Traffic Generator configuration;
//! [`report`] is what came of it, from which every table, file and answer to a client is made;
//! [`judge`] holds that against the configuration, and [`history`] keeps how it came about.
//! [`drive`] takes a test from its start to its end, in whichever world.

pub mod access;
pub mod capture;
pub mod drive;
#[cfg(feature = "dpdk")]
pub mod engine;
pub mod figures;
pub mod history;
pub mod judge;
mod location;
pub mod plan;
pub mod replay;
pub mod report;
#[cfg(feature = "dpdk")]
pub mod self_test;
#[cfg(feature = "dpdk")]
pub mod session;
pub mod standing;
mod stations;
pub mod tally;
mod time;
pub mod virtual_run;

pub use location::QUEUES_MAX;
pub use stations::{Punctuality, RATE_DEFAULT, asked_rates, stations};
pub use time::Measured;
