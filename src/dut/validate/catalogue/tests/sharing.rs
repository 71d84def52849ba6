//! Devices that schedule rightly and wrongly, and isolation of ports and priorities.

use super::changed::{ends, fails_after, fails_as, fails_before, plain, unable};
use super::{GOOD, all_pass, calm, skips, tagged, validate_at, with};
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
    for rate in ["10G", "400G"] {
        all_pass(&validate_at(Level::Quick, &calm(rate), &IDS));
    }
    let tagged = with(&tagged(GOOD), "  vlan: 1\n", "");
    all_pass(&validate_at(Level::Quick, &tagged, &["V-S*", "V-I01", "V-I02", "V-I03", "V-I04"]));
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
    with(GOOD, "        3: {ecn", &format!("{queues}        3: {{ecn"))
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
    let ignores = "  faults: [{defect: {on: s1, kind: ignores-pfc, priorities: [3]}}]\n";
    fails_as(&format!("{GOOD}{ignores}"), "V-S02", "frames of priority 3 against the pause");
    fails_after("V-S02", "load of the line", &halve(&[0, 1, 2]));
}

/// A scheduler that lends nothing, and one that counts frames: each is right where all classes are over
/// with frames of one length. In the proof V-S02 and V-S04 find them.
#[test]
fn schedulers_with_a_fault_inside_pass_where_it_does_not_show() {
    for fault in ["shares that are not used are not lent", "shares are of frames, not of bytes"] {
        let knobs = crate::knobs::knobs().unwrap();
        let knob = knobs.iter().find(|knob| knob.fault == fault).unwrap();
        all_pass(&validate_at(Level::Full, &knob.file(None), &["V-S01"]));
    }
}

/// Weights that are not there: all classes are in one queue, in the order of their arrival.
#[test]
fn a_device_without_a_scheduler_is_found_whatever_its_weights_should_be() {
    let one_queue = |good: &str| {
        with(good, "      queues:\n", "      maps: {priority_to_queue: {0-2: 0}}\n      queues:\n")
    };
    let equal = GOOD.replace("{0: 10, 1: 30, 2: 60}", "{0: 10, 1: 10, 2: 10}");
    let equal = equal.replace("weight: 30", "weight: 10").replace("weight: 60", "weight: 10");
    for good in [GOOD, &equal] {
        all_pass(&validate_at(Level::Full, good, &["V-S01", "V-S02", "V-S04"]));
        fails_as(&one_queue(good), "V-S01", "share of priority 0 (classes that compete)");
        fails_as(&one_queue(good), "V-S02", "share of priority 0");
    }
}

#[test]
fn a_strict_class_that_waits_is_found() {
    let last = GOOD.replace("3: {ecn", "3: {weight: 1, ecn");
    fails_as(&last, "V-S03", "pauses of strict priority 3");
    fails_as(&queues("        5: {weight: 1}\n"), "V-S03", "lost frames of strict priority 5");
    let part = "lost frames of strict priority 6 above 5";
    fails_as(&queues("        6: {weight: 1}\n"), "V-S03", part);
    let none = with(GOOD, "  strict: [3, 4, 5, 6, 7]\n", "");
    skips(&none, &["V-S03"], "expected.strict");
}

#[test]
fn priorities_that_are_not_isolated_are_found() {
    let name = "one of two ports is congested";
    fails_after("V-I02", "99th percentile of the latency of priority 0", &late(name, 0));
    fails_after("V-I03", "line of lossy priority 0", &halve(&[0]));
}

/// Pauses at the ends of a short interval are no unequal shares: the test takes a longer one.
#[test]
fn equal_senders_pass_however_short_the_time() {
    let (_, dynamic) = crate::knobs::GOOD.iter().find(|(name, _)| *name == "dynamic").unwrap();
    for hold in ["300us", "500us", "1ms", "2ms"] {
        let text = format!("times: {{hold: {hold}}}\n{dynamic}");
        all_pass(&validate_at(Level::Quick, &text, &["V-I04"]));
    }
}

/// A time in which nothing is congested says nothing.
#[test]
fn traffic_without_congestion_is_not_judged() {
    let large = GOOD.replace("static_th: 105872", "static_th: 8000000").replace("2MiB", "64MiB");
    let short = format!("{large}times: {{hold: 200us}}\n");
    for id in ["V-I01", "V-I02", "V-I03"] {
        ends(&plain(&short, id), Outcome::Error, "times.hold");
    }
    skips(&with(GOOD, "[{}, {}, {}, {}]", "[{}, {}]"), &["V-I04"], "");
    skips(&with(GOOD, "  weights: {0: 10, 1: 30, 2: 60}\n", ""), &["V-S02"], "");
}

const RING: &str = include_str!("../../../../../configs/validate/ring.yaml");

#[test]
fn a_ring_with_a_watchdog_goes_on() {
    all_pass(&validate_at(Level::Full, RING, &["V-I05"]));
}

/// Without a watchdog the ring stops, and the file may say so.
#[test]
fn a_deadlock_is_found() {
    let off = with(RING, "watchdog: {detection: 200us, restoration: 400us}\n", "");
    let told = off.replace("  watchdog: {detection: 200us, restoration: 400us, poll: 10us}\n", "");
    fails_as(&told, "V-I05", "lost frames of priority 3 from A");
    skips(GOOD, &["V-I05"], "");
    let star = with(GOOD, "expected:\n", "expected:\n  ring: true\n");
    ends(&plain(&star, "V-I05"), Outcome::Error, "");
}

#[test]
fn weights_that_do_not_change_are_found() {
    fails_before("V-S05", "share of priority 0 (new weights)", &|trial| trial.changes.clear());
    let equal = GOOD.replace("weight: 10", "weight: 30").replace("weight: 60", "weight: 30");
    let equal = equal.replace("{0: 10, 1: 30, 2: 60}", "{0-2: 30}");
    all_pass(&validate_at(Level::Full, &equal, &["V-S05"]));
    // The tester's ports have no capability that they need not have.
    ends(&unable(GOOD, "V-S05"), Outcome::Skip, "adapter");
}

#[test]
fn maps_that_are_off_by_one_are_found() {
    let maps =
        |maps: &str| GOOD.replace("      pfc:", &format!("      maps: {{{maps}}}\n      pfc:"));
    let dscp = maps("dscp_to_priority: {23: 3, 31: 4, 39: 5}");
    let part = "DSCP values of other priorities that a pause of 3 stops (23)";
    fails_as(&dscp, "V-S06", part);
    fails_as(&maps("pcp_to_priority: {2: 3, 3: 4}"), "V-S06", "PCP values of priority 3");
    all_pass(&validate_at(Level::Full, &with(&tagged(GOOD), "  vlan: 1\n", ""), &["V-S06"]));
    let map = GOOD.lines().find(|line| line.contains("dscp_map")).unwrap();
    skips(&with(GOOD, map, ""), &["V-S06"], "expected.dscp_map");
}
