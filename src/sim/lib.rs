//! The virtual world: the same data plane in exact time.
//!
//! A [`Network`] runs switches and hosts, the very types that run on real ports, on links that
//! count in picoseconds. It guarantees:
//! - **The same plan gives the same trace**, to the picosecond, on every machine and in every build
//!   profile: no clock is read, all randomness comes from the plan's seeds, no decision uses
//!   floating point, and simultaneous events of a node have one order (see [`Queue`]).
//!   [`Network::trace_hash`] is the hash of the trace.
//! - **A line is never overdriven.** The port's shaper is the line: a frame starts when the
//!   previous one has left. A pause waits for the frame on the line and then goes first.
//! - **Nodes are polled only when needed**: when something arrives or their deadline has come. This
//!   gives the same result as polling continuously because of poll invariance, which the data plane
//!   guarantees and tests verify.
//! - **It runs in parts** if it is told to ([`Network::divide`]): at the same time where an
//!   [`Executor`] from above does that, with the same trace and the same observations.
//! - **Every frame is accounted for**: it arrives, or a [`Witness`] is told of its [`Loss`].
//!
//! It does not depend on files, checks and reports; `lab` does.

mod ahead;
mod body;
mod changes;
pub mod check;
pub mod defect;
mod faults;
mod frame;
mod guard;
mod network;
mod node;
mod part;
mod partition;
mod plan;
mod port;
mod queue;
mod rounds;
#[cfg(any(test, feature = "rig"))]
pub mod teststar;
mod turn;
mod wire;
mod wires;
mod witness;

pub use changes::{RETRY_AFTER, Refusal};
pub use faults::{Fault, FaultClass, FaultKind, LineFault, Which};
pub use frame::{KEPT as FRAME_KEPT, VirtualFrame};
pub use network::Network;
pub use node::{ClockPlan, Node, Nodes, VirtualWorld};
pub use part::{Executor, InTurn, Job, Task};
pub use partition::Partition;
pub use plan::*;
pub use port::VirtualPort;
pub use queue::{Order, Queue};
pub use wires::Tally;
pub use witness::{FrameObserver, Loss, Note, Notes, ObservedNetwork, Witness};

#[cfg(test)]
mod tests;
