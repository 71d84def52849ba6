//! Pause times and transitions of each priority.

use ground::memory::fetch;
use ground::time::{Instant, Total};
use ground::units::{PRIORITIES, Priority, PrioritySet};

/// Exact pause times of one direction of a port.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    running: PrioritySet,
    since: [Instant; PRIORITIES],
    total: [Total; PRIORITIES],
    transitions: [u64; PRIORITIES],
}

impl Tally {
    /// Brings the paused priorities into the caches.
    #[inline]
    pub(super) fn fetch(&self) {
        fetch(&self.running);
    }

    /// Returns the paused priorities.
    #[inline]
    pub(super) const fn running(&self) -> PrioritySet {
        self.running
    }

    /// Starts a pause of `p` at `at`. Panics if it is paused.
    pub(super) fn start(&mut self, at: Instant, p: Priority) {
        assert!(!self.running.contains(p), "a pause began twice");
        self.running.insert(p);
        self.since[p.index()] = at;
        self.transitions[p.index()] += 1;
    }

    /// Ends the pause of `p` at `at`. Panics if it is not paused.
    pub(super) fn stop(&mut self, at: Instant, p: Priority) {
        assert!(self.running.contains(p), "a pause ended that had not begun");
        self.running.remove(p);
        self.total[p.index()] += at.total_since(self.since[p.index()]);
    }

    /// Returns the total paused time of `p` up to `now`.
    pub(super) fn time(&self, now: Instant, p: Priority) -> Total {
        let open = if self.running.contains(p) {
            now.total_since(self.since[p.index()])
        } else {
            Total::ZERO
        };
        self.total[p.index()] + open
    }

    /// Resets times and transitions; a running pause counts from `now` on.
    pub(super) fn clear(&mut self, now: Instant) {
        self.total = [Total::ZERO; PRIORITIES];
        self.transitions = [0; PRIORITIES];
        for p in self.running.iter() {
            self.since[p.index()] = now;
        }
    }

    /// Returns the number of pauses of `p`.
    pub(super) const fn transitions(&self, p: Priority) -> u64 {
        self.transitions[p.index()]
    }
}
