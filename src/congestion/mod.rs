//! Congestion control: ECN marking.

mod plan;
pub use plan::*;
