//! Results of a run for people and programs: a table, JSON Lines, JUnit, CTRF, annotations of GitHub Actions,
//! captures, and a statement of conformance in the form of a PICS.

mod junit;

pub use junit::{Testbed, junit, only_suite};

use std::io;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};
use text::packets::{self, Interface, Notes, Packet, Pcapng};
use text::{Column, Table, columns};

use crate::bench::RINGS;
use crate::judge::{Measurement, Outcome};
use crate::observation::Way;
use crate::setup::{Setup, TesterPort};
use crate::suite::{Results, TestResult};

/// A file with evidence of a run, and its sum, by which a page shows that it belongs to it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct File {
    /// Path as it was given.
    pub name: String,
    pub bytes: usize,
    /// SHA-256 in hexadecimal.
    pub sha256: String,
}

/// Returns the command that repeats one test of a run.
pub fn repeat(results: &Results, file: &str, id: &str) -> String {
    let Results { level, seed, .. } = results;
    let world = if results.world == RINGS { " --world real" } else { "" };
    format!("sluice validate {file}{world} --only {id} --level {level} --seed {seed}")
}

/// Returns the table, with a line for each test that did not pass and the counts at the end.
pub fn table(results: &Results) -> String {
    let columns: [Column<TestResult>; 4] = columns! { test =>
        Text ["test"] = test.id;
        Text ["title"] = test.title;
        Text ["verdict"] = test.outcome.name();
        Printed ["s"] = format!("{:.1}", test.duration_s);
    };
    let mut text = Table::of(&results.tests, &columns).to_string();
    // What passed needs no reason; everything else has one.
    let others = results.tests.iter().filter(|test| test.outcome != Outcome::Pass);
    for (n, test) in others.enumerate() {
        if n == 0 {
            text.push('\n');
        }
        text += &format!("{} {}: {}\n", test.id, test.outcome.name(), test.detail);
    }
    let again = results.tests.iter().filter(|test| test.attempts > 1);
    let again: Vec<_> = again.map(|test| format!("{} ({})", test.id, test.attempts)).collect();
    if !again.is_empty() {
        let again = again.join(" ");
        text += &format!("\nrepeated because inconclusive (times run in all): {again}\n");
    }
    let unproven: Vec<_> = results.tests.iter().filter(|t| !t.proven).map(|t| t.id).collect();
    if !unproven.is_empty() {
        text += &format!("\nunproven, by no planted fault: {}\n", unproven.join(" "));
    }
    let count = |outcome| results.tests.iter().filter(|test| test.outcome == outcome).count();
    let counts = Outcome::ALL.map(|outcome| (outcome.name(), count(outcome)));
    let counts = counts.iter().filter(|(_, n)| *n > 0).map(|(name, n)| format!("{n} {name}"));
    if results.interrupted {
        text += "\ninterrupted: the tests that follow were not run\n";
    }
    text += &format!("\n{}\n", counts.collect::<Vec<_>>().join(", "));
    text
}

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
pub fn json_lines(results: &Results, file: &str) -> String {
    let mut text = String::new();
    // Every run begins with the tester's check of itself.
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
            // A test without a measurement has a line all the same, with the reason.
            lines.push(line(None));
        }
        for line in lines {
            text += &serde_json::to_string(&line).expect("all values have a form in JSON");
            text.push('\n');
        }
    }
    text
}

/// Version of the format.
const SPEC: &str = "1.0.0";

/// Returns the results in the form of CTRF; `file` is the DUT file. Policy and inconclusive tests have the
/// status `other`, an error is a failure; `rawStatus` is the outcome.
///
/// # Panics
/// Never: all values have a form in JSON.
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
        // CTRF's word for a test that passed only when it was repeated.
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
    // A clock that was set back gives no negative time.
    (seconds.max(0.0) * 1e3).round() as u64
}

