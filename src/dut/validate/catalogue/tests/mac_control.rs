//! Devices that take MAC control frames for what they are not.

use super::changed::{
    After, ends, fails_after, fails_before, judged, lose, lose_early, relay, stop, unable,
};
use super::{GOOD, PLAIN, skips};
use crate::judge::Outcome;
use crate::observation::{Way, What};
use crate::trial::{Control, Trial, VECTOR, pfc_frame};
use ground::units::{Mac, Priority, Quanta};

/// Makes a frame PFC of the longest time for all priorities.
fn obey(control: &mut Control) {
    let all = Priority::ALL.map(|p| (p, Quanta::MAX));
    control.octets = pfc_frame(Mac([2, 0, 0, 0, 0, 1]), &all);
}

/// A device that obeys the frames of the trials with this name.
fn obeys(name: &'static str) -> impl Fn(&mut Trial) {
    move |trial| {
        if trial.name.contains(name) {
            trial.control.iter_mut().for_each(obey);
        }
    }
}

#[test]
fn unknown_opcodes_that_pause_are_found() {
    for name in ["opcode 0x0000", "opcode 0x0102", "opcode 0xffff", "opcode 0x0001"] {
        fails_before("V-M01", "rate of priority 3", &obeys(name));
    }
}

#[test]
fn wrong_sizes_that_pause_are_found() {
    for name in ["PFC of 30 bytes", "PFC of 63 bytes"] {
        fails_before("V-M02", "rate of priority 4", &obeys(name));
    }
    fails_before("V-M02", "rate of priority 3", &|trial| trial.damage.clear());
    fails_before("V-M02", "frames of priority 3 against the pause", &|trial| {
        if trial.name == "PFC of 1518 bytes" {
            trial.control[0].octets[VECTOR + 1] = 0;
        }
    });
    let unable = unable(GOOD, "V-M02");
    ends(&unable, Outcome::Skip, "");
    let skipped = unable.measurements.iter().filter(|m| m.outcome == Outcome::Skip).count();
    assert_eq!(skipped, 2, "{unable:#?}");
}

#[test]
fn frames_with_reserved_bits_that_are_ignored_are_reported() {
    let ignore = |trial: &mut Trial| trial.control[0].octets[VECTOR + 1] = 0;
    let ignored = judged((GOOD, "V-M03", true), &ignore, &|_, _| {});
    ends(&ignored, Outcome::Pass, "");
    let reported = ignored.measurements.iter().find(|m| m.outcome == Outcome::Policy).unwrap();
    assert!(reported.value > 98.0, "{ignored:#?}");
}

#[test]
fn wrong_destinations_that_pause_are_found() {
    for name in ["a known station", "an unknown station", "LLDP", "broadcast", "tagged PFC"] {
        fails_before("V-M04", "rate of priority 3", &obeys(name));
    }
    // The reaction to the address of the port is no fault.
    let obeyed = judged((GOOD, "V-M04", true), &obeys("PFC to the port"), &|_, _| {});
    let reported = obeyed.measurements.iter().find(|m| m.outcome == Outcome::Policy).unwrap();
    assert!(reported.value < 1.0, "{obeyed:#?}");
    // A device that sends no pause does not tell its address.
    skips(PLAIN, &["V-M04"], "");
}

/// Criteria that all tests of ignored frames have.
#[test]
fn losses_stops_and_forwarded_frames_are_found() {
    let changes: [(&str, After<'_>); 4] = [
        ("rate of priority 1", &stop(1)),
        ("lost frames of priority 6", &lose_early(6)),
        ("lost frames of priority 3", &lose(3)),
        ("forwarded frames", &relay),
    ];
    for id in ["V-M01", "V-M02", "V-M03", "V-M04", "V-M05"] {
        for (part, change) in changes {
            fails_after(id, part, change);
        }
    }
}

#[test]
fn forwarded_mac_control_is_found() {
    // The last frame, which is valid PFC, with another destination and a tag.
    fails_after("V-M06", "forwarded frames of MAC control", &|_, seen| {
        let is_sent = |way: Way, what: &What| way == Way::Sent && matches!(what, What::Control(_));
        let last = seen.records.iter().rfind(|r| is_sent(r.way, &r.what)).unwrap().clone();
        let What::Control(octets) = &last.what else { unreachable!() };
        let mut octets = octets.to_vec();
        octets[..6].fill(0xff);
        octets.splice(12..12, [0x81, 0, 0, 1]);
        let mut copy = last.clone();
        (copy.way, copy.what) = (Way::Received, What::Control(octets.into()));
        seen.records.push(copy);
    });
}

#[test]
fn a_device_that_forwards_nothing_is_not_judged() {
    let black_hole = judged((GOOD, "V-M06", true), &|_| {}, &|_, seen| {
        seen.records.retain(|record| record.way == Way::Sent);
    });
    ends(&black_hole, Outcome::Error, "");
}
