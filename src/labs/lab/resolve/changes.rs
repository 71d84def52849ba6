//! Resolves changes of a switch's configuration that are planned for the run, and reports those that the switch
//! would refuse then.

use std::collections::BTreeMap;

use super::faults::Context;
use crate::raw;
use buffer::{GroupKind, GroupPlan, Ledger};
use config::{Cx, Place, ProfileChange, ecn_plan, group_plan, object_value, port_buffer};
use ground::units::{Cells, PortId, PriorityGroup, TrafficClass};
use sim::{Fault, FaultKind, NodeId};
use switch::managed::{self, At, Object};
use switch::{Change, CongestionPlan, SwitchPlan};

/// Resolves a switch and the ports that a fault applies to.
fn ports<'r>(
    cx: &mut Cx,
    place: &Place<'_>,
    context: &'r Context<'_, '_>,
    switch: &str,
    port: Option<&str>,
) -> Option<(usize, &'r SwitchPlan, Vec<usize>)> {
    let node = context.graph.find_switch(cx, &place.key("switch"), switch)?;
    let plan = context.switches.plans[node].as_ref()?;
    let Some(name) = port else { return Some((node, plan, (0..plan.ports.len()).collect())) };
    let ports = context.graph.ports_to(node, name);
    if ports.is_empty() {
        cx.error(&place.key("port"), format!("`{switch}` has no link to `{name}`"));
    }
    Some((node, plan, ports))
}

pub(super) fn ecn(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: &raw::EcnFault,
    context: &Context<'_, '_>,
    mut push: impl FnMut(FaultKind),
) {
    let Some((node, switch, ports)) = ports(cx, place, context, &raw.switch, raw.port.as_deref())
    else {
        return;
    };
    let Some(class) = TrafficClass::new(raw.queue) else {
        return cx.error(&place.key("queue"), format!("there is no queue {}; 0 to 7", raw.queue));
    };
    for port in ports {
        let rate = switch.ports[port].rate;
        let part = Some(port_buffer(&switch.buffer, switch.ports.len()));
        let plan = raw.curve.as_ref().map(|c| ecn_plan(cx, &place.key("curve"), c, rate, part));
        let Some(port) = PortId::new(port as u16) else { continue };
        let change = Change::Ecn { port, class, plan };
        push(FaultKind::Change { node: NodeId(node as u32), change });
    }
}

pub(super) fn scheduler(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: &raw::SchedulerFault,
    context: &Context<'_, '_>,
    mut push: impl FnMut(FaultKind),
) {
    let Some((node, _, ports)) = ports(cx, place, context, &raw.switch, raw.port.as_deref()) else {
        return;
    };
    let meter = raw.meter;
    for port in ports.into_iter().filter_map(|port| PortId::new(port as u16)) {
        let change = Change::Meter { port, meter };
        push(FaultKind::Change { node: NodeId(node as u32), change });
    }
}

