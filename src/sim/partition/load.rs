//! Estimate of the work of each node, from the flows of the plan and the ways that they take.

use std::collections::HashMap;

use crate::ids::{End, NodeId};
use crate::plan::{NetworkPlan, NodeKind};
use ground::units::{Mac, PortId};
use host::{Rate, StationPlan};
use switch::SwitchPlan;

/// Work of a frame at a host that sends or receives it. A switch does both.
const HOST: u64 = 1;
const SWITCH: u64 = 2;

/// Longest way that is followed, in switches.
const WAY_MAX: usize = 16;

/// A stream of frames between two hosts.
struct Stream {
    from: NodeId,
    to: NodeId,
    src: Mac,
    dst: Mac,
    /// Frames per millisecond.
    frames: u64,
    /// True if the receiver answers each with a frame.
    answered: bool,
}

/// Returns the estimated work of each node, 1 or more. Only the ratios mean anything.
pub(super) fn load(plan: &NetworkPlan) -> Vec<u64> {
    let mut peers: Vec<Vec<Option<End>>> =
        plan.nodes.iter().map(|node| vec![None; node.ports()]).collect();
    for link in &plan.links {
        for (from, to) in [(link.a, link.b), (link.b, link.a)] {
            peers[from.node.index()][from.port.index()] = Some(to);
        }
    }
    let mut load = vec![0; plan.nodes.len()];
    for (n, stream) in streams(plan).iter().enumerate() {
        let mut add = |from: NodeId, dst: Mac| {
            load[from.index()] += stream.frames * HOST;
            let mut at = peers[from.index()].first().copied().flatten();
            for _ in 0..WAY_MAX {
                let Some(End { node, .. }) = at else { break };
                let NodeKind::Switch(switch) = &plan.nodes[node.index()].kind else {
                    load[node.index()] += stream.frames * HOST;
                    break;
                };
                load[node.index()] += stream.frames * SWITCH;
                let egress = egress(switch, dst, n + node.index());
                at = egress.and_then(|port| *peers[node.index()].get(port.index())?);
            }
        };
        add(stream.from, stream.dst);
        if stream.answered {
            add(stream.to, stream.src);
        }
    }
    // A node that no flow passes has timers, and one to which no flow can be followed has frames.
    let ports = |n: usize| plan.nodes[n].ports() as u64;
    let all: u64 = (0..plan.nodes.len()).map(ports).sum();
    let each = load.iter().sum::<u64>() / (20 * all.max(1)) + 1;
    load.iter().enumerate().map(|(n, load)| load + each * ports(n)).collect()
}

/// Returns the port by which frames for an address leave a switch; `choice` chooses one of several.
fn egress(switch: &SwitchPlan, dst: Mac, choice: usize) -> Option<PortId> {
    let spread = switch.bridge.spread.iter().find(|entry| entry.mac == dst);
    match spread {
        Some(entry) => entry.ports.get(choice % entry.ports.len().max(1)).copied(),
        None => switch.bridge.statics.iter().find(|entry| entry.mac == dst).map(|entry| entry.port),
    }
}

/// Returns all streams. Together they bring a host no more than its line does.
fn streams(plan: &NetworkPlan) -> Vec<Stream> {
    let hosts = || {
        (0..).map(NodeId).zip(&plan.nodes).filter_map(|(id, node)| match &node.kind {
            NodeKind::Host(host) => Some((id, host)),
            NodeKind::Switch(_) => None,
        })
    };
    let by_mac: HashMap<Mac, NodeId> = hosts().map(|(id, host)| (host.mac, id)).collect();
    let mut streams: Vec<Stream> = Vec::new();
    let (mut sum, mut most) = (HashMap::<NodeId, u64>::new(), HashMap::new());
    for (from, host) in hosts() {
        let line = |size: u32| host.rate.get() / 1_000 / (u64::from(size.max(64)) * 8) + 1;
        let open = host.flows.iter().map(|f| (f.src, f.dst, line(f.size), frames(host, f), false));
        let answered = host.senders.iter().map(|f| {
            let bits = f.rate.unwrap_or(host.rate).get() / 1_000;
            let frames = bits / (u64::from(f.size.max(64)) * 8) + 1;
            (f.src, f.dst, line(f.size), frames, true)
        });
        for (src, dst, line, frames, answered) in open.chain(answered) {
            let Some(to) = by_mac.get(&dst).copied() else { continue };
            *sum.entry(to).or_default() += frames;
            most.entry(to).and_modify(|most: &mut u64| *most = (*most).max(line)).or_insert(line);
            streams.push(Stream { from, to, src, dst, frames, answered });
        }
    }
    for stream in &mut streams {
        let (sum, most) = (sum[&stream.to], most[&stream.to]);
        if sum > most {
            let share = u128::from(stream.frames) * u128::from(most) / u128::from(sum);
            stream.frames = (share as u64).max(1);
        }
    }
    streams
}

/// Returns the frames per millisecond of a flow.
fn frames(host: &StationPlan, flow: &host::FlowPlan) -> u64 {
    let frame = u64::from(flow.size.max(64)) * 8;
    let frames = match flow.rate {
        Rate::LineShare(share) => host.rate.get() / 1_000 * u64::from(share) / 1_000_000 / frame,
        Rate::FrameBits(rate) => rate.get() / 1_000 / frame,
        Rate::Frames(frames) => frames / 1_000,
    };
    frames + 1
}
