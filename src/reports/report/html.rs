//! The report of a lab: one self-contained HTML page.
//!
//! Style sheet, plots and script are embedded, and the page loads nothing. Its plots are drawings, which
//! the script replaces by plots that zoom and show values; a page on paper or without a script keeps
//! the drawings. The page fits a phone and follows the reader's light or dark theme. All of its content
//! comes from the results and the recording.

mod assets;
#[cfg(feature = "instruments")]
mod benchmark;
mod charts;
mod compare;
mod data;
mod explore;
mod heat;
mod lines;
mod parts;
mod pauses;
mod plot;
mod rows;
mod runs;
mod scale;
mod study;
mod sweep;
mod tester;
mod topology;
#[cfg(feature = "instruments")]
mod validate;

#[cfg(feature = "instruments")]
pub use self::benchmark::{BenchmarkPage, benchmark_html};
#[cfg(feature = "instruments")]
pub use self::validate::{ValidationPage, validation_html};
pub use compare::{ComparisonPage, comparison_html};
pub use explore::{ExplorePage, explore_html};
pub use runs::RunSeries;
pub use study::{searched_html, study_html};
pub use sweep::{SweepAxis, SweepFigure, SweepPage, SweepRow, sweep_html};
pub use tester::{TestPage, tester_html};

use maud::{DOCTYPE, Markup, PreEscaped, html};

pub(super) use scale::written;

use super::lab::found_out as text_found_out;
use super::tester::tables as tester_tables;
use ::text::{count, scaled};
use ground::time::{Duration, Instant};
use ground::verdict::Verdict;
use lab::{LabPlan, Outcome, Recording};
use sim::check::Deadlock;

/// The contents of a report.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    pub plan: &'a LabPlan,
    pub outcome: &'a Outcome,
    pub recording: &'a Recording,
    /// The command that reproduces the results.
    pub command: &'a str,
}

/// Renders the page.
#[must_use]
pub fn html(r: &Report<'_>) -> String {
    let o = r.outcome;
    let title = format!("{}: {}", o.lab, o.verdict);
    let body = html! {
        (head(o))
        (tiles(o))
        div.cards {
            section.card { h2 { "Checks" } (checks(o)) }
            (network(r))
            (charts::distributions(r))
        }
        div.cards.times { (charts::over_time(r)) }
        (shortfalls(o))
        (tables_of(o))
        (reproduce(r))
    };
    page(&title, &o.version, &body)
}

/// Renders a page with a title and a body.
fn page(title: &str, version: &str, body: &Markup) -> String {
    // A page without plots carries no script.
    let plots = body.0.contains("<script class=\"data\"");
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(assets::policy());
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content=(format!("sluice {version}"));
                title { (title) }
                style { (PreEscaped(assets::STYLE)) }
            }
            body {
                main { (body) }
                @if plots { script { (PreEscaped(assets::script())) } }
            }
        }
    }
    .into_string()
}

fn head(o: &Outcome) -> Markup {
    let summary = Verdict::summary(o.checks.iter().map(|check| check.verdict));
    html! {
        header {
            h1 { (o.lab) }
            p.soft {
                "Lossless-Ethernet lab in the " (o.world) " world, " (scale::written(o.elapsed_ns))
                @if o.done { ", all done" } @else { ", with frames still on their way" }
            }
        }
        div class={ "verdict " (banner(o)) } role="status" {
            strong { (summary) }
            @if let Some(deadlock) = standing(o) {
                "; the network is deadlocked since " (scale::written(deadlock.since.since_start())) ": "
                (deadlock.name)
            }
        }
    }
}

/// Returns the deadlock that persisted to the end, if any.
fn standing(o: &Outcome) -> Option<&Deadlock> {
    o.deadlocks.iter().find(|deadlock| deadlock.ended.is_none())
}

/// Returns the style of the verdict; never that of a pass for a network in deadlock.
fn banner(o: &Outcome) -> &'static str {
    match o.verdict {
        // Checks may pass in a network that stands still, as no frame is lost there.
        Verdict::Pass if standing(o).is_some() => Verdict::Inconclusive.name(),
        verdict => verdict.name(),
    }
}

