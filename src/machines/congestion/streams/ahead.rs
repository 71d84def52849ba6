//! The flows of a burst looked up ahead of their use, and the states beside their keys.

use super::{Hashed, NONE, Place, Stream, StreamTable};
use crate::flow_key::Packed;
use ground::time::Instant;

/// Result of a lookup ahead of its use: the slot in which the stream of a flow was found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hint {
    pub(crate) packed: Packed,
    at: u32,
}

impl Hint {
    /// No flow.
    pub(crate) const NONE: Self = Self::of(Packed::NONE);

    /// A flow that is to be looked up.
    #[inline(always)]
    pub(crate) const fn of(packed: Packed) -> Self {
        Self { packed, at: NONE }
    }
}

impl<T: Copy, H: Copy + Default> StreamTable<T, H> {
    /// Looks up the flows of a burst, those in IPv4 alone, for [`Self::at`]. `hints` has their
    /// flows and gets their slots.
    #[inline]
    pub(crate) fn seek(&self, hints: &mut [Hint]) {
        // The first pass waits for buckets and the second one for streams, each for all at once.
        for hint in &mut *hints {
            let Hashed { tag, buckets: [first, _], .. } = self.hash(hint.packed);
            // A flow in its second bucket, or behind another one with its tag, is left to `find`.
            hint.at = self.buckets[first].first_with(tag).unwrap_or(NONE);
        }
        for hint in hints {
            let line = self.lines.get(hint.at as usize);
            if line.is_none_or(|line| line.packed != hint.packed) || hint.packed == Packed::NONE {
                hint.at = NONE;
            }
        }
    }

    /// Returns the slot of a flow that was looked up before, if it has not been removed since.
    #[inline(always)]
    pub(crate) fn at(&self, hint: Hint) -> Option<Place> {
        let line = self.lines.get(hint.at as usize)?;
        (line.packed == hint.packed).then_some(Place(hint.at))
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
            .map(|(at, (node, line))| (at as u32, &node.stream, &line.hot))
    }
}
