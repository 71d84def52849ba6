//! Comparison with an earlier run: regression, progression, or no change.

use core::fmt;

use serde::Serialize;
use serde_json::Value;

use crate::summary::{Metric, metrics};

/// Metrics of which more is better, by the end of their names.
const MORE: [&str; 7] = [
    "frames_per_second",
    "conditional_throughput",
    "throughput_percent",
    "forwarded_percent",
    "goodput_percent",
    "no_loss_percent",
    "no_pause_percent",
];

/// Metrics of which less is better, by the end of their names.
const LESS: [&str; 7] =
    ["mean_ns", "p50_ns", "p99_ns", "max_ns", "lost", "loss_percent", "mean_us"];

/// Deviations of the difference of two means beyond which it is no chance: 99 % of normal ones are
/// within 2.58.
const DEVIATIONS: f64 = 2.58;

/// Result of a comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Trend {
    /// Worse by more than the resolution and by more than chance.
    Regression,
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
        })
    }
}

/// A number that both runs have.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Compared {
    #[serde(flatten)]
    pub now: Metric,
    /// Mean of the baseline, and its number of samples.
    pub before: f64,
    pub before_samples: usize,
    /// Difference of the means in percent of the baseline's; absent from 0.
    pub change_percent: Option<f64>,
    pub trend: Trend,
}

/// Compares the runs with those of a baseline. A difference within `resolution`, a part of the
/// baseline's value such as the width of the search, is no change. Metrics without a direction, and
/// those that only one of both has, are left out.
#[must_use]
pub fn compare(before: &[Value], now: &[Value], resolution: f64) -> Vec<Compared> {
    let old = metrics(before);
    let mut all = Vec::new();
    for metric in metrics(now) {
        let Some(more) = is_more_better(&metric.metric) else { continue };
        let is_same = |o: &&Metric| {
            o.test == metric.test && o.metric == metric.metric && o.about == metric.about
        };
        let Some(base) = old.iter().find(is_same) else { continue };
        let difference = metric.mean() - base.mean();
        let spread = |m: &Metric| m.deviation().powi(2) / m.samples.len() as f64;
        let chance = DEVIATIONS * (spread(&metric) + spread(base)).sqrt();
        let trend = match difference.abs() > (resolution * base.mean().abs()).max(chance) {
            false => Trend::NoChange,
            true if (difference > 0.0) == more => Trend::Progression,
            true => Trend::Regression,
        };
        all.push(Compared {
            before: base.mean(),
            before_samples: base.samples.len(),
            change_percent: (base.mean() != 0.0).then(|| difference / base.mean() * 100.0),
            trend,
            now: metric,
        });
    }
    all
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
    use super::*;
    use serde_json::json;

    fn runs(rates: &[f64], latency: f64) -> Vec<Value> {
        let run = |rate: &f64| {
            json!({
                "throughput": [{"size": 64, "frames_per_second": rate, "trials": 9}],
                "latency": [{"size": 64, "filo": {"mean_ns": latency}}],
            })
        };
        rates.iter().map(run).collect()
    }

    fn trends(before: &[Value], now: &[Value]) -> Vec<(String, Trend)> {
        let compared = compare(before, now, 0.005);
        compared.into_iter().map(|c| (c.now.metric, c.trend)).collect()
    }

    #[test]
    fn a_change_beyond_resolution_and_chance_is_told_with_its_direction() {
        let base = runs(&[100.0, 100.0], 50.0);
        let of = |rates: &[f64], latency| trends(&base, &runs(rates, latency));
        let name = |n: &str, trend| (n.to_owned(), trend);
        use Trend::{NoChange, Progression, Regression};
        let [rate, time] = ["frames_per_second", "filo.mean_ns"];
        let all = |a, b| {
            let mut both = vec![name(time, b), name(rate, a)];
            both.sort_by_key(|(name, _)| name.clone());
            both
        };
        let sorted = |mut found: Vec<(String, Trend)>| {
            found.sort_by_key(|(name, _)| name.clone());
            found
        };
        assert_eq!(sorted(of(&[100.4], 50.2)), all(NoChange, NoChange));
        assert_eq!(sorted(of(&[102.0], 49.0)), all(Progression, Progression));
        assert_eq!(sorted(of(&[98.0], 52.0)), all(Regression, Regression));
        // The runs differ by more among themselves.
        assert_eq!(sorted(of(&[90.0, 106.0, 98.0], 50.0)), all(NoChange, NoChange));
    }

    #[test]
    fn numbers_of_one_side_alone_are_not_compared() {
        assert_eq!(trends(&runs(&[1.0], 1.0), &[json!({"loss": [{"size": 64, "lost": 1}]})]), []);
    }

    #[test]
    fn a_loss_where_there_was_none_is_a_regression() {
        let lost = |n: u64| vec![json!({"line_rate": [{"size": 64, "pattern": "pairs", "lost": n}]})];
        assert_eq!(trends(&lost(0), &lost(5)), [("lost".to_owned(), Trend::Regression)]);
        assert_eq!(trends(&lost(0), &lost(0)), [("lost".to_owned(), Trend::NoChange)]);
    }
}
