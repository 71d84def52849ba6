//! Devices with other thresholds and another buffer than their files say.

use super::changed::{ends, fails_as, judged, plain};
use super::{GOOD, all_pass, calm, skips, tagged, validate, validate_at};
use crate::judge::Outcome;
use crate::observation::{Observation, Way};
use crate::test::Level;
use crate::trial::{FlowId, Port, Trial};

/// The good device with a dynamic threshold.
const DYNAMIC: &str = include_str!("../../../../../configs/validate/dynamic.yaml");

fn with(from: &str, to: &str) -> String {
    super::with(GOOD, from, to)
}

/// The good device that never pauses, or has another defect.
fn defect(text: &str, kind: &str) -> String {
    format!("{text}  faults: [{{defect: {{on: s1, kind: {kind}}}}}]\n")
}

/// The good device with less headroom than its file says.
fn with_headroom(bytes: &str) -> String {
    with("{xoff: 104000}}", &format!("{{xoff: {bytes}}}}}\n    headroom_check: off"))
}

#[test]
fn good_devices_pass_at_all_values() {
    let ids = ["V-H01", "V-H02", "V-H03", "V-H04", "V-H07", "V-X09"];
    all_pass(&validate_at(Level::Full, GOOD, &ids));
    all_pass(&validate_at(Level::Full, DYNAMIC, &[&ids[..], &["V-H05", "V-X12"]].concat()));
}

/// One cell is the margin; the proof has other offsets.
#[test]
fn an_xon_offset_that_is_two_cells_lower_is_found() {
    let offset =
        |bytes: &str| with("{xoff: 104000}", &format!("{{xoff: 104000, xon_offset: {bytes}}}"));
    fails_as(&offset("2912B"), "V-H03", "from XOFF down to XON");
    ends(&plain(&offset("3120B"), "V-H03"), Outcome::Pass, "");
}

#[test]
fn a_dynamic_threshold_in_place_of_a_static_one_is_found() {
    let dynamic = with("static_th: 105872", "dynamic_th: -4");
    fails_as(&dynamic, "V-H01", "bytes of priority 3 that cause XOFF");
}

#[test]
fn a_device_without_pauses_or_xon_fails() {
    for id in ["V-H03", "V-X09"] {
        fails_as(&defect(GOOD, "never-pauses"), id, "pauses of priority 3");
        fails_as(&defect(GOOD, "never-resumes"), id, "XON of priority 3");
    }
}

#[test]
fn what_is_missing_is_named() {
    let without = |line: &str| with(line, "");
    let xon = ["V-H03", "V-X09"];
    skips(&without("  xoff: 105872\n"), &["V-H03", "V-X09", "V-H04", "V-H07"], "expected.xoff is");
    skips(&without("  cell: 208\n"), &xon, "expected.cell is missing");
    skips(&without("  xon_offset: 3328\n"), &xon[..1], "expected.xon_offset is missing");
    let expiry = with("  cell: 208\n  xoff", "  expiry_only: true\n  cell: 208\n  xoff");
    skips(&expiry, &xon, "expected.expiry_only");
    let short =
        with("{detection: 1ms, restoration: 2ms, p", "{detection: 150us, restoration: 2ms, p");
    skips(&short, &xon, "expected.watchdog.detection");
    skips(&without("  headroom: 104000\n"), &["V-H04", "V-H06"], "expected.headroom is missing");
    skips(GOOD, &["V-H05"], "expected.dynamic_th is missing");
    let unknown = super::with(DYNAMIC, "  shared: 499200\n", "");
    skips(&unknown, &["V-H04", "V-H05", "V-H07"], "expected.shared is missing");
    let two = with("ports: [{}, {}, {}, {}]", "ports: [{}, {}]");
    skips(&two, &["V-H03", "V-H04", "V-H05", "V-H07"], "ports: 3 are needed");
}

/// XON that may have come before or after the end of the time in which it is awaited.
#[test]
fn uncertain_times_of_xon_are_inconclusive() {
    let vague = |_: &Trial, seen: &mut Observation| {
        seen.uncertainty = ground::time::Duration::from_millis(1);
    };
    ends(&judged((GOOD, "V-H03", true), &|_| {}, &vague), Outcome::Inconclusive, "");
}

