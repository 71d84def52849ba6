//! Flows whose receivers answer: RoCEv2 queue pairs, and senders that are like TCP.
//!
//! The machines (`roce`, `tcp`) know packets by number and time as an argument; they make no frames
//! and can be driven by anything. `sender` and [`receiver`] put octets to them, `pace` holds a flow
//! to its rate, [`answers`] gives the receivers of a station their turns, `cut` says which octets of
//! which message a packet has.

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

pub use cut::Completions;
pub use receiver::ReceiverCounters;
pub use sender::SenderCounters;
