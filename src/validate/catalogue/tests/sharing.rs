//! Devices that schedule rightly and wrongly, and isolation of ports and priorities.

use super::changed::{fails_after, fails_as, fails_before, judged};
use super::{GOOD, all_pass, outcome, validate_at};
use crate::judge::Outcome;
use crate::observation::{Observation, Record, Way, What};
use crate::test::Level;
use crate::trial::Trial;
use ground::time::Duration;

const IDS: [&str; 8] = ["V-S02", "V-S03", "V-S05", "V-S06", "V-I01", "V-I02", "V-I03", "V-I04"];

#[test]
fn the_good_device_shares_and_isolates_at_all_values() {
    all_pass(&validate_at(Level::Full, GOOD, &IDS));
}

/// Buffers, pauses and the time of a frame differ by the rate.
#[test]
fn the_good_device_shares_and_isolates_at_other_rates_and_with_tags() {
    let calm: String =
        GOOD.lines().filter(|line| !line.contains("watchdog:")).map(|l| format!("{l}\n")).collect();
    let large = [("105872", "950144"), ("104000", "900000"), ("total: 2MiB", "total: 16MiB")];
    let calm = large.iter().fold(calm, |text, (from, to)| text.replace(from, to));
    for rate in ["10G", "400G"] {
        all_pass(&validate_at(Level::Quick, &calm.replace("100G", rate), &IDS));
    }
    let tagged =
        GOOD.replace("virtual:", "marking: {pcp: {}}\nvirtual:").replace("  vlan: 1\n", "");
    all_pass(&validate_at(Level::Quick, &tagged, &["V-S0*", "V-I01", "V-I02", "V-I03", "V-I04"]));
    let nine = GOOD
        .replace("[{}, {}, {}, {}]", "[{}, {}, {}, {}, {}, {}, {}, {}, {}]")
        .replace("2MiB", "8MiB");
    all_pass(&validate_at(Level::Quick, &nine, &["V-I04"]));
}

