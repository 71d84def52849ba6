//! Priority and DSCP of a flow, whether its path is lossless, and whether a host obeys the congestion messages
//! about it.

use std::collections::BTreeMap;

use super::carrier::Carrier;
use super::parts::{Context, KindOf};
use crate::raw::{self, Short, TransportWord};
use crate::resolve::graph::Source;
use crate::resolve::routes::Hop;
use buffer::GroupKind;
use config::{Cx, Place};
use ground::units::{Dscp, PortId, Priority};
use host::{Marking, StationPlan};
use labrun::{FlowSignals, LabFlow, LossyHop};
use sim::{NodeId, NodeKind, NodePlan};
use switch::{ClassifyPlan, CongestionPlan, Trust};

/// Returns the priority to which a switch classifies a flow's frames: by DSCP, or the port's
/// default.
fn taken_for(classify: &ClassifyPlan, carrier: &Carrier, dscp: Dscp) -> Priority {
    let by_dscp = matches!(classify.trust, Trust::Dscp | Trust::PcpThenDscp | Trust::DscpThenPcp);
    if by_dscp && !matches!(carrier, Carrier::Ethernet) {
        classify.dscp[dscp.index()]
    } else {
        classify.default
    }
}

/// Returns the priority and the DSCP of a flow.
pub(super) fn marking(
    cx: &mut Cx,
    source: &Source<'_>,
    kind: &KindOf,
    path: &[Hop],
    context: &Context<'_, '_>,
) -> Marking {
    // Class selectors (RFC 2474): the upper three bits of a DSCP are the priority.
    let class_selector = |p: Priority| Dscp::new(p.get() * 8).unwrap_or(Dscp::MIN);
    let usual = kind.dscp.or(kind.priority.map(class_selector)).unwrap_or(Dscp::MIN);
    let first = path.first().and_then(|hop| Some((context.switch(hop)?, hop.input)));
    let Some((switch, port)) = first else {
        // Two hosts without a switch between: the receiver does not classify, so the marking alone decides.
        let by_dscp = Priority::ALL[usual.index() / 8];
        return Marking { priority: kind.priority.unwrap_or(by_dscp), dscp: usual };
    };
    let classify = &switch.ports[port].classify;
    let taken = |dscp| taken_for(classify, &kind.carrier, dscp);
    let Some(priority) = kind.priority else {
        return Marking { priority: taken(usual), dscp: usual };
    };
    if kind.dscp.is_some() {
        // The file has said both, so both stay as they are: a wrong pair may be the point of the lab.
        if taken(usual) != priority {
            let what = format!(
                "`{}` takes frames with DSCP {usual} for priority {}, not {priority}, so its pauses \
                 of them do not stop this flow",
                switch.name,
                taken(usual)
            );
            cx.warn(&source.key("dscp"), what);
        }
        return Marking { priority, dscp: usual };
    }
    let all = (0..=Dscp::MAX.get()).filter_map(Dscp::new);
    // The usual DSCP first, then the least one that the switch maps to the priority.
    let fits = std::iter::once(usual).chain(all).find(|dscp| taken(*dscp) == priority);
    let dscp = fits.unwrap_or_else(|| {
        let what = format!(
            "no frame of this flow is priority {priority} to `{}`, but {}: see `trust`, `maps` and \
             `default_priority` of its profile",
            switch.name,
            taken(usual)
        );
        cx.error(&source.key("priority"), what);
        usual
    });
    Marking { priority, dscp }
}

/// Returns what tells the sender of a flow of congestion on its path.
pub(super) fn signals(
    kind: &KindOf,
    marked: Marking,
    path: &[Hop],
    context: &Context<'_, '_>,
) -> FlowSignals {
    let marking = path.iter().find_map(|hop| {
        let switch = context.switch(hop)?;
        let priority = taken_for(&switch.ports[hop.input].classify, &kind.carrier, marked.dscp);
        let egress = &switch.ports[hop.output];
        egress.ecn[egress.classify.class[priority.index()].index()]
    });
    FlowSignals {
        transport: kind.carrier.key(),
        dcqcn: matches!(&kind.carrier, Carrier::Roce(roce, _) if roce.dcqcn.is_some()),
        ecn: kind.ecn,
        marking,
    }
}

