//! Results of checks.

use serde::Serialize;

use super::Nanos;
use crate::plan::Check;
use ground::time::Instant;
use ground::verdict::Verdict;
use sim::check;

/// Result of a check.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct CheckOutcome {
    /// Name in the lab.
    pub name: String,
    /// Verdict; the detail gives the reason if it is neither PASS nor FAIL.
    pub verdict: Verdict,
    /// Findings, as a sentence.
    pub detail: String,
    /// Causes of losses that are not judged.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub excuses: Vec<ExcuseOutcome>,
    /// Source of the expected value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// Cause of losses of one priority at one port.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ExcuseOutcome {
    pub cause: check::Cause,
    /// True if it is a fault of the lab file.
    pub planned: bool,
    /// Port that dropped the frames.
    pub place: String,
    /// Priority of the frames.
    pub priority: u8,
    /// Time at which the cause happened or began.
    pub from_ns: Nanos,
    /// End of the excuse; null if the group was still over its limit at the last drop.
    pub until_ns: Option<Nanos>,
    /// Number of frames.
    pub frames: u64,
}

impl From<&check::Excuse> for ExcuseOutcome {
    fn from(excuse: &check::Excuse) -> Self {
        let nanos = |at: Instant| Nanos(at.since(Instant::ZERO));
        Self {
            cause: excuse.cause,
            planned: excuse.cause.is_planned(),
            place: excuse.place.clone(),
            priority: excuse.priority.get(),
            from_ns: nanos(excuse.from),
            until_ns: excuse.until.map(nanos),
            frames: excuse.frames,
        }
    }
}

impl CheckOutcome {
    pub(crate) fn new(check: &Check, verdict: Verdict, detail: String) -> Self {
        let (name, source) = (check.name.clone(), check.source.clone());
        Self { name, verdict, detail, excuses: vec![], source }
    }

    /// Returns the outcome of a check that the real world cannot judge, with the reason.
    #[cfg(feature = "dpdk")]
    pub(crate) fn not_judged(check: &Check, why: impl Into<String>) -> Self {
        Self::new(check, Verdict::NotJudged, why.into())
    }
}
