//! Comparison with an earlier run: regression, progression, or no change.

use core::fmt;

use ground::verdict::Verdict;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::summary::{Metric, metrics};

/// Metrics of which more is better, by the end of their names.
const MORE: [&str; 10] = [
    "bytes",
    "goodput_bps",
    "frames_per_second",
    "conditional_throughput",
    "throughput_percent",
    "forwarded_percent",
    "goodput_percent",
    "no_loss_percent",
    "no_pause_percent",
    "response_ns",
];

/// Metrics of which less is better, by the end of their names.
const LESS: [&str; 9] = [
    "mean_ns",
    "p50_ns",
    "p99_ns",
    "max_ns",
    "lost",
    "loss_percent",
    "mean_us",
    "mean_ms",
    "completion_us",
];

/// Quantiles of Student's distribution beyond which a difference is no chance (99 %, both sides),
/// from 1 degree of freedom on; the last one serves all above.
const STUDENT: [f64; 10] = [63.66, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355, 3.250, 3.169];

/// Result of a comparison of one number, in the order of a report.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Trend {
    /// Worse by more than the resolution and by more than chance.
    Regression,
    /// More than the resolution, but too few runs of real ports tell how much is chance.
    Unclear,
    /// The baseline has the number, and this run has not.
    Missing,
    /// Better by more than both.
    Progression,
    NoChange,
}

impl fmt::Display for Trend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Regression => "regression",
            Self::Progression => "progression",
            Self::NoChange => "no change",
            Self::Unclear => "unclear",
            Self::Missing => "missing",
        })
    }
}

/// Results of several runs, as a file of results has them.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Runs {
    pub procedure: String,
    pub dut: String,
    /// `virtual` or `real`.
    pub world: String,
    pub runs: Vec<Value>,
}

/// A number of the baseline, and the same of these runs.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Compared {
    /// These runs; without samples if they lack the number.
    #[serde(flatten)]
    pub now: Metric,
    /// Mean of the baseline, and its number of samples.
    pub before: f64,
    pub before_samples: usize,
    /// Difference of the means in percent of the baseline's; absent from 0.
    pub change_percent: Option<f64>,
    pub trend: Trend,
}

/// A comparison with a baseline.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Comparison {
    /// Device and world of the baseline.
    pub dut: String,
    pub world: String,
    pub numbers: Vec<Compared>,
}

impl Comparison {
    /// Compares runs with those of a baseline. A difference within `resolution`, a part of the
    /// baseline's value such as the width of the search, is no change. Numbers of which neither more
    /// nor less is better are left out, and so are tests that only one of both has.
    #[must_use]
    pub fn of(before: &Runs, now: &Runs, resolution: f64) -> Self {
        let is_exact = before.world == "virtual" && now.world == "virtual";
        let found = metrics(&now.runs);
        let was_run = |test: &str| now.runs.iter().any(|run| run.get(test).is_some());
        let mut numbers = Vec::new();
        for base in metrics(&before.runs).into_iter().filter(|base| was_run(&base.test)) {
            let Some(more) = is_more_better(&base.metric) else { continue };
            let is_same = |m: &&Metric| {
                m.test == base.test && m.metric == base.metric && m.about == base.about
            };
            let (before, before_samples) = (base.mean(), base.samples.len());
            let (now, trend) = match found.iter().find(is_same) {
                Some(now) => {
                    let difference = now.mean() - before;
                    let trend = match difference.abs() > resolution * before.abs() {
                        false => Trend::NoChange,
                        true if is_exact => Trend::of(difference, more),
                        true => match chance(&base, now) {
                            None => Trend::Unclear,
                            Some(chance) if difference.abs() <= chance => Trend::NoChange,
                            Some(_) => Trend::of(difference, more),
                        },
                    };
                    (now.clone(), trend)
                }
                None => (Metric { samples: Vec::new(), ..base }, Trend::Missing),
            };
            let change = (before != 0.0 && trend != Trend::Missing)
                .then(|| (now.mean() - before) / before * 100.0);
            numbers.push(Compared { now, before, before_samples, change_percent: change, trend });
        }
        Self { dut: before.dut.clone(), world: before.world.clone(), numbers }
    }

    /// Returns FAIL for a regression, INCONCLUSIVE if a number is missing or unclear, and NOT JUDGED
    /// if nothing could be compared.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let of = |number: &Compared| match number.trend {
            Trend::Regression => Verdict::Fail,
            Trend::Unclear | Trend::Missing => Verdict::Inconclusive,
            Trend::Progression | Trend::NoChange => Verdict::Pass,
        };
        Verdict::of_all(self.numbers.iter().map(of))
    }
}

impl Trend {
    fn of(difference: f64, is_more_better: bool) -> Self {
        if (difference > 0.0) == is_more_better { Self::Progression } else { Self::Regression }
    }
}

