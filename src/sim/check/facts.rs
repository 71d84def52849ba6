//! Facts of the plan, in the form that the checkers use.
//!
//! A port is known by the direction that leaves it: its state is at that direction's place in a
//! list of all directions, and the port at the other end at that of [`Direction::reverse`].

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::parsed::Maps;
use crate::{
    ClockPlan, CpuPlan, Direction, DirectionPlan, End, FaultKind, LinkId, NetworkPlan, NodeId,
    NodeKind,
};
use buffer::{GroupKind, GroupPlan};
use ground::time::{Duration, Instant};
use ground::units::{
    BitsPerSec, Bytes, Cells, PRIORITIES, PortId, Priority, PriorityGroup, PrioritySet,
    TrafficClass,
};
use host::StationPlan;
use pfc::{FlowControl, StormAction};
use schedule::Line;
use secure::SecyPlan;
use switch::{BridgePlan, PortPlan, SwitchPlan};

/// All facts of a network.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    /// By direction: the port that it leaves.
    pub(super) ports: Vec<PortFacts>,
    /// By node.
    pub(super) nodes: Vec<NodeFacts>,
    /// By node: false if the observer of another part of the network is told about it.
    pub(super) own: Vec<bool>,
    /// True if a flow may come to a switch by another port than before: where a planned fault takes down one of several
    /// ports of equal cost.
    pub(super) reroutes: bool,
}

/// A node.
#[derive(Clone, Debug)]
pub(super) struct NodeFacts {
    pub(super) name: String,
    pub(super) is_switch: bool,
    pub(super) clock: ClockPlan,
    /// By port: the direction that leaves it.
    pub(super) out: Vec<Direction>,
    /// Octets of a cell of its buffer, 0 for a host.
    pub(super) cell: u32,
    /// True if its processor takes time for what it does.
    pub(super) takes_time: bool,
    /// Start and end of each planned stall.
    pub(super) stalls: Vec<(Instant, Instant)>,
    /// True if it forwards by addresses alone, frames of a kind in order, and keeps none: false if
    /// flows are isolated, or messages are cached for hosts.
    pub(super) bridges: bool,
    /// The addresses that messages of its own come from; nothing where it makes none.
    pub(super) speaks_as: Vec<u64>,
    /// Destination addresses and the ports behind which they are.
    pub(super) statics: Arc<[(u64, u16)]>,
    /// Addresses with several ports of equal cost: few, or as many as a switch of a fabric has hosts elsewhere.
    spreads: HashSet<u64>,
    /// True if a port of it has a planned defect.
    pub(super) is_defective: bool,
    /// True if it may send frames with CE: a generator sends what it is told.
    pub(super) sends_ce: bool,
}

/// A port, and the direction that leaves it.
#[derive(Clone, Debug)]
pub(super) struct PortFacts {
    pub(super) node: NodeId,
    pub(super) port: PortId,
    /// `s1:p2`, or the host's name.
    pub(super) name: String,
    pub(super) rate: BitsPerSec,
    /// Its own address, as a number below 2^48.
    pub(super) mac: u64,
    /// From the last bit's start to its arrival, and to a pause's being obeyed.
    pub(super) delay: Duration,
    pub(super) response: Duration,
    /// The delay of a frame that nothing protects.
    delay_least: Duration,
    /// The longest frame that it takes or sends, in bytes, and the bytes that a frame takes on its line
    /// besides its own.
    longest: u32,
    overhead: u32,
    /// Length of its MAC control frames.
    pause: u32,
    /// The time of the longest frame and a few pauses: what a pause may have to wait for.
    pub(super) wait: Duration,
    /// True if it uses PAUSE instead of PFC.
    pub(super) link_wide: bool,
    /// True if a proxy may pause its peer as well, with pauses that expire without a resumption.
    pub(super) proxied: bool,
    /// Priorities that it pauses its peer for, and that its peer may pause.
    pub(super) asks: PrioritySet,
    pub(super) obeys: PrioritySet,
    /// Longest configured delay of a pause: a generator's port may be told to be slow.
    pub(super) lets: Duration,
    pub(super) maps: Maps,
    /// Priorities to groups and classes.
    pub(super) group: [u8; PRIORITIES],
    pub(super) class: [u8; PRIORITIES],
    /// By priority: the classes that it had before and those of their congesting flows, bit n for class n.
    pub(super) former: [u8; PRIORITIES],
    /// By class: where the frames of its congesting flows are; itself where they stay.
    pub(super) congesting: [u8; PRIORITIES],
    /// Classes whose congesting flows are strictly served before them, bit n for class n.
    pub(super) starving: u8,
    /// By group: the bytes of its headroom, 0 for one that is lossy.
    pub(super) headroom: [u64; PRIORITIES],
    /// The priorities of lossless groups, and those of them that it pauses its peer for: only these are
    /// lossless.
    grouped: PrioritySet,
    pub(super) lossless: PrioritySet,
    /// Classes whose watchdog ignores pauses, or drops, once they are stormed.
    pub(super) forwards: u8,
    pub(super) flushes: u8,
    /// Classes that mark, bit n for class n.
    pub(super) marks: u8,
    /// VLANs that leave it tagged, and the one of untagged frames.
    tagged: Vec<u16>,
    pub(super) pvid: u16,
}

