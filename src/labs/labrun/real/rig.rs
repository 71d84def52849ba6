//! Builds a fitted lab: pool, rings, nodes, and the nodes of each thread.
//!
//! Rings are links, dimensioned so that no lossless frame is lost however late a thread polls. A ring has no length
//! and no rate. Its occupancy is bounded because its sender is shaped, and because the clocks of any two threads
//! never differ by more than the span of the clock sync.

use std::sync::Arc;

use super::RealError;
use super::fit::{self, Fit};
use super::log::{Moment, Observer, Watch};
use super::node::{Action, Kind, Node, Operation};
use super::poller::{Part, Stops};
use crate::record::{Captures, Detail, Recorder};
use contracts::frame::BURST;
use contracts::port::Secured;
use contracts::world::Alone;
use dpdk::{
    DpdkPort, Eal, Pool, PoolOptions, PortOptions, RingOptions, SourcePort, Started, ciphers,
    ring_pair,
};
use ground::time::{Duration, Instant};
use ground::units::{BitsPerSec, Bytes, Cells, PortId};
use host::{COMMITTED_MAX, FRAME_MIN, Station};
use schedule::Line;
use secure::{Ciphers, SecyPlan};
use sim::{Direction, FaultKind, LinkId, LinkPlan, NetworkError, NetworkPlan, NodeId, NodeKind};
use switch::{PortPlan, Reconciler, Switch};

/// Free frames in each thread's cache.
const CACHE: u32 = 64;

/// A port of a node, and the direction that ends there.
type Port = (Direction, DpdkPort<Started>);

/// Returns the part of the lab of each thread.
pub(super) fn rig(eal: &Eal, fit: &Fit, threads: usize) -> Result<Vec<Part>, RealError> {
    // Frames in the cache of one thread are not available to the others.
    let frames = fit.frames + (threads as u32 + 1) * CACHE * 3 / 2;
    let options =
        PoolOptions { name: "lab".into(), frames, max_frame: fit.max_frame, cache: CACHE };
    let pool = Pool::new(eal, &options)?;
    let mut ports = ports(eal, fit, &pool)?;
    let ciphers = is_protected(fit).then(|| ciphers(eal)).flatten();
    let ciphers = ciphers.as_ref();
    let places = fit.load.spread(threads);
    let stops = stops(fit);
    let mut parts: Vec<Part> =
        (0..threads).map(|_| Part { nodes: Vec::new(), actions: Vec::new(), stops }).collect();
    for (n, plan) in fit.plan.network.nodes.iter().enumerate() {
        let id = NodeId(n as u32);
        let moment = Arc::new(Moment::new(fit.rings.span));
        let ports: Vec<Port> = core::mem::take(&mut ports[n]).into_iter().flatten().collect();
        let count = ports.len() as u16;
        let name = plan.name().to_owned();
        let kind = match &plan.kind {
            NodeKind::Switch(plan) => {
                let ids = (0..).map_while(PortId::new);
                let tap = |((id, plan), (direction, port)): ((PortId, &PortPlan), Port)| {
                    let port = secured(port, &plan.secy, ciphers, &name)?;
                    Ok((id, Observer::of(port, direction, &moment)))
                };
                let ports = ids.zip(&plan.ports).zip(ports).map(tap);
                let ports = ports.collect::<Result<_, RealError>>()?;
                let recorder = Recorder::new(&fit.plan, Detail::default(), Captures::default());
                let watch = Watch::new(id, recorder);
                Kind::Switch(Box::new(Switch::new(plan, ports, Alone::default(), watch)?))
            }
            NodeKind::Host(plan) => {
                // A plan may have hosts without links, which have nothing to poll.
                let Some((direction, port)) = ports.into_iter().next() else { continue };
                let port =
                    secured(SourcePort::new(port, pool.clone()), &plan.secy, ciphers, &name)?;
                let port = Observer::of(port, direction, &moment);
                let host = Station::new(plan, port)?;
                // Frames are taken before the run: a host that sends its first frame does not wait for memory.
                host.spares().fill();
                Kind::Host(Box::new(host))
            }
        };
        let reconciler = match &plan.kind {
            NodeKind::Switch(plan) => Reconciler::new(plan).map(Box::new),
            NodeKind::Host(_) => None,
        };
        let stalled_until = Instant::ZERO;
        parts[places[n]].nodes.push(Node {
            id,
            name,
            kind,
            reconciler,
            ports: count,
            moment,
            stalled_until,
        });
    }
    for action in actions(fit) {
        parts[places[action.node.index()]].actions.push(action);
    }
    Ok(parts)
}

