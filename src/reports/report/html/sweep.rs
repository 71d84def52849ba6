//! A study as one HTML page: a figure of all runs over one or two axes, which the reader chooses, and the
//! table of the runs.

use maud::{Markup, html};
use serde::Serialize;

use super::data::{Number, figure};
use super::scale::{self, Unit};
use super::{page, parts, written};
use ::text::{count, scaled};
use ground::time::Duration;
use ground::verdict::{Verdict, Verdicts};
use lab::study::Spread;

/// Most rows of the printed table; rows as JSON have all.
const ROWS_MAX: usize = 64;

/// Most numbers that a page carries: 4 MB. Figures at the end of the list are left out beyond it.
const NUMBERS_MAX: usize = 500_000;

/// An axis of a study.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct SweepAxis {
    pub name: String,
    /// Values as they are shown, in their order; not empty.
    pub values: Vec<String>,
    /// True if runs that differ in it alone are repetitions, such as seeds.
    pub repeats: bool,
}

/// A number that runs have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SweepFigure {
    pub name: String,
    /// Unit: `ns`, `B`, `bit/s`, or any other one, which gets no prefixes; empty for none.
    pub unit: &'static str,
}

/// A run of a study.
#[derive(Clone, PartialEq, Debug)]
pub struct SweepRow {
    /// By axis: number of its value, from 0.
    pub place: Vec<usize>,
    pub verdict: Verdict,
    /// By figure: its value, if the run has it.
    pub figures: Vec<Option<f64>>,
}

/// The contents of a page.
#[derive(Clone, Copy, Debug)]
pub struct SweepPage<'a> {
    /// Title: the names of the labs.
    pub title: &'a str,
    /// World of the runs: `virtual` or `real`.
    pub world: &'a str,
    /// Worst verdict; inconclusive at best if runs are missing.
    pub verdict: Verdict,
    /// Lines below the title.
    pub summary: &'a [String],
    /// At least one axis; of a study of one point, the axis of its variants or seeds.
    pub axes: &'a [SweepAxis],
    /// The most important figure first.
    pub figures: &'a [SweepFigure],
    pub rows: &'a [SweepRow],
    /// The command that reproduces the page.
    pub command: &'a str,
}

#[derive(Serialize)]
struct Data<'a> {
    kind: &'static str,
    axes: &'a [SweepAxis],
    figures: Vec<FigureData<'a>>,
    /// By axis: the place of each run.
    places: Vec<Vec<usize>>,
    /// A letter for each run: the first of its verdict.
    verdicts: String,
    chosen: Chosen,
}

#[derive(Serialize)]
struct FigureData<'a> {
    name: &'a str,
    units: Vec<(&'static str, f64)>,
    column: Vec<Option<Number>>,
}

/// The figure and the axes that are shown first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
struct Chosen {
    figure: usize,
    across: usize,
    /// -1 for none.
    by: i64,
}

/// Runs at one place of both axes.
#[derive(Clone, PartialEq, Debug, Default)]
struct Cell {
    /// Values of the runs that have the figure.
    values: Vec<f64>,
    runs: u32,
    failed: u32,
}

impl Cell {
    /// Returns the median, as tables of studies have it.
    fn median(&self) -> Option<f64> {
        Spread::of(self.values.iter().copied()).map(|spread| spread.median)
    }
}

/// Renders the page.
///
/// # Panics
/// A row has not as many places as there are axes, or a place that its axis does not have.
#[must_use]
pub fn sweep_html(p: &SweepPage<'_>) -> String {
    for row in p.rows {
        assert_eq!(row.place.len(), p.axes.len(), "a place on every axis");
        // The script does not check the places, and an error in a browser is easily overlooked.
        assert!(row.place.iter().zip(p.axes).all(|(n, axis)| *n < axis.values.len()));
    }
    let verdicts: Verdicts = p.rows.iter().map(|row| row.verdict).collect();
    let counts = verdicts.counts().filter(|(_, n)| *n > 0);
    let counts: Vec<_> =
        counts.map(|(verdict, n)| format!("{} {}", count(n), verdict.label())).collect();
    let runs = if p.rows.len() == 1 { "run" } else { "runs" };
    let body = html! {
        header {
            h1 { (p.title) }
            p.soft { (count(p.rows.len() as u64)) " " (runs) " in the " (p.world) " world" }
            @for line in p.summary { p.soft { (line) } }
        }
        div class={ "verdict " (p.verdict.name()) } role="status" {
            strong { (p.verdict.label()) } ": " (counts.join(", "))
        }
        (chart(p))
        section.card { h2 { "Runs" } (table(p)) }
        section.card {
            h2 { "Reproduce" }
            pre { code { (p.command) } }
            p.small.soft { "sluice " (ground::program::version()) }
        }
    };
    page(&format!("{}: {}", p.title, p.verdict), ground::program::version(), &body)
}

