//! The swarm: labs drawn by chance, run with every checker, and what fails made small.
//!
//! [`run`] draws lab after lab from one seed. Everything of a lab follows from its own seed, and
//! all that is said of the swarm from its seed and size, so that neither the number of workers nor
//! the machine makes a difference. What a lab may do wrong follows from how it was made: nothing of
//! a lossless priority is dropped without an excuse that the checkers know, and nothing deadlocks unless
//! the ways of its flows form a circle. A lab that fails is made as small as it still fails by
//! [`shrink`].

mod circles;
mod draw;
mod promises;
mod shrink;
mod summary;
mod trial;
mod written;

pub use shrink::{Shrunk, shrink};
pub use summary::{Failed, Slowest, Summary};
pub use trial::{Failure, Faults, Trial, run as run_lab};
pub use written::as_yaml;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::Instant as Wall;

use crate::lab::raw::Lab;

/// One lab in so many is run twice, and has to give the same trace.
const TWICE: u64 = 16;

/// What is wanted of a swarm.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Swarm {
    /// How many labs.
    pub count: u64,
    /// The seed of all of them.
    pub seed: u64,
    /// How many are run at the same time, at least 1.
    pub jobs: usize,
}

/// The seed of the `n`th lab of a swarm. That of the first is the swarm's own, so that any lab is
/// had again as a swarm of one.
#[must_use]
pub fn lab_seed(swarm: u64, n: u64) -> u64 {
    if n == 0 {
        return swarm;
    }
    let mut dice = crate::congestion::Dice::new(swarm ^ n.wrapping_mul(0xd1b5_4a32_d192_ed03));
    dice.draw()
}

/// Draws the lab of a seed.
///
/// # Errors
/// What is wrong with what was drawn: nothing, or the drawing is.
pub fn draw(seed: u64) -> Result<Lab, crate::config::ConfigError> {
    draw::lab(seed)
}

/// Draws and runs the lab of a seed.
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

/// Runs a swarm. `progress` is told how many labs are done and how many of them failed, and answers
/// whether to go on; labs that have begun are finished.
pub fn run(swarm: Swarm, mut progress: impl FnMut(u64, u64) -> bool) -> Summary {
    let next = AtomicU64::new(0);
    let stop = AtomicBool::new(false);
    let (done, results) = mpsc::channel();
    let mut summary = Summary::new(swarm);
    std::thread::scope(|scope| {
        for _ in 0..swarm.jobs.max(1) {
            let (next, stop, done) = (&next, &stop, done.clone());
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= swarm.count {
                        break;
                    }
                    let start = Wall::now();
                    let seed = lab_seed(swarm.seed, n);
                    let trial = try_seed(seed, n % TWICE == 0);
                    if done.send((n, seed, trial, start.elapsed())).is_err() {
                        break;
                    }
                }
            });
        }
        drop(done);
        for (count, (n, seed, trial, took)) in (1..).zip(results) {
            summary.take(n, seed, &trial, took);
            if !progress(count, summary.failed.len() as u64) {
                stop.store(true, Ordering::Relaxed);
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    summary.close();
    summary
}

#[cfg(test)]
mod tests;
