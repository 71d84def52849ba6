//! Failures as workflow commands of GitHub Actions, which shows them beside the run.

use super::repeat;
use crate::judge::Outcome;
use crate::suite::Results;

/// Returns a line for each test that failed or ended with an error, and a warning for each one that was
/// inconclusive; `file` is the DUT file, at which they are shown.
#[must_use]
pub fn annotations(results: &Results, file: &str) -> Vec<String> {
    let line = |test: &crate::suite::TestResult| {
        let command = match test.outcome {
            Outcome::Fail | Outcome::Error => "error",
            Outcome::Inconclusive => "warning",
            Outcome::Pass | Outcome::Skip | Outcome::Policy => return None,
        };
        let title = format!("{} {}", test.id, test.title);
        let text =
            format!("{}: {}; {}", test.outcome.name(), test.detail, repeat(results, file, test.id));
        Some(format!(
            "::{command} file={},title={}::{}",
            property(file),
            property(&title),
            message(&text)
        ))
    };
    results.tests.iter().filter_map(line).collect()
}

/// Escapes the characters that end a command or its message.
fn message(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes those of a message, and those that end a property.
fn property(text: &str) -> String {
    message(text).replace(':', "%3A").replace(',', "%2C")
}
