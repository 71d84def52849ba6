//! Detects cyclic buffer dependencies among the paths of a network's flows. Without one a deadlock
//! is a bug; with one it is a property of lossless networks.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ground::units::{Mac, PortId};
use host::StationPlan;
use sim::{End, NetworkPlan, NodeId, NodeKind};

/// An egress queue: a switch and its egress port.
type Queue = (NodeId, PortId);

/// True if there is a cycle of queues, each of which forwards frames to the next.
pub(super) fn has_circle(plan: &NetworkPlan) -> bool {
    let mut next: BTreeMap<Queue, BTreeSet<Queue>> = BTreeMap::new();
    let network = Ways::new(plan);
    for (n, node) in plan.nodes.iter().enumerate() {
        let NodeKind::Host(host) = &node.kind else { continue };
        for to in destinations(host) {
            let way = network.way(&(NodeId(n as u32), PortId::MIN), to);
            add(&mut next, &way);
            // A switch on the way may send messages about congestion back to the host.
            for queue in way.iter().filter(|(node, _)| speaks(&plan.nodes[node.index()].kind)) {
                add(&mut next, &network.way_at(Some(queue.0), host.mac));
            }
        }
    }
    for fault in &plan.faults {
        let Some((direction, octets)) = fault.kind.forged() else { continue };
        let Some(dst) = octets.first_chunk() else { continue };
        let end = plan.links[direction.link().index()].to(direction);
        add(&mut next, &network.way_at(Some(end.node), Mac(*dst)));
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

/// Adds a path: each of its queues forwards to the next.
fn add(next: &mut BTreeMap<Queue, BTreeSet<Queue>>, way: &[Queue]) {
    for pair in way.windows(2) {
        next.entry(pair[0]).or_default().insert(pair[1]);
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

    /// Returns the queues on the path from a host's port to an address, up to the first repetition.
    fn way(&self, from: &Queue, to: Mac) -> Vec<Queue> {
        self.way_at(self.peers.get(from).map(|end| end.node), to)
    }

    /// Returns the queues on the path from a switch to an address, up to the first repetition.
    fn way_at(&self, mut at: Option<NodeId>, to: Mac) -> Vec<Queue> {
        let mut way = vec![];
        while let Some(node) = at {
            let Some(port) = self.tables[node.index()].get(&to) else { break };
            let queue = (node, *port);
            let again = way.contains(&queue);
            way.push(queue);
            if again {
                break;
            }
            at = self.peers.get(&queue).map(|end| end.node);
        }
        way
    }
}
