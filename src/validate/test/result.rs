//! What a test found.

use crate::judge::{Measurement, Outcome};
use crate::trace::Seen;
use serde::Serialize;

/// Result of a test.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct TestResult {
    pub id: &'static str,
    pub aliases: &'static [&'static str],
    pub title: &'static str,
    pub outcome: Outcome,
    /// One sentence: the value that decided, or the reason why there is none.
    pub detail: String,
    pub measurements: Vec<Measurement>,
    /// True if a planted fault proves that the test finds one.
    pub proven: bool,
    /// False if it was skipped because the file lacks what it is about, and it was not asked for: it has no
    /// part in the verdict.
    pub applies: bool,
    /// Start of the test in seconds since 1970.
    pub start_s: f64,
    /// Duration of the test in seconds.
    pub duration_s: f64,
    /// Line of the test's description in its file.
    #[serde(skip)]
    pub line: u32,
    /// Trials that are kept as evidence.
    #[serde(skip)]
    pub seen: Vec<Seen>,
}
