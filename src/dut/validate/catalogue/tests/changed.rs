//! Devices that are wrong in one respect: the good one behind a line that changes what the tester
//! sends, before the device sees it, or what the tester records.

use crate::bench::{Bench, Capability, TrialError};
use crate::file::{self, Dut};
use crate::judge::Outcome;
use crate::observation::{Observation, Record, Way, What};
use crate::suite::{self, Selection, TestResult};
use crate::test::Level;
use crate::trial::{FlowId, Port, Trial};
use crate::virtual_bench::VirtualBench;
use ground::time::Duration;
use wire::ip::Ecn;

/// A change of the trial that the device sees.
pub(super) type Before<'a> = &'a dyn Fn(&mut Trial);

/// A change of the records.
pub(super) type After<'a> = &'a dyn Fn(&Trial, &mut Observation);

struct Wrong<'a> {
    device: VirtualBench,
    before: Before<'a>,
    after: After<'a>,
    /// True if the ports of the tester can send any frame.
    able: bool,
}

impl Bench for Wrong<'_> {
    fn run(&mut self, trial: &Trial) -> Result<Observation, TrialError> {
        let mut changed = trial.clone();
        (self.before)(&mut changed);
        let mut seen = self.device.run(&changed)?;
        restore(trial, &mut seen);
        (self.after)(trial, &mut seen);
        seen.records.sort_by_key(|record| record.end);
        Ok(seen)
    }

    fn run_on_cable(&mut self, trial: &Trial) -> Result<Observation, TrialError> {
        self.device.run_on_cable(trial)
    }

    fn has(&self, capability: Capability) -> bool {
        self.able && self.device.has(capability)
    }

    fn packet_numbers(&mut self, port: Port, frames: u32) -> u64 {
        self.device.packet_numbers(port, frames)
    }

    fn world(&self) -> &'static str {
        self.device.world()
    }
}

/// Gives the control frames in the records of a changed trial the bytes that the tester sent.
fn restore(trial: &Trial, seen: &mut Observation) {
    // Frames that a test protects itself are read with its keys.
    for port in (0..64).map(Port).filter(|port| !trial.made.contains(port)) {
        let mine = trial.control.iter().filter(|control| control.port == port);
        let each = mine.flat_map(|control| {
            (0..u64::from(control.frames))
                .map(move |n| (control.start + control.every.saturating_mul(n), &control.octets))
        });
        let mut each: Vec<(Duration, &Vec<u8>)> = each.collect();
        each.sort_by_key(|(at, _)| *at);
        let sent = seen.records.iter_mut().filter(|record| {
            let is_data = matches!(record.what, What::Data { .. });
            record.port == port && record.way == Way::Sent && !is_data
        });
        for (record, (_, octets)) in sent.zip(each) {
            record.what = What::of(octets, trial.flows.len(), Ecn::NotEct);
        }
    }
}

/// Returns the result of a test of a wrong device.
pub(super) fn judged(
    (text, id, able): (&str, &str, bool),
    before: Before<'_>,
    after: After<'_>,
) -> TestResult {
    let results = judged_all((text, id, able), before, after);
    results.into_iter().find(|test| test.id == id).unwrap()
}

/// Returns the results of the tests of a pattern.
pub(super) fn judged_all(
    (text, only, able): (&str, &str, bool),
    before: Before<'_>,
    after: After<'_>,
) -> Vec<TestResult> {
    let (dut, _) = file::parse("dut.yaml", text).unwrap();
    judged_of(dut, (only, able), before, after)
}

/// Asserts that a test of a device fails at level full because of what is recorded, in a value whose name has this
/// part, and passes at level quick.
pub(super) fn fails_at_full_after(text: &str, id: &str, part: &str, after: After<'_>) {
    let result = |level| {
        let (dut, _) = file::parse("dut.yaml", text).unwrap();
        let results = judged_at(level, dut, (id, true), &|_| {}, after);
        results.into_iter().find(|test| test.id == id).unwrap()
    };
    fails(&result(Level::Full), part);
    ends(&result(Level::Quick), Outcome::Pass, "");
}

/// Returns the results of the tests of a pattern on a device.
pub(super) fn judged_of(
    dut: Dut,
    (only, able): (&str, bool),
    before: Before<'_>,
    after: After<'_>,
) -> Vec<TestResult> {
    judged_at(Level::Quick, dut, (only, able), before, after)
}

