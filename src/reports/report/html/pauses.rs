//! Pauses over time: a row for each port and priority, with every pause and its frames.

use maud::Markup;
use serde::Serialize;

use super::data::{AxisData, Positions, figure};
use super::rows::{Bar, Row, Rows, Signal, time_axis};
use super::scale::{self, written};
use ground::time::Duration;

/// Most pauses of a row, and most frames of each kind. Pauses are merged beyond it, frames left out.
const SPANS_MAX: usize = 400;
const FRAMES_MAX: usize = 250;
/// Most frames that a drawing without a script can show in a row.
const DRAWN_MAX: usize = 24;

/// A time in which a port was paused, or several with short gaps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Span {
    pub(super) from: Duration,
    pub(super) to: Duration,
    /// Paused time of it.
    pub(super) paused: Duration,
    /// Number of pauses, if known.
    pub(super) pauses: Option<u64>,
}

/// A frame that pauses or resumes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PauseFrame {
    pub(super) at: Duration,
    /// True for XOFF, false for XON.
    pub(super) xoff: bool,
}

/// Pauses of a priority of a port.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct PauseRow {
    pub(super) name: String,
    /// In the order of time.
    pub(super) spans: Vec<Span>,
    /// Frames when they left the pausing port.
    pub(super) sent: Vec<PauseFrame>,
    /// Frames when the paused port began to obey them.
    pub(super) obeyed: Vec<PauseFrame>,
}

/// Pauses of ports over time: a row for each port and priority.
pub(super) struct Pauses {
    /// The text alternative.
    pub(super) about: String,
    pub(super) end: Duration,
    /// Plots with this time axis.
    pub(super) group: String,
    pub(super) rows: Vec<PauseRow>,
    /// Times to mark in nanoseconds, with a label.
    pub(super) marks: Vec<(f64, &'static str)>,
}

#[derive(Serialize)]
struct Data<'a> {
    kind: &'static str,
    group: &'a str,
    x: AxisData,
    rows: Vec<RowData<'a>>,
    marks: &'a [(f64, &'static str)],
}

#[derive(Serialize)]
struct RowData<'a> {
    name: &'a str,
    /// By span: picoseconds since the end of the one before, and its length; of several pauses also
    /// their time and number.
    spans: Vec<SpanData>,
    sent: FrameData,
    obeyed: FrameData,
}

#[derive(Serialize)]
#[serde(untagged)]
enum SpanData {
    One(u64, u64),
    Many(u64, u64, u64, Option<u64>),
}

#[derive(Serialize)]
struct FrameData {
    at: Positions,
    /// A `1` for each XOFF, a `0` for each XON.
    kinds: String,
}

impl FrameData {
    fn new(frames: &[PauseFrame]) -> Self {
        let frames = &frames[..frames.len().min(FRAMES_MAX)];
        Self {
            at: Positions::new(frames.iter().map(|frame| frame.at.as_nanos_f64())),
            kinds: frames.iter().map(|frame| if frame.xoff { '1' } else { '0' }).collect(),
        }
    }
}

impl Pauses {
    /// Draws the pauses; `None` if there are no rows.
    pub(super) fn draw(&self) -> Option<Markup> {
        // An empty test has no length, and positions are parts of it.
        let end = self.end.as_nanos_f64().max(1e-3);
        let drawing = self.drawing(end).draw()?;
        let row = |row: &'_ PauseRow| (merged(&row.spans, SPANS_MAX), row.name.clone());
        let merged: Vec<_> = self.rows.iter().map(row).collect();
        let rows = self.rows.iter().zip(&merged).map(|(row, (spans, name))| RowData {
            name,
            spans: coded(spans),
            sent: FrameData::new(&row.sent),
            obeyed: FrameData::new(&row.obeyed),
        });
        let data = Data {
            kind: "pauses",
            group: &self.group,
            x: AxisData::new("time", scale::time(end), 0.0, end),
            rows: rows.collect(),
            marks: &self.marks,
        };
        Some(figure(&drawing, &data))
    }

    fn drawing(&self, end: f64) -> Rows {
        let (axis, ticks) = time_axis(end);
        Rows {
            about: self.about.clone(),
            axis,
            ticks,
            rows: self.rows.iter().map(|row| row.drawing(end)).collect(),
            marks: self.marks.iter().map(|(at, word)| (at / end, *word)).collect(),
        }
    }
}

