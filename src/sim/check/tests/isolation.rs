//! Congestion Isolation over two switches: the one whose port is congested isolates the flow and tells the
//! one before it, which does the same, so that the flow beside it goes on; and it all returns.

use super::fixture::*;
use crate::check::*;
use crate::*;
use ::host::{FlowId, FlowPlan, Rate};
use congestion::Detect;
use congestion::isolation::{CimType, IsolationCounters, IsolationPlan, Peer, Watch};
use ground::time::{Duration, Instant};
use ground::units::*;
use pfc::FlowControl;
use switch::{CongestionIsolationPlan, SwitchPlan, rig};

/// Hosts 0 and 1 are at the first switch; at the second are 2, 5 and 6, which send, 3, which they congest,
/// and 4.
const CONGESTED: u8 = 3;
const VICTIM: u8 = 4;
const FRAMES: u64 = 2_000;
const VICTIM_FRAMES: u64 = 2_000;
/// The flow that host 0 sends later, with the headers of the one that congests.
const LATER: FlowId = FlowId(900);

/// The port of the first switch to the second.
const UPLINK: u16 = 2;

fn peer(mac: Mac) -> Peer {
    let (cim_type, udp_port) = (CimType::L2, 0);
    Peer { cim_type, mac, ipv4: None, ipv6: None, udp_port, encap_len: 48 }
}

fn isolating(peer_at: u16, mac: Mac) -> CongestionIsolationPlan {
    let (detect, low) = (Detect::Length(Bytes(20_000)), Bytes(2_000));
    let watch = Watch { detect, low, cim_above: Bytes(10_000) };
    let max_flow_life = Duration::from_micros(200);
    let plan = rig::congestion().isolation.unwrap();
    CongestionIsolationPlan {
        machine: IsolationPlan { watch, max_flow_life, ..plan.machine },
        peers: vec![(PortId::new(peer_at).unwrap(), peer(mac))],
        ..plan
    }
}

/// A switch whose priority 5 is lossless as priority 3 is.
fn lossless_twice(name: &str, ports: u16) -> SwitchPlan {
    let mut plan = switch(name, ports, 600);
    let both: PrioritySet = [3, 5].map(|n| Priority::ALL[n]).into_iter().collect();
    for (port, groups) in plan.ports.iter_mut().zip(&mut plan.buffer.groups) {
        port.pfc.mode = FlowControl::Pfc { send: both, obey: both };
        groups[5] = groups[3];
    }
    plan.buffer.total = Cells(2_000 * u32::from(ports));
    plan
}

fn plan(isolates: bool) -> NetworkPlan {
    let (mut first, mut second) = (lossless_twice("a", 3), lossless_twice("b", 6));
    for (n, port) in second.ports.iter_mut().enumerate() {
        port.mac = Mac([2, 0, 0, 0, 9, n as u8]);
    }
    first.bridge.statics = statics([0, 1].into_iter().map(|n| (n, n.into())));
    first.bridge.statics.extend(statics((2..=6).map(|n| (n, UPLINK))));
    second.bridge.statics = statics([0, 1].into_iter().map(|n| (n, 0)));
    second.bridge.statics.extend(statics((2..=6).map(|n| (n, u16::from(n) - 1))));
    if isolates {
        first.congestion.isolation = Some(isolating(UPLINK, second.ports[0].mac));
        second.congestion.isolation = Some(isolating(0, first.ports[usize::from(UPLINK)].mac));
    }
    let mut hosts = [
        station(0, &[CONGESTED], FRAMES, &[]),
        station(1, &[VICTIM], VICTIM_FRAMES, &[]),
        station(2, &[CONGESTED], 2 * FRAMES, &[]),
        station(CONGESTED, &[], 0, &[0, 2, 5, 6]),
        station(VICTIM, &[], 0, &[1]),
        station(5, &[CONGESTED], 2 * FRAMES, &[]),
        station(6, &[CONGESTED], 2 * FRAMES, &[]),
    ];
    // Together they fill the line between the switches. Host 0 brings more than half of the congested one,
    // which is what a class alone gets there.
    hosts[0].flows[0].rate = Rate::LineShare(550_000);
    hosts[1].flows[0].rate = Rate::LineShare(450_000);
    let again = FlowPlan { id: LATER, start: at(3_000), frames: Some(50), ..hosts[0].flows[0] };
    hosts[0].flows.push(again);
    hosts[3].expects.push(LATER);
    let mut links: Vec<_> = (0..2).map(|n| link((0, n), (2 + u32::from(n), 0))).collect();
    links.push(link((0, UPLINK), (1, 0)));
    links.extend((1..6).map(|n| link((1, n), (3 + u32::from(n), 0))));
    let switches = [first, second].map(NodeKind::Switch);
    network(switches.into_iter().chain(hosts.map(NodeKind::Host)).collect(), links)
}

