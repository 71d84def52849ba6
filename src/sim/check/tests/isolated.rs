//! Deadlocks where Congestion Isolation moves frames to other classes and groups: the verdict is that of the
//! queues themselves, which either move or do not.

use super::fixture::*;
use crate::check::{Check, Checkers, Finding};
use crate::*;
use ::host::{FlowId, FlowPlan, Headers, Rate};
use congestion::Detect;
use congestion::isolation::{IsolationPlan, MapReading, QueueMap, Watch};
use contracts::frame::Frame;
use ground::rand::Rng;
use ground::time::{Duration, Instant};
use ground::units::*;
use ground::verdict::Verdict;
use pfc::FlowControl;
use schedule::ClassPlan;
use switch::{CongestionIsolationPlan, rig};

/// Microseconds of a run.
const END: u64 = 1_000;

/// A ring of switches, of which some or all isolate, and its hosts.
#[derive(Clone, Debug)]
struct Ring {
    switches: u8,
    /// Cells that a group may have before it pauses.
    limit: u32,
    /// Bytes of a queue above which its flows are isolated.
    threshold: u64,
    /// The class whose flows are isolated, and that in which they are then: 3 and 5 or 5 and 3.
    from: usize,
    /// Priorities 3 and 5 have each other's class.
    swapped: bool,
    /// Priorities 3 and 5 have one group.
    one_group: bool,
    /// The last switch does not isolate.
    partly: bool,
    /// By host: hops, priority and share of the line of each flow.
    flows: Vec<Vec<(u8, u8, u32)>>,
}

impl Ring {
    /// Flows of this many hops from every host, of priority 3.
    fn plain(switches: u8, hops: u8) -> Self {
        Self {
            switches,
            limit: 60,
            threshold: 2_000,
            from: 3,
            swapped: false,
            one_group: false,
            partly: false,
            flows: vec![vec![(hops, 3, 1_000_000)]; switches.into()],
        }
    }

    fn random(rng: &mut Rng) -> Self {
        let switches = 3 + rng.below(2) as u8;
        let mut flow = || {
            let hops = 1 + rng.below(u64::from(switches) - 1) as u8;
            let priority = [3, 3, 5][rng.below(3) as usize];
            (hops, priority, [1_000_000, 600_000, 250_000][rng.below(3) as usize])
        };
        let flows = (0..switches).map(|n| (0..1 + n % 3).map(|_| flow()).collect()).collect();
        Self {
            limit: [60, 300, 1_000][rng.below(3) as usize],
            threshold: [2_000, 10_000, 20_000][rng.below(3) as usize],
            from: [3, 5][rng.below(2) as usize],
            swapped: rng.below(2) == 0,
            one_group: rng.below(4) == 0,
            partly: rng.below(4) == 0,
            flows,
            ..Self::plain(switches, 1)
        }
    }
}

fn isolating(Ring { threshold, from, .. }: &Ring) -> CongestionIsolationPlan {
    let threshold = *threshold;
    let mut map = [0; PRIORITIES];
    (map[*from], map[8 - *from]) = (*from as i8 - 9, *from as i8 + 1);
    let (detect, low) = (Detect::Length(Bytes(threshold)), Bytes(threshold / 4));
    let watch = Watch { detect, low, cim_above: Bytes(threshold) };
    let plan = rig::congestion().isolation.unwrap();
    let map = QueueMap::new(map, MapReading::Partner).unwrap();
    CongestionIsolationPlan { machine: IsolationPlan { watch, map, ..plan.machine }, ..plan }
}

