//! Threads of the real world: workers, the channels between them, and their control.
//!
//! Only [`Mesh`] is on the path of a frame; it is bounded and never blocks. The threads do not
//! depend on the kind of port; `real` makes them for interfaces of the kernel and for DPDK.

mod agent_port;
mod claims;
mod clock_sync;
mod controller;
mod cores;
mod device;
#[cfg(feature = "dpdk")]
mod on_dpdk;
mod placement;
pub mod poll_threads;
mod preemption;
mod pressure;
pub mod real;
mod watch;
mod worker;

#[cfg(test)]
#[path = "../../../tests/shared/testfolder.rs"]
mod testfolder;

pub use agent_port::AgentPort;
pub use claims::Claims;
pub use clock_sync::{ClockSync, SharedInstant, ThreadClock};
pub use contracts::mesh::{Mesh, exchange, mesh};
pub use controller::{
    Controller, Ended, NicReader, OrderError, Part, Place, StartError, Workers, start,
};
pub use cores::{Cores, NotUsable};
pub use device::Device;
pub use placement::{
    CONTROL_CPUS, Claimed, CpuSet, CpuSetError, Cpus, Pin, Placement, Unpinned, place,
};
pub use preemption::{Disturbance, GAP_COUNTED, Patience, PollGaps, Preemption, SLICE};
pub use pressure::CpuAccount;
pub use watch::{LossWatch, LosslessLosses, PollRecord, RunSnapshot, WorkerSnapshot, merge};
pub use worker::{Idle, slack_for};

#[cfg(test)]
mod tests;
