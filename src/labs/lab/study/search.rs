//! The search of a lab file: the least or the largest value of a field for which checks hold.
//!
//! Every run of the study, of its variants and its sweep, has a search of its own. A value holds if the
//! named checks pass with all seeds, and one that is not judged does not; without names the runs' verdicts decide.
//! The edge is found by bisection.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde::Serialize;
use serde_json::Value;

use super::axis::Axis;
use super::sweep::SEED;
use super::{SameTrace, Setter, Study, StudyError, Traced, try_in_order};
use crate::file::examine_tree;
use crate::{Options, Outcome, Runner, World};
use config::tree::{Key, Kind, Node};
use config::{ConfigError, Finding, unknown_name};
use ground::verdict::Verdict;

/// Name of the field in a lab file.
pub(crate) const FIELD: &str = "search";

const FIELDS: [&str; 5] = ["least", "largest", "holds", "seed", "confidence"];

/// Confidence by default. A choice: the usual one.
const CONFIDENCE: f64 = 0.95;

/// A search, as the lab file describes it.
#[derive(Clone, PartialEq, Debug)]
pub struct Search {
    wanted: Wanted,
    /// The field, with its values in ascending order.
    axis: Axis,
    /// Names of the checks that hold; empty for all checks of the lab.
    checks: Vec<String>,
    seeds: Option<Axis>,
    confidence: f64,
}

/// The end of the values that is looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Wanted {
    Least,
    Largest,
}

impl Wanted {
    /// Returns the word in sentences.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Least => "least",
            Self::Largest => "largest",
        }
    }
}

/// Says which checks have to hold, by their names; all without names.
fn holding(checks: &[String]) -> String {
    match checks {
        [] => "all checks pass".to_owned(),
        [one] => format!("{one} passes"),
        all => format!("{} pass", all.join(", ")),
    }
}

/// A value that was tried.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Tried {
    pub value: String,
    /// PASS if the checks hold with all seeds; else the verdict of the first seed with which they do not.
    pub verdict: Verdict,
    /// Seeds that were run.
    pub seeds: u64,
    /// That seed.
    pub seed: Option<u64>,
    /// Its checks that do not pass, with their findings.
    pub failed: Vec<Failed>,
    /// Seeds that were run, with their traces.
    #[serde(skip)]
    pub traces: Vec<(u64, String)>,
}

/// A check that does not pass.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Failed {
    pub check: String,
    pub verdict: Verdict,
    pub detail: String,
}

/// Result of the search of one run of the study.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Found {
    /// Number of the run, from 0.
    pub n: u64,
    pub variant: Option<String>,
    /// Values of the sweep's axes by path.
    pub axes: Vec<(String, Value)>,
    /// The same as they are shown.
    #[serde(skip)]
    pub shown: Vec<String>,
    /// The least, or largest, value that holds; `None` if none does.
    pub value: Option<String>,
    /// PASS if it was found; FAIL if no value holds. Not judged if the value beside it, or the last one if
    /// none holds, is not. Inconclusive if a value holds beyond one that does not.
    pub verdict: Verdict,
    /// The value beside it, which does not hold; `None` if the least, or the largest, of all values holds.
    pub beside: Option<Tried>,
    /// Two values that contradict the order that bisection needs: the first holds, the second does not.
    pub contradiction: Option<(String, String)>,
    /// All values that were tried, from the wanted end.
    pub tried: Vec<Tried>,
}

/// Result of the searches of a study.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Searched {
    pub version: String,
    pub lab: String,
    pub wanted: Wanted,
    /// Path of the field.
    pub path: String,
    /// Heading of the field, and of the sweep's axes.
    #[serde(skip)]
    pub headings: (String, Vec<String>),
    /// Checks that hold; empty for all checks of the lab.
    pub checks: Vec<String>,
    /// Seeds of each value.
    pub seeds: u64,
    pub confidence: f64,
    /// Share of all seeds, at least, with which a found value holds, at this confidence.
    pub share: f64,
    /// Runs of the lab that were made.
    pub runs: u64,
    /// Searches that were to be made.
    pub planned: u64,
    /// Variants that have one trace where both were run, so what they differ in had no effect.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub same_traces: Vec<SameTrace>,
    pub found: Vec<Found>,
}

