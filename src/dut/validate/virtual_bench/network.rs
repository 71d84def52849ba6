//! What a trial adds to the network of a virtual device: the traffic of virtual NICs, which is that of the flows of
//! their lab and runs beside the tester's, connections with acknowledgements between the tester's ports, and changes
//! of the device's settings while traffic runs.

use std::collections::HashMap;

use ground::time::{Duration, Instant};
use ground::units::{Mac, PRIORITIES, PortId, PrioritySet, Quanta, TrafficClass};
use host::{Demand, FlowId, PausePlan, StationPlan, StationSnapshot, Transport};
use lab::LabTester;
use schedule::ClassPlan;
use sim::{End, Fault, FaultKind, LinkId, NetworkPlan, Node, NodeId, NodeKind, ObservedNetwork};
use switch::{Change as SwitchChange, PortPlan, StaticEntry};

use crate::bench::{Acknowledged, TrialError};
use crate::otg::{self, Connection};
use crate::setup::Setup;
use crate::trial::{Change, QUEUE_PAIRS, Trial};
use crate::virtual_bench::opposite;

/// Adds the flows of the hosts behind the NICs to a network whose other hosts are the tester's. `own` is
/// the same network without the tester.
pub(super) fn add_nics(network: &mut NetworkPlan, own: NetworkPlan, tester: &LabTester) {
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
        // Hosts of the tester receive what NICs send to them, and send only what the trial says.
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
) -> Result<(), TrialError> {
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
        let ask = Demand::pfc(PrioritySet::ALL, Quanta::MAX);
        // Renewed at half of its time, so that no gap is left.
        let every = Quanta::MAX.at(station.rate).div(2);
        station.pauses.push(PausePlan { ask, start: Instant::ZERO, every, frames: u64::MAX });
        none = false;
    }
    if none {
        let what = "host.reading: there is no host behind the NIC".to_owned();
        return Err(TrialError::Missing(what));
    }
    Ok(())
}

/// Number of the first connection. Flows and connections share 65,536 numbers, and flows begin at 0.
const FIRST: u32 = 0xf000;

/// Shortest retransmission timeout: as a data centre's hosts have it, whose round trips are this short.
const TIMEOUT: Duration = Duration::from_millis(1);

/// Adds the connections of a trial to a network.
pub(super) fn add_connections(
    network: &mut NetworkPlan,
    tester: &LabTester,
    trial: &Trial,
    setup: &Setup,
) {
    for (n, wanted) in trial.stateful.iter().enumerate() {
        let (id, start) = (FlowId(FIRST + n as u32), Instant::ZERO + otg::lead(setup));
        let plan = otg::transport(wanted, setup, Connection { n, id, start, timeout: TIMEOUT });
        station(network, tester, wanted.ends.0.0, setup).senders.push(plan.clone());
        station(network, tester, wanted.ends.1.0, setup).receivers.push(plan);
    }
}

/// Returns the station of a port of the tester, which has the port's address.
fn station<'n>(
    network: &'n mut NetworkPlan,
    tester: &LabTester,
    port: usize,
    setup: &Setup,
) -> &'n mut StationPlan {
    let host = tester.hosts[port];
    let NodeKind::Host(station) = &mut network.nodes[host.index()].kind else {
        unreachable!("a port of the tester is a host")
    };
    station.mac = setup.ports[port].mac;
    station
}

/// Reads the counters of the connections.
pub(super) fn acknowledged(
    network: &mut ObservedNetwork<'_>,
    tester: &LabTester,
    trial: &Trial,
    now: Instant,
) -> Result<Vec<Acknowledged>, TrialError> {
    // Read at the sender: acknowledgements that are under way do not count.
    let mut snapshot = |port: usize| -> Option<StationSnapshot> {
        match network.nodes_mut().get_mut(tester.hosts[port]) {
            Node::Host(station) => Some(station.snapshot(now)),
            Node::Switch(_) => None,
        }
    };
    let one = |(n, wanted): (usize, &crate::trial::Stateful)| {
        let station = snapshot(wanted.ends.0.0);
        let sender = station.as_ref().and_then(|station| station.sender(FlowId(FIRST + n as u32)));
        let sender =
            sender.ok_or_else(|| TrialError::Error("a connection has no sender".to_owned()))?;
        Ok(otg::acknowledged(sender))
    };
    trial.stateful.iter().enumerate().map(one).collect()
}

/// Returns the changes of a trial as planned ones of its network; `hosts` are those of the tester's
/// ports.
///
/// # Errors
/// A virtual device has no such setting, or not with this value.
pub(crate) fn planned(
    network: &NetworkPlan,
    hosts: &[NodeId],
    trial: &Trial,
    lead: Duration,
) -> Result<Vec<Fault>, TrialError> {
    let mut changes: Vec<_> = trial.changes.iter().collect();
    changes.sort_by_key(|change| change.at);
    // The classes of a port change as a whole, so each change has those before it.
    let mut classes: HashMap<(NodeId, PortId), [ClassPlan; PRIORITIES]> = HashMap::new();
    let mut faults = Vec::new();
    for change in changes {
        let end = opposite(network, hosts[change.port.0]);
        let (class, weight) = weight(change)?;
        let plan = port(network, end)?;
        let classes = classes.entry((end.node, end.port)).or_insert(plan.schedule.classes);
        classes[class.index()] = ClassPlan::Dwrr { weight };
        let (port, map) = (end.port, plan.classify.class);
        // Only the weights change; the map of priorities to classes is passed on as it is.
        let change_of_switch = SwitchChange::Ets { port, classes: *classes, map };
        let kind = FaultKind::Change { node: end.node, change: change_of_switch };
        faults.push(Fault { at: Instant::ZERO + lead + change.at, kind });
    }
    Ok(faults)
}

fn port(network: &NetworkPlan, end: End) -> Result<&PortPlan, TrialError> {
    match &network.nodes[end.node.index()].kind {
        NodeKind::Switch(plan) => Ok(&plan.ports[end.port.index()]),
        NodeKind::Host(_) => {
            let what = "a tester's port is cabled to a host, which has no settings";
            Err(TrialError::Error(what.to_owned()))
        }
    }
}

/// Returns the class and its new weight.
fn weight(change: &Change) -> Result<(TrafficClass, u16), TrialError> {
    let name = change.name.strip_prefix("queues.").and_then(|name| name.strip_suffix(".weight"));
    let class = name.and_then(|class| class.parse().ok()).and_then(TrafficClass::new);
    let value = change.value.parse().ok().filter(|weight| *weight > 0);
    class.zip(value).ok_or_else(|| {
        let Change { name, value, .. } = change;
        TrialError::Error(format!("{name}: {value} is no setting of a virtual device"))
    })
}

/// Returns the link of a host.
pub(crate) fn link_of(network: &NetworkPlan, host: NodeId) -> LinkId {
    let slot = network.links.iter().position(|link| link.a.node == host || link.b.node == host);
    LinkId(slot.expect("a tester's host has a link") as u32)
}