impl Facts {
    pub(super) fn new(plan: &NetworkPlan) -> Self {
        let mut nodes: Vec<NodeFacts> = plan.nodes.iter().map(NodeFacts::new).collect();
        // Stalls excuse lateness only while they last, so their times are kept.
        for fault in &plan.faults {
            if let FaultKind::Defect { end, .. } = &fault.kind {
                nodes[end.node.index()].is_defective = true;
            }
            if let Some((node, span)) = fault.kind.stall() {
                nodes[node.index()].stalls.push((fault.at, fault.at + span));
            }
        }
        let directions =
            // In the order of the directions' numbers, which are indices of this list.
            (0..plan.links.len() as u32).flat_map(|n| [LinkId(n).ab(), LinkId(n).ba()]);
        let ports: Vec<PortFacts> =
            directions.map(|direction| PortFacts::new(plan, direction)).collect();
        for (n, port) in ports.iter().enumerate() {
            nodes[port.node.index()].out[port.port.index()] = Direction(n as u32);
        }
        let spreads = nodes.iter().any(|node| !node.spreads.is_empty());
        let reroutes = spreads && !plan.faults.is_empty();
        Self { own: vec![true; nodes.len()], ports, nodes, reroutes }
    }

    /// True if the observer is told about the node of this number.
    #[inline]
    pub(super) fn has_node(&self, n: usize) -> bool {
        self.own[n]
    }

    /// True if the observer is told about the node of a port.
    #[inline]
    pub(super) fn has_port(&self, port: Direction) -> bool {
        self.own[self.from(port).node.index()]
    }

    /// Adds another part's facts of its ports.
    pub(super) fn unite(&mut self, other: Self) {
        let Self { ports, own, .. } = other;
        for (to, from) in self.ports.iter_mut().zip(ports) {
            if own[from.node.index()] {
                *to = from;
            }
        }
        self.own.iter_mut().zip(own).for_each(|(own, other)| *own |= other);
    }

    /// The port that a direction leaves.
    #[inline]
    pub(super) fn from(&self, direction: Direction) -> &PortFacts {
        &self.ports[direction.index()]
    }

    /// The port at which a direction arrives.
    #[inline]
    pub(super) fn to(&self, direction: Direction) -> &PortFacts {
        &self.ports[direction.reverse().index()]
    }

    #[inline]
    pub(super) fn node(&self, id: NodeId) -> &NodeFacts {
        &self.nodes[id.index()]
    }

    /// The direction that leaves a port of a node.
    #[inline]
    pub(super) fn out(&self, node: NodeId, port: PortId) -> Direction {
        self.nodes[node.index()].out[port.index()]
    }

