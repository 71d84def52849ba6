//! Losses of flows that are lossless at their first switch and lossy at a later one.
//!
//! A switch that takes a frame for a lossy priority drops it as it may, so no counter of that switch calls
//! it a lossless loss. To its sender, whom the first switch pauses, it is one.

use serde::Serialize;

use super::{FlowOutcome, LineLosses, NodeOutcome, SwitchPort};
use crate::lab::plan::{LabPlan, LossyHop};
use crate::stats::{DropKind, DropReason};

/// Losses of such flows.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LossyWay {
    /// The flows, by name.
    pub flows: Vec<String>,
    /// The switches that take them for lossy.
    pub switches: Vec<String>,
    /// Frames of them that these switches dropped for want of buffer, at least.
    pub lost_frames: u64,
    /// Further frames that they may have dropped, or that links and watchdogs may have lost: the counters
    /// do not tell.
    pub unknown_frames: u64,
}

/// The losses of all such flows. None where there is no such flow.
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
    let most = lost.min(dropped);
    let others = lines.damaged + lines.lost + lines.link_down + lines.secy + other_drops(nodes);
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

/// Frames that a switch dropped for want of buffer at one of its ports, of one priority.
fn congestion_drops(nodes: &[NodeOutcome], hop: &LossyHop) -> u64 {
    let NodeOutcome::Switch(switch) = &nodes[hop.node.index()] else { return 0 };
    let Some(SwitchPort { counters: port, .. }) = switch.ports.get(hop.port.index()) else {
        return 0;
    };
    let of_port = DropReason::ALL.iter().filter(|reason| reason.kind() == DropKind::Congestion);
    let of_port = of_port.filter_map(|reason| port.drops.get(reason.name())).sum::<u64>();
    of_port.min(port.priorities[hop.priority.index()].dropped_frames)
}

/// Frames that switches dropped for other reasons that a frame of a flow can meet.
fn other_drops(nodes: &[NodeOutcome]) -> u64 {
    let others = DropReason::ALL
        .iter()
        .filter(|reason| matches!(reason.kind(), DropKind::Watchdog | DropKind::Link));
    let switches = nodes.iter().filter_map(|node| match node {
        NodeOutcome::Switch(switch) => Some(switch),
        NodeOutcome::Host(_) => None,
    });
    let of = |name: &'static str| {
        switches.clone().filter_map(move |switch| switch.drops.get(name)).sum::<u64>()
    };
    others.map(|reason| of(reason.name())).sum()
}
