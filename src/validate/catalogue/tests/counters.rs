//! Devices whose counters are wrong, and devices that lack some.

use super::changed::{fails_as, fails_before, judged};
use super::{GOOD, all_pass, outcome, validate, validate_at};
use crate::judge::Outcome;
use crate::test::Level;
use crate::trial::{Trial, VECTOR};

const IDS: [&str; 5] = ["V-C01", "V-C02", "V-C03", "V-C04", "V-H08"];

/// The good device with another field of `virtual`.
fn with(field: &str) -> String {
    GOOD.replace("virtual:\n", &format!("virtual:\n  {field}\n"))
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
    fails("pfc_lost", "V-C01", "counted XOFF for each priority, priority 3");
    fails("pfc_lost", "V-C01", "pauses of priority 3 in a storm");
    fails("pfc_lost", "V-C01", "pauses of priority 3 that the device sends");
    let totals = ["XOFF for all priorities", "storm", "pauses of the device"]
        .map(|name| format!("in total, {name}"));
    totals.iter().for_each(|part| fails("pfc_totals_lost", "V-C01", part));
    fails("pfc_of_next", "V-C01", "counted XOFF for each priority, priority 3");
    fails("pause_as_pfc", "V-C01", "PAUSE frames counted as PFC of priority 3");
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
    for said in ["  xon: ignored\n", "  xon: apart\n"] {
        fails_as(&as_said(said), "V-C01", part);
    }
    let result = judged((&as_said(""), "V-C01", true), &|_| {}, &|_, _| {});
    assert_eq!(result.outcome, Outcome::Pass, "{result:#?}");
    let xon = result.measurements.iter().find(|m| m.what == part).unwrap();
    assert_eq!((xon.outcome, xon.value), (Outcome::Policy, 13.0));
}

#[test]
fn pfc_that_is_counted_as_data_is_found() {
    fails("pfc_in_rx_ok", "V-C02", "counted data frames at B");
    fails("pfc_in_rx_drop", "V-C02", "counted drops at B");
}

#[test]
fn a_paused_time_in_quanta_is_found_at_each_rate() {
    for rate in ["10G", "100G", "400G"] {
        let text = large(&with("reports: [paused_in_quanta]")).replace("100G", rate);
        fails_as(&text, "V-C03", "counted time of priority 3, paused for 10 %");
    }
}

#[test]
fn sums_that_do_not_hold_are_found() {
    fails("drops_lost", "V-C04", "counted drops of all reasons");
    fails("cleared_by_link", "V-C04", "before and after a link failure");
    fails("data_lost", "V-C04", "counted data frames to C");
    fails("data_lost", "V-C02", "counted data frames at B");
}

#[test]
fn wrong_watermarks_are_found() {
    for report in ["peaks_in_cells", "peaks_cleared"] {
        fails(report, "V-H08", "buffer_peak of priority 3 with 26416 bytes held");
        fails(report, "V-H08", "headroom_peak of priority 3 with 209872 bytes held");
    }
}

#[test]
fn storms_that_were_none_are_found() {
    fails("pauses_as_storms", "V-W03", "counted storms of priority 3 for an empty queue");
    fails("pauses_as_storms", "V-W07", "counted storms of priority 3 at B");
}

#[test]
fn a_detection_time_that_does_not_change_or_changes_otherwise_is_found() {
    let name = "with twice the detection time";
    fails_before("V-W08", &format!("shorter storm {name}"), &|trial| trial.settings.clear());
    fails_before("V-W08", &format!("longer storm {name}"), &|trial| {
        trial.settings.iter_mut().for_each(|setting| setting.value = "1s".to_owned());
    });
    let result = judged((GOOD, "V-W08", false), &|_| {}, &|_, _| {});
    assert_eq!(result.outcome, Outcome::Skip, "{result:#?}");
    assert!(result.detail.contains("changes no settings"), "{result:#?}");
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
        let results = validate(&with(&format!("unknown: [{unknown}]")), &[id]);
        let test = &results.tests[1];
        assert_eq!(test.outcome, Outcome::Skip, "{test:#?}");
        assert!(test.detail.contains(&format!("counter {unknown}")), "{test:#?}");
    }
    let results = validate(&with("no_drops: true"), &["V-C04"]);
    let test = &results.tests[1];
    assert_eq!(test.outcome, Outcome::Skip, "{test:#?}");
    assert!(test.detail.contains("drops by reason are unknown"), "{test:#?}");
}

#[test]
fn without_access_to_the_device_the_tests_are_skipped() {
    for id in IDS.into_iter().chain(["V-W03", "V-W07"]) {
        let result = judged((GOOD, id, false), &|_| {}, &|_, _| {});
        assert_eq!(result.outcome, Outcome::Skip, "{result:#?}");
        assert!(result.detail.contains("adapter is missing"), "{result:#?}");
    }
}

#[test]
fn a_stimulus_without_effect_is_an_error_and_a_missing_expectation_is_named() {
    let calm = GOOD.replace("expected:\n", "times: {hold: 20us}\nexpected:\n");
    let results = validate(&calm, &["V-C04"]);
    assert_eq!(outcome(&results, "V-C04"), Some(Outcome::Error), "{results:#?}");
    assert!(results.tests[1].detail.contains("no frame of the overload is lost"));
    let results = validate(&GOOD.replace("  headroom: 104000\n", ""), &["V-H08"]);
    assert_eq!(outcome(&results, "V-H08"), Some(Outcome::Skip), "{results:#?}");
    assert!(results.tests[1].detail.contains("expected.headroom is missing"));
}

#[test]
fn the_good_device_counts_at_other_rates_and_with_tags() {
    let more = large(GOOD);
    for rate in ["10G", "400G"] {
        all_pass(&validate(&more.replace("100G", rate), &["V-C*"]));
    }
    let slow = more.replace("100G", "1G");
    all_pass(&validate(&slow, &["V-C02", "V-C03", "V-C04"]));
    for id in ["V-C01", "V-H08"] {
        assert_eq!(
            outcome(&validate(&slow, &[id]), id),
            Some(Outcome::Skip),
            "the watchdog is too fast"
        );
    }
    let calm = slow.lines().filter(|line| !line.contains("watchdog:"));
    let calm = calm.map(|line| format!("{line}\n")).collect::<String>();
    all_pass(&validate(&calm, &["V-C01", "V-H08"]));
    let tagged = GOOD.replace("virtual:", "marking: {pcp: {}}\nvirtual:");
    all_pass(&validate(&tagged, &["V-C*"]));
}

#[test]
fn the_good_device_counts_at_all_values() {
    all_pass(&validate_at(Level::Full, GOOD, &IDS));
}

/// Not every device has totals; PAUSE and XON are where they belong.
#[test]
fn totals_that_are_unknown_are_not_judged() {
    let text = with("unknown: [pfc_rx_all, pfc_tx_all]");
    let result = judged((&text, "V-C01", true), &|_| {}, &|_, _| {});
    assert_eq!(result.outcome, Outcome::Pass, "{result:#?}");
    assert!(!result.measurements.iter().any(|m| m.what.contains("in total")), "{result:#?}");
}
