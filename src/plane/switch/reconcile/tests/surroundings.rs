//! Tests of reconciliation with neighbour information.

use std::net::IpAddr;

use super::*;
use crate::{Attached, AttachedKind};
use ::congestion::isolation::{CimType, Peer};
use discovery::{
    CongestionIsolation, DcbxPlan, Device, FamilyWidth, LldpPlan, Orientation, SourceFlowControl,
    Surroundings, Topology, TopologyPlan,
};
use ground::units::Mac;
use wire::sfcm::{self, Locator};

const PEER: Mac = Mac([2, 0, 0, 0, 7, 7]);

/// What a neighbour tells that does nothing about congestion.
const NO_SFC: SourceFlowControl = SourceFlowControl {
    point: false,
    proxy: false,
    by_flow: false,
    by_priority: false,
    udp_port: sfcm::PORT_DEFAULT,
};

/// Four ports with LLDP, of a switch with all congestion functions; port 1 advertises a fixed
/// position, and port 2 is attached to a host to be discovered.
fn plan() -> SwitchPlan {
    let mut plan = rig::plan(4);
    for port in &mut plan.ports {
        let lldp = Some(LldpPlan::new(port.mac, port.mac, "port"));
        port.agents = Some(AgentsPlan { lldp, ..agents(port.mac, port.rate) });
    }
    let fixed = Some(TopologyPlan::Fixed(Topology::default()));
    let mac = plan.ports[1].mac;
    plan.ports[1].agents.as_mut().unwrap().dcbx =
        Some(DcbxPlan { topology: fixed, ..DcbxPlan::new(mac) });
    plan.congestion = rig::congestion();
    plan.congestion.ports = vec![Attached::default(); 4];
    plan.congestion.ports[2].kind = AttachedKind::Discovered;
    plan
}

fn place(device: Device, level: Option<u8>) -> Option<Topology> {
    Some(Topology { device, level, orientation: Orientation::Unknown })
}

fn tlv(address: Option<IpAddr>) -> CongestionIsolation {
    CongestionIsolation {
        queue_map: [0; 8],
        encapsulation: 64,
        mac: PEER,
        udp_port: 4_711,
        address,
        family: FamilyWidth::One,
    }
}

/// Returns the changes that result from information received at a port.
fn changes(reconciler: &mut Reconciler, at: u16, heard: Surroundings) -> Vec<Change> {
    super::changes(reconciler, at, &News::Surroundings(heard))
}

/// Returns the changes that result from written objects.
fn adopted(reconciler: &mut Reconciler, plan: &SwitchPlan) -> Vec<Change> {
    let mut changes = vec![];
    reconciler.adopt(plan);
    reconciler.retry(Instant::ZERO, |change| {
        changes.push(change);
        Ok(())
    });
    changes
}

fn last_step(reconciler: &Reconciler) -> String {
    reconciler.steps().1.last().unwrap().kind.to_string()
}

#[test]
fn every_port_that_looks_for_its_place_tells_the_level() {
    let mut reconciler = Reconciler::new(&plan()).unwrap();
    let server = Surroundings { place: place(Device::EndStation, Some(0)), ..Default::default() };
    let said = |n, orientation| {
        let topology = Topology { device: Device::Bridge, level: Some(1), orientation };
        Change::Topology { port: port(n), topology }
    };
    let unknown = Orientation::Unknown;
    let told = changes(&mut reconciler, 2, server);
    let leaf = Change::Level(sfcm::Level::new(1));
    assert_eq!(told, [said(0, unknown), said(2, Orientation::Downlink), said(3, unknown), leaf]);
    let text = last_step(&reconciler);
    let expected = "topology: Bridge, level 1, Downlink; the neighbour is EndStation, level 0, \
                    Unknown; congestion here: incast";
    assert_eq!(text, expected);
    assert_eq!(changes(&mut reconciler, 2, server), [], "nothing is new");
    let above = Surroundings { place: place(Device::Bridge, Some(2)), ..Default::default() };
    assert_eq!(changes(&mut reconciler, 0, above), [said(0, Orientation::Uplink)]);
    // Port 1 advertises a fixed position, but its received information counts like any other's.
    assert_eq!(changes(&mut reconciler, 1, above), []);
    let told = changes(&mut reconciler, 2, Surroundings::default());
    let level = |change: &Change| match change {
        Change::Topology { topology, .. } => topology.level,
        Change::Level(level) => level.map(sfcm::Level::get),
        _ => None,
    };
    assert_eq!(told.iter().map(level).collect::<Vec<_>>(), [Some(3); 4], "those above are left");
}

