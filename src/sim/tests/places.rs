//! Switches and hosts that find their position and their neighbours by LLDP.

use super::*;
use crate::teststar::RATE;
use ::host::{SfcReaction, StationPlan};
use ::wire::sfcm::{self, Locator};
use discovery::{Device, LldpPlan, Orientation, Role, Topology};
use ground::units::{Mac, PortId};
use link::AgentsPlan;
use switch::{Attached, AttachedKind, StepKind, rig};

/// The core, two spines, two leaves, and four hosts of the leaves.
const CORE: u32 = 0;
const SPINE: u32 = 1;
const LEAF: u32 = 3;
const OTHER_LEAF: u32 = 4;
const HOST: u32 = 5;

fn lldp(mac: Mac, role: Role) -> AgentsPlan {
    let lldp = Some(LldpPlan { role, ..LldpPlan::new(mac, mac, "port") });
    AgentsPlan { lldp, ..rig::agents(mac, RATE) }
}

/// Node `n`, a switch; its ports from `hosts` are attached to hosts.
fn switch(n: u8, ports: u16, hosts: u16) -> NodePlan {
    let mut plan = rig::plan(ports);
    plan.congestion = rig::congestion();
    for (p, port) in plan.ports.iter_mut().enumerate() {
        port.mac = Mac([2, 1, 0, 0, n, p as u8]);
        (port.rate, port.shaped) = (RATE, true);
        port.agents = Some(lldp(port.mac, Role::Bridge));
    }
    // The core has no configuration of its neighbours.
    if hosts < ports {
        let host = Attached { kind: AttachedKind::Discovered, locator: None };
        plan.congestion.ports =
            (0..ports).map(|p| if p < hosts { Attached::default() } else { host }).collect();
    }
    NodePlan::new(NodeKind::Switch(plan))
}

/// A host, with its reaction to messages and optionally LLDP.
fn host(plan: &StationPlan, sfc: Option<u16>, speaks: bool) -> NodePlan {
    let mut plan = plan.clone();
    plan.flows.clear();
    plan.agents = speaks.then(|| lldp(plan.mac, Role::Station));
    plan.reactions.sfc = sfc.map(|udp_port| SfcReaction { udp_port, ..SfcReaction::default() });
    NodePlan::new(NodeKind::Host(plan))
}

fn network() -> NetworkPlan {
    let mut plan = incast(4, 0);
    let stations = plan.nodes.drain(..).filter_map(|node| match node.kind {
        NodeKind::Host(station) => Some(station),
        NodeKind::Switch(_) => None,
    });
    let stations: Vec<_> = stations.collect();
    plan.nodes = vec![switch(0, 2, 2), switch(1, 3, 3), switch(2, 3, 3)];
    plan.nodes.extend([switch(3, 4, 2), switch(4, 4, 2)]);
    plan.nodes.push(host(&stations[0], Some(sfcm::PORT_DEFAULT), true));
    plan.nodes.push(host(&stations[1], None, true));
    plan.nodes.push(host(&stations[2], Some(50_000), true));
    plan.nodes.push(host(&stations[3], None, false));
    let link = plan.links[0].clone();
    let ends = [
        ((CORE, 0), (SPINE, 0)),
        ((CORE, 1), (SPINE + 1, 0)),
        ((SPINE, 1), (LEAF, 0)),
        ((SPINE, 2), (OTHER_LEAF, 0)),
        ((SPINE + 1, 1), (LEAF, 1)),
        ((SPINE + 1, 2), (OTHER_LEAF, 1)),
        ((LEAF, 2), (HOST, 0)),
        ((LEAF, 3), (HOST + 1, 0)),
        ((OTHER_LEAF, 2), (HOST + 2, 0)),
        ((OTHER_LEAF, 3), (HOST + 3, 0)),
    ];
    let end = |(node, port)| End { node: NodeId(node), port: PortId::new(port).unwrap() };
    plan.links = ends.map(|(a, b)| LinkPlan { a: end(a), b: end(b), ..link.clone() }).into();
    plan
}

/// Returns the positions that a switch's ports advertise.
fn places(network: &mut Network<Seen>, node: u32) -> Vec<Topology> {
    let Node::Switch(switch) = network.nodes_mut().get_mut(NodeId(node)) else { panic!("a host") };
    switch.agents_of_ports().map(|(_, agents)| agents.lldp().unwrap().topology().unwrap()).collect()
}

