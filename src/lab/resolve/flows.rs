//! Flows: who sends what to whom, and what the switches take it for.

use std::ops::Range;

use super::graph::Graph;
use super::hosts::{ip, mac};
use super::raw::{
    self, Amount, EcnName, FlowDuration, FlowRateText, Many, Pattern, Short, TransportName,
};
use super::routes::{Hop, Routes};
use super::switches::Switches;
use super::{graph, mix};
use crate::buffer::GroupKind;
use crate::config::quantity::Span;
use crate::config::{Cx, Place};
use crate::congestion::Dice;
use crate::host::{FLOW_ID_MAX, FRAME_MAX, FlowId, FlowPlan, Headers, Rate, StationPlan, Udp};
use crate::lab::LabFlow;
use crate::pfc::FlowControl;
use crate::schedule::Line;
use crate::sim::{NodeId, NodeKind, NodePlan};
use crate::switch::{ClassifyPlan, SwitchPlan, Trust};
use crate::time::{Duration, Instant};
use crate::units::{BitsPerSec, Dscp, Priority};
use crate::wire::ip::Ecn;

/// A packet of 1500 octets, with Ethernet header and FCS.
const SIZE_DEFAULT: u64 = 1_518;
/// The discard service (RFC 863).
const UDP_PORT: u16 = 9;
/// The first of the dynamic ports (RFC 6335), and how many there are.
const PORT_FIRST: u16 = 49_152;
const PORTS: u32 = 16_384;

/// The flows of a lab, and which of them each entry of the file came to.
#[derive(Default)]
pub(super) struct Flows {
    pub list: Vec<LabFlow>,
    pub entries: Vec<(String, Range<usize>)>,
}

/// What all parts of a flow's resolution look at.
pub(super) struct Around<'r, 'g> {
    pub graph: &'r Graph<'g>,
    pub routes: &'r Routes,
    pub switches: &'r Switches,
    pub seed: u64,
}

/// Adds every flow to the stations at both of its ends.
pub(super) fn flows(
    cx: &mut Cx,
    at: &Place<'_>,
    lab: &raw::Lab,
    around: &Around<'_, '_>,
    nodes: &mut [NodePlan],
) -> Flows {
    let mut out = Flows::default();
    for (i, said) in lab.flows.iter().enumerate() {
        let own = at.key("flows").index(i);
        let source = graph::Source { own, defaults: at.key("defaults").key("flows") };
        let name = said.name.clone().unwrap_or_else(|| format!("f{}", i + 1));
        if said.name.is_some() {
            graph::check_name(cx, &source.own.key("name"), &name);
        }
        if out.entries.iter().any(|(other, _)| *other == name) {
            cx.error(&source.own.key("name"), format!("there are two flows called `{name}`"));
        }
        let said = said.over(&lab.defaults.flows);
        let first = out.list.len();
        let pairs = ends(cx, &source, &said, around, (FLOW_ID_MAX as usize + 1) - first, i);
        let kind = kind(cx, &source, &said);
        // A field that is wrong for one of many is wrong for the others, and said once.
        let errors = cx.count();
        for (k, (from, to)) in pairs.iter().enumerate() {
            let name = flow_name(&name, &said, around.graph, (*from, *to), pairs.len());
            let id = FlowId(out.list.len() as u32);
            let one = One { id, from: *from, to: *to, number: k as u64 };
            if let Some(flow) = add(cx, &source, &said, &kind, one, around, nodes) {
                out.list.push(LabFlow { name, ..flow });
            }
            if cx.count() > errors {
                break;
            }
        }
        out.entries.push((name, first..out.list.len()));
    }
    check_names(cx, at, &out);
    out
}

/// The name of a flow, alone or among others of its entry.
fn flow_name(
    base: &str,
    said: &raw::Flow,
    graph: &Graph<'_>,
    (from, to): (usize, usize),
    of: usize,
) -> String {
    let name = |host: usize| &graph.nodes[graph.hosts[host]].name;
    let one = said.to.as_ref().is_some_and(|Many(list)| list.len() == 1 && list[0] != "all");
    match (of, one) {
        (1, _) => base.to_owned(),
        (_, true) => format!("{base}_{}", name(from)),
        _ => format!("{base}_{}_{}", name(from), name(to)),
    }
}

