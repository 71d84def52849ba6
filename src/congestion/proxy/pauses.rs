//! One port's pauses: until when each priority is wanted paused, until when its host was told to, and
//! the frames between the two.

use super::PauseTimes;
use crate::time::{Duration, Instant};
use crate::units::{BitsPerSec, PRIORITIES, Priority, PrioritySet, Quanta};

/// How much of the longest pause that a frame can say is left when it is renewed: 1 of 2, as a port's
/// own pauses are. A late poll has that long before the host resumes.
const RENEW_OF: u64 = 2;

/// The pauses of one port.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pauses {
    rate: BitsPerSec,
    wanted: [Instant; PRIORITIES],
    told: [Instant; PRIORITIES],
    /// The earliest time at which any priority has something to say.
    due_at: Instant,
}

impl Pauses {
    pub(super) const fn new(rate: BitsPerSec) -> Self {
        Self {
            rate,
            wanted: [Instant::ZERO; PRIORITIES],
            told: [Instant::ZERO; PRIORITIES],
            due_at: Instant::NEVER,
        }
    }

    pub(super) const fn until(&self, priority: Priority) -> Instant {
        self.wanted[priority.index()]
    }

    pub(super) const fn next_deadline(&self) -> Instant {
        self.due_at
    }

    /// Wants `priority` paused until `until`, which is not before what was wanted.
    pub(super) fn lengthen(&mut self, priority: Priority, until: Instant) {
        assert!(until >= self.until(priority), "a message never shortens a pause");
        self.wanted[priority.index()] = until;
        self.look();
    }

    /// What is due now in one frame, if anything is.
    pub(super) fn due(&self, now: Instant) -> Option<PauseTimes> {
        let times = self.merge(now, PauseTimes::default());
        (!times.named.is_empty()).then_some(times)
    }

    /// `own`, with no priority paused for less than is wanted here, and with all that is due here.
    pub(super) fn merge(&self, now: Instant, own: PauseTimes) -> PauseTimes {
        let mut times = own;
        for p in Priority::ALL {
            let needed = quanta(self.until(p).since(now), self.rate);
            if self.due_of(p) <= now && needed > Quanta(0) {
                times.named.insert(p);
            }
            if times.named.contains(p) {
                times.time[p.index()] = times.time[p.index()].max(needed);
            }
        }
        times
    }

    /// A frame left at `now`, whosever it was: the latest time is what the host goes by.
    pub(super) fn on_sent(&mut self, now: Instant, sent: &PauseTimes) {
        for p in sent.named.iter() {
            let pause = sent.time[p.index()].at(self.rate);
            self.told[p.index()] = now.saturating_add(pause);
        }
        self.look();
    }

    /// Forgets pauses that were over before a frame said so; gives how many.
    pub(super) fn forget_missed(&mut self, now: Instant) -> u64 {
        let over = |&p: &Priority| self.until(p) <= now && self.due_of(p) < Instant::NEVER;
        let missed: PrioritySet = Priority::ALL.into_iter().filter(over).collect();
        self.forget_wanted(missed);
        missed.iter().count() as u64
    }

    /// Wants none of these paused any more. What their host was told runs out by itself.
    pub(super) fn forget_wanted(&mut self, priorities: PrioritySet) {
        priorities.iter().for_each(|p| self.wanted[p.index()] = Instant::ZERO);
        self.look();
    }

    /// Neither wants these paused any more, nor does their host know of it.
    pub(super) fn forget(&mut self, priorities: PrioritySet) {
        priorities.iter().for_each(|p| self.told[p.index()] = Instant::ZERO);
        self.forget_wanted(priorities);
    }

    /// The link has another rate. A host counts bit times, so what is left of its pauses is as many
    /// of the new ones.
    pub(super) fn set_rate(&mut self, now: Instant, rate: BitsPerSec) {
        let (old, new) = (u128::from(self.rate.get()), u128::from(rate.get()));
        for told in self.told.iter_mut().filter(|told| **told > now) {
            let left = u128::from(told.since(now).as_picos()) * old / new;
            let left = u64::try_from(left).unwrap_or(u64::MAX);
            *told = now.saturating_add(Duration::from_picos(left));
        }
        self.rate = rate;
        self.look();
    }

    fn look(&mut self) {
        let due = Priority::ALL.map(|p| self.due_of(p));
        self.due_at = due.into_iter().min().unwrap_or(Instant::NEVER);
    }

    /// When `priority` has something to say: at once if its host has heard of less than is wanted,
    /// unless it has heard of so much that a renewal will do.
    fn due_of(&self, priority: Priority) -> Instant {
        let told = self.told[priority.index()];
        if self.until(priority) <= told {
            return Instant::NEVER;
        }
        told.saturating_sub(Quanta::MAX.at(self.rate).div(RENEW_OF))
    }
}

/// The quanta that last `pause` at `rate`: rounded up, so that a host never resumes early, and as many
/// as a frame can say.
pub(super) fn quanta(pause: Duration, rate: BitsPerSec) -> Quanta {
    const PICOS_PER_QUANTUM_BIT: u128 = 512 * 1_000_000_000_000;
    let bits = u128::from(pause.as_picos()) * u128::from(rate.get());
    let quanta = bits.div_ceil(PICOS_PER_QUANTUM_BIT);
    Quanta(u16::try_from(quanta).unwrap_or(u16::MAX))
}
