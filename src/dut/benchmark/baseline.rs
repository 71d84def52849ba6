//! Comparison with an earlier run: regression, progression, or no change.
//!
//! Every number of the results is either compared, because more or less of it is better, or named as one
//! that is not (`SENSES`). A number without an entry makes the comparison inconclusive, and so does a
//! spread in which a change could hide.

use core::fmt;
use std::collections::{BTreeMap, BTreeSet};

use ground::verdict::Verdict;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::summary::{Metric, numbers};

/// The better direction of a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sense {
    More,
    Less,
    /// A parameter of the trial, a statistic of the search, or a way of working: neither is better.
    Neither,
}

/// Sense of each number by the end of its path, `table.column`; the longest end decides. Flags count as 1
/// and 0.
const SENSES: [(Sense, &[&str]); 3] = [
    (
        Sense::More,
        &[
            "addresses",
            "alone_bps",
            "back_to_back.max",
            "back_to_back.mean",
            "back_to_back.min",
            "bytes",
            "conditional_throughput",
            "corrected_us",
            "filtered",
            "forwarded",
            "forwarded_percent",
            "frames",
            "frames_per_second",
            "goodput_bps",
            "goodput_percent",
            "implied_us",
            "learning_per_second",
            // The throughput, or a share of it, where the latency is measured.
            "load",
            "loss_at",
            "loss_bytes",
            "no_loss_percent",
            "no_pause_percent",
            "response_ns",
            "target_accepted",
            "throughput_percent",
            "uncongested_rate_percent",
            "xoff_bytes",
        ],
    ),
    (
        Sense::Less,
        &[
            "bit_forwarding_ns",
            "burst_lost",
            "completion_us",
            "congested_loss_percent",
            "damaged",
            "duplicates",
            "errors.forwarded",
            "faster",
            "frmol_loss_percent",
            "head_of_line_blocking",
            "held_back",
            "jitter_ns",
            // A pause ends the search of the baseline, and a loss that of these runs.
            "loses_above",
            "loss_percent",
            "lost",
            "lost_lossless",
            "max_ns",
            "mean_ms",
            "mean_ns",
            "mean_us",
            "memory_bytes",
            "memory_leak",
            "min_ns",
            "p50_ns",
            "p99_ns",
            "pdv_p99_ns",
            "reordered",
            "retransmitted",
            "stamps_ms",
            "store_and_forward_ns",
            "timeouts",
            "to_last_lost_us",
            "uncongested_loss_percent",
        ],
    ),
    (
        Sense::Neither,
        &[
            "addresses_at_limit",
            "at_limit",
            "back_pressure",
            "buffer.latency_ns",
            "deviation",
            "intended",
            "latency_slope_ns_per_hour",
            "least_us",
            "line_frames_per_second",
            "lost_above",
            "memory_slope_bytes_per_hour",
            "message.frames",
            "offered",
            "overload.held_back",
            "overload_percent",
            "overloaded",
            "paused",
            "paused_percent",
            "pauses",
            // A full line with short gaps is more than a device may forward.
            "pressure.forwarded",
            "received",
            "repeats",
            "resolution_ns",
            "resumes",
            "run",
            "sent",
            "stateful_percent",
            "synchronous_percent",
            "target",
            "took_s",
            "trial_time_ps",
            "trials",
            "uncertainty_ms",
            "uncertainty_us",
            "worst_paused_percent",
        ],
    ),
];

impl Sense {
    /// Returns the sense of a number; `None` of one that this version does not know.
    fn find(metric: &Metric) -> Option<Self> {
        let path = format!("{}.{}", metric.test, metric.metric);
        let is_end = |name: &&&str| {
            path.strip_suffix(**name).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        let ends = SENSES.iter().flat_map(|(sense, names)| {
            names.iter().filter(is_end).map(move |name| (name.len(), *sense))
        });
        // The longest end is the most special: `errors.forwarded` before `forwarded`.
        ends.max_by_key(|(len, _)| *len).map(|(_, sense)| sense)
    }
}

/// Largest change that the spread of runs on real ports may hide, as a share of the baseline. A choice: a
/// comparison that misses a change by a fifth tells nothing.
const HIDDEN_MAX: f64 = 0.2;

/// Quantiles of Student's distribution beyond which a difference is no chance (99 %, both sides),
/// from 1 degree of freedom on; the last one serves all above.
const STUDENT: [f64; 10] = [63.66, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355, 3.250, 3.169];

/// Result of a comparison of one number, in the order of a report.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Trend {
    /// Worse by more than the resolution and by more than chance.
    Regression,
    /// Too few runs of real ports tell how much is chance, or their spread hides even a large change.
    Unclear,
    /// One of both has the number, and the other has not.
    Missing,
    /// This version does not know if more or less of the number is better.
    Unknown,
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
            Self::Unknown => "unknown number",
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
    pub seed: u64,
    /// Parameters of the plan by name: [`Plan::parameters`](crate::plan::Plan::parameters). Absent in files of
    /// versions that did not write them.
    pub parameters: Option<BTreeMap<String, String>>,
    pub runs: Vec<Value>,
    /// Reason why the runs ended early.
    #[serde(default)]
    pub ended: Option<String>,
}

