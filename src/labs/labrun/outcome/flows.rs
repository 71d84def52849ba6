//! Results of each flow, of its transport, and of workloads and collectives.

use super::*;
use crate::plan::{self, Collective, Ends, LabFlow, LabPlan, OfferedLoad, Source, Workload, ends};
use crate::population::{Counted, Ended, HostCounts, Population, Window, station};
use crate::record::Recorder;
use ground::time::{Duration, Instant};
use host::{Latency, ReceiverCounters, SenderCounters, SinkCounters, Transport, TransportPlan};
use serde::ser::{Serialize, SerializeMap, Serializer};
use sim::NodeId;

pub(super) fn flows(
    plan: &LabPlan,
    ended: &Ended,
    window: &Window,
    recorder: &Recorder,
    nodes: &mut impl Population,
) -> Vec<FlowOutcome> {
    let run = Run { plan, ended, window, recorder };
    let flow =
        |(n, (flow, ends)): (usize, (&LabFlow, &Ends))| run.flow_outcome(n, flow, ends, nodes);
    plan.flows.iter().zip(&ends(plan)).enumerate().map(flow).collect()
}

/// A run whose flows are reported.
struct Run<'a> {
    plan: &'a LabPlan,
    ended: &'a Ended,
    window: &'a Window,
    recorder: &'a Recorder,
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
        // With acknowledgements only bytes in order count: a repeated frame delivers nothing.
        let payload = |c: &Counted| c.delivered.unwrap_or(c.frames * u64::from(flow.payload_len));
        Self {
            rx_bps: rate(to.bytes - from.bytes),
            payload_bps: rate(payload(to).saturating_sub(payload(from))),
        }
    }
}

impl Run<'_> {
    /// Returns the results of the flow with this number.
    fn flow_outcome(
        &self,
        n: usize,
        flow: &LabFlow,
        ends: &Ends,
        nodes: &mut impl Population,
    ) -> FlowOutcome {
        let Run { plan, ended, window, recorder } = *self;
        let rates = Rates::new(flow, window, n);
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
        let (tx_frames, tx_bytes) =
            sent.expect("a host counts every flow that it was told to send");
        let receiver = station(nodes, ends.to);
        let receiver_counters = match ends.source {
            Source::OpenLoop(_) => None,
            Source::Answered(_, n) => receiver.receiver(n),
        };
        let sink = receiver.sink(ends.sink);
        let sink = sink.expect("a host counts every flow that it was told to expect");
        let missing = tx_frames.saturating_sub(sink.frames);
        // A frame that was sent twice may be on the way although it has arrived.
        let pending = ended.pending[n].min(missing);
        let transport = plan::transport(plan, ends).zip(sender).zip(receiver_counters);
        let transport = transport.map(|((plan, sender), receiver)| {
            TransportOutcome::new(kind(plan), sender, times.as_ref(), receiver)
        });
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
            // Between hosts whose clocks differ the sink's own figure would have the difference in it.
            latency_ns: latency(recorder.latency(flow.id.0).unwrap_or(&sink.latency)),
            fct_ns: fct,
            transport,
        }
    }
}

/// Returns the name of a transport in results.
const fn kind(plan: &TransportPlan) -> &'static str {
    match plan.kind {
        Transport::Roce(_) => "roce",
        Transport::TcpLike(_) => "tcp",
    }
}

/// Returns the time from a flow's start to its last frame's arrival, in network time.
fn lasted(plan: &LabPlan, ends: &Ends, sink: &SinkCounters) -> Option<Duration> {
    let clock = |id: NodeId| plan.network.nodes[id.index()].clock;
    let start = clock(ends.from).network(plan::start(plan, ends));
    sink.last_arrival.map(|last| clock(ends.to).network(last).since(start))
}

fn latency(latency: &Latency) -> Option<Statistics<Duration>> {
    (latency.count() > 0).then(|| latency.figures())
}

/// Transport counters of a flow with acknowledgements.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TransportOutcome {
    /// Transport: `roce` or `tcp`.
    pub kind: &'static str,
    pub sender: SenderCounters,
    pub receiver: ReceiverCounters,
    /// Median message completion time, three exact digits.
    pub fct_p50: Option<Duration>,
    /// 99th percentile of the message completion time, three exact digits.
    pub fct_p99: Option<Duration>,
}

