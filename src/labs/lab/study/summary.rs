//! Results of a study: its rows, and those that differ in the seed alone taken together. Variants with one trace are
//! found: what they differ in had no effect, so nothing was compared.

use std::collections::BTreeMap;

use super::Row;
use super::sweep::SEED;
use ground::statistics::percentile;
use ground::verdict::{Verdict, Verdicts};
use serde::{Serialize, Serializer};
use serde_json::Value;

/// The rows of a study, or of part of its runs.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Studied {
    pub version: String,
    /// Worst verdict of all runs; inconclusive at best if some are missing.
    pub verdict: Verdict,
    /// Number of runs that were to be run.
    pub planned: u64,
    /// The part that was to be run; absent for all runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
    /// Number of runs that ended, by verdict.
    pub verdicts: Verdicts,
    /// Axes of the tables.
    pub axes: Vec<AxisName>,
    /// Runs that differ in the seed alone, if seeds are an axis.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<Group>,
    /// Variants that have one trace where both were run, so what they differ in had no effect.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub same_traces: Vec<SameTrace>,
    /// Rows, in the order of labs and runs; none of more than [`SHOWN_MAX`] runs.
    pub rows: Vec<Row>,
}

/// Name of an axis in tables, and of its values in rows.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct AxisName {
    /// Path, or short name, by which rows have its values.
    pub path: String,
    /// Heading in tables.
    pub name: String,
}

/// Most runs whose rows are kept in memory for tables. A choice: more than half a gigabyte of them.
pub const SHOWN_MAX: u64 = 200_000;

/// Runs of a point with all of its seeds.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Group {
    pub lab: String,
    pub variant: Option<String>,
    /// Values of the axes but the seed.
    #[serde(serialize_with = "as_object")]
    pub axes: Vec<(String, Value)>,
    /// Number of runs.
    pub runs: u64,
    /// Number of runs with a check that failed.
    pub failed: u64,
    /// Worst verdict.
    pub verdict: Verdict,
    /// Numbers of the results over the runs that have them.
    #[serde(serialize_with = "as_object")]
    pub figures: Vec<(String, Spread)>,
}

/// The part of a study that one command runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Part {
    /// Number of the part, from 1, and number of parts.
    pub part: u64,
    pub parts: u64,
    /// Runs of the whole study.
    pub runs: u64,
}

/// A number of several runs.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Spread {
    /// Middle value; the mean of the two in the middle of an even number.
    pub median: f64,
    pub min: f64,
    pub max: f64,
    /// Quantiles by the nearest rank: 5 % and 95 % of the runs have at most this.
    pub p5: f64,
    pub p95: f64,
    /// Number of runs that have the number.
    pub runs: u64,
}

