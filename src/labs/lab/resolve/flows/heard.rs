//! Warns of congestion messages that no host obeys.

use super::carrier::Carrier;
use super::parts::Context;
use crate::raw::{self, Short, TransportName};
use crate::resolve::graph::Source;
use config::{Cx, Place};
use host::StationPlan;
use switch::CongestionPlan;

/// Warns of a flow whose congestion messages its source ignores.
pub(super) fn check(
    cx: &mut Cx,
    at: &Source<'_>,
    carrier: &Carrier,
    (from, to): (usize, usize),
    context: &Context<'_, '_>,
    source: Option<&StationPlan>,
) {
    let (Some(way), Some(source)) = (context.routes.way(context.graph, from, to), source) else {
        return;
    };
    let plans: Vec<&CongestionPlan> =
        way.iter().filter_map(|hop| context.switch(hop)).map(|s| &s.congestion).collect();
    let sfc = plans.iter().any(|p| p.sfc.as_ref().is_some_and(|sfc| sfc.point.enabled));
    let host = &source.name;
    if sfc && matches!(carrier, Carrier::Ethernet) {
        let what = "frames without IP have no address that a source flow control message could go to, \
                    so none pauses this flow; take another transport";
        cx.warn(&at.key("transport"), what);
    } else if sfc
        && source.reactions.sfc.is_none()
        && plans.first().is_none_or(|p| p.proxy.is_none())
    {
        let what = format!(
            "no host obeys source flow control messages about this flow: give `{host}` `sfc: flow`, or \
             the profile of its switch `sfc_proxy: {{}}`"
        );
        cx.warn(&at.own, what);
    }
    if plans.iter().any(|p| p.qcn.is_some()) && source.reactions.qcn.is_none() {
        let what = format!(
            "no host obeys the congestion notifications (QCN) about this flow: give `{host}` `qcn: {{}}`"
        );
        cx.warn(&at.own, what);
    }
}

/// Warns of a lab with `fast_cnp` but without RoCEv2 flows.
pub(super) fn check_all(cx: &mut Cx, at: &Place<'_>, lab: &raw::Lab, context: &Context<'_, '_>) {
    let plans = context.switches.plans.iter().flatten();
    let notify = { plans }.any(|switch| switch.congestion.fast_cnp.is_some());
    let is_roce = |flow: &raw::Flow| match flow.over(&lab.defaults.flows).transport {
        Some(Short::Short(name)) => name == TransportName::Roce,
        Some(Short::Long(long)) => long.roce.is_some(),
        None => false,
    };
    if notify && lab.otg.is_none() && !lab.flows.is_empty() && !lab.flows.iter().any(is_roce) {
        cx.warn(
            &at.key("flows"),
            "`fast_cnp` is for flows of RoCEv2, and none is one: `transport: roce`",
        );
    }
}
