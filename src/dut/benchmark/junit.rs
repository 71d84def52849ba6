//! Results as JUnit, for continuous integration: a case for each measured row, and one for each number of
//! a comparison.

use std::time::Duration;

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use serde_json::Value;

use crate::baseline::{Compared, Comparison, Trend};
use crate::run::TOOK;
use crate::summary::{Metric, metrics};
use validate::bench::TrialError;
use validate::evidence::{Testbed, only_suite};

/// Returns the results of a procedure as JUnit XML, in the form that sonic-mgmt's uploader takes. A case has the
/// time of its trials in all runs: virtual for a virtual device, which is the topology of the testbed. Measured rows
/// pass; a run that ended early has a case with an error, of the type `inconclusive` if the machine disturbed it. Of
/// a comparison, a regression fails, and numbers and tests that are unclear or missing are errors: they may be
/// regressions.
///
/// # Panics
/// Never: all texts have a form in XML.
#[must_use]
pub fn junit(
    procedure: &str,
    testbed: &Testbed,
    runs: &[Value],
    ended: Option<&TrialError>,
    compared: Option<&Comparison>,
) -> String {
    let mut suite = TestSuite::new(format!("sluice benchmark {procedure} {}", testbed.host));
    for (name, value) in testbed.properties() {
        suite.add_property((name, value));
    }
    // Numbers of a row stand one behind the other, and each row is a case.
    let all = metrics(runs);
    let mut rest = &all[..];
    while let Some(first) = rest.first() {
        let is_same = |m: &Metric| m.test == first.test && m.about == first.about;
        let end = rest.iter().position(|m| !is_same(m)).unwrap_or(rest.len());
        let (row, more) = rest.split_at(end);
        rest = more;
        suite.add_test_case(measured(procedure, row));
    }
    if let Some(why) = ended {
        let kind = match why {
            TrialError::Disturbed(_) => "inconclusive",
            TrialError::Error(_) | TrialError::Missing(_) | TrialError::Interrupted => {
                "ended early"
            }
        };
        let status = failed(NonSuccessKind::Error, kind, &why.to_string());
        suite.add_test_case(case(procedure, "complete run", status));
    }
    for number in compared.iter().flat_map(|compared| &compared.numbers) {
        suite.add_test_case(of_number(procedure, number));
    }
    for test in compared.iter().flat_map(|compared| &compared.tests_missing) {
        let status = failed(NonSuccessKind::Error, "not judged", "only one of both has the test");
        suite.add_test_case(case(procedure, &format!("{test} against the baseline"), status));
    }
    // Without this case a comparison of nothing would pass.
    if compared.is_some_and(Comparison::compares_nothing) {
        let why = "no number of a test is in both";
        let status = failed(NonSuccessKind::Error, "not judged", why);
        suite.add_test_case(case(procedure, "comparison", status));
    }
    let mut report = Report::new("sluice");
    suite.set_time(suite.test_cases.iter().filter_map(|case| case.time).sum());
    report.add_test_suite(suite);
    only_suite(&report.to_string().expect("all texts have a form in XML"))
}

/// Page of the manual that describes the tests.
const PAGE: &str = "docs/src/benchmark.md";

fn case(procedure: &str, name: &str, status: TestCaseStatus) -> TestCase {
    let mut case = TestCase::new(name, status);
    case.set_classname(procedure);
    // A case that runs no trial takes no time.
    case.set_time(Duration::ZERO);
    case.extra.insert("file".into(), PAGE.into());
    // sonic-mgmt's uploader wants a line; the page as a whole is meant.
    case.extra.insert("line".into(), "1".into());
    case
}

fn failed(kind: NonSuccessKind, name: &str, why: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(kind);
    status.set_message(why);
    status.set_type(name);
    status
}

/// Returns the case of a row, with its numbers as properties.
fn measured(procedure: &str, row: &[Metric]) -> TestCase {
    let name = format!("{} {}", row[0].test, row[0].row());
    let mut case = case(procedure, name.trim(), TestCaseStatus::success());
    for metric in row {
        // The time of a case in all runs is the sum, not the mean.
        if metric.metric == TOOK {
            case.set_time(Duration::from_secs_f64(metric.samples.iter().sum()));
            continue;
        }
        case.add_property((metric.metric.as_str(), metric.mean().to_string().as_str()));
    }
    case
}

