//! Charts with one row per object: pauses over time, latencies on a logarithmic axis.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::scale;

/// Width of a chart, and of the area left of its axis.
const WIDTH: f64 = 520.0;
const LEFT: f64 = 156.0;
const RIGHT: f64 = 26.0;
const ROW: f64 = 24.0;
/// Height below the last row, for ticks and the axis title.
const BELOW: f64 = 44.0;
const TEXT: f64 = 14.0;
/// Number of letters that fit left of the axis.
const LETTERS: usize = 17;

/// A bar in a row; positions are fractions of the axis from 0 to 1.
pub(super) struct Bar {
    pub(super) from: f64,
    pub(super) to: f64,
    /// Filled share, 0 to 1.
    pub(super) share: f64,
    pub(super) about: String,
}

pub(super) struct Dot {
    pub(super) at: f64,
    pub(super) colour: usize,
    pub(super) about: String,
}

/// A pause frame.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Signal {
    pub(super) at: f64,
    /// True for XOFF, false for XON.
    pub(super) xoff: bool,
    /// True when it leaves the pausing port, false when the paused port obeys it.
    pub(super) sent: bool,
}

impl Signal {
    /// Returns a triangle in a row at `y`: down for XOFF, up for XON.
    fn path(self, y: f64) -> String {
        let (x, half) = (tenth(x(self.at)), 3.0);
        // XOFF points down from the top of the row and XON up from its bottom: both are visible at one time.
        let (base, tip) = if self.xoff { (y + 1.0, 5.0) } else { (y + ROW - 1.0, -5.0) };
        format!("M{} {base}h{}l-{half} {tip}z", tenth(x - half), 2.0 * half)
    }
}

pub(super) struct Row {
    pub(super) name: String,
    pub(super) bars: Vec<Bar>,
    /// A thin line behind the dots.
    pub(super) line: Option<(f64, f64)>,
    pub(super) dots: Vec<Dot>,
    /// Pause frames, few enough to be distinguished.
    pub(super) signals: Vec<Signal>,
}

/// A chart of rows.
pub(super) struct Rows {
    pub(super) about: String,
    pub(super) axis: String,
    /// Positions on the axis and their labels.
    pub(super) ticks: Vec<(f64, String)>,
    pub(super) rows: Vec<Row>,
    /// Moments to mark in all rows.
    pub(super) marks: Vec<(f64, &'static str)>,
}

fn x(part: f64) -> f64 {
    let x = LEFT + part.clamp(0.0, 1.0) * (WIDTH - LEFT - RIGHT);
    // More digits would only make the page larger.
    (x * 100.0).round() / 100.0
}

/// Shortens a name to fit left of the axis; its end is kept.
pub(super) fn short(name: &str) -> String {
    let letters = name.chars().count();
    if letters <= LETTERS {
        return name.to_owned();
    }
    // Names of ports differ at their end.
    let end: String = name.chars().skip(letters - LETTERS + 1).collect();
    format!("…{end}")
}

impl Bar {
    /// Returns the drawn width, which has a visible minimum for short pauses.
    fn width(&self) -> f64 {
        (x(self.to) - x(self.from)).max(0.6)
    }

    /// Returns true if the bar is wide enough for a tooltip.
    fn is_wide(&self) -> bool {
        self.width() > 4.0
    }

