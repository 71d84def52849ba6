//! Calculates the load of a lab: the factor by which it is slowed down, and the assignment of nodes
//! to threads.

use host::plan::stream::{Path, Sizes, StreamPlan};
use host::{Rate, StationPlan, TransportPlan};
use schedule::Line;
use sim::{NetworkPlan, NodeId, NodeKind};

/// Frames per second that one core receives from a ring, forwards and sends. A choice: about a
/// tenth of the rate of an optimised build on a core of a busy virtual machine (2.6 million), so
/// that polls stay close to the frames, and less than the rate of an unoptimised one (0.5 million).
const HOPS_PER_CORE: f64 = 200_000.0;

/// Cost of an idle port in hops per second, because it is polled too.
const IDLE_PORT: f64 = 1_000.0;

/// Load of the nodes of a network.
#[derive(Clone, PartialEq, Debug)]
pub struct Load {
    /// By node: frames per second that it sends, forwards or receives without congestion.
    nodes: Vec<f64>,
}

impl Load {
    /// Calculates the load that the flows of a network offer, limited by their hosts' link rates.
    pub fn new(network: &NetworkPlan) -> Self {
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

    /// Returns the factor by which time is slowed down for this number of threads.
    pub fn slow_down(&self, threads: usize) -> u64 {
        let all: f64 = self.nodes.iter().sum();
        ((all / (HOPS_PER_CORE * threads as f64)).ceil() as u64).max(1)
    }

    /// Returns the thread of each node. Nodes are assigned in the order of load, each to the thread
    /// with the least load.
    pub fn spread(&self, threads: usize) -> Vec<usize> {
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

/// Offered load of one flow of a host.
struct Offer {
    to: ground::units::Mac,
    /// Frames per second.
    frames: f64,
    /// Fraction of its link's rate, 1 for all of it.
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
    // Acknowledgements take the same path back.
    let answered = host.senders.iter().map(|t: &TransportPlan| {
        let most = 1.0 / line.time_for(t.size).as_secs_f64();
        let frames = t.rate.map_or(most, |r| r.get() as f64 / 8.0 / f64::from(t.size)).min(most);
        Offer { to: t.dst, frames: 2.0 * frames, share: share(t.size, frames) }
    });
    let streams = host.tester.streams.iter().filter_map(|stream| stream_offer(stream, &line));
    open.chain(answered).chain(streams).collect()
}

/// Returns the offered load of a stream, if it is data to one host.
fn stream_offer(stream: &StreamPlan, line: &Line) -> Option<Offer> {
    if stream.path == Path::Control {
        return None;
    }
    let to = ground::units::Mac(*stream.template.headers.first_chunk()?);
    // The shortest frames give the highest frame rate.
    let (shortest, _) = lengths(&stream.sizes);
    let one = line.time_for(shortest).as_secs_f64();
    let frames = match stream.pace.rate {
        Rate::Frames(n) => n as f64,
        Rate::FrameBits(rate) => rate.get() as f64 / 8.0 / f64::from(shortest),
        Rate::LineShare(ppm) => f64::from(ppm) / 1e6 / one,
    };
    Some(Offer { to, frames, share: frames * one })
}

/// Returns the shortest and the longest frame of a stream, FCS included.
pub fn lengths(sizes: &Sizes) -> (u32, u32) {
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

/// Returns the predecessor of each node on a shortest path from `from`.
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
