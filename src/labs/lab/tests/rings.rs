//! Dimensions of rings against the worst schedules of threads, without DPDK.

use std::cell::Cell;
use std::rc::Rc;

use proptest::prelude::*;

use crate::parse;
use contracts::memory::{InMemory, RingPort, ring_pair};
use contracts::stats::DropReason;
use contracts::world::Alone;
use ground::time::Instant;
use ground::units::PortId;
use host::Station;
use labrun::real::{Fit, Shortfall, until_quiet};
use runtime::{ClockSync, ThreadClock};
use sim::NodeKind;
use switch::Switch;

enum Polled {
    Switch(Box<Switch<InMemory>>),
    Host(Box<Station<RingPort>>),
}

/// A fitted lab without threads: the test schedules the polls.
struct Net<'a> {
    nodes: Vec<Polled>,
    /// By node and port: true if frames in its ring are not visible yet.
    blind: Vec<Vec<Rc<Cell<bool>>>>,
    /// Thread of each node.
    places: Vec<usize>,
    clocks: Vec<ThreadClock<'a>>,
    real: Instant,
}

fn fit(text: &str) -> Fit {
    let (plan, _) = parse("lab", text).unwrap_or_else(|e| panic!("{e}"));
    Fit::new(&plan).unwrap()
}

fn clock_sync(fit: &Fit, threads: usize) -> ClockSync {
    ClockSync::new(threads, fit.rings.span).with_step(fit.rings.step)
}

impl<'a> Net<'a> {
    fn new(fit: &Fit, clock_sync: &'a ClockSync, threads: usize) -> Self {
        let network = &fit.plan.network;
        let mut ports: Vec<Vec<Option<RingPort>>> =
            network.nodes.iter().map(|n| (0..n.ports()).map(|_| None).collect()).collect();
        for link in &network.links {
            let (near, far) = ring_pair(fit.rings.entries);
            ports[link.a.node.index()][link.a.port.index()] = Some(near);
            ports[link.b.node.index()][link.b.port.index()] = Some(far);
        }
        let mut blind = Vec::new();
        let mut nodes = Vec::new();
        for (node, ports) in network.nodes.iter().zip(ports) {
            let mut ports: Vec<RingPort> = ports.into_iter().flatten().collect();
            blind.push(ports.iter().map(|port| port.blind.clone()).collect());
            nodes.push(match &node.kind {
                NodeKind::Switch(plan) => {
                    let ids = (0..).filter_map(PortId::new);
                    let ports = ids.zip(ports).collect();
                    let switch = Switch::new(plan, ports, Alone::default(), ());
                    Polled::Switch(Box::new(switch.unwrap()))
                }
                NodeKind::Host(plan) => {
                    let port = ports.pop().unwrap();
                    Polled::Host(Box::new(Station::new(plan, port).unwrap()))
                }
            });
        }
        let places = fit.load.spread(threads);
        let clocks = (0..threads).map(|n| clock_sync.thread_clock(n, Instant::ZERO)).collect();
        Self { nodes, blind, places, clocks, real: Instant::ZERO }
    }

    /// Runs one round of a thread. The nodes in `late` read their rings before frames that others
    /// have just sent are visible, and send after that.
    fn round(&mut self, thread: usize, late: u64) {
        let now = self.clocks[thread].tick(self.real);
        for (n, node) in self.nodes.iter_mut().enumerate() {
            if self.places[n] != thread {
                continue;
            }
            let blind = &self.blind[n];
            blind.iter().for_each(|b| b.set(late >> (n % 64) & 1 == 1));
            until_quiet(|| match node {
                Polled::Switch(switch) => switch.poll(now).progressed,
                Polled::Host(host) => host.poll(now).progressed,
            });
            blind.iter().for_each(|b| b.set(false));
        }
        self.clocks[thread].publish();
    }

    /// Returns the highest use of headroom of any port, in percent, and the number of pauses sent.
    fn check(&mut self, fit: &Fit) -> (u64, u64) {
        let (mut headroom, mut pauses) = (0, 0);
        for (n, node) in self.nodes.iter_mut().enumerate() {
            let Polled::Switch(switch) = node else { continue };
            let now = self.clocks[self.places[n]].now();
            let snapshot = switch.snapshot(now);
            assert!(snapshot.balance().holds(), "{:?}", snapshot.balance());
            let drops = snapshot.drops();
            assert_eq!(drops.iter().filter(|(r, _)| *r == DropReason::HeadroomFull).count(), 0);
            for (port, counted) in snapshot.ports.iter().enumerate() {
                let id = PortId::new(port as u16).unwrap();
                let node = sim::NodeId(n as u32);
                let end = sim::End { node, port: id };
                let links = &fit.plan.network.links;
                let link = links.iter().find(|l| l.a == end || l.b == end).unwrap();
                let NodeKind::Switch(plan) = &fit.plan.network.nodes[n].kind else { continue };
                let cell = plan.buffer.cell_bytes;
                let room = u64::from(fit.rings.headroom(link, cell).0) * u64::from(cell);
                for p in &counted.counters.priorities {
                    assert!(p.headroom_peak_bytes <= room, "{} of {room}", p.headroom_peak_bytes);
                    headroom = headroom.max(p.headroom_peak_bytes * 100 / room.max(1));
                    pauses += p.pfc_tx_frames;
                }
                assert_eq!(counted.counters.priorities[3].dropped, 0);
            }
        }
        (headroom, pauses)
    }
}