impl TransportOutcome {
    /// Makes the results from counters; `times` are the completion times, if there are several
    /// messages.
    fn new(
        kind: &'static str,
        sender: SenderCounters,
        times: Option<&Latency>,
        receiver: ReceiverCounters,
    ) -> Self {
        let percentile = |p| match times.filter(|times| times.count() > 0) {
            Some(times) => Some(times.percentile(p)),
            // A single message is its own median and maximum.
            None => sender.completions.fct_max,
        };
        let [fct_p50, fct_p99] = [50.0, 99.0].map(percentile);
        Self { kind, sender, receiver, fct_p50, fct_p99 }
    }
}

impl Serialize for TransportOutcome {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let (s, r) = (&self.sender, &self.receiver);
        object! {
            to,
            kind: self.kind,
            done: s.done,
            delivered_bytes: r.delivered,
            acknowledged_bytes: s.acknowledged,
            retransmitted_frames: s.retransmitted,
            timeouts: s.timeouts,
            out_of_order_frames: r.out_of_order,
            repeated_frames: r.duplicates,
            acks_sent: r.acks,
            acks_received: s.acks,
            naks_sent: r.naks,
            naks_received: s.naks,
            cnps_sent: r.cnps,
            cnps_received: s.cnps,
            rate_bps: s.rate.get(),
            window_bytes: s.window,
            messages: s.completions.messages,
            fct_min_ns: s.completions.fct_min,
            fct_mean_ns: s.completions.fct_mean(),
            fct_p50_ns: self.fct_p50,
            fct_p99_ns: self.fct_p99,
            fct_max_ns: s.completions.fct_max,
        }
    }
}

/// A workload: an entry of the lab with drawn sizes, with a load, or of a collective.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct WorkloadOutcome {
    /// Name of the entry.
    pub name: String,
    /// Sizes: the name of their distribution, or their number of bytes.
    pub sizes: String,
    /// Mean of the sizes in bytes.
    pub mean_bytes: f64,
    /// Number of messages, or of flows whose sizes were drawn.
    pub messages: u64,
    /// Sum of their sizes in bytes.
    pub bytes: u64,
    /// Number of messages that are acknowledged completely; 0 for flows without acknowledgements.
    pub completed: u64,
    /// Offered load, if the messages are due at random times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<OfferedLoad>,
    /// Collective, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collective: Option<CollectiveOutcome>,
}

/// A collective and the time that it took.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct CollectiveOutcome {
    #[serde(flatten)]
    pub plan: Collective,
    /// Time from the start of the first flow to the arrival of the last chunk, in network time;
    /// `None` if one had not arrived at the end of the run.
    pub completion_ns: Option<Duration>,
}

/// Returns the results of all workloads.
pub(super) fn workloads(plan: &LabPlan, nodes: &mut impl Population) -> Vec<WorkloadOutcome> {
    if plan.workloads.is_empty() {
        return Vec::new();
    }
    let ends = ends(plan);
    plan.workloads.iter().map(|of| workload(plan, of, &ends[of.flows.clone()], nodes)).collect()
}

fn workload(
    plan: &LabPlan,
    of: &Workload,
    ends: &[Ends],
    nodes: &mut impl Population,
) -> WorkloadOutcome {
    // Flows without acknowledgements do not know what has arrived.
    let mut completed = 0;
    for ends in ends {
        let Source::Answered(n, _) = ends.source else { continue };
        completed += station(nodes, ends.from).sender(n).map_or(0, |s| s.completions.messages);
    }
    WorkloadOutcome {
        name: of.name.clone(),
        sizes: of.sizes.clone(),
        mean_bytes: of.mean_bytes,
        messages: of.messages,
        bytes: of.bytes,
        completed,
        load: of.load,
        collective: of.collective.map(|of| collective(plan, of, ends, nodes)),
    }
}

fn collective(
    plan: &LabPlan,
    of: Collective,
    ends: &[Ends],
    nodes: &mut impl Population,
) -> CollectiveOutcome {
    let clock = |id: NodeId| plan.network.nodes[id.index()].clock;
    // In network time, as the hosts of a collective have different clocks.
    let starts = ends.iter().map(|e| clock(e.from).network(plan::start(plan, e)));
    let start = starts.min().unwrap_or(Instant::ZERO);
    let finished = |ends: &Ends| {
        let Source::Answered(_, n) = ends.source else { return None };
        let finished = station(nodes, ends.to).receiver(n)?.finished?;
        Some(clock(ends.to).network(finished))
    };
    // None if any flow has not finished.
    let finished: Option<Vec<Instant>> = ends.iter().map(finished).collect();
    CollectiveOutcome {
        plan: of,
        completion_ns: finished.and_then(|all| Some(all.into_iter().max()?.since(start))),
    }
}
