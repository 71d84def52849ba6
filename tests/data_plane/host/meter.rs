//! A generator's measurements of pauses: two stations on one cable, in exact time.

use sluice::host::plan::stream::MeterPlan;
use sluice::host::{
    Demand, FlowId, FlowPlan, Headers, PausePlan, PauseTimes, PlanError, Rate, StationPlan,
    StationSnapshot, Tag,
};
use sluice::pfc::FlowControl;
use sluice::schedule::LinePlan;
use sluice::sim::{
    DirectionPlan, End, LinkPlan, Network, NetworkPlan, Node, NodeId, NodeKind, NodePlan,
};
use sluice::time::{Duration, Instant, Total};
use sluice::units::*;
use sluice::wire::{mac_control, pfc};

const RATE: BitsPerSec = BitsPerSec::gbps(100);
const P3: Priority = Priority::ALL[3];
const A: Mac = Mac([2, 0, 0, 0, 0, 1]);
const B: Mac = Mac([2, 0, 0, 0, 0, 2]);
/// A frame of 1,048 bytes, including preamble and gap, at 80 ps a byte.
const FRAME: u64 = 1_068 * 80;
/// From the first bit of such a frame, or of a pause, to its last at the other end of the cable.
const FRAME_THERE: u64 = 1_056 * 80 + 500_000;
const PAUSE_THERE: u64 = 72 * 80 + 500_000;

fn ps(ps: u64) -> Duration {
    Duration::from_picos(ps)
}

fn at(ns: u64) -> Instant {
    Instant::from_picos((ns * 1_000).into())
}

fn station(mac: Mac) -> StationPlan {
    StationPlan {
        flow_control: FlowControl::Pfc { send: PrioritySet::EMPTY, obey: PrioritySet::of(P3) },
        ..StationPlan::new(mac.to_string(), mac, RATE)
    }
}

/// A sends to B at line rate in priority 3 with frames of 1,048 bytes; both have meters.
fn pair() -> [StationPlan; 2] {
    let [mut a, mut b] = [A, B].map(station);
    a.flows.push(FlowPlan {
        id: FlowId(7),
        src: A,
        dst: Mac([2, 0, 0, 0, 0, 99]), // No station has this address.
        tag: Some(Tag { vid: None, pcp: Pcp::new(3).unwrap() }),
        priority: P3,
        headers: Headers::Ethernet,
        size: 1_048,
        rate: Rate::LineShare(1_000_000),
        start: Instant::ZERO,
        stop: Instant::NEVER,
        frames: None,
    });
    a.tester.meter = Some(MeterPlan::default());
    b.expects.push(FlowId(7));
    b.tester.meter = Some(MeterPlan { streams: vec![(FlowId(7), P3)], ..MeterPlan::default() });
    [a, b]
}

fn pauses(quanta: u16, start: u64, every: u64, frames: u64) -> PausePlan {
    PausePlan {
        ask: Demand::pfc(PrioritySet::of(P3), Quanta(quanta)),
        start: at(start),
        every: Duration::from_nanos(every),
        frames,
    }
}

fn network(plans: &[StationPlan; 2]) -> Network {
    let direction = DirectionPlan { delay: Duration::from_nanos(500), ..Default::default() };
    let end = |n| End { node: NodeId(n), port: PortId::MIN };
    let link = LinkPlan {
        name: "cable".into(),
        a: end(0),
        b: end(1),
        rate: RATE,
        line: LinePlan::ETHERNET,
        ab: direction,
        ba: direction,
    };
    let plan = NetworkPlan {
        nodes: plans.iter().map(|p| NodePlan::new(NodeKind::Host(p.clone()))).collect(),
        links: vec![link],
        faults: vec![],
        seed: 1,
        shuffle: None,
        sample_every: None,
    };
    Network::new(&plan, ()).unwrap()
}

fn snapshot(network: &mut Network, n: u32, now: Instant) -> StationSnapshot {
    match network.nodes_mut().get_mut(NodeId(n)) {
        Node::Host(host) => host.snapshot(now),
        Node::Switch(_) => unreachable!("both are hosts"),
    }
}

