//! The real world's threads: workers, what goes between them, and the way to speak to them.
//!
//! Nothing here is on the path of a frame but [`Mesh`], which is bounded and never blocks. The
//! threads are the same whatever the ports are; `real` makes them for DPDK.

mod agent_port;
pub mod control;
mod controller;
mod cores;
pub mod exchange;
mod leash;
mod mesh;
mod polls;
mod preemption;
#[cfg(feature = "dpdk")]
pub mod real;
mod shared_instant;
mod slack;
mod snapshot;
mod watch;
mod worker;

pub use agent_port::AgentPort;
pub use controller::{
    Controller, Ended, NicReader, OrderError, Part, Place, StartError, Workers, start,
};
pub use cores::Cores;
pub use leash::{Leash, Tether};
pub use mesh::{Mesh, mesh};
pub use polls::PollRecord;
pub use preemption::{Disturbance, GAP_COUNTED, Patience, PollGaps, Preemption, SLICE};
pub use shared_instant::SharedInstant;
pub use slack::slack_for;
pub use snapshot::{NicCounters, RunSnapshot, WorkerSnapshot, merge};
pub use watch::LossWatch;
pub use worker::Idle;

/// The atomics that [`exchange`] is written against; its loom test puts loom's in their place.
mod sync {
    pub(super) use std::sync::Arc;
    pub(super) use std::sync::atomic::{AtomicU64, Ordering, fence};
}

#[cfg(all(test, feature = "dpdk"))]
pub(crate) mod testrings;
#[cfg(test)]
mod tests;