impl Search {
    /// Reads the `search` of a lab file.
    pub(crate) fn read(key: &Key, node: &Node) -> Result<Self, Finding> {
        let at = |mark, path: &str, what: &str| {
            let path = if path.is_empty() { FIELD.into() } else { format!("{FIELD}.{path}") };
            Finding::new(Some(mark), &path, what)
        };
        let Kind::Map(entries) = &node.kind else {
            let what =
                "needs a field with its values, such as `{largest: {alpha: [1/8, 1/4, 1/2]}}`";
            return Err(at(key.mark, "", what));
        };
        if let Some((key, _)) = entries.iter().find(|(key, _)| !FIELDS.contains(&&*key.name)) {
            return Err(at(key.mark, &key.name, &unknown_name("field", &key.name, &FIELDS)));
        }
        let ends = [Wanted::Least, Wanted::Largest].into_iter();
        let mut ends = ends.filter_map(|wanted| Some((wanted, node.get(wanted.name())?)));
        let (Some((wanted, values)), None) = (ends.next(), ends.next()) else {
            return Err(at(key.mark, "", "needs either `least` or `largest`"));
        };
        let name = wanted.name();
        let axis = match &values.kind {
            Kind::Map(axes) if axes.len() == 1 => {
                Axis::read(&axes[0].0, &axes[0].1, &format!("{FIELD}.{name}"))?
            }
            _ => {
                let what = "needs one field with its values in ascending order, such as \
                            `{defaults.links.length: 5m..500m step 5m}`";
                return Err(at(values.mark, name, what));
            }
        };
        let place = |name: &str| entries.iter().find(|(key, _)| key.name == *name);
        let seeds = place("seed").map(|(key, node)| Axis::read(key, node, FIELD)).transpose()?;
        // Bisection needs an order in which values get better, and seeds have none.
        if axis.path() == SEED {
            return Err(at(values.mark, name, "`seed` has no order; name another field"));
        }
        if let Some((first, second, mark)) = axis.out_of_order() {
            let what = format!(
                "`{second}` is not above `{first}`, which is before it; write the values in ascending \
                 order, each once"
            );
            let path = format!("{name}.{}", axis.key());
            return Err(at(mark.unwrap_or(values.mark), &path, &what));
        }
        let checks = place("holds").map_or(Ok(Vec::new()), |(_, node)| names(node));
        let checks = checks.map_err(|mark| {
            at(mark, "holds", "needs names of checks of the lab, such as `[lossless, no_deadlock]`")
        })?;
        let confidence = place("confidence").map_or(Ok(CONFIDENCE), |(_, node)| share(node));
        let confidence = confidence.map_err(|mark| {
            at(mark, "confidence", "needs a share above 0% and below 100%, such as 95%")
        })?;
        Ok(Self { wanted, axis, checks, seeds, confidence })
    }

    /// Returns the axis of the searched field.
    #[must_use]
    pub const fn axis(&self) -> &Axis {
        &self.axis
    }

    /// Number of seeds with which each value is tried.
    #[must_use]
    pub fn seeds(&self) -> u64 {
        self.seeds.as_ref().map_or(1, Axis::len)
    }

    /// Most runs of one search, if no value fails early: those of bisection and of the four probes.
    #[must_use]
    pub fn runs_max(&self) -> u64 {
        // Both ends, the halvings, and up to four probes; a short axis has fewer values than that.
        (self.axis.len().ilog2() as u64 + 2 + 1 + 4).min(self.axis.len()) * self.seeds()
    }

    /// Describes the search in a line.
    #[must_use]
    pub fn summary(&self) -> String {
        let (wanted, checks) = (self.wanted.name(), holding(&self.checks));
        format!("{wanted} {} of {} with which {checks}", self.axis.key(), self.axis.summary())
    }

    /// Number of a value on the axis, counted from the wanted end.
    fn index(&self, rank: u64) -> u64 {
        match self.wanted {
            Wanted::Least => rank,
            Wanted::Largest => self.axis.len() - 1 - rank,
        }
    }

    fn shown(&self, rank: u64) -> String {
        self.axis.shown(self.index(rank)).into_owned()
    }

