//! A statement of conformance in the form of a PICS: requirements of 802.1Q and 802.3, and what the
//! tests say of each.

use serde::Serialize;

use crate::judge::Outcome;
use crate::suite::Results;

/// A requirement, and the tests that decide about it.
struct Item {
    requirement: &'static str,
    clause: &'static str,
    tests: &'static [&'static str],
}

const ITEMS: &[Item] = &[
    Item {
        requirement: "PFC on at least one port and one priority",
        clause: "802.1Q 36.1.1",
        tests: &["V-R01", "V-X01"],
    },
    Item {
        requirement: "PFC on all lossless priorities and ports",
        clause: "802.1Q 36.1.1",
        tests: &["V-R02", "V-R03"],
    },
    Item {
        requirement: "M_CONTROL.indication: pauses are obeyed for their time",
        clause: "802.1Q 36.1.3.2, 802.3 31B.3.2",
        tests: &["V-R04", "V-R05", "V-R07", "V-R09", "V-R10"],
    },
    Item {
        requirement: "M_CONTROL.request: pauses are sent, and well formed",
        clause: "802.1Q 36.1.3.1",
        tests: &["V-X01", "V-X02", "V-X03"],
    },
    Item {
        requirement: "delay constraint",
        clause: "802.1Q 36.1.3.3, 802.3 31B.3.7",
        tests: &["V-R06"],
    },
    Item {
        requirement: "queues that know PFC: other priorities flow",
        clause: "802.1Q 36.1.2",
        tests: &["V-R01", "V-X06", "V-X11"],
    },
    Item {
        requirement: "invalid MAC control is ignored and not forwarded",
        clause: "802.3 31.4, 802.1Q 8.6.3",
        tests: &["V-M01", "V-M02", "V-M06"],
    },
    Item {
        requirement: "PAUSE is ignored while PFC is on",
        clause: "802.1Q 36.1.1",
        tests: &["V-M05"],
    },
    Item { requirement: "ETS: shares within 10 %", clause: "802.1Q 37.3", tests: &["V-S01"] },
    Item { requirement: "DCBX: configuration as agreed", clause: "802.1Q 38.4", tests: &["V-D02"] },
];

/// A line of the statement.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Conformance {
    pub requirement: &'static str,
    pub clause: &'static str,
    /// `yes` if all of its tests passed, `no` if one failed, else `not shown`.
    pub support: &'static str,
    /// Its tests with their outcomes; those that were not run have none.
    pub tests: Vec<(&'static str, Option<Outcome>)>,
}

/// Returns the statement.
#[must_use]
pub fn conformance(results: &Results) -> Vec<Conformance> {
    let outcome = |id: &str| results.tests.iter().find(|t| t.id == id).map(|t| t.outcome);
    let line = |item: &Item| {
        let tests: Vec<_> = item.tests.iter().map(|id| (*id, outcome(id))).collect();
        let support = if tests.iter().any(|(_, outcome)| *outcome == Some(Outcome::Fail)) {
            "no"
        } else if tests.iter().all(|(_, outcome)| *outcome == Some(Outcome::Pass)) {
            "yes"
        } else {
            "not shown"
        };
        Conformance { requirement: item.requirement, clause: item.clause, support, tests }
    };
    ITEMS.iter().map(line).collect()
}
