//! Parts that pages have in common: cards, limits, the latencies of flows, and tables with the content of
//! [`lab_text`](super::super::lab_text), in columns that a phone can scroll.

use maud::{Markup, html};

use super::plot::variable;
use super::rows::{Dot, LogAxis, Row, Rows};
use super::written;
use crate::sheet::{self, Medium, Sheet};
use ::text::{Column, Kind, columns, count};
use ground::time::Duration;
use ground::verdict::Verdict;
use lab::{Outcome, SwitchOutcome};

/// Maximum number of lines in a plot: more are not distinguishable.
pub(super) const LINES_MAX: usize = 6;
/// Maximum number of rows in a chart.
pub(super) const ROWS_MAX: usize = 16;

pub(super) fn card(title: &str, drawing: Option<Markup>, caption: &str) -> Markup {
    html! {
        @if let Some(drawing) = drawing {
            figure.card {
                h2 { (title) }
                (drawing)
                figcaption { (caption) }
            }
        }
    }
}

pub(super) struct FlowLatency {
    pub(super) name: String,
    /// Minimum, the [`PERCENTILES`], and maximum, in nanoseconds and as text.
    pub(super) times: [(f64, String); 5],
}

/// The plotted percentiles and their colours.
const PERCENTILES: [(&str, usize); 3] = [("median", 0), ("99 %", 1), ("99.9 %", 5)];

/// Draws rows of latencies with their legend.
pub(super) fn draw_latencies(rows: &Rows) -> Option<Markup> {
    let rows = rows.draw()?;
    Some(html! {
        (rows)
        ul.legend {
            @for (name, colour) in PERCENTILES {
                li { i style={ "background:" (variable(colour)) } {} (name) }
            }
        }
    })
}

/// Returns the rows of these flows, those with the highest 99th percentile if there are too many; `which`
/// names them in the description.
pub(super) fn latencies(mut flows: Vec<FlowLatency>, which: &str) -> Rows {
    // The slowest flows are those of interest.
    if flows.len() > ROWS_MAX {
        flows.sort_by(|a, b| b.times[2].0.total_cmp(&a.times[2].0));
        flows.truncate(ROWS_MAX);
    }
    let least = flows.iter().map(|flow| flow.times[0].0).fold(f64::MAX, f64::min);
    let most = flows.iter().map(|flow| flow.times[4].0).fold(0.0, f64::max);
    // Without flows the least is the largest number there is.
    let axis = LogAxis::new(least.min(most), most);
    let row = |FlowLatency { name, times }: &FlowLatency| {
        let dot = |((ns, text), (word, colour)): (&(f64, String), (&str, usize))| Dot {
            at: axis.part(*ns),
            colour,
            about: format!("{name}: {word} {text}"),
        };
        Row {
            name: name.clone(),
            bars: vec![],
            line: Some((axis.part(times[0].0), axis.part(times[4].0))),
            dots: times[1..4].iter().zip(PERCENTILES).map(dot).collect(),
            signals: vec![],
        }
    };
    Rows {
        about: format!("Latency of {which}{} flows on a logarithmic axis", flows.len()),
        axis: "latency (logarithmic)".into(),
        ticks: axis.labels(),
        rows: flows.iter().map(row).collect(),
        marks: vec![],
    }
}

pub(super) fn table(sheet: &Sheet) -> Markup {
    let (shown, more) = sheet.shown();
    html! {
        (rows(sheet, shown))
        @if more > 0 {
            p.small.soft { "and " (more) " more, in the JSON" }
        }
    }
}

/// Renders a table with all rows.
pub(super) fn whole(sheet: &Sheet) -> Markup {
    rows(sheet, &sheet.rows)
}

fn rows(sheet: &Sheet, rows: &[Vec<String>]) -> Markup {
    let class = |kind: Kind| match kind {
        Kind::Text => None,
        Kind::Whole | Kind::Number | Kind::Truth => Some("n"),
        Kind::Sentence => Some("wide"),
    };
    let classes: Vec<_> = sheet.head.iter().map(|(_, kind)| class(*kind)).collect();
    html! {
        div.scroll tabindex="0" role="region" aria-label="table" {
            table {
                thead { tr {
                    @for ((name, _), class) in sheet.head.iter().zip(&classes) {
                        th class=[*class] scope="col" { (name) }
                    }
                } }
                tbody {
                    @for row in rows {
                        tr {
                            @for (cell, class) in row.iter().zip(&classes) {
                                td class=[*class] { (cell) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Renders a table of the terminal.
pub(super) fn preformatted(text: &str) -> Markup {
    html! {
        div.scroll.text tabindex="0" role="region" aria-label="table" { pre.table { (text) } }
    }
}

/// Renders a verdict in words as well as in colour.
pub(super) fn verdict(verdict: Verdict) -> Markup {
    html! { span class={ "word " (verdict.name()) } { (verdict.label()) } }
}

/// Renders a table, unless it has no rows.
fn some(sheet: &Sheet) -> Option<Markup> {
    // A heading above an empty table would suggest that something is missing.
    (!sheet.rows.is_empty()).then(|| table(sheet))
}

pub(super) fn flows(o: &Outcome) -> Markup {
    table(&Medium::Page.flows(o))
}

/// Renders the transport results of flows with acknowledgements.
pub(super) fn transports(o: &Outcome) -> Option<Markup> {
    some(&Medium::Page.transports(o))
}

pub(super) fn drops(o: &Outcome) -> Option<Markup> {
    some(&Medium::Page.drops(&o.drops))
}

/// Renders all switches, collapsed if there are many, and all hosts.
pub(super) fn nodes(o: &Outcome) -> Markup {
    const OPEN_MAX: usize = 3;
    let switches: Vec<_> = o.switches().collect();
    html! {
        @for switch in switches.iter().take(sheet::ROWS_MAX) {
            (one_switch(switch, switches.len() <= OPEN_MAX))
        }
        @if switches.len() > sheet::ROWS_MAX {
            p.small.soft { "and " (switches.len() - sheet::ROWS_MAX) " more switches, in the JSON" }
        }
        // A short list of hosts is open, a long one opens on demand.
        details open[o.nodes.len() - switches.len() <= 20] {
            summary { "hosts" }
            (table(&Medium::Page.hosts(o)))
        }
    }
}

fn one_switch(s: &SwitchOutcome, open: bool) -> Markup {
    html! {
        details open[open] {
            summary { "switch " (s.name) }
            p.small.soft {
                "shared pool peak " (count(s.shared_pool.peak_bytes)) " B, lossless frames lost "
                (count(s.lossless_lost_frames)) ", every frame accounted for: "
                (if s.balance.holds { "yes" } else { "NO" })
            }
            (table(&Medium::Page.ports([s].into_iter())))
        }
    }
}

/// Renders the injected faults and their effects.
pub(super) fn faults(o: &Outcome) -> Option<Markup> {
    let columns: [Column<(Duration, String)>; 2] = columns! { (at, what) =>
        Made ["at"] = written(*at);
        Sentence ["what"] = what.clone();
    };
    let faults = o.faults.iter().map(|f| (f.at_ns, f.what.clone()));
    let deadlocks =
        o.deadlocks.iter().map(|d| (d.at.since_start(), format!("deadlock: {}", d.name)));
    some(&Medium::Page.sheet(&columns, faults.chain(deadlocks)))
}
