//! A part of the matrix of faults by features, and what its parts find. `sluice validate --prove` runs all of it.

use super::*;
use crate::knobs::features;
use std::collections::BTreeSet;

/// Faults of which the test below takes one.
const SAMPLED: usize = 47;

/// Each feature beside some faults, and the same tests on the devices without a fault.
#[test]
fn no_fault_passes_a_test_for_a_feature_beside_it() {
    let knobs = knobs().unwrap();
    let features = features(&knobs).unwrap();
    let mut runs = Vec::new();
    for (n, feature) in features.iter().enumerate() {
        let quick = |part: &Beside<'_>| part.fault.is_some_and(|fault| !fault.full);
        let parts = feature.parts(&knobs).filter(quick).skip(n % SAMPLED).step_by(SAMPLED);
        let mut tests = BTreeSet::new();
        for part in parts {
            tests.extend(
                part.fault
                    .iter()
                    .flat_map(|fault| &fault.caught_by)
                    .map(|test| (part.device, &test[..])),
            );
            runs.push(part.run());
        }
        for device in &feature.devices {
            let of: Vec<_> =
                tests.iter().filter(|(of, _)| of == device).map(|(_, test)| *test).collect();
            if !of.is_empty() {
                runs.push(Beside { feature, device, fault: None }.good(&of));
            }
        }
    }
    let wrong: Vec<_> = runs.iter().flat_map(|run| &run.wrong).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    let fail: usize = runs.iter().map(|run| run.fail).sum();
    let open: usize = runs.iter().map(|run| run.not_judged).sum();
    assert!(fail > open, "{fail} cells fail, {open} are not judged");
}

#[test]
fn a_proof_with_a_wrong_cell_fails_and_names_it() {
    let knobs = knobs().unwrap();
    let mut features = features(&knobs).unwrap();
    features.truncate(1);
    let none = Knob { change: json!({}), values: Vec::new(), ..knobs[0].clone() };
    let all = [none, knobs[0].clone()];
    let mut parts = parts(&all, &features, 0);
    parts.retain(|part| matches!(part, Part::Beside(Beside { fault: Some(_), .. })));
    assert_eq!(parts.len(), 2);
    let mut proof = run(&all, parts, &AtomicBool::new(false), |_, _| ());
    let [of_feature] = &proof.features[..] else { panic!("{proof:?}") };
    assert_eq!((of_feature.fail, of_feature.wrong.len()), (4, 4), "{of_feature:?}");
    let elsewhere = FeatureRun { device: "another".into(), fail: 1, ..of_feature.clone() };
    proof.features.push(FeatureRun { wrong: Vec::new(), ..elsewhere });
    assert_eq!(proof.verdict(), Verdict::Fail);
    let text = table(&proof);
    let count = "beside 1 features (2 pairs of feature and device): 5 tests of faults fail, 0 are not judged, 4 are wrong";
    assert!(text.contains(count), "{text}");
    assert!(text.contains("beside priorities by PCP (virtual): V-R01: "), "{text}");
}

/// Frames at the ends of a span change a rate, and are its uncertainty as well.
#[test]
fn a_good_device_with_long_frames_is_never_inconclusive() {
    let features = features(&knobs().unwrap()).unwrap();
    let feature = features.iter().find(|feature| feature.name == "long frames").unwrap();
    let run = Beside { feature, device: "virtual", fault: None }.good(&["V-R14"]);
    assert!(run.wrong.is_empty(), "{run:?}");
}

/// The line of a plain port takes more frames than that of a port with MACsec.
#[test]
fn a_good_device_with_macsec_at_one_port_fails_no_test_of_shares_or_losses() {
    let features = features(&knobs().unwrap()).unwrap();
    let feature = features.iter().find(|feature| feature.name == "MACsec").unwrap();
    let dut = device(&feature.file("virtual"));
    let results = validate(&dut, &["V-S03", "V-I03", "V-W04"], Level::Quick);
    assert_eq!(others(&results), []);
    let passed = results.tests.iter().filter(|test| test.outcome == Outcome::Pass).count();
    assert_eq!(passed, 4, "with the tester's check of itself: {results:#?}");
}

/// V-W04 does not count what the lossy priority loses after the storm there, so it must find what it loses before.
#[test]
fn a_watchdog_that_drops_a_lossy_priority_is_found_beside_macsec() {
    let knobs = knobs().unwrap();
    let features = features(&knobs).unwrap();
    let feature = features.iter().find(|feature| feature.name == "MACsec").unwrap();
    let mut knob =
        knobs.iter().find(|k| k.fault == "the watchdog drops another queue").unwrap().clone();
    knob.change["virtual"]["faults"][0]["defect"]["priorities"] = json!([0]);
    knob.caught_by = vec!["V-W04".into()];
    let run = Beside { feature, device: "virtual", fault: Some(&knob) }.run();
    assert_eq!((run.fail, run.wrong.len(), run.not_judged), (1, 0, 0), "{run:?}");
}

/// Frames that never meet are not marked, so their rates differ.
#[test]
fn marks_without_congestion_are_found_beside_macsec() {
    let knobs = knobs().unwrap();
    let features = features(&knobs).unwrap();
    let feature = features.iter().find(|feature| feature.name == "MACsec").unwrap();
    let knob = knobs.iter().find(|knob| knob.fault == "all packets are marked").unwrap();
    let run = Beside { feature, device: "virtual", fault: Some(knob) }.run();
    assert_eq!((run.fail, run.wrong.len(), run.not_judged), (2, 0, 0), "{run:?}");
}

/// Loads are those of the line where they meet, which has no MACsec here.
#[test]
fn a_device_without_headroom_loses_frames_in_a_flood_beside_macsec() {
    let knobs = knobs().unwrap();
    let features = features(&knobs).unwrap();
    let feature = features.iter().find(|feature| feature.name == "MACsec").unwrap();
    let knob = knobs.iter().find(|k| k.fault == "no headroom, and lossy frames flood").unwrap();
    let run = Beside { feature, device: "virtual", fault: Some(knob) }.run();
    assert_eq!((run.fail, run.wrong.len(), run.not_judged), (1, 0, 0), "{run:?}");
}

/// A fault that is not in the device is passed, and the matrix says so.
#[test]
fn a_matrix_with_a_fault_that_is_not_found_fails() {
    let knobs = knobs().unwrap();
    let feature = features(&knobs).unwrap().remove(0);
    let none = Knob {
        change: json!({}),
        values: Vec::new(),
        caught_by: vec!["V-R01".to_owned()],
        ..knobs[0].clone()
    };
    let run = |fault| Beside { feature: &feature, device: "virtual", fault: Some(fault) }.run();
    let missed = run(&none);
    assert!(missed.fail == 0 && missed.wrong.len() == 1, "{missed:?}");
    let found = run(&knobs[0]);
    assert!(found.fail == 4 && found.wrong.is_empty(), "{found:?}");
}

/// A reason in the list of features that is none is noticed.
#[test]
fn a_fault_that_is_found_beside_a_feature_must_not_be_named_without_effect() {
    let knobs = knobs().unwrap();
    let mut feature = features(&knobs).unwrap().remove(0);
    feature.without.insert(knobs[0].fault.clone(), "a wrong reason".to_owned());
    let found = Beside { feature: &feature, device: "virtual", fault: Some(&knobs[0]) }.run();
    assert_eq!(found.wrong.len(), 1, "{found:?}");
}
