//! A lab with a sweep, as tables and JSON show it: its axes and its runs.

use std::fmt;

use super::render::{Json, object, some};
use crate::lab::study::{Search, Study};
use crate::printable;
use ::text::Align::{Left, Right};
use ::text::{Table, count};

/// Most runs that are resolved: every one of most sweeps, in seconds.
pub const RESOLVED_MAX: u64 = 10_000;
/// Most runs that a table lists: the first and the last ones.
const LISTED: (u64, u64) = (12, 3);
/// Most runs that JSON lists.
const LISTED_AS_JSON: u64 = 1_000;
/// Widest name of a point in a table.
const NAME_MAX: usize = 60;

/// A study whose runs were resolved.
pub struct Resolved {
    pub study: Study,
    /// Number of runs that were resolved.
    pub resolved: u64,
    /// Name of the lab.
    pub lab: String,
    /// Flows with their transport and ECN, of the first run of each variant.
    pub signals: Vec<(Option<String>, Vec<[String; 3]>)>,
}

/// Returns the study. Of many runs the first ones are listed.
pub fn json(checked: &Resolved) -> Json {
    let study = &checked.study;
    let axes = study.sweep().map(|sweep| {
        let axis = |column: crate::lab::study::Column<'_>| {
            object! {
                path: column.key,
                name: column.name,
                values: column.len,
                summary: column.summary,
            }
        };
        Json::List(sweep.columns().into_iter().map(axis).collect())
    });
    // Calculated and not stored: a sweep may have millions of runs.
    let runs = (0..study.len().min(LISTED_AS_JSON)).map(|n| {
        let run = study.run(n);
        let fields = run.point.map_or_else(Vec::new, |point| point.fields());
        object! {
            n: n,
            variant: some(run.variant.map(str::to_owned)),
            point: run.point_name(),
            values: serde_json::Value::Object(fields.into_iter().collect()),
        }
    });
    let signals = checked.signals.iter().flat_map(|(variant, rows)| {
        rows.iter().map(move |[flows, transport, ecn]| {
            object! {
                variant: some(variant.clone()),
                flows: flows.clone(),
                transport: transport.clone(),
                ecn: ecn.clone(),
            }
        })
    });
    object! {
        lab: checked.lab.clone(),
        runs: study.len(),
        resolved: checked.resolved,
        variants: study.file().variants().map(str::to_owned).collect::<Vec<_>>(),
        axes: some(axes),
        search: some(study.searches().map(Search::summary)),
        signals: Json::List(signals.collect()),
        // Always there, unlike `list(..)`: a study without runs has an empty list.
        list: Json::List(runs.collect()),
    }
}

pub struct Text<'a>(pub &'a Resolved);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let study = &self.0.study;
        let variants = study.file().variants().len() as u64;
        let points = study.sweep().map_or(1, |sweep| sweep.len());
        // Without variants the number of points is that of the runs, and is not repeated.
        let product = match variants {
            0 => String::new(),
            n => format!(": {} variants x {} points", count(n), count(points)),
        };
        let lab = printable::line(&self.0.lab);
        writeln!(f, "lab {lab}: {} runs{product}\n", count(study.len()))?;
        if let Some(sweep) = study.sweep() {
            let mut table =
                Table::new([("axis", Left), ("values", Right), ("from the file", Left)]);
            for column in sweep.columns() {
                let cells = [column.name.to_owned(), count(column.len), short(&column.summary)];
                table.row(cells);
            }
            writeln!(f, "{table}")?;
        }
        let signals = self.signals();
        if !signals.is_empty() {
            writeln!(f, "{signals}")?;
        }
        if let Some(search) = study.searches() {
            let most = count(search.runs_max());
            let seeds = if search.seeds() == 1 {
                "one seed".into()
            } else {
                format!("{} seeds", count(search.seeds()))
            };
            writeln!(f, "search: {}", printable::line(&search.summary()))?;
            writeln!(f, "with {seeds}, up to {most} runs of the lab for each of:\n")?;
        }
        self.runs().fmt(f)?;
        // Large sweeps are resolved in part, which must not read as if all were valid.
        let resolved = match self.0.resolved {
            n if n == study.len() => "all runs are valid".to_owned(),
            n => format!(
                "{} of {} runs were resolved (every value of each short axis), and are valid",
                count(n),
                count(study.len())
            ),
        };
        writeln!(f, "\n{resolved}")
    }
}

impl Text<'_> {
    /// Flows of each variant with what tells them of congestion, so that a comparison shows what it compares.
    fn signals(&self) -> Table {
        let mut table =
            Table::new([("variant", Left), ("flows", Left), ("transport", Left), ("ECN", Left)]);
        for (variant, rows) in &self.0.signals {
            for [flows, transport, ecn] in rows {
                let variant = variant.clone().unwrap_or_else(|| "-".to_owned());
                table.row([variant, flows.clone(), transport.clone(), ecn.clone()]);
            }
        }
        table
    }

    fn runs(&self) -> Table {
        let study = &self.0.study;
        let has_variants = study.file().variants().len() > 0;
        let head = [("run", Right), ("variant", Left), ("point", Left)];
        let mut table =
            Table::new(head.into_iter().filter(|(n, _)| has_variants || *n != "variant"));
        let mut row = |n: String, variant: &str, point: String| {
            let mut cells = vec![n];
            cells.extend(has_variants.then(|| variant.to_owned()));
            cells.push(point);
            table.row(cells);
        };
        let (first, last) = LISTED;
        let len = study.len();
        // One more than both parts: a gap of one row would take as much room as the row.
        let is_short = len <= first + last + 1;
        let listed = if is_short { len } else { first };
        let shown = |n: u64| {
            let run = study.run(n);
            (n.to_string(), run.variant.unwrap_or("-"), short(&run.point_name()))
        };
        for (n, variant, point) in (0..listed).map(shown) {
            row(n, variant, point);
        }
        if !is_short {
            row("...".into(), "...", "...".into());
            for (n, variant, point) in (len - last..len).map(shown) {
                row(n, variant, point);
            }
        }
        table
    }
}

/// Shortens a text to the width of a table.
fn short(text: &str) -> String {
    // By characters and not bytes: a cut inside of one would panic.
    match text.char_indices().nth(NAME_MAX) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
