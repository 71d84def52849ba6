//! Congestion control: ECN marking in switches and DCQCN's two ends in hosts; congesting flows found,
//! isolated (802.1Qcz) and paused at their source (P802.1Qdw).

mod cnp_gate;
mod dcqcn;
mod detect;
mod ecn;
mod flow_key;
pub mod isolation;
mod limit;
mod plan;
pub mod sfc;
pub mod streams;

pub use cnp_gate::CnpGate;
pub use dcqcn::Dcqcn;
pub use detect::{Detect, Queue};
pub use ecn::{Dice, Verdict, marks};
pub use flow_key::FlowKey;
pub use limit::{Limit, LimitPlan};
pub use plan::*;
