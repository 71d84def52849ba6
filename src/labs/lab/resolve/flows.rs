//! Resolves flows: senders, receivers, transport, and the switches' classification.

mod carrier;
mod ends;
mod marking;
mod parts;
mod plans;
mod traffic;
mod workload;

use std::ops::Range;

use super::graph::{self, Graph};
use super::routes::Hop;
use crate::raw::{
    self, Amount, Chosen, EcnName, FlowDuration, FlowRateText, OnOffTimes, Short, TransportWord,
};
use crate::{LabFlow, Workload};
use config::quantity::Span;
use config::{Cx, Place};
use ends::ends;
use ground::time::{Duration, Instant};
use ground::units::{BitsPerSec, Dscp, Priority};
use host::{FLOW_ID_MAX, FRAME_MAX, FlowId, OnOffPlan, Rate};
use marking::{
    is_lossless, lossy_at, marking, signals, warn_of_silence, warn_of_unheard,
    warn_of_unheard_messages,
};
pub(super) use parts::Context;
use parts::{Bound, KindOf, One, Sent, Times, Use, start, station, stream};
use sim::{ClockPlan, Direction, LinkId, NodeId, NodePlan};
use traffic::{Entry, Sizes, traffic};
use wire::ip::Ecn;

/// A packet of 1500 bytes, with Ethernet header and FCS.
const SIZE_DEFAULT: u64 = 1_518;

/// Flows of a lab, and the range of flows of each entry of the file.
#[derive(Default)]
pub(super) struct Flows {
    pub list: Vec<LabFlow>,
    pub entries: Vec<(String, Range<usize>)>,
    pub workloads: Vec<Workload>,
}

/// Adds every flow to the stations at both ends.
pub(super) fn flows(
    cx: &mut Cx,
    place: &Place<'_>,
    lab: &raw::Lab,
    context: &Context<'_, '_>,
    nodes: &mut [NodePlan],
) -> Flows {
    let (mut out, before) = (Flows::default(), cx.count());
    for (i, raw) in lab.flows.iter().enumerate() {
        let own = place.key("flows").index(i);
        let source = graph::Source { own, defaults: place.key("defaults").key("flows") };
        let name = raw.name.clone().unwrap_or_else(|| format!("f{}", i + 1));
        if raw.name.is_some() {
            graph::check_name(cx, &source.own.key("name"), &name);
        }
        if out.entries.iter().any(|(other, _)| *other == name) {
            cx.error(&source.own.key("name"), format!("there are two flows called `{name}`"));
        }
        let raw = raw.over(&lab.defaults.flows);
        let first = out.list.len();
        // Flow numbers are one space for the lab: the generator's flows come first, then entry by entry.
        let room = (FLOW_ID_MAX as usize + 1).saturating_sub(first + context.taken());
        let pairs = ends(cx, &source, &raw, context, room, i);
        let kind = kind(cx, &source, &raw);
        // One pair stands for the entry: warnings are about configuration that all its flows share.
        if let Some(ends) = pairs.first() {
            let host = station(nodes, context.graph.hosts[ends.0]);
            warn_of_unheard(cx, &source, &kind.carrier, ends, context, host.as_deref());
            if let Some(host) = host.as_deref() {
                carrier::check_preset(cx, &source, &raw, host);
            }
        }
        let messages = workload::room(&out.workloads);
        let entry = Entry { number: i, source: &source, raw: &raw, kind: &kind, messages };
        let (flows, workload) = traffic(cx, &entry, &pairs, context, nodes);
        if flows.len() > room {
            cx.error(&source.own, format!("more than {} flows", FLOW_ID_MAX + 1));
            continue;
        }
        // A wrong field is wrong for all flows of the entry, and is reported once.
        let (errors, count) = (cx.count(), flows.len());
        let id = |k: usize| FlowId((context.taken() + first + k) as u32);
        for (k, sent) in flows.into_iter().enumerate() {
            let name = flow_name(&name, &raw, context.graph, &sent, count);
            let on_off = kind.on_off.map(|raw| on_off(raw, id(k), context.seed, i, k));
            // Within the entry `after` is a position; from here on it is the number of a flow of the lab.
            let (start, after) = (start(&raw, k as u64), sent.after.map(id));
            let one = One { id: id(k), sent, start, after, on_off };
            if let Some(flow) = add(cx, &entry, &one, context, nodes) {
                out.list.push(LabFlow { name, ..flow });
            }
            if cx.count() > errors {
                break;
            }
        }
        let flows = first..out.list.len();
        if let Some(workload) = workload {
            out.workloads.push(Workload { name: name.clone(), flows: flows.clone(), ..workload });
        }
        out.entries.push((name, flows));
    }
    warn_of_unheard_messages(cx, place, lab, context);
    warn_of_silence(cx, place, &out.list, context, nodes);
    // Names of flows that were left out after an error could clash without need.
    if cx.count() == before {
        check_names(cx, place, &out);
    }
    out
}

