//! Plots of a recording.

use maud::{Markup, html};

use super::Report;
use super::heat::{self, COLUMNS, HEAT_MIN, Heat, HeatRow};
use super::parts::{self, FlowLatency, LINES_MAX, ROWS_MAX, card};
use super::pauses::{PauseFrame, PauseRow, Pauses, Span};
use super::plot::cdf;
use super::plot::{Axis, COLOURS, Line, Plot};
use super::rows::Rows;
use super::runs::{rates_of, steps_of};
use super::scale::{self, Unit, written};
use ::text::count;
use ground::time::{Duration, Instant};
use ground::units::{PortId, Priority};
use lab::FlowOutcome;
use lab::record::{FrameAt, Piece, Place, Series, SeriesSet, Timeline};
use sim::{Direction, LinkId, NodeId, NodeKind};

/// Maximum number of marked moments in a plot.
const MARKS_MAX: usize = 3;
/// Plots over the time of the run, which zoom together.
const GROUP: &str = "run";

fn ns(at: Instant) -> f64 {
    at.as_picos() as f64 / 1e3
}

/// Draws all charts over time for which there is data.
pub(super) fn over_time(r: &Report<'_>) -> Markup {
    let looks = &r.recording.looks;
    html! {
        (card("Egress queues", octets(r, &looks.queues, "q", "queue depth"),
            "Bytes queued for egress, by switch port and traffic class: the fullest queues. In \
             print, a band spans minimum to maximum, and its line is the mean."))
        (map_card(r, "All egress queues", &looks.queues, "q"))
        (card("Pauses", pauses(r).draw(),
            "Times during which each port was paused, by priority (p3: priority 3). Paler bars are many \
             short pauses. Triangles: XOFF (down) and XON (up), hollow when they leave the pausing port, \
             filled when the paused port obeys them."))
        (card("All pauses", pause_map(r).and_then(|map| map.draw()),
            "Share of each interval that a port was paused, by priority: the darker, the longer."))
        (card("Ingress buffer", octets(r, &looks.groups, "pg", "buffer held"),
            "Shared buffer and headroom in use, by port and priority group."))
        (map_card(r, "All ingress buffers", &looks.groups, "pg"))
        @if !looks.moments.is_empty() {
            (card("Throughput", rates(r).draw(), &rates_caption(r)))
            (card("Throughput of all flows", rate_map(r).and_then(|map| map.draw()),
                "Frames that arrived, by flow: the darker, the faster."))
        }
    }
}

/// Draws the distributions of latencies and of completion times.
pub(super) fn distributions(r: &Report<'_>) -> Markup {
    let (messages, caption) = completions(r);
    html! {
        (card("Latency", parts::draw_latencies(&latencies(r)),
            "From the sender's port to the receiver's; lines are from the shortest to the longest."))
        (card("Completion times", messages.draw(), &caption))
    }
}

/// Plots the completion times of messages or, without messages, those of flows.
fn completions(r: &Report<'_>) -> (Plot, String) {
    let found = &r.recording.completions;
    let mut lines: Vec<Line> = Vec::new();
    let mut flows = found.flows.len().min(LINES_MAX);
    let caption = if let Some(all) = &found.all {
        // The line of a single flow is that of all messages.
        if flows == 1 {
            flows = 0;
        }
        for (place, times) in &found.flows[..flows] {
            let name = r.outcome.flows[*place].name.clone();
            lines.push(Line { name, points: steps_of(times), ..Line::default() });
        }
        let name = if flows > 0 { "all flows".to_owned() } else { String::new() };
        lines.push(Line { name, points: steps_of(all), sum: flows > 0, ..Line::default() });
        let messages = count(all.messages);
        let left = found.flows.len() - found.flows.len().min(LINES_MAX);
        let more =
            if left > 0 { format!(" {left} more flows are not drawn.") } else { String::new() };
        format!(
            "Share of messages that took no longer, from a message being due to the acknowledgement of \
             its last byte: {messages} messages.{more}"
        )
    } else {
        let mut times: Vec<f64> =
            r.outcome.flows.iter().filter_map(|f| f.fct_ns).map(Duration::as_nanos_f64).collect();
        times.sort_by(f64::total_cmp);
        let all = times.len();
        // Sorted, so that a place is a share.
        let share = |n: usize| 100.0 * (n + 1) as f64 / all as f64;
        let mut points: Vec<(f64, f64)> = Vec::new();
        for (n, time) in times.into_iter().enumerate() {
            match points.last_mut() {
                // Flows that took equally long are one step.
                Some(last) if last.0 == time => last.1 = share(n),
                _ => points.push((time, share(n))),
            }
        }
        if all > 1 {
            lines.push(Line { points, ..Line::default() });
        }
        format!(
            "Share of flows that took no longer, from their start to their last frame: {all} flows."
        )
    };
    let about = format!("Cumulative distribution of completion times, {} lines", lines.len());
    (cdf(about, "completion time", lines), caption)
}

