//! Congestion control: ECN marking in switches, DCQCN's two ends in hosts, the proxy of Source Flow
//! Control in top-of-rack switches, and Quantized Congestion Notification, with which it is compared.

mod cnp_gate;
mod dcqcn;
mod ecn;
mod plan;
pub mod proxy;
pub mod qcn;

pub use cnp_gate::CnpGate;
pub use dcqcn::Dcqcn;
pub use ecn::{Dice, Verdict, marks};
pub use plan::*;
