//! Congestion control: ECN marking.

mod ecn;
mod plan;

pub use ecn::{Dice, Verdict, marks};
pub use plan::*;
