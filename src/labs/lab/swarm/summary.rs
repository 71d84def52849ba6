//! Summary of a swarm.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Serialize;

use super::{Defects, Faults, Swarm};
use ground::verdict::Verdict;
use sim::check::{Cause, Totals};

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

    /// Counts the `n`th lab, in any order, with its hash and its duration in ms.
    pub(super) fn count(&mut self, n: u64, seed: u64, hash: u64, milliseconds: f64) {
        self.labs += 1;
        self.hashes[n as usize] = hash;
        if self.slowest.is_none_or(|slowest| slowest.milliseconds < milliseconds) {
            self.slowest = Some(Slowest { lab: n, seed, milliseconds });
        }
    }

    /// Adds the failure of a lab.
    pub(super) fn fail(&mut self, lab: u64, seed: u64, check: Cow<'static, str>, detail: String) {
        self.failed.push(Failed { lab, seed, check, detail });
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
