//! Ports that measure their links, against the plan of the network.

use super::*;
use crate::teststar::{host, the_switch};
use ::headroom::measure::{InitiatePlan, MeasurePlan};
use ::headroom::{DelayInputs, Interface, Phy, Shims, SoftwareTerms, required};
use ::pfc::FlowControl;
use ::wire::headroom::{Dialect, TimeUnit};
use buffer::GroupKind;
use discovery::{DcbxPfcPlan, DcbxPlan, EtsPlan, EtsTable, LldpPlan, Party, PfcForm};
use ground::statistics::Statistics;
use ground::units::{BitsPerSec, Mac, PortId, PrioritySet};
use link::{AgentsPlan, AutoPlan};
use schedule::ClassPlan;
use switch::rig;
use switch::{Headroom, Step, StepKind};

const RATE: BitsPerSec = BitsPerSec::gbps(100);

fn interface() -> Interface {
    Interface::plain(Phy::Base100R)
}

/// Returns the one-way delay of `metres` of fibre between two interfaces.
fn one_way(metres: u64) -> Duration {
    interface().delay() + Duration::from_nanos(5 * metres)
}

fn agents(mac: Mac, auto: Option<AutoPlan>) -> AgentsPlan {
    let spacing = (Duration::from_micros(10), Duration::from_micros(40));
    let (spacing_min, spacing_max) = spacing;
    let plan = InitiatePlan { rounds: 20, spacing_min, spacing_max, ..InitiatePlan::DEFAULT };
    let dialect = Dialect { unit: TimeUnit::Picoseconds, ..Dialect::default() };
    let initiate = auto.is_some().then_some(plan);
    let measure = MeasurePlan { respond: true, initiate, dialect, compensation: None };
    AgentsPlan { measure: Some(measure), auto, ..rig::agents(mac, RATE) }
}

fn auto() -> AutoPlan {
    let auto = rig::auto();
    AutoPlan { link: DelayInputs { cable_m: 0, ..auto.link }, wait: Duration::ZERO, ..auto }
}

/// Three hosts that send to a fourth at line rate through a switch that measures the link of host
/// 0, of `metres` length. Both ends are loaded meanwhile.
fn network(metres: u64) -> NetworkPlan {
    let mut plan = incast(3, 4_000);
    let delay = one_way(metres);
    (plan.links[0].ab.delay, plan.links[0].ba.delay) = (delay, delay);
    let switch = the_switch(&mut plan);
    switch.buffer.total.0 += 10_000;
    switch.ports[0].agents = Some(agents(switch.ports[0].mac, Some(auto())));
    let host = host(&mut plan, 0);
    host.agents = Some(agents(host.mac, None));
    plan
}

fn exactly(trip: Duration) -> Statistics<Duration> {
    Statistics::of(&[trip; 20], trip).unwrap()
}

/// Returns the headroom that the switch found for the port, and every measured delay.
fn found(network: Network<Seen>) -> (Headroom, Vec<Statistics<Duration>>) {
    let (_, nodes) = network.finish();
    let reconciler = nodes.reconciler(NodeId(0)).unwrap();
    let spread = |kind: &StepKind| match kind {
        StepKind::Found(found) => Some(found.delay),
        _ => None,
    };
    let spreads = reconciler.steps().1.filter_map(|step| spread(&step.kind)).collect();
    (reconciler.headroom(PortId::MIN).unwrap().clone(), spreads)
}

#[test]
fn the_round_trip_is_the_link_s_without_jitter_under_load() {
    for metres in [20, 100, 500] {
        let (headroom, spreads) = found(run(&network(metres)));
        let trip = one_way(metres).saturating_mul(2);
        assert_eq!(spreads, [exactly(trip)], "{metres} m");
        // With the peer's reaction: medium and internal delay of the table, in bit times.
        let medium = (trip + DelayInputs::HIGHER_LAYER).as_picos() / 10;
        assert_eq!(medium, 1_000 * metres + 203_776);
        assert!(headroom.set);
        let link = DelayInputs { cable_m: metres as u32, ..auto().link };
        let by_table = required(&link, &SoftwareTerms::default(), 64);
        assert_eq!(headroom.required.cells, by_table.cells);
    }
}

#[test]
fn a_protected_link_is_longer_by_shims_and_protection_both_ways() {
    let mut plan = network(100);
    super::secured::secure(&mut plan, 0, true, super::secured::shims);
    let (headroom, spreads) = found(run(&plan));
    // 24 bytes more on the line, and shims of 500 ns.
    let more = Duration::from_picos(24 * 80 + 500_000);
    let trip = (one_way(100) + more).saturating_mul(2);
    assert_eq!(spreads, [exactly(trip)]);
    assert!(headroom.set);
}