    /// Returns the checks of an outcome that matter and do not pass, and the worst verdict of all that
    /// matter.
    fn judge(&self, outcome: &Outcome) -> (Verdict, Vec<Failed>) {
        let matters = |name: &String| self.checks.is_empty() || self.checks.contains(name);
        let all = || outcome.checks.iter().filter(|check| matters(&check.name));
        let verdict = match self.checks.is_empty() {
            true => outcome.verdict,
            false => {
                // One that is named and was left out of the run, because it cannot apply, is not judged.
                let of = |name: &String| outcome.checks.iter().find(|check| check.name == *name);
                let verdict =
                    |name: &String| of(name).map_or(Verdict::NotJudged, |check| check.verdict);
                Verdict::of_all(self.checks.iter().map(verdict))
            }
        };
        // Not judged checks are named only where they are the reason that the value does not hold.
        let is_bad = |one: Verdict| one > Verdict::NotJudged || one == verdict;
        let failed = all().filter(|check| verdict != Verdict::Pass && is_bad(check.verdict));
        let failed = failed.map(|check| Failed {
            check: check.name.clone(),
            verdict: check.verdict,
            detail: check.detail.clone(),
        });
        (verdict, failed.collect())
    }
}

/// Returns names of a list, or a single one.
fn names(node: &Node) -> Result<Vec<String>, config::Mark> {
    let text = |node: &Node| match &node.kind {
        Kind::Scalar { text, .. } if !text.is_empty() => Ok(text.to_string()),
        _ => Err(node.mark),
    };
    match &node.kind {
        Kind::Seq(items) if !items.is_empty() => items.iter().map(text).collect(),
        _ => Ok(vec![text(node)?]),
    }
}

/// Returns a share above 0 and below 1: `95%` or 0.95.
fn share(node: &Node) -> Result<f64, config::Mark> {
    let Kind::Scalar { text, .. } = &node.kind else { return Err(node.mark) };
    let (number, unit) = text.strip_suffix('%').map_or((text.as_str(), 1.0), |n| (n.trim(), 0.01));
    let share = number.parse::<f64>().map_err(|_| node.mark)? * unit;
    if share > 0.0 && share < 1.0 { Ok(share) } else { Err(node.mark) }
}

/// Returns the share of all seeds with which something holds, at least, at this confidence, if it held with
/// `seeds` of `seeds` that were drawn (Clopper-Pearson, without a failure).
#[must_use]
pub fn share_at_least(seeds: u64, confidence: f64) -> f64 {
    // With a true share p all seeds hold with probability p^seeds; the bound is the p with 1 - confidence.
    (1.0 - confidence).powf(1.0 / seeds as f64)
}

impl Study {
    /// Refuses a search that cannot be made: names of checks that the lab does not have, or values that a
    /// run refuses at either end.
    ///
    /// # Errors
    /// All errors of the first run of each variant with the first and the last value.
    pub fn check_search(&self, search: &Search) -> Result<(), ConfigError> {
        let points = self.points();
        for n in (0..self.len()).step_by(points.max(1) as usize) {
            // The ends of the axis; values between have the same fields.
            for index in [0, search.axis.len() - 1] {
                let resolved = self.resolve_value(n, search, index, 0)?;
                let known: Vec<&str> =
                    resolved.plan.checks.iter().map(|check| check.name.as_str()).collect();
                if let Some(bad) = search.checks.iter().find(|name| !known.contains(&name.as_str()))
                {
                    let what = unknown_name("check", bad, &known);
                    let finding =
                        Finding::new(search.axis.mark(), &format!("{FIELD}.holds"), &what);
                    return Err(ConfigError::one(self.file.name(), finding));
                }
            }
        }
        Ok(())
    }

