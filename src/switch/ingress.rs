//! From the port into the buffer: receive, classify, learn, forward, admit.

use super::Switch;
use super::classify::{Class, Meta, classify, classify_usual};
use super::fdb::{Key, Learnt};
use super::shortcut::{Decision, Flow};
use super::signals::Placed;
use buffer::{Admission, Crossing, Refusal};
use contracts::frame::{Burst, Frame};
use contracts::port::Port;
use contracts::stats::DropReason;
use contracts::world::{Events, Handoff, Transit, World};
use ground::time::Instant;
use ground::units::{PortId, Priority, PriorityGroup};

/// Origin of a frame that is forwarded. Headroom is sized for what a link brings in the time that its
/// peer takes to stop, so nothing else may use it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Origin {
    /// A port received it.
    Line,
    /// Flooding made it from another.
    Copy,
    /// The switch made it.
    Message,
}

impl<W: World> Switch<W> {
    /// Receives one burst from the port at `at` and processes each frame. Returns the number of
    /// frames.
    #[inline]
    pub(super) fn receive(&mut self, now: Instant, at: usize) -> usize {
        if self.draining {
            self.ports[at].port.pass_on();
            return 0;
        }
        let mut burst: Burst<W::Frame> = Burst::new();
        if self.ports[at].undated.is_some() {
            self.date_again(now, at);
        }
        let port = &mut self.ports[at];
        port.port.rx_burst(&mut burst);
        let frames = burst.len();
        if frames == 0 {
            return 0;
        }
        if port.agents.is_some() {
            port.found_at = port.port.clock(now);
        }
        port.counters.rx_frames += frames as u64;
        // The frames admitted now are reported to the other workers before any more are admitted.
        self.exchange_at = now;
        for frame in burst.drain(..) {
            self.ingest(now, at, frame);
        }
        frames
    }

    /// Processes one frame received by the port at `at`. The unusual frames have separate
    /// functions, which would otherwise force the fields of every frame through memory.
    #[inline(always)]
    fn ingest(&mut self, now: Instant, at: usize, frame: W::Frame) {
        let port = &mut self.ports[at];
        let wire_len = frame.wire_len();
        port.counters.rx_bytes += u64::from(wire_len);
        if self.signals.filter.wants(frame.head()) {
            return self.ingest_message(now, at, frame);
        }
        self.ingest_usual(now, at, frame);
    }

    /// As [`Self::ingest`], for a frame already found not to be a message.
    #[inline(never)]
    pub(super) fn ingest_known(&mut self, now: Instant, at: usize, frame: W::Frame) {
        self.ingest_usual(now, at, frame);
    }

    /// Processes a frame that is not a message.
    #[inline(always)]
    fn ingest_usual(&mut self, now: Instant, at: usize, frame: W::Frame) {
        let (port, wire_len) = (&self.ports[at], frame.wire_len());
        if let Some(flow) = Flow::of(frame.head()) {
            if let Some(decision) = port.shortcuts.find(now, self.fdb.version(), flow) {
                if wire_len <= self.max_frame {
                    return self.take_shortcut(now, at, frame, decision);
                }
            }
        }
        let tables = &self.tables[port.id.index()];
        match classify_usual(tables, frame.head(), wire_len, self.max_frame) {
            Some(meta) if port.up => self.ingest_data(now, at, frame, &meta),
            _ => self.ingest_unusual(now, at, frame),
        }
    }

    /// Processes a frame that is dropped, is a pause, or has an unusual format.
    #[cold]
    #[inline(never)]
    pub(super) fn ingest_unusual(&mut self, now: Instant, at: usize, frame: W::Frame) {
        let port = &self.ports[at];
        if !port.up {
            return self.count_drop(now, at, None, DropReason::LinkDown);
        }
        let tables = &self.tables[port.id.index()];
        match classify(tables, frame.head(), frame.wire_len(), self.max_frame) {
            Class::Data(meta) => self.ingest_data(now, at, frame, &meta),
            Class::MacControl => self.mac_control(now, at, &frame),
            Class::Agents => self.agent_frame(now, at, &frame),
            Class::Drop(reason) => self.count_drop(now, at, None, reason),
        }
    }

    /// Processes a frame to be forwarded.
    #[inline]
    pub(super) fn ingest_data(&mut self, now: Instant, at: usize, frame: W::Frame, meta: &Meta) {
        self.note_received(now, at, frame.wire_len(), meta);
        self.flow_begins(now, at, &frame, meta);
        self.forward(now, at, frame, meta);
    }

    /// Counts a frame that is to be forwarded, and learns from it.
    #[inline]
    pub(super) fn note_received(&mut self, now: Instant, at: usize, wire_len: u32, meta: &Meta) {
        let port = &mut self.ports[at];
        let id = port.id;
        let counters = &mut port.counters.priorities[meta.priority.index()];
        counters.rx_frames += 1;
        counters.rx_bytes += u64::from(wire_len);
        self.events.received(now, id, meta.priority, wire_len);
        self.learn(now, id, meta);
    }