#[test]
fn frames_lost_behind_xoff_say_nothing_about_xon() {
    let lossy = |trial: &Trial, seen: &mut Observation| {
        if trial.name.starts_with("XON") {
            let last = seen.of(FlowId(0), Way::Received).last().cloned();
            seen.records.retain(|record| Some(record) != last.as_ref());
        }
    };
    ends(&judged((GOOD, "V-H03", true), &|_| {}, &lossy), Outcome::Error, "");
}

#[test]
fn headroom_that_is_not_there_for_all_is_found() {
    // Each group alone has all that its file says; the proof has V-H04 find it.
    all_pass(&validate(&with("total: 2MiB", "total: 1200000B"), &["V-H01", "V-H02"]));
    fails_as(&with_headroom("102960"), "V-H04", "lost frames of priority");
    let one = with("pfc: {enable: [3, 4]}", "pfc: {enable: [3]}");
    fails_as(&one, "V-H04", "pauses of priority 4");
}

#[test]
fn another_pool_or_none_is_found() {
    let larger = super::with(DYNAMIC, "total: 1539200", "total: 1544192");
    fails_as(&larger, "V-H05", "from 1 ports each");
    fails_as(&super::with(DYNAMIC, "pfc: {enable: [3, 4]}", ""), "V-H05", "pauses for");
}

#[test]
fn cells_of_another_size_are_found() {
    // Frames of 64 bytes fill as many cells as told, and others twice as many: V-H07 finds it in the proof.
    let half = with("static_th: 105872", "static_th: 52936");
    all_pass(&validate(&super::with(&half, "      cell: 208\n", "      cell: 104\n"), &["V-H01"]));
    fails_as(&with_headroom("10KiB"), "V-H07", "lost 64-byte frames");
    fails_as(&defect(GOOD, "never-pauses"), "V-H07", "pauses for");
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
    // One cell is the margin.
    let close = leaking("{shared: {static_th: 105664}, lossless: {xoff: 104000}}");
    ends(&plain(&close, "V-H06"), Outcome::Pass, "");
    fails_as(&defect(GOOD, "never-pauses"), "V-H06", "pauses of priority 3 at A");
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
    ends(&result, Outcome::Skip, "of 300 in the longest time");
    let large = with("lossless: {xoff: 104000}}", "lossless: {xoff: 600000}}");
    skips(&large.replace("2MiB", "8MiB"), &["V-H06"], "the headroom is not found");
}

#[test]
fn a_fast_port_without_pauses_or_xon_fails() {
    fails_as(&defect(DYNAMIC, "never-pauses"), "V-X12", "pauses of priority 3 at A");
    // It pauses for as long as it can whenever its limit is near, and never resumes.
    fails_as(&defect(DYNAMIC, "never-resumes"), "V-X12", "share of priority 3 of the line of E");
}

/// The slowest port sends, or the fastest receives, only in the test of different rates.
#[test]
fn ports_of_another_rate_are_used_by_one_test() {
    let fast = DYNAMIC.replace("{rate: 25G}", "{rate: 400G}");
    let fast = fast.replace("104000", "520000").replace("total: 1539200", "total: 5699200");
    all_pass(&validate(&fast, &["V-R03", "V-H04", "V-H05", "V-M06", "V-X12"]));
    let close = DYNAMIC.replace("{rate: 25G}", "{rate: 95G}");
    skips(&close, &["V-X12"], "ports.rate");
    skips(GOOD, &["V-X12"], "ports.rate");
    let two =
        DYNAMIC.replace("ports: [{}, {}, {}, {}, {rate: 25G}]", "ports: [{}, {}, {rate: 25G}]");
    skips(&two, &["V-H04", "V-X01"], "ports: 3 are needed, and the file has 2 at 100");
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

#[test]
fn the_good_device_has_its_thresholds_at_other_rates_and_with_tags() {
    let ids = ["V-H01", "V-H02", "V-H03", "V-H04", "V-H06", "V-H07", "V-X09"];
    for text in [calm("10G"), calm("400G"), tagged(GOOD)] {
        all_pass(&validate(&text, &ids));
    }
}
