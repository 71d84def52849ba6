//! Finds the plans of both ends of every flow.

use super::message_log::ENDLESS;
use super::plan::{LabFlow, LabPlan};
use ground::time::Instant;
use host::{StationPlan, TransportPlan};
use sim::{NodeId, NodeKind};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Ends {
    /// Sending host.
    pub(super) from: NodeId,
    /// Index among the sending host's flows or senders.
    pub(super) source: Source,
    /// Receiving host.
    pub(super) to: NodeId,
    /// Index among the receiving host's sinks.
    pub(super) sink: usize,
}

/// The sending end of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Source {
    /// A flow without acknowledgements: its index among the host's flows.
    OpenLoop(usize),
    /// A flow with acknowledgements: its indexes among the senders of one host and the receivers of
    /// the other.
    Answered(usize, usize),
}

/// Returns the ends of all flows, in the order of the lab.
///
/// # Panics
/// If a flow of the lab is not in its hosts' plans; a resolved plan has all of them.
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

/// Returns the time at which the first frame of a flow is due, by its sender's clock.
pub(super) fn start(plan: &LabPlan, ends: &Ends) -> Instant {
    let host = host(plan, ends.from);
    match ends.source {
        Source::OpenLoop(n) => host.flows[n].start,
        Source::Answered(n, _) => host.senders[n].start,
    }
}

/// What ends a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Bound {
    /// This number of frames.
    Frames(u64),
    /// Its messages.
    Messages,
    /// A time, by its sender's clock; [`Instant::NEVER`] for none.
    Time(Instant),
}

/// Returns what ends a flow.
pub(super) fn bound(plan: &LabPlan, ends: &Ends) -> Bound {
    let host = host(plan, ends.from);
    match ends.source {
        Source::OpenLoop(n) => {
            host.flows[n].frames.map_or(Bound::Time(host.flows[n].stop), Bound::Frames)
        }
        Source::Answered(n, _) => {
            let flow = &host.senders[n];
            let endless =
                flow.message.is_none_or(|m| m.count >= ENDLESS) && flow.work.list.is_none();
            if endless { Bound::Time(flow.stop) } else { Bound::Messages }
        }
    }
}

/// Returns the transport of a flow with acknowledgements.
pub(super) fn transport<'a>(plan: &'a LabPlan, ends: &Ends) -> Option<&'a TransportPlan> {
    match ends.source {
        Source::OpenLoop(_) => None,
        Source::Answered(n, _) => Some(&host(plan, ends.from).senders[n]),
    }
}

fn host(plan: &LabPlan, id: NodeId) -> &StationPlan {
    match &plan.network.nodes[id.index()].kind {
        NodeKind::Host(station) => station,
        NodeKind::Switch(switch) => panic!("{} is no host", switch.name),
    }
}
