//! Clocks of several threads that never run apart.
//!
//! Switches and hosts run in threads of an ordinary machine, and each may be off its CPU for longer
//! than a pause lasts. Were time to run on meanwhile, a host could find its pause expired only
//! because the switch was not there to renew it, and send into buffers that are full: a loss that no
//! link would know, where both ends are always awake. So each thread has a clock of its own, which
//! is real time, or a slow motion of it, with two exceptions: a gap between two of its polls counts
//! as one step at most, and it waits while it is the span of the leash ahead of any other. Time that
//! was taken away is reported as stalled, and neither as latency nor as throughput.

use crossbeam::utils::CachePadded;

use super::SharedInstant;
use crate::time::{Duration, Instant, Total};

/// What the clocks know of each other.
#[derive(Debug)]
pub struct Leash {
    /// Up to when each thread has polled.
    polled: Box<[CachePadded<SharedInstant>]>,
    /// How far any two may be apart.
    span: Duration,
    /// The longest gap between two polls that counts as time.
    step: Duration,
    /// How much slower than real time they run.
    slow_down: u64,
}

/// One end: the clock of one thread.
#[derive(Debug)]
pub struct Tether<'a> {
    leash: &'a Leash,
    side: usize,
    last: Instant,
    now: Instant,
    stalled: Total,
    waits: bool,
}

impl Leash {
    /// Clocks of so many threads at zero, never further apart than `span`, which is also the
    /// longest gap between two polls that counts.
    #[must_use]
    pub fn new(threads: usize, span: Duration) -> Self {
        let polled = (0..threads).map(|_| CachePadded::default()).collect();
        Self { polled, span, step: span, slow_down: 1 }
    }

    /// Lets no gap between two polls count for more than `step`.
    #[must_use]
    pub fn with_step(mut self, step: Duration) -> Self {
        self.step = step.min(self.span);
        self
    }

    /// Lets the clocks run `times` slower than real time, which is at least 1.
    #[must_use]
    pub fn slowed_down(mut self, times: u64) -> Self {
        self.slow_down = times.max(1);
        self
    }

    /// The clock of one thread; `real` is real time now.
    #[must_use]
    pub const fn tether(&self, side: usize, real: Instant) -> Tether<'_> {
        Tether {
            leash: self,
            side,
            last: real,
            now: Instant::ZERO,
            stalled: Total::ZERO,
            waits: false,
        }
    }

    /// Up to when all threads have polled.
    #[must_use]
    pub fn polled(&self) -> Instant {
        self.slowest(usize::MAX)
    }

    /// Up to when all threads but `side` have polled; NEVER if there are no others.
    #[inline]
    fn slowest(&self, side: usize) -> Instant {
        let others = self.polled.iter().enumerate().filter(|(n, _)| *n != side);
        let polled = others.map(|(_, polled)| polled.load());
        polled.min().unwrap_or(Instant::NEVER)
    }
}

impl Tether<'_> {
    /// Moves on to real time `real`, as far as the leash allows.
    #[inline]
    pub fn tick(&mut self, real: Instant) -> Instant {
        self.tick_to(real, Instant::NEVER)
    }

    /// The same, but not beyond `limit`, so that a poll takes place at that very moment.
    #[inline]
    pub fn tick_to(&mut self, real: Instant, limit: Instant) -> Instant {
        let slow_down = self.leash.slow_down;
        let passed = real.since(self.last).div(slow_down);
        // What is less than a picosecond here is left for the next time.
        self.last = self.last.saturating_add(passed.saturating_mul(slow_down));
        let most = self.leash.slowest(self.side).saturating_add(self.leash.span);
        let step = passed.min(self.leash.step);
        let next = self.now.saturating_add(step).min(most).min(limit).max(self.now);
        self.waits = next >= most;
        self.stalled += passed - next.since(self.now);
        self.now = next;
        next
    }

    /// Tells the other threads that all was done that was due by now: what this one sent is there
    /// for them to see before they may go on.
    #[inline]
    pub fn publish(&self) {
        self.leash.polled[self.side].store(self.now);
    }

    /// Whether it waits for another thread.
    #[inline]
    #[must_use]
    pub const fn waits(&self) -> bool {
        self.waits
    }

    /// Real time at the last tick.
    #[inline]
    #[must_use]
    pub const fn real(&self) -> Instant {
        self.last
    }

    /// The time.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// Time that would have passed and did not count.
    #[must_use]
    pub const fn stalled(&self) -> Total {
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
            step_us in 1_u64..5_000,
            slow_down in 1_u64..50,
            threads in 1_usize..5,
            steps in prop::collection::vec((0_usize..4, 0_u64..20_000), 1..200),
        ) {
            let (span, step) = (Duration::from_micros(span_us), Duration::from_micros(step_us));
            let leash = Leash::new(threads, span).with_step(step).slowed_down(slow_down);
            let mut sides: Vec<_> = (0..threads).map(|n| leash.tether(n, Instant::ZERO)).collect();
            let mut real = Instant::ZERO;
            for (side, us) in steps {
                let side = side % threads;
                real += Duration::from_micros(us);
                let before = sides[side].now();
                let now = sides[side].tick(real);
                prop_assert!(now >= before && now.since(before) <= span.min(step));
                sides[side].publish();
                let slowest = sides.iter().map(Tether::now).min().unwrap();
                prop_assert!(now.since(slowest) <= span);
                prop_assert_eq!(leash.polled(), slowest);
                let total = sides[side].stalled() + now.since(Instant::ZERO);
                prop_assert_eq!(total, real.since(Instant::ZERO).div(slow_down));
            }
        }
    }

    #[test]
    fn a_clock_stops_where_it_is_told_to() {
        let leash = Leash::new(1, Duration::from_micros(100));
        let mut clock = leash.tether(0, Instant::ZERO);
        let us = |n| Instant::ZERO + Duration::from_micros(n);
        assert_eq!(clock.tick_to(us(50), us(30)), us(30));
        assert_eq!(clock.tick(us(60)), us(40));
        assert_eq!(clock.stalled(), Duration::from_micros(20));
    }
}
