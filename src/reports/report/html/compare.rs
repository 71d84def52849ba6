//! Comparison of runs as one HTML page: bars by figure, queues, pauses and rates over time, completion
//! times, the table. A run has one colour in all of them.

use maud::{Markup, html};

use super::parts::{self, card};
use super::plot::cdf;
use super::plot::{Axis, COLOURS, Line, Plot, variable};
use super::runs::RunSeries;
use super::scale::{self, Unit};
use super::{page, written};
use crate::compare::{ComparedRun, Comparison, LEGEND, sheet};
use ::text::{count, scaled};

/// The contents of a page.
#[derive(Clone, Copy, Debug)]
pub struct ComparisonPage<'a> {
    pub comparison: &'a Comparison,
    /// Series of each run, in the same order, if they were recorded.
    pub series: &'a [Option<RunSeries>],
    /// The command that reproduces the page.
    pub command: &'a str,
}

/// A figure drawn as a bar.
struct Bar {
    name: &'static str,
    figure: fn(&ComparedRun) -> Option<f64>,
    /// Formats its value.
    written: fn(f64) -> String,
}

const fn bar(
    name: &'static str,
    figure: fn(&ComparedRun) -> Option<f64>,
    written: fn(f64) -> String,
) -> Bar {
    Bar { name, figure, written }
}

/// Formats a time in nanoseconds.
fn time(ns: f64) -> String {
    written(ground::time::Duration::from_nanos_f64(ns))
}

const BARS: [Bar; 6] = [
    bar("Completion, median", |run| run.figures.fct.map(|fct| fct.p50.as_nanos_f64()), time),
    bar("Completion, 99 of 100", |run| run.figures.fct.map(|fct| fct.p99.as_nanos_f64()), time),
    bar("Victim throughput", |run| run.figures.victim_bps, |bps| scaled(bps, "b/s")),
    bar("Peak buffer of a switch", |run| Some(run.figures.buffer_peak_bytes as f64), octets),
    bar("Time that ports were paused, all together", |run| Some(paused(run)), time),
    bar("Fairness (Jain)", |run| run.figures.fairness, |index| format!("{index:.3}")),
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
    let mut rest = p.series;
    let by_lab: Vec<_> = c
        .labs()
        .map(|(lab, runs)| {
            // Series stand in the order of the runs, so each lab takes as many as it has runs.
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
        section.card {
            h2 { "Comparison" }
            (parts::whole(&sheet(c)))
            p.small.soft { (LEGEND) }
            (failed(c))
            @for same in &c.same_traces { p { "Note: " (same.line()) } }
        }
        @for (n, (lab, runs, of_lab)) in by_lab.into_iter().enumerate() {
            @let plots = Plots { runs, series: of_lab, group: format!("lab {n}") };
            h2 { (lab) }
            div.cards {
                @for bar in &BARS { (bars(bar, runs)) }
                (plots.completions())
            }
            div.cards.times { (plots.over_time()) }
        }
        section.card {
            h2 { "Reproduce" }
            pre { code { (p.command) } }
            p.small.soft { "sluice " (c.version) }
        }
    };
    page(&title, &c.version, &body)
}

fn failed(c: &Comparison) -> Markup {
    html! {
        ul.checks {
            @for run in &c.runs {
                @for check in &run.failed {
                    li {
                        (parts::verdict(check.verdict)) " " (run.lab) " " (run.name()) ": "
                        strong { (check.name) }
                        div.soft { (check.detail) }
                    }
                }
            }
        }
    }
}

/// Renders one figure of all runs of a lab.
fn bars(bar: &Bar, runs: &[ComparedRun]) -> Markup {
    let found: Vec<_> = runs.iter().map(|run| (run.name(), (bar.figure)(run))).collect();
    let most = found.iter().filter_map(|(_, n)| *n).fold(0.0, f64::max);
    html! {
        @if most > 0.0 {
            figure.card {
                h2 { (bar.name) }
                dl.bars {
                    @for (n, (run, figure)) in found.iter().enumerate() {
                        dt { (run) }
                        dd {
                            @if let Some(figure) = figure {
                                @if *figure > 0.0 {
                                    i style={
                                        "width:" (format!("{:.1}", 62.0 * figure / most)) "%;"
                                        "background:" (variable(n))
                                    } {}
                                }
                                ((bar.written)(*figure))
                            } @else { "–" }
                        }
                    }
                }
            }
        }
    }
}

/// The plots of the runs of a lab.
struct Plots<'a> {
    runs: &'a [ComparedRun],
    series: &'a [Option<RunSeries>],
    /// Name of the plots of this lab.
    group: String,
}