/// Returns the units of a figure, the largest first.
fn units(unit: &'static str) -> Vec<Unit> {
    match unit {
        "ns" => scale::family(scale::time(0.0)),
        "B" => scale::family(scale::octets(0.0)),
        "bit/s" | "b/s" => scale::family(scale::rate(0.0)),
        name => vec![Unit { name, size: 1.0 }],
    }
}

fn shown(figure: &SweepFigure, value: Option<f64>) -> String {
    let Some(value) = value else { return "–".into() };
    match figure.unit {
        "ns" => written(Duration::from_nanos_f64(value)),
        "B" => scaled(value, "B"),
        "bit/s" | "b/s" => scaled(value, "b/s"),
        "" if value.fract() == 0.0 && value >= 0.0 => count(value as u64),
        unit => format!("{value:.3} {unit}").trim_end().to_owned(),
    }
}

/// Chooses the first figure that a run has, and the longest axes whose runs are no repetitions.
fn chosen(p: &SweepPage<'_>) -> Option<Chosen> {
    // A figure without values would show an empty map first.
    let has = |n: &usize| p.rows.iter().any(|row| row.figures.get(*n).copied().flatten().is_some());
    let figure = (0..p.figures.len()).find(has)?;
    let mut axes: Vec<usize> = (0..p.axes.len()).collect();
    // Repetitions last: a figure over seeds shows chance.
    axes.sort_by_key(|n| (p.axes[*n].repeats, core::cmp::Reverse(p.axes[*n].values.len()), *n));
    let across = *axes.first()?;
    let by = axes.get(1).filter(|n| !p.axes[**n].repeats && p.axes[**n].values.len() > 1);
    Some(Chosen { figure, across, by: by.map_or(-1, |n| *n as i64) })
}

fn chart(p: &SweepPage<'_>) -> Markup {
    let Some(chosen) = chosen(p) else {
        return html! { section.card { h2 { "Figures" } p.soft { "No run has results." } } };
    };
    // Figures are left out whole, and never the one that is shown first.
    let most = (NUMBERS_MAX / p.rows.len().max(1)).max(1);
    let figures = p.figures.iter().enumerate().take(most.max(chosen.figure + 1));
    let data = Data {
        kind: "sweep",
        axes: p.axes,
        figures: figures
            .map(|(n, one)| FigureData {
                name: &one.name,
                units: units(one.unit).iter().map(|unit| (unit.name, unit.size)).collect(),
                column: p
                    .rows
                    .iter()
                    .map(|row| row.figures.get(n).copied().flatten().map(Number::from))
                    .collect(),
            })
            .collect(),
        places: (0..p.axes.len())
            .map(|axis| p.rows.iter().map(|row| row.place[axis]).collect())
            .collect(),
        // A letter for each run is enough for the script, and short.
        verdicts: p.rows.iter().map(|row| &row.verdict.name()[..1]).collect(),
        chosen,
    };
    let left = p.figures.len().saturating_sub(data.figures.len());
    html! {
        section.card {
            h2 { "Figures" }
            (figure(&grid(p, chosen), &data))
            @if left > 0 {
                p.small.soft { "Figures of the rows (--rows) that are not on this page: " (left) "." }
            }
        }
    }
}

/// Sums the runs up by their values on the chosen axes.
fn cells(p: &SweepPage<'_>, chosen: Chosen) -> Vec<Vec<Cell>> {
    let by = usize::try_from(chosen.by).ok();
    let high = by.map_or(1, |by| p.axes[by].values.len());
    let mut cells = vec![vec![Cell::default(); p.axes[chosen.across].values.len()]; high];
    for row in p.rows {
        let cell = &mut cells[by.map_or(0, |by| row.place[by])][row.place[chosen.across]];
        cell.runs += 1;
        cell.failed += u32::from(row.verdict.is_fail());
        if let Some(value) = row.figures.get(chosen.figure).copied().flatten() {
            cell.values.push(value);
        }
    }
    cells
}

