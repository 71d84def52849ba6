//! Exploration of a lab: one file run with many values of its fields, and the runs that no other one
//! beats, the Pareto front.
//!
//! The points are the product of the values of all axes or, where those are too many, as many of
//! them as are asked for, drawn with the seed. Results depend on the file, the axes and the seed
//! alone, not on the number of threads.

mod axis;
mod front;
mod objective;
#[cfg(test)]
mod tests;

pub use axis::{Axis, Short, split_values};
pub use front::front;
pub use objective::{Objective, Sense};

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde::Serialize;

use super::file::LabFile;
use super::world::{RunError, Runner, World};
use super::{LabPlan, Options, Outcome, raw};
use config::ConfigError;
use ground::rand::Rng;
use ground::verdict::Verdict;

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
}

/// Reason why an exploration has no result.
#[derive(Debug, thiserror::Error)]
pub enum ExploreError {
    /// The file with the values of a point.
    #[error("{1}{0}")]
    Config(ConfigError, String),
    /// A point cannot run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// An objective that the results do not have.
    #[error("{0}")]
    Objective(String),
}

/// Returns the indices of the points to run, at most `runs`, in ascending order, and the number of
/// all.
fn chosen(axes: &[Axis], runs: usize, seed: u64) -> (Vec<u64>, u64) {
    let all = axes.iter().fold(1_u64, |n, axis| n.saturating_mul(axis.values().len() as u64));
    if all <= runs as u64 {
        return ((0..all).collect(), all);
    }
    // Floyd's sample without repetition.
    let (mut rng, mut found) = (Rng::new(seed), BTreeSet::new());
    for last in all - runs as u64..all {
        let drawn = rng.next_u64() % (last + 1);
        if !found.insert(drawn) {
            found.insert(last);
        }
    }
    (found.into_iter().collect(), all)
}

/// Returns the values of a point, by axis.
fn values(axes: &[Axis], mut index: u64) -> Vec<&str> {
    let mut values: Vec<&str> = axes
        .iter()
        .rev()
        .map(|axis| {
            let n = axis.values().len() as u64;
            let value = axis.values()[(index % n) as usize].as_str();
            index /= n;
            value
        })
        .collect();
    values.reverse();
    values
}

/// Returns the plan of a point.
fn plan(
    file: &LabFile,
    axes: &[Axis],
    values: &[&str],
    change: &impl Fn(&mut raw::Lab),
) -> Result<LabPlan, ExploreError> {
    let said = || {
        let all = axes.iter().zip(values).map(|(axis, value)| format!("{}={value}", axis.path()));
        format!("with {}: ", all.collect::<Vec<_>>().join(" "))
    };
    let mut file = file.clone();
    for (axis, value) in axes.iter().zip(values) {
        file.write(axis, value).map_err(|error| ExploreError::Config(error, said()))?;
    }
    let (plan, _) = file.plan(None, change).map_err(|e| ExploreError::Config(e, said()))?;
    Ok(plan)
}

/// Explores a lab file in the virtual world. `change` alters each lab, such as by arguments of a
/// command; `stop` ends it with the runs that are finished, whose number `progress` gets.
///
/// # Errors
/// A value that the file refuses, which is found before the first run, or an objective that no
/// result has.
pub fn explore(
    file: &LabFile,
    exploration: &Exploration,
    change: impl Fn(&mut raw::Lab) + Sync,
    stop: &AtomicBool,
    progress: impl Fn(usize, usize) + Sync,
) -> Result<Explored, ExploreError> {
    let Exploration { axes, objectives, runs, jobs, seed } = exploration;
    let change = |lab: &mut raw::Lab| {
        lab.seed = seed.unwrap_or(lab.seed);
        change(lab);
    };
    let (lab, _) =
        file.plan(None, change).map_err(|error| ExploreError::Config(error, String::new()))?;
    let (name, lab_seed) = (lab.name.clone(), lab.network.seed);
    let (indices, of) = chosen(axes, *runs, lab_seed);
    for index in &indices {
        plan(file, axes, &values(axes, *index), &change)?;
    }
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let found: Mutex<Vec<Option<Result<Point, ExploreError>>>> =
        Mutex::new(indices.iter().map(|_| None).collect());
    let keep = |n: usize, point| {
        let mut found = found.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        found[n] = Some(point);
    };
    std::thread::scope(|scope| {
        for _ in 0..(*jobs).clamp(1, indices.len().max(1)) {
            scope.spawn(|| {
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    let Some(index) = indices.get(n) else { return };
                    let values = values(axes, *index);
                    let point = plan(file, axes, &values, &change)
                        .and_then(|plan| run(&plan, &values, objectives, stop));
                    // A run that was interrupted has no results.
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                    if point.is_err() {
                        // No thread takes another point.
                        next.store(indices.len(), Ordering::Relaxed);
                    }
                    keep(n, point);
                    progress(done.fetch_add(1, Ordering::Relaxed) + 1, indices.len());
                }
            });
        }
    });
    let found = found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    let mut points = found.into_iter().flatten().collect::<Result<Vec<_>, _>>()?;
    mark(&mut points, objectives);
    Ok(Explored {
        version: env!("CARGO_PKG_VERSION").into(),
        lab: name,
        seed: lab_seed,
        axes: axes.iter().map(|axis| axis.path().to_owned()).collect(),
        objectives: objectives.clone(),
        of,
        planned: indices.len(),
        points,
    })
}

/// Runs a point.
fn run(
    plan: &LabPlan,
    values: &[&str],
    objectives: &[Objective],
    stop: &AtomicBool,
) -> Result<Point, ExploreError> {
    let options = Options { stop: Some(stop), ..Options::default() };
    let run = Runner::new(World::Virtual).run(plan, options, |_| ())?;
    let outcome: &Outcome = &run.outcome;
    let results = objectives.iter().map(|objective| objective.of(outcome));
    let results = results.collect::<Result<_, _>>().map_err(ExploreError::Objective)?;
    let is_bad = |check: &&super::CheckOutcome| check.verdict > Verdict::NotJudged;
    Ok(Point {
        values: values.iter().map(|value| (*value).to_owned()).collect(),
        front: false,
        verdict: outcome.verdict,
        failed: outcome.checks.iter().filter(is_bad).map(|check| check.name.clone()).collect(),
        results,
        trace_hash: outcome.trace_hash.clone(),
    })
}

/// Marks the points on the front. A run with a check that failed or is inconclusive is no candidate, nor is
/// one without a result for an objective.
fn mark(points: &mut [Point], objectives: &[Objective]) {
    let candidates: Vec<Option<Vec<f64>>> = points
        .iter()
        .map(|point| {
            let results: Option<Vec<f64>> = point.results.iter().copied().collect();
            results.filter(|_| point.verdict <= Verdict::NotJudged)
        })
        .collect();
    let senses: Vec<Sense> = objectives.iter().map(|objective| objective.sense).collect();
    for (point, on) in points.iter_mut().zip(front(&candidates, &senses)) {
        point.front = on;
    }
}
