//! RoCEv2: a reliable connection between two queue pairs.

mod frames;
mod receiver;
mod sender;

pub(super) use frames::{AckFrames, CnpFrame, DataFrames};
pub(super) use receiver::Receiver;
pub(super) use sender::Sender;
