//! The turn of a plain host: one without defects whose processor is free.
//!
//! Such a host has one port, and most of its turns do one of two things: they count a frame of a flow
//! that is not answered, which needs no poll, or they send the next frame. A host whose next event is
//! its own next frame goes on without a look at its queue.

use super::node::{Node, NodeState};
use super::notes::Loss;
use super::queue::Order;
use super::slots::Slots;
use super::turn::refusal;
use super::wires::Wires;
use super::witness::Witness;
use contracts::frame::Frame;
use ground::time::Instant;
use ground::units::PortId;

impl NodeState {
    /// True for a host without defects whose processor is free.
    #[inline]
    pub(super) fn is_plain_host(&self, at: Instant) -> bool {
        matches!(self.node, Node::Host(_)) && !self.has_defects && self.busy_until <= at
    }

    /// As [`Self::turn`], for a plain host: it has few slots, and every event is followed by a poll or
    /// counted without one. Events before `end` that only it can have are handled, too.
    #[inline]
    pub(super) fn turn_of_host<W: Witness>(
        &mut self,
        at: Instant,
        end: Instant,
        wires: &mut Wires,
        witness: &mut W,
    ) {
        let [arrival, wake, node, _] = self.queue.first_four(at);
        wires.tally.events += u64::from(arrival) + u64::from(wake) + u64::from(node);
        let mut needs_poll = wake || node || self.held_up;
        if arrival {
            needs_poll |= self.arrive_at_host(at, wires, witness);
        }
        if node {
            self.queue.set(self.slots().node(), Order::LAST, Instant::NEVER);
        }
        if core::mem::take(&mut self.held_up) {
            witness.caught_up(at, self.id);
        }
        if !needs_poll {
            // The deadline of its last poll holds.
            wires.tally.polls += 1;
            return self.work(at);
        }
        let slot = self.slots().wake(PortId::MIN);
        let until = end.min(self.queue.first_besides(slot));
        let mut at = at;
        loop {
            let next = self.poll_host(at, wires, witness);
            self.work(at);
            if next >= until || self.busy_until > next {
                return self.queue.set(slot, Order::LAST, next);
            }
            wires.tally.events += 1;
            at = next;
        }
    }

    /// Takes the frames that have arrived. Returns true if the host has to be polled for one of them.
    #[inline]
    fn arrive_at_host<W: Witness>(
        &mut self,
        at: Instant,
        wires: &mut Wires,
        witness: &mut W,
    ) -> bool {
        let Self { node, inlets, queue, down_until, frames, bytes, clock, .. } = self;
        let (Node::Host(station), inlet) = (node, &mut inlets[0]) else { return false };
        let direction = inlet.direction;
        if inlet.validates() {
            self.arrive(at, PortId::MIN, 0, wires, witness);
            self.due.clear();
            return true;
        }
        inlet.handled(at, 0);
        let (mut needs_poll, local) = (false, clock.local(at));
        while let Some(mut frame) = inlet.arrival(at) {
            let refused = match at < *down_until {
                true => Some(Loss::LinkDown),
                false => refusal(false, inlet, station.port_mut(), &mut frame),
            };
            wires.left(refused.is_some());
            if let Some(cause) = refused {
                witness.lost(at, direction, &frame, cause);
                needs_poll = true;
                continue;
            }
            witness.arrived(at, direction, &frame);
            *frames += 1;
            *bytes += u64::from(frame.wire_len());
            if needs_poll || !station.counts(local, &frame) {
                station.port_mut().deliver(at, frame);
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
        at: Instant,
        wires: &mut Wires,
        witness: &mut W,
    ) -> Instant {
        let Self { id, node, clock, outlets, .. } = self;
        let Node::Host(station) = node else { return Instant::NEVER };
        wires.tally.polls += 1;
        let local = clock.local(at);
        let deadline = loop {
            let next = station.poll(local);
            if next.deadline > local || !next.progressed {
                break next.deadline;
            }
        };
        let port = station.port_mut();
        port.finish_sent(at);
        while let Some(frame) = port.next_sent() {
            wires.send(at, (local, clock), &mut outlets[0], frame, witness);
        }
        assert!(deadline > local, "a deadline that has passed was met, node {id:?} at {at:?}");
        clock.network(deadline)
    }
}
