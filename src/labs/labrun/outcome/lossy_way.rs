//! Losses of flows that are lossless at their first switch and lossy at a later one.
//!
//! A switch that classifies a frame to a lossy priority may drop it, so none of its counters calls
//! that a lossless loss. For the sender, which the first switch pauses, it is one.

use serde::Serialize;

use super::{FlowOutcome, LineLosses, NodeOutcome};
use crate::plan::{LabPlan, LossyHop};
use contracts::stats::{DropKind, DropReason};

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
