//! What decides about a frame's passage, as a key.

use std::hash::Hasher;

use super::super::facts::Facts;
use super::super::parsed::{self, Data};
use crate::{NodeId, VirtualFrame};

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
