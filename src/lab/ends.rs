//! Where the two ends of every flow are among what its hosts were told.

use super::plan::{LabFlow, LabPlan};
use crate::host::{StationPlan, TransportPlan};
use crate::sim::{NodeId, NodeKind};
use crate::time::Instant;

/// The ends of one flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Ends {
    /// The host that sends it.
    pub(super) from: NodeId,
    /// Its place among what that host sends.
    pub(super) source: Source,
    /// The host that receives it.
    pub(super) to: NodeId,
    /// Its place among what that host counts.
    pub(super) sink: usize,
}

/// The sending end of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Source {
    /// Nobody answers it: its place among the host's flows.
    OpenLoop(usize),
    /// Its places among the senders of one host and the receivers of the other.
    Answered(usize, usize),
}

/// The ends of all flows, in the order of the lab.
///
/// # Panics
/// If a flow of the lab is none of its hosts', which whoever made the plan has seen to.
pub(super) fn ends(plan: &LabPlan) -> Vec<Ends> {
    let find = |flow: &LabFlow| {
        let (from, to) = (host(plan, flow.from), host(plan, flow.to));
        let of = |plans: &[TransportPlan]| plans.iter().position(|t| t.id == flow.id);
        let (source, sink) = match from.flows.iter().position(|f| f.id == flow.id) {
            Some(n) => (Source::OpenLoop(n), to.expects.iter().position(|id| *id == flow.id)?),
            None => {
                let receiver = of(&to.receivers)?;
                (Source::Answered(of(&from.senders)?, receiver), to.expects.len() + receiver)
            }
        };
        Some(Ends { from: flow.from, source, to: flow.to, sink })
    };
    let found = plan.flows.iter().map(|flow| {
        find(flow).unwrap_or_else(|| panic!("flow {} is not at both of its hosts", flow.name))
    });
    found.collect()
}

/// When the first frame of a flow is due, on its sender's clock.
pub(super) fn start(plan: &LabPlan, ends: &Ends) -> Instant {
    let host = host(plan, ends.from);
    match ends.source {
        Source::OpenLoop(n) => host.flows[n].start,
        Source::Answered(n, _) => host.senders[n].start,
    }
}

/// How the ends of a flow talk, if its receiver answers.
pub(super) fn transport<'a>(plan: &'a LabPlan, ends: &Ends) -> Option<&'a TransportPlan> {
    match ends.source {
        Source::OpenLoop(_) => None,
        Source::Answered(n, _) => Some(&host(plan, ends.from).senders[n]),
    }
}

/// A host's plan.
fn host(plan: &LabPlan, id: NodeId) -> &StationPlan {
    match &plan.network.nodes[id.index()].kind {
        NodeKind::Host(station) => station,
        NodeKind::Switch(switch) => panic!("{} is no host", switch.name),
    }
}
