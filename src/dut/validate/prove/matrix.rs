//! The matrix of faults by features: whatever else a device has and its file tells, a test that is named with a
//! fault never passes a device with it. It fails, or says why it does not judge.

use super::{device, others, result_of, validate};
use crate::file;
use crate::judge::Outcome;
use crate::knobs::{Feature, Knob};
use crate::test::Level;

/// The faults beside a feature of a device.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FeatureRun {
    pub device: String,
    pub feature: String,
    /// Number of tests of a fault that failed.
    pub fail: usize,
    /// Number of tests of a fault that were not judged.
    pub not_judged: usize,
    /// Number of faults with which the configuration is refused, or that have no effect.
    pub without: usize,
    /// Faults that a test named with them passes.
    pub passed: Vec<Passed>,
    /// Tests that neither pass nor skip the device without a fault, and their reasons.
    pub others: Vec<(&'static str, String)>,
}

/// A fault that a test did not find.
#[derive(Clone, PartialEq, Debug)]
pub struct Passed {
    pub id: String,
    pub fault: String,
    pub test: String,
}

impl FeatureRun {
    /// Returns true if no fault was passed, nothing else was found, and there was something to find.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.passed.is_empty() && self.others.is_empty() && self.fail > 0
    }
}

impl Feature {
    /// Runs all tests of a device with the feature, and those that are named with its faults on each of these.
    #[must_use]
    pub fn run<'a>(&self, name: &str, knobs: impl Iterator<Item = &'a Knob>) -> FeatureRun {
        let good = validate(&device(&self.file(name)), &["V-*"], Level::Quick);
        let others = others(&good);
        let (device, feature) = (name.to_owned(), self.name.clone());
        let mut run = FeatureRun { device, feature, others, ..FeatureRun::default() };
        // What the standards leave open is no failure anywhere.
        for knob in knobs.filter(|knob| knob.device == name && !knob.open) {
            self.beside(knob, &mut run);
        }
        run
    }

    /// Adds a fault to a run.
    pub(super) fn beside(&self, knob: &Knob, run: &mut FeatureRun) {
        let text = knob.file_beside(Some(self), knob.values.first());
        let dut = match file::parse("device", &text) {
            Ok((dut, _)) if !self.without.contains_key(&knob.fault) => dut,
            Ok(_) | Err(_) => {
                run.without += 1;
                return;
            }
        };
        let tests: Vec<_> = knob.caught_by.iter().map(String::as_str).collect();
        let results = validate(&dut, &tests, knob.level());
        for test in tests {
            match result_of(&results, test).outcome {
                Outcome::Fail => run.fail += 1,
                Outcome::Pass => run.passed.push(Passed {
                    id: knob.id.clone(),
                    fault: knob.fault.clone(),
                    test: test.to_owned(),
                }),
                _ => run.not_judged += 1,
            }
        }
    }
}
