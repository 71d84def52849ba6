//! Counters of the device, for tests that compare them with what the tester sent and recorded.

use super::Context;
use crate::bench::{Capability, TrialError};
use crate::counters::{CounterPlace, Counters};
use crate::judge::Limits;
use crate::observation::Observation;
use crate::trial::Trial;

impl Context<'_> {
    /// Runs a trial, and returns the differences of the device's counters over it as well.
    ///
    /// # Errors
    /// As [`Context::observe`], or the counters are not read.
    pub fn count_over(&mut self, trial: Trial) -> Result<(Observation, Counters), TrialError> {
        if !self.has(Capability::Counters) {
            return Err(no_adapter());
        }
        let mut seen = self.observe(&Trial { counters: true, ..trial })?;
        let counters = seen.counters.take();
        let none = || TrialError::Error("the counters of the trial were not read".into());
        Ok((seen, counters.ok_or_else(none)?))
    }

    /// Runs a trial with the device's counters if they are read, else without: the reason is in their
    /// place.
    ///
    /// # Errors
    /// As [`Context::observe`].
    pub fn observe_with(
        &mut self,
        trial: Trial,
    ) -> Result<(Observation, Result<Counters, TrialError>), TrialError> {
        if self.has(Capability::Counters) {
            return self.count_over(trial).map(|(seen, counters)| (seen, Ok(counters)));
        }
        Ok((self.observe(&trial)?, Err(no_adapter())))
    }

    /// Returns a counter of the port of the device that is cabled to a port of the tester.
    ///
    /// # Errors
    /// The device has no such counter.
    pub fn counter(&self, counters: &Counters, place: CounterPlace) -> Result<u64, TrialError> {
        let CounterPlace { port, priority, counter } = place;
        counters.get(port, priority, counter).ok_or_else(|| {
            let of =
                priority.map(|priority| format!(" of priority {priority}")).unwrap_or_default();
            let (name, dut) = (counter.name(), &self.port(port).dut);
            TrialError::Missing(format!(
                "adapter: the device's counter {name}{of} at {dut} is unknown"
            ))
        })
    }

    /// Judges a counter, in its unit; the part is skipped if the device does not have it.
    pub fn judge_counter(
        &mut self,
        what: impl Into<String>,
        counters: &Counters,
        place: CounterPlace,
        limits: Limits,
    ) {
        match self.counter(counters, place) {
            Ok(n) => self.judge(what, n as f64, limits, 0.0, place.counter.unit()),
            Err(why) => self.skip(what, &why.to_string()),
        }
    }
}

fn no_adapter() -> TrialError {
    let what = "adapter is missing: the device's counters are not read; add it to the file";
    TrialError::Missing(what.to_owned())
}
