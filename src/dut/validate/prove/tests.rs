//! A short proof: each fault once, at its largest value or at one of `SIZES`.

mod matrix;

use super::*;
use crate::knobs::{Feature, knobs};
use core::sync::atomic::Ordering;
use serde_json::json;

#[test]
fn every_wrong_tester_ends_with_an_error() {
    for mutant in Mutant::ALL {
        let run = mutant.run();
        assert_eq!(run.outcome, Outcome::Error, "{mutant}: {}", run.detail);
    }
}

/// A table of at most 80 columns.
#[test]
fn the_line_of_a_fault_is_short() {
    for knob in knobs().unwrap() {
        assert!(knob.fault.len() <= 40, "{}", knob.fault);
    }
}

/// Faults that must be found at a smaller value than their largest.
const SIZES: [(&str, &str); 12] = [
    ("XOFF is sent late", "106496"),
    ("XON is sent without hysteresis", "832B"),
    ("XON is sent at another level", "3744B"),
    ("the buffer is too small for all groups", "1200000B"),
    ("shared cells leak while the device runs", "105248B"),
    ("alpha is off", "0"),
    ("a share is off", "65"),
    ("the watchdog detects storms late", "1100us"),
    ("the watchdog restores late", "3ms"),
    ("frames are lost at a new key", "1"),
    ("messages ask for too long", "20KB"),
    ("messages pause for more of the time", "75%"),
];

/// The value in which a test finds a fault.
const TELLS: &[[&str; 3]] = &[
    ["priority 4 has no PFC", "V-R02", "frames of priority 4 against the pause"],
    ["PFC of one priority is ignored", "V-R03", "frames of priority 3 against the pause"],
    ["the enable vector is ignored", "V-R10", "without the bit of priority 3 that stop it"],
    ["the enable vector is mirrored", "V-R10", "without the bit of priority 3 that stop it"],
    ["the high octet of the vector is read", "V-R10", "with the bit of priority 3 that do not"],
    ["the high octet of the vector is read", "V-M03", "rate of priority 4"],
    ["a lossy priority is paused", "V-R11", "rate of priority 0"],
    ["pauses are too short", "V-R12", "shortest silence"],
    ["paused frames are dropped", "V-R15", "lost frames of priority 3"],
    ["data frames are sent twice", "V-R15", "duplicate frames"],
    ["frames change places after a pause", "V-R15", "reordered frames of priority 3"],
    ["PAUSE is obeyed while PFC is on", "V-M05", "rate of priority 3"],
    ["MAC control is forwarded", "V-M06", "forwarded frames of MAC control"],
    ["XOFF is sent late", "V-H01", "bytes of priority 3 that cause XOFF"],
    ["XON is sent without hysteresis", "V-X09", "from XOFF down to XON"],
    ["XON is sent at another level", "V-H03", "from XOFF down to XON"],
    ["the buffer is too small for all groups", "V-H04", "lost frames of priority"],
    ["shared cells leak while the device runs", "V-H06", "change of XOFF of priority 3"],
    ["the threshold is static", "V-H05", "from 2 ports each"],
    ["alpha is off", "V-H05", "from 1 ports each"],
    ["cells are smaller than told", "V-H07", "bytes of cells of 208-byte frames"],
    ["a fast port has no headroom", "V-X12", "lost frames of priority 3 from A"],
    ["PAUSE is never sent", "V-P02", "lost frames of priority 0 from A"],
    ["a share is off", "V-S01", "(classes that compete)"],
    ["a share is off", "V-S05", "(old weights)"],
    ["two weights are exchanged", "V-S02", "share of priority"],
    ["shares that are not used are not lent", "V-S02", "load of the line"],
    ["a strict class is served last", "V-S03", "(strict priority 3 at 30 %)"],
    ["shares are of frames, not of bytes", "V-S04", "share of priority"],
    ["the map of DSCP is off by one", "V-S06", "priority 3 that its pause does not stop (31)"],
    ["the map of PCP is off by one", "V-S06", "PCP values of priority 3"],
    ["there is no headroom", "V-I01", "lost frames of priority 3 from"],
    ["a lossy priority is paused, too", "V-I02", "pauses of priority 0"],
    ["no headroom, and lossy frames flood", "V-I03", "lost frames of priority 3 from"],
    ["one sender gets less than another", "V-I04", "rate of priority 3 from A"],
    ["nothing ends a deadlock", "V-I05", "from A in a quarter of the time"],
    ["marks come after PFC", "V-E05", "below that of the first pause"],
    ["short pauses lead to marks", "V-E07", "by pauses of 500 quanta, too short for Kmin"],
    ["a link failure leaves a queue stuck", "V-R16", "rate of priority 3"],
    ["a link failure ends pauses", "V-R16", "frames of priority 3 against the pause"],
    ["a priority has the curve of another", "V-E06", "(a priority without ECN is congested)"],
    ["checksums of marked packets are stale", "V-E04", "ECT(0) that arrive with a wrong checksum"],
    ["the watchdog drops another queue", "V-W05", "lost frames of the other queue"],
    ["a stormed queue is restored too early", "V-W07", "at B from the storm that arrive"],
    [
        "a failed link is taken for a storm",
        "V-W08",
        "lost frames of priority 3 after a link failure",
    ],
    ["the watchdog detects storms early", "V-W02", "(one short storm)"],
    ["the watchdog restores late", "V-W06", "lost frames of priority 3 after storm 1"],
    ["XON delays the restoration", "V-W06", "lost frames of priority 3 after storm 1"],
    ["a stormed queue is not dropped", "V-W05", "lost frames of the stormed queue"],
    ["a stormed queue is not dropped", "V-W06", "lost frames of priority 3 in storm 1"],
    ["some PFC is not counted", "V-C01", "counted XOFF for each priority, priority 3"],
    ["XON is counted, and not documented", "V-C01", "counted XON for each priority"],
    ["PFC is counted for the next priority", "V-C01", "counted XOFF for each priority"],
    ["PAUSE is counted as PFC", "V-C01", "PAUSE frames counted as PFC of priority 3"],
    ["PFC is counted as received data", "V-C02", "counted data frames at B"],
    ["PFC is counted as drops", "V-C02", "counted drops at B"],
    ["paused time is counted in quanta", "V-C03", "priority 3, paused for 10 %"],
    ["some drops are not counted", "V-C04", "counted drops of all reasons"],
    ["a link failure clears counters", "V-C04", "before and after a link failure"],
    ["watermarks are counted in cells", "V-H08", "buffer_peak of priority 3 with 26416 bytes held"],
    ["each pause is counted as a storm", "V-W03", "counted storms of priority 3 for an empty"],
    ["plain PFC is obeyed in the mode strict", "V-K01", "rate of priority 3"],
    ["plain PFC is ignored in the mode encrypt", "V-K01", "frames of priority 3 against"],
    ["no PFC at a port with MACsec", "V-K02", "pauses of priority 3 at B"],
    ["PFC is protected in the mode bypass", "V-K02", "PFC frames at C, in mode bypass"],
    ["rejected PFC is not counted", "V-K03", "counted as rejected"],
    ["a new key ends all pauses", "V-K04", "frames of priority 3 against the pause"],
    ["PFC is ignored once numbers pass 2^32", "V-K04", "frames of priority 3 against"],
    ["messages name another flow", "V-Q01", "it is about"],
    ["messages without congestion", "V-Q01", "without congestion"],
    ["messages ask for too long", "V-Q01", "pause that A is asked for"],
    ["no messages", "V-Q01", "messages to A"],
    ["messages of any host are trusted", "V-Q02", "by a message from another address"],
    ["a message about another host is obeyed", "V-Q02", "about another host's flow"],
    ["a message pauses for too long", "V-Q02", "one message"],
    ["messages pause for more of the time", "V-Q02", "a flood"],
    ["another port's rate converts times", "V-Q03", "25 Gb/s"],
];

