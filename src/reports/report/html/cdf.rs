//! Cumulative distributions of times on a logarithmic axis.

use core::fmt::Write;

use maud::{Markup, html};

use super::plot::{Axis, Line, Plot};
use super::rows::LogAxis;
use super::scale::{self, Unit};

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
    let least = times().reduce(f64::min).unwrap_or(1.0);
    let axis = LogAxis::new(least, times().fold(least, f64::max));
    let (from, end) = axis.ends();
    for line in &mut lines {
        line.steps = true;
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