/// Renders the map that is shown without a script: the darker a cell, the larger its median.
fn grid(p: &SweepPage<'_>, chosen: Chosen) -> Markup {
    let cells = cells(p, chosen);
    let medians = || cells.iter().flatten().filter_map(Cell::median);
    let (low, high) = (medians().fold(f64::MAX, f64::min), medians().fold(f64::MIN, f64::max));
    let shade = |median: Option<f64>| {
        // Equal medians have no order, and no tint.
        let part = median.filter(|_| high > low).map(|median| (median - low) / (high - low))?;
        // The smallest value has a tint, too, and text on the largest stays readable.
        let percent = (8.0 + 52.0 * part).round();
        Some(format!("background:color-mix(in srgb, var(--c0) {percent}%, transparent)"))
    };
    let (of, across) = (&p.figures[chosen.figure], &p.axes[chosen.across]);
    let by = usize::try_from(chosen.by).ok().map(|by| &p.axes[by]);
    html! {
        p.small.soft {
            (of.name) " over " (across.name) @if let Some(by) = by { " and " (by.name) }
            ": medians of the runs."
        }
        div.scroll tabindex="0" role="region" aria-label="table" {
            table.grid {
                thead { tr {
                    th { @if let Some(by) = by { (by.name) " \\ " } (across.name) }
                    @for value in &across.values { th.n scope="col" { (value) } }
                } }
                tbody {
                    @for (n, row) in cells.iter().enumerate() {
                        tr {
                            th scope="row" { @if let Some(by) = by { (by.values[n]) } }
                            @for cell in row {
                                td.n style=[shade(cell.median())] {
                                    (shown(of, cell.median()))
                                    @if cell.failed > 0 {
                                        span.word.fail { "FAIL " (cell.failed) "/" (cell.runs) }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn table(p: &SweepPage<'_>) -> Markup {
    let rows = &p.rows[..p.rows.len().min(ROWS_MAX)];
    html! {
        div.scroll tabindex="0" role="region" aria-label="table" {
            table {
                thead { tr {
                    @for axis in p.axes { th.n scope="col" { (axis.name) } }
                    th scope="col" { "verdict" }
                    @for figure in p.figures { th.n scope="col" { (figure.name) } }
                } }
                tbody {
                    @for row in rows {
                        tr {
                            @for (n, axis) in row.place.iter().zip(p.axes) { td.n { (axis.values[*n]) } }
                            td { (parts::verdict(row.verdict)) }
                            @for (figure, value) in p.figures.iter().zip(&row.figures) {
                                td.n { (shown(figure, *value)) }
                            }
                        }
                    }
                }
            }
        }
        @if p.rows.len() > ROWS_MAX {
            p.small.soft {
                "and " (count((p.rows.len() - ROWS_MAX) as u64)) " more, in the rows (--rows)"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::assets::needs_nothing_else;

    fn axis(name: &str, values: &[&str], repeats: bool) -> SweepAxis {
        SweepAxis {
            name: name.into(),
            values: values.iter().map(|value| (*value).to_owned()).collect(),
            repeats,
        }
    }

    fn figures() -> Vec<SweepFigure> {
        let figure = |name: &str, unit| SweepFigure { name: name.into(), unit };
        vec![figure("none", ""), figure("fct.p99_ns", "ns"), figure("buffer_peak_bytes", "B")]
    }

    fn page_of(axes: &[SweepAxis], rows: &[SweepRow]) -> String {
        sweep_html(&SweepPage {
            title: "study <a>",
            world: "virtual",
            verdict: Verdict::Fail,
            summary: &["two axes".into()],
            axes,
            figures: &figures(),
            rows,
            command: "sluice run study.yaml --report x.html",
        })
    }

    #[test]
    fn a_page_has_a_map_of_medians_and_says_how_many_runs_failed() {
        let seeds = ["1", "2", "3", "4"];
        let axes = [
            axis("alpha", &["1/8", "1"], false),
            axis("seed", &seeds, true),
            axis("length", &["1m", "100m", "1km"], false),
        ];
        let mut rows = Vec::new();
        for alpha in 0..2 {
            for seed in 0..4 {
                for length in 0..3 {
                    let fct = (length < 2).then(|| 1e6 * (1 + alpha + seed) as f64);
                    let verdict =
                        if alpha == 1 && seed == 3 { Verdict::Fail } else { Verdict::Pass };
                    let figures = vec![None, fct, Some(5e5)];
                    rows.push(SweepRow { place: vec![alpha, seed, length], verdict, figures });
                }
            }
        }
        let page = page_of(&axes, &rows);
        needs_nothing_else(&page);
        for part in [
            "<title>study &lt;a&gt;: FAIL</title>",
            "fct.p99_ns over length and alpha: medians of the runs.",
            "2.5 ms",
            "3.5 ms<span class=\"word fail\">FAIL 1/4</span>",
            "3 FAIL, 21 PASS",
            "\"chosen\":{\"figure\":1,\"across\":2,\"by\":0}",
        ] {
            assert!(page.contains(part), "{part}\n{page}");
        }
        assert!(page.contains("<td class=\"n\">–<"), "an unknown figure is no number");
    }

    #[test]
    fn a_study_without_results_says_so_and_long_ones_are_bounded() {
        let axes = [axis("seed", &["1"], true)];
        let row = SweepRow { place: vec![0], verdict: Verdict::NotJudged, figures: vec![None; 3] };
        let page = page_of(&axes, core::slice::from_ref(&row));
        assert!(page.contains("No run has results.") && !page.contains("<script"));
        let row = SweepRow { figures: vec![Some(1.0), Some(123.0), Some(7.0)], ..row };
        let page = page_of(&axes, &vec![row; 200_000]);
        assert!(page.len() < 5_000_000, "{} bytes", page.len());
        assert!(page.contains("not on this page: 1.") && page.contains("199,936 more"));
    }
}
