//! State and numbers that decide about a frame of a known flow without a signal.

use super::plan::{Count, NANOSECOND, SfcPlan};
use ground::time::{Duration, Instant};
use ground::units::{BitsPerSec, Bytes};

/// State of a congesting flow that every frame of it needs: with its key, one cache line.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Hot {
    /// Bytes of its selected frames.
    pub(super) octets: u64,
    /// End of the last requested pause, or of the spacing of messages, whichever is later.
    pub(super) busy_until: Instant,
    /// True if the count of messages was to be restarted and is not yet.
    pub(super) restarts: bool,
}

impl Hot {
    #[inline(always)]
    pub(super) fn add(&mut self, octets: Bytes) {
        self.octets = self.octets.saturating_add(octets.0);
    }
}

/// The numbers of a plan that decide about frames without a signal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quick {
    /// False if a decision needs more than [`Hot`] has: a meter, patience, messages counted since
    /// the flow was found, or pauses that are always too short.
    pub(super) possible: bool,
    /// Shortest pause in whole nanoseconds.
    shortest: u64,
    pub(super) octets_min: u64,
    pub(super) udp_port: u16,
}

impl Quick {
    pub(super) fn of(plan: &SfcPlan) -> Self {
        let shortest = plan.pause_min.max(NANOSECOND).as_picos().div_ceil(1_000);
        let possible = plan.meter.rate.is_none()
            && plan.patience == Duration::ZERO
            && plan.dialect.count == Count::PerPause
            && shortest <= plan.pause_max.as_nanos();
        let (octets_min, udp_port) = (plan.octets_min.0, plan.udp_port);
        Self { possible, shortest, octets_min, udp_port }
    }

    /// Returns the length of a queue from which a pause for it is at least the shortest one.
    pub(super) fn long(&self, target: Bytes, drain: BitsPerSec) -> u64 {
        let surplus = (u128::from(self.shortest) * u128::from(drain.get())).div_ceil(8_000_000_000);
        u64::try_from(surplus + u128::from(target.0)).unwrap_or(u64::MAX)
    }
}
