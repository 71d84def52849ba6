//! Pauses of a port, by the frames that set them.

use super::frame::{VECTOR, is_pfc, remove, time};
use ground::time::{Duration, Instant};
use ground::units::PRIORITIES;

/// Pauses that a port has received, by priority.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pauses {
    since: [Instant; PRIORITIES],
    until: [Instant; PRIORITIES],
}

impl Pauses {
    pub(super) const fn new() -> Self {
        Self { since: [Instant::ZERO; PRIORITIES], until: [Instant::ZERO; PRIORITIES] }
    }

    /// Takes note of a MAC control frame.
    pub(super) fn take(&mut self, head: &[u8], now: Instant, quantum: Duration) {
        if is_pfc(head) {
            for p in (0..PRIORITIES).filter(|p| head[VECTOR] >> p & 1 == 1) {
                self.set(p, now, quantum.saturating_mul(time(head, p).into()));
            }
        }
    }

    /// Pauses a priority for a time, or resumes it.
    pub(super) fn set(&mut self, priority: usize, now: Instant, span: Duration) {
        if !self.holds(priority, now) {
            self.since[priority] = now;
        }
        self.until[priority] = now.saturating_add(span);
    }

    /// Returns true if a priority is paused.
    pub(super) fn holds(&self, priority: usize, now: Instant) -> bool {
        self.until[priority] > now
    }

    /// Returns the end of a priority's pause, which may have passed.
    pub(super) const fn until(&self, priority: usize) -> Instant {
        self.until[priority]
    }

    /// Returns the time for which a priority has been paused without a gap.
    pub(super) fn held_for(&self, priority: usize, now: Instant) -> Option<Duration> {
        self.holds(priority, now).then(|| now.since(self.since[priority]))
    }

    /// Returns the paused priorities.
    pub(super) fn set_of(&self, now: Instant) -> u8 {
        (0..PRIORITIES).filter(|p| self.holds(*p, now)).fold(0, |set, p| set | 1 << p)
    }

    /// Removes the priorities from a PFC frame that would be paused beside `most` others, and takes
    /// note of the rest.
    pub(super) fn admit(&mut self, head: &mut [u8], most: u8, now: Instant, quantum: Duration) {
        for p in 0..PRIORITIES {
            let asks = head[VECTOR] >> p & 1 == 1 && time(head, p) > 0;
            let others = (self.set_of(now) & !(1 << p)).count_ones();
            if asks && others >= u32::from(most) {
                remove(head, 1 << p);
            } else if head[VECTOR] >> p & 1 == 1 {
                self.set(p, now, quantum.saturating_mul(time(head, p).into()));
            }
        }
    }
}
