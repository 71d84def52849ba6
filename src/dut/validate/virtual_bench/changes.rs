//! Changes of a virtual device's settings while traffic runs.

use std::collections::HashMap;

use crate::bench::Trouble;
use crate::trial::{Change, Trial};
use ground::time::{Duration, Instant};
use ground::units::{PRIORITIES, PortId, TrafficClass};
use schedule::ClassPlan;
use sim::{End, Fault, FaultKind, LinkId, NetworkPlan, NodeId, NodeKind};
use switch::{Change as SwitchChange, PortPlan};

/// Returns the changes of a trial as planned ones of its network; `hosts` are those of the tester's
/// ports.
///
/// # Errors
/// A virtual device has no such setting, or not with this value.
pub(crate) fn planned(
    network: &NetworkPlan,
    hosts: &[NodeId],
    trial: &Trial,
    lead: Duration,
) -> Result<Vec<Fault>, Trouble> {
    let mut changes: Vec<_> = trial.changes.iter().collect();
    changes.sort_by_key(|change| change.at);
    // The classes of a port change as a whole, so each change has those before it.
    let mut classes: HashMap<(NodeId, PortId), [ClassPlan; PRIORITIES]> = HashMap::new();
    let mut faults = Vec::new();
    for change in changes {
        let end = opposite(network, hosts[change.port.0]);
        let (class, weight) = weight(change)?;
        let plan = port(network, end)?;
        let classes = classes.entry((end.node, end.port)).or_insert(plan.schedule.classes);
        classes[class.index()] = ClassPlan::Dwrr { weight };
        let (port, map) = (end.port, plan.classify.class);
        let change_of_switch = SwitchChange::Ets { port, classes: *classes, map };
        let kind = FaultKind::Change { node: end.node, change: change_of_switch };
        faults.push(Fault { at: Instant::ZERO + lead + change.at, kind });
    }
    Ok(faults)
}

/// Returns the port of the device that a host is cabled to.
fn opposite(network: &NetworkPlan, host: NodeId) -> End {
    let link = &network.links[link_of(network, host).index()];
    if link.a.node == host { link.b } else { link.a }
}

fn port(network: &NetworkPlan, end: End) -> Result<&PortPlan, Trouble> {
    match &network.nodes[end.node.index()].kind {
        NodeKind::Switch(plan) => Ok(&plan.ports[end.port.index()]),
        NodeKind::Host(_) => {
            let what = "a tester's port is cabled to a host, which has no settings";
            Err(Trouble::Error(what.to_owned()))
        }
    }
}

/// Returns the class and its new weight.
fn weight(change: &Change) -> Result<(TrafficClass, u16), Trouble> {
    let name = change.name.strip_prefix("queues.").and_then(|name| name.strip_suffix(".weight"));
    let class = name.and_then(|class| class.parse().ok()).and_then(TrafficClass::new);
    let value = change.value.parse().ok().filter(|weight| *weight > 0);
    class.zip(value).ok_or_else(|| {
        let Change { name, value, .. } = change;
        Trouble::Error(format!("{name}: {value} is no setting of a virtual device"))
    })
}

/// Returns the link of a host.
pub(crate) fn link_of(network: &NetworkPlan, host: NodeId) -> LinkId {
    let at = network.links.iter().position(|link| link.a.node == host || link.b.node == host);
    LinkId(at.expect("a tester's host has a link") as u32)
}
