//! Threads of the real world: workers, the channels between them, and their control.
//!
//! Only [`Mesh`] is on the path of a frame; it is bounded and never blocks. The threads do not
//! depend on the kind of port; `real` makes them for DPDK.

mod agent_port;
mod claims;
mod controller;
mod cores;
mod cpu_set;
mod leash;
mod placement;
mod polls;
mod preemption;
mod pressure;
#[cfg(feature = "dpdk")]
pub mod real;
mod shared_instant;
mod slack;
mod snapshot;
mod watch;
mod worker;

#[cfg(test)]
#[path = "../../../tests/shared/testfolder.rs"]
mod testfolder;

pub use agent_port::AgentPort;
pub use claims::Claims;
pub use contracts::mesh::{Mesh, exchange, mesh};
pub use controller::{
    Controller, Ended, NicReader, OrderError, Part, Place, StartError, Workers, start,
};
pub use cores::{Cores, NotUsable};
pub use cpu_set::{CpuSet, CpuSetError};
pub use leash::{Leash, Tether};
pub use placement::{CONTROL_CPUS, Claimed, Cpus, Pin, Placement, Unpinned, place};
pub use polls::PollRecord;
pub use preemption::{Disturbance, GAP_COUNTED, Patience, PollGaps, Preemption, SLICE};
pub use pressure::CpuAccount;
pub use shared_instant::SharedInstant;
pub use slack::slack_for;
pub use snapshot::{RunSnapshot, WorkerSnapshot, merge};
pub use watch::{LossWatch, LosslessLosses};
pub use worker::Idle;

#[cfg(test)]
mod tests;