/// True if every switch on the path pauses before it drops, and the hop before it obeys.
pub(super) fn is_lossless(
    marked: Marking,
    path: &[Hop],
    carrier: &Carrier,
    context: &Context<'_, '_>,
) -> bool {
    path.iter().enumerate().all(|(i, hop)| {
        let Some(switch) = context.switch(hop) else { return false };
        let classify = &switch.ports[hop.input].classify;
        let priority = taken_for(classify, carrier, marked.dscp);
        let group = classify.group[priority.index()];
        let kind = switch.buffer.groups[hop.input][group.index()].kind;
        let heard = match i.checked_sub(1).map(|before| &path[before]) {
            // The host pauses the flow by the priority of its own queue.
            None => priority == marked.priority,
            Some(before) => context
                .switch(before)
                .is_some_and(|s| s.ports[before.output].pfc.mode.obeys().contains(priority)),
        };
        heard && matches!(kind, GroupKind::Lossless { .. })
    })
}

/// Warns of a flow that is lossless at some switches of its way and lossy at others. Returns those behind the first
/// one that classify it as lossy although the first one classifies it as lossless.
pub(super) fn lossy_at(
    cx: &mut Cx,
    source: &Source<'_>,
    marked: Marking,
    path: &[Hop],
    carrier: &Carrier,
    context: &Context<'_, '_>,
) -> Vec<LossyHop> {
    let hops = path.iter().filter_map(|hop| {
        let switch = context.switch(hop)?;
        let classify = &switch.ports[hop.input].classify;
        let priority = taken_for(classify, carrier, marked.dscp);
        // Each switch classifies again: by DSCP a frame may have another priority at the next one.
        let group = classify.group[priority.index()];
        let kind = switch.buffer.groups[hop.input][group.index()].kind;
        let port = PortId::new(hop.input as u16)?;
        let hop = LossyHop { node: NodeId(hop.node as u32), port, priority };
        Some((switch, hop, matches!(kind, GroupKind::Lossless { .. })))
    });
    let hops: Vec<_> = hops.collect();
    let Some((first, LossyHop { priority, .. }, is_lossless)) = hops.first() else {
        return Vec::new();
    };
    if !is_lossless {
        if let Some((switch, hop, _)) = hops.iter().find(|(.., lossless)| *lossless) {
            let what = format!(
                "frames of this flow are lossy at `{}` (priority {priority}) and lossless at `{}` (priority {}); \
                 frames that `{}` drops are no lost lossless frames",
                first.name, switch.name, hop.priority, first.name
            );
            cx.warn(&source.own, what);
        }
        return Vec::new();
    }
    let lossy = hops.iter().filter(|(.., lossless)| !lossless);
    for (switch, hop, _) in lossy.clone() {
        let by = match carrier {
            Carrier::Ethernet => "`default_priority`".to_owned(),
            _ => format!("DSCP {}", marked.dscp),
        };
        let what = format!(
            "frames of this flow are lossless at `{}` (priority {priority}) and lossy at `{}`, which \
             takes them for priority {} by {by}; frames that it drops count as lost lossless frames",
            first.name, switch.name, hop.priority
        );
        cx.warn(&source.own, what);
    }
    lossy.map(|(_, hop, _)| *hop).collect()
}

