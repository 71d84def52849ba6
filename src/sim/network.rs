//! The engine: takes the earliest event, shows the nodes what happened, and puts on the lines what
//! they send.

use super::error::NetworkError;
use super::frame::{VirtualFrame, VirtualPort};
use super::hash::TraceHash;
use super::plan::{
    CpuPlan, Direction, End, Fault, FaultKind, LinkId, NetworkPlan, NodeId, NodeKind, NodePlan,
};
use super::queue::{Class, Queue};
use super::wire::{Delivery, Wire};
use super::witness::{Loss, Notes, Witness};
use super::{ClockPlan, VirtualWorld};
use crate::congestion::Dice;
use crate::frame::Frame;
use crate::host::Station;
use crate::schedule::Line;
use crate::switch::{Change, Switch};
use crate::time::{Duration, Instant};
use crate::units::PortId;
use crate::world::Alone;

/// A node as a witness may look at it.
pub enum Node {
    /// A switch.
    Switch(Box<Switch<VirtualWorld>>),
    /// A host.
    Host(Box<Station<VirtualPort>>),
}

/// All nodes, by [`NodeId`].
pub struct Nodes(Vec<NodeState>);

/// A node and what the engine keeps of it.
struct NodeState {
    node: Node,
    clock: ClockPlan,
    cpu: CpuPlan,
    /// The directions that start at its ports.
    out: Vec<Direction>,
    /// The ports at which something has arrived, or whose deadline has come.
    due: Vec<PortId>,
    /// Whether it is among those that are ready.
    ready: bool,
    /// What has arrived since it was last polled.
    frames: u64,
    bytes: u64,
    /// Its processor has other work until then.
    busy_until: Instant,
}

/// How many of what happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Events taken from the queue.
    pub events: u64,
    /// Frames that started on a line.
    pub frames: u64,
    /// Those of them that were lost on the way.
    pub lost: u64,
    /// Polls of nodes.
    pub polls: u64,
}

/// Where each class of events has its slots; see [`Queue`] for the order.
#[derive(Clone, Copy, Debug)]
struct Slots {
    directions: u32,
    nodes: u32,
}

/// What an event is.
enum Event {
    Fault,
    Arrival(Direction),
    Wake(Direction),
    Node(NodeId),
    Sample,
}

/// A running network.
pub struct Network<W: Witness = ()> {
    nodes: Nodes,
    wires: Wires,
    /// By time, the next one last.
    faults: Vec<Fault>,
    ready: Vec<NodeId>,
    shuffle: Option<Dice>,
    sample_every: Option<Duration>,
    now: Instant,
    polls: u64,
    witness: W,
}

/// The lines and the queue: what a node's poll changes beside the node.
struct Wires {
    wires: Vec<Wire>,
    queue: Queue,
    slots: Slots,
    hash: TraceHash,
    tally: Tally,
    on_the_way: u64,
}

impl Slots {
    const FAULT: u32 = 0;

    const fn arrival(self, direction: Direction) -> u32 {
        1 + direction.0
    }
    const fn wake(self, direction: Direction) -> u32 {
        1 + self.directions + direction.0
    }
    const fn node(self, node: NodeId) -> u32 {
        1 + 2 * self.directions + node.0
    }
    const fn sample(self) -> u32 {
        1 + 2 * self.directions + self.nodes
    }
    const fn count(self) -> usize {
        self.sample() as usize + 1
    }

    #[inline]
    const fn event(self, slot: u32) -> Event {
        if slot == Self::FAULT {
            return Event::Fault;
        }
        let n = slot - 1;
        if n < self.directions {
            return Event::Arrival(Direction(n));
        }
        if n < 2 * self.directions {
            return Event::Wake(Direction(n - self.directions));
        }
        let n = n - 2 * self.directions;
        if n < self.nodes { Event::Node(NodeId(n)) } else { Event::Sample }
    }
}

