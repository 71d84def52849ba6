//! The engine: takes the nodes with the earliest events, polls them, and puts their frames on the
//! lines.
//!
//! Nothing that a node sends arrives before the lookahead has passed, the shortest delay of all
//! lines. So all events in a window of that length are handled node by node: the state of a node is in
//! the caches for all of them. Faults and samples end a window. A witness that needs the order of
//! time gets windows of one time.

mod defects;

use super::error::NetworkError;
use super::faults::{Fault, FaultKind, LineFault};
use super::frame::VirtualFrame;
use super::ids::{Direction, End, LinkId, NodeId};
use super::node::{Node, NodeState, Nodes};
use super::notes::Loss;
use super::plan::NetworkPlan;
use super::queue::Order;
use super::turn::shuffler;
use super::wire::{Inlet, Outlet};
use super::wires::{Slots, Tally, Wires, lookahead, wires};
use super::witness::Witness;
use contracts::frame::Frame;
use ground::time::{Duration, Instant};
use ground::units::PortId;
use switch::{Change, Refused};

/// Delay after which a planned change that frames in the buffer prevent is tried again.
pub const RETRY_AFTER: Duration = Duration::from_micros(1);

/// A running network.
pub struct Network<W: Witness = ()> {
    pub(super) nodes: Nodes,
    pub(super) wires: Wires,
    /// By direction: the port where it starts.
    ends: Vec<End>,
    /// Nodes whose events are being handled; empty between windows.
    due: Vec<u32>,
    /// Sorted by time, the next one last.
    faults: Vec<Fault>,
    sample_every: Option<Duration>,
    sample_at: Instant,
    now: Instant,
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
        for (n, node) in (0..).zip(&plan.nodes) {
            let shuffle = plan.shuffle.map(|seed| shuffler(seed, n as usize));
            let state = NodeState::new(NodeId(n), node, W::NOTES)?;
            nodes.push(NodeState { shuffle, ..state });
        }
        let ends = connect(plan, &mut nodes);
        let mut wires = Wires::new(nodes.len(), lookahead(&nodes));
        // A first poll of every port.
        for (n, state) in nodes.iter_mut().enumerate() {
            for port in state.ports() {
                state.queue.set(state.slots().wake(port), Order::LAST, Instant::ZERO);
                wires.agenda.set(n, Instant::ZERO);
            }
        }
        let mut faults = plan.faults.clone();
        // The sort is stable: simultaneous faults happen in the order of the plan.
        faults.sort_by_key(|fault| fault.at);
        faults.reverse();
        Ok(Self {
            nodes: Nodes(nodes),
            wires,
            ends,
            due: Vec::new(),
            faults,
            sample_every: plan.sample_every,
            sample_at: plan.sample_every.map_or(Instant::NEVER, |_| Instant::ZERO),
            now: Instant::ZERO,
            refusals: Vec::new(),
            witness,
        })
    }

    /// Makes the receiver's `SecY` validate pauses when they are obeyed, instead of at their last
    /// bit: a planted bug.
    #[cfg(any(test, feature = "rig"))]
    pub fn validate_pauses_late(&mut self) {
        for state in &mut self.nodes.0 {
            state.outlets.iter_mut().for_each(Outlet::validate_late);
            state.inlets.iter_mut().for_each(Inlet::validate_late);
        }
    }

    /// Makes windows longer than the shortest delay of all lines: a planted bug.
    #[cfg(test)]
    pub(super) fn widen_windows(&mut self) {
        self.wires.lookahead = self.wires.lookahead.saturating_mul(2);
    }

    /// Runs up to and including `limit`. The number of steps to reach a time makes no difference.
    pub fn run_until(&mut self, limit: Instant) {
        loop {
            let (fault, event) = (self.fault_at(), self.wires.agenda.bound());
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
        let Self { nodes, wires, due, witness, .. } = self;
        wires.horizon = end;
        wires.agenda.take(end, due);
        for node in due.drain(..) {
            let next = nodes.0[node as usize].run(end, wires, witness);
            wires.agenda.set(node as usize, next);
        }
        wires.deliver(&mut nodes.0);
    }

    /// Returns the time of the sample after one at `at`: a multiple of `sample_every`. While the
    /// network is empty a sample equals the last one, so those before the next event are skipped. A
    /// held frame keeps them, as pauses end and deadlocks begin by time alone.
    fn next_sample(&self, at: Instant) -> Instant {
        let Some(every) = self.sample_every else { return Instant::NEVER };
        let next = at.saturating_add(every);
        let event = self.wires.agenda.first().min(self.fault_at());
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

    /// Sets the time of an event of a node that is not handling events now.
    pub(super) fn schedule(&mut self, id: NodeId, slot: u32, at: Instant) {
        let queue = &mut self.nodes.0[id.index()].queue;
        queue.set(slot, Order::LAST, at);
        self.wires.agenda.set(id.index(), queue.first_at());
    }

    /// Returns the receiver's half of a direction.
    fn inlet(&mut self, direction: Direction) -> &mut Inlet {
        let End { node, port } = self.to(direction);
        &mut self.nodes.0[node.index()].inlets[port.index()]
    }

    /// Returns the sender's half of a direction.
    fn outlet(&mut self, direction: Direction) -> &mut Outlet {
        let End { node, port } = self.ends[direction.index()];
        &mut self.nodes.0[node.index()].outlets[port.index()]
    }

    /// Returns the port where a direction ends.
    fn to(&self, direction: Direction) -> End {
        self.ends[direction.reverse().index()]
    }

    /// Marks a port as due at this time, which all nodes have reached: for faults.
    fn rouse(&mut self, at: Instant, id: NodeId, port: PortId) {
        let slot = self.nodes.0[id.index()].slots().node();
        self.nodes.0[id.index()].add_due(port);
        self.schedule(id, slot, at);
    }

    /// Applies the faults whose time has come.
    fn fail(&mut self, at: Instant) {
        while self.faults.last().is_some_and(|fault| fault.at <= at) {
            let Some(fault) = self.faults.pop() else { break };
            match fault.kind {
                FaultKind::Link { link, up } => self.set_link(at, link, up),
                FaultKind::Line(direction, fault) => {
                    self.outlet(direction).fail(&fault);
                    let octets = match fault {
                        LineFault::Forge(octets) => Some(octets),
                        LineFault::Replay { back } => self.inlet(direction).recorded(back),
                        LineFault::Lose { .. } | LineFault::Errors(_) => None,
                    };
                    if let Some(octets) = octets {
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
        let End { node, port } = self.to(direction);
        if !self.outlet(direction).up || at < self.nodes.0[node.index()].down_until {
            return;
        }
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
        state.send_aside(at, &mut self.wires, &mut self.witness);
        self.publish(node);
        self.rouse(at, node, port);
    }

    /// Takes a link down, with the frames on it, or up. No effect if it is in that state already.
    fn set_link(&mut self, at: Instant, link: LinkId, up: bool) {
        if self.outlet(link.ab()).up == up {
            return;
        }
        self.witness.link(at, link, up);
        for direction in [link.ab(), link.ba()] {
            self.outlet(direction).set_up(up);
            for frame in self.inlet(direction).clear() {
                self.wires.left(true);
                self.witness.lost(at, direction, &frame, Loss::LinkDown);
            }
            let (End { node, port }, to) = (self.ends[direction.index()], self.to(direction));
            self.schedule(to.node, Slots::arrival(to.port), Instant::NEVER);
            let state = &mut self.nodes.0[node.index()];
            state.port_mut(port).link_changed(at, up);
            if let Node::Host(station) = &mut state.node {
                station.set_link(state.clock.local(at), up, None);
                self.rouse(at, node, port);
            } else {
                self.change(at, node, Change::Link { port, up, rate: None });
            }
            self.nodes.0[node.index()].send_aside(at, &mut self.wires, &mut self.witness);
            self.publish(node);
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
        for port in self.nodes.0[id.index()].ports() {
            self.rouse(at, id, port);
        }
    }

    /// Returns the time of the next event; NEVER if there is none.
    #[must_use]
    pub fn next_at(&self) -> Instant {
        self.wires.agenda.first().min(self.fault_at()).min(self.sample_at)
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
        for state in &mut self.nodes.0 {
            state.inlets.iter().flat_map(Inlet::data).for_each(&mut show);
            for port in state.ports() {
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
        self.wires.tally
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

/// Gives the nodes of a plan their halves of the lines. Returns by direction the port where it starts.
fn connect(plan: &NetworkPlan, nodes: &mut [NodeState]) -> Vec<End> {
    let wires = wires(plan);
    let ends: Vec<End> = wires.iter().map(|(outlet, _)| outlet.to).collect();
    let mut halves: Vec<_> =
        wires.into_iter().map(|(out, inlet)| (Some(out), Some(inlet))).collect();
    let mut places: Vec<(End, usize)> = ends.iter().copied().zip(0..).collect();
    places.sort_by_key(|(end, _)| (end.node, end.port));
    for (End { node, .. }, direction) in places {
        let state = &mut nodes[node.index()];
        state.inlets.extend(halves[direction].1.take());
        state.outlets.extend(halves[direction ^ 1].0.take());
    }
    (0..ends.len()).map(|direction| ends[direction ^ 1]).collect()
}
