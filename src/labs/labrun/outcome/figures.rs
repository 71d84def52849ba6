//! Key figures for comparing runs of one lab with different switches, and distributions of message completion
//! times, for plots. Both come from the same histograms.

use std::collections::BTreeMap;

use super::gather::pauses_at;
use super::steady::jain;
use super::{FlowOutcome, NodeOutcome, SlowdownOutcome, SteadyOutcome, SwitchOutcome};
use crate::plan::{Ends, LabPlan, Source, ends, transport};
use crate::population::{HostCounts, Population, station};
use crate::record::Recorder;
use ground::statistics::Statistics;
use ground::time::Duration;
use host::Latency;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use sim::{Direction, NodeKind};

/// Key figures of a run.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Figures {
    /// Completion times of messages of all flows, from a message becoming due to the acknowledgement of its
    /// last byte; `None` if none was completed. Percentiles have three exact digits.
    #[serde(serialize_with = "completion_form")]
    pub fct: Option<Statistics<Duration>>,
    /// Total goodput of victim flows in the measurement interval, in bit/s; `None` in a lab without
    /// victims.
    pub victim_bps: Option<f64>,
    /// Highest buffer occupancy of a switch: the sum of the peaks of its shared pool and its
    /// headrooms. It is an upper bound, because the peaks may occur at different times.
    pub buffer_peak_bytes: u64,
    /// Highest occupancy of an egress queue of a switch.
    pub queue_peak_bytes: u64,
    /// Lost frames of flows, retransmitted or not.
    pub lost_frames: u64,
    /// Jain's fairness index of the throughput of flows that are not victims: 1 if all are equal,
    /// 1/n if one of n gets everything. Throughput is the message size over the mean completion
    /// time for a flow with messages, else the payload rate in the measurement interval. `None` for
    /// less than two flows.
    pub fairness: Option<f64>,
    /// Pauses by the distance of the paused lines from the destination, the nearest first.
    pub hops: Vec<HopOutcome>,
    /// Congestion messages sent.
    pub signals: Signals,
    /// Slowdowns of messages of a known number; `None` if there are none.
    pub slowdown: Option<SlowdownOutcome>,
    /// Means over the steady state, when the start-up is over; `None` if there is no steady state, or
    /// no flow without an end.
    pub steady: Option<SteadyOutcome>,
}

/// Congestion messages sent, by type.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Signals {
    /// RoCEv2 congestion notification packets (CNP), from receivers and from switches.
    pub cnps: u64,
    /// Quantized congestion notification messages (CNM).
    pub cnms: u64,
    /// Source flow control messages (SFCM).
    pub sfcms: u64,
    /// Congestion isolation messages (CIM), to add and to delete flows.
    pub cims: u64,
}

/// Pauses of all lines whose far ends are equally far from the destination.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct HopOutcome {
    /// Number of lines from the pausing switch to the destination of the paused flows, at least 1.
    /// If flows of several destinations share a line, the farthest counts; victims count only on
    /// lines without other flows.
    pub distance: usize,
    /// True if hosts are paused, false for switches.
    pub hosts: bool,
    /// Number of lines.
    pub lines: usize,
    /// Number of changes of a priority from running to paused.
    pub pauses: u64,
    /// Sum of the pause times of all priorities.
    pub paused_ns: Duration,
    /// Longest uninterrupted pause of a priority.
    pub longest_ns: Duration,
}

