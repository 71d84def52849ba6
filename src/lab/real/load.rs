//! How much a lab is to carry: by how much it has to be slowed down, and which thread polls what.

use crate::host::plan::stream::{Path, Sizes, StreamPlan};
use crate::host::{Rate, StationPlan, TransportPlan};
use crate::schedule::Line;
use crate::sim::{NetworkPlan, NodeId, NodeKind};

/// Frames per second that one core is asked to take from a ring, decide upon and send on. A choice:
/// about a tenth of what an optimised build did on a core of a busy virtual machine (2.6 million), so
/// that polls stay close beside the frames, and less than what an unoptimised one did (0.5 million).
const HOPS_PER_CORE: f64 = 200_000.0;

/// What a port without any frames takes of a core, in hops per second: it is polled all the same.
const IDLE_PORT: f64 = 1_000.0;

/// What the nodes of a network are to carry.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Load {
    /// By node: frames per second that it sends, forwards or receives, if nothing held them up.
    nodes: Vec<f64>,
}

impl Load {
    /// What the flows of a network offer, as far as the links of their hosts carry it.
    pub(super) fn new(network: &NetworkPlan) -> Self {
        let mut nodes: Vec<f64> =
            network.nodes.iter().map(|n| n.ports() as f64 * IDLE_PORT).collect();
        for (n, node) in network.nodes.iter().enumerate() {
            let NodeKind::Host(host) = &node.kind else { continue };
            let back = ways_from(network, NodeId(n as u32));
            let offers = offers(host);
            let line: f64 = offers.iter().map(|offer| offer.share).sum();
            for offer in offers {
                let rate = offer.frames / line.max(1.0);
                let to = network
                    .nodes
                    .iter()
                    .position(|n| matches!(&n.kind, NodeKind::Host(host) if host.mac == offer.to));
                let mut at = to;
                while let Some(node) = at {
                    nodes[node] += rate;
                    at = back[node];
                }
            }
        }
        Self { nodes }
    }

    /// By how much to slow down, so that so many threads carry it.
    pub(super) fn slow_down(&self, threads: usize) -> u64 {
        let all: f64 = self.nodes.iter().sum();
        ((all / (HOPS_PER_CORE * threads as f64)).ceil() as u64).max(1)
    }

    /// By node: the thread that polls it. The busiest node first, each goes where there is least.
    pub(super) fn spread(&self, threads: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.nodes.len()).collect();
        order.sort_by(|a, b| self.nodes[*b].total_cmp(&self.nodes[*a]));
        let (mut sums, mut places) = (vec![0.0_f64; threads], vec![0; self.nodes.len()]);
        for node in order {
            let least = (0..threads).min_by(|a, b| sums[*a].total_cmp(&sums[*b])).unwrap_or(0);
            sums[least] += self.nodes[node];
            places[node] = least;
        }
        places
    }
}

/// What a host offers of one flow.
struct Offer {
    to: crate::units::Mac,
    /// Frames per second.
    frames: f64,
    /// Of its link, 1 for all.
    share: f64,
}

fn offers(host: &StationPlan) -> Vec<Offer> {
    let line = Line::new(host.rate, host.line);
    let share = |size: u32, frames: f64| frames * line.time_for(size).as_secs_f64();
    let open = host.flows.iter().map(|flow| {
        let interval = flow.interval(&line).unwrap_or_else(|_| line.time_for(flow.size));
        let frames = 1.0 / interval.as_secs_f64();
        Offer { to: flow.dst, frames, share: share(flow.size, frames) }
    });
    // The answers go the same way back.
    let answered = host.senders.iter().map(|t: &TransportPlan| {
        let most = 1.0 / line.time_for(t.size).as_secs_f64();
        let frames = t.rate.map_or(most, |r| r.get() as f64 / 8.0 / f64::from(t.size)).min(most);
        Offer { to: t.dst, frames: 2.0 * frames, share: share(t.size, frames) }
    });
    let streams = host.tester.streams.iter().filter_map(|stream| stream_offer(stream, &line));
    open.chain(answered).chain(streams).collect()
}

/// What a stream offers, if it is data to one host.
fn stream_offer(stream: &StreamPlan, line: &Line) -> Option<Offer> {
    if stream.path == Path::Control {
        return None;
    }
    let to = crate::units::Mac(*stream.template.headers.first_chunk()?);
    // The shortest frames are the most that there may be.
    let (shortest, _) = lengths(&stream.sizes);
    let one = line.time_for(shortest).as_secs_f64();
    let frames = match stream.pace.rate {
        Rate::Frames(n) => n as f64,
        Rate::FrameBits(rate) => rate.get() as f64 / 8.0 / f64::from(shortest),
        Rate::LineShare(ppm) => f64::from(ppm) / 1e6 / one,
    };
    Some(Offer { to, frames, share: frames * one })
}

/// The shortest and the longest frame that a stream may have, FCS included.
pub(super) fn lengths(sizes: &Sizes) -> (u32, u32) {
    match sizes {
        Sizes::Fixed(size) => (*size, *size),
        Sizes::Increment { start, end, .. } => (*start, *end),
        Sizes::Random { min, max } => (*min, *max),
        Sizes::Weighted(sizes) => {
            let all = sizes.iter().map(|(size, _)| *size);
            (all.clone().min().unwrap_or(0), all.max().unwrap_or(0))
        }
    }
}

/// By node: the one before it on a shortest way from `from`.
fn ways_from(network: &NetworkPlan, from: NodeId) -> Vec<Option<usize>> {
    let mut back = vec![None; network.nodes.len()];
    let mut reached = vec![false; network.nodes.len()];
    reached[from.index()] = true;
    let mut edge = vec![from.index()];
    while !edge.is_empty() {
        let mut next = Vec::new();
        for link in &network.links {
            for (a, b) in [(link.a, link.b), (link.b, link.a)] {
                let (a, b) = (a.node.index(), b.node.index());
                if edge.contains(&a) && !core::mem::replace(&mut reached[b], true) {
                    back[b] = Some(a);
                    next.push(b);
                }
            }
        }
        edge = next;
    }
    back
}
