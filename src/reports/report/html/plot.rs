//! Plots: their axes and lines, and cumulative distributions of times on a logarithmic axis.

use core::fmt::Write;

use maud::{Markup, html};

use super::data::decimated;
use super::rows::LogAxis;
use super::scale::{self, Unit};

/// Number of line colours.
pub(super) const COLOURS: usize = 8;

/// Lines over a common axis.
pub(super) struct Plot {
    /// The text alternative.
    pub(super) about: String,
    /// Quantity of the vertical axis, without the unit.
    pub(super) what: &'static str,
    pub(super) unit: Unit,
    /// End of the vertical axis, unless it follows the values.
    pub(super) max: Option<f64>,
    pub(super) axis: Axis,
    pub(super) lines: Vec<Line>,
    /// Positions on the horizontal axis to mark, with a label.
    pub(super) marks: Vec<(f64, &'static str)>,
}

/// The horizontal axis, from 0.
#[derive(Clone)]
pub(super) struct Axis {
    pub(super) what: &'static str,
    pub(super) unit: Unit,
    /// End in base units.
    pub(super) end: f64,
    /// Beginning of a logarithmic axis; `None` for a linear one, which begins at 0.
    pub(super) log: Option<f64>,
    /// True for single values, which have a dot each.
    pub(super) dots: bool,
    /// Name of the plots that zoom together and share a cursor; empty for none.
    pub(super) group: String,
    /// Name of the plots whose lines of one name are shown and hidden together; empty for none.
    pub(super) toggles: String,
}

impl Axis {
    /// A time axis up to this time in nanoseconds, common to the plots of a group.
    pub(super) fn time(end_ns: f64, group: impl Into<String>) -> Self {
        let unit = scale::time(end_ns);
        let group = group.into();
        let toggles = String::new();
        Self { what: "time", unit, end: end_ns, log: None, dots: false, group, toggles }
    }
}

#[derive(Clone, Default)]
pub(super) struct Line {
    pub(super) name: String,
    /// Position on the horizontal axis, and the value, in base units.
    pub(super) points: Vec<(f64, f64)>,
    /// Position, lowest and highest value: a band behind the line.
    pub(super) band: Vec<(f64, f64, f64)>,
    /// True for the sum of the other lines, drawn in the text colour.
    pub(super) sum: bool,
    /// True for a state or the mean of an interval, which holds until the next point.
    pub(super) steps: bool,
    /// Number of its colour, if that is not its place among the lines.
    pub(super) colour: Option<usize>,
}

/// Positions and values.
type Points = Vec<(f64, f64)>;
/// Positions, lowest and highest values.
type Band = Vec<(f64, f64, f64)>;

/// Number of intervals in which a fluctuating value is drawn as mean and band.
const PARTS: usize = 130;

impl Line {
    /// A line through samples.
    pub(super) fn through(name: String, numbers: &[(f64, f64)]) -> Self {
        Self { name, points: decimated(numbers), ..Self::default() }
    }

    /// A line of states or means, each from its position to the next. The last point is the end.
    pub(super) fn steps(name: String, points: Vec<(f64, f64)>) -> Self {
        Self { name, points, steps: true, ..Self::default() }
    }

    /// Returns the points and the band of a drawing: as they are or, if there are too many samples to
    /// distinguish, the mean of each interval with a band from the minimum to the maximum.
    pub(super) fn drawn(&self) -> (Points, Band) {
        if self.steps {
            // Each value holds to the next position, so a step is two points.
            let corners = self.points.windows(2).flat_map(|two| [two[0], (two[1].0, two[0].1)]);
            return (corners.chain(self.points.last().copied()).collect(), Vec::new());
        }
        if self.points.len() <= 2 * PARTS {
            return (self.points.clone(), self.band.clone());
        }
        let (mut points, mut band) = (Vec::new(), Vec::new());
        for part in self.points.chunks(self.points.len().div_ceil(PARTS)) {
            let all = || part.iter().map(|(_, y)| *y);
            let at = f64::midpoint(part[0].0, part[part.len() - 1].0);
            points.push((at, all().sum::<f64>() / part.len() as f64));
            // The mean hides peaks, so the band has them.
            band.push((at, all().fold(f64::MAX, f64::min), all().fold(f64::MIN, f64::max)));
        }
        (points, band)
    }

