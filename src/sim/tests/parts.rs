//! A network in parts: the same trace and the same observations.

use std::thread;

use super::*;
use crate::check::{Check, Checkers, Finding};
use crate::defect::{Defect, Forwarding};
use ground::rand::Rng;
use ground::verdict::Verdict;

/// Runs every part on a thread of its own.
struct Threads;

impl<T: Task + Send> Executor<T> for Threads {
    fn run(&mut self, tasks: &mut Vec<T>) {
        thread::scope(|scope| {
            for task in tasks {
                scope.spawn(move || task.run());
            }
        });
    }
}

/// Random parts of `nodes` nodes.
fn random(rng: &mut Rng, nodes: usize) -> Partition {
    let parts = 2 + rng.next_u64() % 6;
    Partition::of_parts(&(0..nodes).map(|_| (rng.next_u64() % parts) as u32).collect::<Vec<_>>())
}

/// All that a run shows.
#[derive(PartialEq, Debug)]
struct Result {
    trace_hash: u64,
    tally: Tally,
    now: Instant,
    findings: Vec<Finding>,
}

/// Runs a network to its end, in these parts if there are any.
fn run_in(
    plan: &NetworkPlan,
    parts: Option<Partition>,
    change: impl Fn(&mut Network<Checkers>),
    executor: &mut impl Executor<Job<Checkers>>,
) -> Result {
    let mut network = Network::new(plan, Checkers::new(plan)).unwrap();
    if let Some(parts) = parts {
        let wanted = parts.parts();
        assert!(network.divide(parts) || wanted == 1);
        assert_eq!(network.parts(), wanted);
    }
    change(&mut network);
    for step in 1..=400 {
        network.run_until_on(Instant::ZERO + Duration::from_micros(5 * step), executor);
        if network.is_quiet() {
            break;
        }
    }
    let (trace_hash, tally, now) = (network.trace_hash(), network.tally(), network.now());
    let (checkers, mut nodes) = network.finish();
    Result { trace_hash, tally, now, findings: checkers.finish(now, &mut nodes) }
}

fn sampled(mut plan: NetworkPlan) -> NetworkPlan {
    plan.sample_every = Some(Duration::from_micros(1));
    plan
}

#[test]
fn parts_chosen_at_random_change_nothing() {
    let seed = 18;
    println!("seed {seed}");
    let mut rng = Rng::new(seed);
    for _ in 0..24 {
        let (hosts, frames) = (1 + rng.next_u64() % 9, 1 + rng.next_u64() % 120);
        let plan = sampled(incast(hosts as u8, frames));
        let whole = run_in(&plan, None, |_| (), &mut InTurn);
        let parts = random(&mut rng, plan.nodes.len());
        let found = run_in(&plan, Some(parts.clone()), |_| (), &mut InTurn);
        assert_eq!(found, whole, "{parts:?}");
        let found = run_in(&plan, Some(parts.clone()), |_| (), &mut Threads);
        assert_eq!(found, whole, "{parts:?} on threads");
    }
}

#[test]
fn stalls_that_overlap_end_with_the_last() {
    let us = Duration::from_micros;
    let trace = |stalls: &[(u64, u64)]| {
        let stall = |&(at, span): &(u64, u64)| Fault {
            at: Instant::ZERO + us(at),
            kind: FaultKind::Stall { node: NodeId(0), span: us(span) },
        };
        let faults = stalls.iter().map(stall).collect();
        run(&NetworkPlan { faults, ..incast(4, 400) }).trace_hash()
    };
    let alone = trace(&[(20, 30)]);
    assert_ne!(trace(&[]), alone);
    assert_ne!(trace(&[(20, 35)]), alone);
    assert_eq!(trace(&[(20, 30), (25, 5)]), alone);
    assert_eq!(trace(&[(25, 5), (20, 30)]), alone);
    assert_eq!(trace(&[(20, 10), (25, 25)]), alone);
}

#[test]
fn faults_in_a_network_of_parts_are_those_of_the_whole() {
    let mut plan = incast(4, 400);
    let at = |us| Instant::ZERO + Duration::from_micros(us);
    let link = |us, up| Fault { at: at(us), kind: FaultKind::Link { link: LinkId(1), up } };
    let stall = FaultKind::Stall { node: NodeId(0), span: Duration::from_micros(3) };
    let lose = LineFault::Lose { which: Which::Any, frames: 7 };
    plan.faults = vec![
        link(10, false),
        link(14, true),
        Fault { at: at(20), kind: stall },
        Fault { at: at(25), kind: FaultKind::Line(LinkId(2).ba(), lose) },
    ];
    plan.links[0].ba.errors = ErrorPlan { bit: 0, frame: u64::MAX / 50 };
    let run = |parts: Option<Partition>| {
        let mut network = Network::new(&plan, ()).unwrap();
        assert!(parts.is_none_or(|parts| network.divide(parts)));
        for step in 1..200 {
            network.run_until_on(at(step), &mut Threads);
        }
        assert!(network.is_quiet());
        (network.trace_hash(), network.tally())
    };
    let whole = run(None);
    assert!(whole.1.lost > 0);
    let mut rng = Rng::new(5);
    for _ in 0..8 {
        let parts = random(&mut rng, plan.nodes.len());
        if parts.parts() > 1 {
            assert_eq!(run(Some(parts.clone())), whole, "{parts:?}");
        }
    }
}

