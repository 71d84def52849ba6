//! The sending side of flow control: from groups over their limits to frames that are due.
//!
//! The caller tells each XOFF and XON with [`Sender::want`], asks [`Sender::due`] on every poll,
//! and confirms with [`Sender::on_sent`] what really left. A demand that could not be sent is
//! asked for again, so no XOFF and no XON is ever lost on this side.

use super::tally::Tally;
use super::{Demand, FlowControl, PauseVector, PfcPlan};
use crate::time::{Duration, Instant, Total};
use crate::units::{BitsPerSec, PRIORITIES, Priority, PrioritySet, Quanta};

/// The priority that stands for the whole link where PAUSE is sent.
const LINK: PrioritySet = PrioritySet::of(Priority::MIN);

/// Sends PFC or PAUSE for one port.
#[derive(Clone, Debug)]
pub struct Sender {
    plan: PfcPlan,
    /// How long after a frame the same pauses are sent again.
    interval: Duration,
    /// What the peer was last told to pause, and may still be pausing.
    told: PrioritySet,
    /// What changed since the peer was told.
    changed: PrioritySet,
    /// When the pauses held have to be sent again; NEVER when none is held.
    refresh_at: Instant,
    /// The priorities that are wanted paused, and since when.
    wanted: Tally,
}

impl Sender {
    /// A sender on a link of `rate` that has paused nothing.
    #[must_use]
    pub fn new(plan: PfcPlan, rate: BitsPerSec) -> Self {
        let sender = Self {
            plan,
            interval: interval(&plan, rate),
            told: PrioritySet::EMPTY,
            changed: PrioritySet::EMPTY,
            refresh_at: Instant::NEVER,
            wanted: Tally::default(),
        };
        assert!(
            sender.sends().is_empty()
                || (plan.quanta > Quanta(0) && sender.interval > Duration::ZERO),
            "an XOFF of no quanta is an XON, and a refresh without an interval never ends"
        );
        sender
    }

    /// The priorities whose senders this port can pause.
    const fn sends(&self) -> PrioritySet {
        match self.plan.mode {
            FlowControl::Pfc { send, .. } => send,
            FlowControl::Pause { send: true, .. } => PrioritySet::ALL,
            FlowControl::Pause { send: false, .. } | FlowControl::Off => PrioritySet::EMPTY,
        }
    }

    /// What the peer should be pausing: with PAUSE, the link as soon as any priority wants it.
    const fn target(&self) -> PrioritySet {
        let wanted = self.wanted.running();
        match self.plan.mode {
            FlowControl::Pause { .. } if !wanted.is_empty() => LINK,
            _ => wanted,
        }
    }

    /// The group that `priority` belongs to went to XOFF (`paused`) or XON. Repeating what is
    /// known changes nothing, and so do priorities for which this port sends no pauses.
    pub fn want(&mut self, now: Instant, priority: Priority, paused: bool) {
        if !self.sends().contains(priority) || self.wanted.running().contains(priority) == paused {
            return;
        }
        let before = self.target().0;
        if paused {
            self.wanted.start(now, priority);
        } else {
            self.wanted.stop(now, priority);
        }
        let after = self.target().0;
        // An XOFF is always told: if an XON is still pending, the pause starts anew instead. An
        // XON is told to a peer that may be paused; one that was never told needs no frame.
        let (xoff, xon) = (after & !before, before & !after);
        self.changed.0 |= xoff | (xon & self.told.0);
        self.changed.0 &= !(xon & !self.told.0);
    }

    /// The one frame that says all that is due: what changed, and with it every pause that is
    /// held, so that all of them run anew; XONs with time 0. Nothing when nothing is due.
    #[inline]
    #[must_use]
    pub fn due(&self, now: Instant) -> Option<Demand> {
        if self.changed.is_empty() && now < self.refresh_at { None } else { Some(self.demand()) }
    }

    #[cold]
    fn demand(&self) -> Demand {
        let target = self.target();
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

    /// `demand`, as [`Self::due`] gave it, was handed to the link at `now`.
    pub fn on_sent(&mut self, now: Instant, demand: &Demand) {
        let (named, paused) = match demand {
            Demand::Pause(Quanta(0)) => (LINK, PrioritySet::EMPTY),
            Demand::Pause(_) => (LINK, LINK),
            Demand::Pfc(v) => {
                let on = v.enabled.iter().filter(|p| v.time[p.index()] > Quanta(0)).collect();
                (v.enabled, on)
            }
        };
        self.told = PrioritySet((self.told.0 & !named.0) | paused.0);
        // What was wanted otherwise after the frame was made stays pending.
        self.changed =
            PrioritySet((self.changed.0 & !named.0) | (named.0 & (self.told.0 ^ self.target().0)));
        self.refresh_at =
            if self.told.is_empty() { Instant::NEVER } else { now.saturating_add(self.interval) };
    }

    /// When a held pause has to be sent again: [`Self::due`] has it from then on. NEVER when
    /// nothing is held. Changes are due at once and not waited for here.
    #[inline]
    #[must_use]
    pub const fn next_deadline(&self) -> Instant {
        self.refresh_at
    }

    /// The priorities that are wanted paused now.
    #[must_use]
    pub const fn wanted(&self) -> PrioritySet {
        self.wanted.running()
    }

    /// How long `priority` was wanted paused in all, from XOFF to XON.
    #[must_use]
    pub fn paused_time(&self, now: Instant, priority: Priority) -> Total {
        self.wanted.time(now, priority)
    }

    /// How often `priority` went to XOFF.
    #[must_use]
    pub const fn transitions(&self, priority: Priority) -> u64 {
        self.wanted.transitions(priority)
    }

    /// The link has another rate: quanta last longer or shorter from now on, and pauses held are
    /// sent again in time for that.
    pub fn set_rate(&mut self, now: Instant, rate: BitsPerSec) {
        self.interval = interval(&self.plan, rate);
        self.refresh_at = self.refresh_at.min(now.saturating_add(self.interval));
        if self.told.is_empty() {
            self.refresh_at = Instant::NEVER;
        }
    }

    /// PFC runs for other priorities from now on. Those that it no longer runs for are resumed; those
    /// that it runs for now are paused by the next XOFF.
    pub fn set_mode(&mut self, now: Instant, mode: FlowControl) {
        let mut next = self.clone();
        next.plan.mode = mode;
        let gone = PrioritySet(self.sends().0 & !next.sends().0);
        gone.iter().for_each(|p| self.want(now, p, false));
        self.plan.mode = mode;
    }

    /// The link went down: the peer has forgotten every pause, and is told anew of those wanted
    /// when there is a link again.
    pub fn on_link_down(&mut self) {
        self.told = PrioritySet::EMPTY;
        self.changed = self.target();
        self.refresh_at = Instant::NEVER;
    }
}

/// The planned refresh if it comes before the pause is over at this rate, else half of the pause:
/// a link that came up faster than planned makes every quantum shorter.
fn interval(plan: &PfcPlan, rate: BitsPerSec) -> Duration {
    let pause = plan.quanta.at(rate);
    let refresh = if plan.refresh < pause { plan.refresh } else { pause.div(2) };
    // A link that came up slower takes longer for each PFC frame.
    let least = PfcPlan::refresh_least(rate);
    if least < pause { refresh.max(least) } else { refresh }
}

#[cfg(test)]
mod tests;
