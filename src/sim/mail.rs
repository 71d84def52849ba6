//! Frames that are brought to their receivers, and mail between the parts of a network.

use super::body::Spares;
use super::ids::Direction;
use super::node::NodeState;
use super::wire::Flight;
use ground::time::Instant;
use ground::units::PortId;

/// A frame on its way to its receiver's end of the line.
#[derive(Debug)]
pub(super) struct Parcel {
    /// Index of the receiver among the nodes of its part.
    pub(super) index: u32,
    pub(super) port: PortId,
    /// True for a pause: what a frame is like is not looked at where it is only moved.
    pub(super) is_control: bool,
    pub(super) flight: Flight,
}

impl Parcel {
    /// Direction that it takes, to one of `nodes`.
    pub(super) fn direction(&self, nodes: &[NodeState]) -> Direction {
        nodes[self.index as usize].inlets[self.port.index()].direction
    }
}

/// A frame on its way to a node of another part.
#[derive(Debug)]
pub(super) struct Letter {
    pub(super) parcel: Parcel,
    /// Time at which it leaves its line.
    pub(super) end: Instant,
}

/// Frames from one part to another, and memory of frames that came the other way.
#[derive(Debug)]
pub(super) struct Mail {
    pub(super) letters: Vec<Letter>,
    /// The earliest arrival.
    pub(super) first: Instant,
    pub(super) spares: Spares,
}

impl Mail {
    pub(super) const EMPTY: Self =
        Self { letters: Vec::new(), first: Instant::NEVER, spares: Vec::new() };

    /// Adds a frame.
    pub(super) fn post(&mut self, letter: Letter) {
        self.first = self.first.min(letter.parcel.flight.arrival);
        self.letters.push(letter);
    }
}
