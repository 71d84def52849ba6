//! A network, as the virtual world is told of it.

use super::clock::ClockPlan;
use crate::host::StationPlan;
use crate::schedule::LinePlan;
use crate::secure::SecyPlan;
use crate::switch::{Change, SwitchPlan};
use crate::time::{Duration, Instant};
use crate::units::{BitsPerSec, PortId};

/// The number of a node: its place in [`NetworkPlan::nodes`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub u32);

/// The number of a link: its place in [`NetworkPlan::links`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LinkId(pub u32);

/// One direction of a link.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Direction(pub u32);

/// A whole network.
#[derive(Clone, Debug)]
pub struct NetworkPlan {
    /// The nodes.
    pub nodes: Vec<NodePlan>,
    /// The links. Every port of every node is at the end of exactly one.
    pub links: Vec<LinkPlan>,
    /// What goes wrong, in any order.
    pub faults: Vec<Fault>,
    /// The seed of all that is drawn by chance on links. Nodes have seeds of their own.
    pub seed: u64,
    /// Draws the order of what happens at the same picosecond, in place of the order of numbers.
    /// What depends on that order, and should not, shows.
    pub shuffle: Option<u64>,
    /// How often a witness is shown the nodes; never if nothing.
    pub sample_every: Option<Duration>,
}

/// A node.
#[derive(Clone, Debug)]
pub struct NodePlan {
    /// What it is.
    pub kind: NodeKind,
    /// Its clock.
    pub clock: ClockPlan,
    /// What its processor takes.
    pub cpu: CpuPlan,
    /// Whether its ports pass frames on before their last bit is there.
    pub cut_through: bool,
    /// The length on the wire of the MAC control frames it makes, if not their own 64 octets: for
    /// comparison with simulators whose pauses are shorter.
    pub control_len: Option<u32>,
}

/// What a node is.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant)] // nodes are made once, and by hand in every test
pub enum NodeKind {
    /// A switch. All of its ports are shaped, with no burst: the port's shaper is the link.
    Switch(SwitchPlan),
    /// A host, which has one port.
    Host(StationPlan),
}

/// What a node's processor takes for its work; the hardware of a switch takes nothing. While it
/// works nothing is looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CpuPlan {
    /// For every poll.
    pub poll: Duration,
    /// For every frame that a poll receives.
    pub frame: Duration,
    /// For every octet of them.
    pub byte: Duration,
}

/// One end of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct End {
    /// The node.
    pub node: NodeId,
    /// Its port; 0 for a host.
    pub port: PortId,
}

/// A link.
#[derive(Clone, Debug)]
pub struct LinkPlan {
    /// Its name in results.
    pub name: String,
    /// One end.
    pub a: End,
    /// The other.
    pub b: End,
    /// Its rate, which is that of both ports.
    pub rate: BitsPerSec,
    /// What frames take on the line.
    pub line: LinePlan,
    /// From `a` to `b`.
    pub ab: DirectionPlan,
    /// From `b` to `a`.
    pub ba: DirectionPlan,
}

/// One direction of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DirectionPlan {
    /// From a bit's start at the sender's MAC to its arrival at the receiver's: the cable, and
    /// what MAC and PHY of both ends take.
    pub delay: Duration,
    /// What the receiver takes from a pause's last bit to obeying it (HD in 802.1Q Annex N).
    pub response: Duration,
    /// What goes wrong on the way.
    pub errors: ErrorPlan,
}

/// Errors on a link, as 2^-64ths: 0 is never, `u64::MAX` all but always.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ErrorPlan {
    /// How likely a bit is to be received wrong. The frame is then damaged.
    pub bit: u64,
    /// How likely a frame is to be lost without a trace.
    pub frame: u64,
}

/// Something that goes wrong.
#[derive(Clone, Debug)]
pub struct Fault {
    /// When.
    pub at: Instant,
    /// What.
    pub kind: FaultKind,
}

