//! Collects the results of a network after its run, with those of its checks and of its traffic generator.

use super::figures::figures;
use super::flows::{flows, workloads};
use super::losses::{lossless_flows, lossy_way};
use super::messages::{records, slowdown};
use super::nodes::{self, Far, HostCounters};
use super::steady::steady;
use super::*;
use crate::plan::{Check, Ends, LabPlan, Source};
use crate::population::{Counted, Ended, HostCounts, Population, Window, station};
use crate::record::{FirstDrop, Recorder};
use crate::run::World;
use ground::time::{Duration, Instant};
use ground::units::{BitsPerSec, PRIORITIES, PortId};
use ground::verdict::Verdict;
use host::StationSnapshot;
use pfc::FlowControl;
use serde::Serialize;
use sim::check::Excuse;
use sim::{Fault, LinkId, NodeId, NodeKind, NodePlan};
use tester::figures::Seen;
use tester::report::{Report, Stamps};
use tester::standing;
use tester::tally::{is_control, report};
use tester::virtual_run::exact;

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
    let outcomes = node_outcomes(plan, ended, recorder, nodes);
    // The checks are missing: they are judged from these results, which have to be complete first.
    let figures = Figures {
        steady: steady(plan, ended, window),
        slowdown: slowdown(&records(plan, ended.at, nodes)),
        ..figures(plan, recorder, nodes, &flows, &outcomes)
    };
    let workloads = workloads(plan, nodes);
    let nodes = outcomes;
    let counts = recorder.counts();
    let first_drop = counts.first_drop.map(|drop| drop_outcome(&drop, &nodes));
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

fn drop_outcome(drop: &FirstDrop, nodes: &[NodeOutcome]) -> DropOutcome {
    let node = &nodes[drop.node.index()];
    DropOutcome {
        at_ns: drop.at.since_start(),
        node: node.name().to_owned(),
        port: port_name(node, drop.port.index()),
        priority: drop.priority.map(|p| p.get()),
        reason: drop.reason.name(),
    }
}

/// Returns the results of all nodes.
fn node_outcomes(
    plan: &LabPlan,
    ended: &Ended,
    recorder: &Recorder,
    nodes: &mut impl Population,
) -> Vec<NodeOutcome> {
    let peers = peers(plan);
    let outcome = |(n, node): (u32, &NodePlan)| {
        let id = NodeId(n);
        let far = |port: usize| peers[id.index()][port];
        // Counters with a running time, such as an open pause, end at the node's own time.
        let local = nodes.local(id, ended.now);
        let agents = nodes.agents(id, ended.now);
        let agents = (&agents, local);
        if let Some(snapshot) = nodes.switch(id, ended.now) {
            let switch = nodes::switch(id, snapshot, recorder, &far, agents);
            return NodeOutcome::Switch(switch);
        }
        let host = station(nodes, id);
        let (counters, secy) = (host.all(local), host.secy());
        let sfcm = host.reactions(local).and_then(|reactions| reactions.sfcm);
        let found = HostCounters { counters, secy: secy.as_deref(), sfcm: sfcm.as_ref() };
        NodeOutcome::Host(nodes::host(node, found, far(0), agents))
    };
    (0..).zip(&plan.network.nodes).map(outcome).collect()
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
            // With PAUSE all priorities stop together; the first one stands for the line.
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
    // By the recorder, which sees the pauses of switches as well; sums above are those of hosts.
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

/// Returns the generator's report, if the lab has a generator.
fn tester(plan: &LabPlan, ended: &Ended, nodes: &mut impl Population) -> Option<Report> {
    let tester = plan.tester.as_ref()?;
    let stations: Vec<StationSnapshot> = tester
        .hosts
        .iter()
        .map(|host| {
            let local = nodes.local(*host, ended.now);
            station(nodes, *host).whole(local)
        })
        .collect();
    let (start, now) = (Instant::ZERO, ended.now);
    let stamps = match ended.world {
        World::Virtual => exact(),
        // Ports of rings are stamped by the clocks of threads.
        World::Real => Stamps {
            source: "tsc",
            resolution_ns: 1.0,
            uncertainty_ns: ended.uncertainty.as_nanos_f64(),
        },
    };
    let mut report = report(Seen {
        plan: &tester.plan.ports,
        world: ended.world.name(),
        stamps,
        elapsed: Some(now.total_since(start)),
        stations: &stations,
        counted: None,
        ports: &standing::ports(&stations, &tester.rates, start, now),
        flows: &standing::flows(&tester.plan, &stations, start, now),
        warnings: Vec::new(),
        machine: None,
    });
    let plans = &tester.plan.flows;
    for ((flow, pending), plan) in report.flows.iter_mut().zip(&ended.pending_of_tester).zip(plans)
    {
        // A switch consumes pauses and forwards none, so they are not lost.
        if is_control(plan) {
            flow.loss_percent = 0.0;
            continue;
        }
        // A frame on the way is no loss yet; the generator itself, which sees its ports alone, cannot tell.
        let queued = (*pending).min(flow.frames_tx.saturating_sub(flow.frames_rx));
        flow.queued_frames = Some(queued);
        if flow.frames_tx > 0 {
            let queued = 100.0 * queued as f64 / flow.frames_tx as f64;
            flow.loss_percent = (flow.loss_percent - queued).max(0.0);
        }
    }
    Some(report)
}

/// Result of a check.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct CheckOutcome {
    /// Name in the lab.
    pub name: String,
    /// Verdict; the detail gives the reason if it is neither PASS nor FAIL.
    pub verdict: Verdict,
    /// Findings, as a sentence.
    pub detail: String,
    /// Causes of losses that are not judged.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub excuses: Vec<Excuse>,
    /// Source of the expected value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

impl CheckOutcome {
    pub(crate) fn new(check: &Check, verdict: Verdict, detail: String) -> Self {
        let (name, source) = (check.name.clone(), check.source.clone());
        Self { name, verdict, detail, excuses: vec![], source }
    }

    /// Returns the outcome of a check that the real world cannot judge, with the reason.
    #[cfg(feature = "dpdk")]
    pub(crate) fn not_judged(check: &Check, why: impl Into<String>) -> Self {
        Self::new(check, Verdict::NotJudged, why.into())
    }
}
