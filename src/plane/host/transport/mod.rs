//! Flows with acknowledgements: RoCEv2 queue pairs, and TCP-like senders.
//!
//! The machines (`roce`, `tcp`) handle packet numbers, with time as an argument; they build no
//! frames and can be driven by anything. `sender` and [`receiver`] build the frames, `pace` limits
//! a flow's rate, [`answers`] queues the acknowledgements of a station, `cut` maps packets to the
//! bytes of messages.

pub(super) mod answers;
mod bits;
mod cut;
mod frames;
mod pace;
pub(super) mod receiver;
mod roce;
pub(super) mod sender;
mod tcp;
#[cfg(test)]
mod tests;

pub use cut::{Completion, Completions};
pub use receiver::ReceiverCounters;
pub use sender::SenderCounters;