impl Nodes {
    /// A node.
    ///
    /// # Panics
    /// If there is none of that number.
    pub fn get_mut(&mut self, id: NodeId) -> &mut Node {
        &mut self.0[id.index()].node
    }

    /// What a node's clock shows at the network's time `at`.
    #[must_use]
    pub fn local(&self, id: NodeId, at: Instant) -> Instant {
        self.0[id.index()].clock.local(at)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Wires {
    /// Puts a frame on its line, at `at`, when the sender's clock shows `local`.
    #[inline]
    fn send<W: Witness>(
        &mut self,
        at: Instant,
        local: Instant,
        clock: &ClockPlan,
        direction: Direction,
        mut frame: VirtualFrame,
        witness: &mut W,
    ) {
        frame.look();
        frame.touch();
        let wire = &mut self.wires[direction.index()];
        let time = wire.time_for(&frame);
        let end = if clock.is_exact() { at + time } else { clock.network(local + time) };
        self.hash.frame(at, direction, &frame);
        self.tally.frames += 1;
        witness.sent(at, direction, &frame, end);
        match wire.take(at, end, frame) {
            Ok(()) => {
                self.on_the_way += 1;
                let next = wire.next();
                self.queue.set(self.slots.arrival(direction), Class::Arrival, next);
            }
            Err((frame, cause)) => {
                self.tally.lost += 1;
                witness.lost(at, direction, &frame, cause);
            }
        }
    }
}

impl<W: Witness> Network<W> {
    /// A network in which nothing has happened yet.
    ///
    /// # Errors
    /// What contradicts itself in the plan.
    pub fn new(plan: &NetworkPlan, witness: W) -> Result<Self, NetworkError> {
        super::error::check(plan)?;
        let mut nodes = Vec::with_capacity(plan.nodes.len());
        for node in &plan.nodes {
            nodes.push(NodeState::new(node, W::NOTES)?);
        }
        let wires: Vec<Wire> = (0..plan.links.len() as u32)
            .flat_map(|n| [LinkId(n).ab(), LinkId(n).ba()])
            .map(|direction| wire(plan, direction))
            .collect();
        for (n, wire) in wires.iter().enumerate() {
            nodes[wire.from.node.index()].out[wire.from.port.index()] = Direction(n as u32);
        }
        let slots = Slots { directions: wires.len() as u32, nodes: nodes.len() as u32 };
        let mut queue = Queue::new(slots.count());
        for n in 0..slots.directions {
            queue.set(slots.wake(Direction(n)), Class::Timer, Instant::ZERO);
        }
        let mut faults = plan.faults.clone();
        // The sort is stable: faults at the same time happen in the order of the plan.
        faults.sort_by_key(|fault| fault.at);
        faults.reverse();
        queue.set(
            Slots::FAULT,
            Class::Fault,
            faults.last().map_or(Instant::NEVER, |fault| fault.at),
        );
        if plan.sample_every.is_some() {
            queue.set(slots.sample(), Class::Sample, Instant::ZERO);
        }
        let (hash, tally) = (TraceHash::default(), Tally::default());
        Ok(Self {
            nodes: Nodes(nodes),
            wires: Wires { wires, queue, slots, hash, tally, on_the_way: 0 },
            faults,
            ready: Vec::new(),
            shuffle: plan.shuffle.map(Dice::new),
            sample_every: plan.sample_every,
            now: Instant::ZERO,
            polls: 0,
            witness,
        })
    }

    /// Lets everything happen up to and at `limit`. In how many steps a time is reached makes no
    /// difference.
    pub fn run_until(&mut self, limit: Instant) {
        loop {
            let (at, _) = self.wires.queue.first();
            if at > limit || at == Instant::NEVER {
                break;
            }
            self.turn(at);
        }
        self.now = limit;
    }

    /// All that happens at one time.
    fn turn(&mut self, at: Instant) {
        debug_assert!(at >= self.now, "time runs forward");
        self.now = at;
        let mut sample = false;
        loop {
            let (first, slot) = self.wires.queue.first();
            if first != at {
                break;
            }
            self.wires.tally.events += 1;
            match self.wires.slots.event(slot) {
                Event::Arrival(direction) => self.arrive(at, direction),
                Event::Wake(direction) => {
                    let End { node, port } = self.wires.wires[direction.index()].from;
                    self.rouse(node, Some(port));
                    // What is polled below is given a new time, so that the last event of this
                    // time need not be taken out.
                    let is_polled = self.nodes.0[node.index()].busy_until <= at;
                    if is_polled && self.wires.queue.second_at() > at {
                        break;
                    }
                    self.wires.queue.set(slot, Class::Timer, Instant::NEVER);
                }
                Event::Node(node) => {
                    self.wires.queue.set(slot, Class::Timer, Instant::NEVER);
                    self.rouse(node, None);
                }
                Event::Fault => self.fail(at),
                Event::Sample => {
                    let every = self.sample_every.unwrap_or(Duration::MAX);
                    self.wires.queue.set(slot, Class::Sample, at.saturating_add(every));
                    sample = true;
                }
            }
        }
        self.poll_ready(at);
        if sample {
            self.witness.sampled(at, &mut self.nodes);
        }
    }

    /// Takes note that a node has something to do.
    #[inline]
    fn rouse(&mut self, id: NodeId, port: Option<PortId>) {
        let node = &mut self.nodes.0[id.index()];
        if let Some(port) = port {
            if !node.due.contains(&port) {
                node.due.push(port);
            }
        }
        if !node.ready {
            node.ready = true;
            self.ready.push(id);
        }
    }

    /// Gives a node what has arrived for it.
    #[inline]
    fn arrive(&mut self, at: Instant, direction: Direction) {
        let wire = &mut self.wires.wires[direction.index()];
        let id = wire.to.node;
        let state = &mut self.nodes.0[id.index()];
        while let Some(frame) = wire.arrival(at) {
            self.wires.on_the_way -= 1;
            if frame.is_damaged() && wire.notices_damage(&frame) {
                self.wires.tally.lost += 1;
                self.witness.lost(at, direction, &frame, Loss::Damaged);
                continue;
            }
            self.witness.arrived(at, direction, &frame);
            state.frames += 1;
            state.bytes += u64::from(frame.wire_len());
            state.port_mut(wire.port()).deliver(frame);
        }
        let (next, port) = (wire.next(), wire.port());
        self.wires.queue.set(self.wires.slots.arrival(direction), Class::Arrival, next);
        self.rouse(id, Some(port));
    }

    /// Polls the nodes that have something to do, in the order in which it happened to them. What
    /// a node sends does not reach another at the same time, as every frame takes some.
    #[inline]
    fn poll_ready(&mut self, at: Instant) {
        let mut ready = core::mem::take(&mut self.ready);
        if let Some(dice) = &mut self.shuffle {
            shuffle(dice, &mut ready);
        }
        for id in ready.drain(..) {
            self.poll(at, id);
        }
        self.ready = ready;
    }

    /// Shows one node what has arrived and which deadlines have come.
    #[inline]
    fn poll(&mut self, at: Instant, id: NodeId) {
        let Self { nodes, wires, witness, shuffle: dice, polls, .. } = self;
        let state = &mut nodes.0[id.index()];
        state.ready = false;
        if at < state.busy_until {
            wires.queue.set(wires.slots.node(id), Class::Timer, state.busy_until);
            return;
        }
        *polls += 1;
        let NodeState { node, clock, out, due, .. } = state;
        if let Some(dice) = dice {
            shuffle(dice, due);
        }
        let local = clock.local(at);
        let later = |deadline: Instant| {
            assert!(deadline > local, "a deadline that has passed was met, node {id:?} at {at:?}");
            clock.network(deadline)
        };
        match node {
            Node::Switch(switch) => {
                let whole = switch.poll_ports(local, due, |port, deadline, sent| {
                    let direction = out[port.index()];
                    for frame in sent.take_sent() {
                        wires.send(at, local, clock, direction, frame, witness);
                    }
                    wires.queue.set(wires.slots.wake(direction), Class::Timer, later(deadline));
                });
                wires.queue.set(wires.slots.node(id), Class::Timer, later(whole));
                for note in switch.events_mut().taken.drain(..) {
                    witness.noted(at, id, &note);
                }
            }
            Node::Host(station) => {
                let deadline = loop {
                    let next = station.poll(local);
                    if next.deadline > local || !next.progressed {
                        break next.deadline;
                    }
                };
                for frame in station.port_mut().take_sent() {
                    wires.send(at, local, clock, out[0], frame, witness);
                }
                wires.queue.set(wires.slots.wake(out[0]), Class::Timer, later(deadline));
            }
        }
        due.clear();
        state.work(at);
    }

    /// Lets the faults happen whose time has come.
    fn fail(&mut self, at: Instant) {
        while self.faults.last().is_some_and(|fault| fault.at <= at) {
            let Some(fault) = self.faults.pop() else { break };
            match fault.kind {
                FaultKind::Link { link, up } => self.set_link(at, link, up),
                FaultKind::Lose { direction, which, frames } => {
                    self.wires.wires[direction.index()].set_loss(which, frames);
                }
                FaultKind::Errors { direction, errors } => {
                    self.wires.wires[direction.index()].set_errors(errors);
                }
                FaultKind::Stall { node, span } => {
                    let until = &mut self.nodes.0[node.index()].busy_until;
                    *until = (*until).max(at) + span;
                }
                FaultKind::Change { node, change } => self.change(at, node, change),
            }
        }
        let next = self.faults.last().map_or(Instant::NEVER, |fault| fault.at);
        self.wires.queue.set(Slots::FAULT, Class::Fault, next);
    }

    /// A link goes down, with what is on it, or comes up.
    fn set_link(&mut self, at: Instant, link: LinkId, up: bool) {
        self.witness.link(at, link, up);
        for direction in [link.ab(), link.ba()] {
            let wire = &mut self.wires.wires[direction.index()];
            wire.up = up;
            let End { node, port } = wire.from;
            for frame in wire.clear() {
                self.wires.on_the_way -= 1;
                self.wires.tally.lost += 1;
                self.witness.lost(at, direction, &frame, Loss::LinkDown);
            }
            self.wires.queue.set(
                self.wires.slots.arrival(direction),
                Class::Arrival,
                Instant::NEVER,
            );
            let state = &mut self.nodes.0[node.index()];
            if let Node::Host(station) = &mut state.node {
                station.set_link(state.clock.local(at), up, None);
                self.rouse(node, Some(port));
            } else {
                self.change(at, node, Change::Link { port, up, rate: None });
            }
        }
    }

    /// Changes a switch. What is refused is refused: the plan's maker has checked it.
    fn change(&mut self, at: Instant, id: NodeId, change: Change) {
        let state = &mut self.nodes.0[id.index()];
        let local = state.clock.local(at);
        let Node::Switch(switch) = &mut state.node else { return };
        if let Err(error) = switch.apply(local, change) {
            panic!("a planned change was refused at {at:?}: {error}");
        }
        for port in 0..state.out.len() {
            let port = PortId::new(port as u16).expect("a switch has no more ports than ids");
            self.rouse(id, Some(port));
        }
    }

    /// The network's time.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// Whether nothing will ever happen again but the switches' own housekeeping: no frame is on
    /// its way or held by a switch, no host has anything to send, and no fault is to come.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.wires.on_the_way == 0
            && self.faults.is_empty()
            && self.nodes.0.iter().all(|state| match &state.node {
                Node::Switch(switch) => switch.held() == 0,
                Node::Host(station) => station.is_done(),
            })
    }

    /// Frames on all lines.
    #[must_use]
    pub const fn on_the_way(&self) -> u64 {
        self.wires.on_the_way
    }

    /// Frames on one direction of a link.
    #[must_use]
    pub fn in_flight(&self, direction: Direction) -> usize {
        self.wires.wires[direction.index()].in_flight()
    }

    /// What identifies all that has happened: equal for equal plans, on every machine.
    #[must_use]
    pub const fn trace_hash(&self) -> u64 {
        self.wires.hash.value()
    }

    /// How much has happened.
    #[must_use]
    pub const fn tally(&self) -> Tally {
        Tally { polls: self.polls, ..self.wires.tally }
    }

    /// The nodes, to look at.
    pub const fn nodes_mut(&mut self) -> &mut Nodes {
        &mut self.nodes
    }

    /// Who watches.
    pub const fn witness_mut(&mut self) -> &mut W {
        &mut self.witness
    }

    /// Witness and nodes, for a last look.
    pub fn finish(self) -> (W, Nodes) {
        (self.witness, self.nodes)
    }
}

impl NodeState {
    fn new(plan: &NodePlan, notes: bool) -> Result<Self, NetworkError> {
        let port = || VirtualPort::new(plan.control_len);
        let node = match &plan.kind {
            NodeKind::Switch(switch) => {
                let ids = (0..switch.ports.len() as u16).filter_map(PortId::new);
                let ports = ids.map(|id| (id, port())).collect();
                let watch = Notes { enabled: notes, ..Notes::default() };
                Node::Switch(Box::new(Switch::new(switch, ports, Alone::default(), watch)?))
            }
            NodeKind::Host(host) => Node::Host(Box::new(Station::new(host, port())?)),
        };
        Ok(Self {
            node,
            clock: plan.clock,
            cpu: plan.cpu,
            out: vec![Direction(u32::MAX); plan.ports()],
            due: Vec::new(),
            ready: false,
            frames: 0,
            bytes: 0,
            busy_until: Instant::ZERO,
        })
    }