/// The link of host 0 with PFC protected alone, whose delay every second message shows.
fn measured_shims() -> NetworkPlan {
    let mut plan = network(100);
    super::secured::secure(&mut plan, 0, false, |secy| {
        super::secured::shims(secy);
        secy.protect_measurements = true;
    });
    let agents = the_switch(&mut plan).ports[0].agents.as_mut().unwrap();
    agents.measure.as_mut().unwrap().initiate.as_mut().unwrap().shims = true;
    // Configured delays that are wrong, and not used.
    let wrong = Shims { local: Duration::from_nanos(1), remote: Duration::from_nanos(1) };
    agents.auto.as_mut().unwrap().shims = Some(wrong);
    plan
}

#[test]
fn the_delay_of_macsec_is_measured_where_pfc_alone_is_protected() {
    for (ours, theirs) in [(0, 0), (100_000, -100_000)] {
        let mut plan = measured_shims();
        plan.nodes[0].clock.drift_ppb = ours;
        plan.nodes[1].clock.drift_ppb = theirs;
        let (headroom, spreads) = found(run(&plan));
        // Plain messages take the round trip of the cable; protected ones have 24 bytes more, and shims
        // of 500 ns one way.
        let trip = one_way(100).saturating_mul(2);
        let more = 24 * 80 + 500_000;
        let shims = headroom.found.shims.unwrap().as_picos();
        if ours == 0 {
            assert_eq!((spreads, shims), (vec![exactly(trip)], more));
        } else {
            assert!(shims.abs_diff(more) < 200, "{shims} of {more} ps");
        }
        let terms = &headroom.required.sum.terms;
        let shim = terms.iter().find(|term| term.name == "MACsec shims of both ends").unwrap();
        assert!(shim.bits.abs_diff((more / 10) as i64) <= 20, "{shim:?}");
    }
    // Without the peer's keys protected messages are lost, and the configured delays are used.
    let mut plan = measured_shims();
    host(&mut plan, 0).secy.as_mut().unwrap().receive.clear();
    let (headroom, _) = found(run(&plan));
    assert_eq!(headroom.found.shims, None);
}

#[test]
fn clocks_that_differ_and_drift_change_less_than_a_quantum() {
    let exact = one_way(500).saturating_mul(2).as_picos();
    for (offset, ours, theirs) in
        [(7, 100_000, -100_000), (31, -100_000, 100_000), (1_000, 0, 99_000)]
    {
        let mut plan = network(500);
        plan.nodes[0].clock.drift_ppb = ours;
        plan.nodes[1].clock.drift_ppb = theirs;
        plan.nodes[1].clock.offset = Duration::from_millis(offset);
        let (_, spreads) = found(run(&plan));
        let [spread] = spreads[..] else { panic!("{spreads:?}") };
        // 512 bit times at 100 Gb/s.
        for trip in [spread.min, spread.max] {
            let off = trip.as_picos().abs_diff(exact);
            assert!(off < 5_120, "{off} ps, offset {offset} ms, {ours} and {theirs} ppb");
        }
    }
}

#[test]
fn nanoseconds_in_the_message_cost_two_at_most() {
    let mut plan = network(100);
    let coarse = |agents: &mut Option<AgentsPlan>| {
        let measure = agents.as_mut().and_then(|a| a.measure.as_mut()).unwrap();
        measure.dialect = Dialect::default();
    };
    coarse(&mut the_switch(&mut plan).ports[0].agents);
    coarse(&mut host(&mut plan, 0).agents);
    let (headroom, spreads) = found(run(&plan));
    let exact = one_way(100).saturating_mul(2).as_picos();
    let [spread] = spreads[..] else { panic!("{spreads:?}") };
    let uncertainty = headroom.found.uncertainty.as_picos();
    for trip in [spread.min, spread.max] {
        assert!(trip.as_picos().abs_diff(exact) <= uncertainty, "{trip} for {exact} ps");
    }
    assert!(uncertainty <= 2_002, "{uncertainty}");
}

