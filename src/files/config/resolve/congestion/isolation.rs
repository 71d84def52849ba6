//! Resolves congestion isolation.

use super::parts::{
    ByClass, Queues, Section, Selection, detect, ipv4, ipv6, life, limit, mac, queues, settings,
    threshold,
};
use super::{ByQueue, Context, Cx, Draft, Place};
use crate::quantity::octets;
use crate::raw;
use crate::resolve::cx::by_number;
use congestion::isolation::{
    CimType, IsolationError, IsolationPlan, MapReading, Peer, QueueMap, Watch,
};
use ground::units::{Bytes, PRIORITIES, PortId, Priority, TrafficClass};
use switch::managed::At;
use switch::{CongestionIsolationPlan, CongestionPlan, IsolationPoint};
use wire::cim;

/// Resolves the section at `place`.
pub fn isolation<'m>(
    cx: &mut Cx,
    place: &Place<'m>,
    raw: &'m raw::CongestionIsolation,
    context: &Context<'_, 'm>,
    plan: &mut CongestionPlan,
) {
    let all = Queues { place, map: &raw.queues };
    let own = |port: &'m raw::Port| port.congestion_isolation.as_ref().map(|own| &own.queues);
    let by_port = queues(cx, "congestion_isolation", all, context.drafts, own);
    let machine = IsolationPlan {
        map: map(cx, place, raw),
        max_flow_life: life(
            cx,
            &place.key("ci-max-flow-life"),
            raw.max_flow_life,
            IsolationPlan::new().max_flow_life,
        ),
        ..IsolationPlan::new()
    };
    check_order(cx, place, &machine, context.drafts);
    plan.isolation = Some(CongestionIsolationPlan {
        // Placeholders: `settings` below fills in what the table of objects has ranges and defaults of.
        cim_tx_priority: Priority::ALL[0],
        dscp: None,
        min_header_octets: 0,
        watches: watches(cx, place, &machine, &by_port, context),
        points: context.drafts.iter().map(|draft| point(cx, draft)).collect(),
        peers: peers(cx, context.drafts),
        dialect: dialect(&raw.dialect),
        machine,
    });
    let section = Section { place, name: "congestion_isolation" };
    settings(cx, section, raw, plan, At::default());
    limit(cx, section, "budget", raw.budget.as_ref(), plan);
    limit(cx, section, "heard", raw.heard.as_ref(), plan);
    let Some(isolation) = &mut plan.isolation else { return };
    // Without a DSCP in the file it follows the priority, even if that is changed at run time.
    if raw.dscp.is_none() {
        isolation.dscp = None;
    }
    let (peers, room) = (isolation.peers.len(), isolation.machine.peers_max);
    if peers > room {
        let what = format!("{peers} ports name a peer, but the table has room for {room}");
        cx.error(&place.key("max-ci-peer-entries"), what);
    }
}

/// Warns if congesting flows have precedence over the flows that they congest, which then starve.
fn check_order(cx: &mut Cx, place: &Place<'_>, machine: &IsolationPlan, drafts: &[Draft<'_>]) {
    for from in TrafficClass::ALL {
        let Some(to) = machine.map.congesting(from) else { continue };
        // Only strict priority starves; with weights both classes move on.
        let overtakes = |draft: &Draft<'_>| draft.plan.schedule.starves(to, from);
        if drafts.iter().any(overtakes) {
            let what = format!(
                "class {to} takes the congesting flows of class {from} and is strictly served before \
                 it, so they starve the flows beside them; let a class below {from} take them, or give \
                 both queues a `weight`"
            );
            cx.warn(place, what);
        }
    }
}

