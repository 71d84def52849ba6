//! Verdicts of tests, and values that are judged with their uncertainty.

use ground::time::Duration;
use ground::verdict::Verdict;
use serde::Serialize;

/// Result of a test of the catalogue.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The standards leave the behaviour open: it was recorded, not judged.
    Policy,
    /// Every value was inside its limits by at least its uncertainty.
    Pass,
    /// The test, or a part of it, was not run; the reason names what was missing.
    Skip,
    /// A value was closer to its limit than the uncertainty of the measurement, or the machine
    /// disturbed it.
    Inconclusive,
    /// A value was outside its limits by more than its uncertainty.
    Fail,
    /// The tester or the set-up cannot be trusted, so nothing is said about the DUT.
    Error,
}

impl Outcome {
    /// All outcomes, in the order of summaries.
    pub const ALL: [Self; 6] =
        [Self::Pass, Self::Skip, Self::Policy, Self::Inconclusive, Self::Fail, Self::Error];

    /// Returns the outcome of several values of one test: the heaviest, which is a pass if some were
    /// only recorded, and no pass if a part was not run. A test without any value is an error, because
    /// nothing was judged.
    pub fn of_all(values: impl IntoIterator<Item = Self>) -> Self {
        values.into_iter().max().unwrap_or(Self::Error)
    }

    /// Returns the name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Skip => "skip",
            Self::Policy => "policy",
            Self::Inconclusive => "inconclusive",
            Self::Fail => "fail",
            Self::Error => "error",
        }
    }

    /// Returns the verdict that this test contributes to its run: none if there was only something to
    /// record. `strict` counts an inconclusive test as a failure.
    pub const fn verdict(self, strict: bool) -> Option<Verdict> {
        Some(match self {
            Self::Policy => return None,
            Self::Pass => Verdict::Pass,
            Self::Skip => Verdict::NotJudged,
            Self::Inconclusive if !strict => Verdict::Inconclusive,
            Self::Inconclusive | Self::Fail | Self::Error => Verdict::Fail,
        })
    }
}

/// Limits of a value, both inclusive; an absent one does not exist.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Limits {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_least: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_most: Option<f64>,
}

impl Limits {
    /// The value itself, without a tolerance.
    pub const fn exactly(value: f64) -> Self {
        Self { at_least: Some(value), at_most: Some(value) }
    }

    /// A value with a tolerance on both sides, in its unit.
    pub fn around(value: f64, tolerance: f64) -> Self {
        Self { at_least: Some(value - tolerance), at_most: Some(value + tolerance) }
    }

    pub const fn at_most(value: f64) -> Self {
        Self { at_least: None, at_most: Some(value) }
    }

    pub const fn at_least(value: f64) -> Self {
        Self { at_least: Some(value), at_most: None }
    }

    /// Returns the distance of a value from the closest limit: positive inside, negative outside,
    /// infinite without limits.
    fn margin(self, value: f64) -> f64 {
        let low = self.at_least.map_or(f64::INFINITY, |limit| value - limit);
        let high = self.at_most.map_or(f64::INFINITY, |limit| limit - value);
        low.min(high)
    }
}

/// A judged value: one line of evidence.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Measurement {
    /// The measured quantity, in words.
    pub what: String,
    pub value: f64,
    #[serde(flatten)]
    pub limits: Limits,
    /// Largest error of the value in either direction, in its unit; 0 for counts and for the
    /// virtual world.
    pub uncertainty: f64,
    /// Unit of all of these numbers: `ns`, `%`, `frames`; empty for a count of what `what` names.
    pub unit: &'static str,
    pub outcome: Outcome,
    /// One sentence: the seen value, the allowed one, and the difference.
    pub detail: String,
    /// True if it explains other values of its test, and so stands for them.
    #[serde(skip)]
    pub explains: bool,
}