/// Maps a set of series over time, if there are more than can be read as lines.
fn map_card(r: &Report<'_>, title: &str, set: &SeriesSet, index: &str) -> Markup {
    // Few series are better read as lines.
    if set.len() <= HEAT_MIN {
        return html! {};
    }
    let shown = highest(set, heat::ROWS_MAX);
    let mut in_order = shown.clone();
    // The fullest are chosen; their neighbours in the map are those in the network.
    in_order.sort_by_key(|(place, _)| **place);
    let end = end_ns(r);
    let row = |one: &(&Place, &Series)| {
        HeatRow::sampled(series_name(r, one.0, index), samples(r, one.1), end)
    };
    // The recording keeps a bounded number of series, and counts the others.
    let all = set.len() + r.recording.looks.left_out;
    let peak = shown.first().map_or(0.0, |(_, series)| f64::from(series.peak));
    let map = Heat {
        about: format!("Map over time: {title}, the {} fullest of {all}", shown.len()),
        unit: scale::octets(peak),
        shade: "--c0",
        end,
        group: GROUP.into(),
        rows: in_order.iter().map(row).collect(),
        marks: marks(r),
    };
    let which = if shown.len() < all {
        format!("The {} fullest of {}", shown.len(), count(all as u64))
    } else {
        format!("All {all} that were ever filled")
    };
    let caption = format!(
        "{which}, in the order of ports. The darker, the fuller; the darkest is {}.",
        ::text::scaled(peak, "B")
    );
    card(title, map.draw(), &caption)
}

/// Maps the receive rates of flows, if there are more than can be read as lines.
fn rate_map(r: &Report<'_>) -> Option<Heat> {
    let looks = &r.recording.looks;
    let shown = shown_flows(r, heat::ROWS_MAX);
    if shown.len() <= HEAT_MIN {
        return None;
    }
    let end = end_ns(r);
    let row = |n: &usize| {
        let points = rates_of(&looks.moments, |at| looks.arrived[*n][at]);
        HeatRow::sampled(r.outcome.flows[*n].name.clone(), points.into_iter(), end)
    };
    let rows: Vec<HeatRow> = shown.iter().map(row).collect();
    let cells = rows.iter().flat_map(|row| &row.cells);
    Some(Heat {
        about: format!("Map over time: throughput of {} flows", rows.len()),
        unit: scale::rate(cells.copied().fold(0.0, f64::max)),
        shade: "--c2",
        end,
        group: GROUP.into(),
        rows,
        marks: marks(r),
    })
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
    // The first ones are the causes; more labels would cover the lines.
    marks.truncate(MARKS_MAX);
    marks
}

/// Returns the series of a set with the highest peaks, the highest first.
fn highest(set: &SeriesSet, most: usize) -> Vec<(&Place, &Series)> {
    let mut highest: Vec<_> = set.iter().collect();
    highest.sort_by_key(|(place, series)| (core::cmp::Reverse(series.peak), **place));
    highest.truncate(most);
    highest
}

