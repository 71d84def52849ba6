//! The engine: takes the nodes with the earliest events, polls them, and puts their frames on the
//! lines.
//!
//! Nothing that a node sends arrives before the lookahead has passed, the shortest delay of all
//! lines. So all events in a window of that length are handled node by node: the state of a node is in
//! the caches for all of them. Faults and samples end a window. A witness that needs the order of
//! time gets windows of one time.

mod defects;

use super::error::NetworkError;
use super::faults::{Fault, FaultKind};
use super::frame::VirtualFrame;
use super::ids::{Direction, LinkId, NodeId};
use super::node::{Node, NodeState, Nodes, VirtualWorld};
use super::notes::Loss;
use super::plan::{End, NetworkPlan};
use super::port::VirtualPort;
use super::queue::Order;
use super::wire::Wire;
use super::wires::{Event, Slots, Tally, Wires};
use super::witness::Witness;
use contracts::frame::Frame;
use ground::rand::Rng;
use ground::time::{Duration, Instant};
use ground::units::PortId;
use switch::{Change, Refused, Switch};

/// Delay after which a planned change that frames in the buffer prevent is tried again.
pub const RETRY_AFTER: Duration = Duration::from_micros(1);

/// A running network.
pub struct Network<W: Witness = ()> {
    pub(super) nodes: Nodes,
    pub(super) wires: Wires,
    /// Nodes whose events are being handled; empty between windows.
    due: Vec<u32>,
    /// Sorted by time, the next one last.
    faults: Vec<Fault>,
    sample_every: Option<Duration>,
    sample_at: Instant,
    now: Instant,
    polls: u64,
    refusals: Vec<Refusal>,
    pub(super) witness: W,
}

/// A planned change that a switch refused for good.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    pub at: Instant,
    pub node: NodeId,
    /// Reason, as the switch gives it.
    pub why: String,
}

impl<W: Witness> Network<W> {
    /// Creates a network at its start.
    ///
    /// # Errors
    /// A contradiction in the plan.
    pub fn new(plan: &NetworkPlan, witness: W) -> Result<Self, NetworkError> {
        plan.check()?;
        let mut nodes = Vec::with_capacity(plan.nodes.len());
        for node in &plan.nodes {
            let shuffle = plan.shuffle.map(|seed| shuffler(seed, nodes.len()));
            nodes.push(NodeState { shuffle, ..NodeState::new(node, W::NOTES)? });
        }
        let wires = Wires::new(plan);
        for (n, wire) in wires.wires.iter().enumerate() {
            nodes[wire.from.node.index()].out[wire.from.port.index()] = Direction(n as u32);
        }
        let mut faults = plan.faults.clone();
        // The sort is stable: simultaneous faults happen in the order of the plan.
        faults.sort_by_key(|fault| fault.at);
        faults.reverse();
        Ok(Self {
            nodes: Nodes(nodes),
            wires,
            due: Vec::new(),
            faults,
            sample_every: plan.sample_every,
            sample_at: plan.sample_every.map_or(Instant::NEVER, |_| Instant::ZERO),
            now: Instant::ZERO,
            polls: 0,
            refusals: Vec::new(),
            witness,
        })
    }

    /// Makes the receiver's `SecY` validate pauses when they are obeyed, instead of at their last
    /// bit: a planted bug.
    #[cfg(any(test, feature = "rig"))]
    pub fn validate_pauses_late(&mut self) {
        self.wires.wires.iter_mut().for_each(Wire::validate_late);
    }

    /// Makes windows longer than the shortest delay of all lines: a planted bug.
    #[cfg(test)]
    pub(super) fn widen_windows(&mut self) {
        self.wires.lookahead = self.wires.lookahead.saturating_mul(2);
    }