pub(super) fn group(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: &raw::GroupFault,
    context: &Context<'_, '_>,
    mut push: impl FnMut(FaultKind),
) {
    let Some((node, switch, ports)) = ports(cx, place, context, &raw.switch, raw.port.as_deref())
    else {
        return;
    };
    let Some(group) = PriorityGroup::new(raw.group) else {
        return cx.error(&place.key("group"), format!("there is no group {}; 0 to 7", raw.group));
    };
    let Some(profile) = context.switches.profile_of[node] else { return };
    let (buffer, _) = context.profiles.buffer(profile);
    for port in ports {
        let was = switch.buffer.groups[port][group.index()];
        let change = ProfileChange { buffer, name: &raw.profile, was };
        let cell = switch.buffer.cell_bytes;
        let made = group_plan(cx, &place.key("profile"), change, switch.max_frame, cell);
        let Some(plan) = made else { return };
        // With `headroom: auto` the link protocols own the headroom, and would undo the change at the next
        // measurement.
        let finds = switch.ports[port].agents.as_ref().is_some_and(|a| a.auto.is_some());
        if finds && headroom(plan).is_some_and(|raw| headroom(was).is_some_and(|h| h != raw)) {
            let what = format!(
                "port {} finds the headroom of group {group} by itself (`headroom: auto`): give \
                 the profile `xoff: auto`",
                switch.ports[port].name
            );
            return cx.error(&place.key("profile"), what);
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

pub(super) fn object(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: &raw::ObjectFault,
    context: &Context<'_, '_>,
    mut push: impl FnMut(FaultKind),
) {
    let Some((node, _, ports)) = ports(cx, place, context, &raw.switch, raw.port.as_deref()) else {
        return;
    };
    let object = match Object::named(&raw.name) {
        Ok(object) => object,
        Err(error) => return cx.error(&place.key("name"), error.to_string()),
    };
    let class = match raw.class.map(|n| TrafficClass::new(n).ok_or(n)).transpose() {
        Ok(class) => class,
        Err(n) => return cx.error(&place.key("class"), format!("there is no class {n}; 0 to 7")),
    };
    let value = match object_value(object, &raw.value) {
        Ok(value) => value,
        Err(why) => return cx.error(&place.key("value"), why),
    };
    // Without a port the object is that of the whole switch, set once and not once for each port.
    let named = raw.port.is_some();
    let ports = ports.into_iter().map(|port| PortId::new(port as u16)).filter(|_| named);
    let places: Vec<_> = if named { ports.collect() } else { vec![None] };
    for port in places {
        let change = Change::Object { object, at: At { port, class }, value };
        push(FaultKind::Change { node: NodeId(node as u32), change });
    }
}

/// Applies object changes in the order of time, and reports those that contradict the rest of the
/// switch's plan, as the switch would refuse them.
fn check_objects(cx: &mut Cx, section: &Place<'_>, context: &Context<'_, '_>, order: &[&Fault]) {
    let mut plans: BTreeMap<usize, CongestionPlan> = BTreeMap::new();
    for fault in order {
        let Some((node, &Change::Object { object, at: spot, value })) = fault.kind.change() else {
            continue;
        };
        let Some(switch) = &context.switches.plans[node.index()] else { continue };
        // Each change is applied to the result of those before it, as the switch will do during the run.
        let plan = plans.entry(node.index()).or_insert_with(|| switch.congestion.clone());
        let set = managed::set(plan, switch.ports.len(), object, spot, value)
            .and_then(|()| managed::reaches(object, value, switch.buffer.octets()));
        if let Err(error) = set {
            return cx
                .error(section, format!("an object of {} cannot be set: {error}", switch.name));
        }
    }
}

/// Applies buffer changes in the order of time, and reports those that do not fit the buffer, as
/// the switch would refuse them.
pub(super) fn check_changes(
    cx: &mut Cx,
    section: &Place<'_>,
    context: &Context<'_, '_>,
    faults: &[Fault],
) {
    let mut order: Vec<&Fault> = faults.iter().collect();
    // The sort is stable, so changes of one time stay in the order of the file, as in the run.
    order.sort_by_key(|f| f.at);
    check_objects(cx, section, context, &order);
    let mut ledgers: Vec<(NodeId, Ledger)> = Vec::new();
    for fault in order {
        let Some((node, &Change::Group { port, group, plan })) = fault.kind.change() else {
            continue;
        };
        let known = ledgers.iter().position(|(n, _)| *n == node);
        // A ledger is built only for switches that have changes; most have none.
        let place = known.or_else(|| {
            let switch = context.switches.plans[node.index()].as_ref()?;
            ledgers.push((node, Ledger::new(&switch.buffer).ok()?));
            Some(ledgers.len() - 1)
        });
        let Some((_, ledger)) = place.and_then(|p| ledgers.get_mut(p)) else { continue };
        if let Err(e) = ledger.set_group(port, group, plan) {
            return cx.error(section, format!("a group cannot be changed so: {e}"));
        }
    }
}
