//! Losses of flows that their senders may believe lossless.
//!
//! Losses of flows that are lossless on their whole way are taken from the counters of the flows alone, so that no
//! place where a frame can end is left out. Other flows are lossless at their first switch and lossy at a later one,
//! which may drop their frames, so none of its counters calls that a lossless loss. For the sender, which the first
//! switch pauses, it is one.

use super::{FlowOutcome, LineLosses, NodeOutcome};
use crate::plan::{Bound, Ends, LabPlan, LossyHop, bound, ends};
use crate::population::Ended;
use crate::record::priority;
use buffer::GroupKind;
use contracts::stats::{DropKind, DropReason};
use ground::units::{Mac, Priority};
use host::plan::stream::Path;
use serde::Serialize;
use sim::{End, LinkPlan, NetworkPlan, NodeId, NodeKind};
use tester::figures::Transmit;
use tester::plan::{FlowKind, FlowPlan};
use tester::report::Report;

/// Losses of lossless flows of the lab and of its traffic generator.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LosslessFlows {
    /// Names of the flows that lost frames. If none did: those with frames in the network, and without any such
    /// frame those that are not done.
    pub flows: Vec<String>,
    /// Frames that neither arrived nor are in the network at the end.
    pub lost_frames: u64,
    /// Frames that are in the network at the end of a run that was to last until all had arrived.
    pub unfinished_frames: u64,
    /// True if that run ended before its traffic.
    pub unfinished: bool,
}

/// A lossless flow at the end of a run.
struct Ending<'f> {
    name: &'f String,
    lost: u64,
    /// Frames on the way.
    pending: u64,
    /// True if the flow has sent all of its frames.
    done: bool,
}

/// Returns the losses of all lossless flows; `None` if all is well with them, or there are none.
pub(super) fn lossless_flows(
    plan: &LabPlan,
    ended: &Ended,
    flows: &[FlowOutcome],
    tester: Option<&Report>,
) -> Option<LosslessFlows> {
    let done = flows.iter().zip(ends(plan)).map(|(flow, ends)| is_done(plan, ended, flow, &ends));
    let own = flows.iter().zip(done).filter(|(flow, _)| flow.lossless);
    let own = own.map(|(flow, done)| Ending {
        name: &flow.name,
        lost: flow.loss_frames,
        pending: flow.pending_frames,
        done,
    });
    let of_tester = plan
        .tester
        .iter()
        .flat_map(|tester| tester.plan.flows.iter().map(|flow| (flow, tester.hosts[flow.tx])));
    let of_tester = of_tester.zip(tester.iter().flat_map(|report| &report.flows));
    let of_tester = of_tester.filter(|((flow, host), _)| is_lossless(&plan.network, flow, *host));
    let of_tester = of_tester.map(|((plan, _), flow)| {
        // A frame to several ports has to arrive at each of them.
        let wanted = flow.frames_tx.saturating_mul(plan.rx.len().max(1) as u64);
        let pending = flow.queued_frames.unwrap_or(0);
        Ending {
            name: &flow.name,
            lost: wanted.saturating_sub(flow.frames_rx + pending),
            pending,
            done: flow.transmit == Transmit::Stopped.name(),
        }
    });
    let all: Vec<Ending<'_>> = own.chain(of_tester).collect();
    // A run of a fixed time may end with frames under way: that is no loss and nothing is unfinished.
    let unfinished = plan.until_done && !ended.quiet && !all.is_empty();
    let pending = |flow: &Ending<'_>| if unfinished { flow.pending } else { 0 };
    // Losses are named before the flows that only need more time.
    let lost_frames: u64 = all.iter().map(|flow| flow.lost).sum();
    let unfinished_frames: u64 = all.iter().map(pending).sum();
    let concerns = |flow: &&Ending<'_>| match (lost_frames, unfinished_frames) {
        (0, 0) => !flow.done,
        // One that has sent nothing yet has no frame on the way.
        (0, _) => pending(flow) > 0,
        _ => flow.lost > 0,
    };
    let found = all.iter().filter(concerns);
    (lost_frames > 0 || unfinished).then(|| LosslessFlows {
        flows: found.map(|flow| flow.name.clone()).collect(),
        lost_frames,
        unfinished_frames,
        unfinished,
    })
}

/// True if a flow of the lab has sent all that the lab asks of it.
fn is_done(plan: &LabPlan, ended: &Ended, flow: &FlowOutcome, ends: &Ends) -> bool {
    match bound(plan, ends) {
        Bound::Frames(frames) => flow.tx_frames >= frames,
        Bound::Messages => flow.transport.is_some_and(|transport| transport.sender.done),
        Bound::Time(stop) => ended.at >= stop,
    }
}

/// True if the generator's port obeys pauses of a flow with probes, and every switch on the way of its
/// first frame takes it for a lossless priority.
fn is_lossless(network: &NetworkPlan, flow: &FlowPlan, host: NodeId) -> bool {
    match &flow.kind {
        FlowKind::Stream(stream) => match stream.path {
            Path::Data(priority) if stream.template.probe_at.is_some() => {
                is_lossless_way(network, host, &stream.template.headers, priority)
            }
            Path::Data(_) | Path::Control => false,
        },
        FlowKind::Roce(plan) => {
            let mut head = [plan.dst.0, plan.src.0].concat();
            if let Some(tag) = plan.tag {
                let vid = tag.vid.map_or(0, |vid| vid.get());
                // A C-TAG: EtherType 0x8100, PCP in the upper three bits, and the VID.
                head.extend([0x81, 0, tag.pcp.get() << 5 | (vid >> 8) as u8, vid as u8]);
            }
            head.extend([8, 0, 0x45, plan.dscp.get() << 2]);
            is_lossless_way(network, host, &head, plan.priority)
        }
    }
}