/// Calculates the key figures from the results of flows and nodes.
pub(super) fn figures(
    plan: &LabPlan,
    recorder: &Recorder,
    nodes: &mut impl Population,
    flows: &[FlowOutcome],
    outcomes: &[NodeOutcome],
) -> Figures {
    let switches = || outcomes.iter().filter_map(NodeOutcome::as_switch);
    let ports = switches().flat_map(|s| &s.ports);
    let priorities = ports.flat_map(|port| &port.summary.port.counters.priorities);
    // Congestion counters are there by name, and absent where they are 0.
    let congestion = |name: &str| switches().filter_map(|s| s.congestion.get(name)).sum::<u64>();
    let ends = ends(plan);
    let completed = all_completions(&ends, nodes);
    let (victims, others): (Vec<_>, Vec<_>) =
        plan.flows.iter().zip(flows).zip(&ends).partition(|((flow, _), _)| flow.victim);
    let message = |ends| transport(plan, ends).and_then(|t| t.message).map(|m| m.bytes);
    let got: Vec<f64> =
        others.iter().map(|((_, flow), ends)| goodput(flow, message(ends))).collect();
    Figures {
        fct: (completed.count() > 0).then(|| completed.figures()),
        victim_bps: (!victims.is_empty())
            .then(|| victims.iter().map(|((_, flow), _)| flow.payload_bps).sum()),
        buffer_peak_bytes: switches().map(buffer_peak).max().unwrap_or(0),
        queue_peak_bytes: priorities.map(|p| p.queue_peak_bytes).max().unwrap_or(0),
        lost_frames: flows.iter().map(|flow| flow.loss_frames).sum(),
        fairness: jain(&got),
        hops: hops(plan, recorder),
        signals: Signals {
            cnps: flows.iter().filter_map(|f| f.transport).map(|t| t.receiver.cnps).sum::<u64>()
                + congestion("fast_cnp_sent"),
            cnms: congestion("cpTransmittedCnms"),
            sfcms: congestion("sfcTransmittedSFCMs"),
            cims: congestion("ci_cim_sent_add") + congestion("ci_cim_sent_del"),
        },
        slowdown: None,
        steady: None,
    }
}

/// Writes completion times: studies and checks name these figures by their paths.
fn completion_form<S: Serializer>(
    times: &Option<Statistics<Duration>>,
    to: S,
) -> Result<S::Ok, S::Error> {
    let Some(times) = times else { return to.serialize_none() };
    object! {
        to,
        messages: times.count,
        min_ns: times.min,
        p50_ns: times.p50,
        p99_ns: times.p99,
        max_ns: times.max,
    }
}

fn buffer_peak(switch: &SwitchOutcome) -> u64 {
    let ports = switch.ports.iter();
    let priorities = ports.flat_map(|port| &port.summary.port.counters.priorities);
    switch.shared_pool.peak_bytes + priorities.map(|p| p.headroom_peak_bytes).sum::<u64>()
}

/// Returns the goodput of a flow in bit/s; `message` is the message size in bytes.
fn goodput(flow: &FlowOutcome, message: Option<u64>) -> f64 {
    let by_message = message.zip(flow.transport).and_then(|(octets, t)| {
        // Goodput of messages: idle time between them is no lack of throughput.
        let took = t.sender.completions.fct_mean()?.as_secs_f64();
        (took > 0.0).then_some(8.0 * octets as f64 / took)
    });
    by_message.unwrap_or(flow.payload_bps)
}

/// Returns pauses by distance from the destination.
fn hops(plan: &LabPlan, recorder: &Recorder) -> Vec<HopOutcome> {
    let network = &plan.network;
    let mut by_hop = BTreeMap::<(usize, bool), HopOutcome>::new();
    for (line, distance) in distances(plan) {
        let link = &network.links[line.link().index()];
        let paused = link.from(line);
        let node = &network.nodes[paused.node.index()];
        let hosts = matches!(node.kind, NodeKind::Host(_));
        let (paused_ns, longest_ns) = Default::default();
        let hop = by_hop.entry((distance, hosts)).or_insert(HopOutcome {
            distance,
            hosts,
            lines: 0,
            pauses: 0,
            paused_ns,
            longest_ns,
        });
        hop.lines += 1;
        // Pauses of a line's frames arrive on the reverse direction.
        let each = recorder.pauses(line.reverse()).take(pauses_at(node, paused.port));
        for (_, paused) in each {
            hop.pauses += paused.pauses;
            hop.paused_ns += paused.total;
            hop.longest_ns = hop.longest_ns.max(paused.longest);
        }
    }
    by_hop.into_values().collect()
}

/// Returns the distance from the far end of every line with data to the data's destination, without
/// the last lines, which end at the destination.
pub fn distances(plan: &LabPlan) -> BTreeMap<Direction, usize> {
    let mut found = BTreeMap::<Direction, (bool, usize)>::new();
    for flow in &plan.flows {
        // The last line is left out by `zip`: nothing pauses behind it.
        let rest = (1..flow.way.len()).rev();
        for (line, distance) in flow.way.iter().zip(rest) {
            // Ordered pairs: another flow wins over a victim at any distance, and of equals the farthest wins.
            let this = (!flow.victim, distance);
            let farthest = found.entry(*line).or_insert(this);
            *farthest = this.max(*farthest);
        }
    }
    found.into_iter().map(|(line, (_, distance))| (line, distance)).collect()
}

