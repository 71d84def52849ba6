//! From a network that has run to its results.

use std::collections::BTreeMap;

use super::nodes::{self, Far};
use super::*;
use crate::host::{Latency, Station};
use crate::lab::ends::{Ends, ends, flow_plan};
use crate::lab::plan::{LabFlow, LabPlan};
use crate::lab::record::Recorder;
use crate::sim::{
    Direction, Fault, FaultKind, LinkId, Node, NodeId, NodePlan, Nodes, Tally, VirtualPort, Which,
};
use crate::units::BitsPerSec;

/// What had arrived of a flow at some time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(in crate::lab) struct Counted {
    frames: u64,
    bytes: u64,
}

/// From when to when rates are measured, and what had arrived of each flow at both.
#[derive(Clone, Debug)]
pub(in crate::lab) struct Window {
    pub(in crate::lab) from: (Instant, Vec<Counted>),
    pub(in crate::lab) to: (Instant, Vec<Counted>),
}

/// How a run ended.
#[derive(Clone, Copy, Debug)]
pub(in crate::lab) struct Ended {
    /// The network's time.
    pub(in crate::lab) now: Instant,
    /// When the results say that it ended.
    pub(in crate::lab) at: Instant,
    pub(in crate::lab) quiet: bool,
    pub(in crate::lab) trace_hash: u64,
    pub(in crate::lab) tally: Tally,
}

/// What has arrived of all flows.
pub(in crate::lab) fn flow_counts(ends: &[Ends], nodes: &mut Nodes) -> Vec<Counted> {
    let count = |ends: &Ends| match nodes.get_mut(ends.sink.0) {
        Node::Host(host) => {
            let sink = host.sinks().nth(ends.sink.1);
            sink.map_or(Counted::default(), |s| Counted { frames: s.frames, bytes: s.bytes })
        }
        Node::Switch(_) => Counted::default(),
    };
    ends.iter().map(count).collect()
}

/// The results, without any checks.
pub(in crate::lab) fn gather(
    plan: &LabPlan,
    ended: &Ended,
    window: &Window,
    recorder: &Recorder,
    nodes: &mut Nodes,
) -> Outcome {
    let elapsed = ended.at.since(Instant::ZERO);
    let flows = flows(plan, ended, window, recorder, nodes);
    let nodes = look(plan, ended, elapsed, recorder, nodes);
    let counts = recorder.counts();
    let name = |id: NodeId| plan.network.nodes[id.index()].name().to_owned();
    let first_drop = counts.first_drop.map(|drop| DropOutcome {
        at_ns: Nanos::at(drop.at),
        node: name(drop.node),
        port: port_name(&nodes[drop.node.index()], drop.port.index()),
        priority: drop.priority.map(|p| p.get()),
        reason: drop.reason.name(),
    });
    let drops = counts.drops.iter().map(|(reason, n)| (reason.name().into(), n));
    Outcome {
        version: env!("CARGO_PKG_VERSION").into(),
        lab: plan.name.clone(),
        world: crate::lab::World::Virtual.name(),
        seed: plan.network.seed,
        shuffle: plan.network.shuffle,
        trace_hash: format!("{:016x}", ended.trace_hash),
        elapsed_ns: Nanos(elapsed),
        done: ended.quiet,
        verdict: Verdict::Good,
        checks: Vec::new(),
        measured: Measured { from_ns: Nanos::at(window.from.0), to_ns: Nanos::at(window.to.0) },
        flows,
        pauses: pauses(plan, recorder, &nodes),
        marks: counts.marks,
        first_mark_ns: counts.first_mark.map(Nanos::at),
        drops: drops.collect::<BTreeMap<_, _>>(),
        lossless_drops: (0..plan.network.nodes.len() as u32)
            .map(|n| recorder.lossless_lost(NodeId(n)))
            .sum(),
        first_drop,
        line_losses: LineLosses {
            damaged: counts.damaged,
            lost: counts.lost,
            link_down: counts.link_down,
        },
        storms: StormOutcome { detected: counts.storms_detected, restored: counts.storms_restored },
        faults: faults(plan, ended.at),
        deadlocks: Vec::new(),
        nodes,
        engine: EngineOutcome {
            events: ended.tally.events,
            frames: ended.tally.frames,
            lost: ended.tally.lost,
            polls: ended.tally.polls,
        },
    }
}