/// A lossless class with a weight is held back by pauses, not by drops.
#[test]
fn a_device_with_a_weighted_lossless_class_shares_and_isolates() {
    let weighted = GOOD
        .replace("3: {ecn", "3: {weight: 20, ecn")
        .replace("2: 60}", "2: 60, 3: 20}")
        .replace("strict: [3, 4,", "strict: [4,");
    all_pass(&validate_at(Level::Full, &weighted, &IDS));
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

/// A scheduler that lends nothing, and one that counts frames: each is right where all classes are over
/// with frames of one length.
#[test]
fn schedulers_with_a_fault_inside_are_found() {
    let limit = |p: u8, ratio: &str| {
        format!(
            "  - {{defect: {{on: s1, kind: limits-rate, priorities: [{p}], ratio: {ratio}}}}}\n"
        )
    };
    let limits = [limit(0, "1/10"), limit(1, "3/10"), limit(2, "6/10")].concat();
    let lends_nothing = format!("{GOOD}  faults:\n{limits}");
    fails_as(&lends_nothing, "V-S02", "load of the line");
    let frames =
        format!("{GOOD}  faults: [{{at: 0s, scheduler: {{switch: s1, meter: frames}}}}]\n");
    fails_as(&frames, "V-S04", "share of priority 1");
    for text in [&lends_nothing, &frames] {
        all_pass(&validate_at(Level::Full, text, &["V-S01"]));
    }
}

#[test]
fn a_strict_class_that_waits_is_found() {
    let last = GOOD.replace("3: {ecn", "3: {weight: 1, ecn");
    fails_as(&last, "V-S03", "share of priority 3");
    fails_as(&last, "V-S03", "pauses of strict priority 3");
    fails_as(&queues("        5: {weight: 1}\n"), "V-S03", "lost frames of strict priority 5");
    let part = "lost frames of strict priority 6 above 5";
    fails_as(&queues("        6: {weight: 1}\n"), "V-S03", part);
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
    fails_as(&format!("{GOOD}{also}"), "V-I02", "pauses of priority 0");
    let name = "one of two ports is congested";
    fails_after("V-I02", "99th percentile of the latency of priority 0", &late(name, 0));
    // A lossless class with a small share needs headroom when lossy ones flood.
    let weighted = small.replace("3: {ecn", "3: {weight: 9, ecn");
    fails_as(&weighted, "V-I03", "lost frames of priority 3 from");
    fails_after("V-I03", "line of lossy priority 0", &halve(&[0]));
}

/// Pauses at the ends of a short interval are no unequal shares: the test takes a longer one.
#[test]
fn equal_senders_pass_however_short_the_time() {
    let (_, dynamic) = crate::knobs::GOOD.iter().find(|(name, _)| *name == "dynamic").unwrap();
    for hold in ["300us", "500us", "1ms", "2ms"] {
        let text = format!("times: {{hold: {hold}}}\n{dynamic}");
        let results = validate_at(Level::Quick, &text, &["V-I04"]);
        assert_eq!(outcome(&results, "V-I04"), Some(Outcome::Pass), "{hold}: {results:#?}");
    }
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

const RING: &str = include_str!("../../../../configs/validate/ring.yaml");

#[test]
fn a_ring_with_a_watchdog_goes_on() {
    for level in [Level::Quick, Level::Full] {
        all_pass(&validate_at(level, RING, &["V-I05"]));
    }
}

/// Without a watchdog the ring stops, and the file may say so.
#[test]
fn a_deadlock_is_found() {
    let off = RING.replace("watchdog: {detection: 200us, restoration: 400us}\n", "");
    assert_ne!(off, RING);
    fails_as(&off, "V-I05", "frames of priority 3 from A in a quarter of the time");
    let told = off.replace("  watchdog: {detection: 200us, restoration: 400us, poll: 10us}\n", "");
    fails_as(&told, "V-I05", "lost frames of priority 3 from A");
    let star = judged((GOOD, "V-I05", true), &|_| {}, &|_, _| {});
    assert_eq!(star.outcome, Outcome::Skip, "{star:#?}");
    let star = GOOD.replace("expected:\n", "expected:\n  ring: true\n");
    let star = judged((&star, "V-I05", true), &|_| {}, &|_, _| {});
    assert_eq!(star.outcome, Outcome::Error, "{star:#?}");
}

#[test]
fn weights_that_do_not_change_are_found() {
    fails_before("V-S05", "share of priority 0 (new weights)", &|trial| trial.changes.clear());
    fails_as(&GOOD.replace("weight: 60", "weight: 70"), "V-S05", "priority 2 (old weights)");
    let equal = GOOD.replace("weight: 10", "weight: 30").replace("weight: 60", "weight: 30");
    let equal = equal.replace("{0: 10, 1: 30, 2: 60}", "{0-2: 30}");
    all_pass(&validate_at(Level::Full, &equal, &["V-S05"]));
    // The tester's ports have no faculty that they need not have.
    let result = judged((GOOD, "V-S05", false), &|_| {}, &|_, _| {});
    assert_eq!(result.outcome, Outcome::Skip, "{result:#?}");
    assert!(result.detail.contains("adapter"), "{}", result.detail);
}

#[test]
fn maps_that_are_off_by_one_are_found() {
    let maps =
        |maps: &str| GOOD.replace("      pfc:", &format!("      maps: {{{maps}}}\n      pfc:"));
    let dscp = maps("dscp_to_priority: {23: 3, 31: 4, 39: 5}");
    let of = |what: &str, dscp: &str| format!("DSCP values of {what} ({dscp})");
    fails_as(&dscp, "V-S06", &of("priority 3 that its pause does not stop", "31"));
    fails_as(&dscp, "V-S06", &of("other priorities that a pause of 3 stops", "23"));
    fails_as(&maps("pcp_to_priority: {2: 3, 3: 4}"), "V-S06", "PCP values of priority 3");
    let pcp = GOOD.replace("virtual:", "marking: {pcp: {}}\nvirtual:").replace("  vlan: 1\n", "");
    all_pass(&validate_at(Level::Full, &pcp, &["V-S06"]));
    let none: String =
        GOOD.lines().filter(|l| !l.contains("dscp_map")).map(|l| format!("{l}\n")).collect();
    let result = judged((&none, "V-S06", true), &|_| {}, &|_, _| {});
    assert_eq!(result.outcome, Outcome::Skip, "{result:#?}");
    assert!(result.detail.contains("expected.dscp_map"), "{}", result.detail);
}