    pub(super) fn colour_index(&self, place: usize) -> usize {
        self.colour.unwrap_or(place) % COLOURS
    }
}

/// Returns the style sheet variable of a colour.
pub(super) fn variable(n: usize) -> String {
    format!("var(--c{})", n % COLOURS)
}

const SIZE: (f64, f64) = (520.0, 300.0);
const LEFT: f64 = 52.0;
const RIGHT: f64 = 26.0;
const TOP: f64 = 8.0;
const BELOW: f64 = 44.0;
const TEXT: f64 = 14.0;

/// Makes the plot of distributions: lines through times in nanoseconds and the percentages that took no
/// longer. Those without points are left out. `what` names the times.
pub(super) fn cdf(about: String, what: &'static str, lines: Vec<Line>) -> Plot {
    let mut lines: Vec<Line> = lines.into_iter().filter(|line| !line.points.is_empty()).collect();
    let times = || lines.iter().flat_map(|line| line.points.iter().map(|(ns, _)| *ns));
    // A logarithmic axis cannot begin at 0.
    let least = times().reduce(f64::min).unwrap_or(1.0);
    let axis = LogAxis::new(least, times().fold(least, f64::max));
    let (from, end) = axis.ends();
    for line in &mut lines {
        line.steps = true;
        // A distribution begins at 0 % and ends at the edge, or it would seem to break off.
        if line.points[0].0 > from {
            line.points.insert(0, (from, 0.0));
        }
        if let Some((_, share)) = line.points.last().copied().filter(|(ns, _)| *ns < end) {
            line.points.push((end, share));
        }
    }
    Plot {
        about,
        what: "share",
        unit: Unit { name: "%", size: 1.0 },
        max: Some(100.0),
        axis: Axis { what, unit: scale::time(end), log: Some(from), ..Axis::time(end, "") },
        lines,
        marks: vec![],
    }
}

/// Draws a plot of percentages on a logarithmic axis.
pub(super) fn drawing(plot: &Plot, colour: impl Fn(usize, &Line) -> String) -> Markup {
    let (width, height) = SIZE;
    let axis = LogAxis::new(plot.axis.log.unwrap_or(1.0), plot.axis.end);
    let x = |ns: f64| LEFT + axis.part(ns).clamp(0.0, 1.0) * (width - LEFT - RIGHT);
    let y = |share: f64| TOP + (1.0 - share / 100.0) * (height - TOP - BELOW);
    let path = |line: &Line| {
        let mut path = String::new();
        for (n, (ns, share)) in line.points.iter().enumerate() {
            let _ = match n {
                0 => write!(path, "M{:.1} {:.1}", x(*ns), y(*share)),
                _ => write!(path, "H{:.1}V{:.1}", x(*ns), y(*share)),
            };
        }
        path
    };
    html! {
        svg viewBox=(format!("0 0 {width} {height}")) role="img" aria-label=(plot.about)
            font-size=(TEXT) {
            @for share in [0.0, 25.0, 50.0, 75.0, 100.0] {
                line x1=(LEFT) x2=(width - RIGHT) y1=(y(share)) y2=(y(share)) stroke="var(--rule)" {}
                text x=(LEFT - 6.0) y=(y(share) + 5.0) text-anchor="end" fill="var(--soft)" {
                    (scale::label(share)) " %"
                }
            }
            @for (part, text) in axis.labels() {
                text x=(format!("{:.1}", LEFT + part * (width - LEFT - RIGHT)))
                    y=(height - BELOW + 18.0) text-anchor="middle" fill="var(--soft)" { (text) }
            }
            text x=(f64::midpoint(LEFT, width - RIGHT)) y=(height - 6.0) text-anchor="middle"
                fill="var(--ink)" { (plot.axis.what) " (logarithmic)" }
            @for (n, line) in plot.lines.iter().enumerate() {
                path d=(path(line)) fill="none" stroke=(colour(n, line)) stroke-width="2" {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_begins_at_nothing_and_ends_at_all() {
        let points = vec![(1_500.0, 25.0), (3_000.0, 100.0)];
        let none = Line { name: "none".into(), ..Line::default() };
        let line = Line { name: "all".into(), points, ..Line::default() };
        let plot = cdf("a distribution".into(), "completion time", vec![none, line]);
        assert_eq!(plot.lines.len(), 1, "a flow without a completion has no distribution");
        let steps = [(1_000.0, 0.0), (1_500.0, 25.0), (3_000.0, 100.0), (5_000.0, 100.0)];
        assert_eq!(plot.lines[0].points, steps);
        let page = plot.draw().unwrap().into_string();
        for part in ["completion time (logarithmic)", "2 µs", "100 %", "\"log\":true"] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert!(cdf(String::new(), "time", vec![]).draw().is_none());
    }
}
