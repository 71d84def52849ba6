//! MACsec (802.1AE-2018): the security entity (SecY) of a port.
//!
//! A [`Secy`] protects transmitted frames and validates received ones, on bytes alone: it has no
//! knowledge of ports and time, and allocates only on creation and when keys are installed. Key
//! agreement is outside; keys come with the plan or by [`SecyChange`].
//!
//! The contract:
//! - A frame that must be protected and cannot be is refused, never sent plain. A packet number is
//!   used once per key: it never wraps, and a key that was in use does not restart below its last
//!   number.
//! - A received frame is delivered, or discarded under a counted reason. Beyond the standard, MAC
//!   control frames (PFC, PAUSE) have stricter rules than data: they are validated regardless of
//!   [`Validate`], and each must be later than the last accepted one, regardless of the replay
//!   window, so that no pause is obeyed twice or too late.
//! - Keys are stored in the cipher's memory, which wipes itself, and in a [`Sak`], which does too.
//!   Debug output does not show them.
//!
//! Counters have the names of the management objects (clause 10.7), without their prefix.

#![warn(missing_docs)]

mod association;
mod cipher;
mod counters;
mod inspect;
mod plan;
mod receive;
mod secy;
#[cfg(test)]
mod tests;
mod transmit;

pub use association::SaFault;
pub use cipher::{Aead, BATCH, Ciphers, Direction, Job};
pub use counters::*;
pub use inspect::{Inspected, Inspector, Lenience};
pub use plan::*;
pub use receive::{Accepted, Discard};
pub use secy::{Secy, SecyError};
pub use transmit::Refusal;
