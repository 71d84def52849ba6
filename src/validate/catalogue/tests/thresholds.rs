//! Devices with other thresholds and another buffer than their files say.

use super::changed::{fails_as, judged};
use super::{GOOD, all_pass, validate, validate_at};
use crate::judge::Outcome;
use crate::observation::{Observation, Way};
use crate::suite::Results;
use crate::test::Level;
use crate::trial::{FlowId, Port, Trial};

/// The good device with a dynamic threshold.
const DYNAMIC: &str = include_str!("../../../../configs/validate/dynamic.yaml");

/// The good device with another XON offset than its file says.
fn with_offset(offset: &str) -> String {
    with("lossless: {xoff: 104000}", &format!("lossless: {{xoff: 104000, xon_offset: {offset}}}"))
}

/// The good device with a part of its file replaced.
fn with(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    GOOD.replacen(from, to, 1)
}

/// Asserts that all tests are skipped, and name what is missing.
fn skips(results: &Results, part: &str) {
    for test in &results.tests[1..] {
        assert_eq!(test.outcome, Outcome::Skip, "{test:#?}");
        assert!(test.detail.contains(part), "{test:#?}");
    }
}

#[test]
fn the_good_device_passes_at_all_values() {
    let ids = ["V-H01", "V-H02", "V-H03", "V-H04", "V-H07", "V-X09"];
    all_pass(&validate_at(Level::Full, GOOD, &ids));
}

#[test]
fn the_good_device_with_a_dynamic_threshold_passes_at_all_values() {
    let ids = ["V-H01", "V-H02", "V-H03", "V-H04", "V-H05", "V-H07", "V-X09", "V-X12"];
    all_pass(&validate_at(Level::Full, DYNAMIC, &ids));
}

#[test]
fn another_xon_offset_is_found() {
    for offset in ["52000B", "3744B", "2912B"] {
        fails_as(&with_offset(offset), "V-H03", "from XOFF down to XON");
    }
    for offset in ["0B", "832B"] {
        fails_as(&with_offset(offset), "V-X09", "from XOFF down to XON");
    }
    // One cell is the margin.
    let close = judged((&with_offset("3120B"), "V-H03", true), &|_| {}, &|_, _| {});
    assert_eq!(close.outcome, Outcome::Pass, "{close:#?}");
}

#[test]
fn a_device_without_pauses_or_xon_fails() {
    let defect = |kind: &str| format!("{GOOD}  faults: [{{defect: {{on: s1, kind: {kind}}}}}]\n");
    for id in ["V-H03", "V-X09"] {
        fails_as(&defect("never-pauses"), id, "pauses of priority 3");
        fails_as(&defect("never-resumes"), id, "XON of priority 3");
    }
}

#[test]
fn tests_of_xon_name_what_is_missing() {
    let without = |line: &str| with(line, "");
    let ids = ["V-H03", "V-X09"];
    skips(&validate(&without("  xoff: 105872\n"), &ids), "expected.xoff is missing");
    skips(&validate(&without("  cell: 208\n"), &ids), "expected.cell is missing");
    skips(&validate(&without("  xon_offset: 3328\n"), &ids[..1]), "expected.xon_offset is missing");
    let expiry = with("  cell: 208\n  xoff", "  expiry_only: true\n  cell: 208\n  xoff");
    skips(&validate(&expiry, &ids), "expected.expiry_only");
    let short = with(
        "watchdog: {detection: 1ms, restoration: 2ms, poll",
        "watchdog: {detection: 150us, restoration: 2ms, poll",
    );
    skips(&validate(&short, &ids), "expected.watchdog.detection");
}

/// XON that may have come before or after the end of the time in which it is awaited.
#[test]
fn uncertain_times_of_xon_are_inconclusive() {
    let vague = |_: &Trial, seen: &mut Observation| {
        seen.uncertainty = ground::time::Duration::from_millis(1);
    };
    let result = judged((GOOD, "V-H03", true), &|_| {}, &vague);
    assert_eq!(result.outcome, Outcome::Inconclusive, "{result:#?}");
}

#[test]
fn frames_lost_behind_xoff_say_nothing_about_xon() {
    let lossy = |trial: &Trial, seen: &mut Observation| {
        if trial.name.starts_with("XON") {
            let last = seen.of(FlowId(0), Way::Received).last().cloned();
            seen.records.retain(|record| Some(record) != last.as_ref());
        }
    };
    let result = judged((GOOD, "V-H03", true), &|_| {}, &lossy);
    assert_eq!(result.outcome, Outcome::Error, "{result:#?}");
}