fn series_name(r: &Report<'_>, place: &Place, index: &str) -> String {
    format!("{} {index}{}", port_name(r, place.node, place.port), place.index)
}

/// Returns times in nanoseconds and values.
fn samples<'a>(r: &Report<'a>, series: &'a Series) -> impl Iterator<Item = (f64, f64)> + 'a {
    let moments = &r.recording.looks.moments;
    moments.iter().zip(&series.octets).map(|(at, n)| (ns(*at), f64::from(*n)))
}

/// Plots bytes over time, for the highest series of a set.
fn octets(r: &Report<'_>, set: &SeriesSet, index: &str, what: &'static str) -> Option<Markup> {
    let highest = highest(set, LINES_MAX);
    let line = |(place, series): &(&Place, &Series)| {
        let seen: Vec<_> = samples(r, series).collect();
        Line::through(series_name(r, place, index), &seen)
    };
    let peak = highest.first().map_or(0.0, |(_, series)| f64::from(series.peak));
    let about = format!("Lines over time: {what} of the {} fullest", highest.len());
    let lines = highest.iter().map(line).collect();
    let unit = scale::octets(peak);
    let axis = Axis::time(end_ns(r), GROUP);
    Plot { about, what, unit, max: None, axis, lines, marks: marks(r) }.draw()
}

/// Formats a port of a switch as `switch:port`.
fn port_name(r: &Report<'_>, node: NodeId, port: PortId) -> String {
    match &r.plan.network.nodes[node.index()].kind {
        NodeKind::Switch(plan) => format!("{}:{}", plan.name, plan.ports[port.index()].name),
        NodeKind::Host(plan) => plan.name.clone(),
    }
}

/// Selects flows to plot: those that received most, in the order of the lab.
fn shown_flows(r: &Report<'_>, most: usize) -> Vec<usize> {
    let flows = &r.outcome.flows;
    let mut shown: Vec<usize> = (0..flows.len()).filter(|n| flows[*n].rx_frames > 0).collect();
    shown.sort_by_key(|n| core::cmp::Reverse(flows[*n].rx_bytes));
    shown.truncate(most);
    // Back in the order of the lab, so that colours stay the same between runs.
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
        .map(|n| {
            let points = rates_of(&looks.moments, |at| looks.arrived[*n][at]);
            Line::steps(flows[*n].name.clone(), points)
        })
        .collect();
    if flows.len() > 1 {
        let all = |at: usize| looks.arrived.iter().map(|flow| flow[at]).sum();
        let points = rates_of(&looks.moments, all);
        lines.push(Line { sum: true, ..Line::steps("all flows".to_owned(), points) });
    }
    debug_assert!(lines.len() <= COLOURS);
    let all = lines.iter().flat_map(|line| &line.points);
    let highest = all.map(|(_, rate)| *rate).fold(0.0, f64::max);
    Plot {
        about: format!("Lines over time: throughput of {} flows", shown.len()),
        what: "throughput",
        unit: scale::rate(highest),
        max: None,
        axis: Axis::time(end_ns(r), GROUP),
        lines,
        marks: marks(r),
    }
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
    parts::latencies(flows, which)
}

/// Pauses of a priority at the end of a line.
struct Paused<'a> {
    direction: Direction,
    priority: Priority,
    line: &'a Timeline,
}

/// Returns all pauses, the longest in total first.
fn paused<'a>(r: &Report<'a>) -> Vec<Paused<'a>> {
    let links = 0..r.plan.network.links.len() as u32;
    let directions = links.flat_map(|n| [LinkId(n).ab(), LinkId(n).ba()]);
    let recording = r.recording;
    let of = |direction: Direction| {
        let lines = recording.events.pauses(direction);
        lines.map(move |(priority, line)| Paused { direction, priority, line })
    };
    let mut paused: Vec<Paused<'a>> = directions.flat_map(of).collect();
    paused.sort_by_key(|one| (core::cmp::Reverse(one.line.total), one.direction, one.priority));
    paused
}

