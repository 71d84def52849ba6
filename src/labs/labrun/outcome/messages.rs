//! Messages one by one: start, completion time, and slowdown over the completion time on an idle path, the least
//! that any transport can reach.

use super::ideal::Path;
use crate::plan::{ENDLESS, LabPlan, Source, ends, transport};
use crate::population::{HostCounts, Population, station};
use ground::statistics::percentile;
use ground::time::{Duration, Instant};
use host::{Message, TransportPlan};
use serde::Serialize;

/// Most messages of a lab of which records are made.
const RECORDS_MAX: usize = 1_000_000;

/// Sizes at which bins of slowdowns end, in bytes.
const BINS: [u64; 5] = [1_000, 10_000, 100_000, 1_000_000, 10_000_000];

/// A message of a flow with acknowledgements.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MessageRecord {
    /// Index of its flow, in [`LabPlan::flows`] and [`super::Outcome::flows`].
    pub flow: usize,
    /// Number in the flow, from 0.
    pub message: u64,
    /// Length in bytes.
    pub bytes: u64,
    /// Time at which it became due, in network time.
    pub start: Duration,
    /// Time from then to the acknowledgement of its last byte; `None` if that had not arrived at
    /// the end of the run.
    pub completion: Option<Duration>,
    /// Completion time on an idle path.
    pub ideal: Duration,
}

/// Messages of a lab, by flow, and in the order of each flow.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct MessageRecords {
    pub records: Vec<MessageRecord>,
    /// Number of completed messages without a record: beyond the limit of
    /// [`crate::Record::messages`], or of flows of which no messages are kept.
    pub left_out: u64,
}

impl MessageRecord {
    /// Returns completion time over ideal completion time; `None` if it is not complete.
    pub fn slowdown(&self) -> Option<f64> {
        let ideal = self.ideal.as_picos();
        self.completion.filter(|_| ideal > 0).map(|took| took.as_picos() as f64 / ideal as f64)
    }
}

/// Slowdowns of messages: completion time over the completion time on an idle path.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SlowdownOutcome {
    /// Number of completed messages.
    pub messages: u64,
    /// Number of messages that were due and not complete at the end of the run. They have no
    /// slowdown, so percentiles are too low if there are many.
    pub unfinished: u64,
    /// Number of completed messages that are not counted here, because their times were not kept.
    pub left_out: u64,
    /// Mean; `None` without a completed message, as all that follows.
    pub mean: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// Maximum.
    pub max: Option<f64>,
    /// By size, without empty bins.
    pub bins: Vec<SlowdownBin>,
}

/// Slowdowns of messages of similar size.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SlowdownBin {
    /// Sizes above this, in bytes.
    pub above_bytes: u64,
    /// Sizes up to this, in bytes; `None` for all larger ones.
    pub up_to_bytes: Option<u64>,
    /// Number of completed messages.
    pub messages: u64,
    /// Number of messages that were not complete.
    pub unfinished: u64,
    /// Median; `None` without a completed message.
    pub p50: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// Maximum.
    pub max: Option<f64>,
}

/// Returns the messages of all flows whose senders keep them, up to `end`.
pub(crate) fn records(plan: &LabPlan, end: Instant, nodes: &mut impl Population) -> MessageRecords {
    let mut all = MessageRecords::default();
    for (n, (flow, ends)) in plan.flows.iter().zip(ends(plan)).enumerate() {
        let (Source::Answered(index, _), Some(transport)) = (ends.source, transport(plan, &ends))
        else {
            continue;
        };
        let host = station(nodes, ends.from);
        let done = host.sender(index).map_or(0, |sender| sender.completions.messages);
        let log = host.message_log(index);
        // The log has the first messages; later ones are counted and no more.
        all.left_out += done.saturating_sub(log.len() as u64);
        if transport.work.log == 0 {
            continue;
        }
        let clock = plan.network.nodes[ends.from.index()].clock;
        let path = Path::new(plan, flow, transport);
        let mut add = |message: u64, due: Instant, completion: Option<Duration>| {
            let bytes = bytes_of(transport, message);
            let start = clock.network(due).since_start();
            let ideal = path.ideal(bytes);
            if all.records.len() < RECORDS_MAX {
                let record = MessageRecord { flow: n, message, bytes, start, completion, ideal };
                all.records.push(record);
            } else {
                all.left_out += u64::from(completion.is_some());
            }
        };
        for (message, kept) in (0..).zip(log) {
            add(message, kept.due, Some(kept.took));
        }
        let now = clock.local(end);
        // Messages that were due and are not complete: left out, a stalled flow would have no bad slowdown.
        for message in done.. {
            match due(transport, message).filter(|due| *due <= now) {
                Some(due) => add(message, due, None),
                None => break,
            }
            // Of endless messages only the current one is due; the others are no backlog.
            if follow(transport) || message - done >= transport.work.log as u64 {
                break;
            }
        }
    }
    all
}