/// Names in results are unique.
fn check_names(cx: &mut Cx, at: &Place<'_>, flows: &Flows) {
    let mut names: Vec<&str> = flows.list.iter().map(|f| f.name.as_str()).collect();
    names.sort_unstable();
    if let Some(twice) = names.windows(2).find(|w| w[0] == w[1]) {
        let what = format!("two flows would be called `{}` in results; name them", twice[0]);
        cx.error(&at.key("flows"), what);
    }
}

/// The numbers of the hosts at both ends of each flow of an entry.
fn ends(
    cx: &mut Cx,
    at: &graph::Source<'_>,
    said: &raw::Flow,
    around: &Around<'_, '_>,
    room: usize,
    entry: usize,
) -> Vec<(usize, usize)> {
    let (from_at, to_at) = (at.key("from"), at.key("to"));
    let from = hosts(cx, &from_at, said.from.as_ref(), around.graph);
    let to = hosts(cx, &to_at, said.to.as_ref(), around.graph);
    if from.is_empty() || to.is_empty() {
        return Vec::new();
    }
    let pairs: Vec<(usize, usize)> = match said.pattern.unwrap_or_default() {
        Pattern::AllToAll if from.len() * to.len() > room + to.len().min(from.len()) => {
            let what = format!(
                "comes to {} flows; a lab has up to {}",
                from.len() * to.len(),
                FLOW_ID_MAX + 1
            );
            cx.error(&at.own, what);
            return Vec::new();
        }
        Pattern::AllToAll => {
            let pairs = from.iter().flat_map(|f| to.iter().map(move |t| (*f, *t)));
            pairs.filter(|(f, t)| f != t).collect()
        }
        Pattern::Pairs if from.len() != to.len() => {
            let what = format!("{} senders and {} receivers are no pairs", from.len(), to.len());
            cx.error(&at.own, what);
            return Vec::new();
        }
        Pattern::Pairs => from.into_iter().zip(to).collect(),
        Pattern::Permutation => {
            if to.len() < from.len() || to.len() < 2 {
                let what = format!(
                    "{} receivers are too few for a permutation of {} senders",
                    to.len(),
                    from.len()
                );
                cx.error(&at.own, what);
                return Vec::new();
            }
            permutation(from, to, mix(around.seed, entry as u64))
        }
    };
    if pairs.is_empty() || pairs.iter().any(|(f, t)| f == t) {
        cx.error(&at.own, "a host would send to itself; name others");
        return Vec::new();
    }
    if pairs.len() > room {
        cx.error(&at.own, format!("more than {} flows", FLOW_ID_MAX + 1));
        return Vec::new();
    }
    pairs
}

/// The numbers of the hosts that are named; all if none is.
fn hosts(
    cx: &mut Cx,
    at: &Place<'_>,
    said: Option<&Many<String>>,
    graph: &Graph<'_>,
) -> Vec<usize> {
    let all = || (0..graph.hosts.len()).collect();
    let Some(Many(list)) = said else { return all() };
    if let [one] = list.as_slice() {
        if one == "all" {
            return all();
        }
    }
    if list.is_empty() {
        cx.error(at, "names no host; write `all`, a host or a list of hosts");
    }
    let mut out: Vec<usize> = Vec::new();
    for (i, name) in list.iter().enumerate() {
        let here = if list.len() == 1 { at.clone() } else { at.index(i) };
        let Some(node) = graph.find_host(cx, &here, name) else { continue };
        let number = graph.host_number(node);
        if out.contains(&number) {
            cx.error(&here, format!("`{name}` is named twice"));
        }
        out.push(number);
    }
    out
}

/// Every sender with one receiver, none twice and none itself.
fn permutation(from: Vec<usize>, mut to: Vec<usize>, seed: u64) -> Vec<(usize, usize)> {
    let mut dice = Dice::new(seed);
    let mut below = |n: usize| ((dice.roll() as usize) << 16 | dice.roll() as usize) % n;
    for i in (1..to.len()).rev() {
        to.swap(i, below(i + 1));
    }
    // Who drew itself takes its neighbour's, which then is not the neighbour's own either.
    for i in 0..from.len() {
        if from[i] == to[i] {
            let next = (i + 1) % to.len();
            to.swap(i, next);
        }
    }
    from.into_iter().zip(to).collect()
}

