//! Variants of a lab with one trace: what they differ in had no effect, so nothing was compared.

use std::collections::BTreeMap;

use serde::Serialize;

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
