//! What a swarm comes to.

use std::collections::BTreeMap;
use std::time::Duration as WallSpan;

use serde::Serialize;

use super::{Faults, Swarm, Trial};
use crate::sim::check::Cause;
use crate::verdict::Verdict;

/// A swarm's results. All but [`Summary::slowest`] and [`Summary::seconds`] follow from its seed
/// and its size.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// The seed.
    pub seed: u64,
    /// Labs that were run.
    pub labs: u64,
    /// What identifies all that happened in all of them.
    pub trace_hash: String,
    /// Frames that started on lines.
    pub frames: u64,
    /// Pauses that switches sent, refreshed ones too.
    pub pauses: u64,
    /// Resumptions that switches sent.
    pub resumptions: u64,
    /// Frames that switches marked.
    pub marks: u64,
    /// Frames that switches dropped, for whatever reason.
    pub drops: u64,
    /// Frames lost on lines.
    pub line_losses: u64,
    /// Storms that watchdogs found.
    pub watchdog_storms: u64,
    /// Faults that were planned.
    pub faults: Faults,
    /// Labs that deadlocked, whose ways form circles.
    pub deadlocks: u64,
    /// Labs that were judged for marks before pauses.
    pub judged_for_marks: u64,
    /// Labs that were judged for equal shares.
    pub judged_for_shares: u64,
    /// Frames of lossless priorities dropped for want of buffer without an excuse.
    pub lossless_drops: u64,
    /// The same, where something does: by cause.
    pub excused_drops: BTreeMap<Cause, u64>,
    /// Labs that failed, by number.
    pub failed: Vec<Failed>,
    /// The lab that took longest.
    pub slowest: Option<Slowest>,
    /// How long the swarm took, in seconds.
    pub seconds: f64,
    #[serde(skip)]
    hashes: Vec<u64>,
    #[serde(skip)]
    start: std::time::Instant,
}

/// A lab that failed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Failed {
    /// Its number in the swarm.
    pub lab: u64,
    /// Its seed: a swarm of one with it is this lab.
    pub seed: u64,
    /// The check that objects.
    pub check: &'static str,
    /// In words.
    pub detail: String,
}

/// The lab that took longest.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Slowest {
    /// Its number in the swarm.
    pub lab: u64,
    /// Its seed.
    pub seed: u64,
    /// How long it took.
    pub milliseconds: f64,
}

impl Summary {
    pub(super) fn new(swarm: Swarm) -> Self {
        Self {
            seed: swarm.seed,
            labs: 0,
            trace_hash: String::new(),
            frames: 0,
            pauses: 0,
            resumptions: 0,
            marks: 0,
            drops: 0,
            line_losses: 0,
            watchdog_storms: 0,
            faults: Faults::default(),
            deadlocks: 0,
            judged_for_marks: 0,
            judged_for_shares: 0,
            lossless_drops: 0,
            excused_drops: Cause::ALL.into_iter().map(|cause| (cause, 0)).collect(),
            failed: vec![],
            slowest: None,
            seconds: 0.0,
            hashes: vec![0; usize::try_from(swarm.count).unwrap_or(usize::MAX)],
            start: std::time::Instant::now(),
        }
    }

    /// Adds the `n`th lab, in any order.
    pub(super) fn take(&mut self, n: u64, seed: u64, trial: &Trial, took: WallSpan) {
        let totals = &trial.totals;
        self.labs += 1;
        self.hashes[n as usize] = trial.trace_hash;
        self.frames += trial.frames;
        self.pauses += totals.pauses;
        self.resumptions += totals.resumptions;
        self.marks += totals.marks;
        self.drops += totals.drops;
        self.line_losses += totals.lost;
        self.watchdog_storms += totals.storms;
        self.faults.add(&trial.faults);
        self.deadlocks += u64::from(trial.deadlocks > 0);
        self.judged_for_marks += u64::from(trial.judges_marks);
        self.judged_for_shares += u64::from(trial.judges_shares);
        self.lossless_drops += totals.lossless_drops;
        for (cause, n) in totals.excused.by_cause() {
            *self.excused_drops.entry(cause).or_default() += n;
        }
        if let Some(failure) = trial.failure() {
            let (check, detail) = (failure.check, failure.detail.clone());
            self.failed.push(Failed { lab: n, seed, check, detail });
        }
        let milliseconds = took.as_secs_f64() * 1e3;
        if self.slowest.is_none_or(|slowest| slowest.milliseconds < milliseconds) {
            self.slowest = Some(Slowest { lab: n, seed, milliseconds });
        }
    }

    /// All labs are there.
    pub(super) fn close(&mut self) {
        self.failed.sort_by_key(|failed| failed.lab);
        // Order matters, as it does in a trace.
        let fold =
            |hash: u64, one: &u64| (hash.rotate_left(5) ^ one).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.trace_hash = format!("{:016x}", self.hashes.iter().fold(0, fold));
        self.seconds = self.start.elapsed().as_secs_f64();
    }

    /// The verdict: FAIL if a lab failed, PASS if labs ran and none did.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match (self.labs, self.failed.is_empty()) {
            (_, false) => Verdict::Fail,
            (0, true) => Verdict::NotJudged,
            (_, true) => Verdict::Pass,
        }
    }
}
