//! From the port to the decision: receive, classify, learn, forward.

use super::Switch;
use super::admit::Origin;
use super::classify::{Class, Meta, classify, classify_usual, is_for_agents, is_usual_len};
use super::fdb::{Key, Learnt};
use super::shortcut::{Decision, Flow};
use buffer::Admission;
use contracts::frame::{Burst, Frame};
use contracts::port::Port;
use contracts::stats::DropReason;
use contracts::world::{Events, Handoff, World};
use ground::time::Instant;
use ground::units::{PortId, Priority};

impl<W: World> Switch<W> {
    /// Receives one burst from the port at `slot` and processes each frame. Returns the number of
    /// frames.
    #[inline]
    pub(super) fn receive(&mut self, now: Instant, slot: usize) -> usize {
        if self.draining {
            // Frames that the port accepted before still have to leave.
            self.ports[slot].port.pass_on();
            return 0;
        }
        let mut burst: Burst<W::Frame> = Burst::new();
        // The last poll's `now` was before its pause arrived; this one's is not.
        if self.ports[slot].undated.is_some() {
            self.date_again(now, slot);
        }
        let port = &mut self.ports[slot];
        port.port.rx_burst(&mut burst);
        let frames = burst.len();
        if frames == 0 {
            return 0;
        }
        // The clock is read again at the first link-protocol frame of this burst.
        port.found_at = None;
        port.counters.rx_frames += frames as u64;
        // The frames admitted now are reported to the other workers before any more are admitted.
        self.exchange_at = now;
        self.ingest_burst(now, slot, &mut burst);
        frames
    }

    /// Processes a frame already found not to be a message.
    #[inline(never)]
    pub(super) fn ingest_known(&mut self, now: Instant, slot: usize, frame: W::Frame) {
        match self.decided(now, slot, &frame) {
            Some((decision, _)) => self.take_shortcut(now, slot, frame, decision),
            None => self.ingest_undecided(now, slot, frame),
        }
    }

    /// Returns the cached decision for a frame that is not a message, and its number.
    #[inline(always)]
    pub(super) fn decided(
        &self,
        now: Instant,
        slot: usize,
        frame: &W::Frame,
    ) -> Option<(Decision, u64)> {
        let (shortcuts, version) = (&self.ports[slot].shortcuts, self.fdb.version());
        let flow = Flow::of(frame.head())?;
        let decision = match shortcuts.find(now, version, flow) {
            Some(decision) => decision,
            None => shortcuts.find_beside(now, version, frame.head())?,
        };
        // The key of a flow has no length: a frame that must be padded, or is too long, takes the full path.
        is_usual_len(frame.wire_len(), self.max_frame).then_some(decision)
    }

    /// Processes a frame for which there is no cached decision.
    #[inline(never)]
    pub(super) fn ingest_undecided(&mut self, now: Instant, slot: usize, frame: W::Frame) {
        let port = &self.ports[slot];
        let tables = &self.tables[port.id.index()];
        match classify_usual(tables, frame.head(), frame.wire_len(), self.max_frame) {
            // The cold function drops the frames of a port that is down.
            Some(meta) if port.up => self.ingest_data(now, slot, frame, &meta),
            _ => self.ingest_unusual(now, slot, frame),
        }
    }

    /// Processes a frame that is dropped, is a pause, or has an unusual format.
    #[cold]
    #[inline(never)]
    pub(super) fn ingest_unusual(&mut self, now: Instant, slot: usize, frame: W::Frame) {
        let port = &self.ports[slot];
        if !port.up {
            return self.count_drop(now, slot, None, DropReason::LinkDown);
        }
        if is_for_agents(frame.head(), frame.wire_len(), self.max_frame) {
            return self.agent_frame(now, slot, &frame);
        }
        let tables = &self.tables[port.id.index()];
        match classify(tables, frame.head(), frame.wire_len(), self.max_frame) {
            Class::Data(meta) => self.ingest_data(now, slot, frame, &meta),
            Class::MacControl => self.mac_control(now, slot, &frame),
            Class::Agents => self.agent_frame(now, slot, &frame),
            Class::Drop(reason) => self.count_drop(now, slot, None, reason),
        }
    }

    /// Processes a frame to be forwarded.
    #[inline]
    pub(super) fn ingest_data(&mut self, now: Instant, slot: usize, frame: W::Frame, meta: &Meta) {
        self.note_received(now, slot, frame.wire_len(), meta);
        self.flow_begins(now, slot, &frame, meta);
        self.forward(now, slot, frame, meta);
    }

    /// Counts a frame that is to be forwarded, and learns from it.
    #[inline]
    pub(super) fn note_received(&mut self, now: Instant, slot: usize, wire_len: u32, meta: &Meta) {
        // Counted before the decision: a frame that is dropped later was received all the same.
        let ingress = self.count_received(now, slot, wire_len, meta.priority);
        self.learn(now, ingress, meta);
    }

    /// Counts a frame that is to be forwarded. Returns the identifier of its port.
    #[inline(always)]
    fn count_received(
        &mut self,
        now: Instant,
        slot: usize,
        wire_len: u32,
        priority: Priority,
    ) -> PortId {
        let port = &mut self.ports[slot];
        let id = port.id;
        let counters = &mut port.counters.priorities[priority.index()];
        counters.rx_frames += 1;
        counters.rx_bytes += u64::from(wire_len);
        self.events.received(now, id, priority, wire_len);
        id
    }

    /// Forwards a frame by its flow's cached decision.
    #[inline(always)]
    pub(super) fn take_shortcut(
        &mut self,
        now: Instant,
        slot: usize,
        frame: W::Frame,
        decision: Decision,
    ) {
        let ingress = self.count_received(now, slot, frame.wire_len(), decision.priority);
        self.forward_cached(now, slot, ingress, frame, decision);
    }

    /// Forwards a frame that leaves unmodified, by a port of this worker. If the port is idle the
    /// frame bypasses the queue; if it is also lossy and the port cannot be held up, it is not
    /// charged.
    #[inline(always)]
    pub(super) fn forward_cached(
        &mut self,
        now: Instant,
        slot: usize,
        ingress: PortId,
        frame: W::Frame,
        decision: Decision,
    ) {
        let Decision { egress, to, priority, group, lossy } = decision;
        let (to, wire_len) = (usize::from(to), frame.wire_len());
        let port = &mut self.ports[to];
        if !port.is_idle_for(now, priority) {
            return self.join_decided(now, slot, ingress, frame, decision);
        }
        // Without pauses the frame cannot wait anywhere, so the ledger would take and return its cells in one poll.
        if port.straight && lossy {
            self.events.sent(now, egress, priority, wire_len);
            self.awake.insert(to);
            return port.staged.push(frame, None, ingress, priority);
        }
        // A device that obeys pauses may hold the frame for long: its cells stay charged until the port accepts it.
        match self.ledger.admit(ingress, group, wire_len) {
            Admission::Admitted { charge, crossed } => {
                self.events.sent(now, egress, priority, wire_len);
                self.awake.insert(to);
                port.staged.push(frame, Some(charge), ingress, priority);
                if let Some(crossing) = crossed {
                    self.on_crossing(now, ingress, group, crossing);
                }
            }
            Admission::Refused(refusal) => {
                self.refused(now, slot, priority, Origin::Line, refusal);
            }
        }
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
}