impl Runs {
    /// Returns the world or the parameters in which a run differs, in words; `None` if it has the same, or they
    /// are unknown.
    #[must_use]
    pub fn difference(&self, world: &str, parameters: &BTreeMap<String, String>) -> Option<String> {
        // Times and losses of ports in software are none of a virtual device, whatever their spread.
        if self.world != world {
            let before = ground::printable::excerpt(&self.world);
            return Some(format!("world: {before}, now {world}"));
        }
        let before = self.parameters.as_ref()?;
        let names: BTreeSet<&String> = before.keys().chain(parameters.keys()).collect();
        // Files come from elsewhere, so their texts are made safe for a terminal.
        let value = |all: &BTreeMap<String, String>, name| {
            all.get(name).map_or("nothing".to_owned(), |value| {
                ground::printable::excerpt(value).into_owned()
            })
        };
        let differing = names.into_iter().filter(|name| before.get(*name) != parameters.get(*name));
        let all: Vec<String> = differing
            .map(|name| {
                let shown = ground::printable::excerpt(name);
                format!("{shown}: {}, now {}", value(before, name), value(parameters, name))
            })
            .collect();
        (!all.is_empty()).then(|| all.join("; "))
    }
}

/// A number of the baseline, and the same of these runs.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Compared {
    /// These runs; without samples if they lack the number.
    #[serde(flatten)]
    pub now: Metric,
    /// Mean of the baseline, and its number of samples; absent if it lacks the number.
    pub before: Option<f64>,
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
    /// Names of numbers of which neither more nor less is better.
    pub not_compared: BTreeSet<String>,
    /// Tests that only one of both has.
    pub only_one_has: BTreeSet<String>,
    /// True if the baseline does not say its parameters, which may have been others.
    pub parameters_unknown: bool,
    /// Reason why the baseline, or these runs, ended early: what was disturbed has no number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
}

impl Comparison {
    /// Compares runs with those of a baseline that has the same parameters. A difference within
    /// `resolution`, a part of the baseline's value such as the width of the search, is no change.
    #[must_use]
    pub fn of(before: &Runs, now: &Runs, resolution: f64) -> Self {
        // The same seed in virtual time draws the same numbers, so there is no chance in a difference.
        let is_exact =
            before.world == "virtual" && now.world == "virtual" && before.seed == now.seed;
        let tests = |runs: &Runs| -> BTreeSet<String> {
            let tables = runs.runs.iter().filter_map(Value::as_object).flatten();
            let is_table = |rows: &Value| {
                let is_row =
                    |rows: &Vec<Value>| rows.is_empty() || rows.iter().any(Value::is_object);
                rows.as_array().is_some_and(is_row)
            };
            tables.filter(|(_, rows)| is_table(rows)).map(|(test, _)| test.clone()).collect()
        };
        let (tests_before, tests_now) = (tests(before), tests(now));
        let only_one_has: BTreeSet<String> =
            tests_before.symmetric_difference(&tests_now).cloned().collect();
        let (found, mut new) = (numbers(&before.runs), numbers(&now.runs));
        let mut pairs: Vec<(Option<Metric>, Option<Metric>)> = Vec::new();
        // In the order of the baseline, and behind it what only these runs have.
        for base in found {
            let same = new.iter().position(|m| {
                m.test == base.test && m.metric == base.metric && m.about == base.about
            });
            pairs.push((Some(base), same.map(|n| new.remove(n))));
        }
        pairs.extend(new.into_iter().map(|now| (None, Some(now))));
        let (mut numbers, mut not_compared) = (Vec::new(), BTreeSet::new());
        for (before, now) in pairs {
            let Some(about) = before.as_ref().or(now.as_ref()) else { continue };
            // A test that was not selected would be a missing number in each of its rows.
            if only_one_has.contains(&about.test) {
                continue;
            }
            let sense = Sense::find(about);
            if sense == Some(Sense::Neither) {
                not_compared.insert(about.metric.clone());
                continue;
            }
            let trend = match (&before, &now, sense) {
                (_, _, None) => Trend::Unknown,
                (Some(before), Some(now), Some(sense)) => {
                    Trend::compare(before, now, resolution, is_exact, sense == Sense::More)
                }
                _ => Trend::Missing,
            };
            numbers.push(Compared::new(before, now, trend));
        }
        Self {
            dut: before.dut.clone(),
            world: before.world.clone(),
            numbers,
            not_compared,
            only_one_has,
            parameters_unknown: before.parameters.is_none(),
            ended: now.ended.clone().or_else(|| before.ended.clone()),
        }
    }