fn as_object<S: Serializer, V: Serialize>(pairs: &[(String, V)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(pairs.iter().map(|(name, value)| (name, value)))
}

impl Studied {
    /// Begins with no rows; `axes` have a column each, `planned` is the number of runs that were to be run.
    #[must_use]
    pub fn new(axes: Vec<AxisName>, planned: u64) -> Self {
        Self {
            version: ground::program::version().into(),
            verdict: Verdict::NotJudged,
            planned,
            part: None,
            verdicts: Verdicts::default(),
            axes,
            groups: Vec::new(),
            same_traces: Vec::new(),
            rows: Vec::new(),
        }
    }

    /// Adds the row of a run.
    pub fn add(&mut self, row: Row) {
        self.verdicts.add(row.verdict);
        // By the plan and not by the count: a table with the first rows alone would mislead.
        if self.planned <= SHOWN_MAX {
            self.rows.push(row);
        }
    }

    /// Ends after the last row: sorts the rows and takes those together that differ in the seed alone.
    /// The verdict is inconclusive at best if runs are missing.
    #[must_use]
    pub fn close(mut self) -> Self {
        let mut labs = BTreeMap::<String, usize>::new();
        for row in &self.rows {
            let next = labs.len();
            // Studies in the order of their first rows, which is that of the files of the command.
            labs.entry(row.study.clone()).or_insert(next);
        }
        self.rows.sort_by_key(|row| (labs[&row.study], row.n));
        self.verdict = self.verdicts.verdict_of(self.planned);
        if self.axes.iter().any(|axis| axis.path == SEED) {
            self.groups = groups(&self.rows);
        }
        let runs = self.rows.iter().filter_map(|row| {
            let (variant, trace) = (row.variant.as_deref()?, row.trace_hash.as_deref()?);
            let point = format!("{} {} {}", row.study, row.point, row.seed);
            Some(Traced { lab: &row.lab, variant, point, trace })
        });
        self.same_traces = SameTrace::find(runs);
        self
    }
}

/// Takes the rows together that differ in the seed alone, in the order of their first ones.
fn groups(rows: &[Row]) -> Vec<Group> {
    let mut places = BTreeMap::<String, usize>::new();
    let mut all: Vec<Vec<&Row>> = Vec::new();
    for row in rows {
        let axes: Vec<_> = without_seed(row).collect();
        let key = format!("{} {:?} {axes:?}", row.study, row.variant);
        let place = *places.entry(key).or_insert(all.len());
        if place == all.len() {
            all.push(Vec::new());
        }
        all[place].push(row);
    }
    all.iter().map(|rows| Group::of(rows)).collect()
}

fn without_seed(row: &Row) -> impl Iterator<Item = &(String, Value)> {
    row.axes.iter().filter(|(path, _)| path != SEED)
}

impl Group {
    /// Takes rows together, at least one.
    fn of(rows: &[&Row]) -> Self {
        let first = rows[0];
        let mut names: Vec<&str> = Vec::new();
        for (name, _) in rows.iter().flat_map(|row| &row.figures) {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        let spread = |name: &str| Spread::of(rows.iter().filter_map(|row| row.figure(name)));
        Self {
            lab: first.lab.clone(),
            variant: first.variant.clone(),
            axes: without_seed(first).cloned().collect(),
            runs: rows.len() as u64,
            failed: rows.iter().filter(|row| row.verdict.is_fail()).count() as u64,
            verdict: Verdict::of_all(rows.iter().map(|row| row.verdict)),
            figures: names.iter().filter_map(|n| Some(((*n).to_owned(), spread(n)?))).collect(),
        }
    }

    /// Returns a number by its name; `None` if no run has it.
    #[must_use]
    pub fn figure(&self, name: &str) -> Option<&Spread> {
        self.figures.iter().find(|(own, _)| own == name).map(|(_, spread)| spread)
    }
}

impl Spread {
    /// Returns the spread of numbers; `None` without any.
    #[must_use]
    pub fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        let mut all: Vec<f64> = values.collect();
        all.sort_by(f64::total_cmp);
        let (min, max) = (*all.first()?, *all.last()?);
        // The two in the middle are one for an odd number.
        let (low, high) = (all[(all.len() - 1) / 2], all[all.len() / 2]);
        Some(Self {
            // Between both, as runs are a sample: with two, the nearest rank would be the lesser one. Not
            // (low + high) / 2, which overflows for large ones.
            median: low + (high - low) / 2.0,
            min,
            max,
            p5: percentile(&all, 5)?,
            p95: percentile(&all, 95)?,
            runs: all.len() as u64,
        })
    }
}

/// A run of a variant: its lab, its variant, what else tells it from other runs, and its trace.
#[derive(Clone, Debug)]
pub struct Traced<'a> {
    pub lab: &'a str,
    pub variant: &'a str,
    /// Point and seed.
    pub point: String,
    pub trace: &'a str,
}

/// Two variants that have the same trace at some points.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct SameTrace {
    pub lab: String,
    pub variants: [String; 2],
    /// Number of points and seeds at which the traces are the same, and at which both variants were run.
    pub same: u64,
    pub of: u64,
}