/// Leaves the value at which the short proof has a fault.
fn shorten(knob: &mut Knob) {
    match SIZES.iter().find(|(fault, _)| *fault == knob.fault) {
        Some((_, size)) => knob.values.retain(|value| value.to_string().trim_matches('"') == *size),
        None => knob.values.truncate(1),
    }
}

#[test]
fn every_size_and_every_telling_value_is_of_a_fault() {
    let knobs = knobs().unwrap();
    for (fault, size) in SIZES {
        let mut knob = knobs.iter().find(|knob| knob.fault == fault).unwrap().clone();
        shorten(&mut knob);
        assert_eq!(knob.values.len(), 1, "{fault}: {size}");
    }
    for [fault, test, _] in TELLS {
        let finds = |knob: &&Knob| knob.fault == *fault && knob.caught_by.iter().any(|t| t == test);
        assert!(knobs.iter().any(|knob| finds(&knob)), "{fault}: {test}");
    }
}

/// Parts of the faults, each a test for a thread.
const PARTS: usize = 3;

#[test]
fn every_fault_is_found_by_its_tests() {
    found(0);
}

#[test]
fn every_fault_is_found_by_its_tests_2() {
    found(1);
}

#[test]
fn every_fault_is_found_by_its_tests_3() {
    found(2);
}

