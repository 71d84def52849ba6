//! Devices whose counters are wrong, and devices that lack some.

use super::changed::{ends, fails_as, fails_before, judged, plain, unable};
use super::{GOOD, all_pass, calm, skips, tagged, validate, validate_at};
use crate::judge::Outcome;
use crate::test::Level;
use crate::trial::{Trial, VECTOR};

const IDS: [&str; 5] = ["V-C01", "V-C02", "V-C03", "V-C04", "V-H08"];

/// The good device with another field of `virtual`.
fn with(field: &str) -> String {
    super::with(GOOD, "virtual:\n", &format!("virtual:\n  {field}\n"))
}

/// A device with the headroom of higher rates.
fn large(text: &str) -> String {
    text.replace("104000", "624000").replace("total: 2MiB", "total: 8MiB")
}

/// Asserts that a test fails for a device whose counters are wrong in one way.
fn fails(report: &str, id: &str, part: &str) {
    fails_as(&with(&format!("reports: [{report}]")), id, part);
}

#[test]
fn wrong_counters_of_pfc_are_found() {
    fails("pfc_lost", "V-C01", "pauses of priority 3 in a storm");
    fails("pfc_lost", "V-C01", "pauses of priority 3 that the device sends");
    let totals = ["XOFF for all priorities", "storm", "pauses of the device"]
        .map(|name| format!("in total, {name}"));
    totals.iter().for_each(|part| fails("pfc_totals_lost", "V-C01", part));
    // A device that counts a frame for the first priority that it names.
    let first = |trial: &mut Trial| {
        if trial.name.starts_with("XOFF for all") {
            trial.control.iter_mut().for_each(|control| control.octets[VECTOR + 1] = 1 << 3);
        }
    };
    fails_before("V-C01", "counted XOFF for all priorities, priority 4", &first);
}

#[test]
fn xon_is_judged_as_the_device_documents_it() {
    let as_said = |said: &str| GOOD.replace("  xon: counted\n", said);
    let part = "counted XON for each priority, priority 3";
    fails_as(&as_said("  xon: apart\n"), "V-C01", part);
    let result = plain(&as_said(""), "V-C01");
    ends(&result, Outcome::Pass, "");
    let xon = result.measurements.iter().find(|m| m.what == part).unwrap();
    assert_eq!((xon.outcome, xon.value), (Outcome::Policy, 13.0));
}

/// The proof has the rate of the good device.
#[test]
fn a_paused_time_in_quanta_is_found_at_other_rates() {
    for rate in ["10G", "400G"] {
        let text = large(&with("reports: [paused_in_quanta]")).replace("100G", rate);
        fails_as(&text, "V-C03", "counted time of priority 3, paused for 10 %");
    }
}

#[test]
fn sums_that_do_not_hold_are_found() {
    fails("data_lost", "V-C04", "counted data frames to C");
    fails("data_lost", "V-C02", "counted data frames at B");
}

#[test]
fn wrong_watermarks_are_found() {
    fails("peaks_in_cells", "V-H08", "headroom_peak of priority 3 with 209872 bytes held");
    fails("peaks_cleared", "V-H08", "buffer_peak of priority 3 with 26416 bytes held");
    fails("peaks_cleared", "V-H08", "headroom_peak of priority 3 with 209872 bytes held");
}

#[test]
fn storms_that_were_none_are_found() {
    fails("pauses_as_storms", "V-W07", "counted storms of priority 3 at B");
}

#[test]
fn a_detection_time_that_does_not_change_or_changes_otherwise_is_found() {
    let name = "with twice the detection time";
    fails_before("V-W08", &format!("shorter storm {name}"), &|trial| trial.settings.clear());
    fails_before("V-W08", &format!("longer storm {name}"), &|trial| {
        trial.settings.iter_mut().for_each(|setting| setting.value = "1s".to_owned());
    });
    ends(&unable(GOOD, "V-W08"), Outcome::Skip, "changes no settings");
}

#[test]
fn a_part_whose_counter_is_unknown_is_skipped_and_names_it() {
    for (unknown, id) in [
        ("pfc_rx", "V-C01"),
        ("rx_drop", "V-C02"),
        ("paused_ns", "V-C03"),
        ("tx_ok", "V-C04"),
        ("headroom_peak", "V-H08"),
        ("storms_detected", "V-W03"),
        ("storms_detected", "V-W07"),
    ] {
        let text = with(&format!("unknown: [{unknown}]"));
        skips(&text, &[id], &format!("counter {unknown}"));
    }
    skips(&with("no_drops: true"), &["V-C04"], "drops by reason are unknown");
}

/// On a real device each trial takes seconds.
#[test]
fn no_more_traffic_is_sent_for_a_counter_that_is_unknown() {
    let trials = |text: &str, id: &str| {
        let names = std::cell::RefCell::new(Vec::new());
        let note = |trial: &mut Trial| names.borrow_mut().push(trial.name.clone());
        judged((text, id, true), &note, &|_, _| {});
        names.into_inner()
    };
    let without = |counters: &str| with(&format!("unknown: [{counters}]"));
    assert_eq!(trials(&without("pfc_rx, pfc_rx_all"), "V-C01").len(), 2);
    assert_eq!(trials(&without("pfc_rx"), "V-C01").len(), 6, "the total is judged");
    assert_eq!(trials(&without("pfc_rx_all"), "V-C01").len(), 6);
    assert_eq!(trials(&without("paused_ns"), "V-C03"), ["paused for 10 %"]);
    assert_eq!(trials(GOOD, "V-C03").len(), 5);
}

#[test]
fn without_access_to_the_device_the_tests_are_skipped() {
    for id in IDS.into_iter().chain(["V-W03", "V-W07"]) {
        ends(&unable(GOOD, id), Outcome::Skip, "adapter is missing");
    }
}

#[test]
fn a_stimulus_without_effect_is_an_error_and_a_missing_expectation_is_named() {
    let short = super::with(GOOD, "expected:\n", "times: {hold: 20us}\nexpected:\n");
    // It is too short for the tester's check of itself, too.
    let calm = &validate(&short, &["V-C04"]).tests[1];
    ends(calm, Outcome::Error, "no frame of the overload is lost");
    let unknown = super::with(GOOD, "  headroom: 104000\n", "");
    skips(&unknown, &["V-H08"], "expected.headroom is missing");
}

#[test]
fn the_good_device_counts_at_other_rates_and_with_tags() {
    let more = large(GOOD);
    for rate in ["10G", "400G"] {
        all_pass(&validate(&more.replace("100G", rate), &["V-C*"]));
    }
    let slow = more.replace("100G", "1G");
    all_pass(&validate(&slow, &["V-C02", "V-C03", "V-C04"]));
    // The watchdog is too fast.
    skips(&slow, &["V-C01", "V-H08"], "");
    all_pass(&validate(&calm("1G"), &["V-C01", "V-H08"]));
    all_pass(&validate(&tagged(GOOD), &["V-C*"]));
}

#[test]
fn the_good_device_counts_at_all_values() {
    all_pass(&validate_at(Level::Full, GOOD, &IDS));
}

/// Not every device has totals; PAUSE and XON are where they belong.
#[test]
fn totals_that_are_unknown_are_not_judged() {
    let text = with("unknown: [pfc_rx_all, pfc_tx_all]");
    let result = plain(&text, "V-C01");
    ends(&result, Outcome::Pass, "");
    assert!(!result.measurements.iter().any(|m| m.what.contains("in total")), "{result:#?}");
}
