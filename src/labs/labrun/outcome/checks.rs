//! Results of checks.

use serde::Serialize;

use crate::plan::Check;
use ground::verdict::Verdict;
use sim::check::Excuse;

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
    pub excuses: Vec<Excuse>,
    /// Source of the expected value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
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