/// Labs that depend on pauses: an incast, hosts across switches, and a tree.
fn lab(topology: usize, size: u32, rate: &str, quanta: u32, transport: &str) -> String {
    let (topology, to) = [
        ("{star: {hosts: 4}}", "h4"),
        ("{parking_lot: {switches: 3, hosts_per_switch: 2}}", "h6"),
        ("{leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2}}", "h1"),
    ][topology];
    format!(
        "duration: 1s
profiles:
  tor:
    max_frame: 9018
    buffer: {{profiles: {{roce: {{shared: {{static_th: 64kB}}, lossless: {{}}}}}}}}
    defaults: {{pfc: {{enable: [3], quanta: {quanta}}}, priority_groups: {{3: roce}}}}
topology: {topology}
defaults:
  links: {{rate: {rate}, length: 10m, phy: none}}
flows: [{{name: f, from: all, to: {to}, priority: 3, size: {size}, transport: {transport}}}]
"
    )
}

/// A turn: the thread, the number of rounds, the real time of each in 16ths of the clock sync's step,
/// and the nodes that are late.
type Turn = (usize, u8, u64, u64);

fn turns() -> impl Strategy<Value = Vec<Turn>> {
    let length = prop_oneof![1_u64..8, 8_u64..64, 64_u64..1_000];
    prop::collection::vec((any::<usize>(), 1_u8..30, length, any::<u64>()), 100..300)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn no_schedule_of_threads_costs_a_lossless_frame(
        topology in 0_usize..3,
        size in prop_oneof![Just(70_u32), 71_u32..2_000, Just(9_000_u32)],
        rate in prop_oneof![Just("1G"), Just("100G"), Just("400G")],
        quanta in prop_oneof![Just(65_535_u32), 200_u32..2_000],
        transport in prop_oneof![3 => Just("udp"), 1 => Just("roce")],
        threads in 1_usize..5,
        turns in turns(),
    ) {
        let fit = fit(&lab(topology, size.max(90), rate, quanta, transport));
        let clock_sync = clock_sync(&fit, threads);
        let mut net = Net::new(&fit, &clock_sync, threads);
        for (thread, rounds, length, late) in turns {
            for n in 0..rounds {
                let step = fit.rings.step.saturating_mul(length).div(16);
                net.real += step;
                // Only the first round of a turn can have begun before the last round of the
                // others.
                net.round(thread % threads, if n == 0 { late } else { 0 });
            }
        }
        net.check(&fit);
    }
}

#[test]
fn turns_as_long_as_the_leash_use_headroom_and_never_all_of_it() {
    for topology in 0..3 {
        let fit = fit(&lab(topology, 1_000, "100G", 65_535, "udp"));
        let clock_sync = clock_sync(&fit, 2);
        let mut net = Net::new(&fit, &clock_sync, 2);
        for _ in 0..300 {
            for thread in 0..2 {
                for round in 0..5 {
                    net.real += fit.rings.step;
                    net.round(thread, if round == 0 { u64::MAX } else { 0 });
                }
            }
        }
        let (percent, pauses) = net.check(&fit);
        assert!((5..=50).contains(&percent), "{percent} %");
        assert!(pauses > 20, "{pauses}");
    }
}

#[test]
fn a_lab_is_slowed_down_by_what_it_offers() {
    let times = |rate: &str, size: u32, threads: usize| {
        fit(&lab(0, size, rate, 65_535, "udp")).load.slow_down(threads)
    };
    // Three hosts fill 100 Gb/s each, and every frame is sent, forwarded and received.
    let hops = 3.0 * 3.0 * 1e11 / (8.0 * 1_020.0);
    let expected = hops / 400_000.0;
    assert!((times("100G", 1_000, 2) as f64 / expected - 1.0).abs() < 0.01);
    assert_eq!(times("100G", 1_000, 1), (2.0 * expected).ceil() as u64);
    assert!(times("400G", 70, 2) > 40 * times("100G", 1_000, 2));
    assert_eq!(times("10M", 1_000, 1), 1);
}

