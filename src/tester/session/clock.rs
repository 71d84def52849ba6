//! The time of a test: that of the machine, or, where nothing but memory is tested, one that waits
//! for the threads that look after it.
//!
//! A test whose ports are all ends of pairs in memory has no peer outside. What the machine takes
//! away from its threads then need not count: a storm whose thread was off its CPU is not over, and
//! a flow does not find a gap in it that no wire would have. So its clocks are
//! [on a leash](crate::runtime::Leash), and what did not count is told. As soon as one port leads
//! out of the process, time is real, with whatever the machine does to it.

use crate::dpdk::TscClock;
use crate::runtime::{Leash, Tether};
use crate::time::{Duration, Instant, Total};

/// How far clocks on a leash may be apart, which is also the longest gap between two polls that
/// counts. A choice: less than half of the longest pause at 100 Gb/s (335 us), so that one that is
/// renewed in time never runs out, and more than a poll takes that moves all it can.
const SPAN: Duration = Duration::from_micros(100);

/// The time of all threads of a test.
#[derive(Debug)]
pub(super) struct Time {
    real: TscClock,
    /// What all clocks are told that start now.
    zero: Instant,
    leash: Option<Leash>,
}

/// The clock of one thread.
#[derive(Debug)]
pub(super) enum Clock<'a> {
    Real(&'a TscClock),
    Leashed(&'a TscClock, Tether<'a>),
}

impl Time {
    /// By a clock, for so many threads; on a leash if all ports are in memory.
    pub(super) fn new(real: TscClock, threads: usize, in_memory: bool) -> Self {
        let leash = in_memory.then(|| Leash::new(threads, SPAN));
        Self { zero: real.now(), real, leash }
    }

    /// The clock of a thread; each has one, and polls until the end.
    pub(super) fn clock(&self, thread: usize) -> Clock<'_> {
        match &self.leash {
            None => Clock::Real(&self.real),
            Some(leash) => Clock::Leashed(&self.real, leash.tether(thread, self.zero)),
        }
    }

    /// The time now, as the slowest thread has it.
    pub(super) fn now(&self) -> Instant {
        self.leash.as_ref().map_or_else(|| self.real.now(), Leash::polled)
    }

    /// How far a thread may be ahead of [`Time::now`].
    pub(super) fn spread(&self) -> Duration {
        if self.leash.is_some() { SPAN } else { Duration::ZERO }
    }

    /// Whether time waits for its threads.
    pub(super) const fn is_leashed(&self) -> bool {
        self.leash.is_some()
    }

    /// The smallest difference that the clock can tell.
    pub(super) fn resolution(&self) -> Duration {
        Duration::from_picos(1_000_000_000_000_u64.div_ceil(self.real.hz().max(1)))
    }
}

impl Clock<'_> {
    /// The time at which to poll.
    #[inline]
    pub(super) fn tick(&mut self) -> Instant {
        match self {
            Self::Real(real) => real.now(),
            Self::Leashed(real, tether) => tether.tick(real.now()),
        }
    }

    /// Real time at the tick that gave `now`.
    #[inline]
    pub(super) const fn real(&self, now: Instant) -> Instant {
        match self {
            Self::Real(_) => now,
            Self::Leashed(_, tether) => tether.real(),
        }
    }

    /// All was done that was due.
    #[inline]
    pub(super) fn publish(&self) {
        if let Self::Leashed(_, tether) = self {
            tether.publish();
        }
    }

    /// Whether it waits for another thread.
    #[inline]
    pub(super) const fn waits(&self) -> bool {
        match self {
            Self::Real(_) => false,
            Self::Leashed(_, tether) => tether.waits(),
        }
    }

    /// Time that did not count.
    pub(super) const fn stalled(&self) -> Total {
        match self {
            Self::Real(_) => Total::ZERO,
            Self::Leashed(_, tether) => tether.stalled(),
        }
    }
}
