//! Devices about which nothing can be said: no test may pass or fail them.

use super::{GOOD, TESTS, changed, outcome, validate};
use crate::judge::Outcome;
use crate::observation::{Observation, Record, Way, What};
use crate::trial::{Port, Trial};

/// Asserts that no test judges a device whose records are changed like this.
fn judged_by_none(what: &str, after: changed::After<'_>) {
    let results = changed::judged_all((GOOD, "V-*", true), &|_| {}, after);
    assert_eq!(results.len(), TESTS.len() + 1);
    for result in results.iter().skip(1) {
        let silent = !matches!(result.outcome, Outcome::Pass | Outcome::Fail | Outcome::Policy);
        assert!(silent, "{what}: {result:#?}");
    }
}

#[test]
fn a_device_that_drops_everything_is_not_judged() {
    let none = |_: &Trial, seen: &mut Observation| {
        seen.records.retain(|record| record.way == Way::Sent);
    };
    judged_by_none("no frame arrives", &none);
}

#[test]
fn a_port_without_a_cable_is_not_judged() {
    let dead = |trial: &Trial, seen: &mut Observation| {
        seen.records.retain(|record| {
            let from_it = matches!(&record.what, What::Data { flow, .. } if trial.flows[flow.0].from == Port(1));
            record.way == Way::Sent || (record.port != Port(1) && !from_it)
        });
    };
    judged_by_none("the second port has no cable", &dead);
}

/// A device that pauses a tester port for ever: the tester, which obeys, sends nothing there. That is a failure
/// of the test of pauses without congestion, and no other one passes or fails for it by what was never sent.
#[test]
fn a_device_that_pauses_for_ever_is_named() {
    let fault = "virtual:\n  faults: [{defect: {on: s1, port: h1, kind: pauses-for-ever, priorities: [3]}}]\n";
    let text = GOOD.replace("virtual:\n", fault);
    let results = validate(&text, &["V-X07", "V-R01", "V-R04", "V-R05", "V-R06", "V-X01", "V-H01"]);
    assert_eq!(outcome(&results, "V-X07"), Some(Outcome::Fail), "{results:#?}");
    for id in ["V-R01", "V-R04", "V-R05", "V-R06"] {
        let test = results.tests.iter().find(|test| test.id == id).unwrap();
        assert_eq!(test.outcome, Outcome::Error, "{test:#?}");
        assert!(test.detail.contains("the DUT pauses priority 3 at port A"), "{test:#?}");
    }
    for id in ["V-X01", "V-H01"] {
        assert_ne!(outcome(&results, id), Some(Outcome::Pass), "{id}: {results:#?}");
    }
}

/// MAC control that is none: too short, with unknown opcodes, with random contents.
#[test]
fn garbage_from_the_device_fails_its_own_test_alone() {
    let garbage = |_: &Trial, seen: &mut Observation| {
        let like = seen.records.iter().find(|record| record.way == Way::Received).cloned();
        let Some(like) = like else { return };
        let mut random = ground::rand::Rng::new(7);
        for n in 0..64_usize {
            let mut octets: Vec<u8> = (0..14 + n).map(|_| random.next_u64() as u8).collect();
            octets[..6].copy_from_slice(&[0x01, 0x80, 0xc2, 0, 0, 1]);
            octets[12..14].copy_from_slice(&[0x88, 0x08]);
            let what = What::Control(octets.into());
            seen.records.push(Record { what, head: Box::default(), ..like.clone() });
        }
        seen.records.sort_by_key(|record| record.end);
    };
    let judged = |id| changed::judged((GOOD, id, true), &|_| {}, &garbage);
    assert_eq!(judged("V-X02").outcome, Outcome::Fail, "{:#?}", judged("V-X02"));
    for id in ["V-R01", "V-R04", "V-X01", "V-M06"] {
        assert_eq!(judged(id).outcome, Outcome::Pass, "{:#?}", judged(id));
    }
}

/// A machine that loses frames before the tester sees them.
#[test]
fn a_machine_that_is_too_busy_is_inconclusive() {
    let busy = |_: &Trial, seen: &mut Observation| {
        seen.disturbed = Some("port A lost 3 received frames".to_owned());
    };
    for result in changed::judged_all((GOOD, "V-*", true), &|_| {}, &busy).iter().skip(1) {
        let is_named = result.detail == "port A lost 3 received frames";
        let silent = matches!(result.outcome, Outcome::Inconclusive | Outcome::Skip);
        assert!(silent && (is_named || result.outcome == Outcome::Skip), "{result:#?}");
    }
}
