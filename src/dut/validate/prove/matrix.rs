//! The matrix of faults by features: whatever else a device has and its file tells, a test that is named with a fault
//! never passes a device with it. It fails, or says why it does not judge. Without a fault no test fails.

use core::fmt;

use serde::Serialize;

use super::{device, others, result_of, validate};
use crate::file;
use crate::judge::Outcome;
use crate::knobs::{Feature, Knob};
use crate::test::Level;

/// A fault beside a feature of a device, or the feature alone.
pub struct Beside<'a> {
    pub feature: &'a Feature,
    /// Name of a good device.
    pub device: &'a str,
    pub fault: Option<&'a Knob>,
}

/// Results of parts of the matrix with one feature of one device.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct FeatureRun {
    pub feature: String,
    pub device: String,
    /// Number of tests of a fault that fail.
    pub fail: usize,
    /// Number of tests of a fault that are not judged.
    pub not_judged: usize,
    /// The tests of a fault that pass, and those that neither pass nor skip the device without one.
    pub wrong: Vec<String>,
}

impl Feature {
    /// Returns the parts of its matrix: the device without a fault, and with each that the standards do not leave open.
    pub(super) fn parts<'a>(&'a self, knobs: &'a [Knob]) -> impl Iterator<Item = Beside<'a>> {
        self.devices.iter().flat_map(move |device| {
            let own = knobs.iter().filter(move |knob| knob.device == *device && !knob.open);
            let faults = own.map(Some).chain([None]);
            faults.map(move |fault| Beside { feature: self, device, fault })
        })
    }
}

impl Beside<'_> {
    /// Runs the tests that are named with the fault, or all of them on the device without one.
    pub(super) fn run(&self) -> FeatureRun {
        match self.fault {
            Some(fault) => self.find(fault),
            None => self.good(&["V-*"]),
        }
    }

    /// Runs tests on the device without a fault.
    pub(super) fn good(&self, tests: &[&str]) -> FeatureRun {
        let results = validate(&device(&self.feature.file(self.device)), tests, Level::Quick);
        let wrong = others(&results).into_iter().map(|(test, why)| self.line(test, &why));
        FeatureRun { wrong: wrong.collect(), ..self.empty() }
    }

    fn find(&self, fault: &Knob) -> FeatureRun {
        let mut run = self.empty();
        let tests: Vec<_> = fault.caught_by.iter().map(String::as_str).collect();
        let text = fault.file_beside(Some(self.feature), fault.values.first());
        let Ok((dut, _)) = file::parse("device", &text) else {
            // The file is refused, so no device has both.
            run.not_judged = tests.len();
            return run;
        };
        let results = validate(&dut, &tests, fault.level());
        let mut passed = Vec::new();
        for test in tests {
            let result = result_of(&results, test);
            match result.outcome {
                Outcome::Fail => run.fail += 1,
                Outcome::Pass => passed.push(self.line(test, &result.detail)),
                _ => run.not_judged += 1,
            }
        }
        run.wrong = match (self.feature.without.contains_key(&fault.fault), passed.is_empty()) {
            (false, _) => passed,
            (true, false) => {
                run.not_judged += passed.len();
                Vec::new()
            }
            // Else a reason that is none would hide what is missed later.
            (true, true) => {
                vec![self.line("features.yaml", "`without` names a fault that is found")]
            }
        };
        run
    }

    fn empty(&self) -> FeatureRun {
        let (feature, device) = (self.feature.name.clone(), self.device.to_owned());
        FeatureRun { feature, device, ..FeatureRun::default() }
    }

    fn line(&self, test: &str, why: &str) -> String {
        format!("{self}: {test}: {why}")
    }
}

impl fmt::Display for Beside<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fault = self.fault.map_or("no fault", |fault| &fault.fault);
        write!(f, "{fault}, beside {} ({})", self.feature.name, self.device)
    }
}

impl FeatureRun {
    /// Adds a run to those of its feature and device; runs come in the order of these.
    pub(super) fn add(self, all: &mut Vec<Self>) {
        match all
            .last_mut()
            .filter(|one| (&one.feature, &one.device) == (&self.feature, &self.device))
        {
            Some(one) => {
                one.fail += self.fail;
                one.not_judged += self.not_judged;
                one.wrong.extend(self.wrong);
            }
            None => all.push(self),
        }
    }
}
