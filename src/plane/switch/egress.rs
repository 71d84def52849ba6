//! From the buffer to the port: queue, mark, schedule, send, release.

use super::Switch;
use super::port_state::{Placed, Queued};
use buffer::{Charge, SharedLimit};
use congestion::{EcnPlan, MarkAt, NotEct, Verdict, marks};
use contracts::frame::Frame;
use contracts::port::Port;
use contracts::stats::DropReason;
use contracts::world::{Events, World};
use ground::time::Instant;
use ground::units::{Cells, PortId, Priority, PrioritySet, TrafficClass};
use pfc::StormAction;
use schedule::Popped;
use wire::ip::{CeMark, force_ce_in_frame, mark_ce_in_frame};

impl<W: World> Switch<W> {
    /// Decides if a frame may join a queue at the port `egress`, which is at `to`, and selects the
    /// queue.
    #[inline]
    pub(super) fn egress_verdict(
        &mut self,
        now: Instant,
        ingress: PortId,
        to: usize,
        egress: PortId,
        priority: Priority,
        frame: &mut W::Frame,
    ) -> Result<Placed, DropReason> {
        let own = self.tables[egress.index()].class(priority);
        let (class, hold) = self.place(now, ingress, to, egress, own, frame);
        // Only a frame that isolation moved may be charged to another group than that of its priority.
        let group = if class == own { None } else { self.group_of_isolated(ingress, priority) };
        let port = &self.ports[to];
        let queue = port.scheduler.bytes(class);
        // The first test is false nearly always, and spares the second.
        if port.watchdog.any_stormed() && port.watchdog.action(class) == Some(StormAction::Drop) {
            return Err(DropReason::Watchdog);
        }
        // An isolated frame keeps the limit of its original class: a lossless class has none.
        let limit = port.limits[own.index()];
        if limit != SharedLimit::Unlimited {
            // In cells, as the limit is: short frames take more of the buffer than their bytes.
            let cells = port.cells[class.index()] + self.ledger.cells_for(frame.wire_len()).0;
            if Cells(cells) > self.ledger.queue_limit(limit) {
                return Err(DropReason::QueueLimit);
            }
        }
        let marked = self.mark(egress, class, queue, MarkAt::Enqueue, frame)?;
        // The frames that are queued now joined below Kmax; above it they are marked when they leave.
        if self.tables[egress.index()].ecn[class.index()].is_some_and(|p| p.marks_all(queue)) {
            self.ports[to].marked_ahead[class.index()] = queue;
        }
        Ok(Placed { class, hold, group, marked })
    }

    /// Applies the marking curve of a frame's class, if it is configured for this place.
    #[inline]
    fn mark(
        &mut self,
        egress: PortId,
        class: TrafficClass,
        queue: u64,
        place: MarkAt,
        frame: &mut W::Frame,
    ) -> Result<bool, DropReason> {
        let Some(plan) = &self.tables[egress.index()].ecn[class.index()] else { return Ok(false) };
        // Sampled at one of the two places: a frame that is sampled twice would be marked twice as often.
        if !plan.samples_at(place) || marks(plan, queue, &mut self.rng) == Verdict::Pass {
            return Ok(false);
        }
        set_ce(plan, queue, frame)
    }

    /// Marks a frame that leaves if its queue exceeded Kmax while it was in it and the curve marks
    /// all that is queued then.
    #[inline]
    fn mark_ahead(
        &mut self,
        slot: usize,
        class: TrafficClass,
        len: u32,
        frame: &mut W::Frame,
    ) -> bool {
        let ahead = &mut self.ports[slot].marked_ahead[class.index()];
        if *ahead == 0 {
            return false;
        }
        // Counts down the bytes that were queued when Kmax was exceeded, one frame after the other.
        *ahead = ahead.saturating_sub(u64::from(len));
        let plan = &self.tables[self.ports[slot].id.index()].ecn[class.index()];
        // A frame in the queue is not dropped any more.
        plan.as_ref().is_some_and(|plan| matches!(set_ce(plan, u64::MAX, frame), Ok(true)))
    }

