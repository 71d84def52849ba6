//! The end of a run, from which results are collected.

use super::samples::Samples;
use crate::population::Population;
use crate::world::World;
use ground::time::{Duration, Instant};
use sim::{NodeId, Tally};

/// Data of a flow that had arrived at some time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Counted {
    pub(crate) frames: u64,
    pub(crate) bytes: u64,
    /// Message bytes that had arrived in order; for flows with acknowledgements.
    pub(crate) delivered: Option<u64>,
}

/// Measurement interval, with the data of each flow that had arrived at its start and end.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    pub(crate) from: (Instant, Vec<Counted>),
    pub(crate) to: (Instant, Vec<Counted>),
}

/// End of a run.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    pub(crate) world: World,
    /// Network time.
    pub(crate) now: Instant,
    /// End time for the results.
    pub(crate) at: Instant,
    pub(crate) quiet: bool,
    /// Uncertainty of the difference between the clocks of two hosts.
    pub(crate) uncertainty: Duration,
    /// Frames of each lab flow that are still in the network, in the order of the lab.
    pub(crate) pending: Vec<u64>,
    /// Frames of each generator flow that are still in the network.
    pub(crate) pending_of_tester: Vec<u64>,
    /// Trace hash; virtual world only.
    pub(crate) trace_hash: Option<u64>,
    pub(crate) tally: Tally,
    /// Samples during the run; virtual world only.
    pub(crate) samples: Option<Samples>,
}

pub(super) fn station<N: Population>(nodes: &mut N, id: NodeId) -> &N::Host {
    nodes.host(id).expect("a flow's ends are hosts")
}
