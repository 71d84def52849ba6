//! Shrinks a failing lab: removes parts and reduces numbers while the same check fails.

use std::time::{Duration as WallSpan, Instant as Wall};

use super::trial::{self, Failure, Trial};
use crate::raw::{
    Chosen, Defaults, Fault, FaultKind, FaultPlace, Flow, FlowDuration, HostEntry, Lab, Link, Many,
    Members, Pattern, PortDefaults, Short, SwitchEntry,
};
use config::quantity::Span;

/// A lab that was shrunk.
#[derive(Clone, Debug)]
pub struct Shrunk {
    /// The smallest lab found.
    pub lab: Lab,
    /// The failure that it still has.
    pub failure: Failure,
    /// Number of labs that were tried.
    pub tried: u64,
}

/// Shrinks a lab that fails with `failure`, for about `most` of real time.
#[must_use]
pub fn shrink(lab: &Lab, failure: &Failure, most: WallSpan) -> Shrunk {
    shrink_with(lab, failure, most, trial::run)
}

/// Does the same with a given function to run labs.
pub(super) fn shrink_with(
    lab: &Lab,
    failure: &Failure,
    most: WallSpan,
    run: impl Fn(&Lab) -> Trial,
) -> Shrunk {
    let start = Wall::now();
    let mut best = Shrunk { lab: lab.clone(), failure: failure.clone(), tried: 0 };
    loop {
        let before = best.lab.clone();
        let mut n = 0;
        while start.elapsed() < most {
            let Some(smaller) = candidate(&best.lab, n) else { break };
            n += 1;
            // The reduction had nothing to reduce here, such as optional fields that are not set.
            if smaller == best.lab {
                continue;
            }
            best.tried += 1;
            let mut found = run(&smaller).failures.into_iter();
            // Another failure is another bug: following it would lose the one that is looked for.
            if let Some(failure) = found.find(|found| found.check == failure.check) {
                (best.lab, best.failure) = (smaller, failure);
                // This index is another part now.
                n -= 1;
            }
        }
        // A removal may make earlier reductions possible, so rounds go on until one changes nothing.
        if best.lab == before || start.elapsed() >= most {
            return best;
        }
    }
}

/// Returns the lab after the `n`th reduction; `None` if there are no more.
fn candidate(lab: &Lab, n: usize) -> Option<Lab> {
    let mut left = n;
    for kind in KINDS {
        let places = (kind.places)(lab);
        if left < places {
            let mut smaller = lab.clone();
            (kind.apply)(&mut smaller, left);
            return Some(smaller);
        }
        left -= places;
    }
    None
}

/// A reduction: the number of places where it applies, and its application at one.
struct Kind {
    places: fn(&Lab) -> usize,
    apply: fn(&mut Lab, usize),
}

/// Large parts first.
const KINDS: &[Kind] = &[
    // Each run takes time, so what makes the lab smallest is tried first.
    Kind { places: |lab| lab.faults.len(), apply: |lab, n| drop(lab.faults.remove(n)) },
    Kind { places: |lab| lab.flows.len(), apply: |lab, n| drop(lab.flows.remove(n)) },
    Kind { places: |lab| hosts(lab).len(), apply: without_host },
    Kind { places: |lab| switches(lab).len(), apply: without_switch },
    Kind { places: |lab| lab.flows.len(), apply: |lab, n| fewer_senders(&mut lab.flows[n], true) },
    Kind { places: |lab| lab.flows.len(), apply: |lab, n| fewer_senders(&mut lab.flows[n], false) },
    Kind { places: |lab| lab.flows.len(), apply: |lab, n| fewer_frames(&mut lab.flows[n]) },
    Kind { places: |_| PLAINER.len(), apply: |lab, n| PLAINER[n](lab) },
    Kind { places: |lab| lab.links.len(), apply: |lab, n| plainer_link(&mut lab.links[n]) },
    Kind { places: |lab| lab.links.len(), apply: |lab, n| lab.links[n].errors = None },
    Kind { places: |lab| lab.flows.len(), apply: |lab, n| plainer_flow(&mut lab.flows[n]) },
    Kind { places: |lab| lab.flows.len(), apply: |lab, n| lab.flows[n].transport = None },
    Kind { places: |lab| lab.faults.len(), apply: |lab, n| milder(&mut lab.faults[n]) },
];

/// Parts to remove from the lab as a whole.
const PLAINER: &[fn(&mut Lab)] = &[
    |lab| lab.defaults = Defaults::default(),
    |lab| lab.shuffle = None,
    |lab| for_hosts(lab, |host| host.storms = None),
    |lab| for_hosts(lab, |host| host.clock = None),
    |lab| for_switches(lab, |switch| switch.clock = None),
    |lab| lab.profiles.values_mut().for_each(|p| p.defaults.queues.clear()),
    |lab| lab.profiles.values_mut().for_each(|p| p.defaults.watchdog = None),
    |lab| lab.profiles.values_mut().for_each(|p| p.defaults.dcbx = None),
    |lab| {
        for PortDefaults { headroom, measurement, ptp, .. } in
            lab.profiles.values_mut().map(|p| &mut p.defaults)
        {
            (*headroom, *measurement, *ptp) = (None, None, None);
        }
    },
    |lab| {
        for profile in lab.profiles.values_mut().flat_map(|p| p.buffer.profiles.values_mut()) {
            profile.reserved = None;
        }
    },
    |lab| lab.seed = 0,
];

/// Returns the hosts, which a generated lab has as a list.
fn hosts(lab: &Lab) -> Vec<String> {
    match &lab.nodes.hosts {
        Members::List(list) => list.iter().filter_map(host_name).collect(),
        Members::Count(_) => vec![],
    }
}

