//! A node's turn: takes its events of one time, polls it, and puts its frames on the lines.

use super::frame::VirtualFrame;
use super::node::{Node, NodeState, VirtualWorld};
use super::notes::Loss;
use super::port::VirtualPort;
use super::queue::{Order, Queue};
use super::slots::{Event, Slots};
use super::wire::Inlet;
use super::wires::Wires;
use super::witness::Witness;
use contracts::frame::Frame;
use ground::rand::Rng;
use ground::time::Instant;
use ground::units::PortId;
use switch::Switch;

/// The reason for which a frame at the end of its line is not given to the node.
#[inline(always)]
pub(super) fn refusal(
    is_switch: bool,
    inlet: &Inlet,
    port: &mut VirtualPort,
    frame: &mut VirtualFrame,
) -> Option<Loss> {
    if frame.is_damaged() && inlet.notices_damage(frame) || is_switch && frame.is_short() {
        return Some(if frame.spoilt { Loss::Defect } else { Loss::Damaged });
    }
    (!port.admits(frame)).then_some(Loss::Secy)
}

impl NodeState {
    /// Handles the events before `end`; returns the time of the next one.
    #[inline]
    pub(super) fn run<W: Witness>(
        &mut self,
        end: Instant,
        wires: &mut Wires,
        witness: &mut W,
    ) -> Instant {
        loop {
            let at = self.queue.first_at();
            if at >= end {
                return at;
            }
            if self.is_plain_host(at) {
                self.turn_of_host(at, end, wires, witness);
            } else {
                self.turn(at, wires, witness);
            }
        }
    }

    /// Handles all events of one time.
    #[inline]
    fn turn<W: Witness>(&mut self, at: Instant, wires: &mut Wires, witness: &mut W) {
        let slots = self.slots();
        let (mut ready, mut turn) = (false, 0);
        loop {
            if !self.queue.is_first_at(at) {
                break;
            }
            let (slot, shared) = self.queue.head();
            let event = slots.event(slot);
            let is_arrival = matches!(event, Event::Arrival(_));
            ready |= is_arrival;
            if is_arrival && shared && turn == 0 {
                turn = self.arrive_at_once(at, slot, wires, witness);
                continue;
            }
            wires.tally.events += 1;
            match event {
                Event::Arrival(port) => {
                    self.arrive(at, port, turn, wires, witness);
                    turn += 1;
                }
                Event::Wake(port) => {
                    self.add_due(port);
                    ready = true;
                    // The poll sets the time of a port that is due, so the last event of this time
                    // need not be removed.
                    if self.busy_until <= at && !shared {
                        break;
                    }
                    self.queue.set(slot, Order::LAST, Instant::NEVER);
                }
                Event::Node => {
                    self.queue.set(slot, Order::LAST, Instant::NEVER);
                    ready = true;
                }
                Event::Defect(port) => {
                    self.queue.set(slot, Order::LAST, Instant::NEVER);
                    ready |= self.defect(at, port, wires, witness);
                }
            }
        }
        if ready {
            self.poll(at, wires, witness);
        }
    }

    /// Delivers the frames that arrive at one time at several ports, `first` or later ones, in their order.
    /// Returns their number.
    fn arrive_at_once<W: Witness>(
        &mut self,
        at: Instant,
        first: u32,
        wires: &mut Wires,
        witness: &mut W,
    ) -> u32 {
        let mut tied = core::mem::take(&mut self.tied);
        self.queue.tied(first..self.slots().arrivals(), &mut tied);
        let mut turn = 0;
        for order in tied.drain(..) {
            if let Event::Arrival(port) = self.slots().event(Queue::slot_of(order)) {
                wires.tally.events += 1;
                self.arrive(at, port, turn, wires, witness);
                turn += 1;
            }
        }
        self.tied = tied;
        turn
    }

