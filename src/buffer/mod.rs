//! The shared-buffer ledger: who may use how much of the memory, and when a sender is paused.
//!
//! [`Ledger`] counts cells, as switch chips do; the memory itself belongs to the world. A frame is
//! charged to its ingress (port, priority group) by [`Ledger::admit`] and holds a [`Charge`] until
//! [`Ledger::release`] takes it back. The owner of the ledger guarantees two things: every charge
//! comes back exactly once, and each crossing that a call reports reaches the PFC sender.

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

use crate::units::PriorityGroup;

/// The receipt for a frame's buffer space: neither Clone nor Copy, made by admission alone and
/// used up by release. The `buffer` module is the only one that can make or open one.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "buffer space that is never released is lost to its group"]
pub struct Charge {
    cells: u32,
    port: u16,
    group: PriorityGroup,
}

impl Charge {
    /// Adds another receipt of the same group to this one, so that both are released at once.
    ///
    /// # Errors
    /// The other receipt, when it is for another group.
    #[inline]
    pub(crate) fn join(&mut self, other: Self) -> Result<(), Self> {
        if (self.port, self.group) != (other.port, other.group) {
            return Err(other);
        }
        self.cells += other.cells;
        Ok(())
    }

    /// Takes `cells` out into a receipt of their own, for a part that is released later.
    ///
    /// # Panics
    /// When there are not as many.
    pub(crate) fn split(&mut self, cells: u32) -> Self {
        self.cells = self.cells.checked_sub(cells).expect("a part is no larger than the whole");
        Self { cells, ..*self }
    }

    /// The ingress group that holds the space.
    #[inline]
    #[must_use]
    pub const fn group(&self) -> PriorityGroup {
        self.group
    }
}
