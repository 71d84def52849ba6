//! Clocks of several threads with a bounded difference.
//!
//! Switches and hosts run in threads of an ordinary machine, and each may be off its CPU for longer
//! than a pause lasts. If time continued meanwhile, a host could find its pause expired only
//! because the switch was not there to renew it, and send into full buffers: a loss that cannot
//! occur on a real link, where both ends always run. So each thread has its own clock, which is
//! real time, or real time slowed down, with two exceptions: a gap between two of its polls counts
//! as one step at most, and it waits while it is ahead of any other by the span of the clock sync.
//! Excluded time is reported as stalled, and counts neither as latency nor for throughput.

use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam::utils::CachePadded;
use ground::time::{Duration, Instant, Total};

/// State that the clocks share.
#[derive(Debug)]
pub struct ClockSync {
    /// Time up to which each thread has polled.
    polled: Box<[CachePadded<SharedInstant>]>,
    /// Largest difference between any two.
    span: Duration,
    /// Longest gap between two polls that counts as time.
    step: Duration,
    /// Factor by which they run slower than real time.
    slow_down: u64,
}

/// Clock of one thread.
#[derive(Debug)]
pub struct ThreadClock<'a> {
    clock_sync: &'a ClockSync,
    side: usize,
    last: Instant,
    now: Instant,
    stalled: Total,
    waited: Option<Duration>,
}

impl ClockSync {
    /// Clocks of `threads` threads at zero, never further apart than `span`, which is also the
    /// longest gap between two polls that counts.
    #[must_use]
    pub fn new(threads: usize, span: Duration) -> Self {
        let polled = (0..threads).map(|_| CachePadded::default()).collect();
        Self { polled, span, step: span, slow_down: 1 }
    }

    /// Limits the time that a gap between two polls counts for to `step`.
    #[must_use]
    pub fn with_step(mut self, step: Duration) -> Self {
        // A step beyond the span could not be made: the clock sync would hold the clock back.
        self.step = step.min(self.span);
        self
    }

    /// Runs the clocks `times` slower than real time, which is at least 1.
    #[must_use]
    pub fn slowed_down(mut self, times: u64) -> Self {
        self.slow_down = times.max(1);
        self
    }

    /// Clock of one thread; `real` is the current real time.
    #[must_use]
    pub const fn thread_clock(&self, side: usize, real: Instant) -> ThreadClock<'_> {
        ThreadClock {
            clock_sync: self,
            side,
            last: real,
            now: Instant::ZERO,
            stalled: Total::ZERO,
            waited: None,
        }
    }

    /// Time up to which all threads have polled.
    #[must_use]
    pub fn polled(&self) -> Instant {
        self.slowest(usize::MAX)
    }

    /// Time up to which all threads but `side` have polled; NEVER if there are no others.
    #[inline]
    fn slowest(&self, side: usize) -> Instant {
        let others = self.polled.iter().enumerate().filter(|(n, _)| *n != side);
        let polled = others.map(|(_, polled)| polled.load());
        polled.min().unwrap_or(Instant::NEVER)
    }
}

impl ThreadClock<'_> {
    /// Advances to real time `real`, as far as the clock sync allows.
    #[inline]
    pub fn tick(&mut self, real: Instant) -> Instant {
        self.tick_to(real, Instant::NEVER)
    }

    /// Advances as [`Self::tick`], but not beyond `limit`, so that a poll takes place at that time.
    #[inline]
    pub fn tick_to(&mut self, real: Instant, limit: Instant) -> Instant {
        let slow_down = self.clock_sync.slow_down;
        let passed = real.since(self.last).div(slow_down);
        // A remainder below one picosecond is carried to the next tick.
        self.last = self.last.saturating_add(passed.saturating_mul(slow_down));
        // Its own time is not in the minimum, or a single thread would wait for itself.
        let most = self.clock_sync.slowest(self.side).saturating_add(self.clock_sync.span);
        let step = passed.min(self.clock_sync.step);
        // Never back: a limit in the past only holds the clock where it is.
        let next = self.now.saturating_add(step).min(most).min(limit).max(self.now);
        self.waited = (next >= most).then(|| match self.waited {
            Some(waited) if next == self.now => {
                waited.saturating_add(passed.saturating_mul(slow_down))
            }
            _ => Duration::ZERO,
        });
        // Whatever did not count: the gap beyond a step, and the wait for others.
        self.stalled += passed - next.since(self.now);
        self.now = next;
        next
    }

    /// Publishes that all work due by now is done: the other threads can see all frames that this
    /// one sent before they advance.
    #[inline]
    pub fn publish(&self) {
        self.clock_sync.polled[self.side].store(self.now);
    }

    /// Real time for which it has stood still, if it waits for another thread.
    #[inline]
    #[must_use]
    pub const fn waited(&self) -> Option<Duration> {
        self.waited
    }

    /// Real time at the last tick.
    #[inline]
    #[must_use]
    pub const fn real(&self) -> Instant {
        self.last
    }

    /// Current time of this clock.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// Time that passed and did not count.
    #[must_use]
    pub const fn stalled(&self) -> Total {
        self.stalled
    }
}