#[test]
fn headroom_that_is_not_there_for_all_is_found() {
    // Each group alone has all that its file says.
    let small = with("total: 2MiB", "total: 1200000B");
    all_pass(&validate(&small, &["V-H01", "V-H02"]));
    fails_as(&small, "V-H04", "lost frames of priority");
    let less =
        with("lossless: {xoff: 104000}}", "lossless: {xoff: 102960}}\n    headroom_check: off");
    fails_as(&less, "V-H04", "lost frames of priority");
    let one = with("pfc: {enable: [3, 4]}", "pfc: {enable: [3]}");
    fails_as(&one, "V-H04", "pauses of priority 4");
}

#[test]
fn another_dynamic_threshold_is_found() {
    let with = |to: &str| {
        DYNAMIC.replace(
            "lossless: {shared: {dynamic_th: -1}",
            &format!("lossless: {{shared: {{{to}}}"),
        )
    };
    fails_as(&with("static_th: 166400"), "V-H05", "from 2 ports each");
    fails_as(&with("dynamic_th: 0"), "V-H05", "from 1 ports each");
    fails_as(&DYNAMIC.replace("total: 1539200", "total: 1544192"), "V-H05", "from 1 ports each");
    let none = DYNAMIC.replace("pfc: {enable: [3, 4]}", "");
    fails_as(&none, "V-H05", "pauses for");
}

#[test]
fn cells_of_another_size_are_found() {
    // Frames of 64 bytes fill as many cells as told, and others twice as many.
    let half = with("static_th: 105872", "static_th: 52936");
    let half = half.replace("      cell: 208\n", "      cell: 104\n");
    all_pass(&validate(&half, &["V-H01"]));
    fails_as(&half, "V-H07", "bytes of cells of 208-byte frames");
    let none =
        with("lossless: {xoff: 104000}}", "lossless: {xoff: 10KiB}}\n    headroom_check: off");
    fails_as(&none, "V-H07", "lost 64-byte frames");
    let never = format!("{GOOD}  faults: [{{defect: {{on: s1, kind: never-pauses}}}}]\n");
    fails_as(&never, "V-H07", "pauses for");
}

#[test]
fn tests_of_the_pool_name_what_is_missing() {
    skips(&validate(&with("  headroom: 104000\n", ""), &["V-H04"]), "expected.headroom is missing");
    skips(
        &validate(&with("  xoff: 105872\n", ""), &["V-H04", "V-H07"]),
        "expected.xoff is missing",
    );
    skips(&validate(GOOD, &["V-H05"]), "expected.dynamic_th is missing");
    let unknown = DYNAMIC.replace("  shared: 499200\n", "");
    skips(&validate(&unknown, &["V-H04", "V-H05", "V-H07"]), "expected.shared is missing");
    let two = with("ports: [{}, {}, {}, {}]", "ports: [{}, {}]");
    skips(&validate(&two, &["V-H03", "V-H04", "V-H05", "V-H07"]), "ports: 3 are needed");
}

#[test]
fn a_device_without_leaks_passes() {
    let one = with("expected:", "lossless: [3]\nexpected:");
    all_pass(&validate_at(Level::Full, &one, &["V-H06"]));
}

/// The good device whose group gets another profile during the overload.
fn leaking(profile: &str) -> String {
    let lossy = "        lossy: {shared: {dynamic_th: 0}}\n";
    let text = with(lossy, &format!("{lossy}        leaked: {profile}\n"));
    let text = text.replacen("    defaults:", "    headroom_check: off\n    defaults:", 1);
    format!(
        "{text}  faults: [{{at: 1ms, group: {{switch: s1, port: h1, group: 3, profile: leaked}}}}]\n"
    )
}

#[test]
fn a_leak_is_found() {
    let headroom = leaking("{shared: {static_th: 105872}, lossless: {xoff: 103376}}");
    fails_as(
        &headroom,
        "V-H06",
        "change of the bytes of priority 3 that are held after many pauses",
    );
    let shared = leaking("{shared: {static_th: 105248}, lossless: {xoff: 104000}}");
    fails_as(&shared, "V-H06", "change of XOFF of priority 3 after many pauses");
    // One cell is the margin.
    let close = leaking("{shared: {static_th: 105664}, lossless: {xoff: 104000}}");
    let close = judged((&close, "V-H06", true), &|_| {}, &|_, _| {});
    assert_eq!(close.outcome, Outcome::Pass, "{close:#?}");
    let never = format!("{GOOD}  faults: [{{defect: {{on: s1, kind: never-pauses}}}}]\n");
    fails_as(&never, "V-H06", "pauses of priority 3 at A");
    skips(&validate(&with("  headroom: 104000\n", ""), &["V-H06"]), "expected.headroom is missing");
}