    /// A group of a switch has other thresholds from now on: its headroom in cells, or lossy.
    pub(super) fn regroup(
        &mut self,
        node: NodeId,
        port: PortId,
        group: PriorityGroup,
        headroom: Option<Cells>,
    ) {
        let (direction, cell) = (self.out(node, port), u64::from(self.node(node).cell));
        let port_facts = &mut self.ports[direction.index()];
        // The note counts cells, and the checks bytes.
        port_facts.headroom[group.index()] = headroom.map_or(0, |cells| u64::from(cells.0) * cell);
        // Thresholds are of the group, and so of all priorities in it.
        let priorities = port_facts.of_group(group.get()).0;
        port_facts.grouped.0 = match headroom {
            Some(_) => port_facts.grouped.0 | priorities,
            None => port_facts.grouped.0 & !priorities,
        };
        port_facts.lossless.0 = port_facts.grouped.0 & port_facts.asks.0;
    }

    /// PFC of a port runs for other priorities from now on.
    pub(super) fn enable(&mut self, port: Direction, send: PrioritySet, obey: PrioritySet) {
        let port_facts = &mut self.ports[port.index()];
        (port_facts.asks, port_facts.obeys) = (send, obey);
        // Headroom without pauses makes no priority lossless.
        port_facts.lossless.0 = port_facts.grouped.0 & port_facts.asks.0;
    }

    /// Frames that arrive from now on leave a port in other classes.
    pub(super) fn reclass(&mut self, port: Direction, class: [u8; PRIORITIES]) {
        let port_facts = &mut self.ports[port.index()];
        // Frames that are queued stay in their class, so that is still one of the priority's.
        for p in 0..PRIORITIES {
            port_facts.former[p] |= port_facts.places_of(p);
        }
        port_facts.class = class;
    }

    /// Returns the longest time until the last frame arrives of a priority that a port pauses.
    pub(super) fn round_trip(&self, port: Direction) -> Duration {
        let (there, back) = (self.from(port), self.to(port));
        there.wait + there.delay + there.response + back.wait + back.delay
    }

    /// All directions.
    pub(super) fn directions(&self) -> impl Iterator<Item = Direction> + use<> {
        (0..self.ports.len() as u32).map(Direction)
    }

    /// The name of the node with an address, as far as the plan knows it.
    pub(super) fn who(&self, mac: u64) -> String {
        let [_, _, octets @ ..] = mac.to_be_bytes();
        // The first address of a host is its own; a switch's are those of others.
        let known = self.nodes.iter().find(|node| {
            !node.is_switch && node.statics.first().is_some_and(|(own, _)| *own == mac)
        });
        known.map_or_else(|| ground::units::Mac(octets).to_string(), |node| node.name.clone())
    }
}

/// The addresses that a switch's messages about congestion come from, if it makes any.
fn speaks_as(kind: &NodeKind) -> Vec<u64> {
    let NodeKind::Switch(switch) = kind else { return vec![] };
    let congestion = &switch.congestion;
    let sfc = congestion.sfc.as_ref();
    let others = congestion.fast_cnp.is_none() && congestion.qcn.is_none();
    if sfc.is_none() && others && congestion.isolation.is_none() {
        return vec![];
    }
    // Messages come from the address of a port, or from that which is configured for SFC.
    let ports = switch.ports.iter().map(|port| port.mac);
    ports.chain(sfc.and_then(|sfc| sfc.mac)).map(|mac| mac.to_u64()).collect()
}

/// The configured addresses of a bridge with their ports, of which an address can have several.
fn addresses(bridge: &BridgePlan) -> Vec<(u64, u16)> {
    let one = bridge.statics.iter().map(|e| (e.mac.to_u64(), e.port.get()));
    let several =
        bridge.spread.iter().flat_map(|e| e.ports.iter().map(|p| (e.mac.to_u64(), p.get())));
    one.chain(several).collect()
}

/// Returns the addresses that are behind several ports.
fn spreads(statics: &[(u64, u16)]) -> HashSet<u64> {
    let mut first = HashMap::new();
    // The first port of an address is remembered, and any other one makes it several.
    let several = |(mac, port): &(u64, u16)| *first.entry(*mac).or_insert(*port) != *port;
    statics.iter().copied().filter(several).map(|(mac, _)| mac).collect()
}

