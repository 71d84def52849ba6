//! Frames whose kind was seen before at a place: nearly all of them.
//!
//! All frames of a flow have the same first bytes, so what those say (fields, priority, passage) is
//! found once and remembered under these bytes, the length and the place. A frame of another flow
//! that has the same slot replaces it.

use super::facts::Facts;
use crate::{Direction, VirtualFrame};
use contracts::frame::Frame;

/// The bytes that decide the fields of [`Data`](super::parsed::Data), of a frame that has all of them,
/// and the place of the frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Kind {
    first: u64,
    second: u64,
    third: u32,
    len: u32,
    place: u32,
}

/// The end of the line at which a frame is seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Side {
    Leaves,
    Arrives,
}

/// Facts about a data frame that follow from its kind and place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    /// Number of its passage, or [`Known::NO_PASSAGE`] at a host.
    pub(super) passage: u32,
    /// Its cells in the buffer, of a frame that arrives at a switch.
    pub(super) cells: u32,
    /// Its priority at a host that sends it, or at a switch that it arrives at.
    pub(super) priority: u8,
}

impl Known {
    pub(super) const NO_PASSAGE: u32 = u32::MAX;
}

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Slot {
    kind: Kind,
    known: Known,
}

/// The kinds that were seen last, direct-mapped.
#[derive(Clone, Debug)]
pub(super) struct Recent {
    slots: Box<[Slot]>,
}

/// Length of the bytes that are read of a frame: those of the parser.
const READ: usize = 34;

impl Kind {
    /// `None` for a frame that is too short.
    #[inline]
    pub(super) fn of(frame: &VirtualFrame, direction: Direction, side: Side) -> Option<Self> {
        let h = frame.head().first_chunk::<READ>()?;
        let word = |at: usize| {
            let octets = h[at..].first_chunk::<8>().expect("within the first bytes");
            u64::from_le_bytes(*octets)
        };
        let (first, second) = (word(0), word(8));
        // Behind a tag, EtherType and DSCP are four bytes later; else these are other fields.
        let is_tagged = (second >> 32) as u16 == u16::from_le_bytes([0x81, 0x00]);
        let third = if is_tagged { u32::from_le_bytes([h[16], h[17], h[18], h[19]]) } else { 0 };
        let place = direction.0 << 1 | (side == Side::Arrives) as u32;
        Some(Self { first, second, third, len: frame.wire_len(), place })
    }

    #[inline]
    const fn hash(&self) -> usize {
        let place = (self.place as u64) << 40;
        let mixed =
            (self.first ^ self.second.rotate_left(23) ^ place).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 40) as usize
    }
}

impl Recent {
    /// Creates an empty table for a network.
    pub(super) fn new(facts: &Facts) -> Self {
        let slots = (8 * facts.ports.len()).clamp(1 << 10, 1 << 16).next_power_of_two();
        // No frame has a length of 0.
        let kind = Kind { first: 0, second: 0, third: 0, len: 0, place: 0 };
        let known = Known { passage: Known::NO_PASSAGE, cells: 0, priority: 0 };
        Self { slots: vec![Slot { kind, known }; slots].into() }
    }

    /// Returns the facts about a kind.
    #[inline]
    pub(super) fn find(&self, kind: &Kind) -> Option<Known> {
        let slot = &self.slots[kind.hash() & (self.slots.len() - 1)];
        let (own, other) = (&slot.kind, kind);
        let bytes = (own.first ^ other.first) | (own.second ^ other.second);
        let rest = (own.third ^ other.third) | (own.len ^ other.len) | (own.place ^ other.place);
        (bytes | u64::from(rest) == 0).then_some(slot.known)
    }

    /// Forgets everything.
    #[cold]
    pub(super) fn forget(&mut self) {
        self.slots.iter_mut().for_each(|slot| slot.kind.len = 0);
    }

    /// Remembers the facts about a kind of data frames.
    pub(super) fn note(&mut self, kind: Kind, known: Known) {
        let slot = kind.hash() & (self.slots.len() - 1);
        self.slots[slot] = Slot { kind, known };
    }
}
