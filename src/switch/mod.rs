//! The switch: one poll takes frames in, decides, and sends frames out.

mod plan;
pub use plan::*;
