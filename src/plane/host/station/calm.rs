//! Polls in which nothing but data can be due.
//!
//! Nearly all polls of a station send or receive data and do nothing else. A poll that has looked at
//! everything calculates until when that remains so, and the polls before then look at data alone. A
//! frame that is no plain data, or a call from outside, ends the calm.

use super::{COMMITTED_MAX, Station};
use contracts::port::Source;
use ground::time::Instant;

/// The deadlines besides data, as of the last poll that looked at everything.
#[derive(Clone, Copy, Debug)]
pub(super) struct Calm {
    /// No frame but data, no timer, and no flow's end is due before.
    until: Instant,
    /// Due time of the next frame that is not data.
    due: Instant,
    /// Time of the next timer.
    timers: Instant,
}

impl Calm {
    /// Everything has to be looked at in the next poll.
    pub(super) const OVER: Self =
        Self { until: Instant::ZERO, due: Instant::ZERO, timers: Instant::ZERO };

    /// Returns true if nothing but data is due at `now`.
    #[inline]
    pub(super) fn holds(&self, now: Instant) -> bool {
        now < self.until
    }
}

impl<P: Source> Station<P> {
    /// Returns the deadlines after a poll of everything. Frames that wait for the port or for a pause of
    /// replies, and pauses that other queues receive, need such a poll again.
    pub(super) fn find_calm(&self) -> Calm {
        let waits =
            !self.hand.is_empty() || !self.answers.is_empty() || !self.neighbours.is_empty();
        if waits || !self.up || self.share.is_some() {
            return Calm::OVER;
        }
        let (due, timers) = (self.due_besides_data(), self.timers());
        Calm { until: due.min(timers).min(self.sources.next_stop()), due, timers }
    }

    /// Sends the data that is due.
    #[inline]
    pub(super) fn send_data(&mut self, now: Instant) -> bool {
        let room = COMMITTED_MAX - usize::from(self.sources.has_control());
        self.make_data(now, room);
        if self.hand.is_empty() {
            return false;
        }
        self.hand_over(now);
        if !self.hand.is_empty() {
            self.retry = now + self.slot;
            self.calm = Calm::OVER;
        }
        true
    }

    /// Returns the time of the next poll, after [`Self::send_data`]. A frame that was sent may have
    /// started a timer.
    #[inline]
    pub(super) fn deadline_of_data(&mut self) -> Instant {
        if self.calm.until == Instant::ZERO {
            return self.deadline();
        }
        let timeout = self.sources.next_timeout();
        let Calm { until, due, timers } = &mut self.calm;
        *timers = (*timers).min(timeout);
        *until = (*until).min(timeout);
        let (due, timers) = (*due, *timers);
        self.next_start(due, timers)
    }
}