/// Arrival of the victim's last frame, and the counters of each switch.
struct Run {
    victim: Duration,
    counters: [Option<IsolationCounters>; 2],
}

fn run_of(isolates: bool) -> Run {
    let plan = plan(isolates);
    let mut network = Network::new(&plan, Checkers::new(&plan)).unwrap();
    let sink = |network: &mut Network<Checkers>, host: u8| {
        let Node::Host(host) = network.nodes_mut().get_mut(NodeId(u32::from(host) + 2)) else {
            panic!("no host")
        };
        host.snapshot(Instant::ZERO).sinks
    };
    let mut victim = Duration::ZERO;
    for us in (5..4_000).step_by(5) {
        network.run_until(at(us));
        if victim == Duration::ZERO && sink(&mut network, VICTIM)[0].frames == VICTIM_FRAMES {
            victim = at(us).since(Instant::ZERO);
        }
    }
    assert!(network.is_quiet());
    for (host, frames) in [
        (VICTIM, vec![VICTIM_FRAMES]),
        (CONGESTED, vec![50, FRAMES, 2 * FRAMES, 2 * FRAMES, 2 * FRAMES]),
    ] {
        let sinks = sink(&mut network, host);
        let mut arrived: Vec<_> = sinks.iter().map(|sink| sink.frames).collect();
        arrived.sort_unstable();
        assert_eq!(arrived, frames);
        assert!(sinks.iter().all(|sink| sink.reordered == 0));
    }
    let mut counters = [None; 2];
    for (n, counters) in counters.iter_mut().enumerate() {
        let Node::Switch(switch) = network.nodes_mut().get_mut(NodeId(n as u32)) else { panic!() };
        *counters = switch.isolation().map(|isolation| {
            let congested = isolation.flows().filter(|flow| flow.queue.port.get() != UPLINK);
            assert_eq!(
                congested.count() * (1 - n),
                0,
                "{:?}",
                isolation.flows().collect::<Vec<_>>()
            );
            isolation.counters()
        });
    }
    let (checkers, mut nodes) = network.finish();
    all_good(&checkers.finish(at(4_000), &mut nodes));
    Run { victim, counters }
}

#[test]
fn the_switch_upstream_isolates_what_it_is_told_and_the_flow_beside_goes_on() {
    let (without, with) = (run_of(false), run_of(true));
    // 2,000 frames of 1,020 octets with preamble and gap at 45 Gb/s are 363 us; paused with the flow that
    // congests, they get what that one gets, a quarter of a line.
    assert!(with.victim < Duration::from_micros(400), "{}", with.victim);
    assert!(without.victim > Duration::from_micros(500), "{}", without.victim);
    let [Some(first), Some(second)] = with.counters else { panic!("both isolate") };
    assert!(second.sent_add > 0 && second.isolated_frames > 100, "{second:?}");
    assert!(first.heard_isolated > 0 && first.isolated_frames > 100, "{first:?}");
    assert!(first.returned > 0 && second.returned > 0, "{first:?} {second:?}");
}
