//! One number for many: the trace of a network, the octets of a frame.

use super::frame::VirtualFrame;
use super::plan::Direction;
use crate::frame::Frame;
use crate::time::Instant;

/// Takes words in by multiplying and folding, as wyhash does. For telling traces apart, not for
/// security.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mix(u64);

impl Default for Mix {
    fn default() -> Self {
        Self(0x243f_6a88_85a3_08d3)
    }
}

impl Mix {
    /// Takes two words in. The second goes in once more, so that no product of zero forgets what
    /// came before.
    #[inline(always)]
    pub(super) fn words(&mut self, first: u64, second: u64) {
        let product = u128::from(self.0 ^ first) * u128::from(second ^ 0x9e37_79b9_7f4a_7c15);
        self.0 = ((product >> 64) as u64 ^ product as u64).wrapping_add(second.rotate_left(32));
    }

    #[inline(always)]
    pub(super) fn octets(&mut self, pair: &[u8; 16]) {
        let pair = u128::from_le_bytes(*pair);
        self.words(pair as u64, (pair >> 64) as u64);
    }

    pub(super) const fn value(self) -> u64 {
        self.0
    }
}

/// All that happened: every frame that started on a line, when, where, how long and what it was.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TraceHash(Mix);

impl TraceHash {
    /// A frame starts on its line.
    #[inline]
    pub(super) fn frame(&mut self, at: Instant, direction: Direction, frame: &VirtualFrame) {
        self.0.words(at.as_picos(), u64::from(direction.0) << 32 | u64::from(frame.wire_len()));
        self.0.words(frame.digest(), 0);
    }

    pub(super) const fn value(&self) -> u64 {
        self.0.value()
    }
}
