//! Source of the results: the nodes of either world at the end of a run, and what else the end of a run leaves.

use crate::outcome::Samples;
use contracts::port::Source;
use contracts::stats::SwitchSnapshot;
use contracts::world::World;
use ground::time::{Duration, Instant};
use ground::units::PortId;
use host::{
    Completion, Latency, ReactionCounters, ReceiverCounters, SenderCounters, SinkCounters,
    SourceCounters, Station, StationCounters, StationSnapshot,
};
use link::AgentsSnapshot;
use secure::SecySnapshot;
use sim::{Node, NodeId, Nodes, Tally};
use switch::{Reconciler, Switch};

/// Nodes at the end of a run.
pub(super) trait Population {
    /// Type of its hosts.
    type Host: HostCounts;

    /// Returns a host; `None` for a switch.
    fn host(&mut self, id: NodeId) -> Option<&Self::Host>;

    /// Returns the counters of a switch at network time `at`; `None` for a host.
    fn switch(&mut self, id: NodeId, at: Instant) -> Option<SwitchSnapshot>;

    /// Returns the reading of a node's clock at network time `at`.
    fn local(&self, id: NodeId, at: Instant) -> Instant;

    /// Returns the link protocol results of a node at network time `at`.
    fn agents(&mut self, id: NodeId, at: Instant) -> NodeAgents;
}

/// Link protocol results of a node.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeAgents {
    /// Results of each port that has link protocols.
    pub(super) ports: Vec<(PortId, AgentsSnapshot)>,
    /// Reconciler of a switch, which applies the results.
    pub(super) reconciler: Option<Reconciler>,
}

/// Counters of a host.
pub(super) trait HostCounts {
    /// Counters of a flow without acknowledgements, by its index in the plan.
    fn source(&self, n: usize) -> Option<SourceCounters>;
    /// Counters of a sender with acknowledgements, by its index in the plan.
    fn sender(&self, n: usize) -> Option<SenderCounters>;
    /// Message completion times of a sender, if it has several messages.
    fn completion_times(&self, n: usize) -> Option<&Latency>;
    /// First completed messages of a sender, by its index in the plan.
    fn message_log(&self, n: usize) -> &[Completion];
    /// Counters of a receiver that acknowledges, by its index in the plan.
    fn receiver(&self, n: usize) -> Option<ReceiverCounters>;
    /// Receive counters of a flow: first the plan's sinks, then its receivers.
    fn sink(&self, n: usize) -> Option<&SinkCounters>;
    /// All other counters at the host's clock reading `now`.
    fn all(&self, now: Instant) -> StationCounters;
    /// All counters at the host's clock reading `now`.
    fn whole(&self, now: Instant) -> StationSnapshot;
    /// Counters of congestion messages at the host's clock reading `now`, if it obeys any.
    fn reactions(&self, now: Instant) -> Option<ReactionCounters>;
    /// Counters of the port's `SecY`, if it has one.
    fn secy(&self) -> Option<Box<SecySnapshot>>;
}

impl Population for Nodes {
    type Host = Station<sim::VirtualPort>;

    fn host(&mut self, id: NodeId) -> Option<&Self::Host> {
        match self.get_mut(id) {
            Node::Host(host) => Some(host),
            Node::Switch(_) => None,
        }
    }

    fn switch(&mut self, id: NodeId, at: Instant) -> Option<SwitchSnapshot> {
        // A node's counters are read at its own clock, by which its open pauses are measured.
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
        let (now, reconciler) = (Self::local(self, id, at), self.reconciler(id).cloned());
        let ports = match self.get_mut(id) {
            Node::Host(host) => of_host(host, now),
            Node::Switch(switch) => of_switch(switch, now),
        };
        NodeAgents { ports, reconciler }
    }
}

/// Returns the link protocol results of a host.
pub(super) fn of_host<P: Source>(host: &Station<P>, now: Instant) -> Vec<(PortId, AgentsSnapshot)> {
    // A host has one port.
    host.agents().map(|agents| (PortId::MIN, agents.snapshot(now))).into_iter().collect()
}

/// Returns the link protocol results of a switch's ports.
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
        // Two options in one: there is no such sender, or it has a single message.
        self.completion_times().nth(n)?
    }
    fn message_log(&self, n: usize) -> &[Completion] {
        self.message_logs().nth(n).unwrap_or_default()
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
    fn reactions(&self, now: Instant) -> Option<ReactionCounters> {
        self.reactions_at(now)
    }
    fn secy(&self) -> Option<Box<SecySnapshot>> {
        self.secy().map(|secy| Box::new(secy.snapshot()))
    }
}

/// Data of a flow that had arrived at some time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Counted {
    pub(crate) frames: u64,
    pub(crate) bytes: u64,
    /// Message bytes that had arrived in order; for flows with acknowledgements.
    pub(crate) delivered: Option<u64>,
}

/// Measurement interval, with the data of each flow that had arrived at its start and end.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    pub(crate) from: (Instant, Vec<Counted>),
    pub(crate) to: (Instant, Vec<Counted>),
}

/// End of a run.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    pub(crate) world: crate::World,
    /// Network time.
    pub(crate) now: Instant,
    /// End time for the results.
    pub(crate) at: Instant,
    pub(crate) quiet: bool,
    /// Uncertainty of the difference between the clocks of two hosts.
    pub(crate) uncertainty: Duration,
    /// Frames of each lab flow that are still in the network, in the order of the lab.
    pub(crate) pending: Vec<u64>,
    /// Frames of each generator flow that are still in the network.
    pub(crate) pending_of_tester: Vec<u64>,
    /// Trace hash; virtual world only.
    pub(crate) trace_hash: Option<u64>,
    pub(crate) tally: Tally,
    /// Samples during the run; virtual world only.
    pub(crate) samples: Option<Samples>,
}

pub(super) fn station<N: Population>(nodes: &mut N, id: NodeId) -> &N::Host {
    nodes.host(id).expect("a flow's ends are hosts")
}
