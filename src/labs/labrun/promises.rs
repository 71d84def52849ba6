//! Promises of some networks in addition to those of every network: marks before pauses, equal throughput, and
//! paths without a cyclic buffer dependency.
//!
//! Marks and throughput depend on thresholds and loads, so most networks promise neither: both require one switch,
//! hosts that only send, and no faults. Without a cyclic buffer dependency among the paths of its flows a deadlock
//! is a bug; with one it is a property of lossless networks.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use buffer::{GroupKind, SharedLimit};
use ground::time::{Duration, Instant};
use ground::units::{BitsPerSec, Mac, PortId};
use host::{FlowId, FlowPlan, Headers, Rate, StationPlan};
use schedule::Line;
use sim::{CpuPlan, End, NetworkPlan, NodeId, NodeKind};
use switch::{CongestionPlan, PortPlan, SwitchPlan};
use wire::ip::Ecn;

#[derive(Clone, Debug, Default)]
pub(super) struct Promises {
    /// Its switch sends a marked frame before its first pause.
    pub(super) marks_first: bool,
    /// Flows get equal throughput.
    pub(super) fair: Option<Fair>,
}

/// Flows that get equal throughput at the queue that they congest.
#[derive(Clone, Debug)]
pub(super) struct Fair {
    pub(super) flows: Vec<FlowId>,
    /// Time in which all of them have data to send.
    pub(super) from: Instant,
    pub(super) to: Instant,
    /// Largest deviation of a share: frames that the switch may hold of one flow and not of another
    /// at either end of that time, and the frames that arrive in the round trip of a pause.
    pub(super) tolerance: f64,
}

/// Largest tolerance of a comparison of shares: with it, a flow that gets half of its share is seen.
const TOLERANCE_MOST: f64 = 0.5;

/// A switch with its hosts, and nothing else.
struct Star<'a> {
    switch: &'a SwitchPlan,
    /// Each host with the switch's port to it.
    hosts: Vec<(&'a StationPlan, usize)>,
    /// Longest time from a pause's start at the switch to the arrival of the last frame that was sent before it.
    round_trip: Duration,
}

impl Promises {
    pub(super) fn of(plan: &NetworkPlan) -> Self {
        let Some(star) = Star::of(plan) else { return Self::default() };
        let Some(load) = Load::of(&star) else { return Self::default() };
        Self { marks_first: load.marks_first(&star), fair: load.fair(&star) }
    }
}

impl<'a> Star<'a> {
    fn of(plan: &'a NetworkPlan) -> Option<Self> {
        let calm = plan.faults.is_empty()
            && plan.nodes.iter().all(|node| node.cpu == CpuPlan::default())
            && plan.links.iter().flat_map(|l| [l.ab, l.ba]).all(|d| d.errors == Default::default());
        let switches = plan.nodes.iter().enumerate().filter_map(|(n, node)| match &node.kind {
            NodeKind::Switch(switch) => Some((n, switch)),
            NodeKind::Host(_) => None,
        });
        // More switches have queues behind queues, where marks and shares depend on the paths.
        let [(at, switch)] = switches.collect::<Vec<_>>()[..] else { return None };
        let port_of = |n: usize| {
            let of = |link: &sim::LinkPlan| match (link.a.node.index(), link.b.node.index()) {
                (a, b) if (a, b) == (at, n) => Some(link.a.port.index()),
                (a, b) if (a, b) == (n, at) => Some(link.b.port.index()),
                _ => None,
            };
            plan.links.iter().find_map(of)
        };
        let hosts = plan.nodes.iter().enumerate().filter_map(|(n, node)| match &node.kind {
            NodeKind::Host(host) => Some((host, port_of(n)?)),
            NodeKind::Switch(_) => None,
        });
        let trips = plan.links.iter().map(|link| {
            let both = link.ab.delay.saturating_add(link.ba.delay);
            both.saturating_add(link.ab.response.max(link.ba.response))
        });
        let round_trip = trips.max().unwrap_or(Duration::ZERO);
        let star = Self { switch, hosts: hosts.collect(), round_trip };
        (calm && star.is_plain()).then_some(star)
    }

