//! Faults of a network, and everything that is known of a kind of fault before it happens.
//! `Network::fail` applies them.

use ground::time::{Duration, Instant};
use switch::Change;

use super::ids::{Direction, ErrorPlan, LinkId, NodeId};

/// A scheduled fault.
#[derive(Clone, Debug)]
pub struct Fault {
    pub at: Instant,
    pub kind: FaultKind,
}

/// Kind of a fault.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FaultKind {
    /// A link goes down, with the frames on it, or comes up.
    Link {
        link: LinkId,
        /// True if it comes up.
        up: bool,
    },
    /// The next frames of a kind are lost.
    Lose { direction: Direction, which: Which, frames: u64 },
    /// New error probabilities of a direction.
    Errors { direction: Direction, errors: ErrorPlan },
    /// A forged frame arrives as if it had come over the link. No effect on a link that is down.
    Forge {
        direction: Direction,
        /// Frame without FCS, at least 60 bytes.
        octets: Box<[u8]>,
    },
    /// A protected MAC control frame that arrived by a direction arrives again, byte for byte. No
    /// effect if there was none, and on a link that is down.
    Replay {
        direction: Direction,
        /// Index of the frame: 0 for the last that arrived, 1 for the one before, up to
        /// [`FaultKind::RECORDED`] - 1.
        back: u32,
    },
    /// A node is not polled for a while, as if its thread were preempted.
    Stall { node: NodeId, span: Duration },
    /// A switch is changed.
    Change { node: NodeId, change: Change },
}

/// Kinds of frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Which {
    /// All.
    Any,
    /// MAC control: pauses.
    Control,
    /// All but MAC control.
    Data,
}

/// Classes of faults, by their effect. A new kind of fault belongs to one of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FaultClass {
    /// A link goes down.
    LinkDown,
    /// A link comes up.
    LinkUp,
    /// Pauses are lost.
    LostPauses,
    /// Other frames, or frames of any kind, are lost.
    LostFrames,
    /// A line has other error rates.
    Errors,
    /// A frame arrives that its sender has not sent.
    Forged,
    /// A node stalls.
    Stall,
    /// A setting of a switch changes.
    Change,
}

impl FaultClass {
    /// Returns true if frames are lost or added on a line, which rings cannot do.
    #[must_use]
    pub const fn is_of_line(self) -> bool {
        match self {
            Self::LinkDown | Self::LinkUp | Self::Stall | Self::Change => false,
            Self::LostPauses | Self::LostFrames | Self::Errors | Self::Forged => true,
        }
    }
}

// All matches are without `_`, so that a new kind of fault does not compile until each of these
// questions has an answer.
impl FaultKind {
    /// Number of frames recorded for replay.
    pub const RECORDED: u32 = 64;

    #[must_use]
    pub const fn class(&self) -> FaultClass {
        match self {
            Self::Link { up: false, .. } => FaultClass::LinkDown,
            Self::Link { up: true, .. } => FaultClass::LinkUp,
            Self::Lose { which: Which::Control, .. } => FaultClass::LostPauses,
            Self::Lose { which: Which::Any | Which::Data, .. } => FaultClass::LostFrames,
            Self::Errors { .. } => FaultClass::Errors,
            Self::Forge { .. } | Self::Replay { .. } => FaultClass::Forged,
            Self::Stall { .. } => FaultClass::Stall,
            Self::Change { .. } => FaultClass::Change,
        }
    }

    /// Returns the node that it stalls, and for how long.
    pub(super) const fn stall(&self) -> Option<(NodeId, Duration)> {
        match *self {
            Self::Stall { node, span } => Some((node, span)),
            Self::Link { .. } | Self::Lose { .. } | Self::Errors { .. } => None,
            Self::Forge { .. } | Self::Replay { .. } | Self::Change { .. } => None,
        }
    }

    /// Returns the direction whose frames must be recorded for it.
    pub(super) const fn replays(&self) -> Option<Direction> {
        match *self {
            Self::Replay { direction, .. } => Some(direction),
            Self::Link { .. } | Self::Lose { .. } | Self::Errors { .. } => None,
            Self::Forge { .. } | Self::Stall { .. } | Self::Change { .. } => None,
        }
    }

    /// Returns the direction in which a frame made for it arrives, and the frame.
    #[must_use]
    pub fn forged(&self) -> Option<(Direction, &[u8])> {
        match self {
            Self::Forge { direction, octets } => Some((*direction, octets)),
            Self::Link { .. } | Self::Lose { .. } | Self::Errors { .. } => None,
            Self::Replay { .. } | Self::Stall { .. } | Self::Change { .. } => None,
        }
    }

    /// Returns the switch that it changes, and the change.
    #[must_use]
    pub const fn change(&self) -> Option<(NodeId, &Change)> {
        match self {
            Self::Change { node, change } => Some((*node, change)),
            Self::Link { .. } | Self::Lose { .. } | Self::Errors { .. } => None,
            Self::Forge { .. } | Self::Replay { .. } | Self::Stall { .. } => None,
        }
    }
}
