//! Buckets of the table of streams; and the flows of a burst looked up in them ahead of their use,
//! with the states beside their keys.

use super::{Hashed, NONE, Place, Stream, StreamTable};
use crate::flow_key::Packed;
use ground::memory::fetch_item;
use ground::time::Instant;

/// Result of a lookup ahead of its use: the slot in which the stream of a flow was found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hint {
    pub(crate) packed: Packed,
    tag: u16,
    buckets: [u32; 2],
    slot: u32,
}

impl Hint {
    /// No flow.
    pub(crate) const NONE: Self = Self::of(Packed::NONE);

    /// A flow that is to be looked up.
    #[inline(always)]
    pub(crate) const fn of(packed: Packed) -> Self {
        Self { packed, tag: 0, buckets: [0; 2], slot: NONE }
    }
}

impl<T: Copy, H: Copy + Default> StreamTable<T, H> {
    /// Looks up the flows of a burst, those in IPv4 alone, for [`Self::place_of`]. `hints` has their
    /// flows and gets their slots.
    #[inline]
    pub(crate) fn seek(&self, hints: &mut [Hint]) {
        for hint in &mut *hints {
            let Hashed { tag, buckets: [first, second], .. } = self.hash(hint.packed);
            (hint.tag, hint.buckets) = (tag, [first as u32, second as u32]);
            fetch_item(&self.buckets, first);
        }
        // Each loop fetches what the next one reads, so that all lines of a burst are waited for together. A
        // flow behind another one with its tag is left to `find`.
        let first_in = |n: u32, tag: u16| {
            self.buckets.get(n as usize).and_then(|bucket| bucket.first_with(tag)).unwrap_or(NONE)
        };
        let mut missing = 0_u64;
        for (n, hint) in hints.iter_mut().enumerate() {
            hint.slot = first_in(hint.buckets[0], hint.tag);
            missing |= u64::from(hint.slot == NONE) << (n % 64);
            fetch_item(&self.lines, hint.slot as usize);
        }
        // The few flows in their second bucket come after all others, which are not to wait for a branch
        // that cannot be foreseen.
        while missing != 0 {
            let n = missing.trailing_zeros() as usize;
            missing &= missing - 1;
            let Some(hint) = hints.get_mut(n) else { break };
            hint.slot = first_in(hint.buckets[1], hint.tag);
        }
        for hint in hints {
            let line = self.lines.get(hint.slot as usize);
            // Equal tags may be chance; the packed flow is proof.
            if line.is_none_or(|line| line.packed != hint.packed) || hint.packed == Packed::NONE {
                hint.slot = NONE;
            }
        }
    }

    /// Returns the slot of a flow that was looked up before, if it has not been removed since.
    #[inline(always)]
    pub(crate) fn place_of(&self, hint: Hint) -> Option<Place> {
        let line = self.lines.get(hint.slot as usize)?;
        // The slot may have been reused since the lookup.
        (line.packed == hint.packed).then_some(Place(hint.slot))
    }

    /// Returns the state of a stream beside its key, for changes.
    #[inline(always)]
    pub(crate) fn hot_mut(&mut self, place: Place) -> &mut H {
        &mut self.lines[place.0 as usize].hot
    }

    /// Returns each stream with the state beside its key, for changes of that.
    pub(crate) fn each_hot(&mut self) -> impl Iterator<Item = (&Stream<T>, &mut H)> {
        let lines = self.lines.iter_mut().map(|line| &mut line.hot);
        self.nodes.iter().map(|node| &node.stream).zip(lines)
    }

    /// Returns a time such that a stream touched later has not expired at `now`, and another touch would
    /// not be recorded.
    #[inline]
    pub(crate) fn fresh_since(&self, now: Instant) -> Instant {
        now.saturating_sub(self.grain)
    }

    /// Returns true if a stream was touched after `since`.
    #[inline(always)]
    pub(crate) fn is_touched_since(&self, since: Instant, place: Place) -> bool {
        self.lines[place.0 as usize].touched > since
    }