    /// Returns the filled share in tenths, at least a visible one.
    fn level(&self) -> u8 {
        (self.share * 10.0).round().clamp(3.0, 9.0) as u8
    }
}

fn tenth(n: f64) -> f64 {
    (n * 10.0).round() / 10.0
}

/// Returns the bars that are too narrow for a tooltip, as one path per level.
fn narrow(bars: &[Bar], y: f64) -> BTreeMap<u8, String> {
    let mut paths = BTreeMap::<u8, String>::new();
    for bar in bars.iter().filter(|bar| !bar.is_wide()) {
        let (from, width, height) = (tenth(x(bar.from)), tenth(bar.width()), ROW - 8.0);
        let path = paths.entry(bar.level()).or_default();
        *path += &format!("M{from} {}h{width}v{height}h-{width}z", y + 4.0);
    }
    paths
}

impl Rows {
    /// Draws the chart; `None` if there are no rows.
    pub(super) fn draw(&self) -> Option<Markup> {
        if self.rows.is_empty() {
            return None;
        }
        // Each mark's label has its own line, as marks may be close.
        let top = 4.0 + 17.0 * self.marks.len() as f64;
        let bottom = top + ROW * self.rows.len() as f64;
        let height = bottom + BELOW;
        Some(html! {
            svg viewBox=(format!("0 0 {WIDTH} {height}")) role="img" aria-label=(self.about)
                font-size=(TEXT) {
                @for (at, text) in &self.ticks {
                    line x1=(x(*at)) x2=(x(*at)) y1=(top) y2=(bottom) stroke="var(--rule)" {}
                    text x=(x(*at)) y=(bottom + 18.0) text-anchor="middle" fill="var(--soft)" {
                        (text)
                    }
                }
                text x=(x(0.5)) y=(bottom + 37.0) text-anchor="middle" fill="var(--ink)" {
                    (self.axis)
                }
                @for (n, row) in self.rows.iter().enumerate() {
                    (self.row(row, top + ROW * n as f64))
                }
                @for (n, (at, word)) in self.marks.iter().enumerate() {
                    line x1=(x(*at)) x2=(x(*at)) y1=(17.0 * n as f64 + 4.0) y2=(bottom)
                        stroke="var(--soft)" stroke-dasharray="5 4" {}
                    @let right = *at > 0.6;
                    text x=(x(*at) + if right { -5.0 } else { 5.0 }) y=(17.0 * n as f64 + 14.0)
                        text-anchor=(if right { "end" } else { "start" }) fill="var(--ink)" {
                        (word)
                    }
                }
            }
        })
    }

    fn row(&self, row: &Row, y: f64) -> Markup {
        let middle = y + ROW / 2.0;
        html! {
            text x=(LEFT - 8.0) y=(middle + 5.0) text-anchor="end" fill="var(--ink)" {
                title { (row.name) }
                (short(&row.name))
            }
            @for (level, path) in narrow(&row.bars, y) {
                path d=(path) fill="var(--pause)" fill-opacity=(format!("0.{level}")) {}
            }
            @for bar in row.bars.iter().filter(|bar| bar.is_wide()) {
                rect x=(x(bar.from)) y=(y + 4.0) width=(tenth(bar.width())) height=(ROW - 8.0)
                    fill="var(--pause)" fill-opacity=(format!("0.{}", bar.level())) {
                    title { (bar.about) }
                }
            }
            @if let Some((from, to)) = row.line {
                line x1=(x(from)) x2=(x(to)) y1=(middle) y2=(middle) stroke="var(--soft)"
                    stroke-width="2" {}
            }
            @for signal in &row.signals {
                @let colour = if signal.xoff { "var(--bad)" } else { "var(--good)" };
                path d=(signal.path(y)) fill=(if signal.sent { "none" } else { colour })
                    stroke=(colour) {}
            }
            @for dot in &row.dots {
                circle cx=(x(dot.at)) cy=(middle) r="5" fill=(super::plot::variable(dot.colour)) {
                    title { (dot.about) }
                }
            }
        }
    }
}

/// Returns the title and the ticks of a time axis up to `end_ns`.
pub(super) fn time_axis(end_ns: f64) -> (String, Vec<(f64, String)>) {
    let unit = scale::time(end_ns);
    let end = end_ns / unit.size;
    let ticks = scale::ticks(end, 7).into_iter().map(|t| (t / end, scale::label(t)));
    (format!("time ({})", unit.name), ticks.collect())
}

pub(super) struct LogAxis {
    ticks: Vec<f64>,
}

impl LogAxis {
    pub(super) fn new(min: f64, max: f64) -> Self {
        Self { ticks: scale::log_ticks(min, max) }
    }

    /// Returns the first and the last time of the axis.
    pub(super) fn ends(&self) -> (f64, f64) {
        (self.ticks[0], self.ticks[self.ticks.len() - 1])
    }

    /// Returns the position of a time on the axis.
    pub(super) fn part(&self, ns: f64) -> f64 {
        let (low, high) = self.ends();
        let [low, high, at] = [low, high, ns.max(1e-3)].map(f64::log10);
        (at - low) / (high - low)
    }

    /// Returns the ticks, few enough for their labels to fit.
    pub(super) fn labels(&self) -> Vec<(f64, String)> {
        let long = self.ticks.len() > 7;
        let is_power = |t: &f64| (t.log10() - t.log10().round()).abs() < 1e-9;
        // Powers of ten alone, where 1, 2 and 5 would run into each other.
        let shown = self.ticks.iter().filter(|t| !long || is_power(t));
        shown.map(|t| (self.part(*t), scale::nanoseconds(*t))).collect()
    }
}
