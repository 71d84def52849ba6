//! Lines of the tables from a run.

use ground::statistics::Statistics;
use ground::time::{Duration, Instant};
use lab::study::{FIELDS, Row};
use lab::{LabPlan, Outcome, Recording, Run};
use serde_json::Value;
use sim::{LinkId, NodeKind};

use super::Cell;
use super::DataError;
use super::tables::{FLOWS, HOPS, MESSAGES, PAUSES, RUNS, SERIES};

/// Takes a line of a table.
type Take<'a> = dyn FnMut(usize, &[Cell<'_>]) -> Result<(), DataError> + 'a;

fn ns(time: Duration) -> Cell<'static> {
    Cell::Number(time.as_nanos_f64())
}

fn at(time: Instant) -> Cell<'static> {
    ns(time.since_start())
}

fn variant(row: &Row) -> Cell<'_> {
    row.variant.as_deref().map_or(Cell::Unknown, Cell::Text)
}

/// Returns the value of a row's field.
fn cell(value: &Value) -> Cell<'_> {
    match value {
        Value::String(text) => Cell::Text(text),
        Value::Bool(is) => Cell::Truth(*is),
        Value::Number(n) => match n.as_u64() {
            Some(n) => Cell::Whole(n),
            None => n.as_f64().map_or(Cell::Unknown, Cell::Number),
        },
        Value::Null | Value::Array(_) | Value::Object(_) => Cell::Unknown,
    }
}

/// Gives the line of a run: the fields of its row, with the axes behind `variant`.
pub(super) fn run(
    row: &Row,
    axes: &[(String, bool)],
    take: &mut Take<'_>,
) -> Result<(), DataError> {
    // By name, so that a new field of rows needs no line here.
    let fields = serde_json::to_value(row).expect("a row has texts as keys");
    let of = |name: &str| fields.get(name).map_or(Cell::Unknown, cell);
    let mut cells = Vec::new();
    for field in FIELDS.iter().filter(|field| !field.name.contains('*')) {
        cells.push(of(field.name));
        // Axes stand behind the variant, as in the list of columns.
        if field.name == "variant" {
            let axes = axes.iter().filter(|(path, _)| path != "seed");
            cells.extend(axes.map(|(path, _)| of(path)));
        }
    }
    take(RUNS, &cells)
}

pub(super) fn flows(row: &Row, outcome: &Outcome, take: &mut Take<'_>) -> Result<(), DataError> {
    for flow in &outcome.flows {
        // A flow without a frame that arrived has no latency.
        let latency = |of: fn(&Statistics<Duration>) -> Duration| {
            flow.latency_ns.as_ref().map_or(Cell::Unknown, |latency| ns(of(latency)))
        };
        take(
            FLOWS,
            &[
                Cell::Whole(row.n),
                Cell::Text(&row.lab),
                variant(row),
                Cell::Text(&flow.name),
                Cell::Text(&flow.from),
                Cell::Text(&flow.to),
                Cell::Whole(flow.priority.into()),
                Cell::Truth(flow.lossless),
                Cell::Whole(flow.tx_frames),
                Cell::Whole(flow.rx_frames),
                Cell::Whole(flow.loss_frames),
                Cell::Whole(flow.tx_bytes),
                Cell::Whole(flow.rx_bytes),
                Cell::Whole(flow.ce_frames),
                Cell::Whole(flow.reordered_frames),
                Cell::Number(flow.rx_bps),
                Cell::Number(flow.payload_bps),
                latency(|l| l.min),
                latency(|l| l.p50),
                latency(|l| l.p99),
                latency(|l| l.max),
                flow.fct_ns.map_or(Cell::Unknown, ns),
            ],
        )?;
    }
    Ok(())
}

pub(super) fn messages(row: &Row, run: &Run, take: &mut Take<'_>) -> Result<(), DataError> {
    for message in run.messages.iter().flat_map(|messages| &messages.records) {
        let flow = run.outcome.flows.get(message.flow);
        take(
            MESSAGES,
            &[
                Cell::Whole(row.n),
                Cell::Text(&row.lab),
                variant(row),
                flow.map_or(Cell::Unknown, |flow| Cell::Text(&flow.name)),
                Cell::Whole(message.message),
                Cell::Whole(message.bytes),
                ns(message.start),
                message.completion.map_or(Cell::Unknown, ns),
                ns(message.ideal),
                message.slowdown().map_or(Cell::Unknown, Cell::Number),
            ],
        )?;
    }
    Ok(())
}