impl NodeFacts {
    fn new(plan: &crate::NodePlan) -> Self {
        let (cell, bridges, statics) = match &plan.kind {
            NodeKind::Switch(switch) => (
                switch.buffer.cell_bytes,
                // A router changes addresses, isolation changes the order, and a proxy keeps messages.
                switch.routing.interfaces.is_empty()
                    && switch.congestion.isolation.is_none()
                    && switch.congestion.proxy.is_none(),
                addresses(&switch.bridge),
            ),
            NodeKind::Host(host) => (0, false, vec![(host.mac.to_u64(), 0)]),
        };
        Self {
            name: plan.name().to_owned(),
            is_switch: matches!(plan.kind, NodeKind::Switch(_)),
            clock: plan.clock,
            out: vec![Direction(u32::MAX); plan.ports()],
            cell,
            takes_time: plan.cpu != CpuPlan::default(),
            stalls: vec![],
            bridges,
            speaks_as: speaks_as(&plan.kind),
            spreads: spreads(&statics),
            statics: statics.into(),
            is_defective: false,
            sends_ce: match &plan.kind {
                NodeKind::Switch(_) => true,
                // A generator sends any bytes that it is configured for.
                NodeKind::Host(host) => !host.tester.streams.is_empty(),
            },
        }
    }

    /// The ports behind which an address is, as far as they are configured: several of equal cost.
    pub(super) fn behind(&self, dst: u64) -> impl Iterator<Item = u16> + '_ {
        let is_first = move |(n, (mac, port)): (usize, &(u64, u16))| {
            let again = || self.statics[..n].contains(&(dst, *port));
            (*mac == dst && !again()).then_some(*port)
        };
        self.statics.iter().enumerate().filter_map(is_first)
    }

    /// True if no address has several ports, or this one has not.
    pub(super) fn is_single(&self, dst: u64) -> bool {
        !self.spreads.contains(&dst)
    }
}

impl PortFacts {
    /// True if a priority, or [`NONE`], is lossless here.
    pub(super) fn is_lossless(&self, priority: u8) -> bool {
        // Values that stand for no priority are beyond the set, and a plain shift would overflow.
        self.lossless.0.checked_shr(priority.into()).unwrap_or(0) & 1 == 1
    }

    fn new(plan: &NetworkPlan, direction: Direction) -> Self {
        let link = &plan.links[direction.link().index()];
        let End { node, port } = link.from(direction);
        let dir = if direction == direction.link().ab() { link.ab } else { link.ba };
        let [own, peer] = [link.from(direction), link.to(direction)]
            .map(|end| plan.nodes[end.node.index()].secy(end.port));
        let line = link.line.and(own.map_or(0, SecyPlan::line_overhead));
        let line = Line::new(link.rate, line);
        // Frames without protection arrive sooner, and no judgement depends on that.
        let shims = own.map(|secy| secy.tx_delay + peer.map_or(Duration::ZERO, |s| s.rx_delay));
        let delay = dir.delay + shims.unwrap_or(Duration::ZERO);
        let delay_least = dir.delay;
        let dir = DirectionPlan { delay, ..dir };
        let of_node = &plan.nodes[node.index()];
        let (own, mac) = match &of_node.kind {
            NodeKind::Switch(switch) => {
                let own = Self::of_switch(switch, port, dir, &line);
                let own = own.with_pauses(of_node.control_len, switch.max_frame, &line);
                (own, switch.ports[port.index()].mac)
            }
            NodeKind::Host(host) => (Self::of_host(host, dir, &line), host.mac),
        };
        Self { node, port, mac: mac.to_u64(), delay_least, ..own }
    }

