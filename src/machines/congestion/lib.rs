//! Congestion control: ECN marking in switches and DCQCN's two ends in hosts; detection of
//! congesting flows, their isolation (802.1Qcz) and pausing at their source (P802.1Qdw), by a proxy
//! for hosts with PFC only; and Quantized Congestion Notification, for comparison.

#![warn(missing_docs)]

mod cnp_gate;
mod dcqcn;
mod detect;
mod ecn;
pub mod fast_cnp;
mod flow_key;
pub mod isolation;
mod limit;
mod plan;
pub mod proxy;
pub mod qcn;
#[cfg(test)]
mod rig;
pub mod sfc;
mod shared_pause;
mod source_map;
pub mod streams;

pub use cnp_gate::CnpGate;
pub use dcqcn::Dcqcn;
pub use detect::{Detect, Queue};
pub use ecn::{Verdict, marks};
pub use flow_key::FlowKey;
pub use limit::{Limit, LimitPlan};
pub use plan::*;
pub use shared_pause::SharedPause;
pub use source_map::{Named, SourceMap, Trusted};
