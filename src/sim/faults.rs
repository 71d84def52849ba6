//! Faults of a network, and everything that is known of a kind of fault before it happens.
//! `Network::fail` applies them.

use super::defect::Defect;
use super::plan::{Direction, End, ErrorPlan, LinkId, NodeId};
use ground::time::{Duration, Instant};
use ground::units::PortId;
use switch::Change;

/// Minimum frame length in bytes without its FCS (802.3 3.2.8).
const FORGED_MIN: usize = 60;

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
    /// A direction of a link loses, damages or repeats frames, or gets one from elsewhere.
    Line(Direction, LineFault),
    /// A node is not polled for a while, as if its thread were preempted.
    Stall { node: NodeId, span: Duration },
    /// A switch is changed.
    Change { node: NodeId, change: Change },
    /// A port of a node has a defect from this time on.
    Defect { end: End, defect: Defect },
}

/// A fault of one direction of a link, which rings cannot have: they lose and add no frames.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LineFault {
    /// The next frames of a kind are lost.
    Lose { which: Which, frames: u64 },
    /// New error probabilities.
    Errors(ErrorPlan),
    /// A forged frame, without FCS and at least 60 bytes long, arrives as if it had come over the link.
    /// No effect on a link that is down.
    Forge(Box<[u8]>),
    /// A protected MAC control frame that arrived arrives again, byte for byte. No effect if there was
    /// none, and on a link that is down.
    Replay {
        /// Index of the frame: 0 for the last that arrived, 1 for the one before, up to
        /// [`FaultKind::RECORDED`] - 1.
        back: u32,
    },
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
    /// A device breaks the rules.
    Defect,
}

/// Place of a fault in a network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FaultPlace {
    Link(LinkId),
    Line(Direction),
    Node(NodeId),
    Switch(NodeId),
    Port(End),
}

// All matches are without `_`, so that a new kind of fault does not compile until each of these
// questions has an answer.
impl FaultKind {
    /// Number of frames recorded for replay.
    pub const RECORDED: u32 = 64;

    pub const fn class(&self) -> FaultClass {
        match self {
            Self::Link { up: false, .. } => FaultClass::LinkDown,
            Self::Link { up: true, .. } => FaultClass::LinkUp,
            Self::Line(_, LineFault::Lose { which: Which::Control, .. }) => FaultClass::LostPauses,
            Self::Line(_, LineFault::Lose { which: Which::Any | Which::Data, .. }) => {
                FaultClass::LostFrames
            }
            Self::Line(_, LineFault::Errors(_)) => FaultClass::Errors,
            Self::Line(_, LineFault::Forge(_) | LineFault::Replay { .. }) => FaultClass::Forged,
            Self::Stall { .. } => FaultClass::Stall,
            Self::Change { .. } => FaultClass::Change,
            Self::Defect { .. } => FaultClass::Defect,
        }
    }

    /// Returns its place.
    pub(super) const fn place(&self) -> FaultPlace {
        match *self {
            Self::Link { link, .. } => FaultPlace::Link(link),
            Self::Line(direction, _) => FaultPlace::Line(direction),
            Self::Stall { node, .. } => FaultPlace::Node(node),
            Self::Change { node, .. } => FaultPlace::Switch(node),
            Self::Defect { end, .. } => FaultPlace::Port(end),
        }
    }

    /// Returns false for a forged frame that is too short for a line.
    pub(super) fn is_valid(&self) -> bool {
        self.forged().is_none_or(|(_, octets)| octets.len() >= FORGED_MIN)
    }

    /// Returns its description in results; `place` is the name of a link or a node, or those of the
    /// sender and the receiver of a direction, and `port` names the ports of the node.
    pub(super) fn describe_at(&self, place: &str, port: impl Fn(PortId) -> String) -> String {
        match self {
            Self::Link { up: false, .. } => format!("link {place} goes down"),
            Self::Link { up: true, .. } => format!("link {place} comes up"),
            Self::Line(_, LineFault::Lose { which, frames }) => {
                let which = match which {
                    Which::Any => "",
                    Which::Control => "pause ",
                    Which::Data => "data ",
                };
                format!("the next {frames} {which}frames from {place} are lost")
            }
            Self::Line(_, LineFault::Errors(_)) => format!("other error rates from {place}"),
            Self::Line(_, LineFault::Forge(octets)) => {
                // It is given without its FCS, which counts on the line.
                format!("a forged frame of {} octets arrives from {place}", octets.len() + 4)
            }
            Self::Line(_, LineFault::Replay { back }) => {
                format!("the last protected pause but {back} from {place} arrives again")
            }
            Self::Stall { span, .. } => format!("{place} stalls for {span}"),
            Self::Change { change, .. } => {
                format!("{place} is changed: {}", change.describe(port))
            }
            Self::Defect { defect, .. } => format!("{place} has a defect: {}", defect.name()),
        }
    }