impl Measurement {
    /// Judges a value: `Pass` inside the limits by `uncertainty`, `Fail` outside by it, else
    /// `Inconclusive`. A value that is no number is an error of the tester.
    pub fn judge(
        what: impl Into<String>,
        value: f64,
        limits: Limits,
        uncertainty: f64,
        unit: &'static str,
    ) -> Self {
        // Distance to the closest limit: the uncertainty decides if it is large enough on either side.
        let margin = limits.margin(value);
        let outcome = if !value.is_finite() {
            Outcome::Error
        } else if margin >= uncertainty {
            Outcome::Pass
        } else if margin < -uncertainty {
            Outcome::Fail
        } else {
            Outcome::Inconclusive
        };
        let what = what.into();
        let detail = detail(&what, value, limits, uncertainty, unit);
        Self { what, value, limits, uncertainty, unit, outcome, detail, explains: false }
    }

    /// Returns the amount by which the value is outside of its limits, in its unit; negative inside.
    pub fn excess(&self) -> f64 {
        -self.limits.margin(self.value)
    }

    /// Returns true if the value is below its lower limit.
    pub fn is_below(&self) -> bool {
        self.limits.at_least.is_some_and(|least| self.value < least)
    }

    /// Makes a failure inconclusive, because the device may not be to blame for it.
    #[must_use]
    pub(crate) fn doubted(self, why: &str) -> Self {
        let detail = format!("{}; {why}", self.detail);
        Self { outcome: Outcome::Inconclusive, detail, ..self }
    }

    /// Records that a part of a test was not run, with the reason.
    pub fn skip(what: impl Into<String>, why: &str) -> Self {
        let what = what.into();
        let detail = format!("{what}: not run; {why}");
        let limits = Limits::default();
        Self {
            what,
            value: f64::NAN,
            limits,
            uncertainty: 0.0,
            unit: "",
            outcome: Outcome::Skip,
            detail,
            explains: false,
        }
    }

    /// Records a value that the standards leave open, with the clause that is silent.
    pub fn policy(what: impl Into<String>, value: f64, unit: &'static str, clause: &str) -> Self {
        let what = what.into();
        let with = if unit.is_empty() { String::new() } else { format!(" {unit}") };
        let detail = format!("{what}: {}{with}; {clause}", number(value));
        let limits = Limits::default();
        let (uncertainty, outcome) = (0.0, Outcome::Policy);
        Self { what, value, limits, uncertainty, unit, outcome, detail, explains: false }
    }
}

/// Returns the sentence about a value.
fn detail(what: &str, value: f64, limits: Limits, u: f64, unit: &'static str) -> String {
    // One unit for all numbers of the sentence, by the largest of them.
    let numbers = [Some(value), limits.at_least, limits.at_most];
    let most = numbers.into_iter().flatten().filter(|n| n.is_finite()).fold(0.0, f64::max);
    let (scale, unit) = scale(most, unit);
    let (margin, value, u) = (limits.margin(value) / scale, value / scale, u / scale);
    let scaled = |limit: Option<f64>| limit.map(|limit| limit / scale);
    let limits = Limits { at_least: scaled(limits.at_least), at_most: scaled(limits.at_most) };
    let allowed = match (limits.at_least, limits.at_most) {
        (Some(a), Some(b)) if a == b => format!("{} wanted", number(a)),
        (Some(a), Some(b)) => format!("{} to {} allowed", number(a), number(b)),
        (Some(a), None) => format!("at least {} wanted", number(a)),
        (None, Some(b)) => format!("at most {} allowed", number(b)),
        (None, None) => "no limit".to_owned(),
    };
    let error = if u > 0.0 { format!(" +-{}", number(u)) } else { String::new() };
    // By how much a value misses a limit of 0 is the value, and 0 misses by the limit.
    let is_off = margin < 0.0 && -margin != value && value != 0.0;
    let off = if is_off { format!(", off by {}", number(-margin)) } else { String::new() };
    let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
    format!("{what}: {}{error}{unit}, {allowed}{off}", number(value))
}

/// Returns a time in the unit in which people read it.
pub(crate) fn readable(time: Duration) -> String {
    let (scale, unit) = scale(time.as_nanos_f64(), "ns");
    format!("{} {unit}", number(time.as_nanos_f64() / scale))
}

