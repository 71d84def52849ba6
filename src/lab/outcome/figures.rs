//! The few numbers by which runs of one lab under different switches are compared.

use std::collections::BTreeMap;

use serde::Serialize;

use super::gather::station;
use super::{FlowOutcome, Nanos, NodeOutcome, SwitchOutcome};
use crate::host::Latency;
use crate::lab::ends::{Ends, Source, ends, transport};
use crate::lab::plan::LabPlan;
use crate::lab::population::{HostCounts, Population};
use crate::lab::record::Recorder;
use crate::sim::{Direction, NodeKind};
use crate::time::Duration;

/// What a run comes to.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Figures {
    /// How long messages took, those of all flows together; nothing if none was completed.
    pub fct: Option<CompletionOutcome>,
    /// What flows that are victims got together while rates were measured, of payload, in bit/s;
    /// nothing in a lab without victims.
    pub victim_bps: Option<f64>,
    /// The most that any one switch held: the peak of its shared pool and those of all its headroom.
    /// An upper bound, as not all of them need be at one time.
    pub buffer_peak_bytes: u64,
    /// The most that any one queue of a switch held.
    pub queue_peak_bytes: u64,
    /// Frames of flows that were lost, whether they were sent again or not.
    pub lost_frames: u64,
    /// Jain's index of what flows got that are no victims: 1 if all got the same, 1/n if one of n
    /// got everything. A flow with messages got a message's octets in the mean time that one took;
    /// another one its payload while rates were measured. Nothing for less than two flows.
    pub fairness: Option<f64>,
    /// Pauses by how far from the destination they were obeyed, the nearest first.
    pub hops: Vec<HopOutcome>,
    /// Messages about congestion that were sent.
    pub signals: Signals,
}

/// Messages about congestion, by kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Signals {
    /// Congestion notifications of RoCEv2 (CNP), by receivers and by switches.
    pub cnps: u64,
    /// Quantized congestion notifications (CNM).
    pub cnms: u64,
    /// Source flow control messages (SFCM).
    pub sfcms: u64,
    /// Congestion isolation messages (CIM), to isolate flows and to end that.
    pub cims: u64,
}

/// How long messages took, from being due to the acknowledgement of their last octet. Percentiles
/// are exact to three digits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct CompletionOutcome {
    /// How many were completed.
    pub messages: u64,
    /// The shortest.
    pub min_ns: Nanos,
    /// Half took no longer.
    pub p50_ns: Nanos,
    /// 99 of 100 took no longer.
    pub p99_ns: Nanos,
    /// The longest.
    pub max_ns: Nanos,
}

/// The lines that lead to switches equally far from the destination, and how often they were paused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct HopOutcome {
    /// How many lines there are from the switch that pauses to the destination of the flows that it
    /// pauses, at least 1. Where flows of several destinations share a line, the farthest; victims
    /// count where nobody else comes by.
    pub distance: usize,
    /// Whether it is hosts that are paused, or else switches.
    pub hosts: bool,
    /// How many lines.
    pub lines: usize,
    /// How often a priority of them went from running to paused.
    pub pauses: u64,
    /// How long priorities of them were paused, all together.
    pub paused_ns: Nanos,
    /// The longest that one was paused without a break.
    pub longest_ns: Nanos,
}

/// The figures of a run whose flows and nodes are known.
pub(super) fn figures(
    plan: &LabPlan,
    recorder: &Recorder,
    nodes: &mut impl Population,
    flows: &[FlowOutcome],
    outcomes: &[NodeOutcome],
) -> Figures {
    let switches = || outcomes.iter().filter_map(NodeOutcome::as_switch);
    let priorities = switches().flat_map(|s| &s.ports).flat_map(|port| &port.counters.priorities);
    let told = |name: &str| switches().filter_map(|s| s.congestion.get(name)).sum::<u64>();
    let ends = ends(plan);
    let (victims, others): (Vec<_>, Vec<_>) =
        plan.flows.iter().zip(flows).zip(&ends).partition(|((flow, _), _)| flow.victim);
    let message = |ends| transport(plan, ends).and_then(|t| t.message).map(|m| m.bytes);
    let got: Vec<f64> =
        others.iter().map(|((_, flow), ends)| goodput(flow, message(ends))).collect();
    Figures {
        fct: completions(&ends, nodes),
        victim_bps: (!victims.is_empty())
            .then(|| victims.iter().map(|((_, flow), _)| flow.payload_bps).sum()),
        buffer_peak_bytes: switches().map(buffer_peak).max().unwrap_or(0),
        queue_peak_bytes: priorities.map(|p| p.queue_peak_bytes).max().unwrap_or(0),
        lost_frames: flows.iter().map(|flow| flow.loss_frames).sum(),
        fairness: jain(&got),
        hops: hops(plan, recorder),
        signals: Signals {
            cnps: flows.iter().filter_map(|f| f.transport).map(|t| t.cnps_sent).sum::<u64>()
                + told("fast_cnp_sent"),
            cnms: told("cpTransmittedCnms"),
            sfcms: told("sfcTransmittedSFCMs"),
            cims: told("ci_cim_sent_add") + told("ci_cim_sent_del"),
        },
    }
}

