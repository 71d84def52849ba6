//! Plots of a recording.

use maud::{Markup, html};

use super::Report;
use super::lines::{Axis, COLOURS, Line, Plot};
use super::rows::{Bar, Row, Rows, time_axis};
use super::scale::{self, written};
use super::shared::{self, FlowLatency, LINES_MAX, ROWS_MAX, card};
use ground::time::{Duration, Instant};
use ground::units::{PortId, Priority};
use lab::FlowOutcome;
use lab::record::{Piece, Place, Series, SeriesSet, Timeline};
use sim::{Direction, LinkId, NodeId, NodeKind};

/// Maximum number of marked moments in a plot.
const MARKS_MAX: usize = 3;
/// Number of intervals for rates: short enough to show pauses, long enough for frames.
const RATE_BINS: usize = 48;

fn ns(at: Instant) -> f64 {
    at.as_picos() as f64 / 1e3
}

/// Draws all charts for which there is data.
pub(super) fn charts(r: &Report<'_>) -> Markup {
    let looks = &r.recording.looks;
    html! {
        (card("Egress queues", octets(r, &looks.queues, "q", "queue depth"),
            "Bytes queued for egress, by switch port and traffic class: the fullest queues. A band is \
             from the minimum to the maximum, its line the mean."))
        (card("Pauses", gantt(r).draw(),
            "Times during which each port was paused, by priority (p3: priority 3). Paler bars are many \
             short pauses."))
        (card("Ingress buffer", octets(r, &looks.groups, "pg", "buffer held"),
            "Shared buffer and headroom in use, by port and priority group."))
        @if !looks.moments.is_empty() {
            (card("Throughput", rates(r).draw(), &rates_caption(r)))
        }
        (card("Latency", shared::draw_latencies(&latencies(r)),
            "From the sender's port to the receiver's; lines are from the shortest to the longest."))
    }
}

fn end_ns(r: &Report<'_>) -> f64 {
    r.outcome.elapsed_ns.as_nanos_f64()
}

/// Returns the moments to mark in all plots.
fn marks(r: &Report<'_>) -> Vec<(f64, &'static str)> {
    let mut marks = Vec::new();
    if let Some(pause) = r.outcome.pauses.first_ns {
        marks.push((pause.as_nanos_f64(), "first pause"));
    }
    if let Some(drop) = &r.outcome.first_drop {
        marks.push((drop.at_ns.as_nanos_f64(), "first drop"));
    }
    if let Some(deadlock) = r.outcome.deadlocks.first() {
        marks.push((ns(deadlock.at), "deadlock"));
    }
    if let Some(fault) = r.outcome.faults.first() {
        marks.push((fault.at_ns.as_nanos_f64(), "first fault"));
    }
    marks.truncate(MARKS_MAX);
    marks
}

/// Plots bytes over time, for the highest series of a set.
fn octets(r: &Report<'_>, set: &SeriesSet, index: &str, what: &'static str) -> Option<Markup> {
    let mut highest: Vec<_> = set.iter().collect();
    highest.sort_by_key(|(place, series)| (core::cmp::Reverse(series.peak), **place));
    highest.truncate(LINES_MAX);
    let moments = &r.recording.looks.moments;
    let line = |(place, series): &(&Place, &Series)| {
        let seen = moments.iter().zip(&series.octets).map(|(at, n)| (ns(*at), f64::from(*n)));
        let name = format!("{} {index}{}", port_name(r, place.node, place.port), place.index);
        Line::through(name, &seen.collect::<Vec<_>>())
    };
    let peak = highest.first().map_or(0.0, |(_, series)| f64::from(series.peak));
    let about = format!("Lines over time: {what} of the {} fullest", highest.len());
    let lines = highest.iter().map(line).collect();
    let unit = scale::octets(peak);
    Plot { about, what, unit, axis: Axis::time(end_ns(r)), lines, marks: marks(r) }.draw()
}

/// Formats a port of a switch as `switch:port`.
fn port_name(r: &Report<'_>, node: NodeId, port: PortId) -> String {
    match &r.plan.network.nodes[node.index()].kind {
        NodeKind::Switch(plan) => format!("{}:{}", plan.name, plan.ports[port.index()].name),
        NodeKind::Host(plan) => plan.name.clone(),
    }
}

/// Merges adjacent pieces that are too narrow to be distinguished.
fn joined(pieces: &[Piece], end_ns: f64) -> Vec<Piece> {
    const PARTS: f64 = 200.0;
    let mut joined: Vec<Piece> = Vec::new();
    for piece in pieces {
        match joined.last_mut() {
            Some(last) if ns(piece.to) - ns(last.from) < end_ns / PARTS => {
                last.to = piece.to;
                last.paused += piece.paused;
                last.pauses += piece.pauses;
            }
            _ => joined.push(*piece),
        }
    }
    joined
}