    /// Returns FAIL for a regression, INCONCLUSIVE if a number is missing, unclear or unknown, the
    /// parameters are unknown or one of both ended early, and NOT JUDGED if nothing could be compared.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let verdict = |number: &Compared| match number.trend {
            Trend::Regression => Verdict::Fail,
            Trend::Unclear | Trend::Missing | Trend::Unknown => Verdict::Inconclusive,
            Trend::Progression | Trend::NoChange => Verdict::Pass,
        };
        let is_partial = self.parameters_unknown || self.ended.is_some();
        Verdict::of_all(self.numbers.iter().map(verdict)).with_missing(is_partial)
    }
}

impl Compared {
    fn new(before: Option<Metric>, now: Option<Metric>, trend: Trend) -> Self {
        let (mean, before_samples) =
            before.as_ref().map_or((None, 0), |m| (Some(m.mean()), m.samples.len()));
        // Percents of 0 do not exist; the trend tells of the change.
        let change = mean.zip(now.as_ref()).filter(|(mean, _)| *mean != 0.0);
        Self {
            before: mean,
            before_samples,
            change_percent: change.map(|(mean, now)| (now.mean() - mean) / mean.abs() * 100.0),
            trend,
            now: now
                .or_else(|| before.map(|base| Metric { samples: Vec::new(), ..base }))
                .expect("one of both has the number"),
        }
    }
}

impl Trend {
    /// Compares a number that both have; `is_exact` if its runs have no chance in them.
    fn compare(
        before: &Metric,
        now: &Metric,
        resolution: f64,
        is_exact: bool,
        is_more_better: bool,
    ) -> Self {
        let base = before.mean();
        let difference = now.mean() - base;
        let is_beyond = difference.abs() > resolution * base.abs();
        // A change within the resolution is the search's own, however few runs there are.
        let changed = || match (difference > 0.0) == is_more_better {
            true => Self::Progression,
            false => Self::Regression,
        };
        if is_exact {
            return if is_beyond { changed() } else { Self::NoChange };
        }
        match chance(before, now) {
            None if is_beyond => Self::Unclear,
            None => Self::NoChange,
            Some(chance) if is_beyond && difference.abs() > chance => changed(),
            // Not beyond chance, but chance is so large that no change could be: that is no good news.
            Some(chance) if chance > HIDDEN_MAX * base.abs() => Self::Unclear,
            Some(_) => Self::NoChange,
        }
    }
}

/// Returns the largest difference of two means that may be chance (Welch); `None` with fewer than three
/// samples on a side, which tell too little about their spread.
fn chance(a: &Metric, b: &Metric) -> Option<f64> {
    let degrees = |m: &Metric| m.samples.len().checked_sub(1).filter(|n| *n >= 2).map(|n| n as f64);
    let spread = |m: &Metric| m.deviation().powi(2) / m.samples.len() as f64;
    let (of_a, of_b) = (degrees(a)?, degrees(b)?);
    let (va, vb) = (spread(a), spread(b));
    // All samples are equal on both sides: any difference is a change, and 0 / 0 below is none.
    if va + vb == 0.0 {
        return Some(0.0);
    }
    // Welch-Satterthwaite: between the fewer degrees of both sides and their sum.
    let degrees = ((va + vb).powi(2) / (va * va / of_a + vb * vb / of_b)) as usize;
    let quantile = STUDENT[degrees.clamp(1, STUDENT.len()) - 1];
    Some(quantile * (va + vb).sqrt())
}

#[cfg(test)]
mod tests {
    use super::Trend::{Missing, NoChange, Progression, Regression, Unclear, Unknown};
    use super::*;
    use serde_json::json;

