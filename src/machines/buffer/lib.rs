//! The shared-buffer ledger: allocation of the packet buffer, and pausing of senders.
//!
//! [`Ledger`] counts cells, as switch chips do; the memory itself belongs to the world. A frame is
//! charged to its ingress (port, priority group) by [`Ledger::admit`] and holds a [`Charge`] until
//! [`Ledger::release`]. The owner of the ledger guarantees two things: every charge is released
//! exactly once, and each crossing that a call returns is passed to the PFC sender.

#![warn(missing_docs)]

mod cells;
mod error;
mod group;
mod ledger;
mod plan;
#[cfg(test)]
mod tests;

pub use error::BufferError;
pub use group::{Crossing, GroupUsage};
pub use ledger::{Admission, Ledger, Refusal};
pub use plan::*;

use ground::units::PriorityGroup;

/// Receipt for a frame's buffer space: neither Clone nor Copy, created by admission alone and
/// consumed by release. Only the `buffer` crate can create or open one.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "buffer space that is never released is lost to its group"]
pub struct Charge {
    cells: u32,
    port: u16,
    group: PriorityGroup,
}

impl Charge {
    /// Adds another receipt of the same group to this one, so that both are released together.
    ///
    /// # Errors
    /// The other receipt, if it is for another group.
    #[inline]
    pub fn join(&mut self, other: Self) -> Result<(), Self> {
        if (self.port, self.group) != (other.port, other.group) {
            return Err(other);
        }
        self.cells += other.cells;
        Ok(())
    }

    /// Splits `cells` off into another receipt, for a part that is released later.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn split(&mut self, cells: u32) -> Self {
        self.cells = self.cells.checked_sub(cells).expect("a part is no larger than the whole");
        Self { cells, ..*self }
    }

    /// Returns the ingress group charged.
    #[inline]
    #[must_use]
    pub const fn group(&self) -> PriorityGroup {
        self.group
    }
}