/// Returns a line for each test that failed or ended with an error, and a warning for each one that was
/// inconclusive; `file` is the DUT file, at which they are shown.
pub fn annotations(results: &Results, file: &str) -> Vec<String> {
    let line = |test: &crate::suite::TestResult| {
        let command = match test.outcome {
            Outcome::Fail | Outcome::Error => "error",
            // A warning does not fail the job: a busy machine is no fault of the device.
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
    // `%` first, because the other escapes contain it.
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes those of a message, and those that end a property.
fn property(text: &str) -> String {
    message(text).replace(':', "%3A").replace(',', "%2C")
}

/// A capture.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Capture {
    /// Name of its file, such as `V-R01.pcapng`.
    pub name: String,
    pub octets: Vec<u8>,
}

/// Returns the captures of the tests that failed; `file` is the DUT file. Frames are kept only with
/// [`Keep::Frames`](crate::setup::Keep::Frames).
///
/// # Errors
/// None of a writer into memory.
pub fn captures(results: &Results, setup: &Setup, file: &str) -> io::Result<Vec<Capture>> {
    let failed = results.tests.iter().filter(|test| test.outcome == Outcome::Fail);
    let with_frames = failed.filter(|test| test.seen.iter().any(|seen| !seen.frames.is_empty()));
    with_frames.map(|test| capture(test, setup, &repeat(results, file, test.id))).collect()
}

fn capture(test: &TestResult, setup: &Setup, command: &str) -> io::Result<Capture> {
    let describe =
        |port: &TesterPort| format!("port {} of the tester, at {} of the DUT", port.name, port.dut);
    let descriptions: Vec<_> = setup.ports.iter().map(describe).collect();
    let interfaces = setup.ports.iter().zip(&descriptions).map(|(port, description)| {
        let TesterPort { name, rate, .. } = port;
        Interface { name, description, rate: Some(*rate), fcs: false }
    });
    let interfaces: Vec<_> = interfaces.collect();
    // Trials that passed have lost their frames.
    let trials = test.seen.iter().filter(|seen| !seen.frames.is_empty());
    let left_out: usize = trials.clone().map(|seen| seen.left_out).sum();
    let comment = format!(
        "{} {}: {}; {left_out} frames are left out; {command}",
        test.id, test.title, test.detail
    );
    let mut octets = Vec::new();
    let mut writer = Pcapng::new(&mut octets, Some(&comment), &interfaces)?;
    // One trial after the other.
    let mut start = Duration::ZERO;
    for seen in trials {
        for (n, kept) in seen.frames.iter().enumerate() {
            let time = start + Duration::from_nanos(kept.end.as_nanos());
            // Captures are without FCS, which the tester does not see either.
            let packet = Packet { at: time, octets: &kept.octets, len: kept.len.saturating_sub(4) };
            let way = match kept.way {
                Way::Sent => packets::Way::Out,
                Way::Received => packets::Way::In,
            };
            let first = (n == 0).then(|| format!("trial: {}", seen.trial));
            let comment = kept.comment.as_ref().or(first.as_ref()).map(String::as_str);
            let notes = Notes { interface: kept.port.0 as u32, way: Some(way), comment };
            writer.packet(&packet, &notes)?;
        }
        start += Duration::from_nanos(seen.length.as_nanos());
    }
    writer.flush()?;
    drop(writer);
    Ok(Capture { name: format!("{}.pcapng", test.id), octets })
}

/// A requirement, and the tests that decide about it.
struct Item {
    requirement: &'static str,
    clause: &'static str,
    tests: &'static [&'static str],
}

const ITEMS: &[Item] = &[
    Item {
        requirement: "PFC on at least one port and one priority",
        clause: "802.1Q 36.1.1",
        tests: &["V-R01", "V-X01"],
    },
    Item {
        requirement: "PFC on all lossless priorities and ports",
        clause: "802.1Q 36.1.1",
        tests: &["V-R02", "V-R03"],
    },
    Item {
        requirement: "M_CONTROL.indication: pauses are obeyed for their time",
        clause: "802.1Q 36.1.3.2, 802.3 31B.3.2",
        tests: &["V-R04", "V-R05", "V-R07", "V-R09", "V-R10"],
    },
    Item {
        requirement: "M_CONTROL.request: pauses are sent, and well formed",
        clause: "802.1Q 36.1.3.1",
        tests: &["V-X01", "V-X02", "V-X03"],
    },
    Item {
        requirement: "delay constraint",
        clause: "802.1Q 36.1.3.3, 802.3 31B.3.7",
        tests: &["V-R06"],
    },
    Item {
        requirement: "queues that know PFC: other priorities flow",
        clause: "802.1Q 36.1.2",
        tests: &["V-R01", "V-X06", "V-X11"],
    },
    Item {
        requirement: "invalid MAC control is ignored and not forwarded",
        clause: "802.3 31.4, 802.1Q 8.6.3",
        tests: &["V-M01", "V-M02", "V-M06"],
    },
    Item {
        requirement: "PAUSE is ignored while PFC is on",
        clause: "802.1Q 36.1.1",
        tests: &["V-M05"],
    },
    Item { requirement: "ETS: shares within 10 %", clause: "802.1Q 37.3", tests: &["V-S01"] },
    Item { requirement: "DCBX: configuration as agreed", clause: "802.1Q 38.4", tests: &["V-D02"] },
];

/// A line of the statement.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Conformance {
    pub requirement: &'static str,
    pub clause: &'static str,
    /// `yes` if all of its tests passed, `no` if one failed, else `not shown`.
    pub support: &'static str,
    /// Its tests with their outcomes; those that were not run have none.
    pub tests: Vec<(&'static str, Option<Outcome>)>,
}

/// Returns the statement.
pub fn conformance(results: &Results) -> Vec<Conformance> {
    let outcome = |id: &str| results.tests.iter().find(|t| t.id == id).map(|t| t.outcome);
    let line = |item: &Item| {
        let tests: Vec<_> = item.tests.iter().map(|id| (*id, outcome(id))).collect();
        let support = if tests.iter().any(|(_, outcome)| *outcome == Some(Outcome::Fail)) {
            "no"
        } else if tests.iter().all(|(_, outcome)| *outcome == Some(Outcome::Pass)) {
            "yes"
        } else {
            "not shown"
        };
        Conformance { requirement: item.requirement, clause: item.clause, support, tests }
    };
    ITEMS.iter().map(line).collect()
}

#[cfg(test)]
mod tests;
