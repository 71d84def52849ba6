//! Samples: none of an empty network, all of one that holds a frame, at the same times either way.

use super::fixture::*;
use crate::check::*;
use crate::*;
use ground::time::{Duration, Instant};
use ground::verdict::Verdict;

/// The times of samples.
#[derive(Default)]
struct Times(Vec<Instant>);

impl Witness for Times {
    fn sampled(&mut self, at: Instant, _: &mut Nodes) {
        self.0.push(at);
    }
}

fn seconds(s: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(s)
}

#[test]
fn a_day_without_frames_costs_no_samples_and_changes_no_finding() {
    let plan = incast(4, 500);
    let run = |until: Instant| {
        let mut network = Network::new(&plan, Checkers::new(&plan)).unwrap();
        network.run_until(until);
        let (events, hash) = (network.tally().events, network.trace_hash());
        let (checkers, mut nodes) = network.finish();
        let findings = checkers.finish(until, &mut nodes);
        all_good(&findings);
        (events, hash)
    };
    let (second, day) = (run(seconds(1)), run(seconds(86_400)));
    assert_eq!(second.1, day.1);
    // A switch's own housekeeping, such as ageing, takes place every few seconds. A sample each
    // 5 us would be 17 thousand million.
    assert!(day.0 - second.0 < 500_000, "{second:?}, {day:?}");
    assert!(second.0 < 100_000, "{second:?}");
}

#[test]
fn a_deadlock_after_an_hour_of_rest_is_found_as_soon_as_one_at_the_start() {
    let found = |rest: Duration| {
        let mut plan = ring(3, 2, 2_000);
        for node in &mut plan.nodes {
            let NodeKind::Host(host) = &mut node.kind else { continue };
            host.flows.iter_mut().for_each(|flow| flow.start += rest);
        }
        let end = at(1_000) + rest;
        let mut network = Network::new(&plan, Checkers::new(&plan)).unwrap();
        network.run_until(end);
        let (checkers, mut nodes) = network.finish();
        let [deadlock] = checkers.deadlocks() else { panic!("{:?}", checkers.deadlocks()) };
        let start = Instant::ZERO + rest;
        let times = (deadlock.since.since(start), deadlock.at.since(start));
        let name = deadlock.name.clone();
        assert_eq!(deadlock.ended, None);
        let findings = checkers.finish(end, &mut nodes);
        assert_eq!(of(&findings, Check::Deadlock).verdict, Verdict::Fail, "{findings:#?}");
        (times, name)
    };
    assert_eq!(found(Duration::ZERO), found(Duration::from_secs(3_600)));
}

#[test]
fn a_held_frame_keeps_every_sample_and_an_empty_network_only_those_after_events() {
    let mut plan = incast(1, 10);
    host(&mut plan, 1).pauses.push(storm(60_000, 0, 100, 1));
    let mut network = Network::new(&plan, Times::default()).unwrap();
    network.run_until(seconds(1));
    let (Times(times), _) = network.finish();
    // 60,000 quanta at 100 Gb/s are 307 us.
    let held: Vec<_> = (0..=60).map(|n| at(5 * n)).collect();
    assert_eq!(times[..61], held);
    assert!(times.iter().all(|at| at.as_picos() % 5_000_000 == 0), "{times:?}");
    assert!(times.len() < 100, "{} samples", times.len());
}
