//! Reasons why a lab cannot be run on rings.

use std::time::Duration as StdDuration;

use host::PlanError;
use sim::NetworkError;
use switch::{ChangeError, SwitchError};

/// Real time without progress, preemption not counted, after which the run is aborted.
pub(super) const PATIENCE: StdDuration = StdDuration::from_secs(60);

/// Reason why a lab cannot be run on rings.
#[derive(Debug, thiserror::Error)]
pub enum RealError {
    /// The network plan contradicts itself.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// A switch's plan contradicts itself.
    #[error(transparent)]
    Switch(#[from] SwitchError),
    /// A host's plan contradicts itself.
    #[error(transparent)]
    Host(#[from] PlanError),
    /// The lab has more links than DPDK has ports.
    #[error(
        "links: the lab has {links} and DPDK has ports for {most} in a process; try fewer, or \
         `--world virtual`"
    )]
    Links {
        /// Number of links of the lab.
        links: usize,
        /// Maximum.
        most: usize,
    },
    /// The headroom that rings need exceeds the cells that a buffer can count.
    #[error(
        "profiles.buffer.cell: the buffer of {node}, with the headroom that rings need, has more \
         cells than 32 bits can count; take larger cells"
    )]
    Buffer { node: String },
    /// A switch refused a planned change.
    #[error("faults: {node} refuses the planned change: {source}")]
    Change { node: String, source: ChangeError },
    /// DPDK has no memory, or no port.
    #[error(transparent)]
    Dpdk(#[from] dpdk::Error),
    /// No thread made progress.
    #[error("the lab's time did not go on for {} s although its threads ran", PATIENCE.as_secs())]
    Stuck,
    #[error("a thread of the lab panicked")]
    Panicked,
}

impl RealError {
    /// True if the lab is invalid, false for errors of the machine.
    #[must_use]
    pub const fn is_bad_input(&self) -> bool {
        !matches!(self, Self::Dpdk(_) | Self::Stuck | Self::Panicked)
    }
}
