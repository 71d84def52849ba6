//! A set of packets within a sliding window: one bit each, in a ring.

use crate::plan::IN_FLIGHT_MAX;

const WORDS: usize = (IN_FLIGHT_MAX / 64) as usize;

/// Packets of one window of [`IN_FLIGHT_MAX`]. The caller must keep to one window at a time:
/// numbers that far apart share a bit.
#[derive(Clone, Debug)]
pub(super) struct Bits(Box<[u64; WORDS]>);

const fn bit(index: u64) -> (usize, u64) {
    ((index % IN_FLIGHT_MAX / 64) as usize, 1 << (index % 64))
}

impl Bits {
    pub(super) fn new() -> Self {
        Self(Box::new([0; WORDS]))
    }

    /// Returns true if `index` is in the set.
    #[inline]
    pub(super) fn has(&self, index: u64) -> bool {
        let (word, mask) = bit(index);
        self.0[word] & mask != 0
    }

    /// Adds `index`; returns true if it is new.
    #[inline]
    pub(super) fn put(&mut self, index: u64) -> bool {
        let (word, mask) = bit(index);
        let new = self.0[word] & mask == 0;
        self.0[word] |= mask;
        new
    }

    /// Removes `index`; returns true if it was in the set.
    #[inline]
    pub(super) fn take(&mut self, index: u64) -> bool {
        let (word, mask) = bit(index);
        let had = self.0[word] & mask != 0;
        self.0[word] &= !mask;
        had
    }
}