fn judged_at(
    level: Level,
    dut: Dut,
    (only, able): (&str, bool),
    before: Before<'_>,
    after: After<'_>,
) -> Vec<TestResult> {
    let device = VirtualBench::new(dut.setup.clone(), dut.lab.unwrap()).reporting(dut.reports);
    let mut bench = Wrong { device, before, after, able };
    let selection = Selection { level, only: vec![only.to_owned()], retry: 0 };
    let results = suite::run(&dut.setup, &selection, &mut bench, |_, _, _| true);
    assert_eq!(results.tests[0].outcome, Outcome::Pass, "{:#?}", results.tests[0]);
    results.tests
}

/// Returns the result of a test of the device of a file.
pub(super) fn plain(text: &str, id: &str) -> TestResult {
    judged((text, id, true), &|_| {}, &|_, _| {})
}

/// Returns the same by ports that have no capability that they need not have.
pub(super) fn unable(text: &str, id: &str) -> TestResult {
    judged((text, id, false), &|_| {}, &|_, _| {})
}

/// Asserts how a test ends, and a part of the reason.
pub(super) fn ends(result: &TestResult, outcome: Outcome, part: &str) {
    assert_eq!(result.outcome, outcome, "{result:#?}");
    assert!(result.detail.contains(part), "{part}: {result:#?}");
}

/// Asserts that a test fails in a value whose name has this part.
pub(super) fn fails(result: &TestResult, part: &str) {
    assert_eq!(result.outcome, Outcome::Fail, "{part}: {result:#?}");
    let mut failed = result.measurements.iter().filter(|m| m.outcome == Outcome::Fail);
    assert!(failed.any(|m| m.what.contains(part)), "{part}: {result:#?}");
}

/// Asserts that a test fails because of what the device sees.
pub(super) fn fails_before(id: &str, part: &str, before: Before<'_>) {
    fails(&judged((super::GOOD, id, true), before, &|_, _| {}), part);
}

/// Asserts that a test fails because of what is recorded.
pub(super) fn fails_after(id: &str, part: &str, after: After<'_>) {
    fails(&judged((super::GOOD, id, true), &|_| {}, after), part);
}

/// Asserts that a test of a device of this file fails.
pub(super) fn fails_as(text: &str, id: &str, part: &str) {
    fails(&plain(text, id), part);
}

/// Returns the indexes of the received frames of the first flow of a priority, by time.
fn received(trial: &Trial, seen: &Observation, priority: u8) -> Vec<usize> {
    let flow = trial.flows.iter().position(|flow| flow.priority.get() == priority);
    let Some(flow) = flow.map(FlowId) else { return Vec::new() };
    let is_its = |record: &Record| {
        let of = matches!(record.what, What::Data { flow: f, .. } if f == flow);
        of && record.way == Way::Received
    };
    (0..seen.records.len()).filter(|n| is_its(&seen.records[*n])).collect()
}

/// Loses the last frame of a priority.
pub(super) fn lose(priority: u8) -> impl Fn(&Trial, &mut Observation) {
    move |trial, seen| {
        if let Some(last) = received(trial, seen, priority).last() {
            seen.records.remove(*last);
        }
    }
}

/// Loses a frame of a priority soon after the first control frame.
pub(super) fn lose_early(priority: u8) -> impl Fn(&Trial, &mut Observation) {
    move |trial, seen| {
        let Some(from) = trial.control.iter().map(|control| control.start).min() else { return };
        let all = received(trial, seen, priority);
        if let Some(n) = all.iter().find(|n| seen.records[**n].begin > from) {
            seen.records.remove(*n);
        }
    }
}

/// Cuts a frame of a priority.
pub(super) fn cut(priority: u8) -> impl Fn(&Trial, &mut Observation) {
    move |trial, seen| {
        let all = received(trial, seen, priority);
        seen.records[all[all.len() / 2]].len -= 4;
    }
}

/// Stops a priority from the first control frame until all others have arrived: nothing is lost.
pub(super) fn stop(priority: u8) -> impl Fn(&Trial, &mut Observation) {
    move |trial, seen| {
        let Some(from) = trial.control.iter().map(|control| control.start).min() else { return };
        for n in received(trial, seen, priority) {
            let record = &mut seen.records[n];
            if record.begin >= from {
                record.begin += trial.length;
                record.end += trial.length;
            }
        }
    }
}

/// Lets the first control frame that one port sends out by another.
pub(super) fn relay(trial: &Trial, seen: &mut Observation) {
    let Some(control) = trial.control.first() else { return };
    let at = control.port;
    let sent = seen.records.iter().find(|record| {
        record.port == at && record.way == Way::Sent && matches!(record.what, What::Control(_))
    });
    let to = Port(usize::from(at.0 == 0));
    let copy = sent.map(|record| Record { port: to, way: Way::Received, ..record.clone() });
    seen.records.extend(copy);
}