/// Returns the name of a flow, alone or among others of its entry.
fn flow_name(base: &str, raw: &raw::Flow, graph: &Graph<'_>, sent: &Sent, flows: usize) -> String {
    let name = |host: usize| &graph.nodes[graph.hosts[host]].name;
    let one = raw
        .to
        .as_ref()
        .and_then(Chosen::names)
        .is_some_and(|list| list.len() == 1 && list[0] != "all" && !graph::is_range(&list[0]));
    // With one receiver for all, its name in every flow's would say nothing.
    match (flows, one) {
        (1, _) => base.to_owned(),
        (_, true) => format!("{base}_{}", name(sent.from)),
        _ => format!("{base}_{}_{}", name(sent.from), name(sent.to)),
    }
}

/// Reports duplicate names, which results cannot have.
fn check_names(cx: &mut Cx, place: &Place<'_>, flows: &Flows) {
    let mut names: Vec<&str> = flows.list.iter().map(|f| f.name.as_str()).collect();
    names.sort_unstable();
    if let Some(twice) = names.windows(2).find(|w| w[0] == w[1]) {
        let what = format!("two flows would be called `{}` in results; name them", twice[0]);
        cx.error(&place.key("flows"), what);
    }
}

fn kind(cx: &mut Cx, source: &graph::Source<'_>, raw: &raw::Flow) -> KindOf {
    let (name, carrier) = carrier::carrier(cx, &source.key("transport"), raw.transport.as_ref());
    let size = raw.size.map_or(SIZE_DEFAULT, |s| s.0);
    let priority = raw.priority.and_then(|n| {
        let p = Priority::new(n);
        if p.is_none() {
            cx.error(&source.key("priority"), format!("there is no priority {n}; choose 0 to 7"));
        }
        p
    });
    let dscp = raw.dscp.and_then(|n| {
        let dscp = Dscp::new(n);
        if dscp.is_none() {
            cx.error(&source.key("dscp"), format!("there is no DSCP {n}; choose 0 to 63"));
        }
        dscp
    });
    for (field, given) in [("dscp", raw.dscp.is_some()), ("ecn", raw.ecn.is_some())] {
        if given && name == TransportWord::Ethernet && source.own.has(field) {
            cx.error(&source.key(field), "frames without IP have none; take it out");
        }
    }
    // RoCEv2 data is ECN-capable by default, as DCQCN needs it; other transports only where the file says so.
    let ecn = match (raw.ecn, name) {
        (Some(EcnName::Ect0), _) | (None, TransportWord::Roce) => Ecn::Ect0,
        (Some(EcnName::Ect1), _) => Ecn::Ect1,
        (Some(EcnName::NotEct) | None, _) => Ecn::NotEct,
    };
    let (bound, drawn) = bound(cx, &source.key("duration"), raw.duration.as_ref());
    KindOf {
        carrier,
        timeout: carrier::given_timeout(raw.transport.as_ref()),
        size: cx.ranged(&source.key("size"), size, (64, FRAME_MAX.into()), SIZE_DEFAULT) as u32,
        rate: rate(cx, source, raw.rate.as_ref()),
        ecn,
        priority,
        dscp,
        victim: raw.victim.unwrap_or(false),
        bound,
        drawn,
        on_off: raw.on_off.filter(|on_off| is_on_off(cx, &source.key("on_off"), on_off)),
    }
}

