//! Burst hunt and queue tests (RFC 7640) of a switch whose thresholds are known.

use ground::units::{Priority, PrioritySet};
use validate::bench::{Bench, TrialError};

use super::{Wrong, example};
use crate::plan::Plan;
use crate::rfc7640::{Tables, Test};
use crate::run::{self, Run};
use crate::table;

/// Bytes that the group of a lossless priority at a port holds before it pauses, in frames of 1,024 bytes.
const XOFF: f64 = 509.0 / 5.0 * 1024.0;

fn measured(plan: &Plan, bench: &mut dyn Bench, test: Test) -> Run<Tables> {
    let (results, trouble) = run::run::<Tables>(plan, &[test], bench, &mut |_| true);
    assert_eq!(trouble, None);
    let text = table::rfc7640(&results);
    assert!(text.lines().all(|line| line.len() <= 80), "{text}");
    results
}

fn of(plan: Plan, priorities: &[u8]) -> Plan {
    let mut plan = plan;
    let named = |set: PrioritySet| {
        set.iter().filter(|p| priorities.contains(&p.get())).collect::<PrioritySet>()
    };
    (plan.setup.lossless, plan.setup.lossy) = (named(plan.setup.lossless), named(plan.setup.lossy));
    plan
}

/// Two ports send, and half of each burst leaves meanwhile: a group holds a quarter of both.
#[test]
fn the_burst_of_a_lossless_queue_is_that_of_its_threshold() {
    let (plan, mut bench) = example("benchmark/rfc7640.yaml");
    let plan = of(plan, &[3]);
    let results = measured(&plan, &mut bench, Test::BurstHunt);
    let [row] = results.tables.burst_hunt[..] else { panic!("{results:?}") };
    assert_eq!((row.priority, row.at_limit), (Priority::ALL[3], false));
    assert!((row.bytes as f64 - 4.0 * XOFF).abs() <= 4.0 * 2.0 * 1024.0, "{row:?}");
    assert!(row.pdv_p99_ns > Some(0.0) && row.latency.is_some(), "{row:?}");
    // A pause, and no loss, ends it.
    assert_eq!(row.lost_above, Some(0));
}

/// The hunt finds the same from a target that is accepted as from one that is not.
#[test]
fn the_target_does_not_change_the_burst() {
    let (plan, mut bench) = example("benchmark/rfc7640.yaml");
    let mut plan = of(plan, &[0]);
    let mut found = |target: u64| {
        plan.burst_target = target;
        let results = measured(&plan, &mut bench, Test::BurstHunt);
        (results.tables.burst_hunt[0].bytes, results.tables.burst_hunt[0].target_accepted)
    };
    let (low, high) = (found(10_000), found(2_000_000));
    assert_eq!((low.0, low.1, high.1), (high.0, true, false));
    assert!(low.0 > 10_000 && low.0 < 2_000_000, "{low:?}");
}

/// Together the queues share the pool, and the line of the senders.
#[test]
fn all_queues_at_once_accept_less_each() {
    let (plan, mut bench) = example("benchmark/rfc7640.yaml");
    let plan = of(plan, &[0, 1]);
    let alone = measured(&plan, &mut bench, Test::BurstHunt).tables.burst_hunt;
    let all = measured(&plan, &mut bench, Test::Queues).tables.queues;
    assert_eq!((alone.len(), all.len()), (2, 2));
    assert!(all.iter().zip(&alone).all(|(all, alone)| all.bytes < alone.bytes), "{all:?}");
    // At least one of them loses frames of a longer burst.
    assert!(all.iter().any(|row| row.lost_above > Some(0)), "{all:?}");
}

#[test]
fn a_device_that_nothing_congests_and_a_limit_are_told() {
    let (plan, mut bench) = example("benchmark/rfc7640.yaml");
    let mut two = plan.clone();
    two.setup.ports.truncate(2);
    let results = measured(&two, &mut bench, Test::BurstHunt);
    assert!(
        results.tables.burst_hunt.is_empty() && results.notes[0].contains("does not apply"),
        "{results:?}"
    );
    let mut short = of(plan, &[0]);
    short.trial = short.trial.div(1000);
    let results = measured(&short, &mut bench, Test::BurstHunt);
    assert!(
        results.tables.burst_hunt[0].at_limit && results.tables.burst_hunt[0].lost_above.is_none()
    );
    assert!(table::rfc7640(&results).contains("all that were tried"));
}

/// A bench that loses all frames, or sends too few.
#[test]
fn a_dead_device_accepts_nothing_and_a_slow_tester_is_not_judged() {
    let (plan, bench) = example("benchmark/rfc7640.yaml");
    let plan = of(plan, &[0]);
    let mut dead = Wrong::counting(bench, |_, report| {
        report.flows.iter_mut().for_each(|flow| flow.frames_rx = 0);
    });
    let row = measured(&plan, &mut dead, Test::BurstHunt).tables.burst_hunt[0];
    assert!(row.bytes == 0 && row.latency.is_none() && row.lost_above > Some(0), "{row:?}");
    let mut slow = Wrong::counting(dead.device, |_, report| {
        let flow = &mut report.flows[0];
        (flow.frames_tx, flow.frames_rx) = (flow.frames_tx - 1, flow.frames_rx - 1);
    });
    let (_, trouble) = run::run::<Tables>(&plan, &[Test::BurstHunt], &mut slow, &mut |_| true);
    assert!(matches!(trouble, Some(TrialError::Disturbed(_))), "{trouble:?}");
}