    /// Resolves a run with a value of the searched field and a seed, by their numbers.
    fn resolve_value(
        &self,
        n: u64,
        search: &Search,
        index: u64,
        seed: u64,
    ) -> Result<crate::Resolved, ConfigError> {
        let run = self.run(n);
        let one = |finding| ConfigError::one(self.file.name(), finding);
        let resolve = || {
            let (mut root, mut places) = self.tree(&run)?;
            // Written behind the sweep's values, so a field that both set is refused and not overwritten.
            for (axis, index) in [(Some(&search.axis), index), (search.seeds.as_ref(), seed)] {
                let Some(axis) = axis else { continue };
                let path = format!("{FIELD}.{}", axis.key());
                let wrong = |what: String| one(Finding::new(axis.mark(), &path, &what));
                let written = axis.write(&mut root, index).map_err(wrong)?;
                places.claim_axis(axis, &written, Setter::Search).map_err(one)?;
            }
            examine_tree(self.file.name(), &root, |lab| self.changes.apply(lab))
        };
        let with = |mut error: ConfigError| {
            for finding in &mut error.findings {
                let (key, value) = (search.axis.key(), search.axis.shown(index));
                let what = format!("{} (with {key} = {value})", finding.what);
                *finding = Finding::new(finding.mark, &finding.path, &what);
            }
            error
        };
        let (mut resolved, _) =
            resolve().map_err(with).map_err(|error| Self::with_name(&run, error))?;
        resolved.plan.variant = run.variant.map(Into::into);
        Ok(resolved)
    }

    /// Tries a value with all seeds on `jobs` threads, until one does not hold. `None` if `stop` was set.
    fn try_value(
        &self,
        n: u64,
        search: &Search,
        rank: u64,
        jobs: usize,
        progress: &Progress<'_>,
    ) -> Result<Option<Tried>, StudyError> {
        let index = search.index(rank);
        // Only the seed, the trace and the verdict are kept of a run: all other results may be large.
        let work = |seed: &u64| {
            let resolved = self.resolve_value(n, search, index, *seed)?;
            let options = Options { stop: Some(progress.stop), ..Options::default() };
            let run = Runner::new(World::Virtual).run(&resolved.plan, options, |_| ());
            let run = run.map_err(|error| StudyError::Run(self.run(n).name(), error))?;
            if run.outcome.interrupted {
                return Ok::<_, StudyError>(None);
            }
            progress.count();
            let judged = search.judge(&run.outcome);
            Ok(Some((run.outcome.seed, run.outcome.trace_hash, judged)))
        };
        let value = search.axis.shown(index).into_owned();
        let mut tried = Tried {
            value,
            verdict: Verdict::Pass,
            seeds: 0,
            seed: None,
            failed: Vec::new(),
            traces: Vec::new(),
        };
        let seeds = 0..search.seeds();
        try_in_order(seeds, jobs, progress.stop, work, |_, (seed, trace, (verdict, failed))| {
            tried.seeds += 1;
            tried.traces.extend(trace.map(|trace| (seed, trace)));
            if verdict.is_pass() {
                return ControlFlow::Continue(());
            }
            // The first seed that fails, in the order of seeds, decides; so the result does not depend on the
            // threads.
            (tried.verdict, tried.seed, tried.failed) = (verdict, Some(seed), failed);
            ControlFlow::Break(())
        })?;
        // Without a failure a value holds only if all of its seeds were run.
        let is_whole = tried.seeds == search.seeds() || tried.seed.is_some();
        Ok(is_whole.then_some(tried))
    }

    /// Makes the search of one run of the study.
    fn search_one(
        &self,
        n: u64,
        search: &Search,
        jobs: usize,
        progress: &Progress<'_>,
    ) -> Result<Option<Found>, StudyError> {
        let mut tried = std::collections::BTreeMap::new();
        let edge = super::edge::find(search.axis.len(), |rank| -> Result<_, StudyError> {
            let Some(one) = self.try_value(n, search, rank, jobs, progress)? else {
                return Ok(None);
            };
            let verdict = one.verdict;
            tried.insert(rank, one);
            Ok(Some(verdict))
        })?;
        let Some(edge) = edge else { return Ok(None) };
        let beside = edge.before().and_then(|rank| tried.get(&rank).cloned());
        let contradiction =
            edge.contradiction().map(|(holds, not)| (search.shown(holds), search.shown(not)));
        // An edge is one between PASS and FAIL; beside a value that was not judged there is none.
        let is_judged = beside.as_ref().is_none_or(|beside| beside.verdict == Verdict::Fail);
        let verdict = match (edge.first, &contradiction) {
            (_, Some(_)) => Verdict::Inconclusive,
            _ if !is_judged => Verdict::NotJudged,
            (Some(_), None) => Verdict::Pass,
            (None, None) => Verdict::Fail,
        };
        let run = self.run(n);
        Ok(Some(Found {
            n,
            variant: run.variant.map(Into::into),
            axes: run.point.map_or_else(Vec::new, |point| point.fields()),
            shown: run.point.map_or_else(Vec::new, |point| point.shown()),
            value: edge.first.map(|rank| search.shown(rank)),
            verdict,
            beside,
            contradiction,
            tried: tried.into_values().collect(),
        }))
    }

