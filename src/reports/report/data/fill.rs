//! Lines of the tables from a run.

use std::iter::from_fn;

use ground::time::Instant;
use lab::{LabPlan, Recording, Run, record};
use sim::{LinkId, NodeKind};

use super::tables::{Message, Pause, Place, Sample};

pub(super) fn messages(run: &Run) -> impl Iterator<Item = Message<'_>> {
    let records = run.messages.iter().flat_map(|messages| &messages.records);
    records.map(|record| {
        let flow = run.outcome.flows.get(record.flow);
        Message { flow: flow.map(|flow| &*flow.name), record }
    })
}

/// Returns a priority, queue or group of a node's port; the name of the port is empty for a host, which has one.
fn place(plan: &LabPlan, node: usize, port: usize, index: u8) -> Place<'_> {
    let node = &plan.network.nodes[node];
    let port = match &node.kind {
        NodeKind::Switch(switch) => &*switch.ports[port].name,
        NodeKind::Host(_) => "",
    };
    Place { node: node.name(), port, index }
}

/// Returns the samples of all series of a run.
pub(super) fn series<'a>(
    plan: &'a LabPlan,
    recording: &'a Recording,
) -> impl Iterator<Item = Sample<'a>> {
    let looks = &recording.looks;
    let moments = move || looks.moments.iter().copied();
    let of_place = move |what, at: &record::Place, samples: Samples<'a>| {
        let place = Some(place(plan, at.node.index(), at.port.index(), at.index));
        let sample = move |(time, value)| Sample { what, place, flow: None, time, value };
        changes(samples).map(sample)
    };
    let bytes = [("queue", &looks.queues), ("group", &looks.groups)].into_iter();
    let bytes =
        bytes.flat_map(|(what, set)| set.iter().map(move |(at, series)| (what, at, series)));
    let bytes = bytes.flat_map(move |(what, at, series)| {
        let octets = series.octets.iter().map(|octets| f64::from(*octets));
        of_place(what, at, Box::new(moments().zip(octets)))
    });
    let marks = looks.marks.iter().flat_map(move |(at, marks)| {
        let marks = marks.iter().map(|marks| *marks as f64);
        of_place("marks", at, Box::new(moments().zip(marks)))
    });
    let rates = plan.flows.iter().zip(&looks.arrived).flat_map(move |(flow, arrived)| {
        // Rates are of intervals, so the first sample has none.
        let pairs = looks.moments.windows(2).zip(arrived.windows(2));
        let rate = |(t, bytes): (&[Instant], &[u64])| {
            (t[1], 8.0 * (bytes[1] - bytes[0]) as f64 / t[1].since(t[0]).as_secs_f64())
        };
        let (what, flow) = ("rate", Some(&*flow.name));
        let sample = move |(time, value)| Sample { what, place: None, flow, time, value };
        changes(pairs.map(rate)).map(sample)
    });
    bytes.chain(marks).chain(rates)
}

type Samples<'a> = Box<dyn Iterator<Item = (Instant, f64)> + 'a>;

/// Returns the samples with another value than the one before, and the last one.
fn changes(samples: impl Iterator<Item = (Instant, f64)>) -> impl Iterator<Item = (Instant, f64)> {
    let (mut samples, mut before) = (samples.peekable(), None);
    from_fn(move || {
        loop {
            let (time, value) = samples.next()?;
            // A value holds until the next line; the last sample is where the series ends.
            if before.replace(value) != Some(value) || samples.peek().is_none() {
                return Some((time, value));
            }
        }
    })
}

pub(super) fn pauses<'a>(
    plan: &'a LabPlan,
    recording: &'a Recording,
) -> impl Iterator<Item = Pause<'a>> {
    let links = (0..plan.network.links.len() as u32).map(LinkId);
    links.flat_map(|link| [link.ab(), link.ba()]).flat_map(move |direction| {
        // Of the paused end, where the pause takes effect.
        let end = plan.network.links[direction.link().index()].to(direction);
        recording.events.pauses(direction).flat_map(move |(priority, line)| {
            let place = place(plan, end.node.index(), end.port.index(), priority.get());
            line.pieces().iter().map(move |piece| Pause { place, piece })
        })
    })
}