/// The high word is kept in units of 2^48 ps (281 s).
const COARSE_SHIFT: u32 = 48;

/// A time that its writer advances, by less than 2^63 ps (106 days) from one write to the next.
///
/// The two words are written and read one after the other. That is safe: the coarse one only
/// selects one of the instants with the same low word, and those are 2^64 ps apart.
#[derive(Debug, Default)]
pub struct SharedInstant {
    low: AtomicU64,
    coarse: AtomicU64,
}

impl SharedInstant {
    /// Sets the time. A thread that reads it sees all earlier writes of this thread.
    #[inline]
    pub fn store(&self, at: Instant) {
        // The coarse word first: the release of the low one makes it visible with it.
        self.coarse.store((at.as_picos() >> COARSE_SHIFT) as u64, Ordering::Relaxed);
        self.low.store(at.as_picos() as u64, Ordering::Release);
    }

    /// Returns the time last set.
    #[inline]
    #[must_use]
    pub fn load(&self) -> Instant {
        let low = self.low.load(Ordering::Acquire);
        nearest(low, self.coarse.load(Ordering::Relaxed))
    }
}

/// The instant with the low word `low` that is nearest to `coarse`.
#[inline]
const fn nearest(low: u64, coarse: u64) -> Instant {
    let near = (coarse as u128) << COARSE_SHIFT;
    // The distance as a signed word: the coarse time may be before or after by less than 2^63 ps.
    let ahead = low.wrapping_sub(near as u64) as i64;
    Instant::from_picos(near.wrapping_add_signed(ahead as i128))
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
            let clock_sync = ClockSync::new(threads, span).with_step(step).slowed_down(slow_down);
            let mut sides: Vec<_> = (0..threads).map(|n| clock_sync.thread_clock(n, Instant::ZERO)).collect();
            let mut real = Instant::ZERO;
            for (side, us) in steps {
                let side = side % threads;
                real += Duration::from_micros(us);
                let before = sides[side].now();
                let now = sides[side].tick(real);
                prop_assert!(now >= before && now.since(before) <= span.min(step));
                sides[side].publish();
                let slowest = sides.iter().map(ThreadClock::now).min().unwrap();
                prop_assert!(now.since(slowest) <= span);
                prop_assert_eq!(clock_sync.polled(), slowest);
                let total = sides[side].stalled() + now.since(Instant::ZERO);
                prop_assert_eq!(total, real.since(Instant::ZERO).div(slow_down));
            }
        }
    }

    #[test]
    fn a_clock_stops_where_it_is_told_to() {
        let clock_sync = ClockSync::new(1, Duration::from_micros(100));
        let mut clock = clock_sync.thread_clock(0, Instant::ZERO);
        let us = |n| Instant::ZERO + Duration::from_micros(n);
        assert_eq!(clock.tick_to(us(50), us(30)), us(30));
        assert_eq!(clock.tick(us(60)), us(40));
        assert_eq!(clock.stalled(), Duration::from_micros(20));
    }

    #[test]
    fn a_clock_that_stands_still_knows_for_how_long() {
        let clock_sync = ClockSync::new(2, Duration::from_micros(10)).slowed_down(4);
        let [mut fast, mut slow] = [0, 1].map(|n| clock_sync.thread_clock(n, Instant::ZERO));
        let us = |n| Instant::ZERO + Duration::from_micros(n);
        let mut waited = |at| {
            fast.tick(us(at));
            fast.waited()
        };
        assert_eq!(waited(20), None);
        assert_eq!(waited(60), Some(Duration::ZERO), "it advanced to the end of the span");
        assert_eq!(waited(100), Some(Duration::from_micros(40)));
        assert_eq!(waited(300), Some(Duration::from_micros(240)));
        slow.tick(us(300));
        slow.publish();
        assert_eq!(waited(304), None);
    }

    proptest! {
        #[test]
        fn a_word_of_the_next_write_does_no_harm(
            years in 0_u64..20, ps in 0_u64..1 << 63, step in 0_u64..1 << 62,
        ) {
            let mut at = Instant::from_picos(ps.into());
            (0..years * 2).for_each(|_| at += Duration::MAX);
            let next = at + Duration::from_picos(step);
            let shared = SharedInstant::default();
            shared.store(at);
            prop_assert_eq!(shared.load(), at);
            let coarse = |at: Instant| (at.as_picos() >> COARSE_SHIFT) as u64;
            prop_assert_eq!(nearest(at.as_picos() as u64, coarse(next)), at);
            prop_assert_eq!(nearest(next.as_picos() as u64, coarse(at)), next);
        }
    }
}
