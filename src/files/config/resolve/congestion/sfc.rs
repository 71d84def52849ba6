//! Resolves source flow control points.

use super::parts::{
    Queues, SaidOf, detect, ipv4, ipv6, life, mac, named, queues, threshold, udp_port,
};
use super::settings::{limit, settings};
use super::{ByQueue, Context, Cx, Place};
use crate::quantity::octets;
use crate::raw::{self, SfcFormName, SfcFromName};
use congestion::sfc::{Monitor, SfcPlan};
use ground::time::Duration;
use ground::units::{Bytes, PRIORITIES, Priority, TrafficClass};
use switch::managed::At;
use switch::{CongestionPlan, SfcmForm, SfcmFrom, SourceFlowControlPlan, UnknownHost};

/// Time that a flow congests before its source is signalled if isolation acts first: a data
/// centre's round trip, in which the upstream neighbours have received the CIM.
const PATIENCE_WITH_ISOLATION: Duration = Duration::from_micros(10);

/// Resolves the section at `at`.
pub fn sfc<'m>(
    cx: &mut Cx,
    at: &Place<'m>,
    raw: &'m raw::Sfc,
    context: &Context<'_, 'm>,
    plan: &mut CongestionPlan,
) {
    let all = Queues { at, map: &raw.queues };
    let own = |port: &'m raw::Port| port.sfc.as_ref().map(|sfc| &sfc.queues);
    let said = queues(cx, all, context.drafts, ("sfc", own));
    let ipv4 = ipv4(cx, &at.key("sfcmIPv4Address"), raw.ipv4_address.as_ref());
    let ipv6 = ipv6(cx, &at.key("sfcmIPv6Address"), raw.ipv6_address.as_ref());
    let monitored_queues = monitored(cx, at, raw, &said, context);
    plan.sfc = Some(SourceFlowControlPlan {
        point: point(cx, at, raw, monitored_queues, context),
        transmit_priority: Priority::ALL[0],
        dscp: None,
        form: form(cx, at, raw),
        min_header_octets: 0,
        unknown: UnknownHost::default(),
        from: from(cx, at, raw, ipv4.is_some() || ipv6.is_some()),
        mac: mac(cx, &at.key("sfcmMacAddress"), raw.mac_address.as_ref()),
        ipv4,
        ipv6,
        monitors: monitors(cx, at, &said, context),
    });
    settings(cx, (at, "sfc"), raw, plan, At::default());
    limit(cx, (at, "sfc", "budget"), raw.budget.as_ref(), plan);
    if let Some(meter) = &raw.meter {
        settings(cx, (&at.key("meter"), "sfc.meter"), meter, plan, At::default());
    }
    let Some(sfc) = &mut plan.sfc else { return };
    if raw.dscp.is_none() {
        sfc.dscp = None;
    }
    if let Some(min) = raw.pause_min {
        sfc.point.pause_min = min.0;
    }
    let (min, max) = (sfc.point.pause_min, sfc.point.pause_max);
    if min > max {
        let what = format!("{min} is above `pause_max` ({max}), so no pause would be requested");
        cx.error(&at.key("pause_min"), what);
    }
}

/// Resolves the managed objects.
fn point(
    cx: &mut Cx,
    at: &Place<'_>,
    raw: &raw::Sfc,
    monitored_queues: u8,
    context: &Context<'_, '_>,
) -> SfcPlan {
    let default = SfcPlan::new();
    let patience = match context.moves {
        Some(_) => PATIENCE_WITH_ISOLATION,
        None => default.patience,
    };
    let life_at = at.key("sfcMaxFlowLife");
    SfcPlan {
        udp_port: udp_port(cx, &at.key("sfcmUDPPort"), raw.udp_port, default.udp_port),
        monitored_queues,
        max_flow_life: life(cx, &life_at, raw.max_flow_life, default.max_flow_life),
        patience,
        ..default
    }
}

