//! The result of a check, in every report and exit status.
//!
//! [`Verdict::of_all`] is the one rule by which checks make the verdict of a run, a row, a study or a page, and
//! [`Verdicts`] counts them, for the line that ends a table of checks or runs.
//!
//! A PASS is a promise: the check had all the data that it judges, and found nothing wrong. Any
//! weaker result has a variant with a different name, so that missing data is never mistaken for
//! success.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

/// Result of one check, or of several taken together by [`Verdict::of_all`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// All data that the check judges was available, and the condition held.
    Pass,
    /// The check does not apply, or the data that it judges was not available. The detail beside it
    /// has the reason.
    NotJudged,
    /// The measurement was disturbed (a starved thread, an interruption), so neither PASS nor FAIL
    /// is certain. Repeating the run may help.
    Inconclusive,
    /// A required condition did not hold.
    Fail,
}

impl Verdict {
    /// All of them, from the best to the worst.
    pub const ALL: [Self; 4] = [Self::Pass, Self::NotJudged, Self::Inconclusive, Self::Fail];

    /// Returns `Pass` if `held`, else `Fail`.
    #[must_use]
    pub const fn of(held: bool) -> Self {
        if held { Self::Pass } else { Self::Fail }
    }

    /// Returns the verdict of a check that judged `count` items: `Fail` if one did not hold,
    /// `NotJudged` if there was none, because a check without data must not pass.
    #[must_use]
    pub const fn of_judged(held: bool, count: u64) -> Self {
        if held && count == 0 { Self::NotJudged } else { Self::of(held) }
    }

    /// Returns `Pass` if `held`; else `Inconclusive` if the machine `disturbed` the measurement by
    /// more than is needed to violate the condition, else `Fail`.
    #[must_use]
    pub const fn unless(held: bool, disturbed: bool) -> Self {
        if !held && disturbed { Self::Inconclusive } else { Self::of(held) }
    }

    /// Returns the verdict of several checks together, the worst of them: `Pass` only if every one is.
    /// No check at all is `NotJudged`. A check that does not apply must not be among them.
    pub fn of_all(checks: impl IntoIterator<Item = Self>) -> Self {
        // The variants are in the order of severity.
        checks.into_iter().max().unwrap_or(Self::NotJudged)
    }

    /// Returns the verdict if some of the checks or runs are `missing`: inconclusive at best, as one of those
    /// could have failed.
    #[must_use]
    pub fn with_missing(self, missing: bool) -> Self {
        if missing { self.max(Self::Inconclusive) } else { self }
    }

    /// Returns true for `Inconclusive` and `Fail`: results that are named one by one, each with its reason.
    #[must_use]
    pub const fn is_bad(self) -> bool {
        matches!(self, Self::Inconclusive | Self::Fail)
    }

    /// Returns true for `Pass`.
    #[must_use]
    pub const fn is_pass(self) -> bool {
        matches!(self, Self::Pass)
    }

    /// Returns true for `Fail`.
    #[must_use]
    pub const fn is_fail(self) -> bool {
        matches!(self, Self::Fail)
    }

    /// Returns the word in tables.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::NotJudged => "not judged",
            Self::Inconclusive => "INCONCLUSIVE",
            Self::Fail => "FAIL",
        }
    }

    /// Returns the word in JSON, as serde writes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::NotJudged => "not_judged",
            Self::Inconclusive => "inconclusive",
            Self::Fail => "fail",
        }
    }

    /// Returns the process's exit status: 0 for `Pass`, 1 for `Fail`, 4 for the other two, because
    /// a script must not take "not known" for either. 2 and 3 mean bad input and a machine that
    /// lacks something.
    #[must_use]
    pub const fn exit_status(self) -> u8 {
        match self {
            Self::Pass => 0,
            Self::Fail => 1,
            Self::NotJudged | Self::Inconclusive => 4,
        }
    }

    /// Returns the line under a table of checks, such as `PASS: 2 of 2 checks` or `FAIL: 1 of 3
    /// checks; 1 not judged`. The count is of the checks with the verdict named first.
    pub fn summary(checks: impl IntoIterator<Item = Self>) -> String {
        let checks: Vec<Self> = checks.into_iter().collect();
        Self::of_all(checks.iter().copied()).summary_of(checks)
    }

    /// Returns the same line if `self` is the verdict of those of the checks that apply, or of groups of
    /// them.
    pub fn summary_of(self, checks: impl IntoIterator<Item = Self>) -> String {
        let checks = Verdicts::from_iter(checks);
        match checks.total() {
            0 => "not judged: no checks were requested".into(),
            1 => checks.line(self, "check", |n| n.to_string()),
            _ => checks.line(self, "checks", |n| n.to_string()),
        }
    }
}

/// Numbers of checks or runs by their verdict.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Verdicts([u64; Verdict::ALL.len()]);

impl Verdicts {
    /// Counts one.
    pub const fn add(&mut self, verdict: Verdict) {
        self.0[verdict as usize] += 1;
    }

    /// Returns the number with a verdict.
    #[must_use]
    pub const fn count(&self, verdict: Verdict) -> u64 {
        self.0[verdict as usize]
    }

    /// Returns the number with each verdict, the worst first.
    pub fn counts(&self) -> impl Iterator<Item = (Verdict, u64)> {
        Verdict::ALL.into_iter().rev().map(|verdict| (verdict, self.count(verdict)))
    }