fn name(r: &Report<'_>, paused: &Paused<'_>) -> String {
    let Paused { direction, priority, .. } = *paused;
    let end = r.plan.network.links[direction.link().index()].to(direction);
    format!("{} p{priority}", port_name(r, end.node, end.port))
}

/// Draws the pauses of ports over time, longest paused first.
fn pauses(r: &Report<'_>) -> Pauses {
    let paused = paused(r);
    let shown = paused.len().min(ROWS_MAX);
    let left = paused.len() - shown;
    let more = if left > 0 { format!(", {left} more had shorter pauses") } else { String::new() };
    let row = |one: &Paused<'_>| {
        let Paused { direction, priority, line } = *one;
        let frames = r.recording.events.pause_frames(direction);
        let of = |all: &[FrameAt]| -> Vec<PauseFrame> {
            let frame = |f: &FrameAt| {
                let xoff = f.xoff.contains(priority);
                let named = xoff || f.xon.contains(priority);
                named.then(|| PauseFrame { at: f.at.since_start(), xoff })
            };
            all.iter().filter_map(frame).collect()
        };
        PauseRow {
            name: name(r, one),
            spans: line.pieces().iter().map(span).collect(),
            sent: frames.map_or_else(Vec::new, |frames| of(&frames.sent)),
            obeyed: frames.map_or_else(Vec::new, |frames| of(&frames.obeyed)),
        }
    };
    Pauses {
        about: format!("Pauses over time, a row for each of {shown} ports and priorities{more}"),
        end: r.outcome.elapsed_ns,
        group: GROUP.into(),
        rows: paused.iter().take(ROWS_MAX).map(row).collect(),
        marks: marks(r),
    }
}

fn span(piece: &Piece) -> Span {
    Span {
        from: piece.from.since_start(),
        to: piece.to.since_start(),
        paused: piece.paused,
        pauses: Some(piece.pauses),
    }
}

/// Maps the share of time that ports were paused, if there are more than can be drawn one by one.
fn pause_map(r: &Report<'_>) -> Option<Heat> {
    let paused = paused(r);
    // The chart above has them all.
    if paused.len() <= ROWS_MAX {
        return None;
    }
    let end = end_ns(r);
    let mut shown: Vec<&Paused<'_>> = paused.iter().take(heat::ROWS_MAX).collect();
    shown.sort_by_key(|one| (one.direction, one.priority));
    let row = |one: &&Paused<'_>| HeatRow { name: name(r, one), cells: shares(one.line, end) };
    Some(Heat {
        about: format!("Map of {} of {} paused ports over time", shown.len(), paused.len()),
        unit: Unit { name: "%", size: 1.0 },
        shade: "--pause",
        end,
        group: GROUP.into(),
        rows: shown.iter().map(row).collect(),
        marks: marks(r),
    })
}

/// Returns the percentage of each interval that was paused.
fn shares(line: &Timeline, end: f64) -> Vec<f64> {
    let width = end / COLUMNS as f64;
    let mut cells = vec![0.0; COLUMNS];
    for piece in line.pieces() {
        let (from, to) = (ns(piece.from), ns(piece.to));
        // A piece may be several pauses with gaps, which are spread evenly over it.
        let dense = piece.paused.as_nanos_f64() / (to - from).max(1e-3);
        for (n, cell) in cells.iter_mut().enumerate().skip(heat::column(from, end)) {
            let (start, stop) = (n as f64 * width, (n + 1) as f64 * width);
            if start >= to {
                break;
            }
            *cell += 100.0 * dense * (to.min(stop) - from.max(start)).max(0.0) / width;
        }
    }
    // Rounding may bring the sum of a full interval above it.
    cells.into_iter().map(|share: f64| share.min(100.0)).collect()
}
