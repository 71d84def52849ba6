//! The shared-buffer ledger: who may use how much of the memory, and when a sender is paused.

mod plan;

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
