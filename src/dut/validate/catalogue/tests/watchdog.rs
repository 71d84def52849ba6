//! Devices whose PFC watchdog is wrong.

use super::changed::{
    Before, ends, fails_after, fails_as, fails_at_full_after, fails_before, judged, lose,
};
use super::{GOOD, all_pass, skips, tagged, validate, validate_at, with};
use crate::judge::Outcome;
use crate::observation::{Observation, Way, What};
use crate::test::Level;
use crate::trial::{FlowId, Trial, VECTOR};

const IDS: [&str; 6] = ["V-W02", "V-W03", "V-W05", "V-W06", "V-W07", "V-W08"];

/// Line of the good device's configuration.
const DOG: &str = "      watchdog: {detection: 1ms, restoration: 2ms}\n";

fn with_dog(dog: &str) -> String {
    with(
        GOOD,
        DOG,
        &if dog.is_empty() { String::new() } else { format!("      watchdog: {dog}\n") },
    )
}

#[test]
fn a_test_without_the_watchdog_is_skipped_and_names_it() {
    let known = "  watchdog: {detection: 1ms, restoration: 2ms, poll: 10us}\n";
    skips(&with(GOOD, known, ""), &IDS, "expected.watchdog is missing");
    let forward = with(GOOD, "poll: 10us}", "poll: 10us, action: forward}");
    skips(&forward, &IDS, "action: forward");
}

/// One that only reports is a fault of the proof.
#[test]
fn a_device_without_watchdog_fails_what_needs_it() {
    let text = with_dog("");
    fails_as(&text, "V-W01", "");
    fails_as(&text, "V-W04", "");
    fails_as(&text, "V-W05", "lost frames of the stormed queue");
    fails_as(&text, "V-W06", "lost frames of priority 3 in storm 1");
    // Its queues fill up, so that A is paused.
    fails_as(&text, "V-W07", "pauses at A after the detection");
}

#[test]
fn a_watchdog_with_other_times_is_found() {
    let early = with_dog("{detection: 400us, restoration: 2ms}");
    fails_as(&early, "V-W02", "lost frames of priority 3 (short storms)");
    let late = with_dog("{detection: 3ms, restoration: 2ms}");
    fails_as(&late, "V-W06", "lost frames of priority 3 in storm 3");
    fails_as(&late, "V-W07", "pauses at A after the detection");
}

#[test]
fn a_watchdog_of_other_queues_is_found() {
    let one = GOOD.replace("pfc: {enable: [3, 4]}", "pfc: {enable: [3]}");
    assert_ne!(one, GOOD);
    fails_as(&one, "V-W07", "frames of priority 4 at B from the storm that arrive");
}

/// Loses a frame in one of the trials.
fn lose_in(name: &'static str) -> impl Fn(&Trial, &mut Observation) {
    move |trial, seen| {
        if trial.name == name {
            lose(3)(trial, seen);
        }
    }
}

#[test]
fn lost_frames_are_found() {
    let throttled = "pauses for 90 % of the time";
    let what = format!("lost frames of priority 3 ({throttled})");
    fails_after("V-W02", &what, &lose_in("pauses for 90 % of the time"));
    fails_after("V-W02", "lost frames of priority 4 (short storms)", &lose(4));
    fails_after("V-W05", "lost frames of the other queue", &lose(4));
    fails_after("V-W05", "lost frames of the other port", &|_, seen| {
        let is_its = |what: &What| matches!(what, What::Data { flow: FlowId(2), .. });
        let arrived = |n: &usize| {
            let record = &seen.records[*n];
            record.way == Way::Received && is_its(&record.what)
        };
        // The trial with two stormed queues has no flow to it.
        if let Some(last) = (0..seen.records.len()).rfind(arrived) {
            seen.records.remove(last);
        }
    });
    fails_after("V-W06", "lost frames of priority 3 after storm 3", &lose(3));
    fails_after("V-W06", "lost frames of priority 4", &lose(4));
}

/// The frames of a queue that was empty in the storm are lost.
#[test]
fn an_empty_queue_that_is_taken_for_stormed_is_found_or_policy() {
    let late = |_: &Trial, seen: &mut Observation| {
        seen.records.retain(|record| {
            let is_late = matches!(record.what, What::Data { flow: FlowId(1), .. });
            !(is_late && record.way == Way::Received)
        });
    };
    fails_after("V-W03", "lost frames of priority 3 after a storm", &late);
    let idle = GOOD.replace("poll: 10us}", "poll: 10us, idle: true}");
    ends(&judged((&idle, "V-W03", true), &|_| {}, &late), Outcome::Policy, "");
}

#[test]
fn xon_that_is_taken_for_a_storm_is_found() {
    let storm: Before<'_> = &|trial| {
        if trial.name == "XON alone" {
            for control in &mut trial.control {
                control.octets[VECTOR + 2..VECTOR + 18].fill(0xff);
            }
        }
    };
    fails_before("V-W08", "lost frames of priority 3 with 100 XON", storm);
}

/// Pauses of low rates are longer than the times of the watchdog, and more arrives at high ones.
#[test]
fn the_good_device_marks_and_watches_at_other_rates_and_with_tags() {
    let more = GOOD.replace("104000", "624000").replace("total: 2MiB", "total: 8MiB");
    for rate in ["10G", "400G"] {
        all_pass(&validate(&more.replace("100G", rate), &["V-E*", "V-W*"]));
    }
    let slow = more.replace("100G", "1G");
    all_pass(&validate(&slow, &IDS));
    // The buffer is not full when the storm is detected.
    skips(&slow, &["V-W01", "V-W04"], "does not fill up");
    all_pass(&validate(&tagged(GOOD), &["V-E*", "V-W*"]));
}

