//! A node's turn: takes its events of one time, polls it, and puts its frames on the lines.
//!
//! A plain host, one without defects whose processor is free, has turns of its own. It has one port, and most of
//! its turns do one of two things: they count a frame of a flow that is not answered, which needs no poll, or
//! they send the next frame. A host whose next event is its own next frame goes on without reading its queue.

use super::frame::VirtualFrame;
use super::node::{Node, NodeState, VirtualWorld};
use super::port::VirtualPort;
use super::queue::{Event, Order, Queue, Slots};
use super::wire::Inlet;
use super::wires::Wires;
use super::witness::{Loss, Witness};
use contracts::frame::Frame;
use ground::rand::Rng;
use ground::time::Instant;
use ground::units::{Cells, PortId, PriorityGroup};
use switch::{Change, Switch};

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
    fn turn<W: Witness>(&mut self, time: Instant, wires: &mut Wires, witness: &mut W) {
        let slots = self.slots();
        let (mut ready, mut turn) = (false, 0);
        loop {
            if !self.queue.is_first_at(time) {
                break;
            }
            let (slot, shared) = self.queue.head();
            let event = slots.event(slot);
            let is_arrival = matches!(event, Event::Arrival(_));
            ready |= is_arrival;
            // Several ports have arrivals now, which are taken in the order in which they were scheduled.
            if is_arrival && shared && turn == 0 {
                turn = self.arrive_at_once(time, slot, wires, witness);
                continue;
            }
            wires.tally.events += 1;
            match event {
                Event::Arrival(port) => {
                    self.arrive(time, port, turn, wires, witness);
                    turn += 1;
                }
                Event::Wake(port) => {
                    self.add_due(port);
                    ready = true;
                    // The poll sets the time of a port that is due, so the last event of this time
                    // need not be removed.
                    if self.busy_until <= time && !shared {
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
                    ready |= self.defect(time, port, wires, witness);
                }
            }
        }
        // One poll for all events of this time: all frames are taken in before anything is sent.
        if ready {
            self.poll(time, wires, witness);
        }
    }

    /// Delivers the frames that arrive at one time at several ports, `first` or later ones, in their order.
    /// Returns their number.
    fn arrive_at_once<W: Witness>(
        &mut self,
        time: Instant,
        first: u32,
        wires: &mut Wires,
        witness: &mut W,
    ) -> u32 {
        // The list is put back with its memory at the end.
        let mut tied = core::mem::take(&mut self.tied);
        self.queue.tied(first..self.slots().arrivals(), &mut tied);
        let mut turn = 0;
        for order in tied.drain(..) {
            if let Event::Arrival(port) = self.slots().event(Queue::slot_of(order)) {
                wires.tally.events += 1;
                self.arrive(time, port, turn, wires, witness);
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
        time: Instant,
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
        inlet.handled(time, turn);
        while let Some(mut pause) = inlet.next_unvalidated(time) {
            match refusal(is_switch, inlet, port, &mut pause.frame) {
                None => inlet.validated(pause),
                Some(cause) => {
                    wires.left(true);
                    witness.lost(time, direction, &pause.frame, cause);
                }
            }
        }
        while let Some(mut frame) = inlet.arrival(time) {
            // Such a pause was validated when its last bit arrived.
            let is_validated = inlet.validates() && frame.is_control();
            let refused = match is_validated {
                _ if time < *down_until => Some(Loss::LinkDown),
                true => None,
                false => refusal(is_switch, inlet, port, &mut frame),
            };
            wires.left(refused.is_some());
            if let Some(cause) = refused {
                witness.lost(time, direction, &frame, cause);
                continue;
            }
            witness.arrived(time, direction, &frame);
            *frames += 1;
            *bytes += u64::from(frame.wire_len());
            port.deliver(time, frame);
        }
        let (next, order) = inlet.next();
        queue.set(Slots::arrival(id), order, next);
        self.add_due(id);
        self.send_aside(time, wires, witness);
    }

    /// Polls the node for arrived frames and expired deadlines.
    #[inline]
    fn poll<W: Witness>(&mut self, time: Instant, wires: &mut Wires, witness: &mut W) {
        let slots = self.slots();
        if time < self.busy_until {
            // Told once, and not for each event that meets a busy processor.
            if !core::mem::replace(&mut self.held_up, true) {
                witness.held_up(time, self.id);
            }
            return self.queue.set(slots.node(), Order::LAST, self.busy_until);
        }
        if core::mem::take(&mut self.held_up) {
            witness.caught_up(time, self.id);
        }
        let Self { id, node, queue, reconciler, clock, outlets, due, shuffle: rng, .. } = self;
        if let Some(rng) = rng {
            shuffle(rng, due);
        }
        let local = clock.local(time);
        let later = |deadline: Instant| {
            assert!(
                deadline > local,
                "a deadline that has passed was met, node {id:?} at {time:?}"
            );
            clock.network(deadline)
        };
        match node {
            Node::Switch(switch) => {
                wires.tally.polls += 1;
                let mut poll = |switch: &mut Switch<VirtualWorld>, due: &[PortId]| {
                    switch.poll_ports(local, due, |port, deadline, sent| {
                        let outlet = &mut outlets[port.index()];
                        sent.finish_sent(time);
                        while let Some(frame) = sent.next_sent() {
                            wires.send(time, local, clock, outlet, frame, witness);
                        }
                        queue.set(slots.wake(port), Order::LAST, later(deadline));
                    })
                };
                let mut whole = poll(switch, due);
                if let Some(reconciler) = reconciler {
                    // Reconciliation may change what ports send, so they are polled again until nothing is new.
                    while switch.has_news() || reconciler.next_deadline() <= local {
                        switch.reconcile(local, reconciler);
                        whole = poll(switch, &[]);
                    }
                    whole = whole.min(reconciler.next_deadline());
                }
                queue.set(slots.node(), Order::LAST, later(whole));
                let taken = &mut switch.events_mut().taken;
                if !taken.is_empty() {
                    taken.drain(..).for_each(|note| witness.noted(time, *id, &note));
                }
            }
            Node::Host(_) => {
                let next = self.poll_host(time, wires, witness);
                self.queue.set(slots.wake(PortId::MIN), Order::LAST, next);
            }
        }
        self.due.clear();
        self.work(time);
        self.send_aside(time, wires, witness);
    }

    /// Lets the defects of a port act whose time has come; returns true if its node receives frames
    /// because of that.
    pub(super) fn defect<W: Witness>(
        &mut self,
        time: Instant,
        port: PortId,
        wires: &mut Wires,
        witness: &mut W,
    ) -> bool {
        let (frames, bytes) = self.port_mut(port).defects_due(time);
        (self.frames, self.bytes) = (self.frames + frames, self.bytes + bytes);
        if frames > 0 {
            self.add_due(port);
        }
        self.send_aside(time, wires, witness);
        frames > 0
    }

    /// Sends the frames that the defects of the node have added, and schedules their next action.
    #[inline]
    pub(super) fn send_aside<W: Witness>(
        &mut self,
        time: Instant,
        wires: &mut Wires,
        witness: &mut W,
    ) {
        if self.has_defects {
            self.send_added(time, wires, witness);
        }
    }

    #[cold]
    fn send_added<W: Witness>(&mut self, time: Instant, wires: &mut Wires, witness: &mut W) {
        let (clock, local) = (self.clock, self.clock.local(time));

        let slots = self.slots();
        // Counted again over all ports.
        self.held = 0;
        for port in self.ports() {
            let Some((lines, next)) = self.port_mut(port).take_aside(time) else { continue };
            for frame in lines.line {
                wires.send(time, local, &clock, &mut self.outlets[port.index()], frame, witness);
            }
            for frame in &lines.others {
                for other in self.ports().filter(|other| *other != port) {
                    let mut frame = frame.clone();
                    // Each port protects with its own keys.
                    self.port_mut(other).protect(&mut frame);
                    wires.send(
                        time,
                        local,
                        &clock,
                        &mut self.outlets[other.index()],
                        frame,
                        witness,
                    );
                }
            }
            for frame in &lines.inward {
                for other in self.ports().filter(|other| *other != port) {
                    // They cost the processor as much as frames that come by a line.
                    (self.frames, self.bytes) =
                        (self.frames + 1, self.bytes + u64::from(frame.wire_len()));
                    self.port_mut(other).receive(frame.clone());
                    self.add_due(other);
                }
            }
            self.queue.set(slots.defect(port), Order::LAST, next);
            self.held += self.port_mut(port).held();
        }
        for port in self.ports() {
            for (priority, cells) in self.port_mut(port).take_leaks() {
                let (group, cells) = (PriorityGroup::ALL[priority.index()], Cells(cells));
                if let Node::Switch(switch) = &mut self.node {
                    let leak = Change::Leak { port, group, cells };
                    switch.apply(local, leak).expect("a port of the network is the switch's");
                }
            }
        }
    }
}

/// Source of the random order of a node's simultaneous events.
pub(super) fn shuffler(seed: u64, node: usize) -> Rng {
    // The golden ratio spreads the numbers of neighbouring nodes over all seeds.
    Rng::new(seed ^ (node as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Fisher-Yates shuffle.
fn shuffle<T>(rng: &mut Rng, items: &mut [T]) {
    for n in (1..items.len()).rev() {
        items.swap(n, (rng.next_u64() % (n as u64 + 1)) as usize);
    }
}

impl NodeState {
    /// True for a host without defects whose processor is free.
    #[inline]
    pub(super) fn is_plain_host(&self, time: Instant) -> bool {
        matches!(self.node, Node::Host(_)) && !self.has_defects && self.busy_until <= time
    }

    /// As [`Self::turn`], for a plain host: it has few slots, and every event is followed by a poll or
    /// counted without one. Events before `end` that only it can have are handled, too.
    #[inline]
    pub(super) fn turn_of_host<W: Witness>(
        &mut self,
        time: Instant,
        end: Instant,
        wires: &mut Wires,
        witness: &mut W,
    ) {
        let [arrival, wake, node, _] = self.queue.first_four(time);
        wires.tally.events += u64::from(arrival) + u64::from(wake) + u64::from(node);
        let mut needs_poll = wake || node || self.held_up;
        if arrival {
            needs_poll |= self.arrive_at_host(time, wires, witness);
        }
        if node {
            self.queue.set(self.slots().node(), Order::LAST, Instant::NEVER);
        }
        if core::mem::take(&mut self.held_up) {
            witness.caught_up(time, self.id);
        }
        if !needs_poll {
            // The deadline of its last poll holds.
            wires.tally.polls += 1;
            return self.work(time);
        }
        let slot = self.slots().wake(PortId::MIN);
        // Up to then nothing but this host's own sending can happen here.
        let until = end.min(self.queue.first_besides(slot));
        let mut time = time;
        loop {
            let next = self.poll_host(time, wires, witness);
            self.work(time);
            if next >= until || self.busy_until > next {
                return self.queue.set(slot, Order::LAST, next);
            }
            // Counted as the event that it replaces, so that counts do not depend on the shortcut.
            wires.tally.events += 1;
            time = next;
        }
    }

    /// Takes the frames that have arrived. Returns true if the host has to be polled for one of them.
    #[inline]
    fn arrive_at_host<W: Witness>(
        &mut self,
        time: Instant,
        wires: &mut Wires,
        witness: &mut W,
    ) -> bool {
        let Self { node, inlets, queue, down_until, frames, bytes, clock, .. } = self;
        let (Node::Host(station), inlet) = (node, &mut inlets[0]) else { return false };
        let direction = inlet.direction;
        // With MACsec, pauses are validated before they are obeyed, which the turn of any node does.
        if inlet.validates() {
            self.arrive(time, PortId::MIN, 0, wires, witness);
            self.due.clear();
            return true;
        }
        inlet.handled(time, 0);
        let (mut needs_poll, local) = (false, clock.local(time));
        while let Some(mut frame) = inlet.arrival(time) {
            let refused = match time < *down_until {
                true => Some(Loss::LinkDown),
                false => refusal(false, inlet, station.port_mut(), &mut frame),
            };
            wires.left(refused.is_some());
            if let Some(cause) = refused {
                witness.lost(time, direction, &frame, cause);
                needs_poll = true;
                continue;
            }
            witness.arrived(time, direction, &frame);
            *frames += 1;
            *bytes += u64::from(frame.wire_len());
            // Frames behind one that has to be read wait for the poll with it, so their order stays.
            if needs_poll || !station.counts(local, &frame) {
                station.port_mut().deliver(time, frame);
                needs_poll = true;
            }
        }
        let (next, order) = inlet.next();
        queue.set(Slots::arrival(PortId::MIN), order, next);
        needs_poll
    }

    /// Polls a host. Returns the time of its next poll.
    #[inline]
    pub(super) fn poll_host<W: Witness>(
        &mut self,
        time: Instant,
        wires: &mut Wires,
        witness: &mut W,
    ) -> Instant {
        let Self { id, node, clock, outlets, .. } = self;
        let Node::Host(station) = node else { return Instant::NEVER };
        wires.tally.polls += 1;
        let local = clock.local(time);
        let deadline = loop {
            let next = station.poll(local);
            // One poll may leave frames unread or unsent, so it is repeated as long as it gets on.
            if next.deadline > local || !next.progressed {
                break next.deadline;
            }
        };
        let port = station.port_mut();
        port.finish_sent(time);
        while let Some(frame) = port.next_sent() {
            wires.send(time, local, clock, &mut outlets[0], frame, witness);
        }
        assert!(deadline > local, "a deadline that has passed was met, node {id:?} at {time:?}");
        clock.network(deadline)
    }
}
