//! What a frame's first bytes decide: the kinds that were seen before at a place, and the keys of passages.
//!
//! All frames of a flow have the same first bytes, so what those say (fields, priority, passage) is
//! found once and remembered under these bytes, the length and the place. A frame of another flow
//! that has the same slot replaces it. A frame that is in no slot finds its passage by its key.

use std::hash::Hasher;

use super::facts::Facts;
use super::parsed::{self, Data};
use crate::{Direction, NodeId, VirtualFrame};
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
        let word = |offset: usize| {
            let octets = h[offset..].first_chunk::<8>().expect("within the first bytes");
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
        // The upper bits of a product depend on all bits of its factors, the lower ones do not.
        (mixed >> 40) as usize
    }
}

impl Recent {
    /// Creates an empty table for a network.
    pub(super) fn new(facts: &Facts) -> Self {
        // Some kinds for each port; at most 4 MiB.
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
        // One branch instead of five: all differences are collected first.
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

/// Returns what of a frame's flow decides about its port: nothing if its address has one port.
pub(super) fn path(facts: &Facts, node: NodeId, frame: &VirtualFrame, data: &Data) -> u32 {
    if facts.node(node).is_single(data.dst) { 0 } else { parsed::five_tuple(frame) }
}

/// Multiplies and folds: keys are addresses, which differ in few bits.
#[derive(Default)]
pub(super) struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, octets: &[u8]) {
        for octet in octets {
            self.write_u128(u128::from(*octet));
        }
    }
    #[inline]
    fn write_u32(&mut self, n: u32) {
        self.write_u128(u128::from(n));
    }
    #[inline]
    fn write_u64(&mut self, n: u64) {
        self.write_u128(u128::from(n));
    }
    #[inline]
    fn write_u128(&mut self, n: u128) {
        let folded = (n as u64 ^ self.0).wrapping_mul(0x9e37_79b9_7f4a_7c15)
            ^ ((n >> 64) as u64).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        self.0 = folded ^ (folded >> 29);
    }
}

/// Tag and port of arrival of a frame that comes into a node.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    /// PCP and VLAN.
    pub(super) tag: (u8, u16),
    /// Number of the direction that it came by.
    pub(super) port: u32,
}

impl Entry {
    /// In its place for a frame that leaves, of which neither is known.
    pub(super) const LEAVING: Self = Self { tag: (0x7f, u16::MAX), port: u32::MAX };
}

/// Addresses, node and DSCP; tag, and the hash of its flow where that decides about its port; the port of
/// arrival.
pub(super) type Key = (u128, u64, u32);

/// A frame's passage through a node, as it comes in or (without a tag) as it leaves.
#[inline]
pub(super) fn key(node: NodeId, data: &Data, entry: Entry, path: u32) -> Key {
    let fields = u128::from(data.dst) << 80
        | u128::from(data.src) << 32
        | u128::from(data.dscp & 0x7f) << 24
        | u128::from(node.0);
    let (pcp, vid) = entry.tag;
    (fields, u64::from(path) << 32 | u64::from(vid) << 8 | u64::from(pcp), entry.port)
}
