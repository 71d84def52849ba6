//! Devices about which nothing can be said: no test may pass or fail them.

use super::{GOOD, TESTS, changed};
use crate::judge::Outcome;
use crate::observation::{Observation, Way, What};
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
