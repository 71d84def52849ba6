//! Parts that the charts of labs and of tests have in common: cards, limits, and the latencies
//! of flows.

use maud::{Markup, html};

use super::plot::variable;
use super::rows::{Dot, LogAxis, Row, Rows};

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

/// Latency of a flow.
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
    if flows.len() > ROWS_MAX {
        flows.sort_by(|a, b| b.times[2].0.total_cmp(&a.times[2].0));
        flows.truncate(ROWS_MAX);
    }
    let least = flows.iter().map(|flow| flow.times[0].0).fold(f64::MAX, f64::min);
    let most = flows.iter().map(|flow| flow.times[4].0).fold(0.0, f64::max);
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
