//! Findings of a checker.

use super::excuses::Excuse;
use ground::time::Instant;
use ground::verdict::Verdict;

/// Property that a checker holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Check {
    /// Conservation of frames, on every line and in every node.
    Frames,
    /// Conservation of buffer cells.
    Cells,
    /// No loss on lossless priorities.
    Lossless,
    /// No frame starts while its priority is paused.
    PauseLegality,
    /// Pauses of a switch are sent in time, refreshed, and resumed in time.
    PausesSent,
    /// Every pause ends.
    PausesEnd,
    /// No circle of queues waits for itself.
    Deadlock,
    /// No line is idle while frames wait for it that nobody pauses.
    IdleLines,
    /// Switches mark before they pause.
    EcnBeforePfc,
    /// Frames have CE where a switch marked them, and keep it.
    Marks,
    /// Flows get equal shares.
    Fairness,
}

/// Result of a checker.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    pub check: Check,
    /// The result.
    pub verdict: Verdict,
    /// A sentence: what was seen, or what was wrong first, where and when.
    pub detail: String,
    /// Causes that explain some of the failures, which are therefore not judged.
    pub excuses: Vec<Excuse>,
    /// Lost frames of lossless priorities whose cause is known.
    pub known: KnownLosses,
    /// True if nothing happened that the check is about, so that it had nothing to judge.
    pub is_empty: bool,
}

/// Lost frames of lossless priorities whose cause is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct KnownLosses {
    /// Planned faults of the environment, which a lab cannot hold against its devices.
    pub planned: u64,
    /// What devices do by configuration or by a defect.
    pub unplanned: u64,
}

impl Finding {
    /// A finding without excuses.
    pub const fn new(check: Check, verdict: Verdict, detail: String) -> Self {
        let known = KnownLosses { planned: 0, unplanned: 0 };
        Self { check, verdict, detail, excuses: vec![], known, is_empty: false }
    }

    /// A check that could not see what it judges, for this reason.
    pub const fn not_judged(check: Check, why: String) -> Self {
        Self::new(check, Verdict::NotJudged, why)
    }
}

impl Check {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Frames,
        Self::Cells,
        Self::Lossless,
        Self::PauseLegality,
        Self::PausesSent,
        Self::PausesEnd,
        Self::Deadlock,
        Self::IdleLines,
        Self::EcnBeforePfc,
        Self::Marks,
        Self::Fairness,
    ];

    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Frames => "frames",
            Self::Cells => "cells",
            Self::Lossless => "lossless",
            Self::PauseLegality => "pause_legality",
            Self::PausesSent => "pauses_told",
            Self::PausesEnd => "pauses_end",
            Self::Deadlock => "no_deadlock",
            Self::IdleLines => "idle_lines",
            Self::EcnBeforePfc => "ecn_before_pfc",
            Self::Marks => "marks",
            Self::Fairness => "fairness",
        }
    }
}

/// Number of things that a check judged. A check that judged none promises nothing, so it is no PASS.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    pub(super) count: u64,
    /// The reason to give where the count is 0.
    pub(super) without: &'static str,
}

impl Extent {
    /// An extent of `count` frames that were sent.
    pub(super) const fn sent(count: u64) -> Self {
        Self { count, without: "no frame was sent" }
    }
}

/// The first of what is wrong, with its time and in words, and how often there was more.
#[derive(Clone, Debug, Default)]
pub(super) struct First {
    what: Option<What>,
    times: u64,
}

/// Something wrong: when, where, and in words.
#[derive(Clone, Debug)]
struct What {
    at: Instant,
    /// Number of the node or place. Of two findings at one time, the one with the lower number counts.
    place: usize,
    text: String,
}

impl First {
    /// Something is wrong, as seen where all nodes have reached the same time.
    #[cold]
    pub(super) fn record(&mut self, time: Instant, what: impl FnOnce() -> String) {
        self.record_at(time, 0, what);
    }

    /// Something is wrong at the place of this number.
    #[cold]
    pub(super) fn record_at(&mut self, time: Instant, place: usize, what: impl FnOnce() -> String) {
        self.times += 1;
        // Calls about different nodes may be in another order than that of time; those of one time are
        // in the order of their places.
        if self.what.as_ref().is_none_or(|first| time < first.at) {
            let text = format!("at {}: {}", time.since(Instant::ZERO), what());
            self.what = Some(What { at: time, place, text });
        }
    }

    /// Adds what another part of the network has seen at other places.
    pub(super) fn unite(&mut self, other: Self) {
        self.times += other.times;
        // The same finding is the first, however the network was divided.
        let firsts = self.what.take().into_iter().chain(other.what);
        self.what = firsts.min_by_key(|what| (what.at, what.place));
    }

    pub(super) fn is_none(&self) -> bool {
        self.times == 0
    }

    /// PASS with `detail`, FAIL with the first of what is wrong, or not judged if nothing was.
    pub(super) fn finding(
        self,
        check: Check,
        extent: Extent,
        detail: impl FnOnce() -> String,
    ) -> Finding {
        self.finding_as(check, Verdict::Fail, extent, detail)
    }

    /// PASS with `detail`, `otherwise` with the first of what is wrong, or not judged if nothing was.
    pub(super) fn finding_as(
        self,
        check: Check,
        otherwise: Verdict,
        extent: Extent,
        detail: impl FnOnce() -> String,
    ) -> Finding {
        let is_empty = self.what.is_none() && extent.count == 0;
        let (verdict, text) = match (self.what, self.times) {
            (None, _) => match Verdict::of_judged(true, extent.count) {
                Verdict::NotJudged => (Verdict::NotJudged, extent.without.into()),
                verdict => (verdict, detail()),
            },
            // The first finding is told in full, and the others are counted.
            (Some(What { text, .. }), 1) => (otherwise, text),
            (Some(What { text, .. }), n) => (otherwise, format!("{text}; {} times more", n - 1)),
        };
        Finding { is_empty, ..Finding::new(check, verdict, text) }
    }
}