    /// Runs up to and including `limit`. The number of steps to reach a time makes no difference.
    pub fn run_until(&mut self, limit: Instant) {
        loop {
            let (fault, event) = (self.fault_at(), self.wires.agenda.first().0);
            let at = event.min(fault).min(self.sample_at);
            if at > limit || at == Instant::NEVER {
                break;
            }
            debug_assert!(at >= self.now, "time runs forward");
            self.now = at;
            if at == fault {
                self.fail(at);
            } else if at == event {
                let after = |at: Instant| at.saturating_add(Duration::from_picos(1));
                let whole = after(limit).min(after(self.sample_at)).min(fault);
                let window = match self.witness.is_ordered() {
                    true => after(at),
                    false => at.saturating_add(self.wires.lookahead),
                };
                self.run_window(window.min(whole));
            } else {
                self.witness.sampled(at, &mut self.nodes);
                self.sample_at = self.next_sample(at);
            }
        }
        self.now = limit;
    }

    /// Time of the next fault.
    fn fault_at(&self) -> Instant {
        self.faults.last().map_or(Instant::NEVER, |fault| fault.at)
    }

    /// Handles all events before `end`, node by node in the order of their numbers, so that simultaneous
    /// events of different nodes have one order in any division of time. No node sends another anything
    /// that arrives before then.
    fn run_window(&mut self, end: Instant) {
        self.wires.horizon = end;
        let mut due = core::mem::take(&mut self.due);
        loop {
            let (at, node) = self.wires.agenda.first();
            if at >= end {
                break;
            }
            due.push(node);
            self.wires.agenda.set(node, Order::LAST, Instant::NEVER);
        }
        due.sort_unstable();
        for node in due.drain(..) {
            let next = self.run_node(NodeId(node), end);
            self.wires.agenda.set(node, Order::LAST, next);
        }
        self.due = due;
    }

    /// Handles the events of a node before `end`; returns the time of its next one.
    #[inline]
    fn run_node(&mut self, id: NodeId, end: Instant) -> Instant {
        loop {
            let (at, _) = self.wires.queues[id.index()].first();
            if at >= end {
                return at;
            }
            self.turn(at, id);
        }
    }

    /// Handles all events of a node at one time.
    #[inline]
    fn turn(&mut self, at: Instant, id: NodeId) {
        let slots = Slots::new(self.nodes.0[id.index()].out.len());
        let (mut ready, mut turn) = (false, 0);
        loop {
            let queue = &mut self.wires.queues[id.index()];
            let (first, slot) = queue.first();
            if first != at {
                break;
            }
            self.wires.tally.events += 1;
            match slots.event(slot) {
                Event::Arrival(port) => {
                    self.arrive(at, id, port, turn);
                    turn += 1;
                    ready = true;
                }
                Event::Wake(port) => {
                    let state = &mut self.nodes.0[id.index()];
                    state.add_due(port);
                    ready = true;
                    // The poll sets the time of a port that is due, so the last event of this time
                    // need not be removed.
                    if state.busy_until <= at && queue.second_at() > at {
                        break;
                    }
                    queue.set(slot, Order::LAST, Instant::NEVER);
                }
                Event::Node => {
                    queue.set(slot, Order::LAST, Instant::NEVER);
                    ready = true;
                }
                Event::Defect(port) => {
                    queue.set(slot, Order::LAST, Instant::NEVER);
                    ready |= self.defect(at, id, port);
                }
            }
        }
        if ready {
            self.poll(at, id);
        }
    }

    /// Returns the time of the sample after one at `at`: a multiple of `sample_every`. While the
    /// network is empty a sample equals the last one, so those before the next event are skipped. A
    /// held frame keeps them, as pauses end and deadlocks begin by time alone.
    fn next_sample(&self, at: Instant) -> Instant {
        let Some(every) = self.sample_every else { return Instant::NEVER };
        let next = at.saturating_add(every);
        let event = self.wires.agenda.first().0.min(self.fault_at());
        if event <= next || !self.is_empty() {
            return next;
        }
        let steps = event.since(at).as_picos().div_ceil(every.as_picos());
        at.saturating_add(every.saturating_mul(steps))
    }