/// Asserts that each fault of a part is found by all of its tests, in the value that tells of it.
fn found(part: usize) {
    let only = std::env::var("SLUICE_KNOB").unwrap_or_default();
    let mut missed = Vec::new();
    for mut knob in knobs().unwrap().into_iter().skip(part).step_by(PARTS) {
        if !knob.id.starts_with(&only) {
            continue;
        }
        shorten(&mut knob);
        let run = knob.run();
        let is_told = |cell: &Cell| {
            let mut parts = TELLS.iter().filter(|[f, t, _]| *f == knob.fault && *t == cell.test);
            parts.all(|[_, _, part]| cell.detail.contains(part))
        };
        for cell in run.cells.iter().filter(|cell| !cell.found || !is_told(cell)) {
            missed.push(format!(
                "{} {}: {} {:?} {}",
                knob.id, knob.fault, cell.test, cell.outcome, cell.detail
            ));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

/// A device without a fault, and a fault that a test cannot see, are not found.
#[test]
fn a_fault_that_is_none_is_not_found() {
    let knob = |change| Knob {
        change,
        values: Vec::new(),
        caught_by: vec!["V-R01".to_owned()],
        ..knobs().unwrap().remove(0)
    };
    let none = knob(json!({})).run();
    assert!(!none.cells[0].found && none.cells[0].outcome == Outcome::Pass, "{none:?}");
    let other =
        json!({"virtual": {"faults": [{"defect": {"on": "s1", "kind": "pfc-zero-source"}}]}});
    let run = knob(other).run();
    assert!(!run.cells[0].found, "{run:?}");
    let proof = Proof { knobs: vec![run], ..Proof::default() };
    assert_eq!(proof.verdict(), Verdict::Fail);
    assert!(table(&proof).contains("is not found by V-R01 (pass)"), "{}", table(&proof));
}

#[test]
fn a_proof_that_was_ended_is_inconclusive() {
    let stop = AtomicBool::new(false);
    let knobs = knobs().unwrap();
    let proof =
        run(&knobs, parts(&knobs, &[], 1), &stop, |_, _| stop.store(true, Ordering::SeqCst));
    assert!(proof.interrupted && !proof.mutants.is_empty() && proof.good.is_empty(), "{proof:?}");
    assert_eq!(proof.verdict(), Verdict::Inconclusive);
}

/// The first one has a test of its own, which looks closer.
#[test]
fn the_good_devices_pass() {
    for (device, text) in &GOOD[1..] {
        let run = good(device, text, 7);
        assert!(run.others.is_empty() && run.passed > 1, "{run:?}");
    }
}

/// A device is good whatever its rate and its buffer: no test of something else makes its watchdog act.
#[test]
fn a_good_device_fails_at_no_rate_and_with_no_buffer() {
    for (rate, total, detection) in
        [("1G", "2MiB", "1ms"), ("10G", "8MiB", "1ms"), ("100G", "16MiB", "1ms")]
    {
        let feature: Feature = serde_json::from_value(json!({
            "name": format!("{rate}, {total}, {detection}"),
            "told": {
                "rate": rate,
                "expected": {"watchdog": {"detection": detection}},
                "virtual": {"profile": {
                    "buffer": {"total": total},
                    "defaults": {"watchdog": {"detection": detection}},
                }},
            },
        }))
        .unwrap();
        let results = validate(&device(&feature.file("virtual")), &["V-*"], Level::Quick);
        let bad = results.tests.iter().filter(|test| test.outcome >= Outcome::Fail);
        let bad: Vec<_> = bad.map(|test| (test.id, test.outcome, &test.detail)).collect();
        for test in &results.tests {
            println!("{} {} {:?} {}", feature.name, test.id, test.outcome, test.detail);
        }
        assert!(bad.is_empty(), "{}: {bad:#?}", feature.name);
        // What cannot be tried without a storm is not judged.
        let fits = rate == "100G";
        let all_judged = ["V-R05", "V-X05"].iter().all(|id| {
            let test = result_of(&results, id);
            assert!(fits || test.detail.contains("expected.watchdog.detection"), "{}", test.detail);
            test.outcome != Outcome::Skip
        });
        assert_eq!(all_judged, fits, "{}", feature.name);
        // The short ones of single pauses can.
        let single = result_of(&results, "V-R05");
        assert!(single.measurements.iter().any(|m| m.outcome == Outcome::Pass), "{single:#?}");
        // What can be tried finds faults as elsewhere.
        for (kind, id) in [("obeys-next-priority", "V-R01"), ("ignores-zero-time", "V-R04")] {
            let mut bad = feature.clone();
            bad.told["virtual"]["faults"] = json!([{"defect": {"on": "s1", "kind": kind}}]);
            let results = validate(&device(&bad.file("virtual")), &[id], Level::Quick);
            assert_eq!(result_of(&results, id).outcome, Outcome::Fail, "{} {kind}", feature.name);
        }
    }
}

/// When a storm ends with large queues, the scheduler relieves one priority before the other, so that the other
/// goes on being paused: that says nothing about how the device pauses them while both are stopped.
#[test]
fn strict_priorities_are_paused_alike_however_large_the_buffer() {
    let feature: Feature = serde_json::from_value(json!({
        "name": "10G, 16MiB, 5ms",
        "told": {
            "rate": "10G",
            "expected": {"watchdog": {"detection": "5ms"}},
            "virtual": {"profile": {
                "buffer": {"total": "16MiB"},
                "defaults": {"watchdog": {"detection": "5ms"}},
            }},
        },
    }))
    .unwrap();
    let results = validate(&device(&feature.file("virtual")), &["V-X05"], Level::Full);
    let test = result_of(&results, "V-X05");
    assert_eq!(test.outcome, Outcome::Pass, "{}", test.detail);
}