/// Follows a frame as far as the switches know its address: behind that it is flooded.
fn is_lossless_way(network: &NetworkPlan, host: NodeId, head: &[u8], sent: Priority) -> bool {
    let mut head = head.to_vec();
    head.resize(head.len().max(20), 0);
    let Some(dst) = head.first_chunk().map(|dst| Mac(*dst)) else { return false };
    let NodeKind::Host(station) = &network.nodes[host.index()].kind else { return false };
    let peer = |end: End| {
        let far = |link: &LinkPlan| match (link.a == end, link.b == end) {
            (true, _) => Some(link.b),
            (_, true) => Some(link.a),
            _ => None,
        };
        network.links.iter().find_map(far)
    };
    let (mut obeyed, mut from) =
        (station.flow_control.obeys(), End { node: host, port: ground::units::PortId::MIN });
    // No way is longer than the network.
    for hop in 0..network.nodes.len() {
        let Some(End { node, port }) = peer(from) else { return hop > 0 };
        let NodeKind::Switch(switch) = &network.nodes[node.index()].kind else { return hop > 0 };
        let classify = &switch.ports[port.index()].classify;
        let priority = priority(classify, &head);
        let group = &switch.buffer.groups[port.index()][classify.group[priority.index()].index()];
        // The first pause has to stop the priority that the sender's queue has, and not only the one in the frame.
        let heard = obeyed.contains(priority) && (hop > 0 || priority == sent);
        if !heard || !matches!(group.kind, GroupKind::Lossless { .. }) {
            return false;
        }
        let one =
            switch.bridge.statics.iter().find(|entry| entry.mac == dst).map(|entry| entry.port);
        let several =
            || switch.bridge.spread.iter().find(|entry| entry.mac == dst)?.ports.first().copied();
        let Some(next) = one.or_else(several) else { return true };
        obeyed = switch.ports[next.index()].pfc.mode.obeys();
        from = End { node, port: next };
    }
    true
}

/// Losses of such flows.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LossyWay {
    /// Names of the flows.
    pub flows: Vec<String>,
    /// Switches that classify them as lossy.
    pub switches: Vec<String>,
    /// Lower bound of their frames that these switches dropped because the buffer was full.
    pub lost_frames: u64,
    /// Further frames that switches may have dropped, or links and watchdogs may have lost; the
    /// counters cannot tell.
    pub unknown_frames: u64,
}

/// Returns the losses of all such flows, `None` without such flows.
pub(super) fn lossy_way(
    plan: &LabPlan,
    flows: &[FlowOutcome],
    nodes: &[NodeOutcome],
    lines: &LineLosses,
) -> Option<LossyWay> {
    let mixed = || plan.flows.iter().zip(flows).filter(|(flow, _)| !flow.lossy_at.is_empty());
    mixed().next()?;
    let mut hops: Vec<LossyHop> = mixed().flat_map(|(flow, _)| flow.lossy_at.clone()).collect();
    hops.sort_unstable();
    hops.dedup();
    let lost: u64 = mixed().map(|(_, outcome)| outcome.loss_frames).sum();
    let dropped: u64 = hops.iter().map(|hop| congestion_drops(nodes, hop)).sum();
    // A switch counts drops by port and priority, so frames of other flows may be among them.
    let most = lost.min(dropped);
    let others = lines.damaged + lines.lost + lines.link_down + lines.secy + other_drops(nodes);
    // If every other loss had hit these flows, the rest would still be losses at these switches.
    let least = most.min(lost.saturating_sub(others));
    let mut switches: Vec<_> =
        hops.iter().map(|hop| nodes[hop.node.index()].name().to_owned()).collect();
    switches.dedup();
    Some(LossyWay {
        flows: mixed().map(|(flow, _)| flow.name.clone()).collect(),
        switches,
        lost_frames: least,
        unknown_frames: most - least,
    })
}

/// Returns the frames of one priority that a switch dropped at one ingress port because the buffer
/// was full.
fn congestion_drops(nodes: &[NodeOutcome], hop: &LossyHop) -> u64 {
    let NodeOutcome::Switch(switch) = &nodes[hop.node.index()] else { return 0 };
    let Some(port) = switch.ports.get(hop.port.index()) else { return 0 };
    let port = &port.summary.port.counters;
    let of_port = DropReason::ALL.iter().filter(|reason| reason.kind() == DropKind::Congestion);
    let of_port = of_port.map(|reason| port.drops.get(*reason)).sum::<u64>();
    of_port.min(port.priorities[hop.priority.index()].dropped)
}

/// Returns the frames that switches dropped for other reasons that apply to frames of flows.
fn other_drops(nodes: &[NodeOutcome]) -> u64 {
    let others = DropReason::ALL
        .iter()
        .filter(|reason| matches!(reason.kind(), DropKind::Watchdog | DropKind::Link));
    let switches = nodes.iter().filter_map(|node| match node {
        NodeOutcome::Switch(switch) => Some(switch),
        NodeOutcome::Host(_) => None,
    });
    let of = |reason| switches.clone().map(move |switch| switch.drops.get(reason)).sum::<u64>();
    others.map(|reason| of(*reason)).sum()
}
