//! The ports of a worker to which something happened, and the poll of those alone.
//!
//! A driver that knows where frames have arrived and which deadlines have come (the virtual world
//! does) need not look at every port at every event: what a poll costs then no longer grows with
//! the number of ports. Poll invariance is what makes this the same switch; a property compares
//! the two.

use super::Switch;
use crate::time::Instant;
use crate::units::PortId;
use crate::world::World;

const WORDS: usize = (PortId::MAX.index() + 1).div_ceil(64);

/// A set of ports, by their place among this worker's.
#[derive(Clone, Debug)]
pub(super) struct Awake {
    words: [u64; WORDS],
}

impl Awake {
    pub(super) const fn none() -> Self {
        Self { words: [0; WORDS] }
    }

    #[inline]
    pub(super) const fn insert(&mut self, at: usize) {
        self.words[at / 64] |= 1 << (at % 64);
    }

    /// Takes out the first port at or behind `from`.
    #[inline]
    fn pop_from(&mut self, from: usize) -> Option<usize> {
        let mut word = from / 64;
        let mut mask = u64::MAX << (from % 64);
        while word < WORDS {
            let found = self.words[word] & mask;
            if found != 0 {
                let bit = found.trailing_zeros() as usize;
                self.words[word] &= !(1 << bit);
                return Some(word * 64 + bit);
            }
            word += 1;
            mask = u64::MAX;
        }
        None
    }
}

impl<W: World> Switch<W> {
    /// Polls until nothing more happens at `now`, looking only at the ports `due` (where frames
    /// have arrived or whose deadline has come) and at those to which something happens meanwhile.
    /// `after` is told of each port that was looked at when it has to be looked at again. Gives
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
            while self.receive(now, at) {}
            self.awake.insert(at);
        }
        let mut looked_at = Awake::none();
        let mut from = 0;
        loop {
            let Some(at) = self.awake.pop_from(from) else {
                if from == 0 {
                    break;
                }
                from = 0;
                continue;
            };
            looked_at.insert(at);
            from = at + 1;
            if self.transmit(now, at) && self.ports[at].link_free(now) {
                self.awake.insert(at);
            }
        }
        let mut next = 0;
        while let Some(at) = looked_at.pop_from(next) {
            let port = &mut self.ports[at];
            after(port.id, port.next_deadline(now), &mut port.port);
            next = at + 1;
        }
        if now >= self.fdb.next_deadline() {
            self.fdb.sweep(now);
        }
        self.fdb.next_deadline()
    }

    /// Takes note that something happened to every port.
    pub(super) fn wake_all(&mut self) {
        (0..self.ports.len()).for_each(|at| self.awake.insert(at));
    }
}
