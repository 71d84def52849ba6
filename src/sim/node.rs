//! The nodes with their clocks, and the engine's state of each.

use super::frame::VirtualFrame;
use super::plan::{CpuPlan, NetworkError, NodeId, NodeKind, NodePlan, Place};
use super::port::VirtualPort;
use super::queue::{Queue, Slots};
use super::wire::{Inlet, Outlet};
use super::witness::Notes;
use contracts::world::{Alone, World};
use ground::rand::Rng;
use ground::time::{Duration, Instant};
use ground::units::PortId;
use host::Station;
use secure::SecyPlan;
use switch::{Reconciler, Switch};

/// The world of a switch in a virtual network.
#[derive(Debug)]
pub enum VirtualWorld {}

impl World for VirtualWorld {
    type Frame = VirtualFrame;
    type Port = VirtualPort;
    type Events = Notes;
    type Handoff = Alone;
}

/// A node, accessible to witnesses.
pub enum Node {
    Switch(Box<Switch<VirtualWorld>>),
    Host(Box<Station<VirtualPort>>),
}

/// All nodes, by [`NodeId`].
pub struct Nodes {
    /// By part, in the order of their numbers.
    pub(super) parts: Vec<Vec<NodeState>>,
    /// By node.
    places: Vec<Place>,
}

/// A node and the engine's state of it.
pub(super) struct NodeState {
    pub(super) id: NodeId,
    pub(super) node: Node,
    /// Times of the node's next events: arrivals, polls of ports, defects.
    pub(super) queue: Queue,
    /// By port: the line that starts there.
    pub(super) outlets: Vec<Outlet>,
    /// By port: the line that ends there.
    pub(super) inlets: Vec<Inlet>,
    /// Reconciliation of the results of link protocols, if it is a switch with link protocols.
    pub(super) reconciler: Option<Box<Reconciler>>,
    pub(super) clock: ClockPlan,
    pub(super) cpu: CpuPlan,
    /// Ports at which frames have arrived, or whose deadline has come.
    pub(super) due: Vec<PortId>,
    /// Arrivals of one time, empty between turns.
    pub(super) tied: Vec<u64>,
    /// Random order of the ports that are due, if planned.
    pub(super) shuffle: Option<Rng>,
    /// Frames and bytes arrived since its last poll.
    pub(super) frames: u64,
    pub(super) bytes: u64,
    /// Time until which its processor is busy.
    pub(super) busy_until: Instant,
    /// Time until which it receives nothing, because it is being reset.
    pub(super) down_until: Instant,
    /// True if an event waits for that.
    pub(super) held_up: bool,
    /// True if a port has a defect.
    pub(super) has_defects: bool,
    /// Frames that defects send or deliver later.
    pub(super) held: usize,
}

impl Nodes {
    /// Creates one part of nodes in the order of their numbers.
    pub(super) fn new(nodes: Vec<NodeState>) -> Self {
        let places = (0..nodes.len() as u32).map(|index| Place { part: 0, index }).collect();
        Self { parts: vec![nodes], places }
    }

    /// Divides the nodes of one part into `parts`; `part_of` returns the part of each.
    pub(super) fn divide(&mut self, parts: usize, part_of: impl Fn(NodeId) -> u32) {
        let nodes = core::mem::take(&mut self.parts);
        self.parts.resize_with(parts, Vec::new);
        for state in nodes.into_iter().flatten() {
            let part = part_of(state.id);
            let to = &mut self.parts[part as usize];
            self.places[state.id.index()] = Place { part, index: to.len() as u32 };
            // By rising numbers: simultaneous events of different nodes are handled in this order.
            to.push(state);
        }
        // Lines know their receivers by part and index, which have changed.
        self.address();
    }

    /// Makes one part of all.
    pub(super) fn unite(&mut self) {
        let mut nodes: Vec<NodeState> = self.parts.drain(..).flatten().collect();
        nodes.sort_unstable_by_key(|state| state.id);
        *self = Self::new(nodes);
        self.address();
    }

    /// Gives all lines the places of their receivers.
    fn address(&mut self) {
        let Self { parts, places } = self;
        for outlet in parts.iter_mut().flatten().flat_map(|state| &mut state.outlets) {
            outlet.place = places[outlet.to.node.index()];
        }
    }

    /// Place of a node.
    pub(super) fn place(&self, id: NodeId) -> Place {
        self.places[id.index()]
    }

    pub(super) fn state(&self, id: NodeId) -> &NodeState {
        let Place { part, index } = self.place(id);
        &self.parts[part as usize][index as usize]
    }

