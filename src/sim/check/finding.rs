//! What a checker says in the end.

use super::excuses::Excuse;
use crate::time::Instant;
use crate::verdict::Verdict;

/// What was checked.
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
    /// What a switch wants paused is told in time, kept paused, and resumed in time.
    PausesTold,
    /// Every pause ends.
    PausesEnd,
    /// No circle of queues waits for itself.
    Deadlock,
    /// No line is idle while frames wait for it that nobody pauses.
    IdleLines,
    /// Switches mark before they pause.
    EcnBeforePfc,
    /// Flows get equal shares.
    Fairness,
}

/// What a checker found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// What was checked.
    pub check: Check,
    /// The result.
    pub verdict: Verdict,
    /// A sentence: what was seen, or what was wrong first, where and when.
    pub detail: String,
    /// Causes that explain some of the failures, which are therefore not judged.
    pub excuses: Vec<Excuse>,
}

impl Finding {
    /// A finding without excuses.
    #[must_use]
    pub const fn new(check: Check, verdict: Verdict, detail: String) -> Self {
        Self { check, verdict, detail, excuses: vec![] }
    }

    /// A check that could not see what it judges, for this reason.
    #[must_use]
    pub const fn not_judged(check: Check, why: String) -> Self {
        Self::new(check, Verdict::NotJudged, why)
    }
}

impl Check {
    /// Its name in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Frames => "frames",
            Self::Cells => "cells",
            Self::Lossless => "lossless",
            Self::PauseLegality => "pause_legality",
            Self::PausesTold => "pauses_told",
            Self::PausesEnd => "pauses_end",
            Self::Deadlock => "no_deadlock",
            Self::IdleLines => "idle_lines",
            Self::EcnBeforePfc => "ecn_before_pfc",
            Self::Fairness => "fairness",
        }
    }
}

/// The first of what is wrong, in words, and how often there was more.
#[derive(Debug, Default)]
pub(super) struct First {
    what: Option<String>,
    times: u64,
}

impl First {
    /// Something is wrong.
    #[cold]
    pub(super) fn see(&mut self, at: Instant, what: impl FnOnce() -> String) {
        self.times += 1;
        if self.what.is_none() {
            self.what = Some(format!("at {}: {}", at.since(Instant::ZERO), what()));
        }
    }

    pub(super) fn is_none(&self) -> bool {
        self.times == 0
    }

    /// PASS with `seen`, or FAIL with the first of what is wrong.
    pub(super) fn finding(self, check: Check, seen: impl FnOnce() -> String) -> Finding {
        self.finding_as(check, Verdict::Fail, seen)
    }

    /// PASS with `seen`, or `otherwise` with the first of what is wrong.
    pub(super) fn finding_as(
        self,
        check: Check,
        otherwise: Verdict,
        seen: impl FnOnce() -> String,
    ) -> Finding {
        let (verdict, detail) = match (self.what, self.times) {
            (None, _) => (Verdict::Pass, seen()),
            (Some(what), 1) => (otherwise, what),
            (Some(what), n) => (otherwise, format!("{what}; {} times more", n - 1)),
        };
        Finding::new(check, verdict, detail)
    }
}
