//! Congestion control: ECN marking in switches and DCQCN's two ends in hosts; detection of
//! congesting flows, their isolation (802.1Qcz) and pausing at their source (P802.1Qdw), by a proxy
//! for hosts with PFC only; and Quantized Congestion Notification, for comparison.

#![warn(missing_docs)]

mod dcqcn;
mod detect;
pub mod fast_cnp;
mod flow_key;
pub mod isolation;
mod limit;
pub mod proxy;
pub mod qcn;
pub mod sfc;
mod source;
pub mod streams;
#[cfg(test)]
mod tests;

pub use dcqcn::{CnpGate, Dcqcn, DcqcnPlan};
pub use detect::{Detect, EcnPlan, MarkAt, NotEct, Queue, Verdict, marks};
pub use flow_key::FlowKey;
pub use limit::{Limit, LimitPlan};
pub use source::{Named, SharedPause, SourceMap, Trusted};
