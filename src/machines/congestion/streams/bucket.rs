//! Buckets of the table of streams.

/// Slots per bucket: with a choice of two buckets and half of the slots in use, a full pair occurs
/// less than once in many tables of the maximum size.
pub(super) const WAYS: usize = 16;

/// One of the two buckets of a flow, in one cache line. A tag of 0 is a free slot.
#[derive(Clone, Copy, Default)]
#[repr(align(64))]
pub(super) struct Bucket {
    /// Four tags in each word.
    tags: [u64; WAYS / 4],
    pub(super) at: [u16; WAYS],
}

const _: () = assert!(size_of::<Bucket>() == 64, "a lookup reads one cache line of a bucket");

impl Bucket {
    #[inline(always)]
    pub(super) const fn tag(&self, way: usize) -> u16 {
        (self.tags[way / 4] >> (16 * (way % 4))) as u16
    }

    pub(super) const fn set(&mut self, way: usize, tag: u16) {
        let shift = 16 * (way % 4);
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
    pub(super) fn first_with(&self, tag: u16) -> Option<u32> {
        // Bit n of each 16 is for word n. The lowest 16 with a bit have a match.
        let found = self.ways(0, tag) >> 15
            | self.ways(1, tag) >> 14
            | self.ways(2, tag) >> 13
            | self.ways(3, tag) >> 12;
        let at = found.trailing_zeros() as usize;
        let way = (4 * (at & 3) + at / 16) & (WAYS - 1);
        (found != 0).then_some(u32::from(self.at[way]))
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
                    ways &= ways - 1;
                    return Some(u32::from(self.at[way]));
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