    /// Returns true if a stream was touched so lately that it has not expired and another touch
    /// would not be recorded.
    #[inline(always)]
    pub(crate) fn is_fresh(&self, now: Instant, place: Place) -> bool {
        now < self.lines[place.0 as usize].touched.saturating_add(self.grain)
    }

    /// As [`Self::page`], with the states beside the keys.
    pub(crate) fn page_hot(
        &self,
        from: usize,
        most: usize,
    ) -> impl Iterator<Item = (u32, &Stream<T>, &H)> {
        let both = self.nodes.iter().zip(&self.lines).enumerate().skip(from).take(most);
        both.filter(|(_, (_, line))| line.packed != Packed::NONE)
            .map(|(slot, (node, line))| (slot as u32, &node.stream, &line.hot))
    }
}

/// Slots per bucket: with a choice of two buckets and half of the slots in use, a full pair occurs
/// less than once in many tables of the maximum size.
pub(super) const WAYS: usize = 16;

/// One of the two buckets of a flow, in one cache line. A tag of 0 is a free slot.
#[derive(Clone, Copy, Default)]
#[repr(align(64))]
pub(super) struct Bucket {
    /// Four tags in each word.
    tags: [u64; WAYS / 4],
    pub(super) slots: [u16; WAYS],
}

const _: () = assert!(size_of::<Bucket>() == 64, "a lookup reads one cache line of a bucket");

impl Bucket {
    #[inline(always)]
    pub(super) const fn tag(&self, way: usize) -> u16 {
        (self.tags[way / 4] >> (16 * (way % 4))) as u16
    }

    pub(super) const fn set(&mut self, way: usize, tag: u16) {
        let shift = 16 * (way % 4);
        // Four tags in a word, the first in the lowest bits.
        self.tags[way / 4] = self.tags[way / 4] & !(0xffff << shift) | (tag as u64) << shift;
    }

    /// Returns the positions of a tag in a word: the highest bit of 16 for each. A slot after a
    /// match may be reported without a match.
    #[inline(always)]
    const fn ways(&self, word: usize, tag: u16) -> u64 {
        const ONES: u64 = 0x0001_0001_0001_0001;
        const HIGHS: u64 = ONES << 15;
        let unlike = self.tags[word] ^ (tag as u64 * ONES);
        // A zero word borrows and has no bits set (as in Hacker's Delight 6-1).
        unlike.wrapping_sub(ONES) & !unlike & HIGHS
    }

    /// Returns the stream in a slot with this tag, if there is one. Without branches: which slot it
    /// is cannot be foreseen, and lookups of several flows are to wait for memory together.
    #[inline(always)]
    fn first_with(&self, tag: u16) -> Option<u32> {
        // Bit n of each 16 is for word n. The lowest 16 with a bit have a match.
        let found = self.ways(0, tag) >> 15
            | self.ways(1, tag) >> 14
            | self.ways(2, tag) >> 13
            | self.ways(3, tag) >> 12;
        let bit = found.trailing_zeros() as usize;
        let way = (4 * (bit & 3) + bit / 16) & (WAYS - 1);
        (found != 0).then_some(u32::from(self.slots[way]))
    }

    /// Returns the streams in the slots with this tag.
    #[inline(always)]
    pub(super) fn with(&self, tag: u16) -> impl Iterator<Item = u32> {
        let mut word = 0;
        let mut ways = self.ways(0, tag);
        core::iter::from_fn(move || {
            loop {
                if ways != 0 {
                    let way = 4 * word + ways.trailing_zeros() as usize / 16;
                    // Clears the lowest bit, which is the slot that is returned.
                    ways &= ways - 1;
                    return Some(u32::from(self.slots[way]));
                }
                word += 1;
                if word == WAYS / 4 {
                    return None;
                }
                ways = self.ways(word, tag);
            }
        })
    }

    pub(super) fn used(&self) -> u32 {
        (0..WAYS).map(|way| u32::from(self.tag(way) != 0)).sum()
    }

    pub(super) fn free(&self) -> Option<usize> {
        (0..WAYS).find(|way| self.tag(*way) == 0)
    }
}