/// What goes wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FaultKind {
    /// A link goes down, and what is on it is lost; or it comes up again.
    Link {
        /// The link.
        link: LinkId,
        /// Whether it comes up.
        up: bool,
    },
    /// The next frames of a kind are lost.
    Lose {
        /// Where.
        direction: Direction,
        /// Which.
        which: Which,
        /// How many.
        frames: u64,
    },
    /// A direction has other errors from now on.
    Errors {
        /// Where.
        direction: Direction,
        /// Which.
        errors: ErrorPlan,
    },
    /// A frame that nobody sent arrives, as if it had come over the link. One that is down has none.
    Forge {
        /// Where.
        direction: Direction,
        /// The frame without FCS, at least 60 octets.
        octets: Box<[u8]>,
    },
    /// A protected MAC control frame that arrived by a direction arrives once more, octet for octet.
    /// Nothing happens where there was none, and on a link that is down.
    Replay {
        /// Where.
        direction: Direction,
        /// Which: 0 for the last that arrived, 1 for the one before, up to
        /// [`FaultKind::RECORDED`] - 1.
        back: u32,
    },
    /// A node does nothing for a while: a processor that was taken away.
    Stall {
        /// The node.
        node: NodeId,
        /// For how long.
        span: Duration,
    },
    /// A switch is changed.
    Change {
        /// The switch.
        node: NodeId,
        /// How.
        change: Change,
    },
}

impl FaultKind {
    /// How many frames who repeats them remembers.
    pub const RECORDED: u32 = 64;
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

impl LinkId {
    /// From end `a` to end `b`.
    #[must_use]
    pub const fn ab(self) -> Direction {
        Direction(self.0 * 2)
    }

    /// From end `b` to end `a`.
    #[must_use]
    pub const fn ba(self) -> Direction {
        Direction(self.0 * 2 + 1)
    }
}

impl Direction {
    /// Its link.
    #[must_use]
    pub const fn link(self) -> LinkId {
        LinkId(self.0 / 2)
    }

    /// The other direction of the same link.
    #[must_use]
    pub const fn reverse(self) -> Self {
        Self(self.0 ^ 1)
    }

    /// Its place in a list of all directions.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl NodeId {
    /// Its place in a list of all nodes.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl LinkId {
    /// Its place in a list of all links.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl LinkPlan {
    /// Where frames of a direction start.
    #[must_use]
    pub const fn from(&self, direction: Direction) -> End {
        if direction.0 % 2 == 0 { self.a } else { self.b }
    }

    /// Where frames of a direction arrive.
    #[must_use]
    pub const fn to(&self, direction: Direction) -> End {
        if direction.0 % 2 == 0 { self.b } else { self.a }
    }
}

impl NodePlan {
    /// A node with an exact clock and a processor that takes no time.
    #[must_use]
    pub fn new(kind: NodeKind) -> Self {
        Self {
            kind,
            clock: ClockPlan::default(),
            cpu: CpuPlan::default(),
            cut_through: false,
            control_len: None,
        }
    }

    /// Its name in results.
    #[must_use]
    pub fn name(&self) -> &str {
        match &self.kind {
            NodeKind::Switch(plan) => &plan.name,
            NodeKind::Host(plan) => &plan.name,
        }
    }

    /// How many ports it has.
    #[must_use]
    pub fn ports(&self) -> usize {
        match &self.kind {
            NodeKind::Switch(plan) => plan.ports.len(),
            NodeKind::Host(_) => 1,
        }
    }

    /// What one of its ports protects, if it does.
    pub(super) fn secy(&self, port: PortId) -> Option<&SecyPlan> {
        match &self.kind {
            NodeKind::Switch(plan) => plan.ports.get(port.index())?.secy.as_deref(),
            NodeKind::Host(plan) => plan.secy.as_deref(),
        }
    }

    /// The rate, the line and whether it is exactly kept to, of one of its ports.
    pub(super) fn line(&self, port: PortId) -> Option<(BitsPerSec, LinePlan, bool)> {
        match &self.kind {
            NodeKind::Switch(plan) => {
                let port = plan.ports.get(port.index())?;
                let exact = port.shaped && port.schedule.shaper_burst.0 == 0;
                Some((port.rate, port.schedule.line, exact))
            }
            NodeKind::Host(plan) => {
                (port.index() == 0).then_some((plan.rate, plan.line, plan.shaper_burst.0 == 0))
            }
        }
    }
}
