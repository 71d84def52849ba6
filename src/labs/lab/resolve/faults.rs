//! Resolves faults: names to numbers, flaps to down and up events, and changes that the switch
//! accepts.

mod held;

use std::collections::BTreeMap;

use super::defects::defect;
use super::fault_context::Context;
use super::links::errors;
use crate::raw::{self, WhichName};
use buffer::{GroupKind, GroupPlan, Ledger};
use config::quantity::Span;
use config::{Cx, Place, ProfileChange, ecn_plan, group_plan, object_value, port_buffer};
use ground::time::{Duration, Instant};
use ground::units::{Cells, PortId, PriorityGroup, TrafficClass};
use held::Held;
use sim::{Direction, Fault, FaultKind, LineFault, LinkId, NodeId, Which};
use switch::managed::{self, At, Object};
use switch::{Change, CongestionPlan, SwitchPlan};

/// Most flaps of a link, or copies of a forged frame, in one entry.
const FLAPS_MAX: u32 = 10_000;
/// Length of a forged frame in bytes: at least a header, at most the basic frame size (802.3
/// 3.2.7).
const FORGED: (usize, usize) = (14, 1_514);
/// Length of the shortest frame in bytes, without FCS.
const FRAME_MIN: usize = 60;
/// Default interval between forged frames.
const FORGED_EVERY: Duration = Duration::from_micros(1);

pub(super) fn faults(
    cx: &mut Cx,
    at: &Place<'_>,
    lab: &raw::Lab,
    context: &Context<'_, '_>,
) -> Vec<Fault> {
    let mut out = Faults::default();
    for (i, said) in lab.faults.iter().enumerate() {
        fault(cx, &at.key("faults").index(i), said, context, &mut out);
    }
    let Faults { faults: mut out, held } = out;
    held.keep_down(&mut out);
    check_changes(cx, &at.key("faults"), context, &out);
    out
}

/// The faults of a file.
#[derive(Default)]
struct Faults {
    faults: Vec<Fault>,
    held: Held,
}

fn fault(
    cx: &mut Cx,
    at: &Place<'_>,
    said: &raw::Fault,
    context: &Context<'_, '_>,
    out: &mut Faults,
) {
    let Some(kind) = &said.kind else {
        let (names, last) = raw::FaultKind::NAMES.split_at(raw::FaultKind::NAMES.len() - 1);
        let (names, last) = (names.join("`, `"), last[0]);
        return cx.error(at, format!("needs exactly one of `{names}` and `{last}` beside `at`"));
    };
    if said.at.is_none() && !matches!(kind, raw::FaultKind::Defect(_)) {
        cx.error(at, "`at` is missing; it has no default, so add `at: ...`");
    }
    let when = said.at.map_or(Instant::ZERO, |span| Instant::ZERO.saturating_add(span.0));
    let at = &at.key(kind.name());
    let Faults { faults, held } = out;
    let mut push = |at: Instant, kind| faults.push(Fault { at, kind });
    match kind {
        raw::FaultKind::LinkDown(name) | raw::FaultKind::LinkUp(name) => {
            let up = matches!(kind, raw::FaultKind::LinkUp(_));
            if let Some(link) = link(cx, at, context, name) {
                push(when, FaultKind::Link { link, up });
                held.change(link, when, up);
            }
        }
        raw::FaultKind::Flap(said) => {
            flap(cx, at, said, context, when, |link, from, until| {
                push(from, FaultKind::Link { link, up: false });
                push(until, FaultKind::Link { link, up: true });
                held.flap(link, from, until);
            });
        }
        raw::FaultKind::Lose(said) => lose(cx, at, said, context, |kind| push(when, kind)),
        raw::FaultKind::Errors(said) => {
            let errors = errors(said.errors());
            for direction in directions(cx, at, context, &said.link, said.from.as_deref()) {
                push(when, FaultKind::Line(direction, LineFault::Errors(errors)));
            }
        }
        raw::FaultKind::Forge(said) => forge(cx, at, said, context, when, &mut push),
        raw::FaultKind::Replay(said) => replay(cx, at, said, context, when, &mut push),
        raw::FaultKind::Stall(said) => {
            if let Some(node) = context.graph.find(cx, &at.key("node"), &said.node) {
                push(when, FaultKind::Stall { node: NodeId(node as u32), span: said.span.0 });
            }
        }
        raw::FaultKind::Ecn(said) => ecn(cx, at, said, context, |kind| push(when, kind)),
        raw::FaultKind::Group(said) => group(cx, at, said, context, |kind| push(when, kind)),
        raw::FaultKind::Scheduler(said) => {
            scheduler(cx, at, said, context, |kind| push(when, kind))
        }
        raw::FaultKind::Object(said) => object(cx, at, said, context, |kind| push(when, kind)),
        raw::FaultKind::Defect(said) => defect(cx, at, said, context, |kind| push(when, kind)),
    }
}

