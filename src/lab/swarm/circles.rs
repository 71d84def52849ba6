//! Detects cyclic buffer dependencies among the paths of a network's flows. Without one a deadlock
//! is a bug; with one it is a property of lossless networks.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::host::StationPlan;
use crate::sim::{End, NetworkPlan, NodeId, NodeKind};
use crate::units::{Mac, PortId};

/// An egress queue: a switch and its egress port.
type Queue = (NodeId, PortId);

/// True if there is a cycle of queues, each of which forwards frames to the next.
pub(super) fn has_circle(plan: &NetworkPlan) -> bool {
    let mut next: BTreeMap<Queue, BTreeSet<Queue>> = BTreeMap::new();
    let network = Ways::new(plan);
    for (n, node) in plan.nodes.iter().enumerate() {
        let NodeKind::Host(host) = &node.kind else { continue };
        for to in destinations(host) {
            let way = network.way(NodeId(n as u32), to);
            for pair in way.windows(2) {
                next.entry(pair[0]).or_default().insert(pair[1]);
            }
        }
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

/// Returns the destinations of a host's frames: data and acknowledgements.
fn destinations(host: &StationPlan) -> BTreeSet<Mac> {
    let flows = host.flows.iter().map(|flow| flow.dst);
    let data = host.senders.iter().map(|sender| sender.dst);
    flows.chain(data).chain(host.receivers.iter().map(|receiver| receiver.src)).collect()
}

/// Peer of each port, and the address tables of switches.
struct Ways {
    peers: HashMap<Queue, End>,
    tables: Vec<HashMap<Mac, PortId>>,
}

impl Ways {
    fn new(plan: &NetworkPlan) -> Self {
        let mut peers = HashMap::new();
        for link in &plan.links {
            peers.insert((link.a.node, link.a.port), link.b);
            peers.insert((link.b.node, link.b.port), link.a);
        }
        let table = |kind: &NodeKind| match kind {
            NodeKind::Switch(s) => s.bridge.statics.iter().map(|e| (e.mac, e.port)).collect(),
            NodeKind::Host(_) => HashMap::new(),
        };
        Self { peers, tables: plan.nodes.iter().map(|node| table(&node.kind)).collect() }
    }

    /// Returns the queues on the path from a host to an address, up to the first repetition.
    fn way(&self, from: NodeId, to: Mac) -> Vec<Queue> {
        let mut way = vec![];
        let mut at = self.peers.get(&(from, PortId::MIN));
        while let Some(End { node, .. }) = at {
            let Some(port) = self.tables[node.index()].get(&to) else { break };
            let queue = (*node, *port);
            let again = way.contains(&queue);
            way.push(queue);
            if again {
                break;
            }
            at = self.peers.get(&queue);
        }
        way
    }
}
