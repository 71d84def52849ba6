//! The egress scheduler: eight queues, strict and DWRR, gated by pauses, shaped to the link.
//!
//! The queues store opaque handles. All ports of a switch share one [`Arena`] of queue nodes, so
//! that memory is proportional to the number of frames and not to ports times classes; with its
//! capacity reserved at start nothing here allocates.

#![warn(missing_docs)]

mod arena;
mod line;
mod plan;
mod scheduler;
mod shaper;

pub use arena::Arena;
pub use line::{Line, LinePlan};
pub use plan::*;
pub use scheduler::{Popped, Scheduler};
pub use shaper::Shaper;