fn link(cx: &mut Cx, at: &Place<'_>, context: &Context<'_, '_>, name: &str) -> Option<LinkId> {
    context.graph.find_link(cx, at, name).map(|l| LinkId(l as u32))
}

/// Resolves one direction of a link, by the sending node, or both.
fn directions(
    cx: &mut Cx,
    at: &Place<'_>,
    context: &Context<'_, '_>,
    name: &str,
    from: Option<&str>,
) -> Vec<Direction> {
    let Some(id) = link(cx, &at.key("link"), context, name) else { return Vec::new() };
    let Some(from) = from else { return vec![id.ab(), id.ba()] };
    let graph = context.graph;
    let ends = &graph.links[id.index()];
    match graph.node(from) {
        Some(node) if node == ends.a.0 => vec![id.ab()],
        Some(node) if node == ends.b.0 => vec![id.ba()],
        _ => {
            let (a, b) = (&graph.nodes[ends.a.0].name, &graph.nodes[ends.b.0].name);
            let what = format!("`{from}` is not at link `{name}`; its ends are {a} and {b}");
            cx.error(&at.key("from"), what);
            Vec::new()
        }
    }
}

fn lose(
    cx: &mut Cx,
    at: &Place<'_>,
    said: &raw::LoseFault,
    context: &Context<'_, '_>,
    mut push: impl FnMut(FaultKind),
) {
    let which = match said.which.unwrap_or_default() {
        WhichName::Any => Which::Any,
        WhichName::Pause => Which::Control,
        WhichName::Data => Which::Data,
    };
    for direction in directions(cx, at, context, &said.link, said.from.as_deref()) {
        push(FaultKind::Line(
            direction,
            LineFault::Lose { which, frames: said.frames.unwrap_or(1) },
        ));
    }
}

fn flap(
    cx: &mut Cx,
    at: &Place<'_>,
    said: &raw::Flap,
    context: &Context<'_, '_>,
    when: Instant,
    mut push: impl FnMut(LinkId, Instant, Instant),
) {
    let Some(link) = link(cx, &at.key("link"), context, &said.link) else { return };
    let down_for = said.down_for.0;
    let every = said.every.map_or(down_for.saturating_mul(2), |s| s.0);
    let times = cx.ranged(&at.key("times"), said.times.unwrap_or(1), (1, FLAPS_MAX), 1);
    if down_for == Duration::ZERO {
        cx.error(&at.key("down_for"), "must be above zero");
    }
    if times > 1 && every <= down_for {
        let what = format!("the link would not come up for {down_for} between; choose more");
        cx.error(&at.key("every"), what);
    }
    for n in 0..u64::from(times) {
        let down = when.saturating_add(every.saturating_mul(n));
        push(link, down, down.saturating_add(down_for));
    }
}

fn forge(
    cx: &mut Cx,
    at: &Place<'_>,
    said: &raw::Forge,
    context: &Context<'_, '_>,
    when: Instant,
    push: &mut impl FnMut(Instant, FaultKind),
) {
    let directions = directions(cx, at, context, &said.link, said.from.as_deref());
    let Some(mut octets) = unhex(&said.octets) else {
        return cx.error(&at.key("octets"), "must be hexadecimal, two digits for each octet");
    };
    if !(FORGED.0..=FORGED.1).contains(&octets.len()) {
        let what = format!("{} octets; {} to {}", octets.len(), FORGED.0, FORGED.1);
        return cx.error(&at.key("octets"), what);
    }
    octets.resize(octets.len().max(FRAME_MIN), 0);
    for when in attacks(cx, at, when, (said.times, said.every)) {
        for direction in &directions {
            let octets = octets.clone().into_boxed_slice();
            push(when, FaultKind::Line(*direction, LineFault::Forge(octets)));
        }
    }
}

