//! Comparison with an earlier run: regression, progression, or no change.
//!
//! Every number of the results is either compared, because more or less of it is better, or named as one
//! that is not (`senses`). A number without an entry makes the comparison inconclusive, and so does a
//! spread in which a change could hide.

mod senses;

use core::fmt;
use std::collections::{BTreeMap, BTreeSet};

use ground::verdict::Verdict;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::summary::{Metric, numbers};
use senses::{Range, Sense};

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
    /// Returns the first number that no run can have, in words: less than nothing, or nothing where a run without a
    /// value has no number. A comparison with it would say nothing about the device.
    #[must_use]
    pub fn impossible(&self) -> Option<String> {
        let all = numbers(&self.runs);
        let mut all = all.iter().flat_map(|m| m.samples.iter().map(move |value| (m, *value)));
        let (metric, value) = all.find(|(metric, value)| !Range::find(metric).contains(*value))?;
        let place = format!("{} {} {}", metric.test, metric.row(), metric.metric);
        Some(format!("{} is {value}, which no run measures", ground::printable::excerpt(&place)))
    }

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
    /// Tests that only one of both has, and that these runs were not asked for.
    pub only_one_has: BTreeSet<String>,
    /// Tests that these runs were asked for, and that only one of both has.
    pub tests_missing: BTreeSet<String>,
    /// True if the baseline does not say its parameters, which may have been others.
    pub parameters_unknown: bool,
    /// Reason why the baseline, or these runs, ended early: what was disturbed has no number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
}

impl Comparison {
    /// Compares runs of the tests of these names, all if there are none, with those of a baseline that has the same
    /// parameters. A difference within `resolution`, a part of the baseline's value such as the width of the search,
    /// is no change.
    #[must_use]
    pub fn of(before: &Runs, now: &Runs, only: &[&str], resolution: f64) -> Self {
        // The same seed in virtual time draws the same numbers, so there is no chance in a difference.
        let is_exact =
            before.world == "virtual" && now.world == "virtual" && before.seed == now.seed;
        let (tests_before, tests_now) = (tests(before), tests(now));
        // What these runs have they were asked for; what the baseline alone has, if they do not leave it out.
        let is_asked = |test: &String| {
            // The name of a table is an identifier, that of its test a word on the command line.
            let is_named =
                only.is_empty() || only.iter().any(|name| name.replace('-', "_") == *test);
            test != ARRIVALS && (tests_now.contains(test) || is_named)
        };
        let only_one_has = tests_before.symmetric_difference(&tests_now).cloned();
        let (tests_missing, only_one_has): (BTreeSet<String>, BTreeSet<String>) =
            only_one_has.partition(is_asked);
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
            // Named as a whole: it would be a missing number in each of its rows.
            if only_one_has.contains(&about.test) || tests_missing.contains(&about.test) {
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
            tests_missing,
            parameters_unknown: before.parameters.is_none(),
            ended: now.ended.clone().or_else(|| before.ended.clone()),
        }
    }

    /// Returns FAIL for a regression, INCONCLUSIVE if a number is missing, unclear or unknown, the
    /// parameters are unknown or one of both ended early, and NOT JUDGED if a test that these runs were asked for is
    /// in only one of both, or no number of a test could be compared.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let verdict = |number: &Compared| match number.trend {
            Trend::Regression => Verdict::Fail,
            Trend::Unclear | Trend::Missing | Trend::Unknown => Verdict::Inconclusive,
            Trend::Progression | Trend::NoChange => Verdict::Pass,
        };
        let is_partial = self.parameters_unknown || self.ended.is_some();
        let is_open = !self.tests_missing.is_empty() || self.compares_nothing();
        let open = is_open.then_some(Verdict::NotJudged);
        let all = self.numbers.iter().map(verdict).chain(open);
        Verdict::of_all(all).with_missing(is_partial)
    }

    /// Returns true if no number of a test is in both. The frames that arrived otherwise than sent are in all results,
    /// whatever was measured.
    #[must_use]
    pub fn compares_nothing(&self) -> bool {
        self.numbers.iter().all(|number| number.now.test == ARRIVALS)
    }
}

/// Table that results of any test have: the frames that arrived otherwise than they were sent.
const ARRIVALS: &str = "arrivals";

/// Lists in results that are no tables, and may be empty.
const NO_TABLES: [&str; 4] = ["took", "notes", "not_run", "not_applicable"];

/// Returns the names of the tables that runs have.
fn tests(runs: &Runs) -> BTreeSet<String> {
    let tables = runs.runs.iter().filter_map(Value::as_object).flatten();
    let tables = tables.filter(|(table, _)| !NO_TABLES.contains(&&table[..]));
    let is_row = |rows: &Vec<Value>| rows.is_empty() || rows.iter().any(Value::is_object);
    let tables = tables.filter(|(_, rows)| rows.as_array().is_some_and(is_row));
    tables.map(|(test, _)| test.clone()).collect()
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
mod tests;