/// The times of all messages of all flows.
fn completions(ends: &[Ends], nodes: &mut impl Population) -> Option<CompletionOutcome> {
    let mut all = Latency::default();
    for ends in ends {
        let Source::Answered(n, _) = ends.source else { continue };
        let sender = station(nodes, ends.from);
        let only = sender.sender(n).and_then(|s| s.completions.fct);
        match (sender.completion_times(n), only) {
            (Some(times), _) => all.add(times),
            (None, Some(took)) => all.record(took),
            (None, None) => {}
        }
    }
    let percentile = |p| Nanos(all.percentile(p));
    (all.count() > 0).then(|| CompletionOutcome {
        messages: all.count(),
        min_ns: Nanos(all.min()),
        p50_ns: percentile(50.0),
        p99_ns: percentile(99.0),
        max_ns: Nanos(all.max()),
    })
}

fn buffer_peak(switch: &SwitchOutcome) -> u64 {
    let priorities = switch.ports.iter().flat_map(|port| &port.counters.priorities);
    switch.shared_pool.peak_bytes + priorities.map(|p| p.headroom_peak_bytes).sum::<u64>()
}

/// What a flow got whose messages have so many octets, in bit/s.
fn goodput(flow: &FlowOutcome, message: Option<u64>) -> f64 {
    let by_message = message.zip(flow.transport).and_then(|(octets, t)| {
        let took = t.fct_mean_ns?.0.as_secs_f64();
        (took > 0.0).then_some(8.0 * octets as f64 / took)
    });
    by_message.unwrap_or(flow.payload_bps)
}

/// Jain's fairness index: the square of the sum over n times the sum of the squares.
fn jain(shares: &[f64]) -> Option<f64> {
    let (sum, squares) = shares.iter().fold((0.0, 0.0), |(s, q), x| (s + x, q + x * x));
    let index = || sum * sum / (shares.len() as f64 * squares);
    // Rounding may lift it above what it is for equals.
    (shares.len() > 1 && squares > 0.0).then(|| index().min(1.0))
}

/// Pauses by distance from the destination.
fn hops(plan: &LabPlan, recorder: &Recorder) -> Vec<HopOutcome> {
    let network = &plan.network;
    let mut by_hop = BTreeMap::<(usize, bool), HopOutcome>::new();
    for (line, distance) in distances(plan) {
        let link = &network.links[line.link().index()];
        let hosts = matches!(network.nodes[link.from(line).node.index()].kind, NodeKind::Host(_));
        let (paused_ns, longest_ns) = (Nanos::default(), Nanos::default());
        let hop = by_hop.entry((distance, hosts)).or_insert(HopOutcome {
            distance,
            hosts,
            lines: 0,
            pauses: 0,
            paused_ns,
            longest_ns,
        });
        hop.lines += 1;
        // Pauses of what a line brings come the other way.
        for (_, paused) in recorder.pauses(line.reverse()) {
            hop.pauses += paused.pauses;
            hop.paused_ns.0 += paused.total;
            hop.longest_ns.0 = Duration::max(hop.longest_ns.0, paused.longest);
        }
    }
    by_hop.into_values().collect()
}

/// How far the end of every line that has data is from the data's destination, but for the last
/// lines, which end there.
fn distances(plan: &LabPlan) -> BTreeMap<Direction, usize> {
    let mut found = BTreeMap::<Direction, (bool, usize)>::new();
    for flow in &plan.flows {
        let rest = (1..flow.way.len()).rev();
        for (line, distance) in flow.way.iter().zip(rest) {
            let this = (!flow.victim, distance);
            let farthest = found.entry(*line).or_insert(this);
            *farthest = this.max(*farthest);
        }
    }
    found.into_iter().map(|(line, (_, distance))| (line, distance)).collect()
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
    fn lines_are_as_far_away_as_switches_pause_them() {
        let text = "\
topology: {parking_lot: {switches: 3, hosts_per_switch: [1, 0, 1]}}
flows: [{from: h1, to: r, priority: 3}, {from: h1, to: h2, priority: 3, victim: true}]
";
        let (plan, _) = crate::lab::parse("f.yaml", text).unwrap();
        let name = |line: Direction| {
            let link = &plan.network.links[line.link().index()];
            plan.network.nodes[link.from(line).node.index()].name()
        };
        let found: Vec<_> = distances(&plan).into_iter().map(|(l, d)| (name(l), d)).collect();
        let mut found = found;
        found.sort_unstable();
        assert_eq!(found, [("h1", 3), ("s1", 2), ("s2", 1)]);
    }
}