    /// True if no frame is on a line or held by a switch.
    fn is_empty(&self) -> bool {
        self.wires.on_the_way == 0
            && self.nodes.0.iter().all(|state| match &state.node {
                Node::Switch(switch) => switch.held() == 0,
                Node::Host(_) => true,
            })
    }

    /// Marks a port as due at this time, which all nodes have reached: for faults.
    fn rouse(&mut self, at: Instant, id: NodeId, port: PortId) {
        let state = &mut self.nodes.0[id.index()];
        state.add_due(port);
        self.wires.schedule(id, Slots::new(state.out.len()).node(), at);
    }

    /// Delivers arrived frames to a port, the `turn`th of the node's ports at this time.
    #[inline]
    fn arrive(&mut self, at: Instant, id: NodeId, port: PortId, turn: u32) {
        let state = &mut self.nodes.0[id.index()];
        let direction = state.out[port.index()].reverse();
        let wire = &mut self.wires.wires[direction.index()];
        let is_switch = matches!(state.node, Node::Switch(_));
        let refusal = |frame: &mut VirtualFrame, wire: &Wire, port: &mut VirtualPort| {
            if frame.is_damaged() && wire.notices_damage(frame) || is_switch && frame.is_short() {
                return Some(Loss::Damaged);
            }
            (!port.admits(frame)).then_some(Loss::Secy)
        };
        // Packet numbers are in the order of last bits, so pauses are validated with the data among
        // which they arrive, however long their receiver takes to respond.
        wire.handled(at, turn);
        while let Some(mut pause) = wire.next_unvalidated(at) {
            match refusal(&mut pause.frame, wire, state.port_mut(wire.port())) {
                None => wire.validated(pause),
                Some(cause) => {
                    let frame = pause.frame;
                    self.wires.on_the_way -= 1;
                    self.wires.tally.lost += 1;
                    self.witness.lost(at, direction, &frame, cause);
                }
            }
        }
        while let Some(mut frame) = wire.arrival(at) {
            self.wires.on_the_way -= 1;
            let is_validated = wire.validates() && frame.is_control();
            let refused = match is_validated {
                _ if at < state.down_until => Some(Loss::LinkDown),
                true => None,
                false => refusal(&mut frame, wire, state.port_mut(wire.port())),
            };
            if let Some(cause) = refused {
                self.wires.tally.lost += 1;
                self.witness.lost(at, direction, &frame, cause);
                continue;
            }
            self.witness.arrived(at, direction, &frame);
            state.frames += 1;
            state.bytes += u64::from(frame.wire_len());
            state.port_mut(wire.port()).deliver(at, frame);
        }
        let (next, order) = wire.next();
        self.wires.queues[id.index()].set(Slots::arrival(port), order, next);
        state.add_due(port);
        self.send_aside(at, id);
    }

    /// Polls one node for arrived frames and expired deadlines.
    #[inline]
    fn poll(&mut self, at: Instant, id: NodeId) {
        let Self { nodes, wires, witness, polls, .. } = self;
        let state = &mut nodes.0[id.index()];
        let slots = Slots::new(state.out.len());
        if at < state.busy_until {
            if !core::mem::replace(&mut state.held_up, true) {
                witness.held_up(at, id);
            }
            wires.queues[id.index()].set(slots.node(), Order::LAST, state.busy_until);
            return;
        }
        if core::mem::take(&mut state.held_up) {
            witness.caught_up(at, id);
        }
        *polls += 1;
        let NodeState { node, reconciler, clock, out, due, shuffle: rng, .. } = state;
        if let Some(rng) = rng {
            shuffle(rng, due);
        }
        let local = clock.local(at);
        let later = |deadline: Instant| {
            assert!(deadline > local, "a deadline that has passed was met, node {id:?} at {at:?}");
            clock.network(deadline)
        };
        match node {
            Node::Switch(switch) => {
                let mut poll = |switch: &mut Switch<VirtualWorld>, due: &[PortId]| {
                    switch.poll_ports(local, due, |port, deadline, sent| {
                        let direction = out[port.index()];
                        for frame in sent.take_sent(at) {
                            wires.send(at, local, clock, direction, frame, witness);
                        }
                        wires.queues[id.index()].set(
                            slots.wake(port),
                            Order::LAST,
                            later(deadline),
                        );
                    })
                };
                let mut whole = poll(switch, due);
                if let Some(reconciler) = reconciler {
                    while switch.has_news() || reconciler.next_deadline() <= local {
                        switch.reconcile(local, reconciler);
                        whole = poll(switch, &[]);
                    }
                    whole = whole.min(reconciler.next_deadline());
                }
                wires.queues[id.index()].set(slots.node(), Order::LAST, later(whole));
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
                for frame in station.port_mut().take_sent(at) {
                    wires.send(at, local, clock, out[0], frame, witness);
                }
                wires.queues[id.index()].set(slots.wake(PortId::MIN), Order::LAST, later(deadline));
            }
        }
        due.clear();
        state.work(at);
        self.send_aside(at, id);
    }