    /// Makes the searches of these runs of the study in the virtual world, on `jobs` threads. Ends early if
    /// `stop` is set, with the searches that are finished. `progress` gets the numbers of finished
    /// searches and of runs.
    ///
    /// # Errors
    /// A run has invalid values, or cannot run.
    pub fn search(
        &self,
        search: &Search,
        numbers: &[u64],
        jobs: usize,
        stop: &AtomicBool,
        progress: impl Fn(u64, u64) + Sync,
    ) -> Result<Searched, StudyError> {
        let progress =
            Progress { stop, tell: &progress, ended: AtomicU64::new(0), runs: AtomicU64::new(0) };
        let planned = numbers.len() as u64;
        let first = numbers.first().copied().unwrap_or(0);
        let lab = self.resolve_value(first, search, 0, 0)?.plan.name;
        // Many searches share the threads; few have them for their seeds.
        let outer = jobs.min(numbers.len()).max(1);
        let inner = (jobs / outer).max(1);
        let work = |n: &u64| self.search_one(*n, search, inner, &progress);
        let mut found = Vec::new();
        try_in_order(numbers.iter().copied(), outer, stop, work, |_, one| {
            found.push(one);
            progress.ended.fetch_add(1, Ordering::Relaxed);
            progress.report();
            ControlFlow::Continue(())
        })?;
        let columns = self.sweep().map_or_else(Vec::new, |sweep| {
            sweep.columns().into_iter().map(|column| column.name.to_owned()).collect()
        });
        let traced = found.iter().flat_map(|found| found.traced(&lab));
        let same_traces = SameTrace::find(traced);
        Ok(Searched {
            version: ground::program::version().into(),
            lab,
            wanted: search.wanted,
            path: search.axis.path().to_owned(),
            headings: (search.axis.name().to_owned(), columns),
            checks: search.checks.clone(),
            seeds: search.seeds(),
            confidence: search.confidence,
            share: share_at_least(search.seeds(), search.confidence),
            runs: progress.runs.load(Ordering::Relaxed),
            planned,
            same_traces,
            found,
        })
    }
}

/// Progress of all searches.
struct Progress<'a> {
    stop: &'a AtomicBool,
    tell: &'a (dyn Fn(u64, u64) + Sync),
    ended: AtomicU64,
    runs: AtomicU64,
}

impl Progress<'_> {
    /// Counts a run.
    fn count(&self) {
        self.runs.fetch_add(1, Ordering::Relaxed);
        self.report();
    }

    fn report(&self) {
        (self.tell)(self.ended.load(Ordering::Relaxed), self.runs.load(Ordering::Relaxed));
    }
}

impl Found {
    /// Returns its runs of a variant.
    fn traced<'a>(&'a self, lab: &'a str) -> impl Iterator<Item = Traced<'a>> {
        let point = self.shown.join(" ");
        let all =
            self.tried.iter().flat_map(|tried| tried.traces.iter().map(move |run| (tried, run)));
        all.filter_map(move |(tried, (seed, trace))| {
            let point = format!("{point} {} {seed}", tried.value);
            Some(Traced { lab, variant: self.variant.as_deref()?, point, trace })
        })
    }
}

impl Searched {
    /// Says what was searched for, in a line.
    #[must_use]
    pub fn aim(&self) -> String {
        let (lab, wanted, field) = (&self.lab, self.wanted.name(), &self.headings.0);
        format!("{lab}: the {wanted} {field} with which {}", holding(&self.checks))
    }

    /// Returns the worst verdict of all searches: not judged if one was not made.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let missing = (self.found.len() as u64) < self.planned;
        let missing = missing.then_some(Verdict::NotJudged);
        Verdict::of_all(self.found.iter().map(|found| found.verdict).chain(missing))
    }
}

#[cfg(test)]
mod tests;
