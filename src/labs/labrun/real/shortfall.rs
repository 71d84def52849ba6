//! Reports the parts of a lab that rings in one process do not support.

use core::fmt;

use serde::{Serialize, Serializer};

use super::node::Snapshot;
use super::rig::Rings;
use crate::plan::{CheckKind, LabPlan, Record};
use ground::time::Duration;
use schedule::LinePlan;
use secure::SecyPlan;
use sim::{
    CpuPlan, DirectionPlan, ErrorPlan, FaultClass, LinkPlan, NetworkPlan, NodeKind, NodePlan,
};
use switch::PortPlan;
use text::count;

/// A part of a lab that is not supported, and its replacement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shortfall {
    /// Field of the lab file that configures it.
    pub field: &'static str,
    /// Replacement, as a sentence.
    pub instead: String,
}

impl Shortfall {
    pub(super) fn new(field: &'static str, instead: impl Into<String>) -> Self {
        Self { field, instead: instead.into() }
    }
}

impl fmt::Display for Shortfall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.instead)
    }
}

impl Serialize for Shortfall {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

/// Returns the shortfalls that follow from a lab's plan. Plans are taken apart without `..`, and
/// faults matched without `_`: a field or fault that is added is considered here, or does not
/// compile. Switches and hosts are the same machines in both worlds.
pub(super) fn of_plan(plan: &LabPlan, rings: &Rings) -> Vec<Shortfall> {
    // The first is of every run: it says how far results can be repeated.
    let mut found = vec![Shortfall::new(
        "seed",
        format!(
            "the order of what happens at about the same time is the machine's, so there is no \
             trace hash and no two runs are the same; times are good to about {}",
            rings.span
        ),
    )];
    let LabPlan {
        name: _,
        variant: _,
        network,
        flows: _,
        workloads: _,
        tester: _,
        duration: _,
        until_done: _,
        measure_from: _,
        measure_to: _,
        checks: _,
        record: _,
    } = plan;
    let NetworkPlan { nodes: _, links: _, faults: _, seed: _, shuffle: _, sample_every: _ } =
        network;
    found.extend(of_links(plan, rings));
    found.extend(of_nodes(plan));
    found.extend(of_headroom(plan));
    found.extend(of_faults(plan, rings));
    found.extend(of_records(plan));
    found
}

/// Ports with `auto` headroom.
fn of_headroom(plan: &LabPlan) -> Option<Shortfall> {
    let finds = |node: &NodePlan| match &node.kind {
        NodeKind::Switch(switch) => {
            let agents = |port: &PortPlan| port.agents.as_ref().is_some_and(|a| a.auto.is_some());
            switch.ports.iter().any(agents)
        }
        NodeKind::Host(_) => false,
    };
    plan.network.nodes.iter().any(finds).then(|| {
        Shortfall::new(
            "profiles.defaults.headroom",
            "what waits in rings is most of what can arrive after XOFF, and no message measures \
             it: links are measured and the results shown, and headroom stays what rings need",
        )
    })
}

/// Returns the shortfalls that occurred during the run.
pub(super) fn of_run(
    plan: &LabPlan,
    nodes: &[Snapshot],
    quiet: bool,
    events_left_off: u64,
) -> Vec<Shortfall> {
    let mut found = Vec::new();
    if !quiet && plan.checks.iter().any(|check| check.kind == CheckKind::NoDeadlock) {
        let instead = "the run ended while frames waited, and rings have no check for cyclic \
            buffer dependencies: no_deadlock has no verdict";
        found.push(Shortfall::new("checks", instead));
    }
    // A host that finds no free frame has sent late, which no check of the lab would notice.
    let dry: u64 = nodes
        .iter()
        .map(|node| match node {
            Snapshot::Host(host) => {
                let open = host.sources.iter().map(|s| s.dry).sum::<u64>();
                open + host.senders.iter().map(|s| s.dry).sum::<u64>()
            }
            Snapshot::Switch(_) => 0,
        })
        .sum();
    if dry > 0 {
        let instead =
            format!("{} times a host had no memory for a due frame, and sent it later", count(dry));
        found.push(Shortfall::new("profiles.buffer.total", instead));
    }
    if events_left_off > 0 {
        let instead = format!(
            "{} pauses are in the counts and not in the timelines, which are full",
            count(events_left_off)
        );
        found.push(Shortfall::new("record", instead));
    }
    found
}

fn of_links(plan: &LabPlan, rings: &Rings) -> Vec<Shortfall> {
    let links = &plan.network.links;
    let with = |wanted: fn(&DirectionPlan) -> bool| {
        names(links.iter().filter(|l| wanted(&l.ab) || wanted(&l.ba)).map(|l| l.name.as_str()))
    };
    let mut found = Vec::new();
    if let Some(names) = names(links.iter().map(|l| l.name.as_str())) {
        let instead = format!(
            "rings have no length, PHY or line: latencies lack the delays of {names}, and \
             consist of waiting times"
        );
        found.push(Shortfall::new("links.length, delay, phy", instead));
    }
    // Without `..`: a new field of a direction does not compile until it is considered here.
    let obeyed = with(|DirectionPlan { delay: _, response, errors: _ }| *response > Duration::ZERO);
    if let Some(names) = obeyed {
        let instead =
            format!("a pause is obeyed as soon as it is read, at the ends of {names} too");
        found.push(Shortfall::new("links.response", instead));
    }
    if let Some(names) = with(|d| d.errors != ErrorPlan::default()) {
        let instead = format!("rings lose and damage nothing: the errors of {names} are left out");
        found.push(Shortfall::new("links.errors", instead));
    }
    let steps = |link: &&LinkPlan| {
        let LinkPlan { name: _, a: _, b: _, rate: _, line, ab: _, ba: _ } = link;
        let LinePlan { overhead: _, step } = line;
        // A picosecond is the resolution of time, hence no step.
        *step > Duration::from_picos(1)
    };
    if let Some(names) = names(links.iter().filter(steps).map(|l| l.name.as_str())) {
        let instead = format!(
            "frames of {names} take whole steps, but start up to {} late or early, so counts that \
             rest on them are not those of the virtual world",
            rings.step
        );
        found.push(Shortfall::new("links.time_step", instead));
    }
    found
}

fn of_nodes(plan: &LabPlan) -> Vec<Shortfall> {
    let with = |wanted: fn(&NodePlan) -> bool| {
        names(plan.network.nodes.iter().filter(|n| wanted(n)).map(NodePlan::name))
    };
    let mut found = Vec::new();
    let mut say = |field, names: Option<String>, instead: &str| {
        // Sentences are written with a place for the names, which `format!` cannot take at run time.
        found.extend(names.map(|n| Shortfall::new(field, instead.replace("{}", &n))));
    };
    say(
        "nodes.clock",
        with(|NodePlan { kind: _, clock, cpu: _, cut_through: _, control_len: _ }| {
            !clock.is_exact()
        }),
        "all nodes use the clock of the process; offset and drift of {} are left out",
    );
    say(
        "nodes.cpu",
        with(|n| n.cpu != CpuPlan::default()),
        "processing takes the time of this machine; the configured times of {} are left out",
    );
    say(
        "macsec.delay",
        with(|n| secys(n).any(|s| s.tx_delay + s.rx_delay > Duration::ZERO)),
        "MACsec takes the time of this machine; the configured delays of {} are left out, and headroom \
         counts them",
    );
    say(
        "nodes.cut_through",
        with(|n| n.cut_through),
        "a ring hands over whole frames, so {} store and forward",
    );
    say(
        "nodes.control_frame",
        with(|n| n.control_len.is_some()),
        "the pauses of {} have the 64 octets that real ones have",
    );
    found
}

/// Returns the plans of a node's `SecY`s.
fn secys(node: &NodePlan) -> impl Iterator<Item = &SecyPlan> {
    let (ports, host) = match &node.kind {
        NodeKind::Switch(switch) => (&switch.ports[..], None),
        NodeKind::Host(host) => (&[][..], host.secy.as_deref()),
    };
    ports.iter().filter_map(|port| port.secy.as_deref()).chain(host)
}

fn of_faults(plan: &LabPlan, rings: &Rings) -> Vec<Shortfall> {
    let (mut lost, mut forged, mut down, mut stalled, mut defects) = (0, 0, 0, 0, 0);
    for fault in &plan.network.faults {
        match fault.kind.class() {
            FaultClass::LostPauses | FaultClass::LostFrames | FaultClass::Errors => lost += 1,
            FaultClass::Forged => forged += 1,
            FaultClass::LinkDown => down += 1,
            FaultClass::Stall => stalled += 1,
            FaultClass::Defect => defects += 1,
            // Rings do these as lines do.
            FaultClass::LinkUp | FaultClass::Change => {}
        }
    }
    let mut found = Vec::new();
    if lost > 0 {
        let instead = format!("rings lose nothing: {lost} of the faults are left out");
        found.push(Shortfall::new("faults.lose, errors", instead));
    }
    if forged > 0 {
        let instead = format!("rings carry no forged frames: {forged} of the faults are left out");
        found.push(Shortfall::new("faults.forge, replay", instead));
    }
    if defects > 0 {
        let instead =
            format!("the {defects} defects are left out; only the virtual world has them");
        found.push(Shortfall::new("faults.defect", instead));
    }
    // This fault happens on rings, but not at one time for both ends.
    if down > 0 {
        let instead = format!(
            "each end of a link goes down when its thread handles the fault; up to {} frames in \
             the ring still arrive: a host receives them, a switch drops them as link_down",
            rings.entries
        );
        found.push(Shortfall::new("faults.link_down, flap", instead));
    }
    if stalled > 0 {
        let instead = format!(
            "the rings of a stalled node hold {} frames; further frames wait at their sender",
            rings.entries
        );
        found.push(Shortfall::new("faults.stall", instead));
    }
    found
}

fn of_records(plan: &LabPlan) -> Vec<Shortfall> {
    let mut found = Vec::new();
    let Record { sample_every, messages: _, pcapng } = &plan.record;
    if !pcapng.is_empty() {
        found.push(Shortfall::new("record.pcapng", "rings are not captured: no file is written"));
    }
    if sample_every.is_some() {
        let instead = "queues and rates are not sampled: there are no plots of them";
        found.push(Shortfall::new("record.sample_every", instead));
    }
    found
}

/// Lists the first few names, and the number of the others.
pub(super) fn names<'a>(names: impl Iterator<Item = &'a str>) -> Option<String> {
    /// Most names that fit a sentence.
    const FEW: usize = 4;
    let names: Vec<_> = names.collect();
    match names.len() {
        0 => None,
        n if n <= FEW => Some(names.join(", ")),
        n => Some(format!("{} and {} more", names[..FEW].join(", "), n - FEW)),
    }
}
