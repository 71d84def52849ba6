//! Devices that mark wrongly.

use super::changed::{fails_after, fails_as, fails_at_full_after};
use super::{GOOD, all_pass, outcome, skips, validate, validate_at, with};
use crate::judge::Outcome;
use crate::observation::{Record, Way, What};
use crate::test::Level;
use crate::trial::{Flow, Trial, Version};
use wire::ip::Ecn;

/// Curve of the good device.
const CURVE: &str = "kmin: 20KB, kmax: 60KB, pmax: 20%, at: dequeue";

fn with_curve(curve: &str) -> String {
    with(GOOD, CURVE, curve)
}

const IDS: [&str; 6] = ["V-E01", "V-E02", "V-E04", "V-E05", "V-E06", "V-E07"];

#[test]
fn a_device_without_marks_fails_each_test_of_them() {
    let none = with(GOOD, &format!("{{ecn: {{{CURVE}}}}}"), "{}");
    let results = validate(&none, &IDS);
    for id in IDS {
        assert_eq!(outcome(&results, id), Some(Outcome::Fail), "{id}: {results:#?}");
    }
}

#[test]
fn a_test_without_the_curve_is_skipped_and_names_it() {
    let known = "  ecn: {kmin: 20KB, kmax: 60KB, pmax: 20%, priorities: [3]}\n";
    skips(&with(GOOD, known, ""), &IDS, "expected.ecn is missing");
    let deep = with(GOOD, "  ecn: {kmin: 20KB, kmax: 60KB", "  ecn: {kmin: 20KB, kmax: 1MB");
    skips(&deep, &["V-E01", "V-E02", "V-E04"], "lower `expected.ecn.kmax`");
}

#[test]
fn the_good_device_marks_at_all_values() {
    all_pass(&validate_at(Level::Full, GOOD, &["V-E07"]));
}

/// The place of marking is open, and is told by the marks.
#[test]
fn marks_at_enqueuing_are_policy() {
    let early = with_curve("kmin: 20KB, kmax: 60KB, pmax: 20%");
    let results = validate(&early, &IDS);
    for id in IDS {
        let wanted = if id == "V-E02" { Outcome::Policy } else { Outcome::Pass };
        assert_eq!(outcome(&results, id), Some(wanted), "{id}: {results:#?}");
    }
}

#[test]
fn marks_at_the_wrong_places_are_found() {
    let always = with_curve("kmin: 0B, kmax: 1B, pmax: 100%, at: enqueue");
    fails_as(&always, "V-E02", "marks of the last 5 frames");
    fails_as(&always, "V-E06", "that arrive with CE (no congestion)");
    let higher = with_curve("kmin: 20KB, kmax: 90KB, pmax: 20%");
    fails_as(&higher, "V-E01", "unmarked frames above Kmax");
}

/// Asserts that a test of the good device behind a line that changes what it sends fails in a value
/// whose name has this part.
fn fails_changed(id: &str, part: &str, change: impl Fn(&Trial, &mut Record)) {
    fails_after(id, part, &|trial, seen| {
        let received = seen.records.iter_mut().filter(|record| record.way == Way::Received);
        received.for_each(|record| change(trial, record));
    });
}

/// Returns the flow of a data frame.
fn flow_of<'a>(trial: &'a Trial, record: &Record) -> Option<&'a Flow> {
    match record.what {
        What::Data { flow, .. } => trial.flows.get(flow.0),
        What::Control(_) | What::Other(_) => None,
    }
}

/// Gives a data frame another code point.
fn set(record: &mut Record, new: Ecn) {
    if let What::Data { ecn, .. } = &mut record.what {
        *ecn = new;
    }
}

