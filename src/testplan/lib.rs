//! Tests of the traffic generator before they run: an Open Traffic Generator configuration, of a client or
//! of an [`otg_file`], which [`resolve`] makes the [`plan`] of a test, and its stations.

mod filter;
mod location;
pub mod otg_file;
pub mod plan;
pub mod replay;
pub mod resolve;
pub mod stations;

pub use location::QUEUES_MAX;
pub use stations::{Punctuality, RATE_DEFAULT, asked_rates, stations};

#[cfg(test)]
#[path = "../testfolder.rs"]
mod testfolder;
