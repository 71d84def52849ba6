use super::*;
use crate::judge::{Limits, Measurement, Outcome};
use crate::observation::Way;
use crate::setup::{Keep, Tolerances};
use crate::suite::TestResult;
use crate::test::Level;

fn test(id: &'static str, outcome: Outcome, measurements: Vec<Measurement>) -> TestResult {
    TestResult {
        id,
        aliases: &["L01"],
        title: "a <title> & more",
        outcome,
        detail: format!("{} of {id}", outcome.name()),
        measurements,
        proven: id != "V-2",
        applies: true,
        attempts: 1,
        start_s: 1.5,
        duration_s: 0.25,
        file: "family.rs",
        line: 7,
        seen: Vec::new(),
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
    let mut results = results();
    results.tests.push(test("V-R01", Outcome::Fail, vec![]));
    let limits = Tolerances { rate: 0.1, ..failed("ignores-pfc", "V-R01").1.limits };
    let xml = junit(&results, "dut.yaml", &limits, &testbed);
    assert!(xml.starts_with("<?xml") && !xml.contains("testsuites"), "{xml}");
    for part in [
        r#"tests="7""#,
        r#"failures="2""#,
        r#"errors="1""#,
        r#"skipped="3""#,
        "lab &lt;1&gt;",
        r#"classname="V-4""#,
        r#"file="family.rs" line="7""#,
        r#"name="CustomMsg""#,
        "a &lt;title&gt; &amp; more",
        "policy: policy of V-2",
        "fail: silence: 3 ns, at most 2 allowed",
        "clause: 802.1Q 36.1.2\n",
        "keep their rates within 10 %.",
        "repeat: sluice validate dut.yaml --only V-R01 --level quick --seed 7</failure>",
    ] {
        assert!(xml.contains(part), "{part}: {xml}");
    }
    results.tests.pop();
    let text = table(&results);
    assert!(
        text.ends_with("1 pass, 1 skip, 1 policy, 1 inconclusive, 1 fail, 1 error\n"),
        "{text}"
    );
    assert!(text.lines().all(|line| line.len() <= 80));
}

#[test]
fn a_test_that_was_repeated_says_so() {
    let mut results = results();
    assert!(
        !table(&results).contains("repeated") && ctrf(&results, "f").contains("\"retries\": 0")
    );
    results.tests[0].attempts = 3;
    let text = table(&results);
    assert!(
        text.contains("repeated because inconclusive (times run in all): V-00 (3)\n"),
        "{text}"
    );
    let limits = failed("ignores-pfc", "V-R01").1.limits;
    let xml = junit(&results, "dut.yaml", &limits, &Testbed::default());
    assert!(xml.contains(r#"name="attempts" value="3""#), "{xml}");
    let line = json_lines(&results, "dut.yaml");
    assert!(line.starts_with('{') && line.contains("\"attempts\":3"), "{line}");
    let report = ctrf(&results, "dut.yaml");
    assert!(report.contains("\"retries\": 2") && report.contains("\"flaky\": true"), "{report}");
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
    assert_eq!(only(&[Pass, Pass, Skip]), Verdict::NotJudged);
    assert_eq!(only(&[Pass, Pass, Policy]), Verdict::Pass);
    assert_eq!(only(&[Pass, Pass, Inconclusive]), Verdict::Inconclusive);
    assert_eq!(only(&[Pass, Pass, Fail]), Verdict::Fail);
    assert_eq!(only(&[Error]), Verdict::Fail);
    let mut other = Results { tests: vec![test("V-1", Pass, vec![]); 2], ..results() };
    (other.tests[1].outcome, other.tests[1].applies) = (Skip, false);
    assert_eq!(other.verdict(false), Verdict::Pass, "a test that does not apply");
    other.tests.remove(0);
    assert_eq!(other.verdict(false), Verdict::NotJudged, "no test applies");
    let mut ended = results();
    ended.tests.truncate(1);
    ended.interrupted = true;
    assert_eq!(ended.verdict(false), Verdict::Inconclusive, "what was not run is no pass");
}

/// A device with a fault, tested with everything kept.
fn failed(kind: &str, id: &str) -> (Results, crate::setup::Setup) {
    let faults = format!("{{defect: {{on: s1, kind: {kind}}}}}");
    let text = format!(
        "rate: 100G\nports: [{{}}, {{}}, {{}}]\n\
         virtual: {{profile: {{defaults: {{pfc: {{enable: [3, 4]}}}}}}, faults: [{faults}]}}\n"
    );
    let (mut dut, _) = crate::file::parse("dut.yaml", &text).unwrap();
    dut.setup.keep = Keep::Frames;
    let mut bench = crate::virtual_bench::VirtualBench::new(dut.setup.clone(), dut.lab.unwrap());
    let only = vec![id.to_owned()];
    let selection = crate::suite::Selection { level: Level::Quick, only, retry: 0 };
    let results = crate::suite::run(&dut.setup, &selection, &mut bench, |_, _, _| true);
    (results, dut.setup)
}

#[test]
fn a_failure_has_a_capture_with_comments_on_its_frames() {
    let (results, setup) = failed("ignores-pfc, priorities: [3]", "V-R01");
    let test = &results.tests[1];
    assert_eq!(test.outcome, Outcome::Fail, "{test:?}");
    let captures = captures(&results, &setup, "dut.yaml").unwrap();
    assert_eq!(captures.len(), 1, "none of what passed");
    assert_eq!(captures[0].name, "V-R01.pcapng");
    let mut reader = pcap_file::pcapng::PcapNgReader::new(&captures[0].octets[..]).unwrap();
    let (mut marked, mut pauses, mut last) = (0, 0, std::time::Duration::ZERO);
    while let Some(block) = reader.next_block() {
        let pcap_file::pcapng::Block::EnhancedPacket(packet) = block.unwrap() else { continue };
        assert!(packet.timestamp >= last, "frames are in order");
        last = packet.timestamp;
        let comment = packet.options.iter().any(|option| {
            use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption::Comment;
            matches!(option, Comment(text) if text == "begins while its priority is paused")
        });
        marked += usize::from(comment);
        pauses += usize::from(packet.data[12..14] == [0x88, 0x08]);
    }
    let frames = test.measurements.iter().find(|m| m.what.contains("against the pause")).unwrap();
    assert_eq!(marked as f64, frames.value);
    assert!(pauses > 2, "{pauses} pauses");
}

#[test]
fn a_trace_has_rates_and_pauses() {
    let (results, _) = failed("obeys-for-all", "V-R01");
    let seen = results.tests[1].seen.last().unwrap();
    assert_eq!(seen.rates.len(), 8);
    let (at, rate) = seen.rates[0].points[1];
    assert!((1e10..2e10).contains(&rate), "an eighth of 100 Gb/s at {at} ns: {rate}");
    let storms: Vec<_> = seen.pauses.iter().filter(|p| p.way == Way::Sent).collect();
    assert_eq!(storms.len(), 1, "a storm without gaps: {storms:?}");
    assert_eq!((storms[0].port.as_str(), storms[0].priority), ("B", Some(3)));
}

/// A pause is counted in bit times of its own line, and a capture names the speed of each.
#[test]
fn evidence_of_a_port_of_another_rate_has_its_rate() {
    use crate::observation::{Observation, Record, What};
    use crate::trial::{Port, Trial, pfc_frame};
    use ground::time::Duration;
    use ground::units::{BitsPerSec, Mac, Priority, Quanta};

    let text = "rate: 100G\nports: [{}, {}, {rate: 25G}]\n\
                virtual: {profile: {defaults: {pfc: {enable: [3]}}}}\n";
    let (dut, _) = crate::file::parse("dut.yaml", text).unwrap();
    let octets = pfc_frame(Mac([2; 6]), &[(Priority::ALL[3], Quanta(1_000))]);
    let record = |port| Record {
        port: Port(port),
        way: Way::Sent,
        begin: Duration::ZERO,
        end: Duration::from_micros(1),
        len: 64,
        what: What::Control(octets.clone().into()),
        head: Box::default(),
        secured: None,
    };
    let observed = Observation { records: vec![record(0), record(2)], ..Observation::default() };
    let trial = Trial::new("pauses", Duration::from_millis(1));
    let seen = crate::trace::Seen::of(&trial, &observed, &dut.setup, Keep::Frames);
    let lengths: Vec<_> = seen.pauses.iter().map(|p| p.until.saturating_sub(p.from)).collect();
    let time = |gbps| Quanta(1_000).at(BitsPerSec::gbps(gbps));
    assert_eq!(lengths, [time(100), time(25)]);

    let mut results = results();
    results.tests[4].seen = vec![seen];
    let captures = captures(&results, &dut.setup, "dut.yaml").unwrap();
    let mut reader = pcap_file::pcapng::PcapNgReader::new(&captures[0].octets[..]).unwrap();
    let mut speeds = Vec::new();
    while let Some(block) = reader.next_block() {
        use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption::IfSpeed;
        let pcap_file::pcapng::Block::InterfaceDescription(of) = block.unwrap() else { continue };
        speeds.extend(of.options.iter().filter_map(|option| match option {
            IfSpeed(bps) => Some(bps / 1_000_000_000),
            _ => None,
        }));
    }
    assert_eq!(speeds, [100, 100, 25]);
}

#[test]
fn nothing_is_kept_without_need() {
    let (mut results, setup) = failed("obeys-for-all", "V-R01");
    assert!(results.tests[0].seen.iter().all(|seen| seen.frames.is_empty()), "V-00 passed");
    results.tests.iter_mut().for_each(|test| test.outcome = Outcome::Pass);
    assert!(captures(&results, &setup, "dut.yaml").unwrap().is_empty());
}

#[test]
fn conformance_is_shown_by_passes_alone() {
    let lines = conformance(&results());
    assert!(lines.iter().all(|line| line.support == "not shown"), "{lines:?}");
    let only = |outcome| {
        let mut results = results();
        results.tests = vec![test("V-R06", outcome, vec![])];
        let lines = conformance(&results);
        lines.into_iter().find(|line| line.requirement == "delay constraint").unwrap().support
    };
    assert_eq!(only(Outcome::Pass), "yes");
    assert_eq!(only(Outcome::Fail), "no");
    assert_eq!(only(Outcome::Inconclusive), "not shown");
}

/// The fields that the format's schema requires, and the sums of its statuses.
#[test]
fn ctrf_counts_each_test_once() {
    let document: serde_json::Value = serde_json::from_str(&ctrf(&results(), "dut.yaml")).unwrap();
    assert_eq!(document["reportFormat"], "CTRF");
    let summary = &document["results"]["summary"];
    let of = |name: &str| summary[name].as_u64().unwrap();
    assert_eq!(of("passed") + of("failed") + of("skipped") + of("other"), of("tests"));
    assert_eq!((of("passed"), of("failed"), of("skipped"), of("other")), (1, 2, 1, 2));
    assert_eq!((of("start"), of("stop"), of("pending")), (1500, 1750, 0));
    let tests = document["results"]["tests"].as_array().unwrap();
    let failed = tests.iter().find(|test| test["rawStatus"] == "fail").unwrap();
    assert_eq!((&failed["status"], &failed["message"]), (&"failed".into(), &"fail of V-4".into()));
    assert_eq!(failed["duration"], 250);
    assert_eq!(failed["tags"], serde_json::json!(["V-4", "L01"]));
    let error = tests.iter().find(|test| test["rawStatus"] == "error").unwrap();
    assert_eq!(error["status"], "failed");
}

#[test]
fn failures_are_annotated_and_passes_are_not() {
    let mut results = results();
    results.tests[4].title = "100 %, a:b";
    results.tests[4].detail = "one\ntwo 5 %".into();
    let lines = annotations(&results, "dut,1.yaml");
    let repeat = "sluice validate dut,1.yaml --only V-4 --level quick --seed 7";
    assert_eq!(
        lines[1],
        format!(
            "::error file=dut%2C1.yaml,title=V-4 100 %25%2C a%3Ab::fail: one%0Atwo 5 %25; {repeat}"
        )
    );
    let begin: Vec<_> = lines.iter().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(begin, ["::warning", "::error", "::error"], "{lines:#?}");
}
