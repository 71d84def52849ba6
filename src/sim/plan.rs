//! Configuration of a virtual network.

use super::clock::ClockPlan;
use super::faults::{Fault, FaultKind, FaultPlace};
use super::ids::{Direction, End, ErrorPlan, LinkId, NodeId};
use ground::time::Duration;
use ground::units::{BitsPerSec, PortId};
use host::StationPlan;
use schedule::LinePlan;
use secure::SecyPlan;
use switch::SwitchPlan;

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
    #[must_use]
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
    #[must_use]
    pub const fn from(&self, direction: Direction) -> End {
        if direction.0 % 2 == 0 { self.a } else { self.b }
    }

    /// Returns the end at which frames of a direction arrive.
    #[must_use]
    pub const fn to(&self, direction: Direction) -> End {
        if direction.0 % 2 == 0 { self.b } else { self.a }
    }
}

impl NodePlan {
    /// Creates a node with an exact clock and a processor that takes no time.
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

    /// Returns the name in results.
    #[must_use]
    pub fn name(&self) -> &str {
        match &self.kind {
            NodeKind::Switch(plan) => &plan.name,
            NodeKind::Host(plan) => &plan.name,
        }
    }

    /// Returns true if any port has a `SecY`.
    #[must_use]
    pub fn is_secured(&self) -> bool {
        match &self.kind {
            NodeKind::Switch(plan) => plan.ports.iter().any(|port| port.secy.is_some()),
            NodeKind::Host(plan) => plan.secy.is_some(),
        }
    }

    /// Returns the number of ports.
    #[must_use]
    pub fn ports(&self) -> usize {
        match &self.kind {
            NodeKind::Switch(plan) => plan.ports.len(),
            NodeKind::Host(_) => 1,
        }
    }

    /// Returns the name of a port of a switch; the number of another one.
    #[must_use]
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

    /// Returns rate and line of a port, and true if it is shaped without a burst.
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
    #[must_use]
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