    fn of_switch(switch: &SwitchPlan, port: PortId, dir: DirectionPlan, line: &Line) -> Self {
        let plan: &PortPlan = &switch.ports[port.index()];
        let groups: &[GroupPlan; PRIORITIES] = &switch.buffer.groups[port.index()];
        let (asks, obeys) = flow_control(plan.pfc.mode);
        let group = plan.classify.group.map(PriorityGroup::get);
        let class = plan.classify.class.map(TrafficClass::get);
        let is_lossless = |p: &Priority| {
            matches!(groups[usize::from(group[p.index()])].kind, GroupKind::Lossless { .. })
        };
        let grouped: PrioritySet = Priority::ALL.into_iter().filter(is_lossless).collect();
        let cell = u64::from(switch.buffer.cell_bytes);
        let headroom = groups.each_ref().map(|group| match group.kind {
            GroupKind::Lossless { headroom, .. } => u64::from(headroom.0) * cell,
            GroupKind::Lossy => 0,
        });
        // The queue of congesting flows is watched as the one that they come from.
        let congesting = congesting(switch);
        let watched = |action| {
            let found = plan.watchdog.iter().enumerate();
            let found = found.filter(|(_, dog)| dog.is_some_and(|dog| dog.action == action));
            found.fold(0, |set, (class, _)| set | 1 << class | 1 << congesting[class])
        };
        Self {
            name: format!("{}:{}", switch.name, plan.name),
            link_wide: matches!(plan.pfc.mode, FlowControl::Pause { .. }),
            proxied: switch.congestion.proxy.is_some(),
            asks,
            obeys,
            maps: Maps::of_switch(&plan.classify),
            group,
            class,
            former: [0; PRIORITIES],
            congesting,
            starving: starving(plan, &congesting),
            headroom,
            grouped,
            lossless: PrioritySet(grouped.0 & asks.0),
            forwards: watched(StormAction::Forward),
            flushes: watched(StormAction::Drop),
            marks: (0..)
                .zip(&plan.ecn)
                .fold(0, |set, (class, curve)| set | u8::from(curve.is_some()) << class),
            tagged: plan.vlan.members.iter().filter(|m| m.tagged).map(|m| m.vid.get()).collect(),
            pvid: plan.vlan.pvid.map_or(0, |vid| vid.get()),
            ..Self::plain(dir, line, switch.max_frame)
        }
    }

    fn of_host(plan: &StationPlan, dir: DirectionPlan, line: &Line) -> Self {
        // A host without flows sends only answers, which are short.
        let longest = plan.flows.iter().map(|flow| flow.size).max().unwrap_or(64);
        let (_, obeys) = flow_control(plan.flow_control);
        Self {
            name: plan.name.clone(),
            link_wide: matches!(plan.flow_control, FlowControl::Pause { .. }),
            obeys,
            lets: plan.tester.pause_delay.at(line.rate()),
            maps: Maps::of_host(plan),
            ..Self::plain(dir, line, longest)
        }
    }

    /// The same port with pauses of another length than that of the standard.
    fn with_pauses(self, len: Option<u32>, longest: u32, line: &Line) -> Self {
        let Some(pause) = len else { return self };
        let wait = wait(longest, pause.max(PAUSE), line);
        Self { pause, wait, ..self }
    }

    /// A port that knows its line and nothing more.
    fn plain(dir: DirectionPlan, line: &Line, longest: u32) -> Self {
        Self {
            node: NodeId(0),
            port: PortId::MIN,
            name: String::new(),
            rate: line.rate(),
            delay: dir.delay,
            mac: 0,
            delay_least: dir.delay,
            longest,
            overhead: line.octets(0) as u32,
            response: dir.response,
            pause: PAUSE,
            wait: wait(longest, PAUSE, line),
            link_wide: false,
            proxied: false,
            asks: PrioritySet::EMPTY,
            obeys: PrioritySet::EMPTY,
            lets: Duration::ZERO,
            maps: Maps::UNKNOWN,
            // Each priority by itself, where the plan tells no groups and classes.
            group: core::array::from_fn(|p| p as u8),
            class: core::array::from_fn(|p| p as u8),
            former: [0; PRIORITIES],
            congesting: core::array::from_fn(|class| class as u8),
            starving: 0,
            headroom: [0; PRIORITIES],
            grouped: PrioritySet::EMPTY,
            lossless: PrioritySet::EMPTY,
            forwards: 0,
            flushes: 0,
            marks: 0,
            tagged: vec![],
            pvid: 0,
        }
    }