/// A's measurement of received pauses, and B's of sent ones, at `end`.
fn measure(plans: &[StationPlan; 2], end: Instant) -> (PauseTimes, PauseTimes) {
    let mut network = network(plans);
    network.run_until(end);
    let [a, b] = [0, 1].map(|n| snapshot(&mut network, n, end).meter.unwrap());
    assert_eq!((a.sent, b.received), Default::default());
    (a.received[3], b.sent[3])
}

#[test]
fn a_storm_is_measured_at_both_ends() {
    let [a, mut b] = pair();
    // 1,000 quanta are 5.12 us, so that the storm lasts until 18 + 5.12 us.
    b.pauses.push(pauses(1_000, 10_000, 4_000, 3));
    let (got, sent) = measure(&[a, b], at(40_000));
    for (times, delay) in [(sent, 0), (got, PAUSE_THERE)] {
        assert_eq!((times.pauses, times.resumes, times.runs), (3, 0, 1));
        assert_eq!(times.requested, Duration::from_nanos(13_120));
        assert_eq!(times.gap_max, Some(Duration::from_nanos(4_000)));
        assert_eq!(times.window, Some(Duration::from_nanos(5_120)));
        assert_eq!((times.continuous(), times.uncovered), (Some(true), Total::ZERO));
        assert_eq!(times.last, Some(at(18_000) + ps(delay)));
    }
    // A reads the pause on arrival; until then frames have started every 85.44 ns, the last at 122
    // times that. None is handed over afterwards, and the next when the pause ends.
    assert_eq!((got.last_frame, got.first_frame), (Some(ps(0)), Some(ps(0))));
    assert_eq!((10_000_000 + PAUSE_THERE) / FRAME, 122);
    assert_eq!(sent.last_frame, Some(ps(122 * FRAME + FRAME_THERE - 10_000_000)));
    assert_eq!(sent.first_frame, Some(ps(PAUSE_THERE + FRAME_THERE)));
}

#[test]
fn a_resume_ends_what_was_asked_and_its_effect_is_timed() {
    let [a, mut b] = pair();
    b.pauses.extend([pauses(65_535, 10_000, 1, 1), pauses(0, 12_000, 1, 1)]);
    let (got, sent) = measure(&[a, b], at(40_000));
    for times in [got, sent] {
        assert_eq!((times.pauses, times.resumes), (1, 1));
        assert_eq!(times.requested, Duration::from_nanos(2_000));
        assert_eq!((times.gap_max, times.continuous()), (None, None));
    }
    assert_eq!(sent.first_frame, Some(ps(PAUSE_THERE + FRAME_THERE)));
}

#[test]
fn whoever_obeys_nothing_is_found_out_at_both_ends() {
    let [mut a, mut b] = pair();
    a.flow_control = FlowControl::Off;
    b.pauses.push(pauses(1_000, 10_000, 4_000, 3));
    let (got, sent) = measure(&[a, b], at(40_000));
    // The last frame that starts before the pause ends at A, and that arrives before it does at B.
    let arrival = 10_000_000 + PAUSE_THERE;
    let last = (23_120_000 + PAUSE_THERE - 1) / FRAME * FRAME;
    assert_eq!(got.last_frame, Some(ps(last - arrival)));
    let last = (23_120_000 - FRAME_THERE - 1) / FRAME * FRAME + FRAME_THERE;
    assert_eq!(sent.last_frame, Some(ps(last - 10_000_000)));
    assert!(sent.first_frame.unwrap() <= ps(FRAME));
}

#[test]
fn a_delayed_pause_lets_frames_go_for_exactly_so_long() {
    let [mut a, mut b] = pair();
    // 100 quanta are 512 ns.
    a.tester.pause_delay = Quanta(100);
    b.pauses.push(pauses(1_000, 10_000, 4_000, 3));
    let plans = [a, b];
    let (got, sent) = measure(&plans, at(40_000));
    let arrival = 10_000_000 + PAUSE_THERE;
    let last = (arrival + 512_000 - 1) / FRAME * FRAME;
    assert_eq!(got.last_frame, Some(ps(last - arrival)));
    assert_eq!(sent.last_frame, Some(ps(last + FRAME_THERE - 10_000_000)));
    // It ends at the same time as without the delay.
    assert_eq!(
        (got.requested, got.first_frame),
        (Duration::from_nanos(13_120).into(), Some(ps(0)))
    );
    assert_eq!(sent.first_frame, Some(ps(PAUSE_THERE + FRAME_THERE)));
    let mut network = network(&plans);
    network.run_until(at(40_000));
    let counters = snapshot(&mut network, 0, at(40_000)).counters.priorities[3];
    assert_eq!(counters.paused, Duration::from_nanos(13_120 - 512));
    assert_eq!(counters.transitions, 1);
}

