//! Sluice: a lossless-Ethernet lab.
//!
//! The library is built in layers; a module uses those above it in this list and knows nothing of
//! those below (all but the commands are crates, whose manifests `tests/house/layering.rs` holds to it):
//!
//! - L0 [`units`], [`time`], [`verdict`], [`printable`]: numbers with their meaning, results of checks,
//!   text that is safe to show.
//! - L1 [`wire`]: one file per frame format. [`buffer`], [`pfc`], [`schedule`], [`congestion`],
//!   [`headroom`], [`discovery`]: machines that take time as an argument and never see a frame.
//! - L2 [`frame`], [`port`], [`world`], [`stats`]: what a world has to provide.
//! - L3 [`link`], [`switch`], [`host`]: the data plane, the same in every world.
//! - L4 [`sim`]: the virtual world. [`kernel`], `dpdk`, [`runtime`]: the real one. The first two alone have
//!   unsafe code.
//! - L5 [`text`] and `file`: tables, numbers and captures; files with their quantities and findings.
//!   [`config`], [`otg`], [`tester`], [`lab`]: files, plans, runs. [`results`], [`report`]: results by
//!   name; tables, pages and metrics. [`validate`]: tests of a device.
//!   [`benchmark`]: its speed. [`daemon`], `measure`: a running switch, links
//!   that are measured. [`cli`]: the commands.

pub use contracts::{frame, memory, port, stats, world};
#[cfg(feature = "dpdk")]
pub use dpdk;
pub use ground::{described, printable, rand, time, units, verdict};
#[cfg(feature = "instruments")]
pub use {benchmark, daemon, validate};
pub use {
    buffer, config, congestion, discovery, headroom, host, kernel, lab, link, pfc, report, results,
    runtime, schedule, secure, sim, switch, tester, text, wire,
};

/// Version of the program, with the commit of its sources.
pub const VERSION: &str = env!("SLUICE_VERSION");

pub mod cli;
#[cfg(test)]
#[path = "../tests/shared/testfolder.rs"]
mod testfolder;

/// The Open Traffic Generator: its protocol, and the conversion of its configurations to tests.
pub mod otg {
    pub use ::otg::{engine, model};
    #[cfg(feature = "instruments")]
    pub use ::otg::{proto, server};
    pub use tester::{otg_file as file, resolve};
}