/// Pauses that are fewer than the test wants, and a group that holds all frames.
#[test]
fn a_leak_that_was_not_looked_for_is_skipped() {
    let few = |trial: &Trial, seen: &mut Observation| {
        if trial.name.starts_with("thresholds") {
            let half = trial.length.div(4);
            seen.records.retain(|r| {
                r.way == Way::Sent
                    || r.port != Port(0)
                    || r.end < half
                    || r.end > half.saturating_mul(3)
            });
        }
    };
    let result = judged((GOOD, "V-H06", true), &|_| {}, &few);
    assert_eq!(result.outcome, Outcome::Skip, "{result:#?}");
    assert!(result.detail.contains("of 300 in the longest time"), "{result:#?}");
    let large = with("lossless: {xoff: 104000}}", "lossless: {xoff: 600000}}").replacen(
        "total: 2MiB",
        "total: 8MiB",
        1,
    );
    let result = judged((&large, "V-H06", true), &|_| {}, &|_, _| {});
    assert_eq!(result.outcome, Outcome::Skip, "{result:#?}");
    assert!(result.detail.contains("the headroom is not found"), "{result:#?}");
}

#[test]
fn a_fast_port_without_headroom_or_pauses_fails() {
    let none = DYNAMIC.replace("lossless: {xoff: 104000}", "lossless: {xoff: 1}");
    let none = none.replace("    defaults:", "    headroom_check: off\n    defaults:");
    fails_as(&none, "V-X12", "lost frames of priority 3 from A");
    let never = format!("{DYNAMIC}  faults: [{{defect: {{on: s1, kind: never-pauses}}}}]\n");
    fails_as(&never, "V-X12", "pauses of priority 3 at A");
    // It pauses for as long as it can whenever its limit is near, and never resumes.
    let slow = format!("{DYNAMIC}  faults: [{{defect: {{on: s1, kind: never-resumes}}}}]\n");
    fails_as(&slow, "V-X12", "share of priority 3 of the line of E");
}

/// The slowest port sends, or the fastest receives, only in the test of different rates.
#[test]
fn ports_of_another_rate_are_used_by_one_test() {
    let fast = DYNAMIC.replace("{rate: 25G}", "{rate: 400G}");
    let fast = fast.replace("104000", "520000").replace("total: 1539200", "total: 5699200");
    all_pass(&validate(&fast, &["V-R03", "V-H04", "V-H05", "V-M06", "V-X12"]));
    let close = DYNAMIC.replace("{rate: 25G}", "{rate: 95G}");
    skips(&validate(&close, &["V-X12"]), "ports.rate");
    skips(&validate(GOOD, &["V-X12"]), "ports.rate");
    let two =
        DYNAMIC.replace("ports: [{}, {}, {}, {}, {rate: 25G}]", "ports: [{}, {}, {rate: 25G}]");
    skips(&validate(&two, &["V-H04", "V-X01"]), "ports: 3 are needed, and the file has 2 at 100");
    all_pass(&validate(&two, &["V-X12"]));
}

#[test]
fn a_lab_with_links_of_different_rates_is_a_device() {
    let lab = "rate: 100G\nports: [{location: h1}, {location: h2}, {location: h3, rate: 40G}]\n\
               virtual:\n  lab:\n    topology: {star: {hosts: 3}}\n    \
               links: [{from: h3, to: s1, rate: 40G}]\n";
    all_pass(&validate(lab, &["V-R01", "V-X12"]));
    let untold = validate(&lab.replace(", rate: 40G}]\nvirtual", "}]\nvirtual"), &["V-X12"]);
    assert_eq!(untold.tests[0].outcome, Outcome::Error, "{untold:#?}");
    assert!(untold.tests[0].detail.contains("runs at 40"), "{untold:#?}");
}

/// At these rates more arrives in the peer's response, and at a low one the watchdog would act first.
#[test]
fn the_good_device_has_its_thresholds_at_other_rates_and_with_tags() {
    let lines = GOOD.lines().filter(|line| !line.contains("watchdog:"));
    let calm = lines.map(|line| format!("{line}\n")).collect::<String>();
    let large = [("105872", "950144"), ("104000", "900016"), ("total: 2MiB", "total: 16MiB")];
    let calm = large.iter().fold(calm, |text, (from, to)| text.replace(from, to));
    let ids = ["V-H01", "V-H02", "V-H03", "V-H04", "V-H06", "V-H07", "V-X09"];
    for rate in ["10G", "400G"] {
        all_pass(&validate(&calm.replace("100G", rate), &ids));
    }
    all_pass(&validate(&GOOD.replace("virtual:", "marking: {pcp: {}}\nvirtual:"), &ids));
}