fn replay(
    cx: &mut Cx,
    at: &Place<'_>,
    said: &raw::Replay,
    context: &Context<'_, '_>,
    when: Instant,
    push: &mut impl FnMut(Instant, FaultKind),
) {
    let directions = directions(cx, at, context, &said.link, said.from.as_deref());
    let last = FaultKind::RECORDED - 1;
    let back = cx.ranged(&at.key("back"), said.back.unwrap_or(0), (0, last), 0);
    for when in attacks(cx, at, when, (said.times, said.every)) {
        for direction in &directions {
            push(when, FaultKind::Line(*direction, LineFault::Replay { back }));
        }
    }
}

/// Returns the arrival times of the copies of a frame.
fn attacks(
    cx: &mut Cx,
    at: &Place<'_>,
    first: Instant,
    (times, every): (Option<u32>, Option<Span>),
) -> impl Iterator<Item = Instant> + use<> {
    let times = cx.ranged(&at.key("times"), times.unwrap_or(1), (1, FLAPS_MAX), 1);
    let every = every.map_or(FORGED_EVERY, |s| s.0);
    (0..u64::from(times)).map(move |n| first.saturating_add(every.saturating_mul(n)))
}

/// Decodes hexadecimal digits; `None` if there is any other character.
fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes().chunks(2);
    let octet = |pair: &[u8]| match pair {
        [a, b] => {
            let digit = |d: u8| char::from(d).to_digit(16);
            Some((digit(*a)? << 4 | digit(*b)?) as u8)
        }
        _ => None,
    };
    digits.map(octet).collect()
}

/// Resolves a switch and the ports that a fault applies to.
fn ports<'r>(
    cx: &mut Cx,
    at: &Place<'_>,
    context: &'r Context<'_, '_>,
    switch: &str,
    port: Option<&str>,
) -> Option<(usize, &'r SwitchPlan, Vec<usize>)> {
    let node = context.graph.find_switch(cx, &at.key("switch"), switch)?;
    let plan = context.switches.plans[node].as_ref()?;
    let Some(name) = port else { return Some((node, plan, (0..plan.ports.len()).collect())) };
    let ports = context.graph.ports_to(node, name);
    if ports.is_empty() {
        cx.error(&at.key("port"), format!("`{switch}` has no link to `{name}`"));
    }
    Some((node, plan, ports))
}

fn ecn(
    cx: &mut Cx,
    at: &Place<'_>,
    said: &raw::EcnFault,
    context: &Context<'_, '_>,
    mut push: impl FnMut(FaultKind),
) {
    let Some((node, switch, ports)) = ports(cx, at, context, &said.switch, said.port.as_deref())
    else {
        return;
    };
    let Some(class) = TrafficClass::new(said.queue) else {
        return cx.error(&at.key("queue"), format!("there is no queue {}; 0 to 7", said.queue));
    };
    for port in ports {
        let rate = switch.ports[port].rate;
        let part = Some(port_buffer(&switch.buffer, switch.ports.len()));
        let plan = said.curve.as_ref().map(|c| ecn_plan(cx, &at.key("curve"), c, rate, part));
        let Some(port) = PortId::new(port as u16) else { continue };
        let change = Change::Ecn { port, class, plan };
        push(FaultKind::Change { node: NodeId(node as u32), change });
    }
}

fn scheduler(
    cx: &mut Cx,
    at: &Place<'_>,
    said: &raw::SchedulerFault,
    context: &Context<'_, '_>,
    mut push: impl FnMut(FaultKind),
) {
    let Some((node, _, ports)) = ports(cx, at, context, &said.switch, said.port.as_deref()) else {
        return;
    };
    let meter = said.meter;
    for port in ports.into_iter().filter_map(|port| PortId::new(port as u16)) {
        let change = Change::Meter { port, meter };
        push(FaultKind::Change { node: NodeId(node as u32), change });
    }
}

