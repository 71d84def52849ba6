//! Priority-based flow control and PAUSE: the sender, the receiver and the storm watchdog.
//!
//! Three state machines per port, independent of frame formats: the switch converts [`Demand`]s to
//! PFC and PAUSE frames, and received ones to calls of the [`Receiver`].

#![warn(missing_docs)]

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

pub use ground::units::PauseVector;
use ground::units::Quanta;

/// A flow-control frame to be sent now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Demand {
    /// A PFC frame.
    Pfc(PauseVector),
    /// An 802.3x PAUSE frame with this time; 0 resumes.
    Pause(Quanta),
}
