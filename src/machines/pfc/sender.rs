//! The sending side of flow control: converts XOFF and XON of groups to frames that are due.
//!
//! The caller reports each XOFF and XON with [`Sender::want`], calls [`Sender::due`] on every poll,
//! and confirms with [`Sender::on_sent`] the frames that left. A demand that could not be sent is
//! due again, so no XOFF and no XON is lost on this side.

use super::{Demand, FlowControl, PauseVector, PfcPlan, Tally};
use ground::memory::fetch;
use ground::time::{Duration, Instant, Total};
use ground::units::{BitsPerSec, PRIORITIES, Priority, PrioritySet, Quanta};

/// Priority that represents the whole link with PAUSE.
const LINK: PrioritySet = PrioritySet::of(Priority::MIN);

/// Sender of PFC or PAUSE for one port.
#[derive(Clone, Debug)]
pub struct Sender {
    plan: PfcPlan,
    /// Interval after which the same pauses are sent again.
    interval: Duration,
    /// Priorities that the peer was last asked to pause, and may still be pausing.
    requested: PrioritySet,
    /// Priorities that changed since the last frame.
    changed: PrioritySet,
    /// Time at which the present pauses have to be sent again; NEVER without any.
    refresh_at: Instant,
    /// Priorities to be paused, and their start times.
    wanted: Tally,
}

impl Sender {
    /// Creates a sender on a link of `rate` without pauses.
    #[must_use]
    pub fn new(plan: PfcPlan, rate: BitsPerSec) -> Self {
        let sender = Self {
            plan,
            interval: interval(&plan, rate),
            requested: PrioritySet::EMPTY,
            changed: PrioritySet::EMPTY,
            refresh_at: Instant::NEVER,
            wanted: Tally::default(),
        };
        assert!(
            sender.plan.mode.sends().is_empty()
                || (plan.quanta > Quanta(0) && sender.interval > Duration::ZERO),
            "an XOFF of no quanta is an XON, and a refresh without an interval never ends"
        );
        sender
    }

    /// Brings the time of the next frame into the caches.
    #[inline]
    pub fn fetch(&self) {
        fetch(&self.changed);
        fetch(&self.refresh_at);
    }

    /// Returns the priorities that the peer should pause: with PAUSE, the link as soon as any
    /// priority is at XOFF.
    const fn target(&self) -> PrioritySet {
        let wanted = self.wanted.running();
        match self.plan.mode {
            FlowControl::Pause { .. } if !wanted.is_empty() => LINK,
            _ => wanted,
        }
    }

    /// Reports that the group of `priority` changed to XOFF (`paused`) or XON. Repetitions have no
    /// effect, and neither have priorities for which this port sends no pauses.
    pub fn want(&mut self, now: Instant, priority: Priority, paused: bool) {
        if !self.plan.mode.sends().contains(priority)
            || self.wanted.running().contains(priority) == paused
        {
            return;
        }
        let before = self.target().0;
        if paused {
            self.wanted.start(now, priority);
        } else {
            self.wanted.stop(now, priority);
        }
        let after = self.target().0;
        // An XOFF is always sent: if an XON is still pending, the pause is renewed instead. An XON
        // is sent to a peer that may be paused; otherwise no frame is needed.
        let (xoff, xon) = (after & !before, before & !after);
        self.changed.0 |= xoff | (xon & self.requested.0);
        self.changed.0 &= !(xon & !self.requested.0);
    }

    /// Returns the frame that is due: all changes, and with them every present pause, so that all
    /// of them are renewed; XONs with time 0. `None` if nothing is due.
    #[inline]
    #[must_use]
    pub fn due(&self, now: Instant) -> Option<Demand> {
        self.is_due(now).then(|| self.demand())
    }

    /// Returns true if a frame is due.
    #[inline]
    #[must_use]
    pub fn is_due(&self, now: Instant) -> bool {
        !self.changed.is_empty() || now >= self.refresh_at
    }

