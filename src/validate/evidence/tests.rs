use super::*;
use crate::judge::{Limits, Measurement, Outcome};
use crate::test::{Level, TestResult};

fn test(id: &'static str, outcome: Outcome, measurements: Vec<Measurement>) -> TestResult {
    TestResult {
        id,
        aliases: &["L01"],
        title: "a <title> & more",
        outcome,
        detail: format!("{} of {id}", outcome.name()),
        measurements,
        start_s: 1.5,
        duration_s: 0.25,
        line: 7,
    }
}

fn results() -> Results {
    let value = Measurement::judge("silence", 3.0, Limits::at_most(2.0), 0.0, "ns");
    let tests = Outcome::ALL.iter().zip(["V-00", "V-1", "V-2", "V-3", "V-4", "V-5"]);
    let with = |outcome| if outcome == Outcome::Fail { vec![value.clone(); 2] } else { vec![] };
    Results {
        dut: "dut".into(),
        world: "virtual",
        level: Level::Quick,
        seed: 7,
        tests: tests.map(|(outcome, id)| test(id, *outcome, with(*outcome))).collect(),
        interrupted: false,
    }
}

#[test]
fn every_measurement_has_a_line_and_so_has_a_test_without_one() {
    let text = json_lines(&results(), "dut.yaml");
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 7);
    let failed: Vec<_> = lines.iter().filter(|line| line["verdict"] == "fail").collect();
    assert_eq!(failed.len(), 2);
    assert_eq!(failed[0]["measurement"]["value"], 3.0);
    assert_eq!(failed[0]["measurement"]["at_most"], 2.0);
    assert_eq!(failed[0]["self_check"], "pass");
    assert_eq!(failed[0]["repeat"], "sluice validate dut.yaml --only V-4 --level quick --seed 7");
    assert!(lines[1].get("measurement").is_none());
}

#[test]
fn junit_has_a_suite_as_its_root_and_counts_as_the_table_does() {
    let testbed = Testbed { host: "lab <1>".into(), ..Testbed::default() };
    let xml = junit(&results(), &testbed);
    assert!(xml.starts_with("<?xml") && !xml.contains("testsuites"), "{xml}");
    for part in [
        r#"tests="6""#,
        r#"failures="1""#,
        r#"errors="1""#,
        r#"skipped="3""#,
        "lab &lt;1&gt;",
        r#"classname="V-4""#,
        r#"line="7""#,
        r#"name="CustomMsg""#,
        "a &lt;title&gt; &amp; more",
        "policy: policy of V-2",
    ] {
        assert!(xml.contains(part), "{part}: {xml}");
    }
    let text = table(&results());
    assert!(
        text.ends_with("1 pass, 1 skip, 1 policy, 1 inconclusive, 1 fail, 1 error\n"),
        "{text}"
    );
    assert!(text.lines().all(|line| line.len() <= 80));
}

#[test]
fn a_run_is_as_good_as_its_tests() {
    use ground::verdict::Verdict;
    let only = |outcomes: &[Outcome]| {
        let ids = ["V-00", "V-1", "V-2", "V-3"];
        let tests = outcomes.iter().zip(ids).map(|(outcome, id)| test(id, *outcome, vec![]));
        Results { tests: tests.collect(), ..results() }.verdict(false)
    };
    use Outcome::{Error, Fail, Inconclusive, Pass, Policy, Skip};
    assert_eq!(only(&[Pass]), Verdict::NotJudged, "the tester alone is no result");
    assert_eq!(only(&[Pass, Skip]), Verdict::NotJudged);
    assert_eq!(only(&[Pass, Pass, Policy]), Verdict::Pass);
    assert_eq!(only(&[Pass, Pass, Inconclusive]), Verdict::Inconclusive);
    assert_eq!(only(&[Pass, Pass, Fail]), Verdict::Fail);
    assert_eq!(only(&[Error]), Verdict::Fail);
    let mut ended = results();
    ended.tests.truncate(1);
    ended.interrupted = true;
    assert_eq!(ended.verdict(false), Verdict::Inconclusive, "what was not run is no pass");
}