/// What is the same for all flows of an entry.
struct KindOf {
    transport: TransportName,
    size: u32,
    rate: Rate,
    ecn: Ecn,
    priority: Option<Priority>,
    dscp: Option<Dscp>,
}

/// One flow of an entry.
#[derive(Clone, Copy)]
struct One {
    id: FlowId,
    from: usize,
    to: usize,
    number: u64,
}

fn kind(cx: &mut Cx, at: &graph::Source<'_>, said: &raw::Flow) -> KindOf {
    let transport = said.transport.unwrap_or_default();
    let size = said.size.map_or(SIZE_DEFAULT, |s| s.0);
    let priority = said.priority.and_then(|n| {
        let p = Priority::new(n);
        if p.is_none() {
            cx.error(&at.key("priority"), format!("there is no priority {n}; choose 0 to 7"));
        }
        p
    });
    let dscp = said.dscp.and_then(|n| {
        let dscp = Dscp::new(n);
        if dscp.is_none() {
            cx.error(&at.key("dscp"), format!("there is no DSCP {n}; choose 0 to 63"));
        }
        dscp
    });
    let ip = transport != TransportName::Ethernet;
    for (field, given) in [("dscp", said.dscp.is_some()), ("ecn", said.ecn.is_some())] {
        if given && !ip && at.own.has(field) {
            cx.error(&at.key(field), "frames without IP have none; take it out");
        }
    }
    KindOf {
        transport,
        size: cx.ranged(&at.key("size"), size, (64, FRAME_MAX.into()), SIZE_DEFAULT) as u32,
        rate: rate(cx, at, said.rate.as_ref()),
        ecn: match said.ecn.unwrap_or_default() {
            EcnName::NotEct => Ecn::NotEct,
            EcnName::Ect0 => Ecn::Ect0,
            EcnName::Ect1 => Ecn::Ect1,
        },
        priority,
        dscp,
    }
}

fn rate(cx: &mut Cx, at: &graph::Source<'_>, said: Option<&raw::FlowRate>) -> Rate {
    const WHOLE: u32 = 1_000_000;
    let at = at.key("rate");
    let share = |cx: &mut Cx, ppm: u32| Rate::LineShare(cx.ranged(&at, ppm, (1, WHOLE), WHOLE));
    match said {
        None => Rate::LineShare(WHOLE),
        Some(Short::Short(FlowRateText::Share(ratio))) => share(cx, ratio.0),
        Some(Short::Short(FlowRateText::Bits(rate))) => Rate::FrameBits(rate.0),
        Some(Short::Short(FlowRateText::Frames(n))) => Rate::Frames(*n),
        Some(Short::Long(long)) => match (long.percentage, long.bps, long.pps) {
            (Some(percent), None, None) => {
                if !(percent > 0.0 && percent <= 100.0) {
                    let what = format!("{percent} is out of range; choose above 0 to 100");
                    cx.error(&at.key("percentage"), what);
                    return Rate::LineShare(WHOLE);
                }
                share(cx, (percent * 1e4).round() as u32)
            }
            (None, Some(rate), None) => Rate::FrameBits(rate.0),
            (None, None, Some(n)) => Rate::Frames(n),
            _ => {
                cx.error(&at, "needs exactly one of `percentage`, `bps` and `pps`");
                Rate::LineShare(WHOLE)
            }
        },
    }
}

