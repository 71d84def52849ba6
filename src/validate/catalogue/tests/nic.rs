//! Tests of NICs, on the good ones and on bad ones.

use super::*;
use crate::bench::{Bench, Faculty, Trouble};
use crate::judge::Measurement;
use crate::observation::{Observation, Way};
use crate::test::TestResult;
use crate::trial::Trial;

const GOOD_NIC: &str = include_str!("../../../../configs/validate/nic.yaml");

#[test]
fn good_nics_pass() {
    for seed in [1, 2] {
        let results = validate(&format!("seed: {seed}\n{GOOD_NIC}"), &["V-N*"]);
        assert_eq!(results.tests.len(), 5, "{results:#?}");
        for test in &results.tests {
            let is_recorded = test.measurements.iter().any(|m| m.outcome == Outcome::Policy);
            let passes = test.outcome == Outcome::Pass;
            assert!(passes && (test.id == "V-N02" || !is_recorded), "{test:#?}");
        }
    }
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
        ("priority: 4, rate: 30G", "priority: 4, duration: {seconds: 30us}, rate: 30G");
    ends(ends_early, "V-N01", (Outcome::Inconclusive, "not end before the tests"));
}

#[test]
fn without_a_field_the_test_that_needs_it_is_skipped() {
    let pairs = ("{port: A, sends:", "{port: B, sends:");
    ends(pairs, "V-N03", (Outcome::Skip, "nic.queue_pairs: that at port A is missing"));
    let plain = ("transport: {roce: {dcqcn: sigcomm15}}", "transport: udp");
    ends(plain, "V-N03", (Outcome::Skip, "no data of RoCEv2 to port A"));
    ends(
        ("sends: [0, 3, 4]", "sends: [0, 3]"),
        "V-N04",
        (Outcome::Skip, "two lossless priorities"),
    );
}

/// Asserts that NICs with a change of their file fail a test in a value whose name has this part.
fn fails(change: (&str, &str), id: &str, part: &str) {
    let text = GOOD_NIC.replace(change.0, change.1);
    assert_ne!(text, GOOD_NIC, "{change:?}");
    let results = validate(&text, &[id]);
    let test = results.tests.iter().find(|test| test.id == id).unwrap();
    let failed = |m: &&Measurement| m.outcome == Outcome::Fail;
    let failed: Vec<_> = test.measurements.iter().filter(failed).map(|m| &m.what).collect();
    assert!(failed.iter().any(|what| what.contains(part)), "{part}: {failed:?}\n{test:#?}");
}

/// Returns the change that gives the first NIC a defect.
fn defect(kind: &str) -> (&'static str, String) {
    ("virtual:\n", format!("virtual:\n  faults: [{{defect: {{on: nic1, port: h1, {kind}}}}}]\n"))
}

#[test]
fn bad_nics_fail_in_the_value_that_shows_it() {
    let rows = [
        ("kind: ignores-pfc, priorities: [3]", "V-N01", "V-R01 at A: frames of priority 3 against"),
        ("kind: obeys-late, quanta: 2000", "V-N01", "V-R06 at A: longest reaction"),
        ("kind: never-expires", "V-N01", "V-R05 at A: longest silence"),
        ("kind: pauses-for-ever, priorities: [3]", "V-N02", "that the NIC takes while"),
        ("kind: never-pauses", "V-N02", "pauses of priority 3 while the host does not read"),
        ("kind: ignores-cnp", "V-N03", "is notified"),
        ("kind: clears-ce", "V-N03", "CNPs for"),
        ("kind: pauses-for-ever, priorities: [3]", "V-N03", "by the NIC"),
        ("kind: ignores-pfc", "V-N04", "against the pause"),
        ("kind: obeys-for-all", "V-N04", "rate of priority 4 at A"),
        ("kind: ignores-zero-time", "V-N04", "frames of priority 3 after XON"),
    ];
    for (kind, id, part) in rows {
        let (old, new) = defect(kind);
        fails((old, &new), id, part);
    }
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

/// A bench without access to the NIC.
struct Alone(VirtualBench, Option<Faculty>);

impl Bench for Alone {
    fn run(&mut self, trial: &Trial) -> Result<Observation, Trouble> {
        self.0.run(trial)
    }

    fn run_on_cable(&mut self, trial: &Trial) -> Result<Observation, Trouble> {
        self.0.run_on_cable(trial)
    }

    fn has(&self, faculty: Faculty) -> bool {
        Some(faculty) == self.1
    }

    fn world(&self) -> &'static str {
        "virtual"
    }
}

#[test]
fn a_slow_host_needs_access_to_the_nic() {
    let (dut, _) = file::parse("dut.yaml", GOOD_NIC).unwrap();
    for (given, part) in [
        (None, "adapter is missing: it sets host.reading"),
        (Some(Faculty::Settings), "adapter is missing: the device's counters"),
    ] {
        let mut bench =
            Alone(VirtualBench::new(dut.setup.clone(), dut.lab.clone().unwrap()), given);
        let selection = Selection { level: Level::Quick, only: vec!["V-N02".to_owned()] };
        let results = suite::run(&dut.setup, &selection, &mut bench, |_, _, _| true);
        let test = results.tests.last().unwrap();
        assert_eq!(test.outcome, Outcome::Skip, "{test:#?}");
        assert!(test.detail.contains(part), "{test:#?}");
    }
}

/// A bench at which the traffic of the NIC is there only in some trials, by their number.
struct Sometimes(VirtualBench, u32, fn(u32) -> bool);

impl Bench for Sometimes {
    fn run(&mut self, trial: &Trial) -> Result<Observation, Trouble> {
        let mut seen = self.0.run(trial)?;
        self.1 += 1;
        if !(self.2)(self.1) {
            seen.records.retain(|record| record.way == Way::Sent);
        }
        Ok(seen)
    }

    fn run_on_cable(&mut self, trial: &Trial) -> Result<Observation, Trouble> {
        self.0.run_on_cable(trial)
    }

    fn world(&self) -> &'static str {
        "virtual"
    }
}

/// Returns the result of V-N01 with a wait, with traffic in these trials alone.
fn sometimes(is_there: fn(u32) -> bool) -> TestResult {
    let text = GOOD_NIC.replace("  sends:", "  wait: 1ms\n  sends:");
    let (dut, _) = file::parse("dut.yaml", &text).unwrap();
    let bench = VirtualBench::new(dut.setup.clone(), dut.lab.unwrap());
    let selection = Selection { level: Level::Quick, only: vec!["V-N01".to_owned()] };
    let mut bench = Sometimes(bench, 0, is_there);
    suite::run(&dut.setup, &selection, &mut bench, |_, _, _| true).tests.pop().unwrap()
}

#[test]
fn traffic_is_awaited_and_its_end_is_no_failure_of_the_nic() {
    assert_eq!(sometimes(|n| n > 3).outcome, Outcome::Pass);
    let never = sometimes(|_| false);
    assert_eq!(never.outcome, Outcome::Skip, "{never:#?}");
    assert!(never.detail.contains("start its traffic"), "{never:#?}");
    // It ends in the first part.
    let ended = sometimes(|n| n < 2);
    assert_eq!(ended.outcome, Outcome::Inconclusive, "{ended:#?}");
}
