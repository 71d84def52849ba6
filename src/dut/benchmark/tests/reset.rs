//! Reset (RFC 2544, 26.6; RFC 6201) of a switch whose outage is planned.

use ground::time::Duration;
use tester::report::{Port, Report};
use validate::bench::{Bench, TrialError};
use validate::trial::{ResetKind, Trial};
use validate::virtual_bench::VirtualBench;

use super::{Wrong, example};
use crate::plan::Plan;
use crate::rfc2544::{Tables, Test};
use crate::run::{self, Run};
use crate::table;

/// Time without forwarding of the example's device.
const OUTAGE: Duration = Duration::from_millis(2);

fn measured(plan: &Plan, bench: &mut dyn Bench) -> Run<Tables> {
    let (results, trouble) = run::run::<Tables>(plan, &[Test::Reset], bench, &mut |_| true);
    assert_eq!(trouble, None);
    results
}

fn device() -> (Plan, VirtualBench) {
    let (mut plan, bench) = example("benchmark/rfc2544.yaml");
    plan.sizes = vec![1518];
    plan.reset.longest = OUTAGE.saturating_mul(2);
    (plan, bench.resetting([(ResetKind::Software, OUTAGE)].into()))
}

/// The time of frames lost, and that between two arrivals, are the planned outage within one frame.
#[test]
fn the_time_without_forwarding_is_that_of_the_plan() {
    let (mut plan, mut bench) = device();
    plan.sizes = vec![512, 64];
    let results = measured(&plan, &mut bench);
    let [row] = &results.tables.reset[..] else { panic!("{results:?}") };
    assert_eq!((row.kind, row.size), (ResetKind::Software, 64));
    assert_eq!(row.not_judged, None);
    let planned = OUTAGE.as_secs_f64() * 1e3;
    let near = |ms: Option<f64>| (ms.unwrap() - planned).abs() <= row.uncertainty_ms;
    assert!(near(row.mean_ms) && near(row.stamps_ms), "{row:?}");
    let text = table::rfc2544(&results);
    assert!(text.contains("software") && text.lines().all(|line| line.len() <= 80), "{text}");
}

#[test]
fn a_reset_does_not_apply_to_a_device_that_nothing_resets() {
    let (plan, bench) = device();
    let results = measured(&plan, &mut bench.resetting([].into()));
    assert!(
        results.tables.reset.is_empty() && results.notes[0].contains("reset: does not apply"),
        "{results:?}"
    );
}

#[test]
fn an_outage_until_the_end_has_no_time() {
    let (mut plan, mut bench) = device();
    plan.reset.longest = OUTAGE.div(2);
    let results = measured(&plan, &mut bench);
    let row = &results.tables.reset[0];
    assert!(
        row.mean_ms.is_none() && row.not_judged.as_ref().unwrap().contains("longest"),
        "{row:?}"
    );
    assert!(table::rfc2544(&results).contains("not judged"));
}

/// Returns true for a reset and the forwarding before it, and not for the search before both.
fn is_reset(trial: &Trial) -> bool {
    trial.reset.is_some() || trial.name.contains("burst")
}

#[test]
fn a_reset_that_loses_nothing_or_a_device_that_always_does_is_not_judged() {
    let says = |change: fn(&Trial, &mut Report), part: &str| {
        let (plan, bench) = device();
        let results = measured(&plan, &mut Wrong::counting(bench, change));
        let row = &results.tables.reset[0];
        let why = row.not_judged.as_deref().unwrap();
        assert!(row.mean_ms.is_none() && why.contains(part), "{row:?}");
    };
    let none = |trial: &Trial, report: &mut Report| {
        report.flows.iter_mut().filter(|_| is_reset(trial)).for_each(|f| f.frames_rx = f.frames_tx);
    };
    says(none, "no frame");
    says(
        |trial, report| report.flows[0].frames_rx -= u64::from(is_reset(trial)),
        "before the reset",
    );
}

#[test]
fn a_tester_that_is_too_slow_before_a_reset_measures_nothing() {
    let (plan, bench) = device();
    let mut bench = Wrong::counting(bench, |trial, report| {
        if is_reset(trial) {
            let frames = report.flows[0].frames_tx / 2;
            (report.flows[0].frames_tx, report.flows[0].frames_rx) = (frames, frames);
        }
    });
    let (_, trouble) = run::run::<Tables>(&plan, &[Test::Reset], &mut bench, &mut |_| true);
    assert!(matches!(trouble, Some(TrialError::Disturbed(_))), "{trouble:?}");
}

/// Frames that a port could not send, because the reset took its link down, are a time without forwarding.
#[test]
fn frames_that_a_link_without_signal_did_not_take_are_part_of_the_time() {
    let (plan, bench) = device();
    let mut bench = Wrong::counting(bench, |trial, report| {
        if !is_reset(trial) {
            return;
        }
        let lost = report.flows[2].frames_tx - report.flows[2].frames_rx;
        report.flows[2].frames_tx -= lost;
        report.ports = vec![Port::default(); 3];
    });
    let row = &measured(&plan, &mut bench).tables.reset[0];
    let planned = OUTAGE.as_secs_f64() * 1e3;
    assert!((row.mean_ms.unwrap() - planned).abs() <= 2.0 * row.uncertainty_ms, "{row:?}");
}
