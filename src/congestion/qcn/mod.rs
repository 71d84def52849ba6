//! Quantized Congestion Notification (802.1Qau, 802.1Q clauses 30 to 32), with which Source Flow
//! Control is compared: the congestion point of a queue and the reaction point of a flow.
//!
//! [`CongestionPoint`] is told of each frame that joins its queue and says which of them is answered
//! with a CNM, and with what feedback. [`ReactionPoint`] is told of feedback, time and octets sent, in
//! the order in which they happen, and says at what rate the flow may send. Both compute in integers,
//! so that every machine has the same rates, and draw from seeded dice.
//!
//! The names and defaults of parameters are those of IEEE8021-CN-MIB, which is public. The procedures
//! are from the algorithm's published descriptions; what they leave open is a constant or a field whose
//! comment says so.

mod plan;
mod point;
mod reaction;
#[cfg(test)]
mod tests;

pub use plan::{PointPlan, ReactionPlan};
pub use point::{CongestionPoint, Feedback};
pub use reaction::ReactionPoint;

use super::Dice;

/// The quantized feedback of a CNM, six bits: how much the rate is to be cut. Range 0 to 63.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct QuantizedFeedback(u8);

impl QuantizedFeedback {
    /// The strongest feedback that six bits say.
    pub const MAX: Self = Self(63);

    /// The checked constructor: nothing when `n` takes more than six bits.
    #[must_use]
    pub const fn new(n: u8) -> Option<Self> {
        if n <= Self::MAX.0 { Some(Self(n)) } else { None }
    }

    /// The bare number.
    #[must_use]
    pub const fn get(self) -> u8 {
        self.0
    }
}

/// `base` times a factor by chance, evenly from `percent` below one to `percent` above it, rounded down
/// and never below 1. Flows and queues that began together would else act together for ever. `percent`
/// is at most 99.
fn jittered(base: u64, percent: u8, dice: &mut Dice) -> u64 {
    const ROLLS: u128 = 65_536;
    let (least, roll) = (u128::from(100 - percent), u128::from(dice.roll()));
    let factor = least * ROLLS + 2 * u128::from(percent) * roll;
    let drawn = u128::from(base) * factor / (100 * ROLLS);
    u64::try_from(drawn).unwrap_or(u64::MAX).max(1)
}
