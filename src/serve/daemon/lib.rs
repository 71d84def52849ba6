//! A running switch on real ports: what clients see and change through its control socket, metrics
//! and DPDK's telemetry, and what follows from links and from the results of link protocols.
//!
//! [`Daemon`] is the switch; a command starts it, watches it and stops it. [`messages`] and
//! [`socket`] are what a client needs.

pub mod messages;
mod running;
pub mod socket;

#[cfg(feature = "dpdk")]
pub use running::eal_options;
pub use running::{Daemon, real_switch, seed};

use config::{Core, SwitchFile, WorkerPlan};
use runtime::{CONTROL_CPUS, Claims, Pin, Placement};

/// Log target of this crate.
const LOG: &str = "sluice::daemon";

/// Returns the CPUs that the workers of a switch would have if it started now.
pub fn preview(file: &SwitchFile) -> Placement {
    Claims::preview(&file.workers.iter().map(pin).collect::<Vec<_>>(), CONTROL_CPUS)
}

/// CPU of a worker in the terms of its thread.
const fn pin(worker: &WorkerPlan) -> Pin {
    match worker.core {
        Core::Auto => Pin::Auto,
        Core::None => Pin::None,
        Core::Number(cpu) => Pin::Cpu(cpu),
    }
}

#[cfg(test)]
#[path = "../../../tests/shared/testfolder.rs"]
mod testfolder;