/// Resolves the map from monitored to congesting queues.
fn map(cx: &mut Cx, place: &Place<'_>, raw: &raw::CongestionIsolation) -> QueueMap {
    let reading = raw.map_reading.unwrap_or_default();
    let (here, numbers, reading) = match (&raw.queue_map, raw.isolate.is_empty()) {
        (None, true) => {
            let what = "isolates no class; map each class to the class of its congesting flows, \
                such as `isolate: {3: 4}`";
            cx.warn(place, what);
            return QueueMap::default();
        }
        (None, false) => (place.key("isolate"), in_words(cx, place, raw), MapReading::Partner),
        (Some(section), true) => (place.key("queue-map"), numbers(cx, place, section), reading),
        (Some(_), false) => {
            cx.error(&place.key("isolate"), "`queue-map` says the same; take one out");
            return QueueMap::default();
        }
    };
    let Some(numbers) = numbers else { return QueueMap::default() };
    let what = match QueueMap::new(numbers, reading) {
        Ok(map) => return map,
        Err(IsolationError::MapPair(class)) => {
            let example = match reading {
                MapReading::Partner => "{3: -5, 4: 4}",
                MapReading::Pair => "{3: 1, 4: -1}",
            };
            format!(
                "does not say of class {class} which one goes with it; where class 4 takes the \
                 congesting flows of class 3 write `{example}`, or `isolate: {{3: 4}}`"
            )
        }
        Err(why) => why.to_string(),
    };
    cx.error(&here, what);
    QueueMap::default()
}

/// Resolves `queue-map`: eight numbers, one per class.
fn numbers(cx: &mut Cx, place: &Place<'_>, raw: &raw::QueueMap) -> Option<[i8; PRIORITIES]> {
    let place = place.key("queue-map");
    let mut out = [0; PRIORITIES];
    match raw {
        raw::QueueMap::List(list) => match list.as_slice().try_into() {
            Ok(all) => out = all,
            Err(_) => {
                let what = format!("has {} numbers; there are eight classes", list.len());
                cx.error(&place, what);
                return None;
            }
        },
        raw::QueueMap::Map(map) => {
            for (class, (_, n)) in by_number(cx, &place, map, 7) {
                out[usize::from(class)] = *n;
            }
        }
    }
    let wrong = out.iter().position(|n| !(-8..=8).contains(n));
    if let Some(class) = wrong {
        let wrong_at = match raw {
            raw::QueueMap::List(_) => place.index(class),
            raw::QueueMap::Map(_) => place.key(&class.to_string()),
        };
        cx.error(&wrong_at, format!("{} is out of range; choose -8 to 8", out[class]));
        return None;
    }
    Some(out)
}

/// Resolves `isolate`, in which each class names its partner.
fn in_words(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: &raw::CongestionIsolation,
) -> Option<[i8; PRIORITIES]> {
    let place = place.key("isolate");
    let moves = by_number(cx, &place, &raw.isolate, 7);
    let mut out = [0; PRIORITIES];
    for (from, (range, to)) in &moves {
        let (here, to) = (place.key(&range.to_string()), **to);
        if to > 7 {
            cx.error(&here, format!("there is no traffic class {to}; choose 0 to 7"));
            return None;
        }
        if moves.contains_key(&u16::from(to)) {
            let what = format!(
                "class {to} takes congesting flows, so its own can go nowhere; name another class"
            );
            cx.error(&here, what);
            return None;
        }
        // As in the standard's map: numbers are those of classes plus one, as 0 is for no class.
        out[usize::from(*from)] = -(to as i8 + 1);
        out[usize::from(to)] = *from as i8 + 1;
    }
    Some(out)
}