/// Returns the unit in which people read numbers up to `most`, and its length: one for all numbers of a
/// sentence.
fn scale(most: f64, unit: &'static str) -> (f64, &'static str) {
    match unit {
        "ns" if most >= 1e9 => (1e9, "s"),
        "ns" if most >= 1e6 => (1e6, "ms"),
        "ns" if most >= 1e5 => (1e3, "us"),
        _ => (1.0, unit),
    }
}

/// Returns a number with as many digits as a reader needs: whole numbers as they are, others with
/// three decimals.
fn number(value: f64) -> String {
    // Above this, doubles no longer tell whole numbers apart.
    if value.fract() == 0.0 && value.abs() < 1e15 {
        format!("{value:.0}")
    } else if value.abs() < 0.001 {
        format!("{value:.6}")
    } else {
        format!("{value:.3}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(value: f64, limits: Limits, u: f64) -> Outcome {
        Measurement::judge("x", value, limits, u, "ns").outcome
    }

    #[test]
    fn a_value_is_judged_with_its_uncertainty() {
        let limits = Limits::around(100.0, 10.0);
        assert_eq!(outcome(100.0, limits, 5.0), Outcome::Pass);
        assert_eq!(outcome(105.0, limits, 5.0), Outcome::Pass);
        assert_eq!(outcome(107.0, limits, 5.0), Outcome::Inconclusive);
        assert_eq!(outcome(113.0, limits, 5.0), Outcome::Inconclusive);
        assert_eq!(outcome(116.0, limits, 5.0), Outcome::Fail);
        assert_eq!(outcome(84.0, limits, 5.0), Outcome::Fail);
        assert_eq!(outcome(f64::NAN, limits, 5.0), Outcome::Error);
    }

    #[test]
    fn counts_have_no_uncertainty() {
        assert_eq!(outcome(0.0, Limits::exactly(0.0), 0.0), Outcome::Pass);
        assert_eq!(outcome(1.0, Limits::exactly(0.0), 0.0), Outcome::Fail);
    }

    #[test]
    fn a_failure_says_by_how_much() {
        let m = Measurement::judge("pause", 2431.0, Limits::at_most(2017.0), 0.0, "ns");
        assert_eq!(m.detail, "pause: 2431 ns, at most 2017 allowed, off by 414");
        // Long times are read in longer units, and kept in nanoseconds.
        let m = Measurement::judge("pause", 1_824_281_538.0, Limits::at_most(2.5e8), 1e3, "ns");
        assert_eq!(m.value, 1_824_281_538.0);
        assert_eq!(m.detail, "pause: 1.824 +-0.000001 s, at most 0.250 allowed, off by 1.574");
        let m = Measurement::judge("pauses", 0.0, Limits::at_least(1.0), 0.0, "");
        assert_eq!(m.detail, "pauses: 0, at least 1 wanted");
        assert_eq!(readable(Duration::from_picos(1_824_281_538_000)), "1.824 s");
        let m = Measurement::policy("marks", 3.0, "", "RFC 3168");
        assert_eq!(m.detail, "marks: 3; RFC 3168");
    }

    #[test]
    fn the_heaviest_value_decides_and_none_is_an_error() {
        use Outcome::{Error, Fail, Inconclusive, Pass, Policy};
        assert_eq!(Outcome::of_all([]), Error);
        assert_eq!(Outcome::of_all([Pass, Policy]), Pass);
        assert_eq!(Outcome::of_all([Policy, Policy]), Policy);
        assert_eq!(Outcome::of_all([Pass, Outcome::Skip]), Outcome::Skip);
        assert_eq!(Outcome::of_all([Pass, Inconclusive]), Inconclusive);
        assert_eq!(Outcome::of_all([Fail, Inconclusive, Pass]), Fail);
    }

    #[test]
    fn what_is_only_recorded_has_no_verdict_and_what_was_not_run_is_no_pass() {
        let verdicts = |strict| Outcome::ALL.map(|outcome| outcome.verdict(strict));
        use Verdict::{Fail, Inconclusive, NotJudged, Pass};
        let others = [Inconclusive, Fail, Fail].map(Some);
        assert_eq!(verdicts(false)[..3], [Some(Pass), Some(NotJudged), None]);
        assert_eq!(verdicts(false)[3..], others);
        assert_eq!(verdicts(true)[3..], [Some(Fail); 3]);
    }
}