    #[cold]
    fn demand(&self) -> Demand {
        let target = self.target();
        // Every frame has all present pauses: they are renewed at no cost.
        let enabled = PrioritySet(self.changed.0 | target.0);
        let time = |p: Priority| if target.contains(p) { self.plan.quanta } else { Quanta(0) };
        if matches!(self.plan.mode, FlowControl::Pause { .. }) {
            return Demand::Pause(time(Priority::MIN));
        }
        let mut vector = PauseVector { enabled, time: [Quanta(0); PRIORITIES] };
        for p in enabled.iter() {
            vector.time[p.index()] = time(p);
        }
        Demand::Pfc(vector)
    }

    /// Records that `demand`, returned by [`Self::due`], was passed to the link at `now`.
    pub fn on_sent(&mut self, now: Instant, demand: &Demand) {
        let (named, paused) = match demand {
            Demand::Pause(Quanta(0)) => (LINK, PrioritySet::EMPTY),
            Demand::Pause(_) => (LINK, LINK),
            Demand::Pfc(v) => (v.enabled, v.paused()),
        };
        self.requested = PrioritySet((self.requested.0 & !named.0) | paused.0);
        // Changes after the frame was created stay pending.
        self.changed = PrioritySet(
            (self.changed.0 & !named.0) | (named.0 & (self.requested.0 ^ self.target().0)),
        );
        self.refresh_at = if self.requested.is_empty() {
            Instant::NEVER
        } else {
            now.saturating_add(self.interval)
        };
    }

    /// Returns the time at which a present pause has to be sent again: [`Self::due`] returns it
    /// from then on. NEVER without pauses. Changes are due at once and not included here.
    #[inline]
    #[must_use]
    pub const fn next_deadline(&self) -> Instant {
        self.refresh_at
    }

    /// Returns the priorities to be paused now.
    #[must_use]
    pub const fn wanted(&self) -> PrioritySet {
        self.wanted.running()
    }

    /// Returns the total time of `priority` from XOFF to XON.
    #[must_use]
    pub fn paused_time(&self, now: Instant, priority: Priority) -> Total {
        self.wanted.time(now, priority)
    }

    /// Returns the number of XOFFs of `priority`.
    #[must_use]
    pub const fn transitions(&self, priority: Priority) -> u64 {
        self.wanted.transitions(priority)
    }

    /// Resets pause times and transitions; a running pause counts from `now` on.
    pub fn clear_counters(&mut self, now: Instant) {
        self.wanted.clear(now);
    }

    /// Sets the link rate: the duration of quanta changes, and present pauses are renewed in time
    /// for that.
    pub fn set_rate(&mut self, now: Instant, rate: BitsPerSec) {
        self.interval = interval(&self.plan, rate);
        // Only earlier: a pause that was sent at a slower rate runs out sooner at a faster one.
        self.refresh_at = self.refresh_at.min(now.saturating_add(self.interval));
        if self.requested.is_empty() {
            self.refresh_at = Instant::NEVER;
        }
    }

    /// Changes the priorities with PFC. Those without it are resumed; new ones are paused by their
    /// next XOFF.
    pub fn set_mode(&mut self, now: Instant, mode: FlowControl) {
        let gone = PrioritySet(self.plan.mode.sends().0 & !mode.sends().0);
        // Before the mode is replaced, because `want` ignores priorities without PFC.
        gone.iter().for_each(|p| self.want(now, p, false));
        self.plan.mode = mode;
    }

    /// Handles link down: the peer has lost every pause, and the present ones are sent again when
    /// the link is up.
    pub fn on_link_down(&mut self) {
        self.requested = PrioritySet::EMPTY;
        // Without a change a group that stays at XOFF would never be announced to the peer that comes up.
        self.changed = self.target();
        self.refresh_at = Instant::NEVER;
    }
}

/// Returns the planned refresh interval if it is shorter than the pause at this rate, else half of
/// the pause: a link that is faster than planned shortens every quantum.
fn interval(plan: &PfcPlan, rate: BitsPerSec) -> Duration {
    let pause = plan.quanta.at(rate);
    // At half of the pause a poll may be late by the other half before the peer resumes.
    let refresh = if plan.refresh < pause { plan.refresh } else { pause.div(2) };
    // A PFC frame takes longer on a slower link than planned.
    let least = PfcPlan::refresh_least(rate);
    if least < pause { refresh.max(least) } else { refresh }
}

#[cfg(test)]
mod tests;