/// sfcMonitoredQueues.
fn monitored(
    cx: &mut Cx,
    at: &Place<'_>,
    raw: &raw::Sfc,
    said: &[SaidOf<'_, raw::SfcQueue>],
    context: &Context<'_, '_>,
) -> u8 {
    let named = named(said);
    let here = at.key("sfcMonitoredQueues");
    let Some(classes) = &raw.monitored_queues else {
        let usual = if raw.queues.is_empty() { usual(context) } else { 0 };
        if named | usual == 0 {
            let what = "monitors no queue, as PFC protects no priority: name queues, such as \
                        `queues: {3: {threshold: 100KB}}`";
            cx.warn(at, what);
        }
        return named | usual;
    };
    let mask = mask(cx, &here, classes);
    for class in 0..PRIORITIES {
        let entry = said.iter().find_map(|port| port[class].as_ref());
        if let Some((place, _)) = entry.filter(|_| mask >> class & 1 == 0) {
            // The mask is an object that can be written later.
            let what = format!(
                "class {class} is not monitored; add it to `sfcMonitoredQueues`, or leave that out"
            );
            cx.warn(place, what);
        }
    }
    mask
}

fn mask(cx: &mut Cx, at: &Place<'_>, classes: &raw::TrafficClasses) -> u8 {
    match classes {
        raw::TrafficClasses::Mask(n) => u8::try_from(*n).unwrap_or_else(|_| {
            cx.error(at, format!("{n} is no mask of eight traffic classes; choose 0 to 0xff"));
            0
        }),
        raw::TrafficClasses::List(list) => {
            let mut mask = 0;
            for (i, n) in list.iter().enumerate() {
                mask |= 1 << cx.ranged(&at.index(i), *n, (0, 7), 0);
            }
            mask
        }
    }
}

/// Default of the monitored classes, those from which PFC would spread congestion: the protected
/// classes, or those to which isolation moves their congesting flows.
fn usual(context: &Context<'_, '_>) -> u8 {
    let protected = TrafficClass::ALL.into_iter().filter(|c| context.protected >> c.get() & 1 == 1);
    let moved = |class| context.moves.and_then(|map| map.congesting(class)).unwrap_or(class);
    protected.fold(0, |mask, class| mask | 1 << moved(class).get())
}

/// Resolves a monitor for every queue, so that a class that is monitored later has one already.
fn monitors(
    cx: &mut Cx,
    at: &Place<'_>,
    said: &[SaidOf<'_, raw::SfcQueue>],
    context: &Context<'_, '_>,
) -> ByQueue<Option<Monitor>> {
    let nothing = raw::SfcQueue::default();
    let mut out = Vec::with_capacity(said.len());
    for (draft, queues) in context.drafts.iter().zip(said) {
        let point = draft.raw.sfc.as_ref().and_then(|sfc| sfc.point).unwrap_or(true);
        let usual = threshold(draft.plan.rate);
        out.push(queues.each_ref().map(|queue| {
            let (place, queue) = queue.as_ref().map_or((at, &nothing), |(place, said)| (place, *said));
            let said = (queue.threshold, queue.aqm.as_ref());
            let detect = detect(cx, place, said, usual, context);
            let from = detect.floor();
            let target = queue.target.map_or(Bytes(from.0 / 2), |s| Bytes(s.0));
            if target > from {
                let what = format!(
                    "{} is above {}, from where frames are picked, so there would be no pause to ask \
                     for; lower it",
                    octets(target.0),
                    octets(from.0)
                );
                cx.error(&place.key("target"), what);
            }
            point.then_some(Monitor { detect, target })
        }));
    }
    out
}

fn form(cx: &mut Cx, at: &Place<'_>, raw: &raw::Sfc) -> SfcmForm {
    let usual = match raw.min_header_octets {
        Some(_) => SfcFormName::Encapsulated,
        None => SfcFormName::Simplified,
    };
    match raw.form.unwrap_or(usual) {
        SfcFormName::Encapsulated => SfcmForm::Encapsulated,
        SfcFormName::Simplified => {
            if raw.min_header_octets.is_some() {
                let octets_at = at.key("sfcMinHeaderOctets");
                cx.warn(&octets_at, "messages of the simplified form have no octets of the frame");
            }
            SfcmForm::Simplified
        }
    }
}

fn from(cx: &mut Cx, at: &Place<'_>, raw: &raw::Sfc, has_address: bool) -> SfcmFrom {
    match raw.from {
        None if has_address => SfcmFrom::Own,
        None | Some(SfcFromName::Swapped) => SfcmFrom::Swapped,
        Some(SfcFromName::Own) => {
            if raw.ipv4_address.is_none() && raw.ipv6_address.is_none() {
                let what = "the switch has no address to send from; add `sfcmIPv4Address` or \
                            `sfcmIPv6Address`";
                cx.error(&at.key("from"), what);
            }
            SfcmFrom::Own
        }
    }
}
