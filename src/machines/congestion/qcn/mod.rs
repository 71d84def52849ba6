//! Quantized Congestion Notification (802.1Qau, 802.1Q clauses 30 to 32), for comparison with
//! Source Flow Control: the congestion point of a queue and the reaction point of a flow.
//!
//! [`CongestionPoint`] takes each frame that joins its queue and selects those that are answered
//! with a CNM, and its feedback. [`ReactionPoint`] takes feedback, time and sent bytes in the order
//! in which they happen, and calculates the flow's rate. Both use integers, so that every machine
//! has the same rates, and seeded random numbers.
//!
//! Names and defaults of parameters are those of IEEE8021-CN-MIB, which is public. The procedures
//! are from the algorithm's published descriptions; choices where they are silent are constants or
//! fields with a comment.

mod plan;
mod point;
mod reaction;
#[cfg(test)]
mod tests;

pub use plan::{PointPlan, ReactionPlan};
pub use point::{CongestionPoint, Feedback};
pub use reaction::ReactionPoint;

use ground::rand::Rng;

/// Quantized feedback of a CNM, six bits: the size of the rate decrease. Range 0 to 63.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct QuantizedFeedback(u8);

impl QuantizedFeedback {
    /// Strongest feedback.
    pub const MAX: Self = Self(63);

    /// Creates a feedback; `None` if `n` exceeds six bits.
    #[must_use]
    pub const fn new(n: u8) -> Option<Self> {
        if n <= Self::MAX.0 { Some(Self(n)) } else { None }
    }

    /// Returns the number.
    #[must_use]
    pub const fn get(self) -> u8 {
        self.0
    }
}

/// Returns `base` times a uniform random factor, from `percent` below one to `percent` above it,
/// rounded down and at least 1. Without jitter, flows and queues that began together would stay
/// synchronized. `percent` is at most 99.
fn jittered(base: u64, percent: u8, rng: &mut Rng) -> u64 {
    const ROLLS: u128 = 65_536;
    let (least, roll) = (u128::from(100 - percent), u128::from(rng.next_u16()));
    let factor = least * ROLLS + 2 * u128::from(percent) * roll;
    let drawn = u128::from(base) * factor / (100 * ROLLS);
    u64::try_from(drawn).unwrap_or(u64::MAX).max(1)
}
