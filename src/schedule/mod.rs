//! The egress scheduler: eight queues, strict and DWRR, gated by pauses, shaped to the link.
//!
//! The queues hold opaque handles and never look into them. All ports of a switch share one
//! [`Arena`] of queue nodes, so that memory follows the frames that there are and not the product
//! of ports and classes; with its capacity set aside at start nothing here allocates.

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
