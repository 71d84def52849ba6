//! Charts of a test: rates, pauses and latencies.

use maud::{Markup, html};

use super::TestPage;
use crate::html::pauses::{PauseRow, Pauses, Span};
use crate::html::plot::{Axis, Line, Plot};
use crate::html::rows::Rows;
use crate::html::scale;
use crate::html::shared::{self, FlowLatency, LINES_MAX, ROWS_MAX, card};
use ground::time::Duration;
use tester::history::Moment;
use tester::report::{Flow, Port, Priority};

/// Pauses of a smaller share of a step are not drawn: they may result from clocks that are read
/// one after the other.
const SHARE_MIN: f64 = 1e-4;

/// Plots over the time of the test, which zoom together.
const GROUP: &str = "run";

/// Draws all charts over time for which there is data.
pub(super) fn over_time(p: &TestPage<'_>) -> Markup {
    html! {
        (card("Throughput", rates(p), "Frames that arrived, by flow, with their headers and FCS."))
        (card("Pauses", pauses(p).draw(),
            "Times during which each port was paused, by priority (p3: priority 3). The paler a bar, \
             the smaller the paused part of that time."))
    }
}

pub(super) fn latency(p: &TestPage<'_>) -> Markup {
    html! {
        (card("Latency", shared::draw_latencies(&latencies(p)),
            "From the sender's port to the receiver's; lines are from the shortest to the longest."))
    }
}

fn ns(moment: &Moment) -> f64 {
    moment.at_s * 1e9
}

fn end_ns(p: &TestPage<'_>) -> f64 {
    p.history.moments().last().map_or(0.0, ns)
}

/// Plots the receive rates of flows: those that received most, and the sum of all.
fn rates(p: &TestPage<'_>) -> Option<Markup> {
    let (flows, moments) = (&p.report.flows, p.history.moments());
    if moments.len() < 2 || moments[0].bytes_rx.len() != flows.len() {
        return None;
    }
    let mut shown: Vec<usize> = (0..flows.len()).filter(|n| flows[*n].frames_rx > 0).collect();
    shown.sort_by_key(|n| core::cmp::Reverse(flows[*n].bytes_rx));
    shown.truncate(LINES_MAX);
    shown.sort_unstable();
    let line = |n: &usize| {
        Line::steps(flows[*n].name.clone(), rate(moments, |moment| moment.bytes_rx[*n]))
    };
    let mut lines: Vec<Line> = shown.iter().map(line).collect();
    if shown.len() > 1 {
        let all = rate(moments, |moment| moment.bytes_rx.iter().sum());
        lines.push(Line { sum: true, ..Line::steps("all flows".into(), all) });
    }
    let highest = lines.iter().flat_map(|line| &line.points).map(|(_, rate)| *rate);
    let unit = scale::rate(highest.fold(0.0, f64::max));
    let about = format!("Lines over time: throughput of {} flows", shown.len());
    let axis = Axis::time(end_ns(p), GROUP);
    Plot { about, what: "throughput", unit, max: None, axis, lines, marks: vec![] }.draw()
}

/// Returns bits per second from each moment to the next; the last point is the end.
fn rate(moments: &[Moment], octets: impl Fn(&Moment) -> u64) -> Vec<(f64, f64)> {
    let pairs = moments.windows(2).filter(|two| two[1].at_s > two[0].at_s);
    let point = |two: &[Moment]| {
        let bits = 8.0 * octets(&two[1]).saturating_sub(octets(&two[0])) as f64;
        (ns(&two[0]), bits / (two[1].at_s - two[0].at_s))
    };
    let mut points: Vec<_> = pairs.map(point).collect();
    if let (Some((_, rate)), Some(end)) = (points.last().copied(), moments.last()) {
        points.push((ns(end), rate));
    }
    points
}

/// Draws the pauses of ports over time, longest paused first.
fn pauses(p: &TestPage<'_>) -> Pauses {
    let moments = p.history.moments();
    let all = p.report.ports.iter().flat_map(|port| port.priorities.iter().map(move |q| (port, q)));
    let known = moments.first().map_or(0, |moment| moment.paused_ns.len());
    let all = all.enumerate().take(known).filter(|(_, (_, q))| q.paused_ns > 0.0);
    let mut paused: Vec<_> = all.collect();
    paused.sort_by(|a, b| b.1.1.paused_ns.total_cmp(&a.1.1.paused_ns));
    let row = |(place, (port, q)): &(usize, (&Port, &Priority))| PauseRow {
        name: format!("{} p{}", port.name, q.priority),
        spans: spans(moments, *place),
        ..PauseRow::default()
    };
    Pauses {
        about: format!("Pauses over time, a row for each of {} ports and priorities", paused.len()),
        end: Duration::from_nanos_f64(end_ns(p)),
        group: GROUP.into(),
        rows: paused.iter().take(ROWS_MAX).map(row).collect(),
        marks: vec![],
    }
}

/// Returns the steps in which a priority was paused, with adjacent equal shares merged.
fn spans(moments: &[Moment], place: usize) -> Vec<Span> {
    let mut spans: Vec<(Span, f64)> = Vec::new();
    for two in moments.windows(2) {
        let [from, to] = [&two[0], &two[1]].map(|moment| Duration::from_nanos_f64(ns(moment)));
        let length = ns(&two[1]) - ns(&two[0]);
        let paused =
            (two[1].paused_ns[place] - two[0].paused_ns[place]).clamp(0.0, length.max(0.0));
        let share = paused / length.max(1.0);
        if share < SHARE_MIN {
            continue;
        }
        let paused = Duration::from_nanos_f64(paused);
        match spans.last_mut() {
            Some((last, before)) if last.to == from && (*before - share).abs() < 0.05 => {
                last.to = to;
                last.paused += paused;
            }
            _ => spans.push((Span { from, to, paused, pauses: None }, share)),
        }
    }
    spans.into_iter().map(|(span, _)| span).collect()
}

/// Draws the latencies of flows, the slowest first if there are many.
fn latencies(p: &TestPage<'_>) -> Rows {
    let measured = |f: &Flow| {
        let l = f.latency.as_ref().filter(|l| l.frames > 0 && l.max_ns.ns() > 0.0)?;
        let times = [l.min_ns, l.p50_ns, l.p99_ns, l.p999_ns, l.max_ns];
        let times = times.map(|time| (time.ns(), time.to_string()));
        Some(FlowLatency { name: f.name.clone(), times })
    };
    shared::latencies(p.report.flows.iter().filter_map(measured).collect(), "")
}
