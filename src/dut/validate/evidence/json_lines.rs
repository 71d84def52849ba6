//! JSON Lines: one object per measurement, from which all other views could be made.

use serde::Serialize;

use super::repeat;
use crate::judge::{Measurement, Outcome};
use crate::suite::Results;

/// A line. A test without a measurement (skipped, or ended by an error) has one without a value.
#[derive(Serialize)]
struct Line<'a> {
    id: &'a str,
    aliases: &'a [&'a str],
    /// Outcome of the whole test.
    verdict: Outcome,
    detail: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    measurement: Option<&'a Measurement>,
    dut: &'a str,
    world: &'a str,
    seed: u64,
    start_s: f64,
    attempts: u32,
    duration_s: f64,
    /// Outcome of the tester's check of itself.
    self_check: Option<Outcome>,
    /// True if a planted fault proves that the test finds one.
    proven: bool,
    /// Command that repeats the test.
    repeat: String,
}

/// Returns the results as JSON Lines; `file` is the DUT file.
///
/// # Panics
/// Never: all values have a form in JSON.
#[must_use]
pub fn json_lines(results: &Results, file: &str) -> String {
    let mut text = String::new();
    let self_check = results.tests.first().map(|test| test.outcome);
    for test in &results.tests {
        let line = |measurement| Line {
            id: test.id,
            aliases: test.aliases,
            verdict: test.outcome,
            detail: &test.detail,
            measurement,
            dut: &results.dut,
            world: results.world,
            seed: results.seed,
            start_s: test.start_s,
            attempts: test.attempts,
            duration_s: test.duration_s,
            self_check,
            proven: test.proven,
            repeat: repeat(results, file, test.id),
        };
        let mut lines: Vec<_> = test.measurements.iter().map(|m| line(Some(m))).collect();
        if lines.is_empty() {
            lines.push(line(None));
        }
        for line in lines {
            text += &serde_json::to_string(&line).expect("all values have a form in JSON");
            text.push('\n');
        }
    }
    text
}
