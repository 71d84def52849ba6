//! Where the two ends of every flow are among what its hosts were told.

use super::plan::{LabFlow, LabPlan};
use crate::host::{FlowPlan, StationPlan};
use crate::sim::{NodeId, NodeKind};

/// The ends of one flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Ends {
    /// The host that sends it, and its place among what that host sends.
    pub(super) source: (NodeId, usize),
    /// The host that receives it, and its place among what that host counts.
    pub(super) sink: (NodeId, usize),
}

/// The ends of all flows, in the order of the lab.
///
/// # Panics
/// If a flow of the lab is none of its hosts', which whoever made the plan has seen to.
pub(super) fn ends(plan: &LabPlan) -> Vec<Ends> {
    let find = |flow: &LabFlow| {
        let source = host(plan, flow.from).flows.iter().position(|f| f.id == flow.id);
        let sink = host(plan, flow.to).expects.iter().position(|id| *id == flow.id);
        Some(Ends { source: (flow.from, source?), sink: (flow.to, sink?) })
    };
    let found = plan.flows.iter().map(|flow| {
        find(flow).unwrap_or_else(|| panic!("flow {} is not at both of its hosts", flow.name))
    });
    found.collect()
}

/// A flow, as the host that sends it was told.
pub(super) fn flow_plan<'a>(plan: &'a LabPlan, ends: &Ends) -> &'a FlowPlan {
    let (node, place) = ends.source;
    &host(plan, node).flows[place]
}

/// A host's plan.
fn host(plan: &LabPlan, id: NodeId) -> &StationPlan {
    match &plan.network.nodes[id.index()].kind {
        NodeKind::Host(station) => station,
        NodeKind::Switch(switch) => panic!("{} is no host", switch.name),
    }
}