/// Plans one flow, and tells both stations of it.
fn add(
    cx: &mut Cx,
    at: &graph::Source<'_>,
    said: &raw::Flow,
    kind: &KindOf,
    one: One,
    around: &Around<'_, '_>,
    nodes: &mut [NodePlan],
) -> Option<LabFlow> {
    let (source, target) = (around.graph.hosts[one.from], around.graph.hosts[one.to]);
    let Some(way) = around.routes.way(around.graph, one.from, one.to) else {
        let name = |node: usize| &around.graph.nodes[node].name;
        let what = format!("there is no way from `{}` to `{}`", name(source), name(target));
        cx.error(&at.own, what);
        return None;
    };
    check_size(cx, at, kind.size, &way, around);
    let (priority, dscp) = marking(cx, at, kind, &way, around);
    let headers = match kind.transport {
        TransportName::Ethernet => Headers::Ethernet,
        TransportName::Udp => Headers::Udp4(Udp {
            src: ip(one.from),
            dst: ip(one.to),
            src_port: PORT_FIRST + (one.id.0 % PORTS) as u16,
            dst_port: UDP_PORT,
            dscp,
            ecn: kind.ecn,
        }),
    };
    let clock = nodes[source].clock;
    let start = said.start.map_or(Duration::ZERO, |s| s.0);
    let stagger = said.stagger.map_or(Duration::ZERO, |s| s.0).saturating_mul(one.number);
    let start = Instant::ZERO.saturating_add(start).saturating_add(stagger);
    let mut plan = FlowPlan {
        id: one.id,
        src: mac(one.from),
        dst: mac(one.to),
        tag: None,
        priority,
        headers,
        size: kind.size,
        rate: kind.rate,
        start: clock.local(start),
        stop: Instant::NEVER,
        frames: None,
    };
    if plan.size < plan.size_min() {
        let what =
            format!("{} octets do not hold headers and probe; {}", plan.size, plan.size_min());
        cx.error(&at.key("size"), format!("{what} do"));
        return None;
    }
    let payload = plan.size - crate::frame::FCS_BYTES - plan.probe_at() as u32;
    if let Some(FlowDuration::Amount(amount)) = &said.duration {
        bound(cx, &at.key("duration"), amount, payload, &mut plan, |t| clock.local(start + t));
    }
    let station = station(nodes, source)?;
    check_rate(cx, at, &plan, station);
    let obeys = obeys(&station.flow_control, priority);
    station.flows.push(plan);
    self::station(nodes, target)?.expects.push(one.id);
    Some(LabFlow {
        name: String::new(),
        id: one.id,
        from: NodeId(source as u32),
        to: NodeId(target as u32),
        priority,
        lossless: obeys && is_lossless(priority, &way, dscp, kind.transport, around),
        frame_len: kind.size,
        payload_len: payload,
    })
}

fn station(nodes: &mut [NodePlan], node: usize) -> Option<&mut StationPlan> {
    match &mut nodes[node].kind {
        NodeKind::Host(station) => Some(station),
        NodeKind::Switch(_) => None,
    }
}

/// How much of the flow there is.
fn bound(
    cx: &mut Cx,
    at: &Place<'_>,
    amount: &Amount,
    payload: u32,
    plan: &mut FlowPlan,
    local: impl Fn(Duration) -> Instant,
) {
    match (amount.frames, amount.seconds, amount.bytes) {
        (Some(frames), None, None) if frames > 0 => plan.frames = Some(frames),
        (None, Some(Span(span)), None) if span > Duration::ZERO => plan.stop = local(span),
        (None, None, Some(bytes)) if bytes.0 > 0 => {
            plan.frames = Some(bytes.0.div_ceil(payload.into()));
        }
        _ => {
            let what = "needs exactly one of `frames`, `seconds` and `bytes`, above 0; or write \
                        `continuous`";
            cx.error(at, what);
        }
    }
}

/// A flow is not faster than its link.
fn check_rate(cx: &mut Cx, at: &graph::Source<'_>, plan: &FlowPlan, station: &StationPlan) {
    let line = Line::new(station.rate, station.line);
    if plan.interval(&line).is_err() {
        let most = u128::from(station.rate.get()) * u128::from(plan.size)
            / u128::from(line.octets(plan.size).max(1));
        let most = BitsPerSec::new(most as u64).unwrap_or(station.rate);
        let what = format!(
            "a link of {} carries {most} of frames of {} octets, no more; write 100% for all of it",
            station.rate, plan.size
        );
        cx.error(&at.key("rate"), what);
    }
}