#[test]
fn a_storm_with_holes_is_not_continuous() {
    let [a, mut b] = pair();
    b.pauses.push(pauses(1_000, 10_000, 6_000, 4));
    let (got, sent) = measure(&[a, b], at(60_000));
    for times in [got, sent] {
        assert_eq!((times.runs, times.lapses, times.continuous()), (4, 3, Some(false)));
        assert_eq!(times.uncovered, Duration::from_nanos(3 * 880));
        assert_eq!(times.gap_max, Some(Duration::from_nanos(6_000)));
    }
}

#[test]
fn streams_are_stamped_and_begin_anew_when_cleared() {
    let plans = pair();
    let mut network = network(&plans);
    network.run_until(at(10_000));
    let sink = |network: &mut Network, now| snapshot(network, 1, now).sinks[0].clone();
    let before = sink(&mut network, at(10_000));
    assert_eq!(before.first_arrival, Some(Instant::from_picos(FRAME_THERE.into())));
    let frames = (10_000_000 - FRAME_THERE) / FRAME + 1;
    assert_eq!(before.frames, frames);
    let last = Instant::from_picos(((frames - 1) * FRAME + FRAME_THERE).into());
    assert_eq!((before.last_arrival, before.latency.mean()), (Some(last), ps(FRAME_THERE)));
    match network.nodes_mut().get_mut(NodeId(1)) {
        Node::Host(host) => host.clear_streams(&[FlowId(7), FlowId(8)]),
        Node::Switch(_) => unreachable!("both are hosts"),
    }
    let cleared = sink(&mut network, at(10_000));
    assert_eq!((cleared.frames, cleared.bytes, cleared.latency.count()), (0, 0, 0));
    assert_eq!((cleared.first_arrival, cleared.last_arrival), (None, None));
    network.run_until(at(20_000));
    let after = sink(&mut network, at(20_000));
    assert_eq!(after.first_arrival, Some(last + ps(FRAME)));
    assert_eq!(after.frames + frames, (20_000_000 - FRAME_THERE) / FRAME + 1);
    assert_eq!((after.duplicates, after.reordered, after.old), (0, 0, 0));
    assert_eq!(after.latency.count(), after.frames);
}

#[test]
fn control_streams_are_known_by_their_octets() {
    let [mut a, mut b] = pair();
    b.pauses.extend([pauses(7, 1_000, 100, 5), pauses(8, 1_050, 100, 3)]);
    let octets = |quanta| {
        let mut repr = pfc::Repr::new(B);
        repr.set(P3, Quanta(quanta));
        let mut octets = vec![0; mac_control::FRAME_LEN];
        mac_control::Repr::Pfc(repr).emit(&mut octets).unwrap();
        octets
    };
    a.tester.meter =
        Some(MeterPlan { control: vec![(FlowId(1), octets(8))], ..MeterPlan::default() });
    let mut network = network(&[a, b]);
    network.run_until(at(9_000));
    let snapshot = snapshot(&mut network, 0, at(9_000));
    let control = *snapshot.meter.unwrap().control(FlowId(1)).unwrap();
    assert_eq!((control.frames, control.bytes), (3, 3 * 64));
    let stamps = control.last_arrival.unwrap().since(control.first_arrival.unwrap());
    assert_eq!(stamps, Duration::from_nanos(200));
    assert_eq!(snapshot.counters.priorities[3].received, 8);
}

#[test]
fn meters_that_cannot_measure_are_refused() {
    let [_, mut b] = pair();
    b.expects.clear();
    assert_eq!(b.check(), Err(PlanError::NotExpected(7)));
    let [mut a, _] = pair();
    a.tester.meter = Some(MeterPlan { control: vec![(FlowId(9), vec![])], ..MeterPlan::default() });
    assert_eq!(a.check(), Err(PlanError::ControlOctets(9)));
}