#[test]
fn changes_of_other_fields_are_found() {
    fails_changed(
        "V-E04",
        "tagged IPv6 frames with CE that arrive with another code point",
        |trial, record| {
            if flow_of(trial, record).is_some_and(|flow| flow.ecn == Ecn::Ce) {
                set(record, Ecn::Ect0);
            }
        },
    );
    fails_changed(
        "V-E04",
        "IPv4 frames with ECT(0) that arrive with another code point",
        |trial, record| {
            if flow_of(trial, record).is_some_and(|flow| flow.ecn == Ecn::Ect0) {
                set(record, Ecn::Ect1);
            }
        },
    );
    fails_changed("V-E04", "IPv6 frames with ECT(1) that arrive with CE", |trial, record| {
        let flow = flow_of(trial, record).filter(|flow| flow.version == Version::V6);
        if let Some(flow) = flow {
            set(record, flow.ecn);
        }
    });
    // The tag of virtual devices is removed: the packet begins at byte 14.
    for at in [0, 14 + 8, 14 + 40, 127] {
        fails_changed(
            "V-E04",
            "IPv6 frames with ECT(0) that arrive changed in other fields",
            |trial, record| {
                if flow_of(trial, record).is_some_and(|flow| flow.version == Version::V6) {
                    // A removed tag has made a tagged frame shorter.
                    let last = record.head.len() - 1;
                    record.head[at.min(last)] ^= 1;
                }
            },
        );
    }
}

/// Without a VLAN nothing is said about tagged frames, and the test is no pass.
#[test]
fn tagged_frames_without_their_vlan_are_skipped_and_named() {
    let untagged = GOOD.replace("  vlan: 1\n", "");
    skips(&untagged, &["V-E04"], "expected.vlan");
    let none = untagged.replace(&format!("{{ecn: {{{CURVE}}}}}"), "{}");
    fails_as(&none, "V-E04", "IPv4 frames with ECT(0) that arrive with CE");
}

#[test]
fn marks_of_others_and_marks_that_do_not_grow_are_found() {
    fails_changed(
        "V-E06",
        "frames of priority 4 that arrive with CE (one priority is congested)",
        |trial, record| {
            let is_other = flow_of(trial, record).is_some_and(|flow| flow.priority.get() == 4);
            if is_other && trial.name.starts_with("one") {
                set(record, Ecn::Ce);
            }
        },
    );
    fails_changed("V-E07", "marks after the pauses of 9714 quanta", |trial, record| {
        if trial.name == "pauses of 9714 quanta" && flow_of(trial, record).is_some() {
            set(record, Ecn::Ce);
        }
    });
    fails_changed(
        "V-E07",
        "marks by pauses of 65000 quanta, not fewer than of 9714",
        |trial, record| {
            if trial.name == "pauses of 65000 quanta" && flow_of(trial, record).is_some() {
                set(record, Ecn::Ect0);
            }
        },
    );
}

#[test]
fn losses_under_a_growing_load_are_found() {
    let none = with(GOOD, "{xoff: 104000}}", "{xoff: 1}}\n    headroom_check: off");
    fails_as(&none, "V-E05", "lost frames of priority 3");
}

/// The good device with the curve on both lossless priorities, with two or three ports: so few have fewer roles.
fn of_both(ports: usize) -> String {
    let text = with(GOOD, "priorities: [3]}", "priorities: [3, 4]}");
    let ports = vec!["{}"; ports].join(", ");
    let text = with(&text, "ports: [{}, {}, {}, {}]", &format!("ports: [{ports}]"));
    let queue = format!("        3: {{ecn: {{{CURVE}}}}}\n");
    with(&text, &queue, &format!("{queue}{}", queue.replace("3:", "4:")))
}

/// Returns that device with another curve of its second priority.
fn second(ports: usize, curve: &str) -> String {
    let text = of_both(ports);
    let own = format!("        4: {{ecn: {{{CURVE}}}}}\n");
    let other =
        if curve.is_empty() { String::new() } else { format!("        4: {{ecn: {{{curve}}}}}\n") };
    with(&text, &own, &other)
}

/// Asserts that a test of a device fails at level full in a value of its second priority, and not at level quick,
/// which looks at the first.
fn fails_in_the_second(text: &str, id: &str) {
    let results = validate_at(Level::Full, text, &[id]);
    let result = results.tests.iter().find(|test| test.id == id).unwrap();
    assert_eq!(result.outcome, Outcome::Fail, "{result:#?}");
    let mut failed = result.measurements.iter().filter(|m| m.outcome == Outcome::Fail);
    assert!(failed.all(|m| m.what.contains("(priority 4)")), "{result:#?}");
    assert_eq!(outcome(&validate(text, &[id]), id), Some(Outcome::Pass), "{id}");
}

