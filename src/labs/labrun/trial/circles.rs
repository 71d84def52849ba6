//! Detects cyclic buffer dependencies among the paths of a network's flows. Without one a deadlock
//! is a bug; with one it is a property of lossless networks.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ground::units::{Mac, PortId};
use host::StationPlan;
use sim::{End, NetworkPlan, NodeId, NodeKind};

/// An egress queue: a switch and its egress port.
type Queue = (NodeId, PortId);

/// The queues to which each queue forwards frames.
type Next = BTreeMap<Queue, BTreeSet<Queue>>;

/// True if there is a cycle of queues, each of which forwards frames to the next.
pub(super) fn has_circle(plan: &NetworkPlan) -> bool {
    let mut next = Next::new();
    let network = Ways::new(plan);
    for (n, node) in plan.nodes.iter().enumerate() {
        let NodeKind::Host(host) = &node.kind else { continue };
        for to in destinations(host) {
            let first = network.peers.get(&(NodeId(n as u32), PortId::MIN)).map(|end| end.node);
            let passed = network.add(&mut next, first, to);
            // A switch on the way may send messages about congestion back to the host.
            for node in passed.into_iter().filter(|node| speaks(&plan.nodes[node.index()].kind)) {
                network.add(&mut next, Some(node), host.mac);
            }
        }
    }
    for fault in &plan.faults {
        let Some((direction, octets)) = fault.kind.forged() else { continue };
        let Some(dst) = octets.first_chunk() else { continue };
        let end = plan.links[direction.link().index()].to(direction);
        network.add(&mut next, Some(end.node), Mac(*dst));
    }
    // A queue without a successor is in no cycle; removing it may leave others without one.
    loop {
        let before = next.len();
        let open: BTreeSet<Queue> = next.keys().copied().collect();
        for to in next.values_mut() {
            to.retain(|queue| open.contains(queue));
        }
        next.retain(|_, to| !to.is_empty());
        if next.len() == before {
            return before > 0;
        }
    }
}

/// True if a switch makes messages about congestion.
fn speaks(kind: &NodeKind) -> bool {
    let NodeKind::Switch(switch) = kind else { return false };
    let of = &switch.congestion;
    of.sfc.is_some() || of.isolation.is_some() || of.fast_cnp.is_some() || of.qcn.is_some()
}

/// Returns the destinations of a host's frames: data and acknowledgements.
fn destinations(host: &StationPlan) -> BTreeSet<Mac> {
    let flows = host.flows.iter().map(|flow| flow.dst);
    let data = host.senders.iter().map(|sender| sender.dst);
    flows.chain(data).chain(host.receivers.iter().map(|receiver| receiver.src)).collect()
}

/// Peer of each port, and the address tables of switches.
struct Ways {
    peers: HashMap<Queue, End>,
    tables: Vec<HashMap<Mac, Vec<PortId>>>,
}

impl Ways {
    fn new(plan: &NetworkPlan) -> Self {
        let mut peers = HashMap::new();
        for link in &plan.links {
            peers.insert((link.a.node, link.a.port), link.b);
            peers.insert((link.b.node, link.b.port), link.a);
        }
        let table = |kind: &NodeKind| match kind {
            NodeKind::Switch(s) => {
                let one = s.bridge.statics.iter().map(|entry| (entry.mac, vec![entry.port]));
                one.chain(s.bridge.spread.iter().map(|e| (e.mac, e.ports.clone()))).collect()
            }
            NodeKind::Host(_) => HashMap::new(),
        };
        Self { peers, tables: plan.nodes.iter().map(|node| table(&node.kind)).collect() }
    }

    /// Returns the queues of a switch to an address: several on paths of equal cost.
    fn queues(&self, node: NodeId, to: Mac) -> impl Iterator<Item = Queue> + '_ {
        let ports = self.tables[node.index()].get(&to).into_iter().flatten();
        ports.map(move |port| (node, *port))
    }

    /// Adds all paths from a node to an address: each queue forwards to the next. Returns the switches on them.
    fn add(&self, next: &mut Next, first: Option<NodeId>, to: Mac) -> BTreeSet<NodeId> {
        let mut passed = BTreeSet::new();
        let mut open = Vec::from_iter(first);
        while let Some(node) = open.pop() {
            if self.tables[node.index()].contains_key(&to) && passed.insert(node) {
                for queue in self.queues(node, to) {
                    let Some(peer) = self.peers.get(&queue).map(|end| end.node) else { continue };
                    next.entry(queue).or_default().extend(self.queues(peer, to));
                    open.push(peer);
                }
            }
        }
        passed
    }
}