#[test]
fn the_good_device_watches_at_all_values() {
    all_pass(&validate_at(Level::Full, GOOD, &IDS));
}

/// The good device with a defect, and with two or three ports: so few have fewer roles.
fn defective(ports: usize, defect: &str) -> String {
    let ports = format!("ports: [{}]", vec!["{}"; ports].join(", "));
    let text = with(GOOD, "ports: [{}, {}, {}, {}]", &ports);
    with(&text, "virtual:\n", &format!("virtual:\n  faults: [{{defect: {{on: s1, {defect}}}}}]\n"))
}

/// Asserts that tests of a device fail at level full in a value with a part in its name, and pass at level quick.
fn fails_at_full_alone(text: &str, ids: &[&str], part: &str) {
    let results = validate_at(Level::Full, text, ids);
    for test in &results.tests[1..] {
        assert_eq!(test.outcome, Outcome::Fail, "{test:#?}");
        let mut failed = test.measurements.iter().filter(|m| m.outcome == Outcome::Fail);
        assert!(failed.any(|m| m.what.contains(part)), "{part}: {test:#?}");
    }
    all_pass(&validate(text, ids));
}

/// Each lossless priority has storms at level full, and each other priority is looked at.
#[test]
fn a_watchdog_that_drops_any_other_queue_is_found_at_level_full() {
    let drops = |ports, priority: u8| {
        defective(ports, &format!("kind: drops-others, priorities: [{priority}], after: 1ms"))
    };
    for priority in [1, 7] {
        let part = format!("lost frames of priority {priority}");
        fails_at_full_alone(&drops(2, priority), &["V-W04", "V-W06"], &part);
        let part = format!("lost frames of the other queue, of priority {priority}");
        fails_at_full_alone(&drops(3, priority), &["V-W05"], &part);
    }
    // The first lossless priority suffers from storms of the second alone.
    let part = "lost frames of priority 3 (storm of priority 4)";
    fails_at_full_alone(&drops(2, 3), &["V-W04", "V-W06"], part);
}

/// The watchdog of the second lossless priority alone is wrong.
#[test]
fn a_watchdog_of_any_lossless_priority_is_judged_at_level_full() {
    let one = GOOD.replace("pfc: {enable: [3, 4]}", "pfc: {enable: [3]}");
    let one = with(&one, "ports: [{}, {}, {}, {}]", "ports: [{}, {}]");
    let part = "lost frames of priority 4 in storm 1 (storm of priority 4)";
    fails_at_full_alone(&one, &["V-W06"], part);
    let two = with(GOOD, "ports: [{}, {}, {}, {}]", "ports: [{}, {}]");
    for (id, priority, part) in [
        ("V-W02", 4, "lost frames of priority 4 (one short storm) (storm of priority 4)"),
        ("V-W02", 7, "lost frames of priority 7 (short storms) (storm of priority 3)"),
        ("V-W08", 4, "lost frames of priority 4 with 1000 XON (storm of priority 4)"),
    ] {
        // The last frame of the neighbour is lost in storms of the neighbour alone.
        fails_at_full_after(&two, id, part, &|trial, seen| {
            let is_stormed = trial.flows[0].priority.get() == 4;
            if priority != 4 || is_stormed {
                lose(priority)(trial, seen);
            }
        });
    }
    let late = |trial: &Trial, seen: &mut Observation| {
        let is_second = trial.flows[0].priority.get() == 4;
        seen.records.retain(|record| {
            let is_late = matches!(record.what, What::Data { flow: FlowId(1), .. });
            !(is_second && is_late && record.way == Way::Received)
        });
    };
    let part = "lost frames of priority 4 after a storm for an empty queue (storm of priority 4)";
    fails_at_full_after(&two, "V-W03", part, &late);
    // No frame of the second priority arrives after its storms.
    let silent = |trial: &Trial, seen: &mut Observation| {
        let end = trial.control.iter().map(|c| c.start + c.every.saturating_mul(c.frames.into()));
        let end = end.max().filter(|_| trial.flows[0].priority.get() == 4);
        seen.records.retain(|record| {
            let is_its = matches!(record.what, What::Data { flow: FlowId(0), .. });
            !(is_its && record.way == Way::Received && end.is_some_and(|end| record.end > end))
        });
    };
    fails_at_full_after(&two, "V-W01", "of 20 storms of priority 4 restored", &silent);
}

/// Other ports than those of the first roles.
#[test]
fn links_and_cells_of_every_port_are_looked_at_at_level_full() {
    let flap = defective(3, "kind: stuck-after-flap, port: h3");
    fails_at_full_alone(&flap, &["V-W08"], "after a link failure");
    let leak = defective(4, "kind: leaks-headroom, port: h4, cells: 100, priorities: [3]");
    // One lossless priority, as each is paused 10,000 times at each port.
    let leak = with(&leak, "expected:\n", "lossless: [3]\nexpected:\n");
    let leak = with(&leak, "pfc: {enable: [3, 4]}", "pfc: {enable: [3]}");
    fails_at_full_alone(&leak, &["V-H06"], "of priority 3");
    let good = with(GOOD, "ports: [{}, {}, {}, {}]", "ports: [{}, {}]");
    all_pass(&validate_at(
        Level::Full,
        &good,
        &["V-W01", "V-W02", "V-W03", "V-W04", "V-W06", "V-W08"],
    ));
}