    /// Returns the number of all.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Returns the worst verdict; inconclusive at best if there are fewer than `planned`.
    #[must_use]
    pub fn verdict_of(&self, planned: u64) -> Verdict {
        let all = self.counts().filter(|(_, n)| *n > 0).map(|(verdict, _)| verdict);
        Verdict::of_all(all).with_missing(self.total() < planned)
    }

    /// Returns the verdict `whole` in a line, such as `FAIL: 3 of 360 runs; 2 inconclusive`, with numbers
    /// formatted by `number`.
    #[must_use]
    pub fn line(&self, whole: Verdict, noun: &str, number: fn(u64) -> String) -> String {
        let (own, all) = (number(self.count(whole)), number(self.total()));
        format!("{whole}: {own} of {all} {noun}{}", self.uncertain(whole, number))
    }

    /// Returns the end of [`Verdicts::line`], such as `; 2 inconclusive`: what is inconclusive or not judged beside
    /// the verdict `whole`.
    #[must_use]
    pub fn uncertain(&self, whole: Verdict, number: fn(u64) -> String) -> String {
        // What is not certain is always mentioned, also beside a FAIL.
        let others = [Verdict::Inconclusive, Verdict::NotJudged].into_iter();
        let others = others.filter(|other| *other != whole && self.count(*other) > 0);
        let text =
            |one: Verdict| format!("; {} {}", number(self.count(one)), one.label().to_lowercase());
        others.map(text).collect()
    }
}

impl FromIterator<Verdict> for Verdicts {
    fn from_iter<I: IntoIterator<Item = Verdict>>(verdicts: I) -> Self {
        let mut counted = Self::default();
        verdicts.into_iter().for_each(|verdict| counted.add(verdict));
        counted
    }
}

impl Serialize for Verdicts {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.counts().map(|(verdict, n)| (verdict.name(), n)))
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.label())
    }
}

#[cfg(test)]
mod tests {
    use super::Verdict::{self, Fail, Inconclusive, NotJudged, Pass};
    use super::Verdicts;

    #[test]
    fn the_worst_check_decides_and_none_at_all_is_no_pass() {
        let all = |checks: &[Verdict]| Verdict::of_all(checks.iter().copied());
        assert_eq!(all(&[]), NotJudged);
        assert_eq!(all(&[NotJudged, NotJudged]), NotJudged);
        assert_eq!(all(&[Pass, Pass]), Pass);
        assert_eq!(all(&[Pass, NotJudged]), NotJudged);
        assert_eq!(all(&[NotJudged, Pass, Pass]), NotJudged);
        assert_eq!(all(&[NotJudged, Inconclusive]), Inconclusive);
        assert_eq!(all(&[Pass, Inconclusive]), Inconclusive);
        assert_eq!(all(&[Inconclusive, Fail, Pass]), Fail);
    }

    #[test]
    fn a_check_that_judged_nothing_is_no_pass() {
        assert_eq!(Verdict::of_judged(true, 1), Pass);
        assert_eq!(Verdict::of_judged(true, 0), NotJudged);
        assert_eq!(Verdict::of_judged(false, 0), Fail);
    }

    #[test]
    fn a_disturbance_excuses_a_failure_and_spoils_no_pass() {
        let all = [(true, false), (true, true), (false, true), (false, false)];
        assert_eq!(
            all.map(|(held, busy)| Verdict::unless(held, busy)),
            [Pass, Pass, Inconclusive, Fail]
        );
    }

    #[test]
    fn only_a_pass_exits_with_0() {
        assert_eq!([Pass, Fail, NotJudged, Inconclusive].map(Verdict::exit_status), [0, 1, 4, 4]);
    }

    #[test]
    fn the_summary_counts_what_it_names() {
        assert_eq!(Verdict::summary([Pass, Pass]), "PASS: 2 of 2 checks");
        assert_eq!(Verdict::summary([Pass]), "PASS: 1 of 1 check");
        assert_eq!(Verdict::summary([Pass, NotJudged]), "not judged: 1 of 2 checks");
        assert_eq!(
            Verdict::summary([Fail, Inconclusive, Pass]),
            "FAIL: 1 of 3 checks; 1 inconclusive"
        );
        assert_eq!(Verdict::summary([]), "not judged: no checks were requested");
        assert_eq!(Pass.summary_of([Pass, NotJudged]), "PASS: 1 of 2 checks; 1 not judged");
    }

    #[test]
    fn counted_verdicts_have_those_of_the_list_and_missing_ones_are_inconclusive() {
        let of = |all: &[Verdict]| all.iter().copied().collect::<Verdicts>();
        for all in [&[][..], &[Pass, Pass], &[Pass, NotJudged], &[Fail, Inconclusive, Pass]] {
            let (counted, worst) = (of(all), Verdict::of_all(all.iter().copied()));
            assert_eq!((counted.verdict_of(0), counted.total()), (worst, all.len() as u64));
            let partial = Verdict::of_all(all.iter().copied().chain([Inconclusive]));
            assert_eq!(counted.verdict_of(counted.total() + 1), partial);
        }
        let json = serde_json::to_string(&of(&[Fail, Pass, Pass])).unwrap();
        assert_eq!(json, r#"{"fail":1,"inconclusive":0,"not_judged":0,"pass":2}"#);
    }

    #[test]
    fn json_and_name_agree() {
        for verdict in [Pass, NotJudged, Inconclusive, Fail] {
            assert_eq!(serde_json::to_value(verdict).unwrap(), verdict.name());
        }
    }
}