fn group(
    cx: &mut Cx,
    at: &Place<'_>,
    said: &raw::GroupFault,
    context: &Context<'_, '_>,
    mut push: impl FnMut(FaultKind),
) {
    let Some((node, switch, ports)) = ports(cx, at, context, &said.switch, said.port.as_deref())
    else {
        return;
    };
    let Some(group) = PriorityGroup::new(said.group) else {
        return cx.error(&at.key("group"), format!("there is no group {}; 0 to 7", said.group));
    };
    let Some(profile) = context.switches.profile_of[node] else { return };
    let (buffer, _) = context.profiles.buffer(profile);
    for port in ports {
        let was = switch.buffer.groups[port][group.index()];
        let change = ProfileChange { buffer, name: &said.profile, was };
        let cell = switch.buffer.cell_bytes;
        let made = group_plan(cx, &at.key("profile"), change, switch.max_frame, cell);
        let Some(plan) = made else { return };
        let finds = switch.ports[port].agents.as_ref().is_some_and(|a| a.auto.is_some());
        if finds && headroom(plan).is_some_and(|said| headroom(was).is_some_and(|h| h != said)) {
            let what = format!(
                "port {} finds the headroom of group {group} by itself (`headroom: auto`): give \
                 the profile `xoff: auto`",
                switch.ports[port].name
            );
            return cx.error(&at.key("profile"), what);
        }
        let Some(port) = PortId::new(port as u16) else { return };
        let change = Change::Group { port, group, plan };
        push(FaultKind::Change { node: NodeId(node as u32), change });
    }
}

fn headroom(plan: GroupPlan) -> Option<Cells> {
    match plan.kind {
        GroupKind::Lossless { headroom, .. } => Some(headroom),
        GroupKind::Lossy => None,
    }
}

fn object(
    cx: &mut Cx,
    at: &Place<'_>,
    said: &raw::ObjectFault,
    context: &Context<'_, '_>,
    mut push: impl FnMut(FaultKind),
) {
    let Some((node, _, ports)) = ports(cx, at, context, &said.switch, said.port.as_deref()) else {
        return;
    };
    let object = match Object::named(&said.name) {
        Ok(object) => object,
        Err(error) => return cx.error(&at.key("name"), error.to_string()),
    };
    let class = match said.class.map(|n| TrafficClass::new(n).ok_or(n)).transpose() {
        Ok(class) => class,
        Err(n) => return cx.error(&at.key("class"), format!("there is no class {n}; 0 to 7")),
    };
    let value = match object_value(object, &said.value) {
        Ok(value) => value,
        Err(why) => return cx.error(&at.key("value"), why),
    };
    let named = said.port.is_some();
    let ports = ports.into_iter().map(|port| PortId::new(port as u16)).filter(|_| named);
    let places: Vec<_> = if named { ports.collect() } else { vec![None] };
    for port in places {
        let change = Change::Object { object, at: At { port, class }, value };
        push(FaultKind::Change { node: NodeId(node as u32), change });
    }
}

/// Applies object changes in the order of time, and reports those that contradict the rest of the
/// switch's plan, as the switch would refuse them.
fn check_objects(cx: &mut Cx, at: &Place<'_>, context: &Context<'_, '_>, order: &[&Fault]) {
    let mut plans: BTreeMap<usize, CongestionPlan> = BTreeMap::new();
    for fault in order {
        let Some((node, &Change::Object { object, at: place, value })) = fault.kind.change() else {
            continue;
        };
        let Some(switch) = &context.switches.plans[node.index()] else { continue };
        let plan = plans.entry(node.index()).or_insert_with(|| switch.congestion.clone());
        let set = managed::set(plan, switch.ports.len(), object, place, value)
            .and_then(|()| managed::reaches(object, value, switch.buffer.octets()));
        if let Err(error) = set {
            return cx.error(at, format!("an object of {} cannot be set: {error}", switch.name));
        }
    }
}

/// Applies buffer changes in the order of time, and reports those that do not fit the buffer, as
/// the switch would refuse them.
fn check_changes(cx: &mut Cx, at: &Place<'_>, context: &Context<'_, '_>, faults: &[Fault]) {
    let mut order: Vec<&Fault> = faults.iter().collect();
    order.sort_by_key(|f| f.at);
    check_objects(cx, at, context, &order);
    let mut ledgers: Vec<(NodeId, Ledger)> = Vec::new();
    for fault in order {
        let Some((node, &Change::Group { port, group, plan })) = fault.kind.change() else {
            continue;
        };
        let known = ledgers.iter().position(|(n, _)| *n == node);
        let place = known.or_else(|| {
            let switch = context.switches.plans[node.index()].as_ref()?;
            ledgers.push((node, Ledger::new(&switch.buffer).ok()?));
            Some(ledgers.len() - 1)
        });
        let Some((_, ledger)) = place.and_then(|p| ledgers.get_mut(p)) else { continue };
        if let Err(e) = ledger.set_group(port, group, plan) {
            return cx.error(at, format!("a group cannot be changed so: {e}"));
        }
    }
}
