//! Exploration of a lab: one file run with many values of its fields, and the runs that no other one
//! beats, the Pareto front.
//!
//! The points are the product of the values of all axes or, where those are too many, as many of
//! them as are asked for, drawn with the seed. Results depend on the file, the axes and the seed
//! alone, not on the number of threads.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;

use super::file::LabFile;
use super::study::{Changes, Study, StudyError, try_in_order};
use crate::{Options, Outcome, Runner, World, study};
use config::ConfigError;
use config::quantity::Span;
use ground::rand::Rng;
use ground::verdict::Verdict;
use labrun::find;
use serde::Serialize;

pub use super::study::{Axis, Short, split_values};

/// Values of one run, and its results.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Point {
    /// A value of each axis.
    pub values: Vec<String>,
    /// True if it is on the front.
    pub front: bool,
    pub verdict: Verdict,
    /// Checks that are neither PASS nor not judged.
    pub failed: Vec<String>,
    /// Checks that were not judged, with the reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_judged: Vec<String>,
    /// By objective; `None` where the run has no such result.
    pub results: Vec<Option<f64>>,
    pub trace_hash: Option<String>,
}

/// An exploration.
#[derive(Clone, Debug)]
pub struct Exploration {
    pub axes: Vec<Axis>,
    pub objectives: Vec<Objective>,
    /// Most runs.
    pub runs: usize,
    /// Threads.
    pub jobs: usize,
    /// Seed of the runs and of the choice among too many points; the file's if absent.
    pub seed: Option<u64>,
}

/// Result of an exploration.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Explored {
    pub version: String,
    pub lab: String,
    pub seed: u64,
    /// Paths of the axes.
    pub axes: Vec<String>,
    pub objectives: Vec<Objective>,
    /// Points of the product of all values.
    pub of: u64,
    /// Points that were to be run.
    pub planned: usize,
    /// In the order of the axes' values, the last axis fastest.
    pub points: Vec<Point>,
    /// Points that the file refuses although each of their values is possible in another one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<RefusedPoint>,
}

impl Explored {
    /// Returns the verdict of the best run: PASS with a front. A run that has no number for an objective
    /// answers nothing. Inconclusive if it was interrupted, as a better run may be missing.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let has_front = self.points.iter().any(|point| point.front);
        let answer = if has_front { Verdict::Pass } else { Verdict::NotJudged };
        let of = |point: &Point| Verdict::of_all([point.verdict, answer]);
        match self.points.len() < self.planned {
            true => Verdict::Inconclusive,
            false => self.points.iter().map(of).min().unwrap_or(Verdict::NotJudged),
        }
    }
}

/// A combination of values that the file refuses.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct RefusedPoint {
    /// A value of each axis.
    pub values: Vec<String>,
    pub why: String,
}

