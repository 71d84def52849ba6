//! The nodes, and what the engine keeps of each.

use super::error::NetworkError;
use super::frame::VirtualPort;
use super::plan::{CpuPlan, Direction, NodeId, NodeKind, NodePlan};
use super::witness::Notes;
use super::{ClockPlan, VirtualWorld};
use crate::host::Station;
use crate::secure::SecyPlan;
use crate::switch::{Settler, Switch};
use crate::time::Instant;
use crate::units::PortId;
use crate::world::Alone;

/// A node as a witness may look at it.
pub enum Node {
    /// A switch.
    Switch(Box<Switch<VirtualWorld>>),
    /// A host.
    Host(Box<Station<VirtualPort>>),
}

/// All nodes, by [`NodeId`].
pub struct Nodes(pub(super) Vec<NodeState>);

/// A node and what the engine keeps of it.
pub(super) struct NodeState {
    pub(super) node: Node,
    /// What does what its agents find out, if it is a switch with agents.
    pub(super) settler: Option<Box<Settler>>,
    pub(super) clock: ClockPlan,
    pub(super) cpu: CpuPlan,
    /// The directions that start at its ports.
    pub(super) out: Vec<Direction>,
    /// The ports at which something has arrived, or whose deadline has come.
    pub(super) due: Vec<PortId>,
    /// Whether it is among those that are ready.
    pub(super) ready: bool,
    /// What has arrived since it was last polled.
    pub(super) frames: u64,
    pub(super) bytes: u64,
    /// Its processor has other work until then.
    pub(super) busy_until: Instant,
    /// True if something waits for that.
    pub(super) held_up: bool,
}

impl Nodes {
    /// A node.
    ///
    /// # Panics
    /// If there is none of that number.
    pub fn get_mut(&mut self, id: NodeId) -> &mut Node {
        &mut self.0[id.index()].node
    }

    /// What a switch made of what its agents found out.
    #[must_use]
    pub fn settler(&self, id: NodeId) -> Option<&Settler> {
        self.0[id.index()].settler.as_deref()
    }

    /// What a node's clock shows at the network's time `at`.
    #[must_use]
    pub fn local(&self, id: NodeId, at: Instant) -> Instant {
        self.0[id.index()].clock.local(at)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl NodeState {
    pub(super) fn new(plan: &NodePlan, notes: bool) -> Result<Self, NetworkError> {
        let port = |secy: &Option<Box<SecyPlan>>| {
            let refused = |source| NetworkError::Secy { node: plan.name().to_owned(), source };
            VirtualPort::new(plan.control_len, secy.as_deref()).map_err(refused)
        };
        let settler = match &plan.kind {
            NodeKind::Switch(switch) => Settler::new(switch).map(Box::new),
            NodeKind::Host(_) => None,
        };
        let node = match &plan.kind {
            NodeKind::Switch(switch) => {
                let ids = (0..).map_while(PortId::new).zip(&switch.ports);
                let ports = ids.map(|(id, plan)| Ok((id, port(&plan.secy)?)));
                let ports = ports.collect::<Result<_, NetworkError>>()?;
                let watch = Notes { enabled: notes, ..Notes::default() };
                Node::Switch(Box::new(Switch::new(switch, ports, Alone::default(), watch)?))
            }
            NodeKind::Host(host) => Node::Host(Box::new(Station::new(host, port(&host.secy)?)?)),
        };
        Ok(Self {
            node,
            settler,
            clock: plan.clock,
            cpu: plan.cpu,
            out: vec![Direction(u32::MAX); plan.ports()],
            due: Vec::new(),
            ready: false,
            frames: 0,
            bytes: 0,
            busy_until: Instant::ZERO,
            held_up: false,
        })
    }

    #[inline]
    pub(super) fn port_mut(&mut self, id: PortId) -> &mut VirtualPort {
        match &mut self.node {
            Node::Host(station) => station.port_mut(),
            Node::Switch(switch) => switch.port_mut(id).expect("a wire ends at a port"),
        }
    }

    /// Takes note of what a poll took the processor.
    #[inline]
    pub(super) fn work(&mut self, at: Instant) {
        let (frames, bytes) = (core::mem::take(&mut self.frames), core::mem::take(&mut self.bytes));
        if self.cpu != CpuPlan::default() {
            let per_frame = self.cpu.frame.saturating_mul(frames);
            self.busy_until = at + self.cpu.poll + per_frame + self.cpu.byte.saturating_mul(bytes);
        }
    }
}
