//! Configuration of a virtual network, and its validation.

use super::faults::{Fault, FaultKind, FaultPlace};
use super::node::ClockPlan;
use ground::time::Duration;
use ground::units::{BitsPerSec, PortId};
use host::{PlanError, StationPlan};
use schedule::{Line, LinePlan};
use secure::{SecyError, SecyPlan};
use switch::{SwitchError, SwitchPlan};

#[derive(Clone, Debug)]
pub struct NetworkPlan {
    pub nodes: Vec<NodePlan>,
    /// Every port of every node is at the end of exactly one link.
    pub links: Vec<LinkPlan>,
    /// Faults, in any order.
    pub faults: Vec<Fault>,
    /// Seed of random errors on links. Nodes have separate seeds.
    pub seed: u64,
    /// Seed for shuffling the ports of a node that are due at one time, instead of their order by number.
    /// It shows dependencies on that order.
    pub shuffle: Option<u64>,
    /// Sampling interval of the witness; `None` for never.
    pub sample_every: Option<Duration>,
}

#[derive(Clone, Debug)]
pub struct NodePlan {
    pub kind: NodeKind,
    pub clock: ClockPlan,
    pub cpu: CpuPlan,
    /// True if its ports forward frames before their last bit has arrived.
    pub cut_through: bool,
    /// Length on the wire of the MAC control frames it makes, if not their 64 bytes: for comparison
    /// with simulators whose pauses are shorter.
    pub control_len: Option<u32>,
}

#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant)] // nodes are made once, and by hand in every test
pub enum NodeKind {
    /// A switch. All of its ports are shaped, with no burst: the port's shaper is the link.
    Switch(SwitchPlan),
    /// A host, which has one port.
    Host(StationPlan),
}

/// Processing time of a node; the hardware of a switch takes none. While busy it is not polled.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CpuPlan {
    /// Per poll.
    pub poll: Duration,
    /// Per frame that a poll receives.
    pub frame: Duration,
    /// Per byte of those frames.
    pub byte: Duration,
}

#[derive(Clone, Debug)]
pub struct LinkPlan {
    /// Name in results.
    pub name: String,
    pub a: End,
    pub b: End,
    /// Rate, the same as that of both ports.
    pub rate: BitsPerSec,
    /// Per-frame overhead on the line.
    pub line: LinePlan,
    /// From `a` to `b`.
    pub ab: DirectionPlan,
    /// From `b` to `a`.
    pub ba: DirectionPlan,
}

impl LinkPlan {
    /// Returns true if frames are lost or damaged at random.
    pub fn errs(&self) -> bool {
        [self.ab, self.ba].iter().any(|of| of.errors != ErrorPlan::default())
    }
}

/// One direction of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DirectionPlan {
    /// Time from a bit's start at the sender's MAC to its arrival at the receiver's: the cable, and
    /// the MAC and PHY of both ends.
    pub delay: Duration,
    /// Time from a pause's last bit to obeying it (HD in 802.1Q Annex N).
    pub response: Duration,
    pub errors: ErrorPlan,
}

impl LinkPlan {
    /// Returns the end at which frames of a direction start.
    pub const fn from(&self, direction: Direction) -> End {
        if direction.0 % 2 == 0 { self.a } else { self.b }
    }

    /// Returns the plan of a direction.
    pub(super) const fn way(&self, direction: Direction) -> DirectionPlan {
        if direction.0 % 2 == 0 { self.ab } else { self.ba }
    }

    /// Returns the end at which frames of a direction arrive.
    pub const fn to(&self, direction: Direction) -> End {
        if direction.0 % 2 == 0 { self.b } else { self.a }
    }
}

impl NodePlan {
    /// Creates a node with an exact clock and a processor that takes no time.
    pub fn new(kind: NodeKind) -> Self {
        Self {
            kind,
            clock: ClockPlan::default(),
            cpu: CpuPlan::default(),
            cut_through: false,
            control_len: None,
        }
    }

    /// Returns the name in results.
    pub fn name(&self) -> &str {
        match &self.kind {
            NodeKind::Switch(plan) => &plan.name,
            NodeKind::Host(plan) => &plan.name,
        }
    }

    /// Returns true if any port has a `SecY`.
    pub fn is_secured(&self) -> bool {
        match &self.kind {
            NodeKind::Switch(plan) => plan.ports.iter().any(|port| port.secy.is_some()),
            NodeKind::Host(plan) => plan.secy.is_some(),
        }
    }