#[test]
fn each_priority_with_the_curve_is_judged_at_level_full() {
    for id in ["V-E04", "V-E07"] {
        fails_in_the_second(&second(2, ""), id);
    }
    for id in ["V-E05", "V-E06"] {
        fails_in_the_second(&second(3, ""), id);
    }
    for curve in [
        "",
        "kmin: 40KB, kmax: 60KB, pmax: 20%, at: dequeue",
        "kmin: 20KB, kmax: 60KB, pmax: 80%, at: dequeue",
    ] {
        fails_in_the_second(&second(2, curve), "V-E01");
    }
    // The place of marking is policy of that queue, too.
    let early = validate_at(
        Level::Full,
        &second(2, "kmin: 20KB, kmax: 60KB, pmax: 20%, at: enqueue"),
        &["V-E02"],
    );
    let told = early.tests[1].measurements.iter().filter(|m| m.outcome == Outcome::Policy);
    let told: Vec<_> = told.map(|m| &m.what).collect();
    assert!(told.iter().any(|what| *what == "marks at enqueuing (priority 4)"), "{told:?}");
    all_pass(&validate_at(Level::Full, &of_both(2), &["V-E01", "V-E02", "V-E04", "V-E07"]));
    all_pass(&validate_at(Level::Full, &of_both(3), &["V-E03", "V-E05", "V-E06"]));
}

/// Both levels judge what the file lists, and not the first lossless priority.
#[test]
fn a_priority_that_is_not_the_first_lossless_one_may_be_the_only_one_with_the_curve() {
    let queue = format!("        3: {{ecn: {{{CURVE}}}}}\n");
    let only = with(GOOD, "priorities: [3]}", "priorities: [4]}");
    let only = with(&only, &queue, &queue.replace("3:", "4:"));
    all_pass(&validate(&only, &IDS));
    let three = with(&only, "ports: [{}, {}, {}, {}]", "ports: [{}, {}, {}]");
    all_pass(&validate_at(Level::Full, &three, &["V-E04", "V-E05", "V-E06"]));
    let none = with(&only, &queue.replace("3:", "4:"), "");
    let results = validate(&none, &IDS);
    for id in IDS {
        assert_eq!(outcome(&results, id), Some(Outcome::Fail), "{id}: {results:#?}");
    }
    // The first lossless priority has the curve, and the file does not list it.
    let other = with(GOOD, "priorities: [3]}", "priorities: [4]}");
    fails_as(&other, "V-E06", "frames of priority 3 that arrive with CE (a priority without ECN");
}

/// Without the list nothing is known of the other lossless priorities, so level full is not whole.
#[test]
fn priorities_of_which_the_file_does_not_tell_are_skipped_at_level_full() {
    let untold = with(GOOD, ", priorities: [3]}", "}");
    let untold = with(&untold, "ports: [{}, {}, {}, {}]", "ports: [{}, {}, {}]");
    all_pass(&validate(&untold, &IDS));
    let ids = ["V-E04", "V-E05", "V-E06"];
    let results = validate_at(Level::Full, &untold, &ids);
    for test in &results.tests[1..] {
        assert_eq!(test.outcome, Outcome::Skip, "{test:#?}");
        assert!(test.detail.contains("expected.ecn.priorities is missing"), "{test:#?}");
    }
    let none = with(&untold, &format!("        3: {{ecn: {{{CURVE}}}}}\n"), "");
    for id in ids {
        let results = validate_at(Level::Full, &none, &[id]);
        assert_eq!(outcome(&results, id), Some(Outcome::Fail), "{results:#?}");
    }
    let empty = with(GOOD, "priorities: [3]}", "priorities: []}");
    skips(&empty, &IDS, "expected.ecn.priorities: it is empty");
}

#[test]
fn marks_of_any_class_without_ecn_are_found_at_level_full() {
    let three = with(GOOD, "ports: [{}, {}, {}, {}]", "ports: [{}, {}, {}]");
    for priority in [1, 4, 7] {
        let part = format!("Not-ECT frames of priority {priority} that arrive marked");
        fails_at_full_after(&three, "V-E03", &part, &|trial, seen| {
            let received = seen.records.iter_mut().filter(|record| record.way == Way::Received);
            for record in received {
                if flow_of(trial, record).is_some_and(|flow| flow.priority.get() == priority) {
                    set(record, Ecn::Ce);
                }
            }
        });
    }
}