/// Resolves the amount of traffic of a flow.
fn bound(cx: &mut Cx, place: &Place<'_>, raw: Option<&FlowDuration>) -> (Bound, Option<Sizes>) {
    let Some(FlowDuration::Amount(amount)) = raw else { return (Bound::None, None) };
    let Amount { frames, seconds, bytes } = amount;
    let sizes = bytes.as_ref().filter(|bytes| **bytes != raw::Bytes::default());
    let sizes = sizes.map(|bytes| traffic::sizes(cx, &place.key("bytes"), bytes));
    let bound = match (*frames, *seconds, &sizes) {
        (Some(frames), None, None) if frames > 0 && bytes.is_none() => Bound::Frames(frames),
        (None, Some(Span(span)), None) if span > Duration::ZERO && bytes.is_none() => {
            Bound::Time(span)
        }
        (None, None, Some(Sizes::Fixed(bytes))) => Bound::Bytes(*bytes),
        // Each flow gets an amount of its own.
        (None, None, Some(Sizes::Drawn(..))) => Bound::Bytes(1),
        _ => {
            let what = "needs exactly one of `frames`, `seconds` and `bytes`, above 0; or write \
                        `continuous`";
            cx.error(place, what);
            Bound::None
        }
    };
    (bound, sizes.filter(Sizes::is_drawn))
}

/// True if ON and OFF periods have a length; else reports it.
fn is_on_off(cx: &mut Cx, place: &Place<'_>, raw: &raw::OnOff) -> bool {
    let mut is_length = |field: &str, Span(length): Span| {
        if length == Duration::ZERO {
            cx.error(&place.key(field), "must be above zero");
        }
        length > Duration::ZERO
    };
    // Not `&&`: both lengths are reported.
    is_length("on", raw.on) & is_length("off", raw.off)
}

/// Plans the ON and OFF periods of flow `k` of entry `i`.
fn on_off(raw: raw::OnOff, flow: FlowId, seed: u64, i: usize, k: usize) -> OnOffPlan {
    let exponential = raw.times == Some(OnOffTimes::Exponential);
    let random = exponential.then(|| stream(seed, Use::OnOff, i, k));
    OnOffPlan { flow, on: raw.on.0, off: raw.off.0, random }
}

fn rate(cx: &mut Cx, source: &graph::Source<'_>, raw: Option<&raw::FlowRate>) -> Rate {
    const WHOLE: u32 = 1_000_000;
    let source = source.key("rate");
    let share = |cx: &mut Cx, ppm: u32| match ppm {
        1..=WHOLE => Rate::LineShare(ppm),
        _ => {
            cx.error(
                &source,
                "is out of range; choose above 0% up to 100%, or leave it out for 100%",
            );
            Rate::LineShare(WHOLE)
        }
    };
    match raw {
        None => Rate::LineShare(WHOLE),
        Some(Short::Short(FlowRateText::Share(ratio))) => share(cx, ratio.0),
        Some(Short::Short(FlowRateText::Bits(rate))) => Rate::FrameBits(rate.0),
        Some(Short::Short(FlowRateText::Frames(n))) => Rate::Frames(*n),
        Some(Short::Long(long)) => match (long.percentage, long.bps, long.pps) {
            // NaN, negative and too large numbers saturate to values that are refused.
            (Some(percent), None, None) => share(cx, (percent * 1e4).round() as u32),
            (None, Some(rate), None) => Rate::FrameBits(rate.0),
            (None, None, Some(n)) => Rate::Frames(n),
            _ => {
                cx.error(&source, "needs exactly one of `percentage`, `bps` and `pps`");
                Rate::LineShare(WHOLE)
            }
        },
    }
}