    pub(super) fn state_mut(&mut self, id: NodeId) -> &mut NodeState {
        let Place { part, index } = self.place(id);
        &mut self.parts[part as usize][index as usize]
    }

    /// All nodes, part by part.
    pub(super) fn all(&self) -> impl Iterator<Item = &NodeState> {
        self.parts.iter().flatten()
    }

    pub(super) fn all_mut(&mut self) -> impl Iterator<Item = &mut NodeState> {
        self.parts.iter_mut().flatten()
    }

    /// Returns a node.
    ///
    /// # Panics
    /// If there is none of that number.
    pub fn get_mut(&mut self, id: NodeId) -> &mut Node {
        &mut self.state_mut(id).node
    }

    /// Returns the reconciliation state of a switch.
    pub fn reconciler(&self, id: NodeId) -> Option<&Reconciler> {
        self.state(id).reconciler.as_deref()
    }

    /// Returns the value of a node's clock at the network's time `at`.
    pub fn local(&self, id: NodeId, time: Instant) -> Instant {
        self.state(id).clock.local(time)
    }

    pub fn len(&self) -> usize {
        self.places.len()
    }

    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }
}

impl NodeState {
    /// Creates a node without its lines.
    pub(super) fn new(id: NodeId, plan: &NodePlan, notes: bool) -> Result<Self, NetworkError> {
        let port = |secy: &Option<Box<SecyPlan>>, flow_control| {
            let refused = |source| NetworkError::Secy { node: plan.name().to_owned(), source };
            VirtualPort::new(plan.control_len, secy.as_deref(), flow_control).map_err(refused)
        };
        let reconciler = match &plan.kind {
            // Only a switch with link protocols has results that change its configuration.
            NodeKind::Switch(switch) => Reconciler::new(switch).map(Box::new),
            NodeKind::Host(_) => None,
        };
        let node = match &plan.kind {
            NodeKind::Switch(switch) => {
                let ids = (0..).map_while(PortId::new).zip(&switch.ports);
                let ports = ids.map(|(id, plan)| Ok((id, port(&plan.secy, plan.pfc.mode)?)));
                let ports = ports.collect::<Result<_, NetworkError>>()?;
                // A witness that reads no notes pays one comparison for each.
                let watch = Notes { enabled: notes, ..Notes::default() };
                Node::Switch(Box::new(Switch::new(switch, ports, Alone::default(), watch)?))
            }
            NodeKind::Host(host) => {
                let port = port(&host.secy, host.flow_control)?;
                Node::Host(Box::new(Station::new(host, port)?))
            }
        };
        Ok(Self {
            id,
            node,
            queue: Queue::new(Slots::new(plan.ports()).count()),
            outlets: Vec::new(),
            inlets: Vec::new(),
            reconciler,
            clock: plan.clock,
            cpu: plan.cpu,
            due: Vec::new(),
            tied: Vec::new(),
            shuffle: None,
            frames: 0,
            bytes: 0,
            busy_until: Instant::ZERO,
            down_until: Instant::ZERO,
            held_up: false,
            has_defects: false,
            held: 0,
        })
    }

    /// Slots of the queue: the kinds of events, each with its port.
    #[inline]
    pub(super) fn slots(&self) -> Slots {
        Slots::new(self.outlets.len())
    }

    /// Iterates over its ports.
    pub(super) fn ports(&self) -> impl Iterator<Item = PortId> + Clone + use<> {
        (0..self.outlets.len() as u16).map_while(PortId::new)
    }

    /// Marks a port as due.
    #[inline]
    pub(super) fn add_due(&mut self, port: PortId) {
        // A port may be due for an arrival and for its deadline at one time, and is polled once.
        if !self.due.contains(&port) {
            self.due.push(port);
        }
    }

    #[inline]
    pub(super) fn port_mut(&mut self, id: PortId) -> &mut VirtualPort {
        match &mut self.node {
            Node::Host(station) => station.port_mut(),
            Node::Switch(switch) => switch.port_mut(id).expect("a wire ends at a port"),
        }
    }

    /// Makes the processor busy for the time of a poll.
    #[inline]
    pub(super) fn work(&mut self, time: Instant) {
        let (frames, bytes) = (core::mem::take(&mut self.frames), core::mem::take(&mut self.bytes));
        // The hardware of a switch takes no time, and then its node is never busy.
        if self.cpu != CpuPlan::default() {
            let per_frame = self.cpu.frame.saturating_mul(frames);
            self.busy_until =
                time + self.cpu.poll + per_frame + self.cpu.byte.saturating_mul(bytes);
        }
    }
}