/// True if any port has a `SecY`.
fn is_protected(fit: &Fit) -> bool {
    fit.plan.network.nodes.iter().any(|node| match &node.kind {
        NodeKind::Switch(plan) => plan.ports.iter().any(|port| port.secy.is_some()),
        NodeKind::Host(plan) => plan.secy.is_some(),
    })
}

/// Returns a port of a node with its `SecY`, if it has one.
fn secured<P: contracts::port::Port>(
    port: P,
    secy: &Option<Box<SecyPlan>>,
    ciphers: Option<&Arc<dyn Ciphers>>,
    node: &str,
) -> Result<Secured<P>, RealError> {
    let refused = |source| NetworkError::Secy { node: node.to_owned(), source };
    let secured = Secured::with_ciphers(port, secy.as_deref(), ciphers);
    secured.map_err(|error| refused(error).into())
}

/// Returns the ports of all nodes, by node and port, each with its end of a link.
fn ports(eal: &Eal, fit: &Fit, pool: &Pool) -> Result<Vec<Vec<Option<Port>>>, RealError> {
    let network = &fit.plan.network;
    let mut ports: Vec<Vec<Option<Port>>> = Vec::new();
    for node in &network.nodes {
        ports.push((0..node.ports()).map(|_| None).collect());
    }
    let options = PortOptions::default();
    for (n, link) in network.links.iter().enumerate() {
        let (name, entries) = (format!("lab{n}"), fit.rings.entries);
        // One pair is a link: what one end puts in comes out at the other.
        let (near, far) = ring_pair(eal, &RingOptions { name, entries, queues: 1 })?;
        let id = LinkId(n as u32);
        for (end, arriving, port) in [(link.a, id.ba(), near), (link.b, id.ab(), far)] {
            let started = port.start(&options, pool)?;
            ports[end.node.index()][end.port.index()] = Some((arriving, started));
        }
    }
    Ok(ports)
}

fn stops(fit: &Fit) -> Stops {
    let plan = &fit.plan;
    let end = Instant::ZERO.saturating_add(plan.duration);
    let to = plan.measure_to.map_or(end, |to| Instant::ZERO.saturating_add(to)).min(end);
    Stops { from: Instant::ZERO.saturating_add(plan.measure_from).min(to), to, end }
}

/// Returns the planned actions in reverse order; simultaneous ones are executed in the order of the
/// plan.
fn actions(fit: &Fit) -> Vec<Action> {
    let network = &fit.plan.network;
    let mut actions = Vec::new();
    for fault in &network.faults {
        let at = fault.at;
        match fault.kind {
            FaultKind::Link { link, up } => {
                let link = &network.links[link.index()];
                for end in [link.a, link.b] {
                    let what = Operation::Link { port: end.port, up };
                    actions.push(Action { at, node: end.node, what });
                }
            }
            FaultKind::Stall { node, span } => {
                actions.push(Action { at, node, what: Operation::Stall(span) });
            }
            FaultKind::Change { node, change } => {
                actions.push(Action { at, node, what: Operation::Change(change) });
            }
            // Removed when the lab was fitted.
            FaultKind::Line(..) | FaultKind::Defect { .. } => {}
        }
    }
    actions.sort_by_key(|action| action.at);
    actions.reverse();
    actions
}

/// Largest difference of clocks, in transmission times of the longest frame on the fastest link. A
/// choice: the work that two threads can do without synchronisation, and small compared to buffers.
const SPAN_FRAMES: u64 = 32;

/// Capacity of a ring, in spans: the sender may be one ahead of a receiver that is one behind, and
/// twice that, so that no link idles because its ring is full.
const SPANS: u64 = 4;

/// Smallest and largest ring in frames. The largest is too small if the shortest frames are less
/// than an eighth of the longest; the span is shorter then.
const ENTRIES: [u64; 2] = [128, 1024];

/// Shortest span: below it, a clock needs too many polls to advance.
const SPAN_MIN: Duration = Duration::from_nanos(1);

/// Ring parameters of one lab.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rings {
    /// Frames that each direction of a link holds.
    pub entries: u32,
    /// Shortest and longest frame of all senders, FCS included.
    pub shortest: u32,
    pub longest: u32,
    /// Largest difference between the clocks of two threads.
    pub span: Duration,
    /// Longest counted gap between two polls.
    pub step: Duration,
}

