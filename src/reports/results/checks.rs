//! Checks of a run, and gaps between polls.

use serde::{Deserialize, Serialize};

use ground::described;
use ground::time::Duration;
use ground::verdict::Verdict;
use runtime::PollRecord;

/// One check of a run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CheckSummary {
    /// The name that it has in every run.
    pub name: String,
    /// The result.
    pub verdict: Verdict,
    /// Findings, or the reason why it is not judged.
    pub detail: String,
    /// False where there is nothing to judge, and where the user has switched the check off; the verdict of the run does not depend on it then.
    pub applies: bool,
}

described! {
    /// Gaps between a worker's polls.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
    PollsSummary {
        /// The longest gap between two polls.
        longest_gap_ns: u64 = Gauge,
        /// The longest gap between two polls that headroom is planned for (`link.poll_gap`); null where no port of the
        /// worker has a lossless group.
        planned_gap_ns: Option<u64> = Gauge,
        /// Gaps between polls that were longer than planned.
        late_polls: u64 = Counter,
    }
}

impl PollsSummary {
    pub(super) fn new(gaps: &PollRecord) -> Self {
        Self {
            longest_gap_ns: gaps.longest.as_nanos(),
            planned_gap_ns: gaps.planned.map(Duration::as_nanos),
            late_polls: gaps.late,
        }
    }
}