/// The two ends of a flow, as its hosts counted them.
#[derive(Clone, Debug)]
struct Halves {
    tx_frames: u64,
    tx_bytes: u64,
    rx_frames: u64,
    rx_bytes: u64,
    duplicates: u64,
    reordered: u64,
    ce_marked: u64,
    /// How many frames had been sent when the newest that arrived was.
    numbered: u64,
    /// When the last one arrived, by the network's time.
    last: Option<Instant>,
    latency: LatencyOutcome,
}

/// What both hosts of a flow counted.
fn halves(
    plan: &LabPlan,
    place: usize,
    ends: &Ends,
    recorder: &Recorder,
    nodes: &mut Nodes,
) -> Halves {
    let source = station(nodes, ends.source.0).sources().nth(ends.source.1);
    let source = source.expect("a host counts every flow that it was told to send");
    let sink = station(nodes, ends.sink.0).sinks().nth(ends.sink.1);
    let sink = sink.expect("a host counts every flow that it was told to expect");
    let clock = plan.network.nodes[ends.sink.0.index()].clock;
    Halves {
        tx_frames: source.frames,
        tx_bytes: source.bytes,
        rx_frames: sink.frames,
        rx_bytes: sink.bytes,
        duplicates: sink.duplicates,
        reordered: sink.reordered,
        ce_marked: sink.ce_marked,
        numbered: sink.numbered,
        last: sink.last.map(|last| clock.network(last)),
        latency: latency(recorder.latency(plan.flows[place].id.0).unwrap_or(&sink.latency)),
    }
}

fn station(nodes: &mut Nodes, id: NodeId) -> &Station<VirtualPort> {
    match nodes.get_mut(id) {
        Node::Host(host) => host,
        Node::Switch(_) => unreachable!("a flow's ends are hosts"),
    }
}

fn latency(latency: &Latency) -> LatencyOutcome {
    let percentile = |p| Nanos(latency.percentile(p));
    LatencyOutcome {
        min: Nanos(latency.min()),
        p50: percentile(50.0),
        p99: percentile(99.0),
        p999: percentile(99.9),
        max: Nanos(latency.max()),
    }
}

/// All flows.
fn flows(
    plan: &LabPlan,
    ended: &Ended,
    window: &Window,
    recorder: &Recorder,
    nodes: &mut Nodes,
) -> Vec<FlowOutcome> {
    let name = |id: NodeId| plan.network.nodes[id.index()].name().to_owned();
    let seconds = window.to.0.since(window.from.0).as_secs_f64();
    let rate = |bytes: u64| if seconds > 0.0 { 8.0 * bytes as f64 / seconds } else { 0.0 };
    let flow = |(n, (flow, ends)): (usize, (&LabFlow, &Ends))| {
        let h = halves(plan, n, ends, recorder, nodes);
        let (from, to) = (window.from.1[n], window.to.1[n]);
        let missing = h.tx_frames.saturating_sub(h.rx_frames);
        let overtaken = h.numbered.saturating_sub(h.rx_frames);
        let loss = if ended.quiet { missing } else { overtaken.min(missing) };
        let start = flow_plan(plan, ends).start;
        let start = plan.network.nodes[flow.from.index()].clock.network(start);
        let complete = ended.quiet && missing == 0;
        FlowOutcome {
            name: flow.name.clone(),
            from: name(flow.from),
            to: name(flow.to),
            priority: flow.priority.get(),
            lossless: flow.lossless,
            frame_bytes: flow.frame_len,
            tx_frames: h.tx_frames,
            rx_frames: h.rx_frames,
            loss_frames: loss,
            pending_frames: missing - loss,
            tx_bytes: h.tx_bytes,
            rx_bytes: h.rx_bytes,
            duplicate_frames: h.duplicates,
            reordered_frames: h.reordered,
            ce_frames: h.ce_marked,
            rx_bps: rate(to.bytes - from.bytes),
            payload_bps: rate((to.frames - from.frames) * u64::from(flow.payload_len)),
            latency_ns: h.latency,
            fct_ns: h.last.filter(|_| complete).map(|last| Nanos(last.since(start))),
        }
    };
    plan.flows.iter().zip(&ends(plan)).enumerate().map(flow).collect()
}

