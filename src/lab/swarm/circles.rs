//! Whether the ways of a network's flows can wait for each other in a circle: where they cannot, a
//! deadlock is a bug, and where they can, it is what lossless networks do.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::host::StationPlan;
use crate::sim::{End, NetworkPlan, NodeId, NodeKind};
use crate::units::{Mac, PortId};

/// A queue that frames wait in: a switch and the port that they leave by.
type Queue = (NodeId, PortId);

/// Whether there is a circle of queues, each of which passes frames on to the next.
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
    // What nothing leads on from is in no circle, and then neither is what leads only there.
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

/// Where a host's frames go: data, and answers to data.
fn destinations(host: &StationPlan) -> BTreeSet<Mac> {
    let flows = host.flows.iter().map(|flow| flow.dst);
    let data = host.senders.iter().map(|sender| sender.dst);
    flows.chain(data).chain(host.receivers.iter().map(|receiver| receiver.src)).collect()
}

/// Who is at the other end of each port, and where switches send what.
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

    /// The queues on the way from a host to an address; it ends where it comes to a place twice.
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
