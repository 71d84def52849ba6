//! The ports of a worker to which something happened, and the poll of those alone.
//!
//! A driver that knows where frames have arrived and which deadlines have come (the virtual world
//! does) need not look at every port at every event: what a poll costs then no longer grows with
//! the number of ports. Poll invariance is what makes this the same switch; a property compares
//! the two.

use super::Switch;
use crate::frame::BURST;
use crate::time::Instant;
use crate::units::PortId;
use crate::world::World;

/// A set of ports, by their place among this worker's.
#[derive(Clone, Debug)]
pub(super) struct Awake {
    /// As many words as the ports need: one, for most switches.
    words: Box<[u64]>,
}

impl Awake {
    pub(super) fn none(ports: usize) -> Self {
        Self { words: vec![0; ports.div_ceil(64).max(1)].into_boxed_slice() }
    }

    /// Whether it was not there before.
    #[inline(always)]
    pub(super) fn insert(&mut self, at: usize) -> bool {
        let word = &mut self.words[at / 64];
        let new = *word & 1 << (at % 64) == 0;
        *word |= 1 << (at % 64);
        new
    }

    /// Takes out the first port at or behind `from`.
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
    /// Polls until nothing more happens at `now`, looking only at the ports `due` (where frames
    /// have arrived or whose deadline has come) and at those to which something happens meanwhile.
    /// `after` is told of each port to which something happened when it has to be looked at again. Gives
    /// when the switch as a whole has to be: it is `due` without ports then.
    ///
    /// Does what [`Self::poll`] would, repeated until it made no progress. For one worker alone,
    /// because what another hands over has no port that is due.
    pub fn poll_ports(
        &mut self,
        now: Instant,
        due: &[PortId],
        mut after: impl FnMut(PortId, Instant, &mut W::Port),
    ) -> Instant {
        for id in due {
            let at = self.local(*id).expect("a port that is due is one of this switch");
            while self.receive(now, at) == BURST {}
            // Time stood still since the pause was received.
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

    /// Takes note that something happened to every port.
    pub(super) fn wake_all(&mut self) {
        for at in 0..self.ports.len() {
            self.awake.insert(at);
        }
    }
}
