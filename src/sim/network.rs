//! The engine: takes the nodes with the earliest events, polls them, and puts their frames on the
//! lines.
//!
//! Nothing that a node sends arrives before the lookahead has passed, the shortest delay of all
//! lines. So all events in a window of that length are handled node by node: the state of a node is in
//! the caches for all of them. Faults and samples end a window. A witness that needs the order of
//! time gets windows of one time. A network may be divided into parts that run at the same time, each for
//! as long as no frame of another can arrive.

use super::changes::Refusal;
use super::faults::Fault;
use super::frame::VirtualFrame;
use super::node::{Node, NodeState, Nodes};
use super::part::{Executor, InTurn, Job, Part};
use super::plan::{Direction, End, NetworkError, NetworkPlan, NodeId};
use super::queue::Order;
use super::rounds::Rounds;
use super::turn::shuffler;
use super::wire::{Inlet, Outlet};
use super::wires::{Tally, Wires, least_delays, wires};
use super::witness::Witness;
use ground::time::{Duration, Instant};

/// A running network.
pub struct Network<W: Witness = ()> {
    pub(super) nodes: Nodes,
    /// One, or several that run at the same time.
    pub(super) parts: Vec<Box<Part<W>>>,
    /// If there are several parts.
    pub(super) rounds: Option<Rounds>,
    /// Parts that are running; empty between rounds.
    pub(super) jobs: Vec<Job<W>>,
    /// By direction: the port where it starts.
    pub(super) ends: Vec<End>,
    /// Sorted by time, the next one last.
    pub(super) faults: Vec<Fault>,
    pub(super) sample_every: Option<Duration>,
    pub(super) sample_at: Instant,
    pub(super) now: Instant,
    pub(super) refusals: Vec<Refusal>,
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
        // A first poll of every port.
        for state in &mut nodes {
            for port in state.ports() {
                state.queue.set(state.slots().wake(port), Order::LAST, Instant::ZERO);
            }
        }
        let nodes = Nodes::new(nodes);
        // There is one part, so this is the least delay of all lines.
        let lookahead = least_delays(&nodes.parts)[0][0];
        let mut wires = Wires::new(nodes.len(), lookahead, 0, 1);
        wires.take_events(&nodes.parts[0]);
        let mut faults = plan.faults.clone();
        // The sort is stable: simultaneous faults happen in the order of the plan.
        faults.sort_by_key(|fault| fault.at);
        faults.reverse();
        Ok(Self {
            nodes,
            parts: vec![Box::new(Part::new(wires, witness, 1))],
            rounds: None,
            jobs: Vec::new(),
            ends,
            faults,
            sample_every: plan.sample_every,
            sample_at: plan.sample_every.map_or(Instant::NEVER, |_| Instant::ZERO),
            now: Instant::ZERO,
            refusals: Vec::new(),
        })
    }

    /// Makes the receiver's `SecY` validate pauses when they are obeyed, instead of at their last
    /// bit: a planted bug.
    #[cfg(any(test, feature = "rig"))]
    pub fn validate_pauses_late(&mut self) {
        for state in self.nodes.all_mut() {
            state.outlets.iter_mut().for_each(Outlet::validate_late);
            state.inlets.iter_mut().for_each(Inlet::validate_late);
        }
    }

    /// Makes windows longer than the shortest delay of all lines: a planted bug.
    #[cfg(test)]
    pub(super) fn widen_windows(&mut self) {
        for part in &mut self.parts {
            part.wires.lookahead = part.wires.lookahead.saturating_mul(2);
        }
    }

    /// Runs up to and including `limit`. The number of steps to reach a time makes no difference.
    pub fn run_until(&mut self, limit: Instant) {
        self.run_until_on(limit, &mut InTurn);
    }

    /// As [`Self::run_until`], with the parts run by `executor`, which makes no difference either.
    pub fn run_until_on(&mut self, limit: Instant, executor: &mut impl Executor<Job<W>>) {
        loop {
            // Mail of the last round has to be in the inboxes before the first event is looked for.
            self.exchange();
            let event =
                self.parts.iter().map(|part| part.bound()).fold(Instant::NEVER, Instant::min);
            let fault = self.fault_at();
            let time = event.min(fault).min(self.sample_at);
            if time > limit || time == Instant::NEVER {
                break;
            }
            debug_assert!(time >= self.now, "time runs forward");
            self.now = time;
            // Faults come before all other events of their time, samples after them.
            if time == fault {
                self.bring_mail();
                self.fail(time);
            } else if time == event {
                // The limit and a sample are inclusive, and the end of a round is not.
                let after = |time: Instant| time.saturating_add(Duration::from_picos(1));
                let stop = after(limit).min(after(self.sample_at)).min(fault);
                self.run_round(stop, executor);
            } else {
                self.sample_at(time);
                self.sample_at = self.next_sample(time);
            }
        }
        // Every frame is at its line or node when the run stops.
        self.bring_mail();
        self.now = limit;
    }

    /// Samples the nodes for the witness.
    fn sample_at(&mut self, time: Instant) {
        self.bring_mail();
        let mut witnesses = self.parts.iter_mut().map(|part| &mut part.witness);
        let Some(first) = witnesses.next() else { return };
        first.sampled_with(&mut witnesses.collect::<Vec<_>>(), time, &mut self.nodes);
    }

    /// Time of the next fault.
    fn fault_at(&self) -> Instant {
        self.faults.last().map_or(Instant::NEVER, |fault| fault.at)
    }

    /// Returns the time of the sample after one at `at`: a multiple of `sample_every`. While the
    /// network is empty a sample equals the last one, so those before the next event are skipped. A
    /// held frame keeps them, as pauses end and deadlocks begin by time alone.
    fn next_sample(&self, time: Instant) -> Instant {
        let Some(every) = self.sample_every else { return Instant::NEVER };
        let next = time.saturating_add(every);
        let event = self.first_event().min(self.fault_at());
        if event <= next || !self.is_empty() {
            return next;
        }
        // The first multiple that is not before the event: those in between would equal the last sample.
        let steps = event.since(time).as_picos().div_ceil(every.as_picos());
        time.saturating_add(every.saturating_mul(steps))
    }

    /// Time of the first event of any node.
    fn first_event(&self) -> Instant {
        let firsts = self.parts.iter().map(|part| part.wires.agenda.first());
        firsts.fold(Instant::NEVER, Instant::min)
    }

    /// Frames that have started and neither arrived nor been lost.
    fn on_the_way(&self) -> i64 {
        self.parts.iter().map(|part| part.wires.on_the_way).sum()
    }

    /// True if no frame is on a line or held by a switch.
    fn is_empty(&self) -> bool {
        self.on_the_way() == 0
            && self.nodes.all().all(|state| match &state.node {
                Node::Switch(switch) => switch.held() == 0,
                Node::Host(_) => true,
            })
    }

    /// Sets the time of an event of a node that is not handling events now.
    pub(super) fn schedule(&mut self, id: NodeId, slot: u32, time: Instant) {
        let index = self.nodes.place(id).index as usize;
        let (state, part) = self.state_and_part(id);
        state.queue.set(slot, Order::LAST, time);
        // The agenda is set at the end of a node's turns, and the node has none now.
        part.wires.agenda.set(index, state.queue.first_at());
    }

    /// Returns the receiver's half of a direction.
    pub(super) fn inlet(&mut self, direction: Direction) -> &mut Inlet {
        let End { node, port } = self.to(direction);
        &mut self.nodes.state_mut(node).inlets[port.index()]
    }

    /// Returns the sender's half of a direction.
    pub(super) fn outlet(&mut self, direction: Direction) -> &mut Outlet {
        let End { node, port } = self.ends[direction.index()];
        &mut self.nodes.state_mut(node).outlets[port.index()]
    }

    /// Returns the port where a direction ends.
    pub(super) fn to(&self, direction: Direction) -> End {
        self.ends[direction.reverse().index()]
    }

    /// Returns the time of the next event; NEVER if there is none.
    pub fn next_at(&self) -> Instant {
        self.first_event().min(self.fault_at()).min(self.sample_at)
    }

    /// Samples the nodes for the witness now, as `sample_every` of the plan does periodically.
    pub fn sample(&mut self) {
        self.sample_at(self.now);
    }

    pub const fn now(&self) -> Instant {
        self.now
    }

    /// Returns true if nothing but the switches' housekeeping is left: no frame is on its way or
    /// held by a switch, no host has anything to send, and no fault is pending.
    pub fn is_quiet(&self) -> bool {
        self.on_the_way() == 0
            && self.faults.is_empty()
            && self.nodes.all().all(|state| {
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
        for state in self.nodes.all_mut() {
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
    pub fn trace_hash(&self) -> u64 {
        // A sum is the same in whatever order the parts have counted.
        self.parts.iter().fold(0, |sum, part| sum.wrapping_add(part.wires.hash.value()))
    }

    /// Returns the events counted so far, of all parts.
    pub fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        self.parts.iter().for_each(|part| tally.add(&part.wires.tally));
        tally
    }

    /// Returns the planned changes that switches refused for good.
    pub fn refusals(&self) -> &[Refusal] {
        &self.refusals
    }

    pub const fn nodes_mut(&mut self) -> &mut Nodes {
        &mut self.nodes
    }

    /// Returns the observer; that of the first part if there are several.
    pub fn witness_mut(&mut self) -> &mut W {
        &mut self.parts[0].witness
    }

    /// Returns the observer and the nodes at the end, of all parts.
    pub fn finish(mut self) -> (W, Nodes) {
        self.unite();
        let part = self.parts.remove(0);
        (part.witness, self.nodes)
    }
}

/// Gives the nodes of a plan their halves of the lines. Returns by direction the port where it starts.
fn connect(plan: &NetworkPlan, nodes: &mut [NodeState]) -> Vec<End> {
    let wires = wires(plan);
    let ends: Vec<End> = wires.iter().map(|(outlet, _)| outlet.to).collect();
    // A node's halves are in the order of its ports, so they are taken out of the list one by one.
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