/// Plans one flow, and adds it to both stations.
fn add(
    cx: &mut Cx,
    entry: &Entry<'_>,
    one: &One,
    context: &Context<'_, '_>,
    nodes: &mut [NodePlan],
) -> Option<LabFlow> {
    let Entry { source: place, kind, .. } = *entry;
    let (from, to) = (one.sent.from, one.sent.to);
    let (source, target) = (context.graph.hosts[from], context.graph.hosts[to]);
    let Some(path) = context.routes.path(context.graph, from, to) else {
        let name = |node: usize| &context.graph.nodes[node].name;
        let what = format!("there is no way from `{}` to `{}`", name(source), name(target));
        cx.error(&place.own, what);
        return None;
    };
    check_size(cx, place, kind, &path, context);
    let marked = marking(cx, place, kind, &path, context);
    let times = times(nodes[source].clock, one.start, one.sent.bound);
    let station = station(nodes, source)?;
    let rate = |hop: &Hop| Some(context.switch(hop)?.ports.get(hop.output)?.rate);
    let slowest = path.iter().filter_map(rate).fold(station.rate, BitsPerSec::min);
    let flow = plans::Ready { kind, one, marked, times, slowest };
    station.on_off.extend(one.on_off);
    // A flow is lossless only if its own host stops, too; the first switch's pauses are useless otherwise.
    let obeys = station.flow_control.obeys().contains(marked.priority);
    let lossy_at = lossy_at(cx, place, marked, &path, &kind.carrier, context);
    let payload_len = if kind.carrier.is_answered() {
        let plan = plans::plan_answered(cx, place, &flow, station)?;
        let payload = plan.payload();
        station.senders.push(plan.clone());
        parts::station(nodes, target)?.receivers.push(plan);
        payload
    } else {
        let plan = plans::plan_open(cx, place, &flow, station)?;
        let payload = plans::payload(&plan);
        station.flows.push(plan);
        parts::station(nodes, target)?.expects.push(one.id);
        payload
    };
    Some(LabFlow {
        name: String::new(),
        id: one.id,
        from: NodeId(source as u32),
        to: NodeId(target as u32),
        priority: marked.priority,
        lossless: obeys && is_lossless(marked, &path, &kind.carrier, context),
        lossy_at,
        signals: signals(kind, marked, &path, context),
        victim: kind.victim,
        way: lines(context.graph, source, &path),
        frame_len: kind.size,
        payload_len,
    })
}

/// Returns the lines of a path: that of the first host, and one behind every switch.
fn lines(graph: &Graph<'_>, source: usize, path: &[Hop]) -> Vec<Direction> {
    let line = |node: usize, port: usize| {
        let link = graph.nodes[node].ports[port];
        let id = LinkId(link as u32);
        if graph.links[link].a == (node, port) { id.ab() } else { id.ba() }
    };
    let first = line(source, 0);
    core::iter::once(first).chain(path.iter().map(|hop| line(hop.node, hop.output))).collect()
}

fn times(clock: ClockPlan, start: Instant, bound: Bound) -> Times {
    let stop = match bound {
        // The end is converted and not the span: a drifting clock counts another span in the same simulation time.
        Bound::Time(span) => clock.local(start.saturating_add(span)),
        Bound::None | Bound::Frames(_) | Bound::Bytes(_) => Instant::NEVER,
    };
    Times { start: clock.local(start), stop }
}

/// Reports switches on the path that refuse frames of this length.
fn check_size(
    cx: &mut Cx,
    source: &graph::Source<'_>,
    kind: &KindOf,
    path: &[Hop],
    context: &Context<'_, '_>,
) {
    // The first packet of an RDMA WRITE has a RETH more than the others, on top of the configured size.
    let longest = kind.size + kind.carrier.longer();
    let mut switches = path.iter().filter_map(|hop| context.switch(hop));
    if let Some(switch) = switches.find(|s| s.max_frame < longest) {
        let what = format!(
            "`{}` forwards frames of up to {} octets, not {longest}; raise `max_frame` of its \
             profile",
            switch.name, switch.max_frame
        );
        cx.error(&source.key("size"), what);
    }
}