    /// Returns true if frames are lost, added or changed between two nodes, which rings cannot do.
    pub const fn is_of_line(&self) -> bool {
        match self {
            Self::Line(..) | Self::Defect { .. } => true,
            Self::Link { .. } | Self::Stall { .. } | Self::Change { .. } => false,
        }
    }

    /// Returns the node that it stalls, and for how long.
    pub(super) const fn stall(&self) -> Option<(NodeId, Duration)> {
        match *self {
            Self::Stall { node, span } => Some((node, span)),
            Self::Link { .. } | Self::Line(..) | Self::Change { .. } | Self::Defect { .. } => None,
        }
    }

    /// Returns the direction whose frames must be recorded for it.
    pub(super) const fn replays(&self) -> Option<Direction> {
        match *self {
            Self::Line(direction, LineFault::Replay { .. }) => Some(direction),
            Self::Line(..)
            | Self::Link { .. }
            | Self::Stall { .. }
            | Self::Change { .. }
            | Self::Defect { .. } => None,
        }
    }

    /// Returns the direction in which a frame made for it arrives, and the frame.
    pub fn forged(&self) -> Option<(Direction, &[u8])> {
        match self {
            Self::Line(direction, LineFault::Forge(octets)) => Some((*direction, octets)),
            Self::Line(..)
            | Self::Link { .. }
            | Self::Stall { .. }
            | Self::Change { .. }
            | Self::Defect { .. } => None,
        }
    }

    /// Returns the switch that it changes, and the change.
    pub const fn change(&self) -> Option<(NodeId, &Change)> {
        match self {
            Self::Change { node, change } => Some((*node, change)),
            Self::Link { .. } | Self::Line(..) | Self::Stall { .. } | Self::Defect { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::defect::{Forwarding, Obeying};
    use buffer::{GroupKind, GroupPlan, SharedLimit};
    use ground::units::{Cells, PriorityGroup, PrioritySet, TrafficClass};
    use switch::managed::{At, Object, ObjectValue};

    #[test]
    fn changes_and_defects_are_told_in_words() {
        let port = PortId::new(2).unwrap();
        let name = |port: PortId| ["h1", "h2", "spine1"][port.index()].to_owned();
        let told = |change| FaultKind::Change { node: NodeId(0), change }.describe_at("s1", name);
        let object = Object::named("sfc.queues.target").unwrap();
        let at = At { port: Some(port), class: Some(TrafficClass::ALL[3]) };
        let value = ObjectValue::Number(7_000);
        assert_eq!(
            told(Change::Object { object, at, value }),
            "s1 is changed: sfc.queues.target of port spine1, class 3 is 7000"
        );
        let (headroom, xon) = (Cells(300), Cells(0));
        let kind = GroupKind::Lossless { headroom, xon, xon_offset: xon };
        let plan = GroupPlan { reserved: Cells(4), limit: SharedLimit::Static(Cells(90)), kind };
        let group = PriorityGroup::new(3).unwrap();
        assert_eq!(
            told(Change::Group { port, group, plan }),
            "s1 is changed: group 3 of port spine1: reserved 4 cells, shared at most 90 cells, \
             headroom 300 cells"
        );
        let priorities = PrioritySet::ALL;
        for (defect, name) in [
            (Forwarding::LosesData { every: 3 }.into(), "loses data"),
            (Obeying::Ignores { priorities }.into(), "ignores"),
            (Obeying::NeverExpires.into(), "never expires"),
        ] {
            let defect: Defect = defect;
            assert_eq!(defect.name(), name);
        }
    }
}