    /// Applies the faults whose time has come.
    fn fail(&mut self, at: Instant) {
        while self.faults.last().is_some_and(|fault| fault.at <= at) {
            let Some(fault) = self.faults.pop() else { break };
            match fault.kind {
                FaultKind::Link { link, up } => self.set_link(at, link, up),
                FaultKind::Line(direction, fault) => {
                    if let Some(octets) = self.wires.wires[direction.index()].fail(fault) {
                        self.forge(at, direction, &octets);
                    }
                }
                FaultKind::Stall { node, span } => {
                    let until = &mut self.nodes.0[node.index()].busy_until;
                    *until = (*until).max(at) + span;
                }
                FaultKind::Change { node, change } => self.change(at, node, change),
                FaultKind::Defect { end, defect } => self.add_defect(end, defect),
            }
        }
    }

    /// Delivers a forged frame at the end of a direction.
    fn forge(&mut self, at: Instant, direction: Direction, octets: &[u8]) {
        let wire = &self.wires.wires[direction.index()];
        if !wire.up || at < self.nodes.0[wire.to.node.index()].down_until {
            return;
        }
        let End { node, port } = wire.to;
        let mut frame = VirtualFrame::whole(octets);
        self.wires.hash.frame(at, direction, &frame);
        let state = &mut self.nodes.0[node.index()];
        if !state.port_mut(port).admits(&mut frame) {
            return self.witness.fended_off(at, direction, &frame);
        }
        // The content, without protection.
        frame.open();
        self.witness.forged(at, direction, &frame);
        state.frames += 1;
        state.bytes += u64::from(frame.wire_len());
        state.port_mut(port).deliver(at, frame);
        self.rouse(at, node, port);
        self.send_aside(at, node);
    }

    /// Takes a link down, with the frames on it, or up. No effect if it is in that state already.
    fn set_link(&mut self, at: Instant, link: LinkId, up: bool) {
        if self.wires.wires[link.ab().index()].up == up {
            return;
        }
        self.witness.link(at, link, up);
        for direction in [link.ab(), link.ba()] {
            let wire = &mut self.wires.wires[direction.index()];
            wire.up = up;
            let (End { node, port }, to) = (wire.from, wire.to);
            for frame in wire.clear() {
                self.wires.on_the_way -= 1;
                self.wires.tally.lost += 1;
                self.witness.lost(at, direction, &frame, Loss::LinkDown);
            }
            self.wires.schedule(to.node, Slots::arrival(to.port), Instant::NEVER);
            let state = &mut self.nodes.0[node.index()];
            state.port_mut(port).link_changed(at, up);
            if let Node::Host(station) = &mut state.node {
                station.set_link(state.clock.local(at), up, None);
                self.rouse(at, node, port);
            } else {
                self.change(at, node, Change::Link { port, up, rate: None });
            }
            self.send_aside(at, node);
        }
    }

