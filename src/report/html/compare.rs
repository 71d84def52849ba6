//! Comparison of runs as one HTML page: bars by figure, queues over time, the table.

use maud::{Markup, html};

use super::lines::{Axis, COLOURS, Line, Plot, variable};
use super::{page, scale, tables, written};
use crate::compare::{ComparedRun, Comparison, LEGEND, sheet};
use ::text::{Align, count, scaled};
use lab::record::Looks;

/// The contents of a page.
#[derive(Clone, Copy, Debug)]
pub struct ComparisonPage<'a> {
    pub comparison: &'a Comparison,
    /// Queue depths of each run, in the same order, if they were sampled.
    pub depths: &'a [Option<Depths>],
    /// The command that reproduces the page.
    pub command: &'a str,
}

/// Bytes in all egress queues of a lab together, over time.
#[derive(Clone, PartialEq, Debug)]
pub struct Depths {
    /// Nanoseconds and bytes.
    points: Vec<(f64, f64)>,
}

impl Depths {
    /// Sums the sampled queues; `None` without samples.
    #[must_use]
    pub fn new(looks: &Looks) -> Option<Self> {
        let at = |n: usize| -> f64 {
            let queues = looks.queues.values();
            queues.map(|series| f64::from(series.octets.get(n).copied().unwrap_or(0))).sum()
        };
        let moments = looks.moments.iter().enumerate();
        let points: Vec<_> = moments.map(|(n, t)| (t.as_picos() as f64 / 1e3, at(n))).collect();
        (!points.is_empty()).then_some(Self { points })
    }
}

/// A figure drawn as a bar: its name, its value, and the format of the value.
type Bar = (&'static str, fn(&ComparedRun) -> Option<f64>, fn(f64) -> String);

/// Formats a time in nanoseconds.
fn time(ns: f64) -> String {
    written(ground::time::Duration::from_nanos_f64(ns))
}

const BARS: [Bar; 6] = [
    ("Completion, median", |run| run.figures.fct.map(|fct| fct.p50_ns.as_nanos_f64()), time),
    ("Completion, 99 of 100", |run| run.figures.fct.map(|fct| fct.p99_ns.as_nanos_f64()), time),
    ("Victim throughput", |run| run.figures.victim_bps, |bps| scaled(bps, "b/s")),
    ("Peak buffer of a switch", |run| Some(run.figures.buffer_peak_bytes as f64), octets),
    ("Time that ports were paused, all together", |run| Some(paused(run)), time),
    ("Fairness (Jain)", |run| run.figures.fairness, |index| format!("{index:.3}")),
];

fn octets(n: f64) -> String {
    scaled(n, "B")
}

fn paused(run: &ComparedRun) -> f64 {
    run.figures.hops.iter().map(|hop| hop.paused_ns.as_nanos_f64()).sum()
}

/// Renders the page.
#[must_use]
pub fn comparison_html(p: &ComparisonPage<'_>) -> String {
    let c = p.comparison;
    let labs: Vec<&str> = c.labs().map(|(lab, _)| lab).collect();
    let title = format!("{}: {}", labs.join(", "), c.verdict);
    let mut rest = p.depths;
    let by_lab: Vec<_> = c
        .labs()
        .map(|(lab, runs)| {
            let (of_lab, others) = rest.split_at(runs.len());
            rest = others;
            (lab, runs, of_lab)
        })
        .collect();
    let body = html! {
        header {
            h1 { (labs.join(", ")) }
            p.soft { (count(c.runs.len() as u64)) " runs in the " (c.world) " world" }
        }
        div class={ "verdict " (c.verdict.name()) } role="status" {
            strong { (c.summary()) }
        }
        section.card { h2 { "Comparison" } (table(c)) p.small.soft { (LEGEND) } (failed(c)) }
        @for (lab, runs, of_lab) in by_lab {
            h2 { (lab) }
            div.cards {
                @for bar in &BARS { (bars(bar, runs)) }
                (depths(runs, of_lab))
            }
        }
        section.card {
            h2 { "Reproduce" }
            pre { code { (p.command) } }
            p.small.soft { "sluice " (c.version) }
        }
    };
    page(&title, &c.version, &body)
}

/// Renders the table of the terminal.
fn table(c: &Comparison) -> Markup {
    let (head, rows) = sheet(c);
    let class = |align: Align| (align == Align::Right).then_some("n");
    html! {
        div.scroll tabindex="0" role="region" aria-label="table" {
            table {
                thead { tr {
                    @for (name, align) in &head { th class=[class(*align)] scope="col" { (name) } }
                } }
                tbody {
                    @for row in &rows {
                        tr {
                            @for (cell, (_, align)) in row.iter().zip(&head) {
                                td class=[class(*align)] { (cell) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn failed(c: &Comparison) -> Markup {
    html! {
        ul.checks {
            @for run in &c.runs {
                @for check in &run.failed {
                    li {
                        (tables::verdict(check.verdict)) " " (run.lab) " " (run.name()) ": "
                        strong { (check.name) }
                        div.soft { (check.detail) }
                    }
                }
            }
        }
    }
}

/// Renders one figure of all runs of a lab.
fn bars((name, figure, written): &Bar, runs: &[ComparedRun]) -> Markup {
    let found: Vec<_> = runs.iter().map(|run| (run.name(), figure(run))).collect();
    let most = found.iter().filter_map(|(_, n)| *n).fold(0.0, f64::max);
    html! {
        @if most > 0.0 {
            figure.card {
                h2 { (name) }
                dl.bars {
                    @for (n, (run, figure)) in found.iter().enumerate() {
                        dt { (run) }
                        dd {
                            @if let Some(figure) = figure {
                                i style={
                                    "width:" (format!("{:.1}", 62.0 * figure / most)) "%;"
                                    "background:" (variable(n))
                                } {}
                                (written(*figure))
                            } @else { "–" }
                        }
                    }
                }
            }
        }
    }
}

/// Plots the queue depths of each run of a lab.
fn depths(runs: &[ComparedRun], depths: &[Option<Depths>]) -> Markup {
    let seen = runs.iter().zip(depths).filter_map(|(run, seen)| Some((run, seen.as_ref()?)));
    let seen: Vec<_> = seen.take(COLOURS).collect();
    let points = || seen.iter().flat_map(|(_, seen)| &seen.points);
    let most = points().map(|(_, y)| *y).fold(0.0, f64::max);
    let end_ns = points().map(|(x, _)| *x).fold(0.0, f64::max);
    let line =
        |(run, seen): &(&ComparedRun, &Depths)| Line::through(run.name().to_owned(), &seen.points);
    let plot = Plot {
        about: format!("Lines over time: what waited in all queues of {} runs", seen.len()),
        what: "queue depth",
        unit: scale::octets(most),
        axis: Axis::time(end_ns),
        lines: seen.iter().map(line).collect(),
        marks: vec![],
    };
    html! {
        @if let Some(drawing) = plot.draw() {
            figure.card {
                h2 { "Egress queues" }
                (drawing)
                figcaption {
                    "Bytes queued for egress at all ports of all switches together. A band is from the \
                     minimum to the maximum, its line the mean."
                }
            }
        }
    }
}
