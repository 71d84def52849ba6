//! Fits a lab to links that are rings and to the cores of this machine.
//!
//! Parts that rings do not support are removed, those that they need are added, and both are reported. The load of
//! the lab gives the factor by which it is slowed down, and the assignment of nodes to threads.

use super::RealError;
use super::judged::Judged;
use super::rig::Rings;
use super::shortfall::{self, Shortfall};
use crate::plan::LabPlan;
use buffer::{GroupKind, GroupPlan};
use contracts::frame::BURST;
use dpdk::RING_PAIRS_MAX;
use ground::time::Instant;
use ground::units::{Cells, PortId};
use host::plan::stream::{Path, Sizes, StreamPlan};
use host::{Rate, StationPlan, TransportPlan};
use schedule::Line;
use secure::Secy;
use sim::{
    ClockPlan, CpuPlan, DirectionPlan, End, FaultKind, LinkPlan, NetworkPlan, NodeId, NodeKind,
};
use switch::{Change, SwitchPlan};
use text::{count, scaled};

/// Largest frame memory. A choice: half of the memory that DPDK reserves without hugepages. A host
/// that finds no free frame waits, and the results report it.
const POOL_BYTES_MAX: u64 = 256 << 20;

/// Memory of a frame in addition to its data in bytes: DPDK's headers and headroom.
const FRAME_OVERHEAD: u64 = 320;

/// Largest number of bytes that VLAN tags and MACsec add to a frame.
const TAGS: u32 = 8 + Secy::OVERHEAD_MAX as u32;

/// A lab that can run on rings.
#[derive(Clone, Debug)]
pub struct Fit {
    /// The lab without the parts that rings do not support.
    pub plan: LabPlan,
    pub rings: Rings,
    pub load: Load,
    pub shortfalls: Vec<Shortfall>,
    pub judged: Judged,
    /// Most frames that exist at one time.
    pub frames: u32,
    /// Longest frame, tags included.
    pub max_frame: u32,
}

impl Fit {
    /// Fits a lab.
    ///
    /// # Errors
    /// Parts of the lab that make it impossible to run on rings.
    pub fn new(plan: &LabPlan) -> Result<Self, RealError> {
        plan.network.check()?;
        let links = plan.network.links.len();
        if links > RING_PAIRS_MAX {
            return Err(RealError::Links { links, most: RING_PAIRS_MAX });
        }
        let rings = Rings::new(&plan.network);
        let mut shortfalls = shortfall::of_plan(plan, &rings);
        if rings.outruns_pauses(&plan.network) {
            shortfalls.push(Shortfall::new(
                "profiles.defaults.pfc.quanta",
                "some pauses are so short that they may run out before they are renewed",
            ));
        }
        // Before parts are removed: what a check depends on is gone afterwards.
        let judged = Judged::new(plan, &rings);
        let mut plan = plan.clone();
        strip(&mut plan);
        shape(&mut plan.network, &rings);
        shortfalls.extend(raise_headroom(&mut plan.network, &rings)?);
        let (load, max_frame) = (Load::new(&plan.network), rings.longest + TAGS);
        let frames = frames(&plan.network, &rings);
        let most = POOL_BYTES_MAX / (u64::from(max_frame) + FRAME_OVERHEAD);
        if frames > most {
            shortfalls.push(Shortfall::new(
                "profiles.buffer.total",
                format!(
                    "buffers and rings hold up to {} frames, there is memory for {}; a host that \
                     finds none sends later",
                    count(frames),
                    count(most)
                ),
            ));
        }
        let frames = frames.min(most) as u32;
        Ok(Self { plan, rings, load, shortfalls, judged, frames, max_frame })
    }

    /// Reports that the lab runs in slow motion.
    pub fn slowed_down(&mut self, times: u64, threads: usize) {
        if times == 1 {
            return;
        }
        let fastest = self.plan.network.links.iter().map(|l| l.rate.get()).max().unwrap_or(0);
        let real = fastest as f64 / times as f64;
        let instead = format!(
            "time runs {} times slower than on the clock on the wall, so that {threads} cores carry \
             the lab: a link of {} takes {}; all times and rates are the lab's own",
            count(times),
            scaled(fastest as f64, "b/s"),
            scaled(real, "b/s")
        );
        self.shortfalls.insert(0, Shortfall::new("links.rate", instead));
    }
}

/// Removes the parts that rings do not support.
fn strip(plan: &mut LabPlan) {
    let network = &mut plan.network;
    for node in &mut network.nodes {
        let clock = core::mem::take(&mut node.clock);
        if let NodeKind::Host(host) = &mut node.kind {
            retime(host, &clock);
        }
        if let NodeKind::Switch(switch) = &mut node.kind {
            switch.ports.iter_mut().flat_map(|p| &mut p.agents).for_each(|a| a.auto = None);
        }
        // What is reset here is in `shortfall::of_nodes`, which was asked before.
        (node.cpu, node.cut_through, node.control_len) = (CpuPlan::default(), false, None);
    }
    for link in &mut network.links {
        (link.ab, link.ba) = (DirectionPlan::default(), DirectionPlan::default());
    }
    network.faults.retain(|fault| !fault.kind.is_of_line());
    (network.shuffle, network.sample_every) = (None, None);
    plan.record.pcapng.clear();
}

