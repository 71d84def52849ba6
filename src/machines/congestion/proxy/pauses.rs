//! Pauses of one port: the end of each priority's pause as requested and as sent to the host, and
//! the frames that result; and the bounds on a flood of messages: their number, and the total pause
//! time.

use super::plan::PausePolicy;
use crate::SharedPause;
use ground::time::{Duration, Instant};
use ground::units::{BitsPerSec, PRIORITIES, PauseVector, Priority, PrioritySet, Quanta};
use wire::flow::FiveTuple;

/// Fraction of the maximum pause time at which it is renewed: 1 of 2, as for a port's own pauses. A
/// late poll has that much time before the host resumes.
const RENEW_OF: u64 = 2;

/// Pauses of one port.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pauses {
    rate: BitsPerSec,
    wanted: [SharedPause; PRIORITIES],
    sent: [Instant; PRIORITIES],
    /// Priorities whose pause was shortened without a frame to the host yet.
    shortened: PrioritySet,
    /// Earliest time at which a frame is due for any priority.
    due_at: Instant,
}

impl Pauses {
    pub(super) const fn new(rate: BitsPerSec) -> Self {
        Self {
            rate,
            wanted: [SharedPause::NONE; PRIORITIES],
            sent: [Instant::ZERO; PRIORITIES],
            shortened: PrioritySet::EMPTY,
            due_at: Instant::NEVER,
        }
    }

    pub(super) const fn until(&self, priority: Priority) -> Instant {
        self.wanted[priority.index()].until()
    }

    pub(super) const fn next_deadline(&self) -> Instant {
        self.due_at
    }

    /// Records a request to pause `priority` until `until`, which never shortens the pause.
    pub(super) fn request(&mut self, priority: Priority, flow: Option<FiveTuple>, until: Instant) {
        self.wanted[priority.index()].request(flow, until);
        self.update_due();
    }

    /// Ends what was requested for `flow`. If `tells`, a frame to the host is due; else the next frame of
    /// the port's own flow control has the change.
    pub(super) fn shorten(&mut self, now: Instant, p: Priority, flow: FiveTuple, tells: bool) {
        self.wanted[p.index()].end(flow);
        // A host that was sent no more than is still requested needs no frame.
        if tells && self.sent[p.index()] > self.until(p).max(now) {
            self.shortened.insert(p);
        }
        self.update_due();
    }

    /// Returns the frame that is due now, if any.
    pub(super) fn due(&self, now: Instant) -> Option<PauseVector> {
        let times = self.merge(now, PauseVector::default());
        (!times.enabled.is_empty()).then_some(times)
    }

    /// Returns `own`, with no priority paused for less than requested here, and with all that is
    /// due here.
    pub(super) fn merge(&self, now: Instant, own: PauseVector) -> PauseVector {
        let mut times = own;
        for p in Priority::ALL {
            let needed = quanta(self.until(p).since(now), self.rate);
            // A pause that is over by now needs no frame.
            let is_due = self.due_of(p) <= now && needed > Quanta(0);
            if is_due || self.shortened.contains(p) {
                times.enabled.insert(p);
            }
            if times.enabled.contains(p) {
                // The longer one, so that neither side's frame ends the other's pause.
                times.time[p.index()] = times.time[p.index()].max(needed);
            }
        }
        times
    }

    /// Records a frame sent at `now`, of any origin: the host applies the latest one.
    pub(super) fn on_sent(&mut self, now: Instant, sent: &PauseVector) {
        for p in sent.enabled.iter() {
            let pause = sent.time[p.index()].at(self.rate);
            // A frame of the port's own flow control replaces the proxy's time at the host, so it counts here as
            // well.
            self.sent[p.index()] = now.saturating_add(pause);
        }
        self.shortened.0 &= !sent.enabled.0;
        self.update_due();
    }

    /// Removes pauses that ended before a frame was sent; returns their number.
    pub(super) fn forget_missed(&mut self, now: Instant) -> u64 {
        let is_pending = |p| !self.shortened.contains(p) && self.due_of(p) < Instant::NEVER;
        let over = |&p: &Priority| self.until(p) <= now && is_pending(p);
        let missed: PrioritySet = Priority::ALL.into_iter().filter(over).collect();
        self.forget_wanted(missed);
        missed.iter().count() as u64
    }

    /// Cancels the pauses of these priorities. Those already sent to the host expire.
    pub(super) fn forget_wanted(&mut self, priorities: PrioritySet) {
        priorities.iter().for_each(|p| self.wanted[p.index()] = SharedPause::NONE);
        self.shortened.0 &= !priorities.0;
        self.update_due();
    }