    /// Delivers arrived frames to a port, the `turn`th of the node's ports at this time.
    #[inline]
    pub(super) fn arrive<W: Witness>(
        &mut self,
        at: Instant,
        id: PortId,
        turn: u32,
        wires: &mut Wires,
        witness: &mut W,
    ) {
        let Self { node, inlets, queue, down_until, frames, bytes, .. } = self;
        let inlet = &mut inlets[id.index()];
        let direction = inlet.direction;
        let (is_switch, port) = match node {
            Node::Host(station) => (false, station.port_mut()),
            Node::Switch(switch) => (true, switch.port_mut(id).expect("a wire ends at a port")),
        };
        // Packet numbers are in the order of last bits, so pauses are validated with the data among
        // which they arrive, however long their receiver takes to respond.
        inlet.handled(at, turn);
        while let Some(mut pause) = inlet.next_unvalidated(at) {
            match refusal(is_switch, inlet, port, &mut pause.frame) {
                None => inlet.validated(pause),
                Some(cause) => {
                    wires.left(true);
                    witness.lost(at, direction, &pause.frame, cause);
                }
            }
        }
        while let Some(mut frame) = inlet.arrival(at) {
            let is_validated = inlet.validates() && frame.is_control();
            let refused = match is_validated {
                _ if at < *down_until => Some(Loss::LinkDown),
                true => None,
                false => refusal(is_switch, inlet, port, &mut frame),
            };
            wires.left(refused.is_some());
            if let Some(cause) = refused {
                witness.lost(at, direction, &frame, cause);
                continue;
            }
            witness.arrived(at, direction, &frame);
            *frames += 1;
            *bytes += u64::from(frame.wire_len());
            port.deliver(at, frame);
        }
        let (next, order) = inlet.next();
        queue.set(Slots::arrival(id), order, next);
        self.add_due(id);
        self.send_aside(at, wires, witness);
    }

    /// Polls the node for arrived frames and expired deadlines.
    #[inline]
    fn poll<W: Witness>(&mut self, at: Instant, wires: &mut Wires, witness: &mut W) {
        let slots = self.slots();
        if at < self.busy_until {
            if !core::mem::replace(&mut self.held_up, true) {
                witness.held_up(at, self.id);
            }
            return self.queue.set(slots.node(), Order::LAST, self.busy_until);
        }
        if core::mem::take(&mut self.held_up) {
            witness.caught_up(at, self.id);
        }
        let Self { id, node, queue, reconciler, clock, outlets, due, shuffle: rng, .. } = self;
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
                wires.tally.polls += 1;
                let mut poll = |switch: &mut Switch<VirtualWorld>, due: &[PortId]| {
                    switch.poll_ports(local, due, |port, deadline, sent| {
                        let outlet = &mut outlets[port.index()];
                        sent.finish_sent(at);
                        while let Some(frame) = sent.next_sent() {
                            wires.send(at, (local, clock), outlet, frame, witness);
                        }
                        queue.set(slots.wake(port), Order::LAST, later(deadline));
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
                queue.set(slots.node(), Order::LAST, later(whole));
                let taken = &mut switch.events_mut().taken;
                if !taken.is_empty() {
                    taken.drain(..).for_each(|note| witness.noted(at, *id, &note));
                }
            }
            Node::Host(_) => {
                let next = self.poll_host(at, wires, witness);
                self.queue.set(slots.wake(PortId::MIN), Order::LAST, next);
            }
        }
        self.due.clear();
        self.work(at);
        self.send_aside(at, wires, witness);
    }
}

/// Source of the random order of a node's simultaneous events.
pub(super) fn shuffler(seed: u64, node: usize) -> Rng {
    Rng::new(seed ^ (node as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Fisher-Yates shuffle.
fn shuffle<T>(rng: &mut Rng, items: &mut [T]) {
    for n in (1..items.len()).rev() {
        items.swap(n, (rng.next_u64() % (n as u64 + 1)) as usize);
    }
}
