//! One number for all that happened.

use super::frame::VirtualFrame;
use super::plan::Direction;
use crate::frame::Frame;
use crate::time::Instant;

/// Octets of a frame that go in: all headers, and the probe behind them.
const HASHED: usize = 96;

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
    /// Takes two words in. The second goes in once more, so that no product of zero forgets what
    /// came before.
    #[inline(always)]
    fn mix(&mut self, first: u64, second: u64) {
        let product = u128::from(self.0 ^ first) * u128::from(second ^ 0x9e37_79b9_7f4a_7c15);
        self.0 = ((product >> 64) as u64 ^ product as u64).wrapping_add(second.rotate_left(32));
    }

    /// A frame starts on its line.
    #[inline]
    pub(super) fn frame(&mut self, at: Instant, direction: Direction, frame: &VirtualFrame) {
        self.mix(at.as_picos(), u64::from(direction.0) << 32 | u64::from(frame.wire_len()));
        let head = &frame.head()[..frame.head().len().min(HASHED)];
        let pairs = head.chunks_exact(16);
        let mut last = [0; 16];
        last[..pairs.remainder().len()].copy_from_slice(pairs.remainder());
        for pair in pairs {
            self.octets(pair.try_into().expect("the chunks are exact"));
        }
        if head.len() < HASHED {
            self.octets(&last);
        }
    }

    #[inline(always)]
    fn octets(&mut self, pair: &[u8; 16]) {
        let pair = u128::from_le_bytes(*pair);
        self.mix(pair as u64, (pair >> 64) as u64);
    }

    pub(super) const fn value(&self) -> u64 {
        self.0
    }
}
