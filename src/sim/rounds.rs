//! State of the rounds in which the parts of a network run.

use super::partition::Partition;
use ground::time::{Duration, Instant};

/// State of the rounds of several parts.
#[derive(Debug)]
pub(super) struct Rounds {
    pub(super) partition: Partition,
    /// By part and part: least time from an event of one to an arrival at the other that follows from it.
    pub(super) reach: Vec<Vec<Duration>>,
    /// By part: no event is earlier.
    pub(super) bounds: Vec<Instant>,
    /// Events of the last round.
    pub(super) events: u64,
    /// Rounds, and those of them that the executor ran.
    pub(super) run: (u64, u64),
}
