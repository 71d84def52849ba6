//! Devices with other thresholds and another buffer than their files say.

use super::changed::{fails_as, judged};
use super::{GOOD, all_pass, validate, validate_at};
use crate::judge::Outcome;
use crate::observation::{Observation, Way};
use crate::suite::Results;
use crate::test::Level;
use crate::trial::{FlowId, Trial};

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
fn the_good_device_passes_at_both_levels() {
    let ids = ["V-H03", "V-X09"];
    all_pass(&validate(GOOD, &ids));
    all_pass(&validate_at(Level::Full, GOOD, &ids));
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
