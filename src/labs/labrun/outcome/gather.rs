//! Collects the results of a network after its run.

use super::ended::{Counted, Ended, Window, station};
use super::figures::figures;
use super::flows::flows;
use super::lossless_flows::lossless_flows;
use super::lossy_way::lossy_way;
use super::messages::{records, slowdown};
use super::nodes::{self, Far};
use super::steady::steady;
use super::tester::tester;
use super::workloads::workloads;
use super::*;
use crate::ends::{Ends, Source};
use crate::plan::LabPlan;
use crate::population::{HostCounts, Population};
use crate::record::Recorder;
use ground::time::{Duration, Instant};
use ground::units::{BitsPerSec, PRIORITIES, PortId};
use ground::verdict::Verdict;
use pfc::FlowControl;
use sim::{Fault, LinkId, NodeId, NodeKind, NodePlan};

/// Returns the data of each flow that has arrived so far.
pub(crate) fn flow_counts(ends: &[Ends], nodes: &mut impl Population) -> Vec<Counted> {
    let count = |ends: &Ends| {
        let host = station(nodes, ends.to);
        let delivered = match ends.source {
            Source::OpenLoop(_) => None,
            Source::Answered(_, n) => host.receiver(n).map(|r| r.delivered),
        };
        let sink = host.sink(ends.sink);
        sink.map_or(Counted::default(), |s| Counted { frames: s.frames, bytes: s.bytes, delivered })
    };
    ends.iter().map(count).collect()
}

/// Returns the results, without the checks.
pub(crate) fn gather(
    plan: &LabPlan,
    ended: &Ended,
    window: &Window,
    recorder: &Recorder,
    nodes: &mut impl Population,
) -> Outcome {
    let elapsed = ended.at.since(Instant::ZERO);
    let flows = flows(plan, ended, window, recorder, nodes);
    let tester = tester(plan, ended, nodes);
    let outcomes = look(plan, ended, elapsed, recorder, nodes);
    let figures = Figures {
        steady: steady(plan, ended, window),
        slowdown: slowdown(&records(plan, ended.at, nodes)),
        ..figures(plan, recorder, nodes, &flows, &outcomes)
    };
    let workloads = workloads(plan, nodes);
    let nodes = outcomes;
    let counts = recorder.counts();
    let name = |id: NodeId| plan.network.nodes[id.index()].name().to_owned();
    let first_drop = counts.first_drop.map(|drop| DropOutcome {
        at_ns: drop.at.since_start(),
        node: name(drop.node),
        port: port_name(&nodes[drop.node.index()], drop.port.index()),
        priority: drop.priority.map(|p| p.get()),
        reason: drop.reason.name(),
    });
    let line_losses = counts.line_losses;
    let lossy_way = lossy_way(plan, &flows, &nodes, &line_losses);
    let lossless_flows = lossless_flows(plan, ended, &flows, tester.as_ref());
    let of_groups: u64 =
        (0..plan.network.nodes.len() as u32).map(|n| recorder.lossless_lost(NodeId(n))).sum();
    Outcome {
        version: ground::program::version().into(),
        lab: plan.name.clone(),
        variant: plan.variant.clone(),
        world: ended.world.name(),
        seed: plan.network.seed,
        shuffle: plan.network.shuffle,
        trace_hash: ended.trace_hash.map(|hash| format!("{hash:016x}")),
        elapsed_ns: elapsed,
        done: ended.quiet,
        interrupted: false,
        verdict: Verdict::NotJudged,
        checks: Vec::new(),
        measured: Measured {
            from_ns: window.from.0.since_start(),
            to_ns: window.to.0.since_start(),
        },
        figures,
        flows,
        workloads,
        tester,
        pauses: pauses(plan, recorder, &nodes),
        marks: counts.marks,
        first_mark_ns: counts.first_mark.map(Instant::since_start),
        drops: counts.drops,
        lossless_drops: of_groups + lossy_way.as_ref().map_or(0, |way| way.lost_frames),
        lossy_way,
        lossless_flows,
        first_drop,
        line_losses,
        storms: counts.storms,
        faults: faults(plan, ended.at),
        deadlocks: Vec::new(),
        nodes,
        shortfalls: Vec::new(),
        real: None,
        engine: ended.tally,
    }
}

