//! Congestion control: ECN marking in switches, and DCQCN's two ends in hosts.

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
