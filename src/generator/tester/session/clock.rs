//! The clock of a test: real time or, if all ports are in memory, a time that waits for the
//! polling threads.
//!
//! A test whose ports are all ends of pairs in memory has no external peer. Preemption of its
//! threads then need not count: a pause storm does not end because its thread was preempted, and
//! a flow has no gap that no wire would cause. So its clocks are
//! [leashed](runtime::Leash), and the excluded time is reported. As soon as one port leads
//! out of the process, time is real and includes all preemption.

use dpdk::TscClock;
use ground::time::{Duration, Instant, Total};
use runtime::{Leash, Tether};

/// Maximum difference between leashed clocks, which is also the longest gap between two polls
/// that counts. A choice: less than half of the longest pause at 100 Gb/s (335 us), so that one
/// that is renewed in time never expires, and longer than a poll with full bursts.
const SPAN: Duration = Duration::from_micros(100);

/// The same with a device in the process of the test, which is polled by the thread of its stations: all times
/// are exact to that. A choice: two quanta at 1 Gb/s.
pub const DEVICE_SPAN: Duration = Duration::from_micros(1);

/// The clock of all threads of a test.
#[derive(Debug)]
pub(super) struct Time {
    real: TscClock,
    /// The time at which new clocks start.
    zero: Instant,
    leash: Option<(Leash, Duration)>,
}

/// The clock of one thread.
#[derive(Debug)]
pub(super) enum Clock<'a> {
    Real(&'a TscClock),
    Leashed(&'a TscClock, Tether<'a>),
}

impl Time {
    /// A clock for a number of threads; leashed if all ports are in memory.
    pub(super) fn new(
        real: TscClock,
        threads: usize,
        (in_memory, has_device): (bool, bool),
    ) -> Self {
        let span = if has_device { DEVICE_SPAN } else { SPAN };
        let leash = in_memory.then(|| (Leash::new(threads, span), span));
        Self { zero: real.now(), real, leash }
    }

    /// Returns the clock of a thread; each thread has one, and polls until the end.
    pub(super) fn clock(&self, thread: usize) -> Clock<'_> {
        match &self.leash {
            None => Clock::Real(&self.real),
            Some((leash, _)) => Clock::Leashed(&self.real, leash.tether(thread, self.zero)),
        }
    }

    /// Returns the current time of the slowest thread.
    pub(super) fn now(&self) -> Instant {
        self.leash.as_ref().map_or_else(|| self.real.now(), |(leash, _)| leash.polled())
    }

    /// Maximum time by which a thread may be ahead of [`Time::now`].
    pub(super) fn spread(&self) -> Duration {
        self.leash.as_ref().map_or(Duration::ZERO, |(_, span)| *span)
    }

    /// True if the clock waits for the threads.
    pub(super) const fn is_leashed(&self) -> bool {
        self.leash.is_some()
    }

    /// The least difference that the clock resolves.
    pub(super) fn resolution(&self) -> Duration {
        Duration::from_picos(1_000_000_000_000_u64.div_ceil(self.real.hz().max(1)))
    }
}

impl Clock<'_> {
    /// Returns the time for a poll.
    #[inline]
    pub(super) fn tick(&mut self) -> Instant {
        match self {
            Self::Real(real) => real.now(),
            Self::Leashed(real, tether) => tether.tick(real.now()),
        }
    }

    /// Returns the time for an order between two polls, the last of which was at `last`. A leashed clock does not go
    /// on for it: between two polls it goes on by a step at most.
    pub(super) fn between(&self, last: Instant) -> Instant {
        match self {
            Self::Real(real) => real.now(),
            Self::Leashed(..) => last,
        }
    }

    /// Returns the real time at the tick that returned `now`.
    #[inline]
    pub(super) const fn real(&self, now: Instant) -> Instant {
        match self {
            Self::Real(_) => now,
            Self::Leashed(_, tether) => tether.real(),
        }
    }

    /// Publishes that all work due at the tick is done.
    #[inline]
    pub(super) fn publish(&self) {
        if let Self::Leashed(_, tether) = self {
            tether.publish();
        }
    }

    /// True if it waits for another thread.
    #[inline]
    pub(super) const fn waits(&self) -> bool {
        match self {
            Self::Real(_) => false,
            Self::Leashed(_, tether) => tether.waits(),
        }
    }

    /// The excluded time.
    pub(super) const fn stalled(&self) -> Total {
        match self {
            Self::Real(_) => Total::ZERO,
            Self::Leashed(_, tether) => tether.stalled(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Otherwise a device in the process of the test would be polled two steps later, and be found late.
    #[test]
    fn an_order_takes_no_time_of_a_leashed_clock() {
        for (in_memory, stands_still) in [(true, true), (false, false)] {
            let time = Time::new(TscClock::new(), 1, (in_memory, in_memory));
            let mut clock = time.clock(0);
            let last = clock.tick();
            let until = std::time::Instant::now() + std::time::Duration::from_millis(1);
            while std::time::Instant::now() < until {}
            assert_eq!(clock.between(last) == last, stands_still);
            let next = clock.tick();
            assert!(!in_memory || next.since(last) <= DEVICE_SPAN, "{next:?}");
        }
    }
}
