//! Traffic of virtual NICs: the flows of their lab, which run beside the tester's.

use std::collections::HashMap;

use ground::units::Mac;
use host::{FlowId, StationPlan};
use lab::LabTester;
use sim::{NetworkPlan, NodeKind};

/// Adds the flows of the hosts behind the NICs to a network whose other hosts are the tester's. `own` is
/// the same network without the tester.
pub(super) fn add(network: &mut NetworkPlan, own: NetworkPlan, tester: &LabTester) {
    let mut stations: Vec<Option<StationPlan>> = Vec::new();
    for node in own.nodes {
        stations.push(match node.kind {
            NodeKind::Host(station) => Some(station),
            NodeKind::Switch(_) => None,
        });
    }
    // The hosts of the tester's ports have its addresses.
    let macs: HashMap<Mac, Mac> = tester
        .hosts
        .iter()
        .filter_map(|host| match &network.nodes[host.index()].kind {
            NodeKind::Host(taken) => Some((stations[host.index()].as_ref()?.mac, taken.mac)),
            NodeKind::Switch(_) => None,
        })
        .collect();
    let mac = |own: Mac| macs.get(&own).copied().unwrap_or(own);
    // Numbers below are those of the tester's flows.
    let id = |own: FlowId| FlowId(own.0 + tester.plan.flows.len() as u32);
    for (node, station) in network.nodes.iter_mut().zip(stations) {
        let (NodeKind::Host(host), Some(mut own)) = (&mut node.kind, station) else { continue };
        for flow in &mut own.flows {
            (flow.id, flow.dst) = (id(flow.id), mac(flow.dst));
        }
        for end in own.senders.iter_mut().chain(&mut own.receivers) {
            (end.id, end.src, end.dst) = (id(end.id), mac(end.src), mac(end.dst));
        }
        host.receivers.extend(own.receivers);
        if !macs.values().any(|taken| *taken == host.mac) {
            host.flows = own.flows;
            host.senders = own.senders;
        }
    }
}
