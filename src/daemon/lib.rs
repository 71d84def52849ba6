//! A running switch on real ports: what clients see and change through its control socket, metrics
//! and DPDK's telemetry, and what follows from links and from the results of link protocols.
//!
//! [`Daemon`] is the switch; a command starts it, watches it and stops it. [`messages`] and
//! [`socket`] are what a client needs, and build without DPDK.

pub mod messages;
#[cfg(feature = "dpdk")]
mod running;
pub mod socket;

#[cfg(feature = "dpdk")]
pub use running::{Daemon, launch::eal_options, launch::real_switch, launch::seed};

/// Log target of this crate.
const LOG: &str = "sluice::daemon";

#[cfg(test)]
#[path = "../testfolder.rs"]
mod testfolder;