/// Renders the main figures.
fn tiles(o: &Outcome) -> Markup {
    let generated = || o.tester.iter().flat_map(|tester| &tester.flows);
    let seconds = o.elapsed_ns.as_secs_f64();
    let of_generator =
        generated().map(|f| 8.0 * f.bytes_rx as f64 / seconds).fold(0.0, |a, b| a + b);
    // A lab may have its own flows, those of a generator, or both.
    let rate = o.flows.iter().map(|f| f.rx_bps).fold(of_generator, |a, b| a + b);
    let any = !o.flows.is_empty() || generated().next().is_some();
    // Without flows there is nothing to measure, which is not 0.
    let or_unknown = |known: bool, text: String| if known { text } else { "-".into() };
    let lost: u64 = o.flows.iter().map(|f| f.loss_frames).sum::<u64>()
        + generated().map(|f| f.lost()).sum::<u64>();
    let queued: u64 = o.flows.iter().map(|f| f.pending_frames).sum::<u64>()
        + generated().filter_map(|f| f.queued_frames).sum::<u64>();
    let of_generator = generated().filter_map(|f| f.latency.as_ref()).map(|l| l.p99_ns.ns());
    let measured = o.flows.iter().filter_map(|f| f.latency_ns).map(|l| l.p99.as_nanos_f64());
    let slowest = measured
        .chain(of_generator)
        .max_by(f64::total_cmp)
        .map(|ns| scale::written(Duration::from_nanos_f64(ns)));
    // No pause is a result as well.
    let first = |t: Option<Duration>| t.map_or_else(|| "none".into(), scale::written);
    let tiles = [
        ("throughput, all flows", or_unknown(any && seconds > 0.0, scaled(rate, "b/s"))),
        ("p99 latency, slowest flow", slowest.unwrap_or_else(|| "-".into())),
        ("frames lost, all flows", or_unknown(any, count(lost))),
        ("frames queued at the end", or_unknown(any, count(queued))),
        ("lossless frames dropped", count(o.lossless_drops)),
        ("pauses (XOFF)", count(o.pauses.xoffs)),
        ("first pause", first(o.pauses.first_ns)),
        ("longest pause", scale::written(o.pauses.longest_ns)),
        ("frames marked CE", count(o.marks)),
    ];
    html! {
        dl.tiles {
            @for (name, value) in tiles {
                div.tile { dt { (name) } dd { (value) } }
            }
        }
    }
}

fn checks(o: &Outcome) -> Markup {
    html! {
        @if o.checks.is_empty() {
            p.soft { "The lab asks for no checks." }
        }
        ul.checks {
            @for check in &o.checks {
                li {
                    (parts::verdict(check.verdict)) " " strong { (check.name) }
                    div.soft { (check.detail) }
                    @if let Some(source) = &check.source {
                        div.small.soft { "source: " (source) }
                    }
                }
            }
        }
    }
}

fn network(r: &Report<'_>) -> Markup {
    let end = Instant::ZERO + r.outcome.elapsed_ns;
    let network = &r.plan.network;
    // Each rate once, in order, as most labs have one or two.
    let mut rates: Vec<u64> = network.links.iter().map(|link| link.rate.get()).collect();
    rates.sort_unstable();
    rates.dedup();
    let rates: Vec<_> = rates.into_iter().map(|rate| scaled(rate as f64, "b/s")).collect();
    html! {
        figure.card {
            h2 { "Network" }
            (topology::draw(r.plan, r.recording, end))
            figcaption {
                (network.nodes.len()) " nodes, " (network.links.len()) " links of "
                (rates.join(", ")) ". The redder a link, the longer it was paused."
            }
        }
    }
}

/// Renders the features of the lab that the world could not provide.
fn shortfalls(o: &Outcome) -> Markup {
    html! {
        @if !o.shortfalls.is_empty() {
            section.card {
                h2 { "Not available in the " (o.world) " world" }
                ul { @for line in &o.shortfalls { li { (line) } } }
            }
        }
    }
}

fn tables_of(o: &Outcome) -> Markup {
    html! {
        @if !o.flows.is_empty() {
            section.card { h2 { "Flows" } (parts::flows(o)) }
        }
        @if let Some(tester) = &o.tester {
            @for (title, sheet) in tester_tables(tester) {
                section.card { h2 { "Generator: " (title) } (parts::table(&sheet)) }
            }
        }
        @if let Some(table) = parts::transports(o) {
            section.card { h2 { "Transport" } (table) }
        }
        @if let Some(table) = parts::drops(o) {
            section.card { h2 { "Drops" } (table) }
        }
        @if let Some(table) = parts::faults(o) {
            section.card { h2 { "Faults" } (table) }
        }
        section.card { h2 { "Nodes" } (parts::nodes(o)) }
        (found_out(o))
    }
}

/// Renders the discovery results of ports and the resulting changes.
fn found_out(o: &Outcome) -> Markup {
    let found = text_found_out(o);
    let steps: Vec<_> = o
        .switches()
        .flat_map(|s| s.ports.iter().map(move |p| (s, p)))
        .flat_map(|(s, p)| p.steps.iter().map(move |step| (s, p, step)))
        .map(|(s, p, step)| {
            format!("{} {} at {}: {}\n", s.name, p.summary.port.name, step.at_ns, step.what)
        })
        .collect();
    html! {
        @if !found.is_empty() {
            section.card {
                h2 { "Results of link protocols" }
                (parts::preformatted(found.trim()))
                @if !steps.is_empty() { h3 { "Step by step" } pre { (steps.concat().trim_end()) } }
            }
        }
    }
}

fn reproduce(r: &Report<'_>) -> Markup {
    let o = r.outcome;
    html! {
        section.card {
            h2 { "Reproduce" }
            // Only the virtual world has a trace that can be repeated.
            @if o.trace_hash.is_some() {
                p { "The same lab and the same seed give the same trace, on every machine:" }
            } @else {
                p { "The same lab again (runs in the real world differ):" }
            }
            pre { code { (r.command) } }
            p.small.soft {
                "sluice " (o.version) ", seed " (o.seed)
                @if let Some(shuffle) = o.shuffle { ", shuffled by " (shuffle) }
                @if let Some(hash) = &o.trace_hash { ", trace hash " code { (hash) } } "; "
                (count(o.engine.events)) " events, " (count(o.engine.frames)) " frame-hops, "
                (count(o.engine.polls)) " polls"
            }
        }
    }
}

#[cfg(test)]
mod tests;
