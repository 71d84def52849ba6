//! The shared-buffer ledger: allocation of the packet buffer, and pausing of senders.
//!
//! [`Ledger`] counts cells, as switch chips do; the memory itself belongs to the world. A frame is
//! charged to its ingress (port, priority group) by [`Ledger::admit`] and holds a [`Charge`] until
//! [`Ledger::release`]. The owner of the ledger guarantees two things: every charge is released
//! exactly once, and each crossing that a call returns is passed to the PFC sender.

#![warn(missing_docs)]

mod group;
mod ledger;
mod plan;
#[cfg(test)]
mod tests;

pub use group::{Charge, Crossing, GroupUsage};
pub use ledger::{Admission, Ledger, Refusal};
pub use plan::*;