/// Returns the length of a message of a flow.
fn bytes_of(plan: &TransportPlan, n: u64) -> u64 {
    match &plan.work.list {
        Some(list) => list.messages().get(n as usize).map_or(0, |message| message.bytes),
        None => plan.message.map_or(0, |message| message.bytes),
    }
}

/// True if messages follow one another without a number: all are due at once, and one is sent.
fn follow(plan: &TransportPlan) -> bool {
    let endless = |m: Message| m.count >= ENDLESS && m.every == Duration::ZERO;
    plan.work.list.is_none() && plan.message.is_some_and(endless)
}

/// Returns the time at which a message is due; `None` if that follows from the run alone, or if
/// there is no such message.
fn due(plan: &TransportPlan, n: u64) -> Option<Instant> {
    if plan.work.after.is_some() {
        return None;
    }
    if let Some(list) = &plan.work.list {
        return list.messages().get(n as usize).map(|m| plan.start.saturating_add(m.due));
    }
    let message = plan.message.filter(|message| n < message.count)?;
    Some(plan.start.saturating_add(message.every.saturating_mul(n)))
}

/// Returns the slowdowns; `None` if there is no message.
pub(super) fn slowdown(all: &MessageRecords) -> Option<SlowdownOutcome> {
    if all.records.is_empty() {
        return None;
    }
    // Each bin begins above the end of the one before, and the last has no end.
    let floors = [0].into_iter().chain(BINS);
    let ceilings = BINS.into_iter().map(Some).chain([None]);
    let bin = |(above, up_to): (u64, Option<u64>)| {
        let is_in = |r: &&MessageRecord| r.bytes > above && up_to.is_none_or(|to| r.bytes <= to);
        let Group { slowdowns, unfinished } = Group::of(all.records.iter().filter(is_in));
        let [p50, p99, max] = shown(&slowdowns);
        let (above_bytes, up_to_bytes) = (above, up_to);
        let messages = slowdowns.len() as u64;
        SlowdownBin { above_bytes, up_to_bytes, messages, unfinished, p50, p99, max }
    };
    let bins = floors.zip(ceilings).map(bin).filter(|bin| bin.messages + bin.unfinished > 0);
    let Group { slowdowns, unfinished } = Group::of(all.records.iter());
    let [p50, p99, max] = shown(&slowdowns);
    let mean = || slowdowns.iter().sum::<f64>() / slowdowns.len() as f64;
    Some(SlowdownOutcome {
        messages: slowdowns.len() as u64,
        unfinished,
        left_out: all.left_out,
        mean: (!slowdowns.is_empty()).then(mean),
        p50,
        p99,
        max,
        bins: bins.collect(),
    })
}

/// Slowdowns in ascending order, and the number of messages without one.
struct Group {
    slowdowns: Vec<f64>,
    unfinished: u64,
}

impl Group {
    fn of<'r>(records: impl Iterator<Item = &'r MessageRecord>) -> Self {
        let (mut slowdowns, mut unfinished) = (Vec::new(), 0);
        for record in records {
            match record.slowdown() {
                Some(slowdown) => slowdowns.push(slowdown),
                None => unfinished += 1,
            }
        }
        slowdowns.sort_by(f64::total_cmp);
        Self { slowdowns, unfinished }
    }
}

/// Returns median, 99th percentile and maximum of values in ascending order.
fn shown(values: &[f64]) -> [Option<f64>; 3] {
    [50, 99, 100].map(|percent| percentile(values, percent))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(bytes: u64, took: Option<u64>) -> MessageRecord {
        let completion = took.map(Duration::from_nanos);
        let (start, ideal) = (Duration::ZERO, Duration::from_nanos(100));
        MessageRecord { flow: 0, message: 0, bytes, start, completion, ideal }
    }

    #[test]
    fn bins_have_their_own_percentiles_and_unfinished_messages_are_counted() {
        let mut records: Vec<_> = (1..=100).map(|n| record(500, Some(100 * n))).collect();
        records.extend([record(1_000, None), record(1_001, Some(300)), record(20_000_000, None)]);
        let found = slowdown(&MessageRecords { records, left_out: 4 }).unwrap();
        assert_eq!((found.messages, found.unfinished, found.left_out), (101, 2, 4));
        assert_eq!((found.p50, found.p99, found.max), (Some(50.0), Some(99.0), Some(100.0)));
        let bins: Vec<_> = found.bins.iter().map(|b| (b.above_bytes, b.up_to_bytes)).collect();
        assert_eq!(bins, [(0, Some(1_000)), (1_000, Some(10_000)), (10_000_000, None)]);
        let [small, middle, large] = &found.bins[..] else { panic!() };
        assert_eq!((small.messages, small.unfinished, small.p50), (100, 1, Some(50.0)));
        assert_eq!((middle.messages, middle.p99), (1, Some(3.0)));
        assert_eq!((large.messages, large.unfinished, large.p99), (0, 1, None));
        assert_eq!(slowdown(&MessageRecords::default()), None);
    }
}