fn plan(of: &Ring) -> NetworkPlan {
    let mut plan = ring(of.switches, 1, u64::MAX);
    let both: PrioritySet = [3, 5].map(|n| Priority::ALL[n]).into_iter().collect();
    for (n, node) in plan.nodes.iter_mut().enumerate() {
        match &mut node.kind {
            NodeKind::Switch(s) => {
                for (port, groups) in s.ports.iter_mut().zip(&mut s.buffer.groups) {
                    port.pfc.mode = FlowControl::Pfc { send: both, obey: both };
                    groups[3].limit = buffer::SharedLimit::Static(Cells(of.limit));
                    groups[5] = groups[3];
                    if of.swapped {
                        port.classify.class.swap(3, 5);
                    }
                    if of.one_group {
                        port.classify.group[5] = port.classify.group[3];
                    }
                    // No queue waits for its turn.
                    port.schedule.classes = [ClassPlan::Dwrr { weight: 1 }; PRIORITIES];
                }
                s.buffer.total = Cells((2 * of.limit + 1_000) * s.ports.len() as u32);
                if !(of.partly && n + 1 == usize::from(of.switches)) {
                    s.congestion.isolation = Some(isolating(of));
                }
            }
            NodeKind::Host(host) => {
                let own = n as u8 - of.switches;
                host.flow_control = FlowControl::Pfc { send: PrioritySet::EMPTY, obey: both };
                let all = of.flows[usize::from(own)].iter().enumerate();
                host.flows = all.map(|(n, flow)| flow_of(own, of.switches, n, *flow)).collect();
                host.expects.clear();
            }
        }
    }
    for (from, flows) in (0..).zip(&of.flows) {
        for (n, (hops, ..)) in flows.iter().enumerate() {
            let to = (from + hops) % of.switches;
            let NodeKind::Host(host) = &mut plan.nodes[usize::from(of.switches + to)].kind else {
                panic!()
            };
            host.expects.push(FlowId(u32::from(from) * 100 + n as u32));
        }
    }
    plan
}

/// Flow `n` of host `from`: hops, priority and share of the line.
fn flow_of(from: u8, hosts: u8, n: usize, (hops, priority, share): (u8, u8, u32)) -> FlowPlan {
    let to = (from + hops) % hosts;
    let mut flow = station(from, &[to], u64::MAX, &[]).flows.remove(0);
    let Headers::Udp4(udp) = &mut flow.headers else { panic!() };
    (udp.dscp, udp.src_port) = (Dscp::new(8 * priority).unwrap(), 5_000 + n as u16);
    flow.id = FlowId(u32::from(from) * 100 + n as u32);
    (flow.priority, flow.rate) = (Priority::ALL[usize::from(priority)], Rate::LineShare(share));
    flow
}

/// The verdict on a run and the times of its deadlocks, beside what the queues themselves say: how many of
/// those between switches stand still, and when the last frame left one of them.
struct Run {
    finding: Finding,
    since: Option<Instant>,
    standing: Vec<(u32, PortId, usize)>,
    last: Instant,
    moves: bool,
}

fn run_of(plan: &NetworkPlan, end: u64) -> Run {
    let mut network = Network::new(plan, (Checkers::new(plan), Tape::default())).unwrap();
    let switches: Vec<u32> = (0..plan.nodes.len() as u32)
        .filter(|n| matches!(plan.nodes[*n as usize].kind, NodeKind::Switch(_)))
        .collect();
    let between = |end: &End| switches.contains(&end.node.0);
    let inner = plan.links.iter().filter(|link| between(&link.a) && between(&link.b));
    let ports: Vec<End> = inner.flat_map(|link| [link.a, link.b]).collect();
    let mut lengths: Vec<Vec<u64>> = vec![];
    // Odd steps, so that no period of pauses is in step with them.
    for now in (end / 2..end).step_by(7) {
        network.run_until(at(now));
        let mut now = vec![];
        for end in &ports {
            let Node::Switch(switch) = network.nodes_mut().get_mut(end.node) else { panic!() };
            now.extend(TrafficClass::ALL.map(|class| switch.queue_bytes(end.port, class)));
        }
        lengths.push(now);
    }
    network.run_until(at(end));
    let ((checkers, Tape(events)), mut nodes) = network.finish();
    let stands = |n: &usize| lengths.iter().all(|all| all[*n] == lengths[0][*n] && all[*n] > 0);
    let place = |n: usize| (ports[n / 8].node.0, ports[n / 8].port, n % 8);
    let standing: Vec<_> = (0..8 * ports.len()).filter(stands).map(place).collect();
    let data = |event: &Event| match event {
        Event::Sent(time, direction, frame, _) if frame.wire_len() > 500 => {
            let link = &plan.links[direction.link().index()];
            Some((*time, link.from(*direction)))
        }
        _ => None,
    };
    let sent: Vec<(Instant, End)> = events.iter().filter_map(data).collect();
    let is_stuck =
        |end: &End| standing.iter().any(|(n, port, _)| (*n, *port) == (end.node.0, end.port));
    let last = sent.iter().filter(|(_, end)| is_stuck(end)).map(|(time, _)| *time).max();
    let since = checkers.deadlocks().first().map(|deadlock| deadlock.since);
    let finding = of(&checkers.finish(at(end), &mut nodes), Check::Deadlock).clone();
    let moves = sent.last().is_some_and(|(time, _)| *time + Duration::from_micros(5) > at(end));
    Run { finding, since, standing, last: last.unwrap_or(Instant::ZERO), moves }
}

