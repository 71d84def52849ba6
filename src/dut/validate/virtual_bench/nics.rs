//! Traffic of virtual NICs: the flows of their lab, which run beside the tester's.

use std::collections::HashMap;

use super::opposite;
use crate::bench::Trouble;
use crate::trial::QUEUE_PAIRS;
use ground::time::Instant;
use ground::units::{Mac, PrioritySet, Quanta};
use host::{FlowId, PauseAsk, PausePlan, StationPlan, Transport};
use lab::LabTester;
use sim::{NetworkPlan, NodeId, NodeKind};
use switch::StaticEntry;

/// Adds the flows of the hosts behind the NICs to a network whose other hosts are the tester's. `own` is
/// the same network without the tester.
pub(super) fn add(network: &mut NetworkPlan, own: NetworkPlan, tester: &LabTester) {
    let mut stations: Vec<Option<StationPlan>> = Vec::new();
    for (node, own) in network.nodes.iter_mut().zip(own.nodes) {
        stations.push(match own.kind {
            NodeKind::Host(station) => Some(station),
            NodeKind::Switch(own) => {
                if let NodeKind::Switch(switch) = &mut node.kind {
                    place(&mut switch.bridge.statics, &own.bridge.statics);
                }
                None
            }
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
        let is_testers = macs.values().any(|taken| *taken == host.mac);
        for end in own.senders.iter_mut().chain(&mut own.receivers) {
            (end.id, end.src, end.dst) = (id(end.id), mac(end.src), mac(end.dst));
            // The tester sends to a queue pair, and knows no number of a flow.
            let pair = match &end.kind {
                Transport::Roce(roce) if !is_testers && end.dst == host.mac => roce.dst_qp.get(),
                _ => continue,
            };
            end.id = FlowId(QUEUE_PAIRS + pair);
        }
        host.receivers.extend(own.receivers);
        if !is_testers {
            host.flows = own.flows;
            host.senders = own.senders;
        }
    }
}

/// Puts addresses where they are without the tester: a flow that it sends to a NIC is one to itself as far as
/// it knows.
fn place(statics: &mut [StaticEntry], own: &[StaticEntry]) {
    for entry in statics {
        if let Some(own) = own.iter().find(|own| (own.vid, own.mac) == (entry.vid, entry.mac)) {
            entry.port = own.port;
        }
    }
}

/// Lets the hosts behind the NIC at a host of the tester read what arrives, or not. One that does not read
/// pauses all priorities on the bus.
pub(super) fn set_reading(
    network: &mut NetworkPlan,
    testers: &[NodeId],
    host: NodeId,
    value: &str,
) -> Result<(), Trouble> {
    if value == "on" {
        return Ok(());
    }
    let nic = opposite(network, host).node;
    let ends = network.links.iter().flat_map(|link| [(link.a, link.b), (link.b, link.a)]);
    let behind = ends.filter(|(a, b)| a.node == nic && !testers.contains(&b.node));
    let behind: Vec<NodeId> = behind.map(|(_, b)| b.node).collect();
    let mut none = true;
    for node in behind {
        let NodeKind::Host(station) = &mut network.nodes[node.index()].kind else { continue };
        let ask = PauseAsk::pfc(PrioritySet::ALL, Quanta::MAX);
        let every = Quanta::MAX.at(station.rate).div(2);
        station.pauses.push(PausePlan { ask, start: Instant::ZERO, every, frames: u64::MAX });
        none = false;
    }
    if none {
        let what = "host.reading: there is no host behind the NIC".to_owned();
        return Err(Trouble::Missing(what));
    }
    Ok(())
}
