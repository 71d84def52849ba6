//! Hash of the trace of a network.
//!
//! The sum of the XXH3 of all frames' starts, which gives the same value on every machine and in every
//! order of what happens at different nodes. For comparing traces, not for security.
//!
//! What a line does to a frame behind its start is not in it: a frame that is lost or damaged on its last line,
//! and that nothing answers, changes the results of its flow alone. A frame that its sender damages starts as
//! another one.

use std::fmt;

use xxhash_rust::xxh3::xxh3_64;

use super::frame::VirtualFrame;
use super::ids::Direction;
use contracts::frame::Frame;
use ground::time::Instant;

/// Hash of the trace: every frame that started on a line, with time, place, length, content and whether its
/// sender damaged it.
#[derive(Clone, Copy, Default)]
pub(super) struct TraceHash(u64);

impl TraceHash {
    /// Adds a frame that starts on its line.
    #[inline]
    pub(super) fn frame(&mut self, at: Instant, direction: Direction, frame: &VirtualFrame) {
        let mut event = [0; 24];
        // All events in a virtual world are before 2^64 ps.
        event[..8].copy_from_slice(&(at.as_picos() as u64).to_le_bytes());
        event[8..12].copy_from_slice(&direction.0.to_le_bytes());
        // No frame has 2^31 bytes.
        let len = frame.wire_len() | u32::from(frame.spoilt) << 31;
        event[12..16].copy_from_slice(&len.to_le_bytes());
        event[16..].copy_from_slice(&frame.digest().to_le_bytes());
        self.0 = self.0.wrapping_add(xxh3_64(&event));
    }

    /// Adds the frames of another part of the network.
    pub(super) const fn add(&mut self, other: Self) {
        self.0 = self.0.wrapping_add(other.0);
    }

    pub(super) const fn value(&self) -> u64 {
        self.0
    }
}

impl fmt::Debug for TraceHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TraceHash({:016x})", self.value())
    }
}