/// Returns the results of all nodes.
fn look(
    plan: &LabPlan,
    ended: &Ended,
    elapsed: Duration,
    recorder: &Recorder,
    nodes: &mut impl Population,
) -> Vec<NodeOutcome> {
    let peers = peers(plan);
    let look = |(n, node): (u32, &NodePlan)| {
        let id = NodeId(n);
        let far = |port: usize| peers[id.index()][port];
        let local = nodes.local(id, ended.now);
        let agents = nodes.agents(id, ended.now);
        let agents = (&agents, local);
        if let Some(snapshot) = nodes.switch(id, ended.now) {
            let switch = nodes::switch(id, snapshot, elapsed, recorder, &far, agents);
            return NodeOutcome::Switch(switch);
        }
        let host = station(nodes, id);
        let (counters, secy) = (host.all(local), host.secy());
        let sfcm = host.reactions(local).and_then(|reactions| reactions.sfcm);
        let own = (counters, secy.as_deref());
        NodeOutcome::Host(nodes::host(node, own, sfcm.as_ref(), far(0), agents))
    };
    (0..).zip(&plan.network.nodes).map(look).collect()
}

/// Returns link and node at the far end of every port.
fn peers(plan: &LabPlan) -> Vec<Vec<Far<'_>>> {
    let network = &plan.network;
    let open = Far { link: "", node: "", rate: BitsPerSec::gbps(1) };
    let mut peers: Vec<_> = network.nodes.iter().map(|node| vec![open; node.ports()]).collect();
    for link in &network.links {
        for (near, far) in [(link.a, link.b), (link.b, link.a)] {
            let node = network.nodes[far.node.index()].name();
            let far = Far { link: &link.name, node, rate: link.rate };
            peers[near.node.index()][near.port.index()] = far;
        }
    }
    peers
}

fn port_name(node: &NodeOutcome, port: usize) -> String {
    match node {
        NodeOutcome::Switch(switch) => switch.ports[port].summary.port.name.clone(),
        NodeOutcome::Host(host) => host.ports[port].name.clone(),
    }
}

fn pauses(plan: &LabPlan, recorder: &Recorder, nodes: &[NodeOutcome]) -> PauseOutcome {
    let counts = recorder.counts();
    let hosts = plan.network.nodes.iter().zip(nodes).filter_map(|(plan, node)| match node {
        NodeOutcome::Host(host) => {
            let all = host.ports[0].counters.priorities.iter();
            Some(all.take(pauses_at(plan, PortId::MIN)))
        }
        NodeOutcome::Switch(_) => None,
    });
    let (mut received, mut paused) = (0, Duration::ZERO);
    for priority in hosts.flatten() {
        received += priority.transitions;
        paused += priority.paused.saturated();
    }
    let directions =
        (0..plan.network.links.len() as u32).flat_map(|n| [LinkId(n).ab(), LinkId(n).ba()]);
    let longest = directions.flat_map(|d| recorder.pauses(d)).map(|(_, line)| line.longest).max();
    PauseOutcome {
        first_ns: counts.first_xoff.map(Instant::since_start),
        first_received_ns: counts.first_at_host.map(Instant::since_start),
        xoffs: counts.xoffs,
        xons: counts.xons,
        received_xoffs: received,
        frames_sent: counts.pauses_sent,
        paused_ns: paused,
        longest_ns: longest.unwrap_or(Duration::ZERO),
    }
}

/// Returns the number of pauses that a port tells apart: one of the line with 802.3x PAUSE, else one of each
/// priority.
pub(super) fn pauses_at(node: &NodePlan, port: PortId) -> usize {
    let mode = match &node.kind {
        NodeKind::Switch(switch) => switch.ports[port.index()].pfc.mode,
        NodeKind::Host(host) => host.flow_control,
    };
    if matches!(mode, FlowControl::Pause { .. }) { 1 } else { PRIORITIES }
}

/// Returns the planned faults that have happened, in the order of time.
fn faults(plan: &LabPlan, end: Instant) -> Vec<FaultOutcome> {
    let network = &plan.network;
    let mut happened: Vec<_> = network.faults.iter().filter(|fault| fault.at <= end).collect();
    happened.sort_by_key(|fault| fault.at);
    let fault =
        |f: &&Fault| FaultOutcome { at_ns: f.at.since_start(), what: f.kind.describe(network) };
    happened.iter().map(fault).collect()
}