/// Returns the case of a compared number.
fn of_number(procedure: &str, number: &Compared) -> TestCase {
    let now = &number.now;
    let name = format!("{} {} {} against the baseline", now.test, now.row(), now.metric);
    let change = number.change_percent.map_or(String::new(), |change| format!(" ({change:.2} %)"));
    let why = || match number.before {
        None => format!("missing in the baseline, {} now", now.mean()),
        Some(before) if now.samples.is_empty() => {
            format!("{before} in the baseline, and missing now")
        }
        Some(before) => format!("{before} in the baseline, {} now{change}", now.mean()),
    };
    let trend = number.trend.to_string();
    let status = match number.trend {
        Trend::Progression | Trend::NoChange => TestCaseStatus::success(),
        Trend::Regression => failed(NonSuccessKind::Failure, &trend, &why()),
        Trend::Unclear | Trend::Missing | Trend::Unknown => {
            failed(NonSuccessKind::Error, &trend, &why())
        }
    };
    case(procedure, &name, status)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baseline::Runs;
    use serde_json::json;

    fn runs(rate: Option<f64>) -> Runs {
        let [procedure, dut, world] = ["rfc2544", "a", "virtual"].map(str::to_owned);
        let run = json!({"throughput": [{"size": 64, "frames_per_second": rate, "trials": 3}]});
        let parameters = Some([].into());
        Runs { procedure, dut, world, seed: 1, parameters, runs: vec![run], ended: None }
    }

    fn testbed(host: &str) -> Testbed {
        Testbed { host: host.to_owned(), topology: "virtual".to_owned(), ..Testbed::default() }
    }

    fn of(before: Option<f64>, now: Option<f64>) -> String {
        let (before, now) = (runs(before), runs(now));
        let compared = Comparison::of(&before, &now, &[], 0.01);
        junit("rfc2544", &testbed("a<b"), &now.runs, None, Some(&compared))
    }

    #[test]
    fn rows_pass_and_have_their_numbers() {
        let xml = junit("rfc2544", &testbed("a<b"), &runs(Some(5.0)).runs, None, None);
        assert!(xml.contains("tests=\"1\""), "{xml}");
        assert!(xml.contains("sluice benchmark rfc2544 a&lt;b"), "{xml}");
        assert!(xml.contains("name=\"throughput 64\""), "{xml}");
        assert!(xml.contains("name=\"frames_per_second\" value=\"5\""), "{xml}");
    }

    /// sonic-mgmt's uploader rejects files without these.
    #[test]
    fn cases_have_times_and_the_root_is_the_suite_with_all_properties() {
        let mut runs = runs(Some(5.0)).runs;
        runs[0]["throughput"][0]["took_s"] = json!(0.25);
        let xml = junit("rfc2544", &testbed("a"), &runs, Some(&TrialError::Interrupted), None);
        let root = xml.split_once("<testsuite ").map(|(before, _)| before);
        assert!(root.is_some_and(|before| !before.contains("testsuites")), "{xml}");
        for name in
            ["topology", "testbed", "timestamp", "host", "asic", "platform", "hwsku", "os_version"]
        {
            assert_eq!(
                xml.matches(&format!("<property name=\"{name}\"")).count(),
                1,
                "{name} in {xml}"
            );
        }
        for attribute in ["classname=", "file=", "line=", "name=", "time="] {
            let has =
                |case: &str| case.split_once('>').is_some_and(|(tag, _)| tag.contains(attribute));
            assert!(xml.split("<testcase ").skip(1).all(has), "{attribute} in {xml}");
        }
        assert!(xml.matches("time=\"0.250\"").count() == 2 && !xml.contains("took_s"), "{xml}");
    }

    #[test]
    fn regressions_fail_and_what_is_not_known_is_an_error() {
        let xml = of(Some(10.0), Some(9.0));
        assert!(
            xml.contains("failures=\"1\"") && xml.contains("10 in the baseline, 9 now"),
            "{xml}"
        );
        let xml = of(Some(10.0), Some(11.0));
        assert!(xml.contains("failures=\"0\"") && xml.contains("errors=\"0\""), "{xml}");
        let xml = of(Some(10.0), None);
        assert!(xml.contains("errors=\"1\"") && xml.contains("missing now"), "{xml}");
        let xml = of(None, Some(9.0));
        assert!(xml.contains("errors=\"1\"") && xml.contains("missing in the baseline"), "{xml}");
        let xml = of(None, None);
        assert!(
            xml.contains("errors=\"1\"") && xml.contains("no number of a test is in both"),
            "{xml}"
        );
    }

    #[test]
    fn a_test_that_only_one_of_both_has_is_an_error() {
        let (before, mut now) = (runs(Some(5.0)), runs(Some(5.0)));
        now.runs[0]["loss"] = json!([{"size": 64, "lost": 0}]);
        for (only, errors) in [(&["loss"][..], 1), (&[], 1)] {
            let compared = Comparison::of(&before, &now, only, 0.01);
            let xml = junit("rfc2544", &testbed("a"), &now.runs, None, Some(&compared));
            assert!(xml.contains(&format!("errors=\"{errors}\"")), "{xml}");
            assert!(xml.contains("name=\"loss against the baseline\""), "{xml}");
        }
        let compared = Comparison::of(&now, &before, &["throughput"], 0.01);
        let xml = junit("rfc2544", &testbed("a"), &before.runs, None, Some(&compared));
        assert!(xml.contains("errors=\"0\""), "{xml}");
    }

    #[test]
    fn a_run_that_ended_early_has_an_error() {
        let of =
            |why: &TrialError| junit("soak", &testbed("a"), &runs(Some(5.0)).runs, Some(why), None);
        let xml = of(&TrialError::Interrupted);
        assert!(xml.contains("errors=\"1\"") && xml.contains("type=\"ended early\""), "{xml}");
        let xml = of(&TrialError::Disturbed("no CPU for 9 ms".to_owned()));
        assert!(xml.contains("errors=\"1\"") && xml.contains("type=\"inconclusive\""), "{xml}");
        assert!(xml.contains("no CPU for 9 ms"), "{xml}");
    }
}