#[test]
fn nodes_are_spread_over_threads_by_what_they_carry() {
    let fit = fit(&lab(0, 1_000, "100G", 65_535, "udp"));
    let places = fit.load.spread(2);
    // The load of the switch and the receiver equals that of the three senders.
    assert_ne!(places[0], places[4], "{places:?}");
    let senders = places[1..4].iter().filter(|place| **place == places[0]).count();
    assert!((1..=2).contains(&senders), "{places:?}");
    assert!(fit.load.spread(1).iter().all(|place| *place == 0));
}

#[test]
fn headroom_stays_what_rings_need_whatever_ports_would_find() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../configs/labs/auto-headroom.yaml");
    let text = std::fs::read_to_string(path).unwrap();
    let fit = fit(&text);
    let said = |s: &Shortfall| s.field == "profiles.defaults.headroom";
    assert_eq!(fit.shortfalls.iter().filter(|s| said(s)).count(), 1);
    let switches = fit.plan.network.nodes.iter().filter_map(|node| match &node.kind {
        NodeKind::Switch(switch) => Some(switch),
        NodeKind::Host(_) => None,
    });
    for agents in switches.flat_map(|s| &s.ports).map(|port| port.agents.as_ref().unwrap()) {
        // It still measures, for display.
        assert!(agents.auto.is_none() && agents.measure.as_ref().unwrap().initiate.is_some());
    }
    // Checks that depend on a cable are not judged, each with its reason; checks of frames are.
    for (n, check) in fit.plan.checks.iter().enumerate() {
        let why = fit.judged.why_not(n);
        let frames = ["conservation", "lossless"].contains(&check.name.as_str());
        assert_eq!(why.is_none(), frames, "{}: {why:?}", check.name);
    }
}

/// Returns the reason why rings cannot judge a check of a value, in a lab with lines of 1 us.
fn why_not(value: &str) -> Option<String> {
    let checks = format!("checks: [{{value: {{{value}}}}}]\n");
    let rest = "duration: 1ms\ntopology: {star: {hosts: 2}}\ndefaults: {links: {delay: 1us}}\n\
                profiles: {s: {defaults: {pfc: {enable: [3]}}}}\n\
                flows: [{name: f, from: h1, to: h2, priority: 3, duration: {frames: 9}}]\n";
    fit(&format!("{rest}{checks}")).judged.why_not(0).map(str::to_owned)
}

#[test]
fn values_that_depend_on_a_cable_are_not_judged() {
    for value in [
        "path: nodes.s1.ports.to_h1.agents.round_trip.min_ns, at_least: 1",
        "path: nodes.s1.ports.to_h1.measured.given_bytes, at_least: 1",
        "path: nodes.s1.ports.to_h1.agents.headroom.needs.bytes, expect: 5",
        "path: nodes.s1.ports.to_h1.priorities.3.headroom_peak_bytes, at_most: 9",
        "path: nodes.s1.ports.to_h1.priorities.3.buffer_peak_bytes, at_most: 9",
        "path: flows.f.latency_ns.max, at_most: 9000",
        "path: pauses.first_ns, expect: 1234.5",
        "path: flows.f.fct_ns, expect: 1000, tolerance: 10%",
        "path: lossless_drops, expect: 1",
        "path: nodes.s1.drops.headroom_full, at_least: 1",
        "path: trace_hash, at_least: 0",
        "path: deadlocks, expect: 0",
        "path: pauses.first_ns, same_as: pauses.first_received_ns",
        "path: pauses.xoffs, same_as: engine.events",
    ] {
        assert!(why_not(value).is_some(), "{value}");
    }
}

#[test]
fn counts_of_frames_and_bounds_of_times_are_judged() {
    for value in [
        "path: flows.f.rx_frames, expect: 9",
        "path: flows.f.loss_frames, expect: 0",
        "path: flows.f.payload_bps, at_least: 1",
        "path: lossless_drops, expect: 0",
        "path: pauses.received_xoffs, at_least: 1",
        "path: nodes.s1.ports.to_h1.priorities.0.buffer_peak_bytes, at_most: 9",
        "path: nodes.s1.ports.to_h1.tx_frames, expect: 9",
        "path: flows.f.fct_ns, at_most: 900000",
        "path: flows.f.fct_ns, expect: 500000, tolerance: 50%",
        "path: marks, expect: 0",
        "path: pauses.received_xoffs, same_as: pauses.xoffs",
    ] {
        assert_eq!(why_not(value), None, "{value}");
    }
}
