//! Exploration of a lab as one HTML page: a plot for each pair of the first objective and another,
//! and the table.

use maud::{Markup, html};

use super::{page, parts};
use crate::searches::{explored_sheet, explored_summary, shown};
use lab::explore::{Explored, Objective, Point};

/// Size of a plot and its margins.
const SIZE: (f64, f64) = (520.0, 320.0);
const MARGIN: (f64, f64) = (84.0, 36.0);

/// The contents of a page.
#[derive(Clone, Copy, Debug)]
pub struct ExplorePage<'a> {
    pub explored: &'a Explored,
    /// Headings of the axes.
    pub names: &'a [&'a str],
    /// The command that reproduces the page.
    pub command: &'a str,
}

/// Renders the page.
#[must_use]
pub fn explore_html(p: &ExplorePage<'_>) -> String {
    let e = p.explored;
    let body = html! {
        header {
            h1 { (e.lab) }
            @for line in explored_summary(e) { p.soft { (line) } }
        }
        div.cards {
            @for n in 1..e.objectives.len() { (plot(p, n)) }
        }
        section.card { h2 { "Pareto front" } (parts::whole(&explored_sheet(e, p.names, false))) }
        section.card {
            h2 { "Reproduce" }
            pre { code { (p.command) } }
            p.small.soft { "sluice " (e.version) }
        }
    };
    page(&format!("{}: exploration", e.lab), &e.version, &body)
}

/// Values of a point by their names.
fn said(p: &ExplorePage<'_>, point: &Point) -> String {
    let values = p.names.iter().zip(&point.values).map(|(name, value)| format!("{name} {value}"));
    values.collect::<Vec<_>>().join(", ")
}

/// The span of numbers with a margin, so that no point is on the frame.
fn span(numbers: impl Iterator<Item = f64> + Clone) -> Option<(f64, f64)> {
    let (low, high) = (numbers.clone().reduce(f64::min)?, numbers.reduce(f64::max)?);
    // Equal results still need an axis of some length.
    let margin = if high > low { 0.05 * (high - low) } else { 0.05 * high.abs().max(1.0) };
    Some((low - margin, high + margin))
}

/// Plots an objective over the first one. Points on the front are joined in no way, because between
/// two of them no run is known.
fn plot(p: &ExplorePage<'_>, n: usize) -> Markup {
    let e = p.explored;
    let (across, up) = (&e.objectives[0], &e.objectives[n]);
    let found = || e.points.iter().filter_map(|q| Some((q, q.results[0]?, q.results[n]?)));
    let (Some(x_span), Some(y_span)) =
        (span(found().map(|(_, x, _)| x)), span(found().map(|(_, _, y)| y)))
    else {
        // Without two results there are no points.
        return html! {};
    };
    let part = |v: f64, (low, high): (f64, f64)| (v - low) / (high - low);
    let x_of = |x| MARGIN.0 + part(x, x_span) * (SIZE.0 - MARGIN.0 - 12.0);
    let y_of = |y| SIZE.1 - MARGIN.1 - part(y, y_span) * (SIZE.1 - MARGIN.1 - 12.0);
    // The front last, above the others.
    let mut all: Vec<_> = found().collect();
    all.sort_by_key(|(point, ..)| point.front);
    let (width, height) = SIZE;
    let about = format!("Points: {} over {} of {} runs", up.name, across.name, all.len());
    html! {
        figure.card {
            h2 { (up.name) " over " (across.name) }
            svg viewBox=(format!("0 0 {width} {height}")) role="img" aria-label=(about) {
                (frame(across, up, x_span, y_span))
                @for (point, x, y) in all {
                    circle cx=(format!("{:.1}", x_of(x))) cy=(format!("{:.1}", y_of(y)))
                        r=(if point.front { "5" } else { "3.5" })
                        fill=(if point.front { "var(--c0)" } else { "var(--soft)" })
                        fill-opacity=(if point.front { "1" } else { "0.45" })
                    {
                        title {
                            (said(p, point)) ": " (shown(across, Some(x))) ", "
                            (shown(up, Some(y)))
                        }
                    }
                }
            }
            figcaption { "Blue: on the Pareto front of all objectives. Grey: the other runs." }
        }
    }
}

/// The two lines at the edges, with the ends of their spans.
fn frame(across: &Objective, up: &Objective, x: (f64, f64), y: (f64, f64)) -> Markup {
    let ((left, bottom), (width, height)) = (MARGIN, SIZE);
    let base = height - bottom;
    // The margin may reach below 0, where no result is.
    let label = |objective: &Objective, value: f64| shown(objective, Some(value.max(0.0).round()));
    html! {
        path d=(format!("M {left} 8 V {base} H {}", width - 8.0)) fill="none" stroke="var(--rule)" {}
        g font-size="13" fill="var(--soft)" {
            text x=(left) y=(height - 14.0) { (label(across, x.0)) }
            text x=(width - 8.0) y=(height - 14.0) text-anchor="end" { (label(across, x.1)) }
            text x=(f64::midpoint(left, width)) y=(height - 14.0) text-anchor="middle" {
                (across.name)
            }
            text x=(left - 6.0) y=(base) text-anchor="end" { (label(up, y.0)) }
            text x=(left - 6.0) y="18" text-anchor="end" { (label(up, y.1)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::searches::tests::sample;

    #[test]
    fn the_page_has_a_plot_for_each_pair_and_a_mark_for_each_known_point() {
        let explored = sample();
        let names = ["kmin", "kmax", "pmax", "alpha", "xon"];
        let page =
            explore_html(&ExplorePage { explored: &explored, names: &names, command: "sluice" });
        assert_eq!(page.matches("<svg").count(), 3);
        // One point has no buffer.
        assert_eq!(page.matches("<circle").count(), 4 + 4 + 3);
        assert!(page.contains("kmin 100KB, kmax 400KB") && page.contains("1 failed a check"));
        assert!(!page.contains("NaN") && !page.contains("inf\""), "{page}");
    }
}