#[test]
fn a_link_that_comes_back_is_measured_again() {
    let mut plan = network(100);
    let kind = |up| FaultKind::Link { link: LinkId(0), up };
    let at = |us| Instant::ZERO + Duration::from_micros(us);
    // Once during a measurement, once after its end.
    for (down, up) in [(200, 210), (3_000, 3_050)] {
        plan.faults.push(Fault { at: at(down), kind: kind(false) });
        plan.faults.push(Fault { at: at(up), kind: kind(true) });
    }
    let mut network = Network::new(&plan, Seen::default()).unwrap();
    network.run_until(at(6_000));
    let (_, spreads) = found(network);
    assert_eq!(spreads.len(), 2, "the one that was cut short is none: {spreads:?}");
    assert_eq!(spreads[0], spreads[1]);
}

#[test]
fn a_buffer_that_is_too_small_refuses_and_says_so() {
    let mut plan = network(500);
    the_switch(&mut plan).buffer.total.0 = 1_800;
    let (headroom, _) = found(run(&plan));
    assert!(!headroom.set && headroom.required.cells.0 > 400);
}

/// Two switches of one port each: the first advertises what the second, which is willing, adopts.
fn two_switches() -> NetworkPlan {
    let mut plan = network(100);
    plan.nodes.truncate(1);
    plan.links.truncate(1);
    let spoken = |n: u8, willing: bool, enable: u8, table: EtsTable| {
        let mac = Mac([2, 0, 0, 0, 9, n]);
        let form = PfcForm::Proposed { round_trip: true, ptp: false, macsec: false };
        let enable = PrioritySet(enable);
        let (macsec_bound, capability) = (false, 8);
        let recommended = (!willing).then_some(table);
        AgentsPlan {
            lldp: Some(LldpPlan::new(mac, mac, format!("p{n}"))),
            dcbx: Some(DcbxPlan {
                mac,
                ets: Some(EtsPlan { willing, cbs: false, classes: 8, local: table, recommended }),
                pfc: Some(DcbxPfcPlan { willing, macsec_bound, capability, enable, form }),
                ..DcbxPlan::new(mac)
            }),
            ..agents(mac, Some(AutoPlan { wait: Duration::from_secs(30), ..auto() }))
        }
    };
    let table = |first: u8| EtsTable {
        class: core::array::from_fn(|p| p as u8),
        bandwidth: [first, 100 - first, 0, 0, 0, 0, 0, 0],
        algorithm: [2, 2, 0, 0, 0, 0, 0, 0],
    };
    for (n, willing, enable, share) in [(0, false, 0b1_1000, 30), (1, true, 0b1000, 50)] {
        let mut one = rig::plan(1);
        one.buffer.total.0 = 20_000;
        let port = &mut one.ports[0];
        let set = PrioritySet(enable);
        (port.rate, port.shaped) = (RATE, true);
        port.pfc.mode = FlowControl::Pfc { send: set, obey: set };
        port.agents = Some(spoken(n, willing, enable, table(share)));
        if n == 0 {
            one.buffer.groups[0][4] = one.buffer.groups[0][3];
        }
        let node = NodePlan::new(NodeKind::Switch(one));
        if n == 0 { plan.nodes[0] = node } else { plan.nodes.push(node) }
    }
    plan
}

#[test]
fn a_willing_switch_runs_what_its_peer_says_and_both_measure() {
    let mut network = Network::new(&two_switches(), Seen::default()).unwrap();
    network.run_until(Instant::ZERO + Duration::from_secs(3));
    let (_, nodes) = network.finish();
    let reconcilers = [0, 1].map(|n| nodes.reconciler(NodeId(n)).unwrap());
    for reconciler in reconcilers {
        let port = &reconciler.plan().ports[0];
        let set = PrioritySet(0b1_1000);
        assert_eq!(port.pfc.mode, FlowControl::Pfc { send: set, obey: set });
        let shares = [ClassPlan::Dwrr { weight: 30 }, ClassPlan::Dwrr { weight: 70 }];
        let local = reconciler.steps().1.all(|s| !matches!(s.kind, StepKind::Ets { .. }));
        assert_eq!(port.schedule.classes[..2] == shares, !local);
        // The two groups have the headroom for the round trip to the peer.
        let need = reconciler.headroom(PortId::MIN).unwrap();
        assert!(need.set && need.found.delay.max == one_way(100).saturating_mul(2));
        for group in [3, 4] {
            let GroupKind::Lossless { headroom, .. } =
                reconciler.plan().buffer.groups[0][group].kind
            else {
                panic!("group {group} is lossless")
            };
            assert_eq!(headroom, need.required.cells);
        }
    }
    let ets = |s: &&Step| matches!(s.kind, StepKind::Ets { from: Party::Peer, .. });
    assert_eq!(reconcilers.map(|s| s.steps().1.filter(ets).count()), [0, 1]);
}
