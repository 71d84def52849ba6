//! A fault in a device, and what its tests say.

use serde_json::Value;

use super::{Cell, KnobRun, device, result_of, validate};
use crate::judge::Outcome;
use crate::knobs::Knob;
use crate::suite::{Results, TestResult};
use crate::test::Level;

impl Knob {
    pub(super) fn level(&self) -> Level {
        if self.full { Level::Full } else { Level::Quick }
    }

    /// Runs the tests on a device with this value of the fault.
    fn with(&self, value: Option<&Value>, tests: &[&str]) -> Results {
        validate(&device(&self.file(value)), tests, self.level())
    }

    /// Returns true if a result tells of the fault: a failure, or for open behaviour a report that
    /// the good device does not have.
    fn is_found(&self, result: &TestResult) -> bool {
        if !self.open {
            return result.outcome == Outcome::Fail;
        }
        let reports = |result: &TestResult| {
            let policies = result.measurements.iter().filter(|m| m.outcome == Outcome::Policy);
            policies.map(|m| m.detail.clone()).collect::<Vec<_>>()
        };
        let none = Self { change: Value::Null, ..self.clone() };
        let good = none.with(None, &[result.id]);
        reports(result) != reports(result_of(&good, result.id))
    }

    /// Runs the tests named with the fault: at its largest value, and down to the first one that is
    /// not found.
    #[must_use]
    pub fn run(&self) -> KnobRun {
        let tests: Vec<_> = self.caught_by.iter().map(String::as_str).collect();
        let results = self.with(self.values.first(), &tests);
        let cells = tests.iter().map(|test| {
            let result = result_of(&results, test);
            let found = self.is_found(result);
            Cell {
                test: (*test).to_owned(),
                found,
                outcome: result.outcome,
                limit: found.then(|| self.limit(test)).flatten(),
                detail: result.detail.clone(),
            }
        });
        let cells = cells.collect();
        let Self { id, fault, unit, .. } = self.clone();
        KnobRun { id, fault, unit, cells }
    }

    /// Returns the smallest value that a test finds, if all larger ones are found.
    fn limit(&self, test: &str) -> Option<String> {
        let text = |value: &Value| value.as_str().map_or(value.to_string(), str::to_owned);
        let mut smallest = self.values.first();
        for value in self.values.iter().skip(1) {
            let results = self.with(Some(value), &[test]);
            if !self.is_found(result_of(&results, test)) {
                break;
            }
            smallest = Some(value);
        }
        smallest.map(text)
    }
}
