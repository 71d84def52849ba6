//! Resolves source flow control: its points, and the top-of-rack proxy.

use super::parts::{
    ByClass, Queues, Section, Selection, detect, ipv4, ipv6, life, limit, mac, named, queues,
    range, senders, settings, threshold, times, udp_port,
};
use super::{ByQueue, Context, Cx, Place};
use crate::quantity::{Span, octets};
use crate::raw;
use congestion::proxy::{CachePlan, PausePolicy, Senders};
use congestion::sfc::{Monitor, SfcPlan};
use ground::time::Duration;
use ground::units::{Bytes, PRIORITIES, Priority, TrafficClass};
use switch::managed::At;
use switch::{
    CongestionPlan, SfcProxyPlan, SfcmForm, SfcmFrom, SourceFlowControlPlan, UnknownHost,
};

/// Time that a flow congests before its source is signalled if isolation acts first: a data
/// centre's round trip, in which the upstream neighbours have received the CIM.
const PATIENCE_WITH_ISOLATION: Duration = Duration::from_micros(10);

/// Resolves the section at `place`.
pub fn sfc<'m>(
    cx: &mut Cx,
    place: &Place<'m>,
    raw: &'m raw::Sfc,
    context: &Context<'_, 'm>,
    plan: &mut CongestionPlan,
) {
    let all = Queues { place, map: &raw.queues };
    let own = |port: &'m raw::Port| port.sfc.as_ref().map(|sfc| &sfc.queues);
    let by_port = queues(cx, "sfc", all, context.drafts, own);
    let ipv4 = ipv4(cx, &place.key("sfcmIPv4Address"), raw.ipv4_address.as_ref());
    let ipv6 = ipv6(cx, &place.key("sfcmIPv6Address"), raw.ipv6_address.as_ref());
    let monitored_queues = monitored(cx, place, raw, &by_port, context);
    plan.sfc = Some(SourceFlowControlPlan {
        point: point(cx, place, raw, monitored_queues, context),
        // Placeholders: `settings` below fills in what the table of objects has ranges and defaults of.
        transmit_priority: Priority::ALL[0],
        dscp: None,
        form: form(cx, place, raw),
        min_header_octets: 0,
        unknown: UnknownHost::default(),
        from: from(cx, place, raw, ipv4.is_some() || ipv6.is_some()),
        mac: mac(cx, &place.key("sfcmMacAddress"), raw.mac_address.as_ref()),
        ipv4,
        ipv6,
        monitors: monitors(cx, place, &by_port, context),
    });
    let section = Section { place, name: "sfc" };
    settings(cx, section, raw, plan, At::default());
    limit(cx, section, "budget", raw.budget.as_ref(), plan);
    if let Some(meter) = &raw.meter {
        settings(
            cx,
            Section { place: &place.key("meter"), name: "sfc.meter" },
            meter,
            plan,
            At::default(),
        );
    }
    let Some(sfc) = &mut plan.sfc else { return };
    if raw.dscp.is_none() {
        sfc.dscp = None;
    }
    if let Some(min) = raw.pause_min {
        sfc.point.pause_min = min.0;
    }
    // Compared when all fields are set, as either may have its default.
    let (min, max) = (sfc.point.pause_min, sfc.point.pause_max);
    if min > max {
        let what = format!("{min} is above `pause_max` ({max}), so no pause would be requested");
        cx.error(&place.key("pause_min"), what);
    }
}

/// Resolves what the machine of the points takes; its other objects are set by `settings`.
fn point(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: &raw::Sfc,
    monitored_queues: u8,
    context: &Context<'_, '_>,
) -> SfcPlan {
    let default = SfcPlan::new();
    // Isolation upstream may end the congestion without a pause of the source.
    let patience = match context.moves {
        Some(_) => PATIENCE_WITH_ISOLATION,
        None => default.patience,
    };
    let life_at = place.key("sfcMaxFlowLife");
    SfcPlan {
        udp_port: udp_port(cx, &place.key("sfcmUDPPort"), raw.udp_port, default.udp_port),
        monitored_queues,
        max_flow_life: life(cx, &life_at, raw.max_flow_life, default.max_flow_life),
        patience,
        ..default
    }
}

