//! One number for all that happened.

use super::frame::VirtualFrame;
use super::plan::Direction;
use crate::frame::Frame;
use crate::time::Instant;

/// Hashes every frame that starts on a line: when, where, how long, and what it carries. Multiply
/// and fold, as in wyhash; for telling traces apart, not for security.
#[derive(Clone, Copy, Debug)]
pub(super) struct TraceHash(u64);

impl Default for TraceHash {
    fn default() -> Self {
        Self(0x243f_6a88_85a3_08d3)
    }
}

impl TraceHash {
    #[inline]
    fn mix(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word) * u128::from(0x9e37_79b9_7f4a_7c15_u64);
        // The word goes in once more, so that no product of zero forgets what came before.
        self.0 = ((product >> 64) as u64 ^ product as u64).wrapping_add(word.rotate_left(32));
    }

    /// A frame starts on its line.
    #[inline]
    pub(super) fn frame(&mut self, at: Instant, direction: Direction, frame: &VirtualFrame) {
        self.mix(at.as_picos());
        self.mix(u64::from(direction.0) << 32 | u64::from(frame.wire_len()));
        for chunk in frame.head().chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.mix(u64::from_le_bytes(word));
        }
    }

    pub(super) const fn value(&self) -> u64 {
        self.0
    }
}