    /// Forwards a frame by its flow's cached decision.
    #[inline(always)]
    fn take_shortcut(&mut self, now: Instant, at: usize, frame: W::Frame, decision: Decision) {
        let (priority, wire_len) = (decision.priority, frame.wire_len());
        let port = &mut self.ports[at];
        let ingress = port.id;
        let counters = &mut port.counters.priorities[priority.index()];
        counters.rx_frames += 1;
        counters.rx_bytes += u64::from(wire_len);
        self.events.received(now, ingress, priority, wire_len);
        self.take_noted(now, at, frame, decision);
    }

    /// Forwards a frame that leaves unmodified, by a port of this worker. If the port is idle the
    /// frame bypasses the queue; if it is also lossy and the port cannot be held up, it is not
    /// charged.
    #[inline(always)]
    pub(super) fn take_noted(
        &mut self,
        now: Instant,
        at: usize,
        frame: W::Frame,
        decision: Decision,
    ) {
        let Decision { egress, to, priority, group, lossy } = decision;
        let (to, wire_len) = (usize::from(to), frame.wire_len());
        let ingress = self.ports[at].id;
        let port = &mut self.ports[to];
        if !port.is_idle_for(now, priority) {
            return self.queue(now, at, frame, ingress, to, priority, group);
        }
        self.events.sent(now, egress, priority, wire_len);
        self.awake.insert(to);
        if port.straight && lossy {
            return port.staged.push(frame, None, ingress, priority);
        }
        match self.ledger.admit(ingress, group, wire_len) {
            Admission::Admitted { charge, crossed } => {
                port.staged.push(frame, Some(charge), ingress, priority);
                if let Some(crossing) = crossed {
                    self.on_crossing(now, ingress, group, crossing);
                }
            }
            Admission::Refused(refusal) => self.refused(now, at, priority, refusal),
        }
    }

    /// Admits a frame and puts it into its queue at the port at `to`.
    #[allow(clippy::too_many_arguments)]
    fn queue(
        &mut self,
        now: Instant,
        at: usize,
        mut frame: W::Frame,
        ingress: PortId,
        to: usize,
        priority: Priority,
        group: PriorityGroup,
    ) {
        let placed = match self.egress_verdict(now, ingress, to, priority, &mut frame) {
            Ok(placed) => placed,
            Err(reason) => return self.count_drop(now, at, Some(priority), reason),
        };
        match self.admit_placed(ingress, group, &placed, frame.wire_len()) {
            Admission::Admitted { charge, crossed } => {
                if let Some(crossing) = crossed {
                    self.on_crossing(now, ingress, charge.group(), crossing);
                }
                self.enqueue(now, to, priority, placed, (frame, charge, ingress));
            }
            Admission::Refused(refusal) => self.refused(now, at, priority, refusal),
        }
    }

    /// Admits a placed frame, to the group of the placement or to that of its priority.
    #[inline]
    fn admit_placed(
        &mut self,
        ingress: PortId,
        group: PriorityGroup,
        placed: &Placed,
        wire_len: u32,
    ) -> Admission {
        if let Some(other) = placed.group.filter(|other| !self.ledger.is_xoff(ingress, *other)) {
            let admission = self.ledger.admit(ingress, other, wire_len);
            if matches!(admission, Admission::Admitted { .. }) {
                return admission;
            }
        }
        self.ledger.admit(ingress, group, wire_len)
    }

    /// Learns the source address, and tells the other workers about a new one.
    #[inline]
    fn learn(&mut self, now: Instant, ingress: PortId, meta: &Meta) {
        if self.fdb.learn(now, Key::from_parts(meta.vid, meta.src), ingress) == Learnt::News {
            // A lost notification is repeated when the entry is next refreshed; until then the
            // others flood, as for any unknown address.
            let _ = self.handoff.tell_learnt(meta.vid, meta.src(), ingress);
        }
    }

    /// Delivers one frame to `egress`: retags it, charges it, queues it.
    #[inline(never)]
    pub(super) fn deliver(
        &mut self,
        now: Instant,
        at: usize,
        frame: W::Frame,
        meta: &Meta,
        egress: PortId,
    ) {
        self.deliver_as(now, at, frame, meta, egress, Origin::Line);
    }

