//! Losses of flows that are lossless on their whole way, by whatever took the frames: from the counters of
//! the flows alone, so that no place where a frame can end is left out.

use serde::Serialize;

use super::FlowOutcome;
use super::ended::Ended;
use crate::ends::{Bound, Ends, bound, ends};
use crate::plan::LabPlan;
use crate::record::priority;
use ::tester::plan::{FlowKind, FlowPlan};
use ::tester::report::Report;
use ::tester::figures::Transmit;
use buffer::GroupKind;
use ground::units::{Mac, Priority};
use host::plan::stream::Path;
use sim::{End, LinkPlan, NetworkPlan, NodeId, NodeKind};

/// Losses of lossless flows of the lab and of its traffic generator.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LosslessFlows {
    /// Names of the flows that lost frames. If none did: those that are not done.
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
    let unfinished = plan.until_done && !ended.quiet && !all.is_empty();
    let pending = |flow: &Ending<'_>| if unfinished { flow.pending } else { 0 };
    // Losses are named before the flows that only need more time.
    let lost_frames: u64 = all.iter().map(|flow| flow.lost).sum();
    let concerns = |flow: &&Ending<'_>| match lost_frames {
        0 => pending(flow) > 0 || !flow.done,
        _ => flow.lost > 0,
    };
    let found = all.iter().filter(concerns);
    (lost_frames > 0 || unfinished).then(|| LosslessFlows {
        flows: found.map(|flow| flow.name.clone()).collect(),
        lost_frames,
        unfinished_frames: all.iter().map(pending).sum(),
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