    /// The bytes that arrive from `peer` in the shortest round trip, as frames of the longest kind: those
    /// on the line while a pause goes there and is responded to, with no frame in the way of anything.
    /// Less headroom cannot do. The bytes between frames take no buffer.
    pub(super) fn least_headroom(&self, peer: &Self) -> u64 {
        let time = self.delay_least + self.response + peer.delay_least;
        // Picoseconds times bits per second; `u128`, as the product has more than 64 bits.
        let bits = u128::from(time.as_picos()) * u128::from(peer.rate.get()) / 1_000_000_000_000;
        let frame = u128::from(self.longest);
        (bits / 8 * frame / (frame + u128::from(peer.overhead))) as u64
    }

    /// The time of a PFC frame on its line.
    pub(super) fn pause_time(&self) -> Duration {
        self.rate.time_for(Bytes(u64::from(self.pause + self.overhead)))
    }

    /// True if frames of a VLAN leave this port with a tag.
    pub(super) fn tags(&self, vid: u16) -> bool {
        self.tagged.contains(&vid)
    }

    /// The classes in which frames that came for `class` may be.
    pub(super) fn classes_of(&self, class: TrafficClass) -> impl Iterator<Item = TrafficClass> {
        let to = TrafficClass::ALL[usize::from(self.congesting[class.index()])];
        [Some(class), Some(to).filter(|to| *to != class)].into_iter().flatten()
    }

    /// The classes in which frames of a priority that arrive now may be: bit n for class n.
    pub(super) fn places_of(&self, priority: usize) -> u8 {
        let class = self.class[priority];
        1 << class | 1 << self.congesting[usize::from(class)]
    }

    /// The priorities that share a group.
    pub(super) fn of_group(&self, group: u8) -> PrioritySet {
        Priority::ALL.into_iter().filter(|p| self.group[p.index()] == group).collect()
    }
}

/// Bytes of a MAC control frame, FCS included.
const PAUSE: u32 = 64;

/// The time that a pause may have to wait for on a line: the longest frame and a few pauses.
fn wait(longest: u32, pause: u32, line: &Line) -> Duration {
    /// What MACsec adds to a pause.
    const PROTECTED: u32 = 32;
    const ROUNDING: Duration = Duration::from_nanos(10);
    let pauses = line.time_for(pause + PROTECTED).saturating_mul(3);
    let wait = line.time_for(longest + 4) + pauses;
    // Clocks are allowed to be off by far less than this.
    wait + wait.div(500) + ROUNDING
}

/// Returns the class that congesting flows of each class are moved to.
fn congesting(switch: &SwitchPlan) -> [u8; PRIORITIES] {
    let map = switch.congestion.isolation.as_ref().map(|isolation| isolation.machine.map);
    let to = |class| map.and_then(|map| map.congesting(class)).unwrap_or(class);
    TrafficClass::ALL.map(|class| to(class).get())
}

/// Returns the classes of a port that the flows isolated from them may starve, bit n for class n.
fn starving(plan: &PortPlan, congesting: &[u8; PRIORITIES]) -> u8 {
    let starves = |class: &TrafficClass| {
        // Where the isolated flows stay in their class, none is served before it.
        let first = TrafficClass::ALL[usize::from(congesting[class.index()])];
        first != *class && plan.schedule.starves(first, *class)
    };
    let classes = TrafficClass::ALL.into_iter().filter(starves);
    classes.fold(0, |set, class| set | 1 << class.get())
}

/// Returns the priorities that a port pauses its peer for, and those that it obeys.
fn flow_control(mode: FlowControl) -> (PrioritySet, PrioritySet) {
    let all = |on| if on { PrioritySet::ALL } else { PrioritySet::EMPTY };
    match mode {
        FlowControl::Off => (PrioritySet::EMPTY, PrioritySet::EMPTY),
        FlowControl::Pfc { send, obey } => (send, obey),
        FlowControl::Pause { send, obey } => (all(send), all(obey)),
    }
}
