//! The number of threads that run a network.

use std::num::NonZeroU16;

use super::record::Recorder;
use sim::check::Checkers;
use sim::{Network, Partition, Witness};

/// Threads that ran a network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Threads {
    /// Number of threads, 1 or more.
    pub used: usize,
    /// Reason for which there was one although more were configured.
    pub why_one: Option<&'static str>,
}

impl Default for Threads {
    fn default() -> Self {
        Self { used: 1, why_one: None }
    }
}

/// Divides a network before its first event, if there are to be several threads and its observers allow it.
pub(super) fn divide(
    network: &mut Network<(Recorder, Checkers)>,
    threads: Option<NonZeroU16>,
    partition: impl FnOnce() -> Partition,
) -> Threads {
    if threads.is_none_or(|threads| threads.get() == 1) {
        return Threads::default();
    }
    let (recorder, checkers) = network.witness_mut();
    let captures = (!recorder.is_divisible()).then_some("captures need the order of time");
    if let Some(why) = captures.or(checkers.needs_whole()) {
        return Threads { used: 1, why_one: Some(why) };
    }
    if network.divide(partition()) {
        return Threads { used: network.parts(), why_one: None };
    }
    Threads { used: 1, why_one: Some("the network cannot be divided into parts of equal work") }
}
