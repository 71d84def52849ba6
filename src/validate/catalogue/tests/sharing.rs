//! Devices that schedule rightly and wrongly, and isolation of ports and priorities.

use super::changed::{fails_after, fails_as, judged};
use super::{GOOD, all_pass, validate_at};
use crate::judge::Outcome;
use crate::observation::{Observation, Record, Way, What};
use crate::test::Level;
use crate::trial::Trial;
use ground::time::Duration;

const IDS: [&str; 6] = ["V-S02", "V-S03", "V-I01", "V-I02", "V-I03", "V-I04"];

#[test]
fn the_good_device_shares_and_isolates() {
    for level in [Level::Quick, Level::Full] {
        all_pass(&validate_at(level, GOOD, &IDS));
    }
}

/// The good device with other queues than its file says.
fn queues(queues: &str) -> String {
    let changed = GOOD.replace("        3: {ecn", &format!("{queues}        3: {{ecn"));
    assert_ne!(changed, GOOD);
    changed
}

/// Returns the priority of a received frame.
fn received(trial: &Trial, record: &Record) -> Option<u8> {
    match record.what {
        What::Data { flow, .. } if record.way == Way::Received => {
            Some(trial.flows[flow.0].priority.get())
        }
        _ => None,
    }
}

/// Delivers the frames of a priority later in trials of this name.
fn late(name: &str, priority: u8) -> impl Fn(&Trial, &mut Observation) {
    move |trial, seen| {
        let all = seen.records.iter_mut().filter(|_| trial.name == name);
        for record in all.filter(|record| received(trial, record) == Some(priority)) {
            record.end += Duration::from_micros(5);
        }
    }
}

/// Loses every second frame of these priorities.
fn halve(priorities: &[u8]) -> impl Fn(&Trial, &mut Observation) {
    move |trial, seen| {
        let mut n = 0;
        seen.records.retain(|record| {
            let is_its = received(trial, record).is_some_and(|p| priorities.contains(&p));
            n += u32::from(is_its);
            !is_its || n % 2 == 0
        });
    }
}

#[test]
fn shares_that_are_not_lent_are_found() {
    fails_as(&GOOD.replace("2: {weight: 60}", "2: {weight: 70}"), "V-S02", "share of priority");
    let ignores = "  faults: [{defect: {on: s1, kind: ignores-pfc, priorities: [3]}}]\n";
    fails_as(&format!("{GOOD}{ignores}"), "V-S02", "frames of priority 3 against the pause");
    fails_after("V-S02", "load of the line", &halve(&[0, 1, 2]));
}

#[test]
fn a_strict_class_that_waits_is_found() {
    let last = GOOD.replace("3: {ecn", "3: {weight: 1, ecn");
    fails_as(&last, "V-S03", "share of priority 3");
    fails_as(&last, "V-S03", "pauses of strict priority 3");
    fails_as(&queues("        5: {weight: 1}\n"), "V-S03", "lost frames of strict priority 5");
    let none = GOOD.replace("  strict: [3, 4, 5, 6, 7]\n", "");
    let result = judged((&none, "V-S03", true), &|_| {}, &|_, _| {});
    assert_eq!(result.outcome, Outcome::Skip, "{result:#?}");
    assert!(result.detail.contains("expected.strict"), "{}", result.detail);
}

#[test]
fn priorities_that_are_not_isolated_are_found() {
    let small = GOOD.replace("xoff: 104000}", "xoff: 1}").replace("cell: 208\n  xoff", "xoff");
    let small = small.replace("  profile:\n", "  profile:\n    headroom_check: 'off'\n");
    fails_as(&small, "V-I01", "lost frames of priority 3 from");
    let also = "  faults: [{defect: {on: s1, kind: pauses-also, priorities: [0]}}]\n";
    fails_as(&format!("{GOOD}{also}"), "V-I02", "rate of priority 0");
    let name = "one of two ports is congested";
    fails_after("V-I02", "99th percentile of the latency of priority 0", &late(name, 0));
    // A lossless class with a small share needs headroom when lossy ones flood.
    let weighted = small.replace("3: {ecn", "3: {weight: 9, ecn");
    fails_as(&weighted, "V-I03", "lost frames of priority 3 from");
    fails_after("V-I03", "line of lossy priority 0", &halve(&[0]));
}

#[test]
fn unequal_senders_are_found() {
    let unequal =
        "        low: {shared: {static_th: 20800}, lossless: {xoff: 104000}}\n    defaults:";
    let fault = "  faults: [{at: 0s, group: {switch: s1, port: h1, group: 3, profile: low}}]\n";
    let unequal = format!("{}{fault}", GOOD.replace("    defaults:", unequal));
    fails_as(&unequal, "V-I04", "rate of priority 3 from A");
}

/// A time in which nothing is congested says nothing.
#[test]
fn traffic_without_congestion_is_not_judged() {
    let large = GOOD.replace("static_th: 105872", "static_th: 8000000").replace("2MiB", "64MiB");
    let short = format!("{large}times: {{hold: 200us}}\n");
    for id in ["V-I01", "V-I02", "V-I03"] {
        let result = judged((&short, id, true), &|_| {}, &|_, _| {});
        assert_eq!(result.outcome, Outcome::Error, "{result:#?}");
        assert!(result.detail.contains("times.hold"), "{}", result.detail);
    }
    let two = GOOD.replace("[{}, {}, {}, {}]", "[{}, {}]");
    let result = judged((&two, "V-I04", true), &|_| {}, &|_, _| {});
    assert_eq!(result.outcome, Outcome::Skip, "{result:#?}");
    let none = GOOD.replace("  weights: {0: 10, 1: 30, 2: 60}\n", "");
    let result = judged((&none, "V-S02", true), &|_| {}, &|_, _| {});
    assert_eq!(result.outcome, Outcome::Skip, "{result:#?}");
}