    #[inline]
    fn port_mut(&mut self, id: PortId) -> &mut VirtualPort {
        match &mut self.node {
            Node::Host(station) => station.port_mut(),
            Node::Switch(switch) => switch.port_mut(id).expect("a wire ends at a port"),
        }
    }

    /// Takes note of what a poll took the processor.
    #[inline]
    fn work(&mut self, at: Instant) {
        let (frames, bytes) = (core::mem::take(&mut self.frames), core::mem::take(&mut self.bytes));
        if self.cpu != CpuPlan::default() {
            let per_frame = self.cpu.frame.saturating_mul(frames);
            self.busy_until = at + self.cpu.poll + per_frame + self.cpu.byte.saturating_mul(bytes);
        }
    }
}

/// One direction, as planned.
fn wire(plan: &NetworkPlan, direction: Direction) -> Wire {
    let link = &plan.links[direction.link().index()];
    let to = link.to(direction);
    let towards = &plan.nodes[to.node.index()];
    let fastest = (0..towards.ports() as u16)
        .filter_map(|n| towards.line(PortId::new(n)?))
        .max_by_key(|(rate, ..)| rate.get());
    let delivery = match fastest {
        Some((rate, line, _)) if towards.cut_through => Delivery::CutThrough(Line::new(rate, line)),
        _ => Delivery::Stored,
    };
    let dir = if direction.0 % 2 == 0 { link.ab } else { link.ba };
    let seed = plan.seed ^ (u64::from(direction.0) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    Wire::new(Line::new(link.rate, link.line), dir, (link.from(direction), to), delivery, seed)
}

/// Fisher and Yates.
fn shuffle<T>(dice: &mut Dice, items: &mut [T]) {
    for n in (1..items.len()).rev() {
        items.swap(n, (dice.draw() % (n as u64 + 1)) as usize);
    }
}