    /// True if only full groups cause pauses, and only long queues cause marks.
    fn is_plain(&self) -> bool {
        let host = |(host, _): &(&StationPlan, usize)| {
            host.senders.is_empty()
                && host.receivers.is_empty()
                && host.pauses.is_empty()
                && host.tester.streams.is_empty()
                && host.agents.is_none()
                && host.secy.is_none()
        };
        let port = |port: &PortPlan| {
            port.agents.is_none()
                && port.secy.is_none()
                && port.watchdog.iter().all(Option::is_none)
                && port.queue_limits.iter().all(|limit| *limit == SharedLimit::Unlimited)
        };
        let CongestionPlan { sfc, isolation, proxy, fast_cnp, qcn, .. } = &self.switch.congestion;
        // Messages about congestion slow senders down before a group is full.
        let told = sfc.is_some() || isolation.is_some() || proxy.is_some();
        let told = told || fast_cnp.is_some() || qcn.is_some();
        !told && self.hosts.iter().all(host) && self.switch.ports.iter().all(port)
    }

    /// Returns the port to an address.
    fn port_to(&self, mac: Mac) -> Option<usize> {
        self.hosts.iter().find(|(host, _)| host.mac == mac).map(|(_, port)| *port)
    }
}

/// Flows of one priority whose groups have static limits that fit the pool.
struct Load<'a> {
    /// Each flow with its host's rate and line.
    flows: Vec<(&'a FlowPlan, &'a StationPlan)>,
    /// Ingress and egress ports of the flows.
    ins: BTreeSet<usize>,
    outs: BTreeSet<usize>,
    /// Fewest bytes of frames that a group holds when it sends a pause, and the most that it may
    /// hold, in bytes of cells.
    least: u64,
    most: u64,
    /// Fewest bytes of cells by which a group shrinks between XOFF and XON.
    swing: u64,
    /// Longest frame.
    longest: u64,
}

impl<'a> Load<'a> {
    fn of(star: &Star<'a>) -> Option<Self> {
        let of = |(host, _): &(&'a StationPlan, usize)| -> Vec<(&'a FlowPlan, &'a StationPlan)> {
            host.flows.iter().map(|flow| (flow, *host)).collect()
        };
        let flows: Vec<_> = star.hosts.iter().flat_map(of).collect();
        let priority = flows.first()?.0.priority;
        let ins = star.hosts.iter().filter(|(host, _)| !host.flows.is_empty());
        let ins: BTreeSet<usize> = ins.map(|(_, port)| *port).collect();
        let outs: Option<BTreeSet<usize>> =
            flows.iter().map(|(flow, _)| star.port_to(flow.dst)).collect();
        let buffer = &star.switch.buffer;
        let cells = |flow: &FlowPlan| u64::from(buffer.cells_for(flow.size).0);
        let (mut least, mut most, mut limits, mut set_aside) = (u64::MAX, 0, 0, 0);
        let mut swing = u64::MAX;
        for (port, groups) in buffer.groups.iter().enumerate() {
            for group in groups {
                let headroom = match group.kind {
                    GroupKind::Lossless { headroom, .. } => headroom.0,
                    GroupKind::Lossy => 0,
                };
                set_aside += u64::from(headroom) + u64::from(group.reserved.0);
            }
            if !ins.contains(&port) {
                continue;
            }
            let group = &groups[star.switch.ports[port].classify.group[priority.index()].index()];
            let (GroupKind::Lossless { headroom, xon, xon_offset }, SharedLimit::Static(limit)) =
                (group.kind, group.limit)
            else {
                return None;
            };
            // A group fills in whole frames, each of which takes whole cells: fewest bytes when the last one does not
            // fit.
            let frames = |(flow, _): &(&FlowPlan, _)| {
                u64::from(limit.0) / cells(flow).max(1) * u64::from(flow.size)
            };
            least = least.min(flows.iter().map(frames).min()?);
            let cell = u64::from(buffer.cell_bytes);
            let resumes_at = xon.0.max(limit.0.saturating_sub(xon_offset.0));
            swing = swing.min(cell * u64::from(limit.0.saturating_sub(resumes_at)));
            most = most.max(cell * u64::from(limit.0 + headroom.0 + group.reserved.0));
            // One frame more than the limit: the frame that crosses it is admitted.
            limits += u64::from(limit.0) + flows.iter().map(|(flow, _)| cells(flow)).max()?;
        }
        let is_alike = |(flow, _): &(&FlowPlan, _)| flow.priority == priority && flow.tag.is_none();
        // Otherwise the pool may fill first, and a group pauses below its limit.
        let has_room = limits + set_aside <= u64::from(buffer.total.0);
        let longest = flows.iter().map(|(flow, _)| u64::from(flow.size)).max()?;
        (has_room && flows.iter().all(is_alike)).then_some(Self {
            flows,
            ins,
            outs: outs?,
            least,
            most,
            swing,
            longest,
        })
    }