/// Resolves sfcMonitoredQueues to a mask: bit n for class n.
fn monitored(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: &raw::Sfc,
    by_port: &[ByClass<'_, raw::SfcQueue>],
    context: &Context<'_, '_>,
) -> u8 {
    let named = named(by_port);
    let here = place.key("sfcMonitoredQueues");
    let Some(classes) = &raw.monitored_queues else {
        let usual = if raw.queues.is_empty() { usual(context) } else { 0 };
        if named | usual == 0 {
            let what = "monitors no queue, as PFC protects no priority: name queues, such as \
                        `queues: {3: {threshold: 100KB}}`";
            cx.warn(place, what);
        }
        return named | usual;
    };
    let mask = mask(cx, &here, classes);
    for class in 0..PRIORITIES {
        let entry = by_port.iter().find_map(|port| port[class].as_ref());
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

fn mask(cx: &mut Cx, place: &Place<'_>, classes: &raw::TrafficClasses) -> u8 {
    match classes {
        raw::TrafficClasses::Mask(n) => u8::try_from(*n).unwrap_or_else(|_| {
            cx.error(place, format!("{n} is no mask of eight traffic classes; choose 0 to 0xff"));
            0
        }),
        raw::TrafficClasses::List(list) => {
            let mut mask = 0;
            for (i, n) in list.iter().enumerate() {
                mask |= 1 << cx.ranged(&place.index(i), *n, (0, 7), 0);
            }
            mask
        }
    }
}

/// Default of the monitored classes, those from which PFC would spread congestion: the protected
/// classes, or those to which isolation moves their congesting flows.
fn usual(context: &Context<'_, '_>) -> u8 {
    // Where isolation moves the flows of a class, they congest the other class.
    let protected = TrafficClass::ALL.into_iter().filter(|c| context.protected >> c.get() & 1 == 1);
    let moved = |class| context.moves.and_then(|map| map.congesting(class)).unwrap_or(class);
    protected.fold(0, |mask, class| mask | 1 << moved(class).get())
}

/// Resolves a monitor for every queue, so that a class that is monitored later has one already.
fn monitors(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: &[ByClass<'_, raw::SfcQueue>],
    context: &Context<'_, '_>,
) -> ByQueue<Option<Monitor>> {
    let nothing = raw::SfcQueue::default();
    let mut out = Vec::with_capacity(raw.len());
    for (draft, queues) in context.drafts.iter().zip(raw) {
        let point = draft.raw.sfc.as_ref().and_then(|sfc| sfc.point).unwrap_or(true);
        let usual = threshold(draft.plan.rate);
        out.push(queues.each_ref().map(|queue| {
            let (place, queue) = queue.as_ref().map_or((place, &nothing), |(place, raw)| (place, *raw));
            let raw = Selection { threshold: queue.threshold, aqm: queue.aqm.as_ref() };
            let detect = detect(cx, place, raw, usual, context);
            let from = detect.floor();
            // Half of the queue stays, so that the line has frames to send while the source is paused.
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

fn form(cx: &mut Cx, place: &Place<'_>, raw: &raw::Sfc) -> SfcmForm {
    // Octets of the frame are part of one form only, so asking for them chooses it.
    let usual = match raw.min_header_octets {
        Some(_) => SfcmForm::Encapsulated,
        None => SfcmForm::Simplified,
    };
    let form = raw.form.unwrap_or(usual);
    if form == SfcmForm::Simplified && raw.min_header_octets.is_some() {
        let octets_at = place.key("sfcMinHeaderOctets");
        cx.warn(&octets_at, "messages of the simplified form have no octets of the frame");
    }
    form
}

fn from(cx: &mut Cx, place: &Place<'_>, raw: &raw::Sfc, has_address: bool) -> SfcmFrom {
    if raw.from == Some(SfcmFrom::Own) && raw.ipv4_address.is_none() && raw.ipv6_address.is_none() {
        let what = "the switch has no address to send from; add `sfcmIPv4Address` or \
                    `sfcmIPv6Address`";
        cx.error(&place.key("from"), what);
    }
    let usual = if has_address { SfcmFrom::Own } else { SfcmFrom::Swapped };
    raw.from.unwrap_or(usual)
}

/// Default credit, as a multiple of the longest pause.
const CREDIT_PAUSES: u64 = 10;

/// Resolves the section at `place`; `sfc` is the section of the congestion points, which use the same
/// UDP port.
pub fn proxy(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: &raw::SfcProxy,
    sfc: Option<&raw::Sfc>,
    plan: &mut CongestionPlan,
) {
    let port_at = place.key("sfcmUDPPort");
    let of_points = sfc.and_then(|sfc| sfc.udp_port);
    // A port out of range in that section was reported there.
    // One port serves the whole network, so that of the points is the only right one here.
    let usual = of_points.unwrap_or(SfcPlan::new().udp_port);
    let port = udp_port(cx, &port_at, raw.udp_port, usual);
    if sfc.is_some() && port != usual {
        let what = format!(
            "the points of this switch have {usual} (`sfc.sfcmUDPPort`), and the port is one for the \
             whole network; leave it out here"
        );
        cx.error(&port_at, what);
    }
    let (switches_at, hosts_at) =
        (place.key("accept").key("switches"), place.key("accept").key("hosts"));
    plan.proxy = Some(SfcProxyPlan {
        udp_port: port,
        unknown: UnknownHost::default(),
        max_flow_life: life(
            cx,
            &place.key("sfcMaxFlowLife"),
            raw.max_flow_life,
            life_of_points(sfc).unwrap_or(SfcPlan::new().max_flow_life),
        ),
        fabric: senders(cx, &switches_at, raw.accept.switches.as_ref(), Senders::Anybody),
        hosts: senders(cx, &hosts_at, raw.accept.hosts.as_ref(), Senders::Nobody),
        policy: PausePolicy::standard(),
        cache: raw.cache.as_ref().map(|raw| cache(cx, &place.key("cache"), raw, sfc)),
    });
    settings(cx, Section { place, name: "sfc_proxy" }, raw, plan, At::default());
    if let Some(raw) = &raw.policy {
        let place = place.key("policy");
        settings(cx, Section { place: &place, name: "sfc_proxy.policy" }, raw, plan, At::default());
        if let Some(proxy) = &mut plan.proxy {
            proxy.policy.credit =
                credit(cx, &place.key("credit"), raw.credit, proxy.policy.longest);
        }
    }
}

fn credit(cx: &mut Cx, place: &Place<'_>, raw: Option<Span>, longest: Duration) -> Duration {
    let range = times("sfc_proxy.policy.credit");
    let usual = longest.saturating_mul(CREDIT_PAUSES).min(range.1);
    // Less than one pause would refuse every pause that `longest` allows.
    let credit = raw.map_or(usual, |s| s.0);
    if credit < longest {
        let what = format!("{credit} is less than one pause may last (`longest`, {longest})");
        cx.error(place, what);
        return usual;
    }
    cx.ranged(place, credit, range, usual)
}

/// Returns the lifetime of flows in the section of the congestion points, if it has a valid one.
fn life_of_points(sfc: Option<&raw::Sfc>) -> Option<Duration> {
    let life = sfc.and_then(|sfc| sfc.max_flow_life)?.0;
    Some(life).filter(|life| *life > Duration::ZERO)
}

fn cache(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: &raw::SfcProxyCache,
    sfc: Option<&raw::Sfc>,
) -> CachePlan {
    let default = CachePlan::standard();
    let entries_at = place.key("entries");
    let usual = default.entries as u32;
    let count = i64::from(raw.entries.unwrap_or(usual));
    let entries = range("sfc_proxy.cache.entries");
    let entries = cx.ranged(&entries_at, count, entries, usual.into()) as u32;
    if !entries.is_power_of_two() {
        // Both neighbours, as either may be what was meant.
        let (below, above) = (1 << entries.ilog2(), entries.next_power_of_two());
        let what = format!("{entries} is no power of two; choose {below} or {above}");
        cx.error(&entries_at, what);
    }
    let usual = life_of_points(sfc).unwrap_or(default.life);
    CachePlan {
        entries: entries as usize,
        life: life(cx, &place.key("sfcMaxFlowLife"), raw.max_flow_life, usual),
        remember: raw.remember.unwrap_or_default(),
    }
}