/// Most flows with a distribution of their own: those with the most messages.
pub const FLOWS_MAX: usize = 64;

/// Steps in the lower part of a distribution, and the share of the messages beyond a step that the
/// next one is to reach at least.
const STEPS: f64 = 300.0;
const TAIL: f64 = 0.1;

/// Completion times of messages, from a message becoming due to the acknowledgement of its last byte.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CompletionTimes {
    /// Number of completed messages.
    pub messages: u64,
    /// Times, to three digits and ascending, with the number of messages that took no longer. The last
    /// one is the exact maximum.
    pub steps: Vec<(Duration, u64)>,
}

impl CompletionTimes {
    /// Takes a distribution; steps that no plot shows are left out.
    fn new(times: &Latency) -> Self {
        let messages = times.count();
        let mut steps: Vec<(Duration, u64)> = Vec::new();
        let mut kept = 0;
        for (time, seen) in times.cumulative() {
            let (new, left) = ((seen - kept) as f64, (messages - kept) as f64);
            // The tail gets steps by what is left beyond it, as it is what such a plot is for.
            if new >= messages as f64 / STEPS || new >= left * TAIL {
                steps.push((time, seen));
                kept = seen;
            }
        }
        Self { messages, steps }
    }
}

/// Completion times of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Completions {
    /// Messages of all flows; `None` if none was completed.
    pub all: Option<CompletionTimes>,
    /// Flows with several messages: their places in the lab, in its order.
    pub flows: Vec<(usize, CompletionTimes)>,
}

/// Returns the distributions of a run.
pub(crate) fn completions(plan: &LabPlan, nodes: &mut impl Population) -> Completions {
    let ends = ends(plan);
    let all = all_completions(&ends, nodes);
    let mut flows: Vec<(usize, CompletionTimes)> = Vec::new();
    for (place, ends) in ends.iter().enumerate() {
        let Source::Answered(n, _) = ends.source else { continue };
        let times = station(nodes, ends.from).completion_times(n).filter(|times| times.count() > 0);
        flows.extend(times.map(|times| (place, CompletionTimes::new(times))));
    }
    flows.sort_by_key(|(place, times)| (core::cmp::Reverse(times.messages), *place));
    flows.truncate(FLOWS_MAX);
    flows.sort_by_key(|(place, _)| *place);
    Completions { all: (all.count() > 0).then(|| CompletionTimes::new(&all)), flows }
}

/// Returns the completion times of all messages of all flows.
fn all_completions(ends: &[Ends], nodes: &mut impl Population) -> Latency {
    let mut all = Latency::default();
    for ends in ends {
        let Source::Answered(n, _) = ends.source else { continue };
        let sender = station(nodes, ends.from);
        let only = sender.sender(n).and_then(|s| s.completions.fct);
        match (sender.completion_times(n), only) {
            (Some(times), _) => all.add(times),
            // A flow of a single message has no histogram of its own.
            (None, Some(took)) => all.record(took),
            (None, None) => {}
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_is_one_for_equals_and_one_in_n_for_one_alone() {
        assert_eq!(jain(&[3.0, 3.0, 3.0]), Some(1.0));
        assert_eq!(jain(&[5.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!((jain(&[1.0]), jain(&[0.0, 0.0])), (None, None));
    }

    #[test]
    fn few_messages_have_a_step_each_and_many_keep_the_tail() {
        let mut few = Latency::default();
        for us in [7, 3, 3, 900] {
            few.record(Duration::from_micros(us));
        }
        let few = CompletionTimes::new(&few);
        assert_eq!(few.steps.iter().map(|(_, seen)| *seen).collect::<Vec<_>>(), [2, 3, 4]);
        assert_eq!(few.steps[2].0, Duration::from_micros(900));
        let mut many = Latency::default();
        for n in 0..1_000_000 {
            many.record(Duration::from_nanos(1_000 + n));
        }
        let many = CompletionTimes::new(&many);
        assert!((200..=500).contains(&many.steps.len()), "{}", many.steps.len());
        assert!(many.steps.windows(2).all(|two| two[0].0 <= two[1].0 && two[0].1 < two[1].1));
        assert_eq!(many.steps.last(), Some(&(Duration::from_nanos(1_000_999), 1_000_000)));
        let beyond = |share: f64| many.steps.iter().filter(|s| s.1 as f64 > share * 1e6).count();
        assert!(beyond(0.99) > 9, "{} steps beyond 99 %", beyond(0.99));
    }
}
