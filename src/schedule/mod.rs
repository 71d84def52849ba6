//! The egress scheduler: eight queues, strict and DWRR, gated by pauses, shaped to the link.

mod plan;
pub use plan::*;
