//! Tests of NICs, on the good ones and on bad ones.

use super::changed::{ends, fails_as, plain, unable};
use super::*;
use crate::bench::{Bench, Capability, TrialError};
use crate::observation::{Observation, Way};
use crate::suite::TestResult;
use crate::trial::Trial;

const GOOD_NIC: &str = include_str!("../../../../../configs/validate/nic.yaml");

/// The good NICs with all places of a part of their file replaced.
fn changed(from: &str, to: &str) -> String {
    assert!(GOOD_NIC.contains(from), "{from}");
    GOOD_NIC.replace(from, to)
}

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

#[test]
fn nics_that_send_nothing_and_traffic_that_ends_are_not_judged() {
    let none = changed("sends: [0, 3, 4]", "sends: [0, 3, 4, 5]");
    skips(&none, &["V-N01"], "no frame of priority 5 to port A");
    let early = changed("priority: 4, rate", "priority: 4, duration: {seconds: 30us}, rate");
    ends(&plain(&early, "V-N01"), Outcome::Inconclusive, "not end before the tests");
}

#[test]
fn without_a_field_the_test_that_needs_it_is_skipped() {
    let pairs = changed("{port: A, sends:", "{port: B, sends:");
    skips(&pairs, &["V-N03"], "nic.queue_pairs: that at port A is missing");
    let udp = changed("transport: {roce: {dcqcn: sigcomm15}}", "transport: udp");
    skips(&udp, &["V-N03"], "no data of RoCEv2 to port A");
    let one = changed("sends: [0, 3, 4]", "sends: [0, 3]");
    skips(&one, &["V-N04"], "two lossless priorities");
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
        let fault = format!("virtual:\n  faults: [{{defect: {{on: nic1, port: h1, {kind}}}}}]\n");
        fails_as(&changed("virtual:\n", &fault), id, part);
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

/// A bench that only changes settings of the NIC.
struct Alone(VirtualBench);

impl Bench for Alone {
    fn run(&mut self, trial: &Trial) -> Result<Observation, TrialError> {
        self.0.run(trial)
    }

    fn run_on_cable(&mut self, trial: &Trial) -> Result<Observation, TrialError> {
        self.0.run_on_cable(trial)
    }

    fn has(&self, capability: Capability) -> bool {
        capability == Capability::Settings
    }

    fn world(&self) -> &'static str {
        "virtual"
    }
}

#[test]
fn a_slow_host_needs_access_to_the_nic() {
    ends(&unable(GOOD_NIC, "V-N02"), Outcome::Skip, "adapter is missing: it sets host.reading");
    let (dut, _) = file::parse("dut.yaml", GOOD_NIC).unwrap();
    let mut bench = Alone(VirtualBench::new(dut.setup.clone(), dut.lab.unwrap()));
    let selection = Selection { level: Level::Quick, only: vec!["V-N02".to_owned()], retry: 0 };
    let results = suite::run(&dut.setup, &selection, &mut bench, |_, _, _| true);
    let part = "adapter is missing: the device's counters";
    ends(results.tests.last().unwrap(), Outcome::Skip, part);
}

/// A bench at which the traffic of the NIC is there only in some trials, by their number.
struct Sometimes(VirtualBench, u32, fn(u32) -> bool);

impl Bench for Sometimes {
    fn run(&mut self, trial: &Trial) -> Result<Observation, TrialError> {
        let mut seen = self.0.run(trial)?;
        self.1 += 1;
        if !(self.2)(self.1) {
            seen.records.retain(|record| record.way == Way::Sent);
        }
        Ok(seen)
    }

    fn run_on_cable(&mut self, trial: &Trial) -> Result<Observation, TrialError> {
        self.0.run_on_cable(trial)
    }

    fn world(&self) -> &'static str {
        "virtual"
    }
}

/// Returns the result of V-N01 with a wait, with traffic in these trials alone.
fn sometimes(is_there: fn(u32) -> bool) -> TestResult {
    let text = changed("  sends:", "  wait: 1ms\n  sends:");
    let (dut, _) = file::parse("dut.yaml", &text).unwrap();
    let bench = VirtualBench::new(dut.setup.clone(), dut.lab.unwrap());
    let selection = Selection { level: Level::Quick, only: vec!["V-N01".to_owned()], retry: 0 };
    let mut bench = Sometimes(bench, 0, is_there);
    suite::run(&dut.setup, &selection, &mut bench, |_, _, _| true).tests.pop().unwrap()
}

#[test]
fn traffic_is_awaited_and_its_end_is_no_failure_of_the_nic() {
    ends(&sometimes(|n| n > 3), Outcome::Pass, "");
    ends(&sometimes(|_| false), Outcome::Skip, "start its traffic");
    // It ends in the first part.
    ends(&sometimes(|n| n < 2), Outcome::Inconclusive, "");
}
