//! Results of each flow.

use super::ended::{Counted, Ended, Window, station};
use super::*;
use crate::ends::{self, Ends, Source, ends};
use crate::plan::{LabFlow, LabPlan};
use crate::population::{HostCounts, Population};
use crate::record::Recorder;
use host::{Latency, LatencyFigures, SinkCounters, Transport};
use sim::NodeId;

pub(super) fn flows(
    plan: &LabPlan,
    ended: &Ended,
    window: &Window,
    recorder: &Recorder,
    nodes: &mut impl Population,
) -> Vec<FlowOutcome> {
    let flow = |(n, (flow, ends)): (usize, (&LabFlow, &Ends))| {
        let rates = Rates::new(flow, window, n);
        one(plan, flow, ends, (ended, ended.pending[n]), rates, recorder, nodes)
    };
    plan.flows.iter().zip(&ends(plan)).enumerate().map(flow).collect()
}

/// Receive rates of a flow.
struct Rates {
    rx_bps: f64,
    payload_bps: f64,
}

impl Rates {
    fn new(flow: &LabFlow, window: &Window, n: usize) -> Self {
        let seconds = window.to.0.since(window.from.0).as_secs_f64();
        let rate = |octets: u64| if seconds > 0.0 { 8.0 * octets as f64 / seconds } else { 0.0 };
        let (from, to) = (&window.from.1[n], &window.to.1[n]);
        let payload = |c: &Counted| c.delivered.unwrap_or(c.frames * u64::from(flow.payload_len));
        Self {
            rx_bps: rate(to.bytes - from.bytes),
            payload_bps: rate(payload(to).saturating_sub(payload(from))),
        }
    }
}

fn one(
    plan: &LabPlan,
    flow: &LabFlow,
    ends: &Ends,
    (ended, pending): (&Ended, u64),
    rates: Rates,
    recorder: &Recorder,
    nodes: &mut impl Population,
) -> FlowOutcome {
    let sender = station(nodes, ends.from);
    let mut times = None;
    let (sent, sender) = match ends.source {
        Source::OpenLoop(n) => (sender.source(n).map(|c| (c.frames, c.bytes)), None),
        Source::Answered(n, _) => {
            let c = sender.sender(n);
            times = sender.completion_times(n).cloned();
            (c.map(|c| (c.frames, c.bytes)), c)
        }
    };
    let (tx_frames, tx_bytes) = sent.expect("a host counts every flow that it was told to send");
    let receiver = station(nodes, ends.to);
    let receiver_counters = match ends.source {
        Source::OpenLoop(_) => None,
        Source::Answered(_, n) => receiver.receiver(n),
    };
    let sink = receiver.sink(ends.sink);
    let sink = sink.expect("a host counts every flow that it was told to expect");
    let missing = tx_frames.saturating_sub(sink.frames);
    let pending = pending.min(missing);
    let transport = ends::transport(plan, ends).zip(sender).zip(receiver_counters).map(
        |((plan, sender), receiver)| {
            let kind = match plan.kind {
                Transport::Roce(_) => "roce",
                Transport::TcpLike(_) => "tcp",
            };
            TransportOutcome::new(kind, sender, times.as_ref(), receiver)
        },
    );
    let fct = match &transport {
        Some(t) => t.sender.completions.fct_mean(),
        None => (ended.quiet && missing == 0).then(|| lasted(plan, ends, sink)).flatten(),
    };
    let name = |id: NodeId| plan.network.nodes[id.index()].name().to_owned();
    FlowOutcome {
        name: flow.name.clone(),
        from: name(flow.from),
        to: name(flow.to),
        priority: flow.priority.get(),
        lossless: flow.lossless,
        frame_bytes: flow.frame_len,
        tx_frames,
        rx_frames: sink.frames,
        loss_frames: missing - pending,
        pending_frames: pending,
        tx_bytes,
        rx_bytes: sink.bytes,
        duplicate_frames: sink.duplicates,
        reordered_frames: sink.reordered,
        ce_frames: sink.ce_marked,
        rx_bps: rates.rx_bps,
        payload_bps: rates.payload_bps,
        latency_ns: latency(recorder.latency(flow.id.0).unwrap_or(&sink.latency)),
        fct_ns: fct,
        transport,
    }
}

/// Returns the time from a flow's start to its last frame's arrival, in network time.
fn lasted(plan: &LabPlan, ends: &Ends, sink: &SinkCounters) -> Option<Duration> {
    let clock = |id: NodeId| plan.network.nodes[id.index()].clock;
    let start = clock(ends.from).network(ends::start(plan, ends));
    sink.last_arrival.map(|last| clock(ends.to).network(last).since(start))
}

fn latency(latency: &Latency) -> Option<LatencyFigures> {
    (latency.count() > 0).then(|| latency.figures())
}
