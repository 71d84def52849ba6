//! MACsec (802.1AE-2018): the security entity (SecY) of a port.
//!
//! A [`Secy`] protects frames that leave and decides about frames that come in, on octets alone: it
//! knows no port, no time and no memory but its own, which it takes when it is made and when it is
//! given keys. Key agreement is outside; keys come with the plan or by [`SecyChange`].
//!
//! The contract:
//! - What has to be protected and cannot be is refused, never sent plain. A packet number is used once
//!   under a key: it never wraps, and a key that was in use does not start again below where it was.
//! - What comes in is delivered, or refused under a name that is counted. Beyond the standard, MAC
//!   control frames (PFC, PAUSE) are held to more than data is: they are validated whatever
//!   [`Validate`] says, and each has to be younger than the last one that was accepted, whatever the
//!   replay window is, so that no pause is obeyed twice or after its time.
//! - Keys are in the cipher's own memory, which wipes itself, and in a [`Sak`], which does too.
//!   Nothing here shows them.
//!
//! Counters have the names of the management objects (clause 10.7), without their prefix.

mod association;
mod change;
mod cipher;
mod counters;
mod plan;
mod receive;
mod replay;
mod secy;
#[cfg(test)]
mod tests;
mod transmit;

pub use association::SaFault;
pub use change::*;
pub use cipher::{Aead, BATCH, Ciphers, Direction, Job};
pub use counters::*;
pub use plan::*;
pub use receive::{Accepted, Discard};
pub use secy::{Secy, SecyError};
pub use transmit::Refusal;
