//! Drawn defects: what does harm is seen, and a checker that is planted blind makes the swarm fail.

use crate::Outcome;
use crate::raw::{DefectKind, Fault, FaultKind, Lab};
use crate::swarm::trial::run_changed;
use crate::swarm::{Defects, Failure, draw, lab_seed, run_lab};
use ground::verdict::Verdict;

/// Seed of the swarm.
const SEED: u64 = 8;

/// Returns the first labs of the swarm that have a defect.
fn labs() -> impl Iterator<Item = (u64, Lab)> {
    let has_defect =
        |lab: &Lab| lab.faults.iter().any(|fault| matches!(fault.kind, Some(FaultKind::Defect(_))));
    let drawn = (0..).map(|n| (n, draw(lab_seed(SEED, n)).unwrap()));
    drawn.filter(move |(_, lab)| has_defect(lab))
}

/// Has checks pass, whatever they found.
fn blind(outcome: &mut Outcome, names: &[&str]) {
    for check in &mut outcome.checks {
        if names.is_empty() || names.contains(&check.name.as_str()) {
            check.verdict = Verdict::Pass;
        }
    }
    outcome.verdict = Verdict::of_all(outcome.checks.iter().map(|check| check.verdict));
}

#[test]
fn no_harm_of_a_defect_passes() {
    let mut defects = Defects::default();
    for (n, lab) in labs().take(60) {
        let trial = run_lab(&lab);
        assert_eq!(trial.failures, [], "lab {n}");
        defects.add(&trial.counts.defects);
    }
    println!("{defects:?}");
    assert!(defects.harmful >= 3 && defects.failed >= 3, "{defects:?}");
}

#[test]
fn a_blind_checker_makes_the_swarm_fail() {
    for (names, kind, says) in [
        (&["lossless"][..], DefectKind::LosesData, "were lost, and `lossless` passes"),
        (&["conservation"], DefectKind::DuplicatesData, "arrived twice, and `conservation` passes"),
        (&[], DefectKind::PausesForEver, "stands still, and the lab passes"),
    ] {
        let is_it = |lab: &Lab| {
            let of =
                |fault: &Fault| matches!(&fault.kind, Some(FaultKind::Defect(d)) if d.kind == kind);
            lab.faults.iter().any(of)
        };
        let fails = |lab: &Lab| {
            let failures = run_changed(lab, |outcome| blind(outcome, names)).failures;
            let unseen = |f: &Failure| f.check == "unseen_defect" && f.detail.contains(says);
            failures.iter().any(unseen)
        };
        let mut labs = labs().map(|(_, lab)| lab).filter(is_it).take(10);
        let found = labs.find(fails).unwrap_or_else(|| panic!("{names:?}"));
        assert_eq!(run_lab(&found).failures, [], "{names:?}");
    }
}