    /// Puts an admitted frame into its queue at the port at `to`.
    #[allow(
        clippy::too_many_arguments,
        reason = "plain values in registers, on the path of a frame"
    )]
    #[inline]
    pub(super) fn enqueue(
        &mut self,
        now: Instant,
        to: usize,
        priority: Priority,
        placed: Placed,
        frame: W::Frame,
        charge: Charge,
        ingress: PortId,
    ) {
        let Placed { class, hold, marked, .. } = placed;
        let len = frame.wire_len();
        let before = self.ports[to].scheduler.bytes(class);
        self.joins(now, to, class, priority, before + u64::from(len), &frame, hold);
        let port = &mut self.ports[to];
        let item = Queued { frame, charge, ingress, marked, hold };
        port.scheduler.push(&mut self.arena, class, priority, len, item);
        port.cells[class.index()] += self.ledger.cells_for(len).0;
        // A frame behind others changes nothing at a port that waits for its link.
        if before == 0 || port.link_free(now) {
            self.awake.insert(to);
        }
        self.events.enqueued(now, port.id, class, port.scheduler.bytes(class));
    }

    /// Transmits on the port at `slot`: pauses first, then frames scheduled before, then new ones
    /// from the scheduler.
    pub(super) fn transmit(&mut self, now: Instant, slot: usize) -> bool {
        let mut progressed = false;
        // Pauses before data, because each frame ahead of an XOFF is a frame more that the peer sends.
        if self.ports[slot].has_duties(now) {
            progressed = self.watch(now, slot);
            progressed |= self.send_pauses(now, slot);
            progressed |= self.send_agents(now, slot);
        }
        progressed |= self.hand_to_port(now, slot);
        let port = &self.ports[slot];
        // A device that refuses frames gets no more of them: in their queues they can still be paused.
        if port.scheduler.is_empty() || !port.staged.is_empty() {
            return progressed;
        }
        let tables = &self.tables[port.id.index()];
        let signals = &self.signals;
        let paused = self.ports[slot].held_back(now, |class| signals.priorities_in(class, tables));
        let guarded = self.guarded_classes(slot, paused);
        // A device that does PFC itself holds priorities back, too.
        let stopped = PrioritySet(paused.0 | self.ports[slot].port.held().0);
        // Frames that leave hold no others: where none is held now, none is later in this loop.
        let holds = self.has_holds(slot);
        while !self.ports[slot].staged.is_full() && self.ports[slot].link_free(now) {
            let held = if holds { self.held_classes(slot) | guarded } else { guarded };
            let port = &mut self.ports[slot];
            let Some(popped) = port.scheduler.next(&mut self.arena, stopped, held) else { break };
            self.stage(now, slot, popped);
            progressed = true;
        }
        self.hand_to_port(now, slot) | progressed
    }

    /// Moves a scheduled frame to the staging area.
    #[inline]
    fn stage(&mut self, now: Instant, slot: usize, popped: Popped<Queued<W::Frame>>) {
        let Popped { item, len, priority, class } = popped;
        let Queued { mut frame, charge, ingress, mut marked, hold } = item;
        // Its memory arrives while this frame is handled.
        if let Some(next) = self.ports[slot].scheduler.first(&self.arena, class) {
            next.frame.fetch();
        }
        self.leaves(slot, class, hold);
        self.ports[slot].cells[class.index()] -= self.ledger.cells_for(len).0;
        marked |= self.mark_ahead(slot, class, len, &mut frame);
        let port = &self.ports[slot];
        // By the bytes that stay behind the frame, as it has left the queue already.
        let (egress, left) = (port.id, port.scheduler.bytes(class));
        match self.mark(egress, class, left, MarkAt::Dequeue, &mut frame) {
            Ok(m) => marked |= m,
            Err(reason) => {
                return self.drop_charged(now, slot, priority, reason, charge, ingress);
            }
        }
        let port = &mut self.ports[slot];
        if marked {
            port.counters.priorities[priority.index()].ecn_marked += 1;
            self.events.marked(now, port.id, class);
        }
        self.events.sent(now, port.id, priority, len);
        port.occupy_link(now, len);
        // The charge goes along: the cells are free when the device has the frame, not before.
        port.staged.push(frame, Some(charge), ingress, priority);
    }

    /// Offers the staged frames to the port, if there are any; see [`Self::offer`].
    #[inline(always)]
    fn hand_to_port(&mut self, now: Instant, slot: usize) -> bool {
        !self.ports[slot].staged.is_empty() && self.offer(now, slot)
    }

    /// Offers the staged frames to the port, counts those that it accepts, and releases their
    /// charges.
    fn offer(&mut self, now: Instant, slot: usize) -> bool {
        let port = &mut self.ports[slot];
        // May be fewer than offered, or none: the device is full, or paused by its own PFC.
        let mut taken = port.staged.offer(&mut port.port);
        let progressed = taken > 0;
        while let Some(run) = self.ports[slot].staged.finished_run(&mut taken, &self.ledger) {
            let counters = &mut self.ports[slot].counters;
            let frames = u64::from(run.frames);
            counters.tx_frames += frames;
            counters.tx_bytes += run.bytes;
            let counters = &mut counters.priorities[run.priority.index()];
            counters.tx_frames += frames;
            counters.tx_bytes += run.bytes;
            if let Some(charge) = run.charge {
                self.release(now, charge, run.ingress);
            }
        }
        progressed
    }

    /// Drops all frames queued in one class of a port.
    pub(super) fn flush_queue(
        &mut self,
        now: Instant,
        slot: usize,
        class: TrafficClass,
        reason: DropReason,
    ) {
        self.ports[slot].marked_ahead[class.index()] = 0;
        while let Some(popped) = self.ports[slot].scheduler.take(&mut self.arena, class) {
            let Queued { charge, ingress, hold, .. } = popped.item;
            self.leaves(slot, class, hold);
            self.ports[slot].cells[class.index()] -= self.ledger.cells_for(popped.len).0;
            self.drop_charged(now, slot, popped.priority, reason, charge, ingress);
        }
    }

    /// Drops all frames queued at a port, staged ones included.
    pub(super) fn flush_port(&mut self, now: Instant, slot: usize, reason: DropReason) {
        for class in TrafficClass::ALL {
            self.flush_queue(now, slot, class, reason);
        }
        // Staged frames are in no queue any more.
        while let Some(run) = self.ports[slot].staged.abandon() {
            for _ in 0..run.frames {
                self.count_drop(now, slot, Some(run.priority), reason);
            }
            if let Some(charge) = run.charge {
                self.release(now, charge, run.ingress);
            }
        }
        let control = self.ports[slot].control.len();
        self.ports[slot].control.clear();
        for _ in 0..control {
            self.count_drop(now, slot, None, reason);
        }
    }

    /// Drops all held frames when the switch stops, each counted as [`DropReason::Flushed`].
    pub fn flush(&mut self, now: Instant) {
        for slot in 0..self.ports.len() {
            self.flush_port(now, slot, DropReason::Flushed);
        }
    }
}

/// Sets CE on a selected frame that found a queue of `queue` bytes. Returns true if it was not set
/// before.
#[inline]
fn set_ce<F: Frame>(plan: &EcnPlan, queue: u64, frame: &mut F) -> Result<bool, DropReason> {
    match mark_ce_in_frame(frame.head_mut()) {
        CeMark::Marked => Ok(true),
        CeMark::AlreadyCe => Ok(false),
        // A sender without ECN learns of congestion by loss alone.
        CeMark::NotEct | CeMark::NotIp if plan.drops_not_ect(queue) => Err(DropReason::RedNotEct),
        // The source document marks every packet above the maximum. RFC 3168 forbids that for Not-ECT, so it is a
        // setting.
        CeMark::NotEct if plan.not_ect == NotEct::Letter => Ok(force_ce_in_frame(frame.head_mut())),
        CeMark::NotEct | CeMark::NotIp => Ok(false),
    }
}
