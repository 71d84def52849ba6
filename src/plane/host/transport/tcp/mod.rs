//! TCP-like flows: lossy background traffic with congestion control.

mod frames;
mod receiver;
mod sender;

pub(super) use frames::{AckFrames, DataFrames};
pub(super) use receiver::Receiver;
pub(super) use sender::Sender;