impl SameTrace {
    /// Returns the pairs of variants with an equal trace at any point, in the order of their first runs.
    #[must_use]
    pub fn find<'a>(runs: impl Iterator<Item = Traced<'a>>) -> Vec<Self> {
        let mut points: BTreeMap<(&str, String), Vec<(&str, &str)>> = BTreeMap::new();
        let mut order: Vec<(&str, &str)> = Vec::new();
        for Traced { lab, variant, point, trace } in runs {
            // A file has at most 64 variants, so a list is fast enough and keeps the order.
            if !order.contains(&(lab, variant)) {
                order.push((lab, variant));
            }
            points.entry((lab, point)).or_default().push((variant, trace));
        }
        let place = |lab: &str, variant: &str| order.iter().position(|own| *own == (lab, variant));
        let mut pairs: BTreeMap<_, (u64, u64)> = BTreeMap::new();
        for ((lab, _), variants) in &points {
            for (n, (a, trace)) in variants.iter().enumerate() {
                for (b, other) in &variants[n + 1..] {
                    let mut pair = [(place(lab, a), *a), (place(lab, b), *b)];
                    // Sorted by the place in the order of runs, so that a pair has one key whichever row came first.
                    pair.sort_unstable();
                    let (same, of) = pairs.entry((pair, *lab)).or_default();
                    *same += u64::from(trace == other);
                    *of += 1;
                }
            }
        }
        let found = pairs.into_iter().filter(|(_, (same, _))| *same > 0);
        let pair = |(([(_, a), (_, b)], lab), (same, of)): (([_; 2], &str), _)| Self {
            lab: lab.to_owned(),
            variants: [str::to_owned(a), str::to_owned(b)],
            same,
            of,
        };
        found.map(pair).collect()
    }

    /// Says it in a line.
    #[must_use]
    pub fn line(&self) -> String {
        let Self { lab, variants: [a, b], same, of } = self;
        let (runs, place) = match (same, of) {
            (_, 1) => ("their only run".to_owned(), ""),
            (same, of) if same == of => (format!("all {of} runs"), ""),
            _ => (format!("{same} of {of} runs"), " there"),
        };
        format!(
            "{lab}: {a} and {b} have the same trace in {runs}: what they differ in had no effect{place}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle_and_nothing_has_none() {
        let of = |all: &[f64]| Spread::of(all.iter().copied());
        let spread = of(&[5.0, 1.0, 2.0]).unwrap();
        assert_eq!((spread.median, spread.min, spread.max, spread.runs), (2.0, 1.0, 5.0, 3));
        assert_eq!(of(&[4.0, 1.0]).unwrap().median, 2.5);
        let hundred: Vec<f64> = (1..=100).map(f64::from).collect();
        let spread = of(&hundred).unwrap();
        assert_eq!((spread.p5, spread.p95), (5.0, 95.0));
        assert_eq!(of(&[7.0]).map(|one| (one.p5, one.p95)), Some((7.0, 7.0)));
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn variants_are_compared_where_both_were_run() {
        let run =
            |variant, n: u32, trace| Traced { lab: "l", variant, point: n.to_string(), trace };
        let runs = [
            run("pfc", 0, "x"),
            run("pfc", 1, "y"),
            run("dcqcn", 0, "x"),
            run("dcqcn", 1, "y"),
            run("sfc", 0, "x"),
            run("sfc", 1, "z"),
            run("none", 0, "n"),
            Traced { lab: "other", ..run("pfc", 0, "x") },
        ];
        let found = SameTrace::find(runs.into_iter());
        let lines: Vec<String> = found.iter().map(SameTrace::line).collect();
        assert_eq!(
            lines,
            [
                "l: pfc and dcqcn have the same trace in all 2 runs: what they differ in had no effect",
                "l: pfc and sfc have the same trace in 1 of 2 runs: what they differ in had no effect there",
                "l: dcqcn and sfc have the same trace in 1 of 2 runs: what they differ in had no effect there",
            ]
        );
        // Runs of one variant with other seeds are no comparison.
        let one = [run("pfc", 0, "x"), run("pfc", 1, "x")];
        assert_eq!(SameTrace::find(one.into_iter()), []);
    }
}
