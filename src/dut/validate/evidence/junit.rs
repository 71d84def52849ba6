//! JUnit in the form that sonic-mgmt's uploader takes: eight properties of the testbed, the start and
//! the end of each case, and a single `testsuite` as the root.

use std::time::Duration;

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::repeat;
use crate::catalogue;
use crate::judge::{Measurement, Outcome};
use crate::setup::Tolerances;
use crate::suite::Results;
use crate::suite::TestResult;
use crate::test::Test;

/// Properties of the testbed that sonic-mgmt wants; empty ones are allowed there.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Testbed {
    pub topology: String,
    pub testbed: String,
    pub timestamp: String,
    pub host: String,
    pub asic: String,
    pub platform: String,
    pub hwsku: String,
    pub os_version: String,
}

impl Testbed {
    /// Returns the names and values.
    pub fn properties(&self) -> [(&'static str, &str); 8] {
        [
            ("topology", &self.topology),
            ("testbed", &self.testbed),
            ("timestamp", &self.timestamp),
            ("host", &self.host),
            ("asic", &self.asic),
            ("platform", &self.platform),
            ("hwsku", &self.hwsku),
            ("os_version", &self.os_version),
        ]
    }
}

/// Returns the results of a DUT file with these limits as JUnit XML. Skipped, policy and inconclusive tests are
/// `skipped`, with the outcome and the reason as message.
///
/// # Panics
/// Never: all texts have a form in XML.
pub fn junit(results: &Results, file: &str, limits: &Tolerances, testbed: &Testbed) -> String {
    let mut suite = TestSuite::new(format!("sluice validate {}", results.dut));
    suite.set_time(results.tests.iter().map(time).sum());
    for (name, value) in testbed.properties() {
        suite.add_property((name, value));
    }
    let body = |test: &TestResult| body(results, file, limits, test);
    suite.add_test_cases(results.tests.iter().map(|test| case(test, &body(test))));
    let mut report = Report::new("sluice");
    report.add_test_suite(suite);
    let xml = report.to_string().expect("all texts have a form in XML");
    only_suite(&xml)
}

fn time(test: &TestResult) -> Duration {
    Duration::from_secs_f64(test.duration_s.max(0.0))
}

fn case(test: &TestResult, body: &str) -> TestCase {
    let status = |kind, name: &str| {
        let mut status = TestCaseStatus::non_success(kind);
        status.set_message(test.detail.as_str());
        status.set_type(name);
        status.set_description(body);
        status
    };
    let status = match test.outcome {
        Outcome::Pass => TestCaseStatus::success(),
        Outcome::Fail => status(NonSuccessKind::Failure, "fail"),
        Outcome::Error => status(NonSuccessKind::Error, "error"),
        Outcome::Skip | Outcome::Policy | Outcome::Inconclusive => {
            // JUnit has no other word for what neither passed nor failed.
            let mut status = TestCaseStatus::skipped();
            status.set_message(format!("{}: {}", test.outcome.name(), test.detail));
            status
        }
    };
    let mut case = TestCase::new(test.title, status);
    case.set_classname(test.id);
    case.set_time(time(test));
    case.extra.insert("file".into(), test.file.into());
    case.extra.insert("line".into(), test.line.to_string().into());
    case.add_property(("start", seconds(test.start_s).as_str()));
    case.add_property(("end", seconds(test.start_s + test.duration_s).as_str()));
    case.add_property(("attempts", test.attempts.to_string().as_str()));
    case.add_property(("CustomMsg", test.detail.as_str()));
    case.add_property(("test_id", test.id));
    case.add_property(("alias", test.aliases.join(" ").as_str()));
    case
}

/// Returns all that a reader of a failure needs: the values, what was done, what is asked, and the command that
/// repeats it.
fn body(results: &Results, file: &str, limits: &Tolerances, test: &TestResult) -> String {
    let mut text = judged(test);
    let mut tests = catalogue::TESTS.iter().chain([&catalogue::SELF_CHECK]);
    if let Some(known) = tests.find(|known| known.id == test.id) {
        let Test { clause, procedure, .. } = known;
        let criterion = known.criterion(Some(limits));
        text += &format!("\nclause: {clause}\nprocedure: {procedure}\npass: {criterion}");
    }
    text + &format!("\nrepeat: {}", repeat(results, file, test.id))
}

/// Returns the values that were judged, those that decided first, a line each.
fn judged(test: &TestResult) -> String {
    let (decided, others): (Vec<_>, Vec<_>) =
        test.measurements.iter().partition(|value| value.outcome == test.outcome);
    let line = |value: &&Measurement| format!("{}: {}", value.outcome.name(), value.detail);
    let lines: Vec<_> = decided.iter().chain(&others).map(line).collect();
    if lines.is_empty() { test.detail.clone() } else { lines.join("\n") }
}

fn seconds(s: f64) -> String {
    format!("{s:.6}")
}

/// Removes the root around the only suite: sonic-mgmt checks properties and cases of a root that is a
/// `testsuite`.
pub fn only_suite(xml: &str) -> String {
    let (head, rest) = xml.split_once("<testsuites").unwrap_or(("", xml));
    let inner = rest.split_once('>').map_or(rest, |(_, inner)| inner);
    let inner = inner.rsplit_once("</testsuites>").map_or(inner, |(inner, _)| inner);
    format!("{head}{}\n", inner.trim())
}
