//! Numbers of several runs: each is known by its table, its row and its column.

use ground::time::Duration;
use ground::verdict::Verdict;
use serde_json::{Value, json};
use validate::bench::Bench;

use super::example;
use crate::baseline::{Comparison, Runs, Trend};
use crate::plan::{Plan, Repeated, Soak};
use crate::summary::metrics;
use crate::{lossless, rfc2544, rfc2889, rfc7640, rfc8239, run, search, soak};

/// Runs a procedure, as short as it can be, on a device of four ports.
fn results<R: serde::Serialize>(
    run: impl Fn(&Plan, &mut dyn Bench, &mut dyn FnMut(&str) -> bool) -> R,
) -> Value {
    let (mut plan, mut bench) = example("benchmark/lossless.yaml");
    plan.sizes = vec![512, 1024];
    plan.trial = plan.trial.min(Duration::from_micros(200));
    let once = |of: Repeated| Repeated { duration: of.duration.min(plan.trial), repeats: 1 };
    (plan.latency, plan.back_to_back) = (once(plan.latency), once(plan.back_to_back));
    plan.recovery = once(plan.recovery);
    let interval = plan.trial;
    plan.soak = Soak { load: 0.5, duration: interval.saturating_mul(3), interval };
    run::to_json(&run(&plan, &mut bench, &mut |_| true)).unwrap()
}

/// A number that two rows of one run share would be taken for two samples of it.
#[test]
fn every_number_of_a_run_is_there_once() {
    let all = [
        results(|plan, bench, step| run::run::<rfc2544::Tables>(plan, &[], bench, step).0),
        results(|plan, bench, step| run::run::<rfc2889::Tables>(plan, &[], bench, step).0),
        results(|plan, bench, step| run::run::<rfc7640::Tables>(plan, &[], bench, step).0),
        results(|plan, bench, step| run::run::<rfc8239::Tables>(plan, &[], bench, step).0),
        results(|plan, bench, step| run::run::<lossless::Tables>(plan, &[], bench, step).0),
        results(|plan, bench, step| run::run::<soak::Tables>(plan, &[], bench, step).0),
        results(|plan, bench, step| run::run::<search::Tables>(plan, &[], bench, step).0),
    ];
    for run in &all {
        assert_eq!(run.get("ended").unwrap_or(&json!(null)), &json!(null), "{run}");
        let metrics = metrics(std::slice::from_ref(run));
        assert!(metrics.len() > 3, "{run}");
        // Each measured row has its duration.
        for (table, rows) in run.as_object().unwrap() {
            let rows = rows.as_array().into_iter().flatten().filter(|row| row.is_object());
            for row in rows {
                assert!(row[run::TOOK].as_f64() >= Some(0.0), "{table}: {row}");
            }
        }
        for metric in metrics {
            assert_eq!(metric.samples.len(), 1, "{metric:?}");
        }
        // Nor is there one of which a comparison with itself does not know the better direction.
        let runs = Runs {
            procedure: "any".to_owned(),
            dut: "a".to_owned(),
            world: "virtual".to_owned(),
            seed: 1,
            parameters: Some([].into()),
            runs: vec![run.clone()],
            ended: None,
        };
        let compared = Comparison::of(&runs, &runs, &[], 0.0);
        for number in &compared.numbers {
            assert_eq!(number.trend, Trend::NoChange, "{number:?}");
        }
        assert_eq!(compared.verdict(), Verdict::Pass);
    }
}