/// Reason why an exploration has no result.
#[derive(Debug, thiserror::Error)]
pub enum ExploreError {
    /// The file, or its axes.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A point cannot run.
    #[error(transparent)]
    Point(#[from] StudyError),
    /// An objective that the results do not have.
    #[error("{0}")]
    Objective(String),
}

/// Returns the numbers of the points to run, at most `runs`, in ascending order.
fn chosen(all: u64, runs: usize, seed: u64) -> Vec<u64> {
    if all <= runs as u64 {
        return (0..all).collect();
    }
    // Floyd's sample without repetition.
    let (mut rng, mut found) = (Rng::new(seed), BTreeSet::new());
    for last in all - runs as u64..all {
        let drawn = rng.next_u64() % (last + 1);
        if !found.insert(drawn) {
            found.insert(last);
        }
    }
    found.into_iter().collect()
}

/// Explores a lab file, which has no variants, in the virtual world. `duration` is that of each run instead
/// of the file's; `stop` ends it with the runs that are finished, whose number `progress` gets.
///
/// # Errors
/// A value that the file refuses in every run, which is found before the first one, or an objective
/// that no result has.
pub fn explore(
    file: &LabFile,
    exploration: &Exploration,
    duration: Option<Span>,
    stop: &AtomicBool,
    mut progress: impl FnMut(usize, usize),
) -> Result<Explored, ExploreError> {
    let Exploration { axes, objectives, runs, jobs, seed } = exploration;
    let changes = Changes { seed: *seed, duration, ..Changes::default() };
    // The file without the axes has to be valid as well: its errors have better places than those of a point.
    let (lab, _) = file.plan(None, |lab| changes.apply(lab))?;
    let (name, lab_seed) = (lab.name.clone(), lab.network.seed);
    let study = Study::new(file.clone().with_axes(axes), changes)?;
    let of = study.len();
    let numbers = chosen(of, *runs, lab_seed);
    // Before the first run, as a wrong value would otherwise be found after hours.
    let (numbers, refused) = study.possible(&numbers, *jobs)?;
    let planned = numbers.len();
    let refused = refused
        .into_iter()
        .map(|(n, why)| RefusedPoint { values: shown(&study, n), why })
        .collect();
    let options = Options { stop: Some(stop), ..Options::default() };
    let work = |n: &u64| run(&study, *n, objectives, options);
    let mut points = Vec::new();
    try_in_order(numbers.iter().copied(), *jobs, stop, work, |_, point| {
        points.push(point);
        progress(points.len(), planned);
        ControlFlow::Continue(())
    })?;
    mark(&mut points, objectives);
    Ok(Explored {
        version: ground::program::version().into(),
        lab: name,
        seed: lab_seed,
        axes: axes.iter().map(|axis| axis.path().to_owned()).collect(),
        objectives: objectives.clone(),
        of,
        planned,
        points,
        refused,
    })
}

/// Runs a point; `None` if it was interrupted.
fn run(
    study: &Study,
    n: u64,
    objectives: &[Objective],
    options: Options<'_>,
) -> Result<Option<Point>, ExploreError> {
    let mut runner = Runner::new(World::Virtual);
    let Some((_, outcome)) = study.row(n, &mut runner, options, |_| (), |_, _, run| run.outcome)?
    else {
        return Ok(None);
    };
    let results = objectives.iter().map(|objective| objective.of(&outcome));
    let results = results.collect::<Result<_, _>>().map_err(ExploreError::Objective)?;
    let open = outcome.checks.iter().filter(|check| check.verdict == Verdict::NotJudged);
    let not_judged = open.map(|check| format!("{}: {}", check.name, check.detail)).collect();
    Ok(Some(Point {
        values: shown(study, n),
        front: false,
        verdict: outcome.verdict,
        failed: outcome.failed().map(|check| check.name.clone()).collect(),
        not_judged,
        results,
        trace_hash: outcome.trace_hash.clone(),
    }))
}

/// Returns the values of the axes in a run.
fn shown(study: &Study, n: u64) -> Vec<String> {
    study.run(n).point.map_or_else(Vec::new, |point| point.shown())
}

/// Marks the points on the front. A run that is no PASS is no candidate, nor is one without a result for an objective.
fn mark(points: &mut [Point], objectives: &[Objective]) {
    let candidates: Vec<Option<Vec<f64>>> = points
        .iter()
        .map(|point| {
            let results: Option<Vec<f64>> = point.results.iter().copied().collect();
            // A fast run that loses frames beats nothing.
            results.filter(|_| point.verdict.is_pass())
        })
        .collect();
    let senses: Vec<Sense> = objectives.iter().map(|objective| objective.sense).collect();
    for (point, on) in points.iter_mut().zip(front(&candidates, &senses)) {
        point.front = on;
    }
}

/// Returns for each candidate if no other one dominates it. One dominates another if it is nowhere
/// worse and somewhere better; equal candidates do not dominate each other. `None` is no candidate.
#[must_use]
pub fn front(candidates: &[Option<Vec<f64>>], senses: &[Sense]) -> Vec<bool> {
    let dominates = |a: &[f64], b: &[f64]| {
        // `Less` is better in either sense, so that one comparison serves both.
        let better = |(n, sense): (usize, &Sense)| match sense {
            Sense::Minimize => a[n].total_cmp(&b[n]),
            Sense::Maximize => b[n].total_cmp(&a[n]),
        };
        let orders = || senses.iter().enumerate().map(better);
        orders().all(|order| order.is_le()) && orders().any(|order| order.is_lt())
    };
    let beaten = |own: &[f64]| candidates.iter().flatten().any(|other| dominates(other, own));
    candidates.iter().map(|one| one.as_ref().is_some_and(|own| !beaten(own))).collect()
}

/// Direction in which results are better.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Sense {
    Minimize,
    Maximize,
}

/// A number of the results.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Objective {
    pub name: String,
    pub sense: Sense,
    /// Unit, `ns`, `b/s`, `B`, or none.
    pub unit: &'static str,
    #[serde(skip)]
    source: Source,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Source {
    /// The 99th percentile of completion times of messages, else the largest of the flows' latencies.
    P99,
    /// Received bytes of all flows over the time of the run.
    Throughput,
    /// XOFF crossings of groups.
    Pauses,
    /// Largest use of a switch's buffer.
    Buffer,
    /// A number by its path.
    Path(String),
}

impl Objective {
    /// Short completion times, much throughput, few pauses, little buffer.
    #[must_use]
    pub fn standard() -> Vec<Self> {
        let one = |name: &str, sense, unit, source| Self { name: name.into(), sense, unit, source };
        vec![
            one("p99", Sense::Minimize, "ns", Source::P99),
            one("rate", Sense::Maximize, "b/s", Source::Throughput),
            one("pauses", Sense::Minimize, "", Source::Pauses),
            one("buffer", Sense::Minimize, "B", Source::Buffer),
        ]
    }

    /// Returns the number at a path in the results, as `value` checks have it.
    #[must_use]
    pub fn at(path: &str, sense: Sense) -> Self {
        let name = path.rsplit('.').next().unwrap_or(path).to_owned();
        let unit = match () {
            // Names of results end in their unit.
            () if path.ends_with("_ns") => "ns",
            () if path.ends_with("_bps") => "b/s",
            () if path.ends_with("_bytes") => "B",
            () => "",
        };
        Self { name, sense, unit, source: Source::Path(path.to_owned()) }
    }

    /// Returns the number in the results of a run; `None` if the run has none.
    ///
    /// # Errors
    /// The results do not have the path, or no number there.
    pub fn of(&self, outcome: &Outcome) -> Result<Option<f64>, String> {
        Ok(match &self.source {
            Source::P99 => {
                let fct = outcome.figures.fct.map(|fct| fct.p99.as_nanos_f64());
                fct.or_else(|| study::latency(outcome))
            }
            Source::Throughput => study::rate(outcome),
            Source::Pauses => Some(outcome.pauses.xoffs as f64),
            Source::Buffer => Some(outcome.figures.buffer_peak_bytes as f64),
            Source::Path(path) => {
                let tree = serde_json::to_value(outcome).expect("results are JSON");
                let value = find(&tree, path)?;
                if !value.is_null() && !value.is_number() {
                    return Err(format!("`{path}` is no number in the results"));
                }
                value.as_f64()
            }
        })
    }
}

#[cfg(test)]
mod tests;