#[test]
fn what_was_not_told_is_told_with_the_next_news() {
    let mut reconciler = Reconciler::new(&plan()).unwrap();
    let server = Surroundings { place: place(Device::EndStation, Some(0)), ..Default::default() };
    let news = News::Surroundings(server);
    let refuse = |_| Err(Refused::Never("the worker is gone".into()));
    reconciler.reconcile(Instant::ZERO, port(2), &news, refuse);
    assert_eq!(reconciler.steps_total(), 0);
    assert_eq!(changes(&mut reconciler, 2, server).len(), 4);
}

#[test]
fn congestion_is_incast_next_to_the_edge_and_in_the_network_elsewhere() {
    let mut reconciler = Reconciler::new(&plan()).unwrap();
    let located = |reconciler: &mut Reconciler, n, place| {
        let heard = Surroundings { place, ..Default::default() };
        let locator = |change: &Change| match change {
            Change::Locator { port: of, locator } if *of == port(n) => Some(*locator),
            _ => None,
        };
        changes(reconciler, n, heard).iter().find_map(locator)
    };
    // A port configured for a switch finds a host, and then no neighbour.
    let host = place(Device::EndStation, Some(0));
    assert_eq!(located(&mut reconciler, 0, host), Some(Locator::Incast));
    assert_eq!(located(&mut reconciler, 0, place(Device::Unknown, Some(0))), None);
    assert_eq!(located(&mut reconciler, 0, None), Some(Locator::InNetwork));
    // And a port configured for a host finds a router.
    assert_eq!(located(&mut reconciler, 2, place(Device::Router, None)), Some(Locator::InNetwork));
    assert_eq!(located(&mut reconciler, 2, place(Device::Unknown, None)), Some(Locator::Incast));
    // A configured locator takes precedence over neighbours.
    let mut fixed = plan();
    fixed.congestion.ports[0].locator = Some(Locator::Unknown);
    let mut reconciler = Reconciler::new(&fixed).unwrap();
    assert_eq!(located(&mut reconciler, 0, host), None);
}

#[test]
fn who_says_where_its_messages_go_is_entered_and_struck_out() {
    let mut plan = plan();
    let isolation = plan.congestion.isolation.as_mut().unwrap();
    let (mac, udp_port, encap_len) = (PEER, 4_711, 64);
    let peer = |cim_type, ipv4, ipv6| Peer { cim_type, mac, ipv4, ipv6, udp_port, encap_len };
    isolation.peers.push((port(3), peer(CimType::L2, None, None)));
    let mut reconciler = Reconciler::new(&plan).unwrap();
    let says = |address: Option<&str>| Surroundings {
        isolation: Some(tlv(address.map(|text| text.parse().unwrap()))),
        ..Default::default()
    };
    let (v4, v6) = (says(Some("192.0.2.1")), says(Some("2001:db8::1")));
    for (heard, peer) in [
        (v4, peer(CimType::Ipv4, Some([192, 0, 2, 1].into()), None)),
        (v6, peer(CimType::Ipv6, None, Some("2001:db8::1".parse().unwrap()))),
        (says(None), peer(CimType::L2, None, None)),
    ] {
        let change = Change::Peer { port: port(0), peer: Some(peer) };
        assert_eq!(changes(&mut reconciler, 0, heard), [change]);
        assert_eq!(changes(&mut reconciler, 0, heard), []);
        assert_eq!(changes(&mut reconciler, 3, heard), [], "the configured one stays");
    }
    assert_eq!(
        last_step(&reconciler),
        "congestion isolation: the peer is 02:00:00:00:07:07, messages over Ethernet"
    );
    let gone = Change::Peer { port: port(0), peer: None };
    assert_eq!(changes(&mut reconciler, 0, Surroundings::default()), [gone]);
    assert_eq!(last_step(&reconciler), "congestion isolation: no peer any more");
}

#[test]
fn a_peer_that_is_refused_is_trouble_with_its_reason() {
    let mut reconciler = Reconciler::new(&plan()).unwrap();
    let heard = Surroundings { isolation: Some(tlv(None)), ..Default::default() };
    let refuse = |_| Err(Refused::Never("the peer table holds 2 already".into()));
    reconciler.reconcile(Instant::ZERO, port(0), &News::Surroundings(heard), refuse);
    assert!(reconciler.steps().1.last().unwrap().kind.is_trouble());
    assert_eq!(
        last_step(&reconciler),
        "congestion isolation: no peer: the peer table holds 2 already"
    );
}

#[test]
fn a_host_that_obeys_messages_needs_no_proxy_until_it_goes() {
    let mut reconciler = Reconciler::new(&plan()).unwrap();
    let says = |by_flow, udp_port| Surroundings {
        sfc: Some(SourceFlowControl { by_flow, udp_port, ..NO_SFC }),
        ..Default::default()
    };
    let told = |obeys| vec![Change::SfcHost { port: port(2), obeys }];
    let obeys = says(true, sfcm::PORT_DEFAULT);
    assert_eq!(changes(&mut reconciler, 2, obeys), told(true));
    assert_eq!(changes(&mut reconciler, 2, Surroundings::default()), told(false));
    assert_eq!(changes(&mut reconciler, 2, says(false, sfcm::PORT_DEFAULT)), []);
    // The host would never receive messages sent to another UDP port.
    assert_eq!(changes(&mut reconciler, 2, says(true, 50_000)), []);
    assert!(reconciler.steps().1.last().unwrap().kind.is_trouble());
    assert!(last_step(&reconciler).contains("UDP port 50000, not 58622"));
    // A configured neighbour is not overridden.
    assert_eq!(changes(&mut reconciler, 0, obeys), []);
}