    /// True if some queue is above the marking curve for long enough before the first group reaches
    /// its limit.
    ///
    /// A group then holds `least` bytes, so one of the queues has its part of them, all of which
    /// came by one port while the queue was above the curve. In that time the switch must send the
    /// frames ahead of the first marked one.
    fn marks_first(&self, star: &Star<'_>) -> bool {
        let Some((first, _)) = self.flows.first() else { return false };
        let is_ect = |flow: &FlowPlan| match flow.headers {
            Headers::Ethernet => false,
            Headers::Udp4(udp) => matches!(udp.ecn, Ecn::Ect0 | Ecn::Ect1),
            Headers::Udp6(udp) => matches!(udp.ecn, Ecn::Ect0 | Ecn::Ect1),
        };
        let fastest = self.ins.iter().map(|port| star.switch.ports[*port].rate.get()).max();
        let part = self.least / (self.outs.len() as u64).max(1);
        let keeps = |port: &usize| {
            let port = &star.switch.ports[*port];
            let class = port.classify.class[first.priority.index()];
            let Some(curve) = port.ecn[class.index()] else { return false };
            let more = curve.kmax.0 + (self.ins.len() as u64 + 4) * self.longest;
            let above = part.saturating_sub(curve.kmax.0);
            // Times are compared as products of bytes and rates, without a division.
            let product = |octets: u64, rate: u64| u128::from(octets) * u128::from(rate);
            product(above, port.rate.get()) >= product(more, fastest.unwrap_or(u64::MAX))
        };
        self.flows.iter().all(|(flow, _)| is_ect(flow)) && self.outs.iter().all(keeps)
    }

    /// Returns one flow of each host, all alike, to one host whose link is not faster than theirs.
    fn fair(&self, star: &Star<'_>) -> Option<Fair> {
        let (first, host) = self.flows.first()?;
        let [out] = self.outs.iter().copied().collect::<Vec<_>>()[..] else { return None };
        let rate: BitsPerSec = star.switch.ports[out].rate;
        let n = self.flows.len();
        let is_alike = |(flow, of): &(&FlowPlan, &StationPlan)| {
            (flow.size, flow.frames, flow.start, flow.stop)
                == (first.size, first.frames, first.start, first.stop)
                && flow.rate == Rate::LineShare(1_000_000)
                && of.flows.len() == 1
                && of.rate == host.rate
        };
        let as_fast = host.rate.get() >= rate.get();
        if n < 2 || !as_fast || first.stop != Instant::NEVER || !self.flows.iter().all(is_alike) {
            return None;
        }
        // No flow has sent all its data before its line could have done so alone.
        let line = Line::new(host.rate, host.line);
        let all = line.time_for(first.size).saturating_mul(first.frames?);
        // After a quarter of the time queues are full, and before the last fiftieth no flow is done.
        let (from, to) = (first.start + all.div(4), first.start + all.saturating_sub(all.div(50)));
        let mean = octets(rate, to.since(from)) / n as f64;
        // What the switch holds of a flow at either end of that time may differ from flow to flow by as much.
        let held = (2 * (self.most + 2 * self.longest)) as f64;
        // Hosts at one rate are paused in phase, so what differs in one period between two pauses differs in the
        // same way in all of them. In a period a host sends what its group gave back from XOFF to XON, and what
        // its line brings in the round trip of the pause. It may send more than another: the frames at both ends
        // of that, and what its group loses in the round trip of the resumption, in which the queue may send
        // frames of this host alone.
        let trip = octets(rate, star.round_trip);
        let more = trip + (2 * self.longest) as f64;
        let uneven = more * (n - 1) as f64 / (n as f64 * (self.swing as f64 + trip) + more);
        let tolerance = uneven + held / mean.max(1.0);
        let flows = self.flows.iter().map(|(flow, _)| flow.id).collect();
        (tolerance <= TOLERANCE_MOST).then_some(Fair { flows, from, to, tolerance })
    }
}

/// Bytes that a line carries in a time.
fn octets(rate: BitsPerSec, span: Duration) -> f64 {
    span.as_picos() as f64 * rate.get() as f64 / 8e12
}

