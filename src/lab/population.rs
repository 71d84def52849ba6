//! What results are gathered from: the nodes of either world when their run is over.

use crate::agents::AgentsSnapshot;
use crate::host::{
    Latency, ReceiverCounters, SenderCounters, SinkCounters, SourceCounters, Station,
    StationCounters, StationSnapshot,
};
use crate::port::Source;
use crate::secure::SecySnapshot;
use crate::sim::{Node, NodeId, Nodes};
use crate::stats::SwitchSnapshot;
use crate::switch::{Settler, Switch};
use crate::time::Instant;
use crate::units::PortId;
use crate::world::World;

/// All nodes.
pub(super) trait Population {
    /// Their hosts.
    type Host: HostCounts;

    /// A host; nothing for a switch.
    fn host(&mut self, id: NodeId) -> Option<&Self::Host>;

    /// What a switch had counted at the network's time `at`; nothing for a host.
    fn switch(&mut self, id: NodeId, at: Instant) -> Option<SwitchSnapshot>;

    /// What a node's clock shows at the network's time `at`.
    fn local(&self, id: NodeId, at: Instant) -> Instant;

    /// What the agents of a node found out until the network's time `at`.
    fn agents(&mut self, id: NodeId, at: Instant) -> NodeAgents;
}

/// What the agents of a node found out.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeAgents {
    /// By port, those that have any.
    pub(super) ports: Vec<(PortId, AgentsSnapshot)>,
    /// What the node made of it, if it is a switch.
    pub(super) settler: Option<Settler>,
}

/// What a host counted.
pub(super) trait HostCounts {
    /// One of the flows that nobody answers, by its place in the plan.
    fn source(&self, n: usize) -> Option<SourceCounters>;
    /// A sender whose receiver answers, by its place in the plan.
    fn sender(&self, n: usize) -> Option<SenderCounters>;
    /// How long its messages took, if it has more than one.
    fn completion_times(&self, n: usize) -> Option<&Latency>;
    /// A receiver that answers, by its place in the plan.
    fn receiver(&self, n: usize) -> Option<ReceiverCounters>;
    /// What arrived of a flow: those that are only counted first, then those of the receivers.
    fn sink(&self, n: usize) -> Option<&SinkCounters>;
    /// The rest, when the host's clock shows `now`.
    fn all(&self, now: Instant) -> StationCounters;
    /// Everything, when the host's clock shows `now`.
    fn whole(&self, now: Instant) -> StationSnapshot;
    /// What its port's `SecY` did, if it has one.
    fn secy(&self) -> Option<Box<SecySnapshot>>;
}

impl Population for Nodes {
    type Host = Station<crate::sim::VirtualPort>;

    fn host(&mut self, id: NodeId) -> Option<&Self::Host> {
        match self.get_mut(id) {
            Node::Host(host) => Some(host),
            Node::Switch(_) => None,
        }
    }

    fn switch(&mut self, id: NodeId, at: Instant) -> Option<SwitchSnapshot> {
        let local = Self::local(self, id, at);
        match self.get_mut(id) {
            Node::Switch(switch) => Some(switch.snapshot(local)),
            Node::Host(_) => None,
        }
    }

    fn local(&self, id: NodeId, at: Instant) -> Instant {
        Self::local(self, id, at)
    }

    fn agents(&mut self, id: NodeId, at: Instant) -> NodeAgents {
        let (now, settler) = (Self::local(self, id, at), self.settler(id).cloned());
        let ports = match self.get_mut(id) {
            Node::Host(host) => of_host(host, now),
            Node::Switch(switch) => of_switch(switch, now),
        };
        NodeAgents { ports, settler }
    }
}

/// What the agents of a host found out.
pub(super) fn of_host<P: Source>(host: &Station<P>, now: Instant) -> Vec<(PortId, AgentsSnapshot)> {
    host.agents().map(|agents| (PortId::MIN, agents.snapshot(now))).into_iter().collect()
}

/// What the agents of a switch's ports found out.
pub(super) fn of_switch<W: World>(
    switch: &Switch<W>,
    now: Instant,
) -> Vec<(PortId, AgentsSnapshot)> {
    switch.agents_of_ports().map(|(port, agents)| (port, agents.snapshot(now))).collect()
}

impl<P: Source> HostCounts for Station<P> {
    fn source(&self, n: usize) -> Option<SourceCounters> {
        self.sources().nth(n)
    }
    fn sender(&self, n: usize) -> Option<SenderCounters> {
        self.senders().nth(n)
    }
    fn completion_times(&self, n: usize) -> Option<&Latency> {
        self.completion_times().nth(n)?
    }
    fn receiver(&self, n: usize) -> Option<ReceiverCounters> {
        self.receivers().nth(n)
    }
    fn sink(&self, n: usize) -> Option<&SinkCounters> {
        self.sinks().nth(n)
    }
    fn all(&self, now: Instant) -> StationCounters {
        self.counters_at(now)
    }
    fn whole(&self, now: Instant) -> StationSnapshot {
        self.snapshot(now)
    }
    fn secy(&self) -> Option<Box<SecySnapshot>> {
        self.secy().map(|secy| Box::new(secy.snapshot()))
    }
}