    /// Returns the number of ports.
    pub fn ports(&self) -> usize {
        match &self.kind {
            NodeKind::Switch(plan) => plan.ports.len(),
            NodeKind::Host(_) => 1,
        }
    }

    /// Returns the name of a port of a switch; the number of another one.
    pub fn port_name(&self, port: PortId) -> String {
        match &self.kind {
            NodeKind::Switch(plan) => plan.ports.get(port.index()).map(|port| port.name.clone()),
            NodeKind::Host(_) => None,
        }
        .unwrap_or_else(|| port.to_string())
    }

    /// Returns the MACsec plan of a port, if it has one.
    pub(super) fn secy(&self, port: PortId) -> Option<&SecyPlan> {
        match &self.kind {
            NodeKind::Switch(plan) => plan.ports.get(port.index())?.secy.as_deref(),
            NodeKind::Host(plan) => plan.secy.as_deref(),
        }
    }

    /// Returns the line of its fastest port: what a cut-through switch passes on may leave by any port, so this
    /// one decides how much of a frame has to be there.
    pub fn fastest(&self) -> Option<Line> {
        let lines = (0..self.ports() as u16).filter_map(|n| self.line(PortId::new(n)?));
        let fastest = lines.max_by_key(|(rate, ..)| rate.get());
        fastest.map(|(rate, line, _)| Line::new(rate, line))
    }

    /// Returns rate and line of a port, and true if it is shaped without a burst.
    pub(super) fn line(&self, port: PortId) -> Option<(BitsPerSec, LinePlan, bool)> {
        match &self.kind {
            NodeKind::Switch(plan) => {
                let port = plan.ports.get(port.index())?;
                // With a burst, a frame may start while the one before is still on the line.
                let exact = port.shaped && port.schedule.shaper_burst.0 == 0;
                Some((port.rate, port.schedule.line, exact))
            }
            NodeKind::Host(plan) => {
                (port.index() == 0).then_some((plan.rate, plan.line, plan.shaper_burst.0 == 0))
            }
        }
    }
}

impl FaultKind {
    /// Returns true if its place exists, and if it can happen there.
    pub(super) fn applies(&self, plan: &NetworkPlan) -> bool {
        let link = |LinkId(n)| (n as usize) < plan.links.len();
        let node = |NodeId(n)| plan.nodes.get(n as usize);
        let is_switch = |node: &NodePlan| matches!(node.kind, NodeKind::Switch(_));
        let exists = match self.place() {
            FaultPlace::Link(id) => link(id),
            FaultPlace::Line(direction) => link(direction.link()),
            FaultPlace::Node(id) => node(id).is_some(),
            FaultPlace::Switch(id) => node(id).is_some_and(is_switch),
            FaultPlace::Port(end) => node(end.node).is_some_and(|n| end.port.index() < n.ports()),
        };
        exists && self.is_valid()
    }

    /// Returns its description in results.
    pub fn describe(&self, plan: &NetworkPlan) -> String {
        let node = |id: NodeId| plan.nodes[id.index()].name();
        let place = match self.place() {
            FaultPlace::Link(id) => plan.links[id.index()].name.clone(),
            FaultPlace::Line(d) => {
                let link = &plan.links[d.link().index()];
                format!("{} to {}", node(link.from(d).node), node(link.to(d).node))
            }
            FaultPlace::Node(id) | FaultPlace::Switch(id) => node(id).to_owned(),
            FaultPlace::Port(end) => {
                let port = plan.nodes[end.node.index()].port_name(end.port);
                format!("port {port} of {}", node(end.node))
            }
        };
        let owner = self.change().map(|(id, _)| &plan.nodes[id.index()]);
        self.describe_at(&place, |port| {
            owner.map_or_else(|| port.to_string(), |node| node.port_name(port))
        })
    }
}

/// Number of a node: its index in [`NetworkPlan::nodes`](super::NetworkPlan::nodes).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub u32);

/// Number of a link: its index in [`NetworkPlan::links`](super::NetworkPlan::links).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LinkId(pub u32);

/// One direction of a link.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Direction(pub u32);

/// One end of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct End {
    pub node: NodeId,
    /// Port number; 0 for a host.
    pub port: PortId,
}

/// Place of a node: the number of its part, and its index among the part's nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    pub(super) part: u32,
    pub(super) index: u32,
}

/// Error probabilities of a link, in units of 2^-64: 0 is never, `u64::MAX` almost always.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ErrorPlan {
    /// Bit error probability. The frame is then damaged.
    pub bit: u64,
    /// Probability that a frame is lost without a trace.
    pub frame: u64,
}

