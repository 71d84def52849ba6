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

mod agenda;
mod ahead;
mod body;
pub mod check;
mod clock;
pub mod defect;
mod error;
mod executor;
mod faults;
mod frame;
mod guard;
mod hash;
mod ids;
mod mail;
mod network;
mod node;
mod notes;
mod observed;
mod part;
mod partition;
mod plan;
mod port;
mod queue;
mod restart;
mod rounds;
mod slots;
#[cfg(any(test, feature = "rig"))]
pub mod teststar;
mod turn;
mod turn_of_host;
mod wire;
mod wires;
mod witness;

pub use clock::ClockPlan;
pub use error::NetworkError;
pub use executor::{Executor, InTurn, Task};
pub use faults::{Fault, FaultClass, FaultKind, LineFault, Which};
pub use frame::{KEPT as FRAME_KEPT, VirtualFrame};
pub use ids::*;
pub use network::{Network, RETRY_AFTER, Refusal};
pub use node::{Node, Nodes, VirtualWorld};
pub use notes::{Loss, Note, Notes};
pub use observed::{FrameObserver, ObservedNetwork};
pub use part::Job;
pub use partition::Partition;
pub use plan::*;
pub use port::VirtualPort;
pub use queue::{Order, Queue};
pub use wires::Tally;
pub use witness::Witness;

#[cfg(test)]
mod tests;
