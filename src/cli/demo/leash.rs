//! Two clocks that never run apart.
//!
//! The switch and its hosts run in two threads of an ordinary machine, and either may be off its
//! CPU for longer than a pause lasts. Were time to run on meanwhile, a host could find its pause
//! expired only because the switch was not there to renew it, and send into buffers that are full:
//! a loss that no link would know, where both ends are always awake. So each thread has a clock of
//! its own, which is real time with two exceptions: a gap between two of its polls counts as the
//! span of the leash at most, and it waits while it is that far ahead of the other. Time that was
//! taken away is reported as stalled, and neither as latency nor as throughput.

use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam::utils::CachePadded;

use crate::time::{Duration, Instant};

/// What the two clocks know of each other.
#[derive(Debug)]
pub(super) struct Leash {
    /// Up to when each side has polled, in picoseconds.
    polled: [CachePadded<AtomicU64>; 2],
    /// How far they may be apart, and the longest gap between two polls that counts as time.
    span: Duration,
}

/// One end: the clock of one thread.
#[derive(Debug)]
pub(super) struct Tether<'a> {
    leash: &'a Leash,
    side: usize,
    last: Instant,
    now: Instant,
    stalled: Duration,
    waits: bool,
}

impl Leash {
    /// Two clocks at zero, never further apart than `span`.
    pub(super) fn new(span: Duration) -> Self {
        Self { polled: Default::default(), span }
    }

    /// The clock of side 0 or 1; `real` is real time now.
    pub(super) const fn tether(&self, side: usize, real: Instant) -> Tether<'_> {
        Tether {
            leash: self,
            side,
            last: real,
            now: Instant::ZERO,
            stalled: Duration::ZERO,
            waits: false,
        }
    }
}

impl Tether<'_> {
    /// Moves on to real time `real`, as far as the leash allows.
    #[inline]
    pub(super) fn tick(&mut self, real: Instant) -> Instant {
        let passed = real.since(self.last);
        self.last = real;
        let other = Instant::from_picos(self.leash.polled[1 - self.side].load(Ordering::Acquire));
        let most = other.saturating_add(self.leash.span);
        let next = self.now.saturating_add(passed.min(self.leash.span)).min(most).max(self.now);
        self.waits = next >= most;
        self.stalled += passed - next.since(self.now);
        self.now = next;
        next
    }

    /// Tells the other side that all was done that was due by now: what this side sent is there
    /// for it to see before it may go on.
    #[inline]
    pub(super) fn publish(&self) {
        self.leash.polled[self.side].store(self.now.as_picos(), Ordering::Release);
    }

    /// Whether it waits for the other side.
    #[inline]
    pub(super) const fn waits(&self) -> bool {
        self.waits
    }

    /// The time.
    pub(super) const fn now(&self) -> Instant {
        self.now
    }

    /// Real time that did not count.
    pub(super) const fn stalled(&self) -> Duration {
        self.stalled
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn clocks_never_run_apart_or_back_and_miss_no_time(
            span_us in 1_u64..5_000,
            steps in prop::collection::vec((0_usize..2, 0_u64..20_000), 1..200),
        ) {
            let span = Duration::from_micros(span_us);
            let leash = Leash::new(span);
            let mut sides = [0, 1].map(|side| leash.tether(side, Instant::ZERO));
            let mut real = Instant::ZERO;
            for (side, us) in steps {
                real += Duration::from_micros(us);
                let before = sides[side].now();
                let now = sides[side].tick(real);
                prop_assert!(now >= before && now.since(before) <= span);
                sides[side].publish();
                prop_assert!(now.since(sides[1 - side].now()) <= span);
                let total = Duration::from_picos(now.as_picos()) + sides[side].stalled();
                prop_assert_eq!(total, real.since(Instant::ZERO));
            }
        }
    }
}