impl Rings {
    /// Calculates the rings of a network.
    pub fn new(network: &NetworkPlan) -> Self {
        let (shortest, longest) = lengths(network);
        let fastest = network.links.iter().max_by_key(|link| link.rate.get());
        let time = |len| {
            let line = fastest.map(|link| Line::new(link.rate, link.line));
            line.map_or(1_000, |line| line.time_for(len).as_picos()).max(1)
        };
        // Enough of the shortest frames for the time of SPANS spans.
        let entries = (SPANS * SPAN_FRAMES * time(longest)).div_ceil(time(shortest));
        let entries = entries.clamp(ENTRIES[0], ENTRIES[1]);
        let span = Duration::from_picos(time(shortest)).saturating_mul(entries / SPANS);
        // Clocks that differ more would let a pause expire at its receiver before the sender refreshes it.
        let span = span.min(bounded_by_pauses(network)).max(SPAN_MIN);
        let step = span.div(2).max(SPAN_MIN);
        Self { entries: entries as u32, shortest, longest, span, step }
    }

    /// True if a pause may expire before it is refreshed, because its pause time is short.
    pub fn outruns_pauses(&self, network: &NetworkPlan) -> bool {
        self.span > bounded_by_pauses(network)
    }

    /// Returns the largest difference between the clocks of two nodes, with the time between two
    /// polls of both.
    pub fn uncertainty(&self) -> Duration {
        self.span + self.step.saturating_mul(2)
    }

    /// Returns the burst that a shaper may send after the longest gap.
    pub fn shaper_burst(&self, rate: BitsPerSec) -> Bytes {
        rate.bytes_in(self.step)
    }

    /// Returns the frames from one link that can still be admitted after a group went to XOFF,
    /// however late either end is polled:
    ///
    /// - the rest of the burst that was being admitted, the frame that crossed included;
    /// - the frames in the ring at that time;
    /// - frames that the peer sends while the pause waits for a free link, at most one frame of the
    ///   longest size and a gap, during which the peer's clock advances by twice the span more;
    /// - frames that the peer sends while it reads the ring with the pause: a switch takes a burst
    ///   and sends one, and is polled until the ring is empty;
    /// - frames that the peer is processing.
    ///
    /// There are no others, because a pause is refreshed before it expires: the span guarantees
    /// that.
    pub fn in_flight(&self, link: &LinkPlan) -> u32 {
        let line = Line::new(link.rate, link.line);
        let frame = line.time_for(self.shortest).as_picos().max(1);
        let wait = line.time_for(self.longest) + self.span.saturating_mul(2);
        // The peer may be polled a step late, and so may this port.
        let wait = (wait + self.step.saturating_mul(2)).as_picos();
        let sent = u32::try_from(wait.div_ceil(frame)).unwrap_or(u32::MAX);
        (BURST as u32 + 2 * self.entries + 2 * COMMITTED_MAX as u32).saturating_add(sent)
    }

    /// Returns the headroom for these frames, in cells of `cell_bytes`.
    pub fn headroom(&self, link: &LinkPlan, cell_bytes: u32) -> Cells {
        Cells(self.in_flight(link).saturating_mul(self.longest.div_ceil(cell_bytes)))
    }
}

/// Returns the shortest and the longest frame of all flows, acknowledgements and pauses.
fn lengths(network: &NetworkPlan) -> (u32, u32) {
    let (mut shortest, mut longest) = (u32::MAX, FRAME_MIN);
    let mut take = |len: u32| {
        shortest = shortest.min(len);
        longest = longest.max(len);
    };
    for node in &network.nodes {
        let NodeKind::Host(host) = &node.kind else { continue };
        host.flows.iter().for_each(|flow| take(flow.size));
        for stream in &host.tester.streams {
            let (least, most) = fit::lengths(&stream.sizes);
            take(least.max(FRAME_MIN));
            take(most.max(FRAME_MIN));
        }
        for transport in &host.senders {
            // Acknowledgements are the shortest frames.
            take(FRAME_MIN);
            take(transport.longest());
        }
        if !host.pauses.is_empty() {
            take(FRAME_MIN);
        }
    }
    (shortest.min(longest), longest)
}

/// Returns the longest span for which every pause is refreshed before it expires: the pause was
/// received when the receiver's clock was at most a span behind the sender's, and is refreshed an
/// interval later, when the receiver's clock is at most a span ahead.
fn bounded_by_pauses(network: &NetworkPlan) -> Duration {
    let ports = network.nodes.iter().filter_map(|node| match &node.kind {
        NodeKind::Switch(plan) => Some(&plan.ports),
        NodeKind::Host(_) => None,
    });
    let sending = ports.flatten().filter(|port| !port.pfc.mode.sends().is_empty());
    let spare = sending.map(|port| {
        let pause = port.pfc.quanta.at(port.rate);
        let renewed = if port.pfc.refresh < pause { port.pfc.refresh } else { pause.div(2) };
        // Half each: one clock may be a span behind when the pause arrives, and a span ahead at its refresh.
        Duration::from_picos(pause.as_picos() - renewed.as_picos()).div(2)
    });
    spare.min().unwrap_or(Duration::MAX)
}