#[test]
fn the_verdict_is_that_of_the_queues_that_stand_still_or_move() {
    let mut verdicts = [0, 0];
    let (mut hidden, mut isolated) = (0, 0);
    for seed in 0..80 {
        let ring = Ring::random(&mut Rng::new(seed));
        let run = run_of(&plan(&ring), END);
        let Run { finding, since, standing, last, .. } = &run;
        let expected = if standing.is_empty() { Verdict::Pass } else { Verdict::Fail };
        assert_eq!(finding.verdict, expected, "{seed} {ring:?}: {standing:?} {finding:?}");
        if let Some(since) = since {
            // Later frames of the port may be of other classes.
            assert!(*since + Duration::from_micros(20) > *last || run.moves, "{seed}: {since:?}");
        }
        let is_isolated = standing.iter().any(|(_, _, class)| *class != ring.from);
        verdicts[usize::from(standing.is_empty())] += 1;
        isolated += u64::from(is_isolated);
        hidden += u64::from(run.moves && !standing.is_empty());
    }
    // Some of each, or the test shows nothing.
    assert!(verdicts.iter().all(|n| *n >= 10), "{verdicts:?}");
    assert!(hidden >= 3 && isolated >= 10, "{hidden} {isolated}");
}

/// Whenever the run ends, a network that moves is judged.
#[test]
fn a_network_with_isolated_frames_that_moves_passes_at_any_time() {
    // Two hosts send to the one of the last switch.
    let incast = vec![vec![(2, 3, 1_000_000)], vec![(1, 3, 1_000_000)], vec![]];
    for threshold in [2_000, 20_000] {
        for limit in [60, 600] {
            let ring = Ring { limit, threshold, flows: incast.clone(), ..Ring::plain(3, 1) };
            for end in (100..400).step_by(13) {
                let run = run_of(&plan(&ring), end);
                assert!(run.moves && run.standing.is_empty());
                assert_eq!(run.finding.verdict, Verdict::Pass, "{end} {ring:?}: {:?}", run.finding);
            }
        }
    }
}

/// Four switches in a ring, of which the last sends isolated frames on to the first, and the first to the second.
fn line_of_waits() -> Ring {
    let flows = vec![vec![(1, 3, 1_000_000)], vec![], vec![], vec![(2, 3, 1_000_000)]];
    Ring { limit: 600, flows, ..Ring::plain(4, 1) }
}

/// What fills the groups that the queues wait for does not matter: nothing moves, and nothing excuses that.
#[test]
fn a_network_that_stands_still_with_isolated_frames_fails_without_a_circle() {
    let mut plan = plan(&line_of_waits());
    super::still::pauses_for_ever(&mut plan, 1);
    let run = run_of(&plan, END);
    assert!(
        !run.moves && run.standing.iter().any(|(_, _, class)| *class == 5),
        "{:?}",
        run.standing
    );
    assert_eq!((run.finding.verdict, run.since), (Verdict::Fail, None), "{:?}", run.finding);
    assert!(run.finding.detail.contains("no circle of queues was found"), "{:?}", run.finding);
}

#[test]
fn a_network_with_isolated_frames_that_a_host_holds_up_is_not_judged() {
    let mut plan = plan(&line_of_waits());
    let NodeKind::Host(host) = &mut plan.nodes[4 + 1].kind else { panic!() };
    host.pauses.push(storm(u16::MAX, 20, 100, 20));
    let run = run_of(&plan, END);
    assert!(!run.moves && !run.standing.is_empty(), "{:?}", run.standing);
    assert_eq!((run.finding.verdict, run.since), (Verdict::NotJudged, None), "{:?}", run.finding);
    assert!(run.finding.detail.contains("pauses them"), "{:?}", run.finding);
}