/// Warns of a flow whose congestion messages its source ignores.
pub(super) fn warn_of_unheard(
    cx: &mut Cx,
    entry: &Source<'_>,
    carrier: &Carrier,
    ends: (usize, usize),
    context: &Context<'_, '_>,
    source: Option<&StationPlan>,
) {
    let (Some(path), Some(source)) = (context.routes.path(context.graph, ends.0, ends.1), source)
    else {
        return;
    };
    let plans: Vec<&CongestionPlan> =
        path.iter().filter_map(|hop| context.switch(hop)).map(|s| &s.congestion).collect();
    let sfc = plans.iter().any(|p| p.sfc.as_ref().is_some_and(|sfc| sfc.point.enabled));
    let host = &source.name;
    if sfc && matches!(carrier, Carrier::Ethernet) {
        let what = "frames without IP have no address that a source flow control message could go to, \
                    so none pauses this flow; take another transport";
        cx.warn(&entry.key("transport"), what);
    } else if sfc
        && source.reactions.sfc.is_none()
        // A proxy at the first switch turns the message into PFC for the host, which obeys that.
        && plans.first().is_none_or(|p| p.proxy.is_none())
    {
        let what = format!(
            "no host obeys source flow control messages about this flow: give `{host}` `sfc: flow`, or \
             the profile of its switch `sfc_proxy: {{}}`"
        );
        cx.warn(&entry.own, what);
    }
    if plans.iter().any(|p| p.qcn.is_some()) && source.reactions.qcn.is_none() {
        let what = format!(
            "no host obeys the congestion notifications (QCN) about this flow: give `{host}` `qcn: {{}}`"
        );
        cx.warn(&entry.own, what);
    }
}

/// Warns of hosts that obey congestion messages which they never receive: no switch on the paths of their flows
/// sends any.
pub(super) fn warn_of_silence(
    cx: &mut Cx,
    place: &Place<'_>,
    flows: &[LabFlow],
    context: &Context<'_, '_>,
    nodes: &[NodePlan],
) {
    type Signal =
        (&'static str, &'static str, fn(&StationPlan) -> bool, fn(&CongestionPlan) -> bool);
    const SIGNALS: [Signal; 2] = [
        ("sfc", "source flow control messages", |h| h.reactions.sfc.is_some(), |s| s.sfc.is_some()),
        (
            "qcn",
            "congestion notifications (QCN)",
            |h| h.reactions.qcn.is_some(),
            |s| s.qcn.is_some(),
        ),
    ];
    let graph = context.graph;
    for (key, messages, obeys, sends) in SIGNALS {
        // True once a flow of the host passes a switch that sends them.
        let mut hosts: BTreeMap<usize, bool> = BTreeMap::new();
        for flow in flows {
            let NodeKind::Host(host) = &nodes[flow.from.index()].kind else { continue };
            if !obeys(host) {
                continue;
            }
            let hears = hosts.entry(flow.from.index()).or_default();
            let ends = [flow.from, flow.to].map(|node| graph.host_number(node.index()));
            *hears = *hears || {
                let path = context.routes.path(graph, ends[0], ends[1]).unwrap_or_default();
                let switches = path.iter().filter_map(|hop| context.switch(hop));
                { switches }.any(|switch| sends(&switch.congestion))
            };
        }
        let deaf = hosts.iter().filter(|(_, hears)| !**hears);
        let mut names = deaf.map(|(host, _)| graph.nodes[*host].name.as_str());
        let Some(first) = names.next() else { continue };
        let more = match names.count() {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        let what = format!(
            "no switch on the paths of their flows sends {messages}, which `{first}`{more} would obey: give the \
             profile of a switch `{key}: {{}}`, or leave out `{key}` of the hosts"
        );
        cx.warn(&place.key("nodes"), what);
    }
}

/// Warns of a lab with `fast_cnp` but without RoCEv2 flows.
pub(super) fn warn_of_unheard_messages(
    cx: &mut Cx,
    place: &Place<'_>,
    lab: &raw::Lab,
    context: &Context<'_, '_>,
) {
    let plans = context.switches.plans.iter().flatten();
    let notify = { plans }.any(|switch| switch.congestion.fast_cnp.is_some());
    let is_roce = |flow: &raw::Flow| match flow.over(&lab.defaults.flows).transport {
        Some(Short::Short(name)) => name == TransportWord::Roce,
        Some(Short::Long(long)) => long.roce.is_some(),
        None => false,
    };
    if notify && lab.otg.is_none() && !lab.flows.is_empty() && !lab.flows.iter().any(is_roce) {
        cx.warn(
            &place.key("flows"),
            "`fast_cnp` is for flows of RoCEv2, and none is one: `transport: roce`",
        );
    }
}