    /// Cancels the pauses of these priorities, and discards what was sent to the host.
    pub(super) fn forget(&mut self, priorities: PrioritySet) {
        priorities.iter().for_each(|p| self.sent[p.index()] = Instant::ZERO);
        self.forget_wanted(priorities);
    }

    /// Sets the link rate. A host counts bit times, so its remaining pause times keep their number
    /// of bit times.
    pub(super) fn set_rate(&mut self, now: Instant, rate: BitsPerSec) {
        let (old, new) = (u128::from(self.rate.get()), u128::from(rate.get()));
        for end in self.sent.iter_mut().filter(|end| **end > now) {
            // Rounded down: with an end that is too early the renewal is early, with one that is too late the host
            // resumes.
            let left = u128::from(end.since(now).as_picos()) * old / new;
            let left = u64::try_from(left).unwrap_or(u64::MAX);
            *end = now.saturating_add(Duration::from_picos(left));
        }
        self.rate = rate;
        self.update_due();
    }

    fn update_due(&mut self) {
        let due = Priority::ALL.map(|p| self.due_of(p));
        self.due_at = due.into_iter().min().unwrap_or(Instant::NEVER);
    }

    /// Returns the time at which a frame is due for `priority`: at once if the host was sent less
    /// than the requested pause, unless the remaining time lasts until a renewal.
    fn due_of(&self, priority: Priority) -> Instant {
        if self.shortened.contains(priority) {
            return Instant::ZERO;
        }
        let end = self.sent[priority.index()];
        if self.until(priority) <= end {
            return Instant::NEVER;
        }
        // A pause longer than one frame can request is renewed when half of the maximum is left.
        end.saturating_sub(Quanta::MAX.at(self.rate).div(RENEW_OF))
    }
}

/// Returns the quanta of `pause` at `rate`: rounded up, so that a host never resumes early, and
/// limited to the maximum of a frame.
pub(super) fn quanta(pause: Duration, rate: BitsPerSec) -> Quanta {
    const PICOS_PER_QUANTUM_BIT: u128 = 512 * 1_000_000_000_000;
    let bits = u128::from(pause.as_picos()) * u128::from(rate.get());
    let quanta = bits.div_ceil(PICOS_PER_QUANTUM_BIT);
    Quanta(u16::try_from(quanta).unwrap_or(u16::MAX))
}

/// Limits messages to a rate, with a burst after idle time (a leaky bucket stored as the time at
/// which it would be empty).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Gate {
    empty_at: Instant,
}

impl Gate {
    /// Returns true if a message at `now` may pass, and counts it.
    pub(super) fn pass(&mut self, now: Instant, policy: &PausePolicy) -> bool {
        // A burst of n may be n - 1 spacings ahead.
        let room = policy.spacing.saturating_mul(u64::from(policy.burst - 1));
        if self.empty_at > now.saturating_add(room) {
            return false;
        }
        self.empty_at = self.empty_at.max(now).saturating_add(policy.spacing);
        true
    }
}

/// Pause time that one priority of one host has left. It grows with time up to the policy's credit;
/// each granted pause is subtracted.
///
/// So pauses granted within a span are at most the credit plus the share of the span. A pause that
/// began before the span was granted before it, but then credit grows by less than the pause
/// lasted, so the bound also holds for the time within the span.
#[derive(Clone, Copy, Debug)]
pub(super) struct Credit {
    left: Duration,
    at: Instant,
}

impl Credit {
    /// Returns the policy's full credit.
    pub(super) const fn full(policy: &PausePolicy) -> Self {
        Self { left: policy.credit, at: Instant::ZERO }
    }

    /// Applies another policy: credit is at most what it was and at most the new policy's.
    pub(super) fn limit(&mut self, policy: &PausePolicy) {
        self.left = self.left.min(policy.credit);
    }

    /// Takes `wanted`, or all that is left.
    pub(super) fn take(
        &mut self,
        now: Instant,
        wanted: Duration,
        policy: &PausePolicy,
    ) -> Duration {
        // 128 bits: 64 hold picoseconds times a share of 2^16 for less than 5 minutes.
        let rested = u128::from(now.since(self.at).as_picos()) * u128::from(policy.share);
        let grown = rested / u128::from(PausePolicy::SHARE_ONE);
        // However long the rest was, credit does not exceed the policy's.
        let missing = policy.credit - self.left;
        let grown = Duration::from_picos(grown.min(u128::from(missing.as_picos())) as u64);
        self.at = self.at.max(now);
        self.left += grown;
        let granted = wanted.min(self.left);
        self.left = self.left - granted;
        granted
    }
}