/// Sets the shapers' bursts so that ports catch up after the longest gap between polls.
fn shape(network: &mut NetworkPlan, rings: &Rings) {
    for node in &mut network.nodes {
        match &mut node.kind {
            NodeKind::Switch(switch) => {
                for port in &mut switch.ports {
                    port.schedule.shaper_burst = rings.shaper_burst(port.rate);
                }
            }
            NodeKind::Host(host) => {
                host.shaper_burst = rings.shaper_burst(host.rate);
                // The time between two polls must not count as a backlog.
                host.backlog = host.backlog.max(rings.step.saturating_mul(2));
            }
        }
    }
}

/// Converts the times in a host's plan from its clock to the common clock.
fn retime(host: &mut StationPlan, clock: &ClockPlan) {
    let to = |at: &mut Instant| *at = clock.network(*at);
    for flow in &mut host.flows {
        to(&mut flow.start);
        to(&mut flow.stop);
    }
    for sender in &mut host.senders {
        to(&mut sender.start);
        to(&mut sender.stop);
    }
    host.pauses.iter_mut().for_each(|pause| to(&mut pause.start));
    host.tester.start.iter_mut().for_each(to);
}

/// Gives every lossless group that pauses its peer the headroom that rings need. The buffer grows
/// by the same amount, so that all other limits are as planned.
fn raise_headroom(
    network: &mut NetworkPlan,
    rings: &Rings,
) -> Result<Option<Shortfall>, RealError> {
    let NetworkPlan { nodes, links, faults, .. } = network;
    let (mut raised, mut least, mut most) = (0, u64::MAX, 0);
    for (n, node) in nodes.iter_mut().enumerate() {
        let NodeKind::Switch(switch) = &mut node.kind else { continue };
        let id = NodeId(n as u32);
        // A port that sends no pauses has nothing in flight after one.
        let needed = |switch: &SwitchPlan, port: usize| {
            let end = End { node: id, port: PortId::new(port as u16)? };
            let link: &LinkPlan = links.iter().find(|l| l.a == end || l.b == end)?;
            let pauses = !switch.ports[port].pfc.mode.sends().is_empty();
            pauses.then(|| rings.headroom(link, switch.buffer.cell_bytes))
        };
        let mut more = 0_u64;
        for port in 0..switch.ports.len() {
            let Some(needed) = needed(switch, port) else { continue };
            let cell = u64::from(switch.buffer.cell_bytes);
            for group in &mut switch.buffer.groups[port] {
                let by = raise(group, needed);
                if by > 0 {
                    let was = u64::from(needed.0 - by) * cell;
                    (least, most) = (least.min(was), most.max(was));
                    (raised, more) = (raised + 1, more + u64::from(by));
                }
            }
            // A planned change must not take the headroom back that rings need.
            for fault in faults.iter_mut() {
                if let FaultKind::Change { node, change: Change::Group { port: at, plan, .. } } =
                    &mut fault.kind
                {
                    if (*node, at.index()) == (id, port) {
                        raise(plan, needed);
                    }
                }
            }
        }
        let total = u64::from(switch.buffer.total.0) + more;
        let name = || switch.name.clone();
        switch.buffer.total =
            Cells(u32::try_from(total).map_err(|_| RealError::Buffer { node: name() })?);
    }
    let say = || {
        let from = match least == most {
            true => count(most),
            false => format!("{} to {}", count(least), count(most)),
        };
        Shortfall::new(
            "profiles.buffer.profiles.lossless.xoff",
            format!(
                "a ring holds {} frames and its ends are polled {} apart, so {raised} lossless \
                 groups get headroom for that instead of {from} octets, and the buffer grows by it",
                rings.entries, rings.span
            ),
        )
    };
    Ok((raised > 0).then(say))
}

/// Raises the headroom of a lossless group, and returns the added cells.
fn raise(plan: &mut GroupPlan, needed: Cells) -> u32 {
    let GroupKind::Lossless { headroom, .. } = &mut plan.kind else { return 0 };
    let by = needed.0.saturating_sub(headroom.0);
    headroom.0 += by;
    by
}

/// Returns the most frames that can exist at one time: the capacity of all buffers, full rings, and
/// bursts in progress; at most the number of frames that are ever sent.
fn frames(network: &NetworkPlan, rings: &Rings) -> u64 {
    let mut held = 0;
    let mut sent = Some(0_u64);
    for node in &network.nodes {
        match &node.kind {
            NodeKind::Switch(plan) => {
                let cells = u64::from(plan.buffer.total.0);
                held += cells / u64::from(plan.buffer.cells_for(rings.shortest).0);
            }
            NodeKind::Host(host) => {
                let of = |sum: Option<u64>, flow: Option<u64>| sum?.checked_add(flow?);
                sent = host.flows.iter().fold(sent, |sum, flow| of(sum, flow.frames));
                let streams = host.tester.streams.iter();
                sent = streams.fold(sent, |sum, stream| of(sum, stream.limit.frames));
                // A connection may send a frame any number of times.
                sent = sent.filter(|_| host.senders.is_empty());
            }
        }
    }
    // Both directions: full rings, and the bursts that both ends hold while they are polled.
    let hands = network.links.len() as u64 * 2 * u64::from(rings.entries + 8 * BURST as u32);
    held.min(sent.unwrap_or(u64::MAX)) + hands
}

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
                // A host sends no faster than its link: more offered load is scaled down to it.
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
        // Largest first: the small ones at the end even out what the large ones left uneven.
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
        // An acknowledgement for each frame at most, which passes the same nodes.
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
    // A breadth-first search by layers; `back` of the start stays empty, where the walk of a flow ends.
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