#[test]
fn a_run_goes_on_as_one_part_after_it_was_several() {
    let plan = incast(5, 200);
    let half = Instant::ZERO + Duration::from_micros(20);
    let end = Instant::ZERO + Duration::from_micros(200);
    let mut whole = Network::new(&plan, Checkers::new(&plan)).unwrap();
    let mut network = Network::new(&plan, Checkers::new(&plan)).unwrap();
    assert!(network.divide(Partition::of_parts(&[0, 1, 2, 0, 1, 2, 1])));
    network.run_until(half);
    assert!(network.rounds().0 > 10);
    network.unite();
    assert_eq!((network.parts(), network.rounds()), (1, (0, 0)));
    network.run_until(end);
    whole.run_until(end);
    assert_eq!(network.trace_hash(), whole.trace_hash());
    assert_eq!(network.tally(), whole.tally());
    let of = |network: Network<Checkers>| {
        let (checkers, mut nodes) = network.finish();
        checkers.finish(end, &mut nodes)
    };
    assert_eq!(of(network), of(whole));
}

#[test]
fn rounds_with_little_to_do_are_run_by_the_caller() {
    // Three frames: no round has many events.
    let mut network = Network::new(&incast(1, 3), ()).unwrap();
    assert!(network.divide(Partition::of_parts(&[0, 1, 1])));
    network.run_until(Instant::ZERO + Duration::from_micros(50));
    let (rounds, given) = network.rounds();
    assert!(rounds > 0 && given == 0, "{given} of {rounds} rounds");
    let mut network = Network::new(&incast(30, 50), ()).unwrap();
    let hosts: Vec<u32> = (0..32).map(|n| u32::from(n > 0)).collect();
    assert!(network.divide(Partition::of_parts(&hosts)));
    network.run_until(Instant::ZERO + Duration::from_micros(50));
    let (rounds, given) = network.rounds();
    assert!(given > 0 && given < rounds, "{given} of {rounds} rounds");
}

#[test]
fn an_observer_that_has_to_see_everything_keeps_the_network_whole() {
    let plan = incast(3, 10);
    let parts = || Partition::of_parts(&[0, 1, 1, 1, 1]);
    let mut network = Network::new(&plan, Seen::default()).unwrap();
    assert!(!network.divide(parts()), "its calls are in the order of time");
    let mut checkers = Checkers::new(&plan);
    checkers.keep_order();
    assert!(checkers.needs_whole().is_some());
    let mut network = Network::new(&plan, checkers).unwrap();
    assert!(!network.divide(parts()) && network.parts() == 1);
    let mut network = Network::new(&plan, ()).unwrap();
    assert!(!network.divide(Partition::of_parts(&[0; 5])), "that is one part");
    assert!(!network.divide(Partition::of_parts(&[0, 1])), "that is another network");
    assert!(network.divide(parts()) && !network.divide(parts()), "it is divided");
}

#[test]
fn frames_that_a_port_loses_or_doubles_are_found_in_parts() {
    let plan = sampled(incast(4, 200));
    let port = ground::units::PortId::new(4).unwrap();
    for what in [Forwarding::LosesData { every: 50 }, Forwarding::DuplicatesData { every: 50 }] {
        let plant = |network: &mut Network<Checkers>| {
            network.add_defect(End { node: NodeId(0), port }, Defect::Forwarding(what));
        };
        let whole = run_in(&plan, None, plant, &mut InTurn);
        let finding = whole.findings.iter().find(|finding| finding.check == Check::Frames).unwrap();
        assert_eq!(finding.verdict, Verdict::Fail, "{finding:?}");
        for parts in [[0, 1, 1, 1, 1, 1], [0, 1, 0, 2, 0, 1], [2, 0, 1, 0, 1, 0]] {
            let parts = Partition::of_parts(&parts);
            let found = run_in(&plan, Some(parts.clone()), plant, &mut Threads);
            assert_eq!(found, whole, "{parts:?}");
        }
    }
}

#[test]
#[should_panic(expected = "a frame arrives in the past")]
fn a_round_longer_than_the_lines_between_parts_is_noticed() {
    let mut network = Network::new(&incast(4, 300), ()).unwrap();
    assert!(network.divide(Partition::of_parts(&[0, 1, 1, 1, 1, 1])));
    network.widen_rounds();
    network.run_until(Instant::ZERO + Duration::from_millis(1));
}