impl LinkId {
    /// From end `a` to end `b`.
    pub const fn ab(self) -> Direction {
        Direction(self.0 * 2)
    }

    /// From end `b` to end `a`.
    pub const fn ba(self) -> Direction {
        Direction(self.0 * 2 + 1)
    }
}

impl Direction {
    pub const fn link(self) -> LinkId {
        LinkId(self.0 / 2)
    }

    /// Returns the other direction of the same link.
    #[must_use]
    pub const fn reverse(self) -> Self {
        Self(self.0 ^ 1)
    }

    /// Index in a list of all directions.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl NodeId {
    /// Index in a list of all nodes.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl LinkId {
    /// Index in a list of all links.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Reason for refusing a network plan.
#[derive(Debug, thiserror::Error)]
pub enum NetworkError {
    /// A switch's plan contradicts itself.
    #[error(transparent)]
    Switch(#[from] SwitchError),
    /// A host's plan contradicts itself.
    #[error(transparent)]
    Host(#[from] PlanError),
    /// The plan of a port's `SecY` contradicts itself.
    #[error("the SecY of {node}: {source}")]
    Secy { node: String, source: SecyError },
    /// A link ends at a port that does not exist.
    #[error("link {link} ends at port {port} of node {node}, which is not there")]
    NoPort { link: String, node: u32, port: PortId },
    /// Two links end at the same port.
    #[error("port {port} of {node} has two links, {link} is the second; a port has one")]
    Twice {
        node: String,
        port: PortId,
        /// Name of the second link.
        link: String,
    },
    /// A port without a link.
    #[error("port {port} of {node} has no link; every port needs one")]
    Open { node: String, port: PortId },
    /// A port that is not shaped to its link.
    #[error("port {port} of {node} is not shaped to link {link}: rate, line and no burst")]
    Line { node: String, port: PortId, link: String },
    /// A clock with an extreme drift.
    #[error("the clock of {0} drifts by half of its rate or more")]
    Clock(String),
    /// A fault of something that does not exist, or to which it does not apply.
    #[error("fault {0}: there is no such link, direction, node or port, or it is no switch")]
    Fault(usize),
}

impl NetworkPlan {
    /// Validates the plan, for a network in any world.
    ///
    /// # Errors
    /// The first problem found.
    pub fn check(&self) -> Result<(), NetworkError> {
        check(self)
    }
}

/// Validates the plan.
fn check(plan: &NetworkPlan) -> Result<(), NetworkError> {
    let mut linked: Vec<Vec<bool>> = plan.nodes.iter().map(|n| vec![false; n.ports()]).collect();
    for (n, link) in plan.links.iter().enumerate() {
        for direction in [LinkId(n as u32).ab(), LinkId(n as u32).ba()] {
            let end = link.from(direction);
            let node = plan.nodes.get(end.node.index());
            let found = node.and_then(|node| Some((node, node.line(end.port)?)));
            let Some((node, (rate, line, exact))) = found else {
                let (link, node, port) = (link.name.clone(), end.node.0, end.port);
                return Err(NetworkError::NoPort { link, node, port });
            };
            let (link_name, name) = (link.name.clone(), node.name().to_owned());
            // The port's shaper is the line, so a burst or another rate would let frames overlap.
            if !exact || rate != link.rate || line != link.line {
                return Err(NetworkError::Line { node: name, port: end.port, link: link_name });
            }
            let linked = &mut linked[end.node.index()][end.port.index()];
            // A port is at the end of exactly one link.
            if core::mem::replace(linked, true) {
                return Err(NetworkError::Twice { node: name, port: end.port, link: link_name });
            }
        }
    }
    for (node, linked) in plan.nodes.iter().zip(&linked) {
        // What an open port sends would have no line.
        if let Some(port) = linked.iter().position(|l| !l) {
            let port = PortId::new(port as u16).expect("a switch has no more ports than ids");
            return Err(NetworkError::Open { node: node.name().to_owned(), port });
        }
        // The conversion of times relies on rates between half and one and a half.
        if node.clock.drift_ppb.unsigned_abs() >= 500_000_000 {
            return Err(NetworkError::Clock(node.name().to_owned()));
        }
    }
    // Last, as faults name links and nodes that are validated by then.
    match plan.faults.iter().position(|fault| !fault.kind.applies(plan)) {
        Some(n) => Err(NetworkError::Fault(n)),
        None => Ok(()),
    }
}