/// No switch on the way refuses frames of this length.
fn check_size(
    cx: &mut Cx,
    at: &graph::Source<'_>,
    size: u32,
    way: &[Hop],
    around: &Around<'_, '_>,
) {
    let hops = way.iter().filter_map(|hop| around.switch(hop));
    if let Some(switch) = hops.into_iter().find(|s| s.max_frame < size) {
        let what = format!(
            "`{}` forwards frames of up to {} octets, not {size}; raise `max_frame` of its profile",
            switch.name, switch.max_frame
        );
        cx.error(&at.key("size"), what);
    }
}

impl Around<'_, '_> {
    fn switch(&self, hop: &Hop) -> Option<&SwitchPlan> {
        self.switches.plans[hop.node].as_ref()
    }
}

/// What a switch takes a frame of a flow for: by its DSCP, or without a tag by the port's default.
fn taken_for(classify: &ClassifyPlan, transport: TransportName, dscp: Dscp) -> Priority {
    let by_dscp = matches!(classify.trust, Trust::Dscp | Trust::PcpThenDscp | Trust::DscpThenPcp);
    if by_dscp && transport != TransportName::Ethernet {
        classify.dscp[dscp.index()]
    } else {
        classify.default
    }
}

/// The priority and the DSCP of a flow.
fn marking(
    cx: &mut Cx,
    at: &graph::Source<'_>,
    kind: &KindOf,
    way: &[Hop],
    around: &Around<'_, '_>,
) -> (Priority, Dscp) {
    let of = |p: Priority| Dscp::new(p.get() * 8).unwrap_or(Dscp::MIN);
    let usual = kind.dscp.or(kind.priority.map(of)).unwrap_or(Dscp::MIN);
    let first = way.first().and_then(|hop| Some((around.switch(hop)?, hop.input)));
    let Some((switch, port)) = first else {
        let by_dscp = Priority::ALL[usual.index() / 8];
        return (kind.priority.unwrap_or(by_dscp), usual);
    };
    let classify = &switch.ports[port].classify;
    let taken = |dscp| taken_for(classify, kind.transport, dscp);
    let Some(priority) = kind.priority else { return (taken(usual), usual) };
    if kind.dscp.is_some() {
        if taken(usual) != priority {
            let what = format!(
                "`{}` takes frames with DSCP {usual} for priority {}, not {priority}, so its pauses \
                 of them do not stop this flow",
                switch.name,
                taken(usual)
            );
            cx.warn(&at.key("dscp"), what);
        }
        return (priority, usual);
    }
    let all = (0..=Dscp::MAX.get()).filter_map(Dscp::new);
    let fits = std::iter::once(usual).chain(all).find(|dscp| taken(*dscp) == priority);
    let dscp = fits.unwrap_or_else(|| {
        let what = format!(
            "no frame of this flow is priority {priority} to `{}`, but {}: see `trust`, `maps` and \
             `default_priority` of its profile",
            switch.name,
            taken(usual)
        );
        cx.error(&at.key("priority"), what);
        usual
    });
    (priority, dscp)
}

/// Whether a port, or a host, stops a priority when it is told to.
fn obeys(mode: &FlowControl, priority: Priority) -> bool {
    match mode {
        FlowControl::Pfc { obey, .. } => obey.contains(priority),
        FlowControl::Pause { obey, .. } => *obey,
        FlowControl::Off => false,
    }
}

/// Whether every switch on the way pauses rather than drops, and each is listened to by the one
/// before it.
fn is_lossless(
    own: Priority,
    way: &[Hop],
    dscp: Dscp,
    transport: TransportName,
    around: &Around<'_, '_>,
) -> bool {
    way.iter().enumerate().all(|(i, hop)| {
        let Some(switch) = around.switch(hop) else { return false };
        let classify = &switch.ports[hop.input].classify;
        let priority = taken_for(classify, transport, dscp);
        let group = classify.group[priority.index()];
        let kind = switch.buffer.groups[hop.input][group.index()].kind;
        let heard = match i.checked_sub(1).map(|before| &way[before]) {
            None => priority == own,
            Some(before) => around
                .switch(before)
                .is_some_and(|s| obeys(&s.ports[before.output].pfc.mode, priority)),
        };
        heard && matches!(kind, GroupKind::Lossless { .. })
    })
}