impl PauseRow {
    fn drawing(&self, end: f64) -> Row {
        const PARTS: f64 = 200.0;
        let narrow = Duration::from_nanos_f64(end / PARTS);
        let bar = |span: &Span| {
            let part = |time: Duration| time.as_nanos_f64() / end;
            // A pause may begin and end at one moment.
            let length = span.to.saturating_sub(span.from).as_picos().max(1);
            let share = span.paused.as_picos() as f64 / length as f64;
            Bar { from: part(span.from), to: part(span.to), share, about: span.about() }
        };
        let signals = |frames: &[PauseFrame], sent: bool| -> Vec<Signal> {
            let signal = |frame: &PauseFrame| Signal {
                at: frame.at.as_nanos_f64() / end,
                xoff: frame.xoff,
                sent,
            };
            // More would cover each other.
            let shown = if frames.len() > DRAWN_MAX { &[] } else { frames };
            shown.iter().map(signal).collect()
        };
        Row {
            name: self.name.clone(),
            bars: joined(&self.spans, narrow).iter().map(bar).collect(),
            line: None,
            dots: vec![],
            signals: [signals(&self.sent, true), signals(&self.obeyed, false)].concat(),
        }
    }
}

impl Span {
    fn about(&self) -> String {
        let [from, to, paused] = [self.from, self.to, self.paused].map(written);
        match self.pauses {
            Some(1) => format!("from {from} to {to}, for {paused}"),
            Some(n) => format!("from {from} to {to}, {n} pauses, paused for {paused} of it"),
            None => format!("from {from} to {to}, paused for {paused} of it"),
        }
    }

    fn join(&mut self, other: &Self) {
        self.to = other.to;
        self.paused += other.paused;
        self.pauses = self.pauses.zip(other.pauses).map(|(a, b)| a + b);
    }
}

/// Merges adjacent spans that are too narrow to be distinguished.
fn joined(spans: &[Span], narrow: Duration) -> Vec<Span> {
    let mut joined: Vec<Span> = Vec::new();
    for span in spans {
        match joined.last_mut() {
            Some(last) if span.to.saturating_sub(last.from) < narrow => last.join(span),
            _ => joined.push(*span),
        }
    }
    joined
}

/// Merges spans across the shortest gaps until at most `most` are left.
fn merged(spans: &[Span], most: usize) -> Vec<Span> {
    if spans.len() <= most {
        return spans.to_vec();
    }
    let gap = |two: &[Span]| two[1].from.saturating_sub(two[0].to);
    let mut gaps: Vec<Duration> = spans.windows(2).map(gap).collect();
    let excess = spans.len() - most - 1;
    // The shortest gaps vanish first, which changes the picture least.
    let (_, &mut widest, _) = gaps.select_nth_unstable(excess);
    let mut out: Vec<Span> = Vec::with_capacity(most);
    for span in spans {
        match out.last_mut() {
            Some(last) if span.from.saturating_sub(last.to) <= widest => last.join(span),
            _ => out.push(*span),
        }
    }
    out
}

fn coded(spans: &[Span]) -> Vec<SpanData> {
    let mut before = Duration::ZERO;
    let code = |span: &Span| {
        let gap = span.from.saturating_sub(before).as_picos();
        let length = span.to.saturating_sub(span.from).as_picos();
        before = span.to;
        match span.pauses {
            // Most are single pauses, for which two numbers are enough.
            Some(1) if span.paused.as_picos() == length => SpanData::One(gap, length),
            pauses => SpanData::Many(gap, length, span.paused.as_picos(), pauses),
        }
    };
    spans.iter().map(code).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(from: u64, to: u64) -> Span {
        let [from, to] = [from, to].map(Duration::from_picos);
        Span { from, to, paused: to.saturating_sub(from), pauses: Some(1) }
    }

    #[test]
    fn times_are_exact_to_the_picosecond() {
        let spans = [span(148_079_251, 150_000_000), span(150_000_001, 150_000_003)];
        let json = serde_json::to_string(&coded(&spans)).unwrap();
        assert_eq!(json, "[[148079251,1920749],[1,2]]");
        assert_eq!(spans[0].about(), "from 148.079 µs to 150 µs, for 1.921 µs");
    }

    #[test]
    fn many_pauses_are_merged_across_the_shortest_gaps_and_no_time_is_lost() {
        let spans: Vec<Span> =
            (0..1_000).map(|n| span(1_000 * n + n % 7, 1_000 * n + 500)).collect();
        let few = merged(&spans, SPANS_MAX);
        assert!(few.len() <= SPANS_MAX && few.len() > SPANS_MAX / 4, "{}", few.len());
        let sum = |spans: &[Span]| spans.iter().map(|span| span.paused.as_picos()).sum::<u64>();
        assert_eq!(sum(&few), sum(&spans));
        assert_eq!(few.iter().filter_map(|span| span.pauses).sum::<u64>(), 1_000);
        assert_eq!(merged(&spans[..7], SPANS_MAX), spans[..7]);
    }
}
