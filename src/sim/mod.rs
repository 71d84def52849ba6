//! The virtual world: the same data plane in exact time.
//!
//! A [`Network`] runs switches and hosts, the very types that run on real ports, on links that
//! count in picoseconds. It promises:
//! - **The same plan gives the same trace**, to the picosecond, on every machine and in every build
//!   profile: no clock is read, nothing is drawn but from the plan's seeds, no floating point
//!   decides anything, and events at the same time have one order (see [`Queue`]).
//!   [`Network::trace_hash`] is the trace in one number.
//! - **A line is never overdriven.** The port's shaper is the line: a frame starts when the one
//!   before has left. A pause waits for the frame that is on the line and then goes first.
//! - **Nothing is looked at without need, and needs no more than it is shown**: a node is polled
//!   when something arrives or its own deadline has come. That this is as good as polling it all
//!   the time is poll invariance, which the data plane promises and tests hold it to.
//! - **Every frame's end is seen**: it arrives, or a [`Witness`] is told of its [`Loss`].
//!
//! It knows nothing of files, checks and reports; `lab` does.

pub mod check;
mod clock;
mod error;
mod frame;
mod guard;
mod hash;
mod network;
mod node;
mod plan;
mod queue;
#[cfg(test)]
pub(crate) mod sabotage;
#[cfg(test)]
pub(crate) mod teststar;
mod wire;
mod wires;
mod witness;

pub use clock::ClockPlan;
pub use error::NetworkError;
pub use frame::{VirtualFrame, VirtualPort};
pub use network::{Network, RETRY_AFTER, Tally};
pub use node::{Node, Nodes};
pub use plan::*;
pub use queue::{Class, Queue};
pub use witness::{Loss, Note, Notes, Witness};

use crate::world::{Alone, World};

/// The world of a switch in a virtual network.
#[derive(Debug)]
pub enum VirtualWorld {}

impl World for VirtualWorld {
    type Frame = VirtualFrame;
    type Port = VirtualPort;
    type Events = Notes;
    type Handoff = Alone;
}

#[cfg(test)]
mod tests;
