//! Labs that are idle most of the time.

use super::super::*;
use super::star::incast;
use super::{all_checks, run_it};
use ground::time::Duration;

#[test]
fn an_idle_day_costs_no_events_and_changes_no_result() {
    let of = |seconds| {
        let mut plan = incast(2, 1_000);
        (plan.until_done, plan.duration) = (false, Duration::from_secs(seconds));
        plan.measure_to = Some(Duration::from_millis(1));
        plan.checks = all_checks();
        run_it(&plan)
    };
    let (second, day) = (of(1), of(86_400));
    assert!(day.engine.events - second.engine.events < 500_000, "{}", day.engine.events);
    assert_eq!(second.flows, day.flows);
    assert_eq!(second.trace_hash, day.trace_hash);
    let verdicts = |outcome: &Outcome| -> Vec<_> {
        outcome.checks.iter().map(|check| (check.name.clone(), check.verdict)).collect()
    };
    assert_eq!(verdicts(&second), verdicts(&day));
}