#[test]
fn what_a_switch_does_about_congestion_is_told_by_its_ports() {
    let mut plan = plan();
    let dcbx = |plan: &SwitchPlan, n| plan.agents_advertised(port(n)).unwrap().dcbx;
    let told = dcbx(&plan, 0).unwrap();
    assert_eq!(told.topology, Some(TopologyPlan::Recognized(Device::Bridge)));
    let sfc = told.sfc.unwrap();
    assert_eq!((sfc.point, sfc.proxy, sfc.obeys(), sfc.udp_port), (true, true, false, 58_622));
    let isolation = told.isolation.unwrap();
    assert_eq!((isolation.mac, isolation.address), (plan.ports[0].mac, None));
    assert_eq!(isolation.queue_map, [0, 0, 0, 6, 0, -4, 0, 0]);
    assert_eq!((told.pfc, told.ets), (None, None), "nothing is negotiated that was not asked for");
    // Only enabled functions are advertised, and a port's own plan takes precedence.
    assert_eq!(dcbx(&plan, 1).unwrap().topology, Some(TopologyPlan::Fixed(Topology::default())));
    plan.congestion.sfc.as_mut().unwrap().point.enabled = false;
    let sfc = dcbx(&plan, 0).unwrap().sfc.unwrap();
    assert_eq!((sfc.point, sfc.proxy), (false, true));
    plan.congestion.proxy = None;
    plan.congestion.isolation.as_mut().unwrap().machine.enabled = false;
    let told = dcbx(&plan, 0).unwrap();
    assert_eq!((told.isolation, told.sfc), (None, None));
    plan.congestion = Default::default();
    assert_eq!(dcbx(&plan, 0), None);
}

#[test]
fn objects_that_are_written_are_told_to_neighbours() {
    let mut plan = plan();
    let mut reconciler = Reconciler::new(&plan).unwrap();
    plan.congestion.isolation.as_mut().unwrap().machine.enabled = false;
    plan.congestion.sfc.as_mut().unwrap().point.udp_port = 50_000;
    assert!(!reconciler.has_advertised(&plan));
    let told = adopted(&mut reconciler, &plan);
    assert_eq!(told.len(), 4, "every port: {told:?}");
    let Change::Advertise { isolation: None, sfc: Some(sfc), .. } = told[0] else {
        panic!("{told:?}")
    };
    assert_eq!((sfc.udp_port, reconciler.has_advertised(&plan)), (50_000, true));
    assert_eq!(reconciler.next_deadline(), Instant::NEVER);
    reconciler.retry(Instant::ZERO, |change| panic!("{change:?}"));
}

#[test]
fn objects_that_are_written_judge_anew_what_was_heard() {
    let mut plan = plan();
    let mut reconciler = Reconciler::new(&plan).unwrap();
    let obeys = Surroundings {
        place: place(Device::EndStation, None),
        sfc: Some(SourceFlowControl { by_priority: true, udp_port: 50_000, ..NO_SFC }),
        ..Default::default()
    };
    let located = |n, locator| Change::Locator { port: port(n), locator };
    let host = |obeys| Change::SfcHost { port: port(2), obeys };
    assert_eq!(changes(&mut reconciler, 2, obeys), []);
    assert_eq!(changes(&mut reconciler, 0, obeys), [located(0, Locator::Incast)]);
    let mut announced = |plan: &SwitchPlan| {
        let mut all = adopted(&mut reconciler, plan);
        all.retain(|change| !matches!(change, Change::Advertise { .. }));
        all
    };
    // The UDP port changes to the one that the host expects, and back; then a switch is configured.
    plan.congestion.proxy.as_mut().unwrap().udp_port = 50_000;
    assert_eq!(announced(&plan), [host(true)]);
    plan.congestion.proxy.as_mut().unwrap().udp_port = sfcm::PORT_DEFAULT;
    assert_eq!(announced(&plan), [host(false)]);
    plan.congestion.ports[2].kind = AttachedKind::Switch;
    assert_eq!(announced(&plan), [located(2, Locator::Incast)]);
    // The discovered value applies again once none is configured.
    plan.congestion.ports[0].locator = Some(Locator::Unknown);
    assert_eq!(announced(&plan), []);
    plan.congestion.ports[0].locator = None;
    assert_eq!(announced(&plan), [located(0, Locator::Incast)]);
}