    /// Changes a switch. A change that held frames prevent is tried again. The author of the plan has
    /// excluded permanently refused ones, but where headroom is set from measurements the memory for a
    /// group may be taken by then: that is a result.
    fn change(&mut self, at: Instant, id: NodeId, change: Change) {
        let state = &mut self.nodes.0[id.index()];
        let local = state.clock.local(at);
        let Node::Switch(switch) = &mut state.node else { return };
        let amended = match &mut state.reconciler {
            Some(reconciler) => reconciler.amend(change),
            None => change,
        };
        if let Err(error) = switch.apply(local, amended) {
            if matches!(error.as_refused(), Refused::Now(_)) {
                let kind = FaultKind::Change { node: id, change };
                let fault = Fault { at: at + RETRY_AFTER, kind };
                let place = self.faults.partition_point(|later| later.at > fault.at);
                self.faults.insert(place, fault);
            } else {
                let is_measured = state.reconciler.is_some();
                assert!(is_measured, "a planned change was refused at {at:?}: {error}");
                self.refusals.push(Refusal { at, node: id, why: error.to_string() });
            }
        }
        for port in 0..state.out.len() {
            let port = PortId::new(port as u16).expect("a switch has no more ports than ids");
            self.rouse(at, id, port);
        }
    }

    /// Returns the time of the next event; NEVER if there is none.
    #[must_use]
    pub fn next_at(&self) -> Instant {
        self.wires.agenda.first().0.min(self.fault_at()).min(self.sample_at)
    }

    /// Samples the nodes for the witness now, as `sample_every` of the plan does periodically.
    pub fn sample(&mut self) {
        self.witness.sampled(self.now, &mut self.nodes);
    }

    #[must_use]
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// Returns true if nothing but the switches' housekeeping is left: no frame is on its way or
    /// held by a switch, no host has anything to send, and no fault is pending.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.wires.on_the_way == 0
            && self.faults.is_empty()
            && self.nodes.0.iter().all(|state| {
                // Frames for which a node has not been polled yet wait at its ports.
                state.frames == 0
                    && state.held == 0
                    && match &state.node {
                        Node::Switch(switch) => switch.held() == 0,
                        Node::Host(station) => station.is_done(),
                    }
            })
    }

    /// Calls `show` for every data frame in the network: on lines, at ports, in switches.
    pub fn for_each_frame(&mut self, mut show: impl FnMut(&VirtualFrame)) {
        self.wires.wires.iter().flat_map(Wire::data).for_each(&mut show);
        for state in &mut self.nodes.0 {
            for port in 0..state.out.len() {
                let port = PortId::new(port as u16).expect("a node's ports have ids");
                state.port_mut(port).arrived().for_each(&mut show);
            }
            if let Node::Switch(switch) = &state.node {
                switch.held_frames().for_each(&mut show);
            }
        }
    }

    /// Returns the hash of the trace: equal for equal plans, on every machine.
    #[must_use]
    pub fn trace_hash(&self) -> u64 {
        self.wires.hash.value()
    }

    #[must_use]
    pub const fn tally(&self) -> Tally {
        Tally { polls: self.polls, ..self.wires.tally }
    }

    /// Returns the planned changes that switches refused for good.
    #[must_use]
    pub fn refusals(&self) -> &[Refusal] {
        &self.refusals
    }

    pub const fn nodes_mut(&mut self) -> &mut Nodes {
        &mut self.nodes
    }

    pub const fn witness_mut(&mut self) -> &mut W {
        &mut self.witness
    }

    /// Returns the witness and the nodes at the end.
    pub fn finish(self) -> (W, Nodes) {
        (self.witness, self.nodes)
    }
}

/// Source of the random order of a node's simultaneous events.
fn shuffler(seed: u64, node: usize) -> Rng {
    Rng::new(seed ^ (node as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Fisher-Yates shuffle.
fn shuffle<T>(rng: &mut Rng, items: &mut [T]) {
    for n in (1..items.len()).rev() {
        items.swap(n, (rng.next_u64() % (n as u64 + 1)) as usize);
    }
}
