//! The swarm: generates random labs, runs them with every checker, and shrinks those that fail
//! (fuzzing).
//!
//! [`run`] generates labs from one seed. A lab and its results follow from its seed alone, and the
//! summary from the swarm's seed and size, so neither the number of workers nor the machine makes a
//! difference. The allowed behaviour of a lab follows from its configuration: no frame of a
//! lossless priority is dropped without an excuse that the checkers know, and there is no deadlock
//! unless the paths of its flows form a cycle. One lab in eight has a defect: the lab runs without it, as all
//! others, and once more with it, and fails if the defect does harm that the checks of a lab pass (`harm.rs`).
//! [`shrink`] makes a failing lab as small as possible while it still fails.

mod draw;
pub(crate) mod harm;
mod row;
mod shrink;
mod summary;
mod trial;
mod written;

pub use row::{JoinError, LabRow, join};
pub use shrink::{Shrunk, shrink};
pub use summary::{Failed, Slowest, Summary};
pub use trial::{Defects, Failure, Faults, Trial, run as run_lab};
pub use written::as_yaml;

use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;
use std::time::Instant as Wall;

use crate::raw::Lab;
use crate::study::{Shard, in_order};

/// One in this many labs is run twice, and both runs must give the same trace.
const TWICE: u64 = 16;

/// Parameters of a swarm.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Swarm {
    /// Number of labs.
    pub count: u64,
    /// Seed of the swarm.
    pub seed: u64,
    /// Number of labs that run at the same time, at least 1.
    pub jobs: usize,
}

/// Returns the seed of the `n`th lab of a swarm. The first has the swarm's seed, so that any lab
/// can be repeated as a swarm of one.
#[must_use]
pub fn lab_seed(swarm: u64, n: u64) -> u64 {
    if n == 0 {
        return swarm;
    }
    let mut rng = ground::rand::Rng::new(swarm ^ n.wrapping_mul(0xd1b5_4a32_d192_ed03));
    rng.next_u64()
}

/// Generates the lab of a seed.
///
/// # Errors
/// Invalid fields of the generated lab; an error is a bug of the generator.
pub fn draw(seed: u64) -> Result<Lab, config::ConfigError> {
    draw::lab(seed)
}

/// Generates and runs the lab of a seed.
fn try_seed(seed: u64, twice: bool) -> Trial {
    let lab = match draw(seed) {
        Ok(lab) => lab,
        Err(error) => {
            let failures = vec![Failure { check: "resolve", detail: error.to_string() }];
            return Trial { failures, ..Trial::default() };
        }
    };
    let mut trial = trial::run(&lab);
    if twice && trial.failures.is_empty() {
        let again = trial::run(&lab).trace_hash;
        if again != trial.trace_hash {
            let detail = format!("trace {:016x}, and {again:016x} again", trial.trace_hash);
            trial.failures.push(Failure { check: "same_trace", detail });
        }
    }
    trial
}

/// Runs a swarm. `progress` receives the number of finished and of failed labs, and returns false
/// to stop; labs that have started are finished.
pub fn run(swarm: Swarm, mut progress: impl FnMut(u64, u64) -> bool) -> Summary {
    let stop = AtomicBool::new(false);
    run_part(swarm, Shard::WHOLE, &stop, |_, done, failed| {
        if !progress(done, failed) {
            stop.store(true, std::sync::atomic::Ordering::SeqCst);
        }
        true
    })
}

/// Runs a part of a swarm. `done` receives the row of each lab, in order, with the number of finished and
/// of failed labs, and returns false to end; once `stop` is set, labs that have started are finished.
pub fn run_part(
    swarm: Swarm,
    shard: Shard,
    stop: &AtomicBool,
    mut done: impl FnMut(&LabRow, u64, u64) -> bool,
) -> Summary {
    let mut summary = Summary::new(swarm);
    let work = |n: &u64| {
        let start = Wall::now();
        let trial = try_seed(lab_seed(swarm.seed, *n), n % TWICE == 0);
        Some(LabRow::new(swarm, *n, &trial, start.elapsed()))
    };
    in_order(shard.numbers(swarm.count), swarm.jobs, stop, work, |_, row| {
        row.add_to(&mut summary);
        match done(&row, summary.labs, summary.failed.len() as u64) {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    });
    summary.close();
    if !shard.is_whole() {
        summary.trace_hash = None;
    }
    summary
}

#[cfg(test)]
mod tests;
