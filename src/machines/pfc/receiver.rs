//! The receiving side of flow control: the priorities that the peer has paused, and the ends of the
//! pauses.
//!
//! A pause ends at its own time, however late the next poll: the times and counts reported are
//! those of the link, not of the polling.
//!
//! A receiver may be configured to obey late, as devices do: a pause then stops its priority after
//! a delay. Its time still counts from its arrival (802.3 31B.3), one that is shorter than the
//! delay has no effect, and neither its extension nor a resume is delayed.

use super::{FlowControl, PauseVector, Tally};
use ground::memory::fetch;
use ground::time::{Duration, Instant, Total};
use ground::units::{BitsPerSec, PRIORITIES, Priority, PrioritySet, Quanta};

/// Receiver of PFC or PAUSE for one port.
#[derive(Clone, Debug)]
pub struct Receiver {
    mode: FlowControl,
    rate: BitsPerSec,
    /// Delay from a pause to obeying it.
    delay: Quanta,
    /// End of each pause; NEVER for priorities that are neither paused nor pending.
    until: [Instant; PRIORITIES],
    /// Priorities with a pending pause, and its start.
    pending: PrioritySet,
    begins: [Instant; PRIORITIES],
    /// Earliest of `until`, and of `begins` of pending priorities.
    earliest: Instant,
    paused: Tally,
}

impl Receiver {
    /// Creates a receiver on a link of `rate` that is not paused.
    #[must_use]
    pub fn new(mode: FlowControl, rate: BitsPerSec) -> Self {
        Self {
            mode,
            rate,
            delay: Quanta(0),
            until: [Instant::NEVER; PRIORITIES],
            pending: PrioritySet::EMPTY,
            begins: [Instant::NEVER; PRIORITIES],
            earliest: Instant::NEVER,
            paused: Tally::default(),
        }
    }

    /// Returns the receiver with a delay of `delay` before it obeys a pause.
    #[must_use]
    pub const fn with_delay(mut self, delay: Quanta) -> Self {
        self.delay = delay;
        self
    }

    /// Brings the time of the next change into the caches.
    #[inline]
    pub fn fetch(&self) {
        fetch(&self.earliest);
        self.paused.fetch();
    }

    /// Handles a PFC frame (802.3 31D.3, 802.1Q 36.1.3.2). The new time replaces the remaining one,
    /// 0 resumes, priorities that are not enabled in the frame are unchanged, and those without PFC
    /// are ignored. Returns false if this port obeys no PFC at all.
    pub fn on_pfc(&mut self, now: Instant, vector: &PauseVector) -> bool {
        let FlowControl::Pfc { obey, .. } = self.mode else { return false };
        if obey.is_empty() {
            return false;
        }
        // Pauses that are over by now end at their own time, so a new one counts as another transition.
        self.expire(now);
        // The time of a bit that is off means nothing (802.3 31D.2).
        for p in PrioritySet(vector.enabled.0 & obey.0).iter() {
            self.load(now, p, vector.time[p.index()]);
        }
        self.find_earliest();
        true
    }

    /// Dates the frame of `vector` at `now` instead of the time at which it was handled, as no poll
    /// has come since: its pauses last from `now`, also those that would have ended meanwhile, and
    /// count once. Priorities with a time of 0 are unchanged.
    pub fn redate(&mut self, now: Instant, vector: &PauseVector) {
        for p in vector.enabled.iter().filter(|p| vector.time[p.index()] != Quanta(0)) {
            if self.paused.running().contains(p) || self.pending.contains(p) {
                self.until[p.index()] = now.saturating_add(vector.time[p.index()].at(self.rate));
            }
        }
        self.find_earliest();
    }

    /// Handles a PAUSE frame (802.3 31B.3): as [`Self::on_pfc`], for all priorities. Returns false
    /// if this port obeys no PAUSE.
    pub fn on_pause(&mut self, now: Instant, time: Quanta) -> bool {
        let FlowControl::Pause { obey: true, .. } = self.mode else { return false };
        self.expire(now);
        // PAUSE stops the whole link (802.3 31B), which is a pause of every priority.
        for p in Priority::ALL {
            self.load(now, p, time);
        }
        self.find_earliest();
        true
    }

    fn load(&mut self, now: Instant, p: Priority, time: Quanta) {
        let was = self.paused.running().contains(p);
        if time == Quanta(0) {
            if was {
                self.end(now, p);
            } else if self.pending.contains(p) {
                self.forget(p);
            }
            return;
        }
        if !was && self.delay == Quanta(0) {
            self.paused.start(now, p);
        } else if !was && !self.pending.contains(p) {
            // A later frame extends a pause that is pending, and does not delay its start again.
            self.pending.insert(p);
            self.begins[p.index()] = now.saturating_add(self.delay.at(self.rate));
        }
        // The new time replaces the remaining one, shorter or longer (802.3 31B.3); times never add up.
        self.until[p.index()] = now.saturating_add(time.at(self.rate));
    }

