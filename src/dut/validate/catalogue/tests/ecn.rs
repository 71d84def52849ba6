//! Devices that mark wrongly.

use super::changed::{fails_after, fails_as};
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
