//! A node's turn: takes its events of one time, polls it, and puts its frames on the lines.

use super::frame::VirtualFrame;
use super::node::{Node, NodeState, VirtualWorld};
use super::notes::Loss;
use super::port::VirtualPort;
use super::queue::Order;
use super::wire::Inlet;
use super::wires::{Event, Slots, Wires};
use super::witness::Witness;
use contracts::frame::Frame;
use ground::rand::Rng;
use ground::time::Instant;
use ground::units::PortId;
use switch::Switch;

/// The reason for which a frame at the end of its line is not given to the node.
#[inline]
fn refusal(
    is_switch: bool,
    inlet: &Inlet,
    port: &mut VirtualPort,
    frame: &mut VirtualFrame,
) -> Option<Loss> {
    if frame.is_damaged() && inlet.notices_damage(frame) || is_switch && frame.is_short() {
        return Some(Loss::Damaged);
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
            let (at, _) = self.queue.first();
            if at >= end {
                return at;
            }
            self.turn(at, wires, witness);
        }
    }

    /// Handles all events of one time.
    #[inline]
    fn turn<W: Witness>(&mut self, at: Instant, wires: &mut Wires, witness: &mut W) {
        let slots = self.slots();
        let (mut ready, mut turn) = (false, 0);
        loop {
            let (first, slot) = self.queue.first();
            if first != at {
                break;
            }
            wires.tally.events += 1;
            match slots.event(slot) {
                Event::Arrival(port) => {
                    self.arrive(at, port, turn, wires, witness);
                    turn += 1;
                    ready = true;
                }
                Event::Wake(port) => {
                    self.add_due(port);
                    ready = true;
                    // The poll sets the time of a port that is due, so the last event of this time
                    // need not be removed.
                    if self.busy_until <= at && self.queue.second_at() > at {
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

    /// Delivers arrived frames to a port, the `turn`th of the node's ports at this time.
    #[inline]
    fn arrive<W: Witness>(
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
        wires.tally.polls += 1;
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
                let mut poll = |switch: &mut Switch<VirtualWorld>, due: &[PortId]| {
                    switch.poll_ports(local, due, |port, deadline, sent| {
                        let outlet = &mut outlets[port.index()];
                        for frame in sent.take_sent(at) {
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
                for note in switch.events_mut().taken.drain(..) {
                    witness.noted(at, *id, &note);
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
                    wires.send(at, (local, clock), &mut outlets[0], frame, witness);
                }
                queue.set(slots.wake(PortId::MIN), Order::LAST, later(deadline));
            }
        }
        due.clear();
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
