//! Division of a network into parts of about equal work, with few lines between them.
//!
//! The work of a node is estimated from the flows of the plan and the ways that they take. The result of a run
//! does not depend on the division, only the time that the run takes.

use std::collections::HashMap;

use super::plan::{End, NetworkPlan, NodeId, NodeKind};
use ground::units::{Mac, PortId};
use host::{Rate, StationPlan};
use switch::SwitchPlan;

/// The part of every node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Partition {
    /// By node.
    of: Box<[u32]>,
    parts: usize,
}

impl Partition {
    /// Divides a network into up to `parts` parts. The work of a node is estimated from the flows that the
    /// plan lets pass through it. A host is in the part of its switch, unless that has too much work.
    pub fn new(plan: &NetworkPlan, parts: usize) -> Self {
        let nodes = plan.nodes.len();
        let parts = parts.clamp(1, nodes.max(1));
        if parts == 1 {
            return Self::of_parts(&vec![0; nodes]);
        }
        Growth::new(plan, parts).grow(parts)
    }

    /// The partition with these parts, by node. Parts are numbered anew, so that none is empty.
    pub fn of_parts(of: &[u32]) -> Self {
        let mut used = of.to_vec();
        used.sort_unstable();
        used.dedup();
        let number = |part: &u32| used.partition_point(|other| other < part) as u32;
        Self { of: of.iter().map(number).collect(), parts: used.len().max(1) }
    }

    /// Returns the number of parts, 1 or more.
    pub const fn parts(&self) -> usize {
        self.parts
    }

    /// Returns the number of nodes.
    pub const fn nodes(&self) -> usize {
        self.of.len()
    }

    /// Returns the part of a node.
    ///
    /// # Panics
    /// If there is none of that number.
    pub const fn of(&self, node: NodeId) -> u32 {
        self.of[node.index()]
    }
}

/// Parts that grow, one after the other, from their heaviest cluster along the lines.
struct Growth {
    /// By node: its cluster, which goes to one part.
    cluster: Vec<usize>,
    /// By cluster: its work, its lines to others as cluster numbers, and its part.
    work: Vec<u64>,
    lines: Vec<Vec<usize>>,
    part: Vec<Option<u32>>,
}

impl Growth {
    fn new(plan: &NetworkPlan, parts: usize) -> Self {
        let load = load(plan);
        let target = load.iter().sum::<u64>() / parts as u64;
        // A host belongs to its switch.
        let mut head: Vec<usize> = (0..plan.nodes.len()).collect();
        let is_host = |n: usize| matches!(plan.nodes[n].kind, NodeKind::Host(_));
        for link in &plan.links {
            let (a, b) = (link.a.node.index(), link.b.node.index());
            match (is_host(a), is_host(b)) {
                (true, false) => head[a] = b,
                (false, true) => head[b] = a,
                // Two switches, or two hosts: neither belongs to the other.
                _ => {}
            }
        }
        let mut work = vec![0; plan.nodes.len()];
        load.iter().zip(&head).for_each(|(load, head)| work[*head] += load);
        // With too much work it is divided.
        for n in 0..head.len() {
            // A sixteenth more than an equal share costs less than lines between parts.
            if work[head[n]] > target + target / 16 {
                head[n] = n;
            }
        }
        work.fill(0);
        load.iter().zip(&head).for_each(|(load, head)| work[*head] += load);
        let heads: Vec<usize> = (0..head.len()).filter(|n| head[*n] == *n).collect();
        let number = |n: usize| heads.partition_point(|head| *head < n);
        let cluster: Vec<usize> = head.iter().map(|head| number(*head)).collect();
        let mut lines = vec![Vec::new(); heads.len()];
        for link in &plan.links {
            let [a, b] = [link.a, link.b].map(|end| cluster[end.node.index()]);
            if a != b {
                lines[a].push(b);
                lines[b].push(a);
            }
        }
        let part = vec![None; heads.len()];
        Self { cluster, work: heads.iter().map(|head| work[*head]).collect(), lines, part }
    }

    fn grow(mut self, parts: usize) -> Partition {
        let mut left: u64 = self.work.iter().sum();
        for part in 0..parts as u32 - 1 {
            // What is left is shared by the parts that are left, so no error accumulates in the last one.
            left -= self.grow_one(part, left / (parts as u64 - u64::from(part)));
        }
        let last = parts as u32 - 1;
        let of = self.cluster.iter().map(|cluster| self.part[*cluster].unwrap_or(last));
        Partition::of_parts(&of.collect::<Vec<_>>())
    }

    /// Fills a part up to `target`; returns its work.
    fn grow_one(&mut self, part: u32, target: u64) -> u64 {
        let mut sum = 0;
        // By cluster: the lines that lead into the part.
        let mut near = vec![0_u64; self.work.len()];
        loop {
            // The most of its lines, then the most work, then the first.
            let free = (0..self.work.len()).filter(|n| self.part[*n].is_none());
            // A cluster may exceed the target by half of its work: the sum that is nearest, not the one below.
            let fits = free.filter(|n| sum == 0 || sum + self.work[*n] / 2 <= target);
            let share = |n: usize| 1_000_000 * near[n] / self.lines[n].len().max(1) as u64;
            let best = fits.max_by_key(|n| (share(*n), self.work[*n], usize::MAX - n));
            let Some(best) = best.filter(|_| sum < target) else { return sum };
            self.part[best] = Some(part);
            sum += self.work[best];
            for n in self.lines[best].clone() {
                near[n] += 1;
            }
        }
    }
}

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
            // Limited, as tables that contradict each other may send a frame in a circle.
            for _ in 0..WAY_MAX {
                let Some(End { node, .. }) = at else { break };
                let NodeKind::Switch(switch) = &plan.nodes[node.index()].kind else {
                    load[node.index()] += stream.frames * HOST;
                    break;
                };
                load[node.index()] += stream.frames * SWITCH;
                // Streams are spread over ports of equal cost by number, in place of the switch's hash.
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
        // Senders of an incast are paused: together they send what the receiver's line carries.
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
    // One more, as even a slow flow makes work.
    frames + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::teststar::incast;

    #[test]
    fn a_star_is_divided_into_its_switch_and_its_hosts() {
        let partition = Partition::new(&incast(16, 100), 2);
        let of: Vec<u32> = (0..18).map(|n| partition.of(NodeId(n))).collect();
        assert_eq!(partition.parts(), 2);
        assert!(of[1..].iter().all(|part| *part != of[0]), "{of:?}");
    }

    #[test]
    fn there_are_no_more_parts_than_nodes_and_none_is_empty() {
        for parts in [1, 2, 3, 7, 64] {
            let partition = Partition::new(&incast(4, 10), parts);
            assert!(partition.parts() <= parts.min(6), "{partition:?}");
            let of = |part| (0..6).filter(|n| partition.of(NodeId(*n)) == part).count();
            assert!((0..partition.parts() as u32).all(|part| of(part) > 0), "{partition:?}");
        }
        assert_eq!(Partition::of_parts(&[7, 2, 7]), Partition::of_parts(&[1, 0, 1]));
    }
}
