//! Results in the Common Test Report Format (CTRF, ctrf.io), a JSON document.

use serde_json::{Value, json};

use super::repeat;
use crate::judge::Outcome;
use crate::suite::Results;
use crate::suite::TestResult;

/// Version of the format.
const SPEC: &str = "1.0.0";

/// Returns the results in the form of CTRF; `file` is the DUT file. Policy and inconclusive tests have the
/// status `other`, an error is a failure; `rawStatus` is the outcome.
///
/// # Panics
/// Never: all values have a form in JSON.
#[must_use]
pub fn ctrf(results: &Results, file: &str) -> String {
    let count = |status: &str| results.tests.iter().filter(|t| self::status(t) == status).count();
    let start = results.tests.iter().map(|test| millis(test.start_s)).min().unwrap_or(0);
    let ends = results.tests.iter().map(|test| millis(test.start_s + test.duration_s));
    let document = json!({
        "reportFormat": "CTRF",
        "specVersion": SPEC,
        "generatedBy": "sluice validate",
        "results": {
            "tool": {"name": "sluice", "version": ground::program::version()},
            "summary": {
                "tests": results.tests.len(),
                "passed": count("passed"),
                "failed": count("failed"),
                "skipped": count("skipped"),
                "pending": 0,
                "other": count("other"),
                "start": start,
                "stop": ends.max().unwrap_or(0),
            },
            "tests": results.tests.iter().map(|test| one(results, test, file)).collect::<Vec<_>>(),
            "environment": {"appName": results.dut, "testEnvironment": results.world},
            "extra": {"level": results.level, "seed": results.seed, "interrupted": results.interrupted},
        },
    });
    serde_json::to_string_pretty(&document).expect("all values have a form in JSON") + "\n"
}

fn one(results: &Results, test: &TestResult, file: &str) -> Value {
    json!({
        "name": format!("{} {}", test.id, test.title),
        "status": status(test),
        "rawStatus": test.outcome.name(),
        "duration": millis(test.duration_s),
        "start": millis(test.start_s),
        "stop": millis(test.start_s + test.duration_s),
        "suite": ["sluice validate", results.dut],
        "message": test.detail,
        "retries": test.attempts.saturating_sub(1),
        "flaky": test.attempts > 1 && test.outcome == Outcome::Pass,
        "tags": core::iter::once(&test.id).chain(test.aliases).collect::<Vec<_>>(),
        "filePath": format!("docs/src/validate/{}.md", test.id),
        "extra": {"proven": test.proven, "repeat": repeat(results, file, test.id)},
    })
}

const fn status(test: &TestResult) -> &'static str {
    match test.outcome {
        Outcome::Pass => "passed",
        Outcome::Fail | Outcome::Error => "failed",
        Outcome::Skip => "skipped",
        Outcome::Policy | Outcome::Inconclusive => "other",
    }
}

fn millis(seconds: f64) -> u64 {
    (seconds.max(0.0) * 1e3).round() as u64
}