    fn of(world: &str, runs: Vec<Value>) -> Runs {
        let [procedure, dut, world] = ["rfc2544", "switch", world].map(str::to_owned);
        let parameters = Some([("trial".to_owned(), "1 ms".to_owned())].into());
        Runs { procedure, dut, world, seed: 1, parameters, runs, ended: None }
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
        assert_eq!(now(&[99.0, 102.0, 97.0]), NoChange);
        assert_eq!(now(&[80.0, 81.0, 79.0]), Regression);
        assert_eq!(now(&[120.0, 121.0, 119.0]), Progression);
        assert_eq!(now(&[80.0, 81.0]), Unclear);
        let one = runs("real", &[80.0], 50.0);
        assert_eq!(compared(&base, &one), (vec![Unclear, NoChange], Verdict::Inconclusive));
        // A virtual device with another seed is another sample.
        let other = Runs { seed: 2, ..runs("virtual", &[98.0], 50.0) };
        assert_eq!(compared(&runs("virtual", &[100.0], 50.0), &other).0[0], Unclear);
    }

    #[test]
    fn a_spread_in_which_a_large_change_could_hide_is_unclear() {
        let base = runs("real", &[94.0, 94.0, 40.0], 50.0);
        for now in [[29.0, 29.0, 29.0], [94.0, 94.0, 40.0], [76.0, 76.0, 76.0]] {
            let trend = compared(&base, &runs("real", &now, 50.0));
            assert_eq!(trend, (vec![Unclear, NoChange], Verdict::Inconclusive), "{now:?}");
        }
        // More runs tell it in spite of the outlier.
        let more: Vec<f64> = (0..20).map(|n| if n == 7 { 40.0 } else { 94.0 }).collect();
        let now = runs("real", &[29.0; 20], 50.0);
        assert_eq!(compared(&runs("real", &more, 50.0), &now).0[0], Regression);
    }

    #[test]
    fn a_number_that_is_not_known_is_inconclusive_and_one_without_a_sense_is_named() {
        let row = |n: u64| json!({"throughput": [{"size": 64, "novelty": n, "trials": n}]});
        let (base, now) = (of("virtual", vec![row(1)]), of("virtual", vec![row(2)]));
        assert_eq!(compared(&base, &now), (vec![Unknown], Verdict::Inconclusive));
        let comparison = Comparison::of(&base, &now, 0.005);
        assert_eq!(comparison.not_compared, ["trials".to_owned()].into());
    }

    #[test]
    fn what_a_burst_an_address_table_and_a_flag_say_has_a_direction() {
        let run = |burst: u64, addresses: u64, is_filtered: bool, forwarded: u64| {
            of(
                "virtual",
                vec![json!({
                    "back_to_back": [{"size": 64, "mean": burst, "implied_us": burst}],
                    "addresses": [{"addresses": addresses, "learning_per_second": addresses}],
                    "errors": [{"kind": "crc", "filtered": is_filtered, "forwarded": forwarded}],
                })],
            )
        };
        let base = run(900, 500, true, 0);
        let worse = compared(&base, &run(100, 100, false, 5));
        assert_eq!(worse, (vec![Regression; 6], Verdict::Fail));
        assert_eq!(compared(&run(100, 100, false, 5), &base).0, [Progression; 6]);
    }

    #[test]
    fn parameters_that_differ_are_named_and_unknown_ones_are_inconclusive() {
        let base = runs("virtual", &[100.0], 50.0);
        let same = base.parameters.clone().unwrap();
        assert_eq!(base.difference("virtual", &same), None);
        assert_eq!(base.difference("real", &same).unwrap(), "world: virtual, now real");
        let longer = [("trial".to_owned(), "2 ms".to_owned())].into();
        assert_eq!(base.difference("virtual", &longer).unwrap(), "trial: 1 ms, now 2 ms");
        let named = [("trial".to_owned(), "1 ms".to_owned()), ("rate".to_owned(), "1G".to_owned())];
        assert_eq!(base.difference("virtual", &named.into()).unwrap(), "rate: nothing, now 1G");
        let old = Runs { parameters: None, ..base.clone() };
        assert_eq!(compared(&old, &base), (vec![NoChange, NoChange], Verdict::Inconclusive));
    }

    #[test]
    fn every_number_has_one_sense() {
        let all: Vec<&&str> = SENSES.iter().flat_map(|(_, names)| *names).collect();
        let once: BTreeSet<&&str> = all.iter().copied().collect();
        assert_eq!(all.len(), once.len());
    }

    #[test]
    fn a_number_that_is_not_measured_any_more_is_missing() {
        let base = runs("virtual", &[100.0], 50.0);
        let mut now = base.clone();
        now.runs[0]["throughput"] = json!([]);
        assert_eq!(compared(&base, &now), (vec![Missing, NoChange], Verdict::Inconclusive));
        assert_eq!(compared(&now, &base), (vec![Missing, NoChange], Verdict::Inconclusive));
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