impl Plots<'_> {
    /// Makes a line for each run with these points. A run has the colour of its bars.
    fn lines(&self, points: impl Fn(&RunSeries) -> &[(f64, f64)], steps: bool) -> Vec<Line> {
        // A run has the colour of its bars, and there are no more colours than this.
        let runs = self.runs.iter().zip(self.series).enumerate().take(COLOURS);
        let seen = runs.filter_map(|(n, (run, series))| {
            let points = points(series.as_ref()?);
            let name = run.name().to_owned();
            (!points.is_empty()).then(|| Line {
                name,
                points: points.to_vec(),
                steps,
                colour: Some(n),
                ..Line::default()
            })
        });
        seen.collect()
    }

    fn plot(&self, what: &'static str, unit: fn(f64) -> Unit, lines: Vec<Line>) -> Plot {
        let most = lines.iter().flat_map(|line| &line.points).map(|(_, y)| *y).fold(0.0, f64::max);
        let ends = self.series.iter().flatten().map(|series| series.end);
        let axis = Axis::time(ends.fold(0.0, f64::max), self.group.as_str());
        Plot {
            about: format!("Lines over time: {what} of {} runs", lines.len()),
            what,
            unit: unit(most),
            max: None,
            axis: Axis { toggles: self.group.clone(), ..axis },
            lines,
            marks: vec![],
        }
    }

    /// Returns a caption that says how many runs are not drawn.
    fn caption(&self, text: &str) -> String {
        match self.runs.len().saturating_sub(COLOURS) {
            0 => text.to_owned(),
            left => format!("{text} The last {left} runs are not drawn."),
        }
    }

    fn over_time(&self) -> Markup {
        let queued = self.plot("queue depth", scale::octets, self.lines(|s| &s.queued, false));
        let paused = self.plot("paused ports", number, self.lines(|s| &s.paused, true));
        let rate = self.plot("throughput", scale::rate, self.lines(|s| &s.rate, true));
        // Without a pause in any run, there is nothing to compare.
        let any = paused.lines.iter().flat_map(|line| &line.points).any(|(_, y)| *y > 0.0);
        html! {
            (card("Egress queues", queued.draw(), &self.caption(
                "Bytes queued for egress at all ports of all switches together. In print, the band \
                 spans minimum to maximum, and the line is the mean.")))
            @if any {
                (card("Paused ports", paused.draw(), &self.caption(
                    "Mean number of priorities of ports that were paused at the same time.")))
            }
            (card("Throughput", rate.draw(), &self.caption(
                "Frames of all flows that arrived, with their headers and FCS.")))
        }
    }

    fn completions(&self) -> Markup {
        let lines = self.lines(|s| &s.completions, true);
        let about = format!("Cumulative distribution of completion times of {} runs", lines.len());
        // Completion times have their own axis, so this plot zooms alone.
        let mut plot = cdf(about, "completion time", lines);
        plot.axis.toggles.clone_from(&self.group);
        card(
            "Completion times",
            plot.draw(),
            &self.caption("Share of messages that took no longer."),
        )
    }
}

fn number(_: f64) -> Unit {
    Unit { name: "ports", size: 1.0 }
}