fn steps(network: &mut Network<Seen>, node: u32, port: u16) -> Vec<StepKind> {
    let reconciler = network.nodes_mut().reconciler(NodeId(node)).unwrap();
    let of_port = reconciler.steps().1.filter(|step| step.port.index() == usize::from(port));
    of_port.map(|step| step.kind.clone()).collect()
}

fn after(plan: &NetworkPlan, seconds: u64) -> Network<Seen> {
    let mut network = Network::new(plan, Seen::default()).unwrap();
    network.run_until(Instant::ZERO + Duration::from_secs(seconds));
    network
}

#[test]
fn three_levels_of_switches_find_their_levels() {
    let mut network = after(&network(), 10);
    use Orientation::{Downlink, Unknown, Uplink};
    for (node, level, orientations) in [
        (CORE, 3, &[Downlink, Downlink][..]),
        (SPINE, 2, &[Uplink, Downlink, Downlink]),
        (SPINE + 1, 2, &[Uplink, Downlink, Downlink]),
        (LEAF, 1, &[Uplink, Uplink, Downlink, Downlink]),
        (OTHER_LEAF, 1, &[Uplink, Uplink, Downlink, Unknown]),
    ] {
        let place = |o: &Orientation| Topology {
            device: Device::Bridge,
            level: Some(level),
            orientation: *o,
        };
        let expected: Vec<_> = orientations.iter().map(place).collect();
        assert_eq!(places(&mut network, node), expected, "node {node}");
    }
    let Node::Host(station) = network.nodes_mut().get_mut(NodeId(HOST)) else { panic!("a switch") };
    let said = station.agents().unwrap().lldp().unwrap().topology();
    let server = Topology { device: Device::EndStation, level: Some(0), orientation: Uplink };
    assert_eq!(said, Some(server));
    // The core has discovered its unconfigured neighbours.
    let located = |kind: &StepKind| match kind {
        StepKind::Place { locator, .. } => Some(*locator),
        _ => None,
    };
    let last = steps(&mut network, CORE, 0).iter().filter_map(located).next_back();
    assert_eq!(last, Some(Locator::InNetwork));
}

#[test]
fn peers_are_found_lost_with_the_link_and_found_again() {
    let mut plan = network();
    let second = |n| Instant::ZERO + Duration::from_secs(n);
    for (at, up) in [(20, false), (21, true)] {
        let kind = FaultKind::Link { link: LinkId(2), up };
        plan.faults.push(Fault { at: second(at), kind });
    }
    let mut network = after(&plan, 40);
    let peers = |network: &mut Network<Seen>, node, port| -> Vec<_> {
        let peered = |kind: StepKind| match kind {
            StepKind::Peered(peer) => Some(peer.map(|peer| peer.mac)),
            _ => None,
        };
        steps(network, node, port).into_iter().filter_map(peered).collect()
    };
    let mac = |n, p| Some(Mac([2, 1, 0, 0, n, p]));
    assert_eq!(peers(&mut network, LEAF, 0), [mac(1, 1), None, mac(1, 1)]);
    assert_eq!(peers(&mut network, SPINE, 1), [mac(3, 0), None, mac(3, 0)]);
    assert_eq!(peers(&mut network, LEAF, 1), [mac(2, 1)]);
    assert_eq!(peers(&mut network, LEAF, 2), [], "a host isolates nothing");
}

#[test]
fn a_leaf_finds_out_which_of_its_hosts_obey_messages() {
    let mut network = after(&network(), 10);
    let told = |network: &mut Network<Seen>, node, port| -> Vec<_> {
        let about = |kind: &StepKind| {
            matches!(kind, StepKind::SfcHost { .. } | StepKind::SfcElsewhere { .. })
        };
        steps(network, node, port).into_iter().filter(about).collect()
    };
    assert_eq!(told(&mut network, LEAF, 2), [StepKind::SfcHost { obeys: true }]);
    assert_eq!(told(&mut network, LEAF, 3), []);
    let elsewhere = StepKind::SfcElsewhere { port: 50_000, expected: sfcm::PORT_DEFAULT };
    assert_eq!(told(&mut network, OTHER_LEAF, 2), [elsewhere]);
    assert_eq!(told(&mut network, OTHER_LEAF, 3), []);
    assert_eq!(told(&mut network, SPINE, 1), [], "switches have no proxy between them");
}