pub(super) fn hops(row: &Row, outcome: &Outcome, take: &mut Take<'_>) -> Result<(), DataError> {
    for hop in &outcome.figures.hops {
        take(
            HOPS,
            &[
                Cell::Whole(row.n),
                Cell::Text(&row.lab),
                variant(row),
                Cell::Whole(hop.distance as u64),
                Cell::Truth(hop.hosts),
                Cell::Whole(hop.lines as u64),
                Cell::Whole(hop.pauses),
                ns(hop.paused_ns),
                ns(hop.longest_ns),
            ],
        )?;
    }
    Ok(())
}

/// Returns the name of a node's port; empty for a host, which has one.
fn port_name(plan: &LabPlan, node: usize, port: usize) -> &str {
    match &plan.network.nodes[node].kind {
        NodeKind::Switch(switch) => &switch.ports[port].name,
        NodeKind::Host(_) => "",
    }
}

pub(super) fn series(
    row: &Row,
    plan: &LabPlan,
    recording: &Recording,
    take: &mut Take<'_>,
) -> Result<(), DataError> {
    let looks = &recording.looks;
    let head = |what| [Cell::Whole(row.n), Cell::Text(&row.lab), variant(row), Cell::Text(what)];
    let mut lines = |what: &'static str,
                     of: [Cell<'_>; 4],
                     samples: &mut dyn Iterator<Item = (Instant, f64)>| {
        let mut before: Option<(Instant, f64)> = None;
        let mut is_written = true;
        let [n, lab, variant, what] = head(what);
        let [node, port, index, flow] = of;
        let mut line = |t: Instant, value: f64| {
            take(
                SERIES,
                &[n, lab, variant, what, node, port, index, flow, at(t), Cell::Number(value)],
            )
        };
        for (t, value) in samples {
            // A value holds until the next line; the last sample is where the series ends.
            let changes = before.is_none_or(|(_, last)| last != value);
            if changes {
                line(t, value)?;
            }
            (before, is_written) = (Some((t, value)), changes);
        }
        match before {
            Some((t, value)) if !is_written => line(t, value),
            _ => Ok(()),
        }
    };
    let place = |place: &lab::record::Place| {
        let node = plan.network.nodes[place.node.index()].name();
        let port = port_name(plan, place.node.index(), place.port.index());
        [Cell::Text(node), Cell::Text(port), Cell::Whole(place.index.into()), Cell::Unknown]
    };
    for (what, set) in [("queue", &looks.queues), ("group", &looks.groups)] {
        for (at, series) in set {
            let samples = looks.moments.iter().zip(&series.octets);
            lines(what, place(at), &mut samples.map(|(t, octets)| (*t, f64::from(*octets))))?;
        }
    }
    for (at, marks) in &looks.marks {
        let samples = looks.moments.iter().zip(marks);
        lines("marks", place(at), &mut samples.map(|(t, marks)| (*t, *marks as f64)))?;
    }
    for (flow, arrived) in plan.flows.iter().zip(&looks.arrived) {
        let of = [Cell::Unknown, Cell::Unknown, Cell::Unknown, Cell::Text(&flow.name)];
        // Rates are of intervals, so the first sample has none.
        let pairs = looks.moments.windows(2).zip(arrived.windows(2));
        let rate = |(t, bytes): (&[Instant], &[u64])| {
            (t[1], 8.0 * (bytes[1] - bytes[0]) as f64 / t[1].since(t[0]).as_secs_f64())
        };
        lines("rate", of, &mut pairs.map(rate))?;
    }
    Ok(())
}

pub(super) fn pauses(
    row: &Row,
    plan: &LabPlan,
    recording: &Recording,
    take: &mut Take<'_>,
) -> Result<(), DataError> {
    let links = (0..plan.network.links.len() as u32).map(LinkId);
    for direction in links.flat_map(|link| [link.ab(), link.ba()]) {
        // Of the paused end, where the pause takes effect.
        let end = plan.network.links[direction.link().index()].to(direction);
        let node = plan.network.nodes[end.node.index()].name();
        let port = port_name(plan, end.node.index(), end.port.index());
        for (priority, line) in recording.events.pauses(direction) {
            for piece in line.pieces() {
                take(
                    PAUSES,
                    &[
                        Cell::Whole(row.n),
                        Cell::Text(&row.lab),
                        variant(row),
                        Cell::Text(node),
                        Cell::Text(port),
                        Cell::Whole(priority.get().into()),
                        at(piece.from),
                        at(piece.to),
                        ns(piece.paused),
                        Cell::Whole(piece.pauses),
                    ],
                )?;
            }
        }
    }
    Ok(())
}