    /// Cancels the pending pause of `p`.
    fn forget(&mut self, p: Priority) {
        self.pending.remove(p);
        self.begins[p.index()] = Instant::NEVER;
        self.until[p.index()] = Instant::NEVER;
    }

    fn end(&mut self, time: Instant, p: Priority) {
        self.paused.stop(time, p);
        self.until[p.index()] = Instant::NEVER;
    }

    /// Starts and ends the pauses that are due by `now`, each at its own time.
    fn expire(&mut self, now: Instant) {
        for p in self.pending.iter() {
            let (begin, until) = (self.begins[p.index()], self.until[p.index()]);
            // A pause shorter than the delay is over before it would be obeyed.
            if begin < until && begin <= now {
                self.pending.remove(p);
                self.begins[p.index()] = Instant::NEVER;
                self.paused.start(begin, p);
            } else if until <= now {
                self.forget(p);
            }
        }
        for p in self.paused.running().iter() {
            let until = self.until[p.index()];
            if until <= now {
                self.end(until, p);
            }
        }
    }

    fn find_earliest(&mut self) {
        let times = self.until.into_iter().chain(self.begins);
        self.earliest = times.fold(Instant::NEVER, Instant::min);
    }

    /// Returns the priorities that may not send now. A pause is over at the instant of its end.
    #[inline]
    pub fn paused(&mut self, now: Instant) -> PrioritySet {
        if now >= self.earliest {
            self.expire(now);
            self.find_earliest();
        }
        self.paused.running()
    }

    /// Returns the time at which the next pause ends or takes effect; NEVER without one.
    #[inline]
    #[must_use]
    pub const fn next_deadline(&self) -> Instant {
        self.earliest
    }

    /// Returns true if `priority` may not send now.
    #[must_use]
    pub fn is_paused(&self, now: Instant, priority: Priority) -> bool {
        let i = priority.index();
        let has_begun = !self.pending.contains(priority) || now >= self.begins[i];
        self.paused.running().contains(priority) && has_begun && now < self.until[i]
    }

    /// Returns the total paused time of `priority`.
    #[must_use]
    pub fn paused_time(&self, now: Instant, priority: Priority) -> Total {
        let (i, end) = (priority.index(), now.min(self.until[priority.index()]));
        // A pending pause that is due by now counts, polled or not.
        let due = if self.pending.contains(priority) {
            end.since(self.begins[i])
        } else {
            Duration::ZERO
        };
        self.paused.time(end, priority) + due
    }

    /// Returns the number of transitions of `priority` from running to paused.
    #[must_use]
    pub const fn transitions(&self, priority: Priority) -> u64 {
        self.paused.transitions(priority)
    }

    /// Resets pause times and transitions; a running pause counts from `now` on.
    pub fn clear_counters(&mut self, now: Instant) {
        self.expire(now);
        self.find_earliest();
        self.paused.clear(now);
    }

    /// Sets the link rate at `now`. A running pause keeps its remaining quanta, whose duration
    /// changes; so does a remaining delay.
    pub fn set_rate(&mut self, now: Instant, rate: BitsPerSec) {
        self.expire(now);
        let old = self.rate;
        let times = self.until.iter_mut().chain(&mut self.begins);
        for time in times.filter(|t| **t != Instant::NEVER) {
            // A timer counts quanta of 512 bit times, so the remaining time changes in the ratio of the rates.
            // Rounded up: a resume that is too early could overrun the peer's headroom.
            let bits = u128::from(time.since(now).as_picos()) * u128::from(old.get());
            let left = u64::try_from(bits.div_ceil(u128::from(rate.get()))).unwrap_or(u64::MAX);
            *time = now.saturating_add(Duration::from_picos(left));
        }
        self.rate = rate;
        self.find_earliest();
    }

    /// Returns the flow control mode.
    #[must_use]
    pub const fn mode(&self) -> FlowControl {
        self.mode
    }

    /// Changes the obeyed priorities: pauses of all others end.
    pub fn set_mode(&mut self, now: Instant, mode: FlowControl) {
        self.mode = mode;
        // A priority that is not obeyed any more must not stay stopped until its time is over.
        self.end_all(now, PrioritySet(!mode.obeys().0));
    }

    /// Handles link down: every pause ends.
    pub fn clear(&mut self, now: Instant) {
        self.end_all(now, PrioritySet::ALL);
    }

    fn end_all(&mut self, now: Instant, priorities: PrioritySet) {
        self.expire(now);
        for p in PrioritySet(self.pending.0 & priorities.0).iter() {
            self.forget(p);
        }
        for p in PrioritySet(self.paused.running().0 & priorities.0).iter() {
            self.end(now, p);
        }
        self.find_earliest();
    }
}

#[cfg(test)]
mod tests;
