//! One number for many: the trace of a network, the octets of a frame.
//!
//! XXH3, which gives the same numbers on every machine. For telling traces apart, not for security.

use std::fmt;

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::frame::VirtualFrame;
use super::plan::Direction;
use crate::frame::Frame;
use crate::time::Instant;

/// The digest of these octets.
#[inline]
pub(super) fn digest(octets: &[u8]) -> u64 {
    xxh3_64(octets)
}

/// All that happened: every frame that started on a line, when, where, how long and what it was.
#[derive(Clone, Default)]
pub(super) struct TraceHash(Xxh3);

impl TraceHash {
    /// A frame starts on its line.
    #[inline]
    pub(super) fn frame(&mut self, at: Instant, direction: Direction, frame: &VirtualFrame) {
        let mut event = [0; 24];
        // Whatever happens in a virtual world happens before 2^64 ps.
        event[..8].copy_from_slice(&(at.as_picos() as u64).to_le_bytes());
        event[8..12].copy_from_slice(&direction.0.to_le_bytes());
        event[12..16].copy_from_slice(&frame.wire_len().to_le_bytes());
        event[16..].copy_from_slice(&frame.digest().to_le_bytes());
        self.0.update(&event);
    }

    pub(super) fn value(&self) -> u64 {
        self.0.digest()
    }
}

impl fmt::Debug for TraceHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TraceHash({:016x})", self.value())
    }
}
