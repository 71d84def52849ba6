//! Priority-based flow control and PAUSE: the sender, the receiver and the storm watchdog.

mod plan;
pub use plan::*;
