//! The traffic generator as its users see it: named ports at locations, flows between them, what
//! was counted, what was captured.
//!
//! [`plan`] is what is to be run, made by `otg` of an Open Traffic Generator configuration;
//! [`report`] is what came of it, from which every table, file and answer to a client is made.

pub mod capture;
#[cfg(feature = "dpdk")]
pub mod engine;
mod location;
pub mod plan;
pub mod replay;
pub mod report;
#[cfg(feature = "dpdk")]
pub mod self_test;
#[cfg(feature = "dpdk")]
pub mod session;
mod stations;
pub mod tally;

pub use location::QUEUES_MAX;
pub use stations::{Punctuality, RATE_DEFAULT, asked_rates, stations};
