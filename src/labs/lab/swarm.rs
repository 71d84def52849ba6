//! The swarm: generates random labs, runs them with every checker, and shrinks those that fail
//! (fuzzing).
//!
//! [`run`] generates labs from one seed. A lab and its results follow from its seed alone, and the
//! summary from the swarm's seed and size, so neither the number of workers nor the machine makes a
//! difference. The allowed behaviour of a lab follows from its configuration: no frame of a
//! lossless priority is dropped without an excuse that the checkers know, and there is no deadlock
//! unless the paths of its flows form a cycle. One lab in eight has a defect: the lab runs without it, as all
//! others, and once more with it, and fails if the defect does harm that the checks of a lab pass (`trial.rs`).
//! [`shrink`] makes a failing lab as small as possible while it still fails.

mod draw;
mod lab_row;
mod shrink;
pub(crate) mod trial;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;
use std::time::Instant as Wall;

use crate::raw::Lab;
use crate::study::{Shard, in_order};
use ground::verdict::Verdict;
use serde::Serialize;
use sim::check::{Cause, Totals};

pub use lab_row::{JoinError, LabRow, as_yaml, join};
pub use shrink::{Shrunk, shrink};
pub use trial::{Defects, Failure, Faults, Trial, run as run_lab};

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
    // An odd constant: different numbers stay different, and neighbours get seeds that are far apart.
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
    // One failure is enough: the lab is reported anyway.
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
            // `done` returns true all the same: labs that have started are finished and counted.
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
    // The hash folds the labs in their order, and a part lacks most of them.
    if !shard.is_whole() {
        summary.trace_hash = None;
    }
    summary
}

/// Results of a swarm. All but [`Summary::slowest`] and [`Summary::seconds`] follow from its seed
/// and its size.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Summary {
    pub seed: u64,
    /// Labs that were run.
    pub labs: u64,
    /// Hash of all events of all labs; `None` for a part of a swarm, which has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_hash: Option<String>,
    /// Frames that started on lines.
    pub frames: u64,
    #[serde(flatten)]
    pub totals: Totals,
    pub faults: Faults,
    pub defects: Defects,
    /// Labs with a deadlock, where paths form cycles.
    pub deadlocks: u64,
    /// Labs that stood still behind forged frames or messages of switches, where paths form cycles: not
    /// judged for deadlocks; and those in which isolated flows starved others: not judged for their end.
    pub stood_still: u64,
    /// Labs in which marks before pauses were judged.
    pub judged_for_marks: u64,
    /// Labs in which equal throughput was judged.
    pub judged_for_shares: u64,
    /// Frames of lossless priorities dropped because the buffer was full, without an excuse.
    pub lossless_drops: u64,
    /// The same with an excuse, by its cause.
    pub excused_drops: BTreeMap<Cause, u64>,
    /// Labs that failed, by number.
    pub failed: Vec<Failed>,
    /// Lab with the longest run in real time.
    pub slowest: Option<Slowest>,
    /// Duration of the swarm in seconds.
    pub seconds: f64,
    #[serde(skip)]
    hashes: Vec<u64>,
    #[serde(skip)]
    start: Option<std::time::Instant>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Failed {
    /// Number in the swarm.
    pub lab: u64,
    /// Seed; a swarm of one with this seed is this lab.
    pub seed: u64,
    /// Check that failed.
    pub check: Cow<'static, str>,
    pub detail: String,
}

/// Lab with the longest run in real time.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Slowest {
    /// Number in the swarm.
    pub lab: u64,
    pub seed: u64,
    /// Duration of the run.
    pub milliseconds: f64,
}

impl Summary {
    pub(super) fn new(swarm: Swarm) -> Self {
        Self {
            seed: swarm.seed,
            excused_drops: Cause::ALL.into_iter().map(|cause| (cause, 0)).collect(),
            hashes: vec![0; usize::try_from(swarm.count).unwrap_or(usize::MAX)],
            start: Some(std::time::Instant::now()),
            ..Self::default()
        }
    }

    /// Ends the summary after the last lab.
    pub(super) fn close(&mut self) {
        self.failed.sort_by_key(|failed| failed.lab);
        // The order of labs matters.
        let fold =
            |hash: u64, one: &u64| (hash.rotate_left(5) ^ one).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.trace_hash = Some(format!("{:016x}", self.hashes.iter().fold(0, fold)));
        self.seconds = self.start.map_or(0.0, |start| start.elapsed().as_secs_f64());
    }

    /// Returns FAIL if a lab failed, PASS if labs ran and none did.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        Verdict::of_judged(self.failed.is_empty(), self.labs)
    }
}

#[cfg(test)]
mod tests;