/// Resolves the parameters of every queue, so that a class that is monitored later has them
/// already.
fn watches(
    cx: &mut Cx,
    place: &Place<'_>,
    machine: &IsolationPlan,
    raw: &[ByClass<'_, raw::IsolationQueue>],
    context: &Context<'_, '_>,
) -> ByQueue<Option<Watch>> {
    let nothing = raw::IsolationQueue::default();
    // Asked of the machine's map, which is made of either field.
    let monitored = TrafficClass::ALL.map(|class| machine.map.congesting(class));
    let mut out = Vec::with_capacity(raw.len());
    for (draft, queues) in context.drafts.iter().zip(raw) {
        let usual = threshold(draft.plan.rate);
        for (class, queue) in queues.iter().enumerate() {
            if let (Some((place, _)), None) = (queue, monitored[class]) {
                let what = format!(
                    "class {class} is not monitored; `queue-map` or `isolate` has to name it"
                );
                // The map is an object that can be written later.
                cx.warn(place, what);
            }
        }
        out.push(queues.each_ref().map(|queue| {
            let (place, queue) =
                queue.as_ref().map_or((place, &nothing), |(place, raw)| (place, *raw));
            let raw = Selection { threshold: queue.threshold, aqm: queue.aqm.as_ref() };
            let detect = detect(cx, place, raw, usual, context);
            let from = detect.floor();
            // A tenth leaves room between start and end, so that a flow does not come and go with each frame.
            let low = queue.low.map_or(Bytes(from.0 / 10), |s| Bytes(s.0));
            let cim_above = queue.cim_above.map_or(from.max(low), |s| Bytes(s.0));
            if cim_above < low {
                let what = format!(
                    "{} is below `low` ({}), so the neighbour would be notified of flows that \
                     have ended; raise it",
                    octets(cim_above.0),
                    octets(low.0)
                );
                cx.error(&place.key("cim_above"), what);
            }
            Some(Watch { detect, low, cim_above })
        }));
    }
    out
}

fn point(cx: &mut Cx, draft: &Draft<'_>) -> IsolationPoint {
    let place = draft.place.key("congestion_isolation");
    let Some(raw) = &draft.raw.congestion_isolation else { return IsolationPoint::default() };
    IsolationPoint {
        mac: mac(cx, &place.key("cip-mac-address"), raw.mac_address.as_ref()),
        ipv4: ipv4(cx, &place.key("cip-ipv4-address"), raw.ipv4_address.as_ref()),
        ipv6: ipv6(cx, &place.key("cip-ipv6-address"), raw.ipv6_address.as_ref()),
        cim_port: raw.cim_port.unwrap_or(0),
    }
}

fn peers(cx: &mut Cx, drafts: &[Draft<'_>]) -> Vec<(PortId, Peer)> {
    let mut out = Vec::new();
    for (i, draft) in drafts.iter().enumerate() {
        let Some(own) = &draft.raw.congestion_isolation else { continue };
        let Some(raw) = &own.peer else { continue };
        let place = draft.place.key("congestion_isolation").key("peer");
        let id = PortId::new(i as u16);
        if let Some((id, peer)) = id.zip(peer(cx, &place, raw)) {
            out.push((id, peer));
        }
    }
    out
}

fn peer(cx: &mut Cx, place: &Place<'_>, raw: &raw::IsolationPeer) -> Option<Peer> {
    const ENCAP_MAX: u16 = 512;
    let mac = mac(cx, &place.key("peer-mac-address"), Some(&raw.mac_address));
    let ipv4 = ipv4(cx, &place.key("peer-ipv4-address"), raw.ipv4_address.as_ref());
    let ipv6 = ipv6(cx, &place.key("peer-ipv6-address"), raw.ipv6_address.as_ref());
    let udp_port = raw.udp_port.unwrap_or(0);
    let encap_at = place.key("peer-cim-encap-len");
    let encap_len = cx.ranged(&encap_at, raw.encap_len.unwrap_or(0), (0, ENCAP_MAX), 0);
    // IP is preferred where the file gives all that it needs.
    let usual = match (ipv4, ipv6) {
        (Some(_), _) if udp_port > 0 => CimType::Ipv4,
        (None, Some(_)) if udp_port > 0 => CimType::Ipv6,
        _ => CimType::L2,
    };
    let cim_type = raw.cim_type.unwrap_or(usual);
    let (field, has) = match cim_type {
        CimType::L2 => ("", true),
        CimType::Ipv4 => ("peer-ipv4-address", raw.ipv4_address.is_some()),
        CimType::Ipv6 => ("peer-ipv6-address", raw.ipv6_address.is_some()),
    };
    if !has || (cim_type != CimType::L2 && udp_port == 0) {
        let what = format!("CIMs in IP need `{field}` and `peer-udp-port`; add them, or choose l2");
        cx.error(&place.key("cim-type"), what);
    }
    Some(Peer { cim_type, mac: mac?, ipv4, ipv6, udp_port, encap_len })
}

fn dialect(raw: &raw::CimDialect) -> cim::Dialect {
    cim::Dialect {
        octet_three: raw.octet_three.unwrap_or_default(),
        add: raw.add.unwrap_or_default(),
        vid: raw.vid.unwrap_or_default(),
    }
}
