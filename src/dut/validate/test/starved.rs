//! A device on the same machine that had no CPU, and a tester that acted late: failures of the device are judged as
//! far as that does not explain them.
//!
//! The rule stands here for the values of all tests. A failure remains one unless the time for which the device may
//! have waited, and the tester's delay, in the trials of the value, are enough for all by which the value is outside of its limits: as time,
//! as frames at the rates of the trial, or as a share of the time of a stimulus. Something that did not come at all is
//! explained only by a wait that is as long as the shortest time in which tests expect it.

use crate::bench::TrialError;
use crate::judge::{Measurement, Outcome};
use crate::observation::Observation;
use crate::setup::Setup;
use crate::trial::Trial;
use ground::time::Duration;

/// CPU time that a device may have missed in the trials since the last value before them.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Starved {
    /// The longest of a trial.
    time: Duration,
    /// Longest delay of an action of the tester in a trial.
    late: Duration,
    /// Frames per second of a trial.
    rate: f64,
    /// Duration of a stimulus, and the time in which a device is back to normal.
    hold: Duration,
    settle: Duration,
    /// Number of values before these trials.
    values: usize,
}

impl Starved {
    /// Adds a trial after a number of values: those that come are of this trial, and of those before it without a
    /// value between them.
    pub(super) fn add(&mut self, values: usize, trial: &Trial, seen: &Observation, setup: &Setup) {
        if values > self.values {
            *self = Self { values, ..Self::default() };
        }
        let own = &trial.flows[..trial.own_flows()];
        let rate = own.iter().map(|flow| flow.frames_per_second(setup)).sum();
        self.time = self.time.max(seen.starved);
        self.late = self.late.max(seen.acted_late);
        self.rate = self.rate.max(rate);
        (self.hold, self.settle) = (setup.times.hold, setup.times.settle);
    }

    /// Returns the reason in words.
    fn why(&self) -> String {
        let ms = |time: Duration| time.as_nanos().div_ceil(1_000_000);
        let device =
            format!("the device on this machine had no CPU for up to {} ms", ms(self.time));
        let tester = format!("the tester acted up to {} ms late", ms(self.late));
        match (self.time, self.late) {
            (_, Duration::ZERO) => device,
            (Duration::ZERO, _) => tester,
            _ => format!("{device}, and {tester}"),
        }
    }

    /// Returns the most by which a time of a trial can be wrong.
    fn both(&self) -> Duration {
        self.time + self.late
    }

    /// Makes a part that was not run inconclusive if at least this time of the machine's explains it.
    pub(super) fn excuse(&self, part: Measurement, least: Duration) -> Measurement {
        if self.both() > Duration::ZERO && self.both() >= least {
            return part.doubted(&self.why());
        }
        part
    }

    /// Makes a failure inconclusive that the device's want of CPU explains.
    pub(super) fn judge(&self, value: Measurement) -> Measurement {
        let time = self.both();
        if value.outcome != Outcome::Fail || time == Duration::ZERO {
            return value;
        }
        let seconds = time.as_secs_f64();
        // The most that a wait of this length can do to a value of each unit.
        let explained = match value.unit {
            "ns" => time.as_nanos_f64(),
            "%" => seconds / self.hold.as_secs_f64() * 100.0,
            "" | "frames" if !value.is_below() && !value.explains => seconds * self.rate,
            _ if time >= self.settle.min(self.hold) => f64::INFINITY,
            _ => 0.0,
        };
        if value.excess() <= explained { value.doubted(&self.why()) } else { value }
    }

    /// Returns an error if the device's want of CPU explains that this number of frames is missing at rest.
    pub(super) fn explains_missing(&self, frames: usize) -> Result<(), TrialError> {
        if self.time > Duration::ZERO && frames as f64 <= self.time.as_secs_f64() * self.rate {
            let what = format!("{frames} frames are missing at rest, and {}", self.why());
            return Err(TrialError::Disturbed(what));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::Limits;

    fn starved(ms: u64) -> Starved {
        let (time, rate) = (Duration::from_millis(ms), 5_000.0);
        let (hold, settle) = (Duration::from_secs(1), Duration::from_millis(300));
        Starved { time, late: Duration::ZERO, rate, hold, settle, values: 0 }
    }

    #[test]
    fn a_failure_is_in_doubt_as_far_as_the_wait_explains_it_and_no_further() {
        let outcome = |ms, value, limits, unit| {
            starved(ms).judge(Measurement::judge("what", value, limits, 0.0, unit)).outcome
        };
        let none = Limits::exactly(0.0);
        use Outcome::{Fail, Inconclusive, Pass};
        for (value, limits, unit, expected) in [
            // 20 ms, in which 100 frames are sent, of a stimulus of 1 s.
            (1e6, Limits::at_most(1e6), "ns", Pass),
            (21e6, Limits::at_most(1e6), "ns", Inconclusive),
            (21.1e6, Limits::at_most(1e6), "ns", Fail),
            (100.0, none, "frames", Inconclusive),
            (101.0, none, "frames", Fail),
            (5_000.0, none, "", Fail),
            (97.0, Limits::around(100.0, 1.0), "%", Inconclusive),
            (96.0, Limits::around(100.0, 1.0), "%", Fail),
            // What never came, and other units, are no matter of a short wait.
            (0.0, Limits::at_least(1.0), "", Fail),
            (2.0, Limits::exactly(1.0), "storms", Fail),
        ] {
            assert_eq!(outcome(20, value, limits, unit), expected, "{value} {unit}");
        }
        assert_eq!(outcome(0, 1.0, none, "frames"), Fail);
        assert_eq!(outcome(300, 0.0, Limits::at_least(1.0), ""), Inconclusive);
        let endless = Measurement::judge("pause without an end", 1.0, none, 0.0, "");
        let endless = Measurement { explains: true, ..endless };
        assert_eq!(starved(20).judge(endless.clone()).outcome, Fail);
        let doubted = starved(300).judge(endless);
        assert_eq!(doubted.outcome, Inconclusive);
        assert!(doubted.detail.ends_with("had no CPU for up to 300 ms"), "{}", doubted.detail);
    }

    #[test]
    fn a_part_that_came_too_late_is_in_doubt_as_far_as_the_machine_explains_it() {
        let excused = |time, late, least| {
            let late = Duration::from_millis(late);
            let part = Measurement::skip("part", "too late");
            Starved { late, ..starved(time) }.excuse(part, Duration::from_millis(least))
        };
        assert_eq!(excused(0, 0, 0).outcome, Outcome::Skip);
        assert_eq!(excused(2, 3, 6).outcome, Outcome::Skip);
        let doubted = excused(2, 3, 5);
        assert_eq!(doubted.outcome, Outcome::Inconclusive);
        assert!(doubted.detail.ends_with("up to 2 ms, and the tester acted up to 3 ms late"));
        assert!(excused(0, 3, 3).detail.ends_with("too late; the tester acted up to 3 ms late"));
    }

    #[test]
    fn frames_missing_at_rest_are_a_matter_of_cables_unless_the_device_waited() {
        assert!(
            starved(0).explains_missing(1).is_ok() && starved(20).explains_missing(101).is_ok()
        );
        assert!(matches!(starved(20).explains_missing(100), Err(TrialError::Disturbed(_))));
    }
}