/// An egress queue: a switch and its egress port.
type Queue = (NodeId, PortId);

/// The queues to which each queue forwards frames.
type Next = BTreeMap<Queue, BTreeSet<Queue>>;

/// True if there is a cycle of queues, each of which forwards frames to the next.
pub(super) fn has_circle(plan: &NetworkPlan) -> bool {
    let mut next = Next::new();
    let network = Ways::new(plan);
    for (n, node) in plan.nodes.iter().enumerate() {
        let NodeKind::Host(host) = &node.kind else { continue };
        for to in destinations(host) {
            let first = network.peers.get(&(NodeId(n as u32), PortId::MIN)).map(|end| end.node);
            let passed = network.add(&mut next, first, to);
            // A switch on the way may send messages about congestion back to the host.
            for node in
                passed.into_iter().filter(|node| sends_messages(&plan.nodes[node.index()].kind))
            {
                network.add(&mut next, Some(node), host.mac);
            }
        }
    }
    for fault in &plan.faults {
        let Some((direction, octets)) = fault.kind.forged() else { continue };
        let Some(dst) = octets.first_chunk() else { continue };
        let end = plan.links[direction.link().index()].to(direction);
        network.add(&mut next, Some(end.node), Mac(*dst));
    }
    // A queue without a successor is in no cycle; removing it may leave others without one.
    loop {
        let before = next.len();
        let open: BTreeSet<Queue> = next.keys().copied().collect();
        for to in next.values_mut() {
            to.retain(|queue| open.contains(queue));
        }
        next.retain(|_, to| !to.is_empty());
        if next.len() == before {
            return before > 0;
        }
    }
}

/// True if a switch makes messages about congestion.
fn sends_messages(kind: &NodeKind) -> bool {
    let NodeKind::Switch(switch) = kind else { return false };
    let of = &switch.congestion;
    of.sfc.is_some() || of.isolation.is_some() || of.fast_cnp.is_some() || of.qcn.is_some()
}

/// Returns the destinations of a host's frames: data and acknowledgements.
fn destinations(host: &StationPlan) -> BTreeSet<Mac> {
    let flows = host.flows.iter().map(|flow| flow.dst);
    let data = host.senders.iter().map(|sender| sender.dst);
    flows.chain(data).chain(host.receivers.iter().map(|receiver| receiver.src)).collect()
}

/// Peer of each port, and the address tables of switches.
struct Ways {
    peers: HashMap<Queue, End>,
    tables: Vec<HashMap<Mac, Vec<PortId>>>,
}

impl Ways {
    fn new(plan: &NetworkPlan) -> Self {
        let mut peers = HashMap::new();
        for link in &plan.links {
            peers.insert((link.a.node, link.a.port), link.b);
            peers.insert((link.b.node, link.b.port), link.a);
        }
        let table = |kind: &NodeKind| match kind {
            NodeKind::Switch(s) => {
                let one = s.bridge.statics.iter().map(|entry| (entry.mac, vec![entry.port]));
                one.chain(s.bridge.spread.iter().map(|e| (e.mac, e.ports.clone()))).collect()
            }
            NodeKind::Host(_) => HashMap::new(),
        };
        Self { peers, tables: plan.nodes.iter().map(|node| table(&node.kind)).collect() }
    }

    /// Returns the queues of a switch to an address: several on paths of equal cost.
    fn queues(&self, node: NodeId, to: Mac) -> impl Iterator<Item = Queue> + '_ {
        let ports = self.tables[node.index()].get(&to).into_iter().flatten();
        ports.map(move |port| (node, *port))
    }

    /// Adds all paths from a node to an address: each queue forwards to the next. Returns the switches on them.
    fn add(&self, next: &mut Next, first: Option<NodeId>, to: Mac) -> BTreeSet<NodeId> {
        let mut passed = BTreeSet::new();
        let mut open = Vec::from_iter(first);
        while let Some(node) = open.pop() {
            // Each switch once, as paths of equal cost meet again.
            if self.tables[node.index()].contains_key(&to) && passed.insert(node) {
                for queue in self.queues(node, to) {
                    let Some(peer) = self.peers.get(&queue).map(|end| end.node) else { continue };
                    next.entry(queue).or_default().extend(self.queues(peer, to));
                    open.push(peer);
                }
            }
        }
        passed
    }
}