/// Draws the pauses of ports over time, longest paused first.
fn gantt(r: &Report<'_>) -> Rows {
    let links = 0..r.plan.network.links.len() as u32;
    let directions = links.flat_map(|n| [LinkId(n).ab(), LinkId(n).ba()]);
    let of = |d: Direction| r.recording.events.pauses(d).map(move |(p, line)| (d, p, line));
    let mut paused: Vec<(Direction, Priority, &Timeline)> = directions.flat_map(of).collect();
    paused.sort_by_key(|(d, p, line)| (core::cmp::Reverse(line.total), *d, *p));
    let shown = paused.len().min(ROWS_MAX);
    let end = end_ns(r);
    let bar = |piece: &Piece| {
        let (from, to) = (ns(piece.from), ns(piece.to));
        let span = piece.to.since(piece.from).as_picos().max(1) as f64;
        let [begun, paused] = [piece.from.since_start(), piece.paused].map(written);
        let about = match piece.pauses {
            1 => format!("{begun} for {paused}"),
            n => format!("from {begun}, {n} times for {paused} in all"),
        };
        Bar { from: from / end, to: to / end, share: piece.paused.as_picos() as f64 / span, about }
    };
    let row = |(d, p, line): &(Direction, Priority, &Timeline)| {
        let link = &r.plan.network.links[d.link().index()];
        let at = link.to(*d);
        let name = format!("{} p{p}", port_name(r, at.node, at.port));
        let bars = joined(line.pieces(), end).iter().map(bar).collect();
        Row { name, bars, line: None, dots: vec![] }
    };
    let (axis, ticks) = time_axis(end);
    let left = paused.len() - shown;
    let more = if left > 0 { format!(", {left} more had shorter pauses") } else { String::new() };
    Rows {
        about: format!("Pauses over time, a row for each of {shown} ports and priorities{more}"),
        axis,
        ticks,
        rows: paused.iter().take(ROWS_MAX).map(row).collect(),
        marks: marks(r).into_iter().map(|(at, word)| (at / end, word)).collect(),
    }
}

/// Selects flows to plot: those that received most, in the order of the lab.
fn shown_flows(r: &Report<'_>, most: usize) -> Vec<usize> {
    let flows = &r.outcome.flows;
    let mut shown: Vec<usize> = (0..flows.len()).filter(|n| flows[*n].rx_frames > 0).collect();
    shown.sort_by_key(|n| core::cmp::Reverse(flows[*n].rx_bytes));
    shown.truncate(most);
    shown.sort_unstable();
    shown
}

fn rates_caption(r: &Report<'_>) -> String {
    let (shown, all) = (shown_flows(r, LINES_MAX).len(), r.outcome.flows.len());
    let most = "Frames that arrived, by flow, with their headers and FCS";
    if shown < all {
        format!("{most}: {shown} of {all} flows, and all together.")
    } else {
        format!("{most}.")
    }
}

/// Plots the receive rates of flows.
fn rates(r: &Report<'_>) -> Plot {
    let looks = &r.recording.looks;
    let flows = &r.outcome.flows;
    let shown = shown_flows(r, LINES_MAX);
    let mut lines: Vec<Line> = shown
        .iter()
        .map(|n| Line {
            name: flows[*n].name.clone(),
            points: rate(&looks.moments, |at| looks.arrived[*n][at]),
            ..Line::default()
        })
        .collect();
    if flows.len() > 1 {
        let all = |at: usize| looks.arrived.iter().map(|flow| flow[at]).sum();
        let (name, points) = ("all flows".to_owned(), rate(&looks.moments, all));
        lines.push(Line { name, points, sum: true, ..Line::default() });
    }
    debug_assert!(lines.len() <= COLOURS);
    let all = lines.iter().flat_map(|line| &line.points);
    let highest = all.map(|(_, rate)| *rate).fold(0.0, f64::max);
    Plot {
        about: format!("Lines over time: throughput of {} flows", shown.len()),
        what: "throughput",
        unit: scale::rate(highest),
        axis: Axis::time(end_ns(r)),
        lines,
        marks: marks(r),
    }
}

/// Returns the rate in each interval.
fn rate(moments: &[Instant], octets: impl Fn(usize) -> u64) -> Vec<(f64, f64)> {
    let every = moments.len().div_ceil(RATE_BINS).max(1);
    let ends: Vec<usize> = (0..moments.len()).step_by(every).collect();
    let mut points = Vec::with_capacity(ends.len());
    for two in ends.windows(2) {
        let (from, to) = (moments[two[0]], moments[two[1]]);
        let seconds = to.since(from).as_secs_f64();
        if seconds > 0.0 {
            let rate = 8.0 * octets(two[1]).saturating_sub(octets(two[0])) as f64 / seconds;
            points.push((f64::midpoint(ns(from), ns(to)), rate));
        }
    }
    points
}

/// Draws the latencies of flows, the slowest first if there are too many.
fn latencies(r: &Report<'_>) -> Rows {
    let measured = |f: &FlowOutcome| {
        let l = f.latency_ns.filter(|l| l.max > Duration::ZERO)?;
        let times = [l.min, l.p50, l.p99, l.p999, l.max].map(|t| (t.as_nanos_f64(), written(t)));
        Some(FlowLatency { name: f.name.clone(), times })
    };
    let flows: Vec<_> = r.outcome.flows.iter().filter_map(measured).collect();
    let which = if flows.len() > ROWS_MAX { "the slowest " } else { "" };
    shared::latencies(flows, which)
}
