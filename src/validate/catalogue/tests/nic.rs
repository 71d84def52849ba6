//! Tests of NICs, on the good ones and on bad ones.

use super::*;

const GOOD_NIC: &str = include_str!("../../../../configs/validate/nic.yaml");

#[test]
fn good_nics_pass() {
    let results = validate(GOOD_NIC, &[]);
    assert!(results.tests.len() > 1, "{results:#?}");
    all_pass(&results);
}

/// Asserts that NICs with a change of their file end a test with this outcome and a reason.
fn ends(change: (&str, &str), id: &str, (outcome, part): (Outcome, &str)) {
    let text = GOOD_NIC.replace(change.0, change.1);
    assert_ne!(text, GOOD_NIC, "{change:?}");
    let results = validate(&text, &[id]);
    let test = results.tests.iter().find(|test| test.id == id).unwrap();
    assert_eq!(test.outcome, outcome, "{test:#?}");
    assert!(test.detail.contains(part), "{test:#?}");
}

#[test]
fn nics_that_send_nothing_are_not_judged() {
    let none = ("sends: [0, 3, 4]", "sends: [0, 3, 4, 5]");
    ends(none, "V-N01", (Outcome::Skip, "no frame of priority 5 to port A"));
}

#[test]
fn traffic_that_ends_is_not_judged() {
    let ends_early =
        ("priority: 3, rate: 30G", "priority: 3, duration: {seconds: 30us}, rate: 30G");
    ends(ends_early, "V-N01", (Outcome::Inconclusive, "not end before the tests"));
}

/// Tests of switches skip NICs, and those of NICs skip switches.
#[test]
fn other_devices_are_skipped() {
    for (text, part) in [(GOOD_NIC, "nic is there"), (GOOD, "nic is missing")] {
        let setup = file::parse("dut.yaml", text).unwrap().0.setup;
        let others = TESTS.iter().filter(|test| other_kind(test, &setup).is_some());
        let ids: Vec<_> = others.map(|test| test.id).collect();
        assert!(!ids.is_empty());
        for test in &validate(text, &ids).tests[1..] {
            let is_of_pause = test.detail.contains("flow_control");
            assert_eq!(test.outcome, Outcome::Skip, "{test:#?}");
            assert!(test.detail.contains(part) || is_of_pause, "{test:#?}");
        }
    }
}