fn switches(lab: &Lab) -> Vec<String> {
    match &lab.nodes.switches {
        Members::List(list) => list.iter().filter_map(switch_name).collect(),
        Members::Count(_) => vec![],
    }
}

fn host_name(entry: &HostEntry) -> Option<String> {
    match entry {
        Short::Short(name) => Some(name.clone()),
        Short::Long(host) => host.name.clone(),
    }
}

fn switch_name(entry: &SwitchEntry) -> Option<String> {
    match entry {
        Short::Short(name) => Some(name.clone()),
        Short::Long(switch) => switch.name.clone(),
    }
}

fn for_hosts(lab: &mut Lab, change: impl Fn(&mut crate::raw::Host)) {
    if let Members::List(list) = &mut lab.nodes.hosts {
        for entry in list {
            if let Short::Long(host) = entry {
                change(host);
            }
        }
    }
}

fn for_switches(lab: &mut Lab, change: impl Fn(&mut crate::raw::Switch)) {
    if let Members::List(list) = &mut lab.nodes.switches {
        for entry in list {
            if let Short::Long(switch) = entry {
                change(switch);
            }
        }
    }
}

/// Removes a host, with its link and all references to both.
fn without_host(lab: &mut Lab, n: usize) {
    let name = hosts(lab).swap_remove(n);
    if let Members::List(list) = &mut lab.nodes.hosts {
        list.retain(|entry| host_name(entry).as_ref() != Some(&name));
    }
    let others = |many: &mut Option<Many<String>>| {
        if let Some(Many(list)) = many {
            list.retain(|host| *host != name);
        }
    };
    for flow in &mut lab.flows {
        for chosen in [&mut flow.from, &mut flow.to].into_iter().flatten() {
            if let Some(list) = chosen.names_mut() {
                list.retain(|host| *host != name);
            }
        }
    }
    let none = |chosen: &Option<Chosen>| {
        chosen.as_ref().and_then(Chosen::names).is_some_and(<[_]>::is_empty)
    };
    // An entry without senders or receivers would be an error of the file.
    lab.flows.retain(|flow| !none(&flow.from) && !none(&flow.to));
    for route in &mut lab.routes {
        others(&mut route.to);
    }
    lab.routes.retain(|route| !is_empty(&route.to));
    without_links(lab, &name);
}

/// Removes a switch with its links. Its hosts must be removed before.
fn without_switch(lab: &mut Lab, n: usize) {
    let name = switches(lab).swap_remove(n);
    if let Members::List(list) = &mut lab.nodes.switches {
        list.retain(|entry| switch_name(entry).as_ref() != Some(&name));
    }
    lab.routes
        .retain(|route| route.at.as_ref() != Some(&name) && route.via.as_ref() != Some(&name));
    without_links(lab, &name);
}

fn is_empty(many: &Option<Many<String>>) -> bool {
    many.as_ref().is_some_and(|Many(list)| list.is_empty())
}

/// Removes the links of a node, and the faults of the node and of these links.
fn without_links(lab: &mut Lab, node: &str) {
    let is_its = |end: &Option<String>| end.as_deref() == Some(node);
    lab.links.retain(|link| !is_its(&link.from) && !is_its(&link.to));
    lab.faults.retain(|fault| match fault.kind.as_ref().map(FaultKind::place) {
        // Generated links are named after their ends.
        Some(FaultPlace::Link(link)) => link.split('-').all(|end| end != node),
        Some(FaultPlace::Node(name, port)) => name != node && port != Some(node),
        None => true,
    });
}

/// Removes the first or second half of the senders, or of the receivers if there is one sender.
fn fewer_senders(flow: &mut Flow, first: bool) {
    // A permutation needs as many receivers as senders; half of one end is no permutation.
    if flow.pattern == Some(Pattern::Permutation) {
        return;
    }
    let half = |chosen: &mut Option<Chosen>| {
        let Some(list) = chosen.as_mut().and_then(Chosen::names_mut) else { return };
        let middle = list.len() / 2;
        if first {
            list.drain(..middle);
        } else {
            // The first half is at most as large as what stays, so a list never becomes empty.
            list.truncate(list.len() - middle);
        }
    };
    let senders = flow.from.as_ref().and_then(Chosen::names);
    let several = senders.is_some_and(|list| list.len() > 1);
    half(if several { &mut flow.from } else { &mut flow.to });
}

/// Halves the number of frames.
fn fewer_frames(flow: &mut Flow) {
    if let Some(FlowDuration::Amount(amount)) = &mut flow.duration {
        amount.frames = amount.frames.map(|n| n.div_ceil(2));
    }
}

/// Removes all optional fields of a link.
fn plainer_link(link: &mut Link) {
    *link = Link {
        from: link.from.take(),
        to: link.to.take(),
        rate: link.rate,
        length: link.length,
        delay: link.delay,
        errors: link.errors,
        ..Link::default()
    };
}

fn plainer_flow(flow: &mut Flow) {
    (flow.start, flow.stagger, flow.ecn, flow.rate) = (None, None, None, None);
}

/// Halves the duration or the number.
fn milder(fault: &mut Fault) {
    let half = |span: &mut Span| span.0 = span.0.div(2).max(ground::time::Duration::from_nanos(1));
    match &mut fault.kind {
        Some(FaultKind::Flap(flap)) => {
            half(&mut flap.down_for);
            flap.times = None;
        }
        Some(FaultKind::Lose(lose)) => lose.frames = lose.frames.map(|n| n.div_ceil(2)),
        Some(FaultKind::Stall(stall)) => half(&mut stall.span),
        // Not every kind has a milder form; another step removes the fault.
        _ => {}
    }
}
