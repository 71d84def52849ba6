//! A short proof: each fault once, at its largest value.

use super::*;
use crate::knobs::knobs;
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

/// Asserts that each fault of a part is found by all of its tests.
fn found(part: usize) {
    let only = std::env::var("SLUICE_KNOB").unwrap_or_default();
    let mut missed = Vec::new();
    for mut knob in knobs().unwrap().into_iter().skip(part).step_by(PARTS) {
        if !knob.id.starts_with(&only) {
            continue;
        }
        knob.values.truncate(1);
        let run = knob.run();
        for cell in run.cells.iter().filter(|cell| !cell.found) {
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
    let mut left = 1;
    let proof = run(&knobs().unwrap(), 1, |_, _| {
        left -= 1;
        left >= 0
    });
    assert_eq!((proof.verdict(), proof.mutants.len()), (Verdict::Inconclusive, 1));
}

/// The first one has a test of its own, which looks closer.
#[test]
fn the_good_devices_pass() {
    for (device, text) in &GOOD[1..] {
        let run = good(device, text, 7);
        assert!(run.others.is_empty() && run.passed > 1, "{run:?}");
    }
}