/// Relation of a node's clock to the network's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClockPlan {
    /// Clock value at the network's time 0.
    pub offset: Duration,
    /// Drift in parts per thousand million; positive is faster. Ethernet allows 100,000 (100 ppm).
    /// More than -500,000,000 and less than 500,000,000.
    pub drift_ppb: i32,
}

/// Unit of a drift.
const PARTS: u64 = 1_000_000_000;

impl ClockPlan {
    /// Returns true if the clock equals the network's.
    #[inline]
    pub const fn is_exact(&self) -> bool {
        self.offset.as_picos() == 0 && self.drift_ppb == 0
    }

    /// Returns the clock value at the network's time `at`.
    #[inline(always)]
    pub fn local(&self, time: Instant) -> Instant {
        if self.is_exact() || time == Instant::NEVER { time } else { self.shown(time) }
    }

    fn shown(&self, time: Instant) -> Instant {
        let time = time.as_picos() as i128;
        // Floor division, for either sign of the drift: the clock never runs backwards.
        let gained = match u64::try_from(time) {
            // Whole units and the rest fit into words each, whose division takes fewer instructions.
            Ok(time) => {
                let (whole, rest) = ((time / PARTS) as i64, (time % PARTS) as i64);
                let drift = i64::from(self.drift_ppb);
                i128::from(whole) * i128::from(drift)
                    + i128::from((rest * drift).div_euclid(PARTS as i64))
            }
            Err(_) => (time * i128::from(self.drift_ppb)).div_euclid(i128::from(PARTS)),
        };
        to_instant(time + gained + i128::from(self.offset.as_picos()))
    }

    /// Returns the first time of the network at which the clock shows `shown` or more.
    #[inline(always)]
    pub fn network(&self, shown: Instant) -> Instant {
        if self.is_exact() || shown == Instant::NEVER { shown } else { self.found(shown) }
    }

    fn found(&self, shown: Instant) -> Instant {
        let since = shown.as_picos() as i128 - i128::from(self.offset.as_picos());
        // A clock that counts this many parts while the network counts `PARTS`.
        let counted = (PARTS as i64 + i64::from(self.drift_ppb)) as u64;
        let mut at = match u64::try_from(since) {
            // As above: both products fit into words.
            Ok(since) => {
                let (whole, rest) = (since / counted, since % counted);
                i128::from(whole) * i128::from(PARTS) + i128::from(rest * PARTS / counted)
            }
            Err(_) => (since * i128::from(PARTS)).div_euclid(counted.into()).max(0),
        };
        // The two roundings together are off by one or two picoseconds, never by more.
        while at > 0 && self.local(to_instant(at - 1)) >= shown {
            at -= 1;
        }
        while self.local(to_instant(at)) < shown {
            at += 1;
        }
        to_instant(at)
    }
}

fn to_instant(ps: i128) -> Instant {
    u128::try_from(ps).map_or(Instant::NEVER, Instant::from_picos)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_hundred_ppm_are_a_hundred_nanoseconds_in_a_millisecond() {
        let clock = ClockPlan { offset: Duration::from_micros(5), drift_ppb: -100_000 };
        let shown = clock.local(Instant::ZERO + Duration::from_millis(1));
        assert_eq!(shown.as_picos(), 1_000_000_000 + 5_000_000 - 100_000);
    }

    proptest! {
        #[test]
        fn words_show_what_the_whole_product_shows(
            offset in any::<u32>(),
            drift_ppb in -499_999_999_i32..500_000_000,
            time in prop_oneof![0_u128..1 << 66, Just(u64::MAX.into()), Just(1 << 64)],
        ) {
            let clock = ClockPlan { offset: Duration::from_picos(offset.into()), drift_ppb };
            let product = time as i128 * i128::from(drift_ppb);
            let shown = time as i128 + product.div_euclid(1_000_000_000) + i128::from(offset);
            prop_assert_eq!(clock.local(Instant::from_picos(time)), Instant::from_picos(shown as u128));
        }

        #[test]
        fn a_deadline_is_met_as_soon_as_the_clock_shows_it(
            offset in 0_u64..1_000_000_000_000,
            drift_ppb in -400_000_000_i32..400_000_000,
            shown in prop_oneof![0_u128..1_000_000_000_000_000, 0_u128..1 << 66],
        ) {
            let clock = ClockPlan { offset: Duration::from_picos(offset), drift_ppb };
            let shown = Instant::from_picos(shown);
            let at = clock.network(shown);
            prop_assert!(clock.local(at) >= shown);
            if at > Instant::ZERO {
                let before = Instant::from_picos(at.as_picos() - 1);
                prop_assert!(clock.local(before) < shown);
            }
        }
    }
}