    /// As [`Self::deliver`], for a frame of any origin.
    #[inline]
    pub(super) fn deliver_as(
        &mut self,
        now: Instant,
        at: usize,
        mut frame: W::Frame,
        meta: &Meta,
        egress: PortId,
        origin: Origin,
    ) {
        let priority = meta.priority;
        if !self.handoff.is_up(egress) {
            return self.count_drop(now, at, Some(priority), DropReason::EgressDown);
        }
        if !super::forward::retag(&mut frame, meta, &self.tables[egress.index()]) {
            return self.count_drop(now, at, Some(priority), DropReason::NoTagRoom);
        }
        let local = self.local(egress);
        let ingress = self.ports[at].id;
        let mut placed = Placed::plain(self.tables[egress.index()].class(priority));
        if let Some(to) = local {
            match self.egress_verdict(now, ingress, to, priority, &mut frame) {
                Ok(p) => placed = p,
                Err(reason) => return self.count_drop(now, at, Some(priority), reason),
            }
        }
        let group = self.tables[ingress.index()].group(priority);
        let admission = match origin {
            Origin::Line => self.admit_placed(ingress, group, &placed, frame.wire_len()),
            Origin::Copy | Origin::Message => {
                self.ledger.admit_copy(ingress, group, frame.wire_len())
            }
        };
        let (charge, crossed) = match admission {
            Admission::Admitted { charge, crossed } => (charge, crossed),
            Admission::Refused(_) if origin == Origin::Message => {
                return self.count_drop(now, at, Some(priority), DropReason::MessageNoRoom);
            }
            Admission::Refused(refusal) => return self.refused(now, at, priority, refusal),
        };
        if let Some(crossing) = crossed {
            self.on_crossing(now, ingress, charge.group(), crossing);
        }
        match local {
            Some(to) => {
                self.enqueue(now, to, priority, placed, (frame, charge, ingress));
            }
            None => self.hand_over(now, at, Transit { frame, charge, egress, ingress, priority }),
        }
    }

    /// Drops a frame that the ledger refused.
    #[cold]
    pub(super) fn refused(
        &mut self,
        now: Instant,
        at: usize,
        priority: Priority,
        refusal: Refusal,
    ) {
        let reason = match refusal {
            Refusal::SharedLimit => DropReason::SharedLimit,
            Refusal::HeadroomFull => DropReason::HeadroomFull,
        };
        self.count_drop(now, at, Some(priority), reason);
    }

    /// Gives an admitted frame to the worker that owns its egress port.
    pub(super) fn hand_over(&mut self, now: Instant, at: usize, item: Transit<W::Frame>) {
        match self.handoff.give(item) {
            Ok(()) => self.given += 1,
            Err(item) => {
                self.count_drop(now, at, Some(item.priority), DropReason::HandoffFull);
                self.release(now, item.charge, item.ingress);
            }
        }
    }

    /// Takes an admitted frame that another worker handed over.
    pub(super) fn accept(&mut self, now: Instant, item: Transit<W::Frame>) {
        let Transit { mut frame, mut charge, egress, ingress, priority } = item;
        let to = self.local(egress).expect("a frame is handed to the owner of its egress port");
        if self.signals.filter.wants(frame.head()) {
            match self.accept_message(now, to, frame, charge, ingress) {
                Some(goes_on) => (frame, charge) = goes_on,
                None => return,
            }
        }
        let verdict = match self.ports[to].up {
            true => self.egress_verdict(now, ingress, to, priority, &mut frame),
            false => Err(DropReason::EgressDown),
        };
        match verdict {
            Ok(placed) => {
                self.enqueue(now, to, priority, placed, (frame, charge, ingress));
            }
            Err(reason) => {
                self.count_drop(now, to, Some(priority), reason);
                self.release(now, charge, ingress);
            }
        }
    }

    /// Releases the charge of a frame that left: at once for a group of this worker, through its
    /// owner for another's.
    #[inline]
    pub(super) fn release(&mut self, now: Instant, charge: buffer::Charge, ingress: PortId) {
        if self.index[ingress.index()].is_some() {
            let group = charge.group();
            if let Some(crossing) = self.ledger.release(charge) {
                self.on_crossing(now, ingress, group, crossing);
            }
        } else {
            let (port, group, cells) = buffer::Ledger::part(charge);
            self.handoff.released(port, group, cells);
        }
    }

    /// Credits the cells of this worker's groups that other workers released.
    pub(super) fn collect_credits(&mut self, now: Instant) {
        let Self { handoff, ledger, ports, tables, index, events, .. } = self;
        handoff.collect(|port, group, cells| {
            if let Some(crossing) = ledger.credit(port, group, cells) {
                let Some(at) = index[port.index()] else { return };
                let state = &mut ports[usize::from(at)];
                let named = tables[port.index()].priorities_of_group(group);
                let xoff = crossing == Crossing::Xoff;
                named.iter().for_each(|p| state.sender.want(now, p, xoff));
                events.crossed(now, port, group, xoff);
            }
        });
    }

    /// Handles a group that crossed its limit: its priorities are to be paused or resumed.
    #[cold]
    pub(super) fn on_crossing(
        &mut self,
        now: Instant,
        port: PortId,
        group: PriorityGroup,
        crossing: Crossing,
    ) {
        let Some(at) = self.local(port) else { return };
        let xoff = crossing == Crossing::Xoff;
        self.awake.insert(at);
        for p in self.tables[port.index()].priorities_of_group(group).iter() {
            self.ports[at].sender.want(now, p, xoff);
        }
        self.events.crossed(now, port, group, xoff);
    }
}
