//! The set of a worker's ports with pending work, and a poll of those ports only.
//!
//! A driver that knows where frames arrived and which deadlines expired (the virtual world does)
//! need not visit every port at every event, so the cost of a poll does not grow with the number of
//! ports. Poll invariance guarantees that the result is the same; a property test compares both.

use super::Switch;
use contracts::frame::BURST;
use contracts::world::World;
use ground::time::Instant;
use ground::units::PortId;

/// Set of ports, by their local index in this worker.
#[derive(Clone, Debug)]
pub(super) struct Awake {
    /// Bit words: one for up to 64 ports.
    words: Box<[u64]>,
}

impl Awake {
    pub(super) fn none(ports: usize) -> Self {
        Self { words: vec![0; ports.div_ceil(64).max(1)].into_boxed_slice() }
    }

    /// Adds a port; returns true if it was not in the set.
    #[inline(always)]
    pub(super) fn insert(&mut self, at: usize) -> bool {
        let word = &mut self.words[at / 64];
        let new = *word & 1 << (at % 64) == 0;
        *word |= 1 << (at % 64);
        new
    }

    /// Removes and returns the first port at or after `from`.
    #[inline(always)]
    fn pop_from(&mut self, from: usize) -> Option<usize> {
        let mut mask = u64::MAX << (from % 64);
        for (word, bits) in self.words.iter_mut().enumerate().skip(from / 64) {
            let found = *bits & mask;
            if found != 0 {
                let bit = found.trailing_zeros() as usize;
                *bits &= !(1 << bit);
                return Some(word * 64 + bit);
            }
            mask = u64::MAX;
        }
        None
    }
}

impl<W: World> Switch<W> {
    /// Polls until nothing more happens at `now`, visiting only the ports in `due` (with arrived
    /// frames or an expired deadline) and those that become active meanwhile. Calls `after` with
    /// the next deadline of each active port. Returns the next deadline of the switch as a whole,
    /// at which this is called with an empty `due`.
    ///
    /// Equivalent to repeating [`Self::poll`] until it makes no progress. For a single worker only:
    /// frames handed over by another worker belong to no port in `due`.
    pub fn poll_ports(
        &mut self,
        now: Instant,
        due: &[PortId],
        mut after: impl FnMut(PortId, Instant, &mut W::Port),
    ) -> Instant {
        for id in due {
            let at = self.local(*id).expect("a port that is due is one of this switch");
            while self.receive(now, at) == BURST {}
            // No time has passed since the pause was received.
            self.ports[at].undated = None;
            if self.ports[at].deadline <= now {
                self.awake.insert(at);
            }
        }
        let mut from = 0;
        loop {
            let Some(at) = self.awake.pop_from(from) else {
                if from == 0 {
                    break;
                }
                from = 0;
                continue;
            };
            self.looked_at.insert(at);
            from = at + 1;
            if self.transmit(now, at) && self.ports[at].link_free(now) {
                self.awake.insert(at);
            }
        }
        let mut next = 0;
        while let Some(at) = self.looked_at.pop_from(next) {
            let port = &mut self.ports[at];
            port.deadline = port.next_deadline(now);
            after(port.id, port.deadline, &mut port.port);
            next = at + 1;
        }
        if now >= self.fdb.next_deadline() {
            self.fdb.sweep(now);
        }
        self.fdb.next_deadline()
    }

    /// Marks every port as active.
    pub(super) fn wake_all(&mut self) {
        for at in 0..self.ports.len() {
            self.awake.insert(at);
        }
    }
}
