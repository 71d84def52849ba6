//! Priority-based flow control and PAUSE: the sender, the receiver and the storm watchdog.
//!
//! Three machines per port that know nothing of frames: the switch turns [`Demand`]s into PFC and
//! PAUSE frames, and such frames into calls of the [`Receiver`].

mod plan;
mod receiver;
mod sender;
mod tally;
#[cfg(test)]
mod tests;
mod watchdog;

pub use plan::*;
pub use receiver::Receiver;
pub use sender::Sender;
pub use watchdog::{StormEvent, Watchdog};

use crate::units::{PRIORITIES, PrioritySet, Quanta};

/// What one PFC frame says (802.3 31D.2): which priorities it is about, and for how long each is
/// paused. A time of 0 resumes. Times of priorities that are not enabled mean nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PauseVector {
    /// The priority enable vector.
    pub enabled: PrioritySet,
    /// The time vector, by priority.
    pub time: [Quanta; PRIORITIES],
}

/// A flow-control frame that is to be sent now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Demand {
    /// A PFC frame.
    Pfc(PauseVector),
    /// An 802.3x PAUSE frame with this time; 0 resumes.
    Pause(Quanta),
}