/// All nodes.
fn look(
    plan: &LabPlan,
    ended: &Ended,
    elapsed: Duration,
    recorder: &Recorder,
    nodes: &mut Nodes,
) -> Vec<NodeOutcome> {
    let peers = peers(plan);
    let look = |(n, node): (u32, &NodePlan)| {
        let id = NodeId(n);
        let local = nodes.local(id, ended.now);
        let far = |port: usize| peers[id.index()][port];
        match nodes.get_mut(id) {
            Node::Switch(switch) => {
                let snapshot = switch.snapshot(local);
                NodeOutcome::Switch(nodes::switch(id, snapshot, elapsed, recorder, &far))
            }
            Node::Host(host) => {
                NodeOutcome::Host(nodes::host(node, &host.counters_at(local), far(0)))
            }
        }
    };
    (0..).zip(&plan.network.nodes).map(look).collect()
}

/// What is at the other end of every port.
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
        NodeOutcome::Switch(switch) => switch.ports[port].counters.name.clone(),
        NodeOutcome::Host(host) => host.ports[port].name.clone(),
    }
}

fn pauses(plan: &LabPlan, recorder: &Recorder, nodes: &[NodeOutcome]) -> PauseOutcome {
    let counts = recorder.counts();
    let hosts = nodes.iter().filter_map(|node| match node {
        NodeOutcome::Host(host) => Some(&host.ports[0].priorities),
        NodeOutcome::Switch(_) => None,
    });
    let (mut received, mut paused) = (0, Duration::ZERO);
    for priority in hosts.flatten() {
        received += priority.pfc_rx_transitions;
        paused += priority.pfc_rx_paused_ns.0;
    }
    let directions =
        (0..plan.network.links.len() as u32).flat_map(|n| [LinkId(n).ab(), LinkId(n).ba()]);
    let longest = directions.flat_map(|d| recorder.pauses(d)).map(|(_, line)| line.longest).max();
    PauseOutcome {
        first_ns: counts.first_xoff.map(Nanos::at),
        first_received_ns: counts.first_at_host.map(Nanos::at),
        xoffs: counts.xoffs,
        xons: counts.xons,
        received_xoffs: received,
        frames_sent: counts.pauses_sent,
        paused_ns: Nanos(paused),
        longest_ns: Nanos(longest.unwrap_or(Duration::ZERO)),
    }
}

/// The planned faults that have happened, in the order of time.
fn faults(plan: &LabPlan, end: Instant) -> Vec<FaultOutcome> {
    let network = &plan.network;
    let link = |id: LinkId| network.links[id.index()].name.as_str();
    let node = |id: NodeId| network.nodes[id.index()].name();
    let way = |d: Direction| {
        let link = &network.links[d.link().index()];
        format!("{} to {}", node(link.from(d).node), node(link.to(d).node))
    };
    let mut happened: Vec<_> = network.faults.iter().filter(|fault| fault.at <= end).collect();
    happened.sort_by_key(|fault| fault.at);
    let words = |kind: &FaultKind| match *kind {
        FaultKind::Link { link: id, up: false } => format!("link {} goes down", link(id)),
        FaultKind::Link { link: id, up: true } => format!("link {} comes up", link(id)),
        FaultKind::Lose { direction, which, frames } => {
            let which = match which {
                Which::Any => "",
                Which::Control => "pause ",
                Which::Data => "data ",
            };
            format!("the next {frames} {which}frames from {} are lost", way(direction))
        }
        FaultKind::Errors { direction, .. } => {
            format!("other error rates from {}", way(direction))
        }
        FaultKind::Stall { node: id, span } => format!("{} stalls for {span}", node(id)),
        FaultKind::Change { node: id, change } => format!("{} is changed: {change:?}", node(id)),
    };
    let fault = |f: &&Fault| FaultOutcome { at_ns: Nanos::at(f.at), what: words(&f.kind) };
    happened.iter().map(fault).collect()
}