/// Returns the largest difference of two means that may be chance; `None` with fewer than three
/// samples on a side, which tell too little about their spread.
fn chance(a: &Metric, b: &Metric) -> Option<f64> {
    let least = a.samples.len().min(b.samples.len());
    let quantile = STUDENT[least.checked_sub(2)?.min(STUDENT.len() - 1)];
    let spread = |m: &Metric| m.deviation().powi(2) / m.samples.len() as f64;
    (least >= 3).then(|| quantile * (spread(a) + spread(b)).sqrt())
}

/// Returns true if more of a metric is better, false if less is, `None` if neither.
fn is_more_better(name: &str) -> Option<bool> {
    let last = name.rsplit('.').next().unwrap_or(name);
    if LESS.contains(&last) {
        return Some(false);
    }
    MORE.contains(&last).then_some(true)
}

#[cfg(test)]
mod tests {
    use super::Trend::{Missing, NoChange, Progression, Regression, Unclear};
    use super::*;
    use serde_json::json;

    fn of(world: &str, runs: Vec<Value>) -> Runs {
        let [procedure, dut, world] = ["rfc2544", "switch", world].map(str::to_owned);
        Runs { procedure, dut, world, runs }
    }

    fn runs(world: &str, rates: &[f64], latency: f64) -> Runs {
        let run = |rate: &f64| {
            json!({
                "throughput": [{"size": 64, "frames_per_second": rate, "trials": 9}],
                "latency": [{"size": 64, "filo": {"mean_ns": latency}}],
            })
        };
        of(world, rates.iter().map(run).collect())
    }

    /// Returns what happened to the rate and to the latency, and the verdict.
    fn compared(before: &Runs, now: &Runs) -> (Vec<Trend>, Verdict) {
        let comparison = Comparison::of(before, now, 0.005);
        let mut numbers = comparison.numbers.clone();
        numbers.sort_by(|a, b| b.now.metric.cmp(&a.now.metric));
        let trends = numbers.iter().map(|number| number.trend).collect();
        (trends, comparison.verdict())
    }

    #[test]
    fn a_change_of_a_virtual_device_beyond_the_resolution_has_a_direction() {
        let base = runs("virtual", &[100.0], 50.0);
        let now = |rate, latency| compared(&base, &runs("virtual", &[rate], latency));
        assert_eq!(now(100.4, 50.2), (vec![NoChange, NoChange], Verdict::Pass));
        assert_eq!(now(102.0, 49.0), (vec![Progression, Progression], Verdict::Pass));
        assert_eq!(now(98.0, 50.0), (vec![Regression, NoChange], Verdict::Fail));
        assert_eq!(now(100.0, 52.0), (vec![NoChange, Regression], Verdict::Fail));
    }

    #[test]
    fn real_ports_need_three_runs_to_tell_a_change_from_chance() {
        let base = runs("real", &[100.0, 101.0, 99.0], 50.0);
        let now = |rates: &[f64]| compared(&base, &runs("real", rates, 50.0)).0[0];
        assert_eq!(now(&[90.0, 106.0, 92.0]), NoChange);
        assert_eq!(now(&[80.0, 81.0, 79.0]), Regression);
        assert_eq!(now(&[120.0, 121.0, 119.0]), Progression);
        assert_eq!(now(&[80.0, 81.0]), Unclear);
        let one = runs("real", &[80.0], 50.0);
        assert_eq!(compared(&base, &one), (vec![Unclear, NoChange], Verdict::Inconclusive));
        // A world against the other is not exact, either.
        assert_eq!(compared(&runs("virtual", &[100.0], 50.0), &one).0[0], Unclear);
    }

    #[test]
    fn a_number_that_is_not_measured_any_more_is_missing() {
        let base = runs("virtual", &[100.0], 50.0);
        let mut now = base.clone();
        now.runs[0]["throughput"] = json!([]);
        assert_eq!(compared(&base, &now), (vec![Missing, NoChange], Verdict::Inconclusive));
    }

    #[test]
    fn a_comparison_of_nothing_judges_nothing() {
        let base = runs("virtual", &[100.0], 50.0);
        let now = of("virtual", vec![json!({"loss": [{"size": 64, "lost": 1}]})]);
        assert_eq!(compared(&base, &now), (vec![], Verdict::NotJudged));
    }

    #[test]
    fn a_loss_where_there_was_none_is_a_regression() {
        let lost = |n: u64| json!({"line_rate": [{"size": 64, "pattern": "pairs", "lost": n}]});
        let trends = |n| compared(&of("virtual", vec![lost(0)]), &of("virtual", vec![lost(n)])).0;
        assert_eq!(trends(5), [Regression]);
        assert_eq!(trends(0), [NoChange]);
    }
}
