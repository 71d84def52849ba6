//! From the decision into the buffer: retag, place, admit, enqueue or hand over, and release.

use super::Switch;
use super::classify::{Meta, Tables, UNTAGGED};
use super::port_state::Placed;
use super::shortcut::Decision;
use buffer::{Admission, Charge, Crossing, Refusal};
use contracts::frame::Frame;
use contracts::stats::DropReason;
use contracts::world::{Events, Handoff, Transit, World};
use ground::time::Instant;
use ground::units::{Pcp, PortId, Priority, PriorityGroup};
use wire::vlan::{self, TAG_LEN, Tpid};

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

/// Path of a frame to its egress queue.
struct Path {
    ingress: PortId,
    egress: PortId,
    /// Local index of the egress port if this worker owns it.
    to: Option<usize>,
    priority: Priority,
    /// Ingress group of the priority.
    group: PriorityGroup,
    origin: Origin,
}

impl<W: World> Switch<W> {
    /// Delivers one frame to `egress`: retags it, pads it, charges it, queues it.
    #[inline(never)]
    pub(super) fn deliver(
        &mut self,
        now: Instant,
        slot: usize,
        mut frame: W::Frame,
        meta: &Meta,
        egress: PortId,
        origin: Origin,
    ) {
        let priority = meta.priority;
        if !self.handoff.is_up(egress) {
            return self.count_drop(now, slot, Some(priority), DropReason::EgressDown);
        }
        // A frame may be too short because of its tag, of MACsec, or as a virtual device received it.
        if !retag(&mut frame, meta, &self.tables[egress.index()]) || !frame.pad() {
            return self.count_drop(now, slot, Some(priority), DropReason::NoTagRoom);
        }
        let to = self.local(egress);
        let ingress = self.ports[slot].id;
        let group = self.tables[ingress.index()].group(priority);
        self.join(now, slot, frame, Path { ingress, egress, to, priority, group, origin });
    }

    /// Admits a frame by its flow's cached decision, and puts it into its queue.
    #[inline(never)]
    pub(super) fn join_decided(
        &mut self,
        now: Instant,
        slot: usize,
        ingress: PortId,
        frame: W::Frame,
        decision: Decision,
    ) {
        let Decision { egress, to, priority, group, .. } = decision;
        let (to, origin) = (Some(usize::from(to)), Origin::Line);
        self.join(now, slot, frame, Path { ingress, egress, to, priority, group, origin });
    }

    /// Places a frame at its egress port, admits it, and passes it on to its queue.
    #[inline(always)]
    fn join(&mut self, now: Instant, slot: usize, mut frame: W::Frame, path: Path) {
        let Path { ingress, egress, to, priority, group, origin } = path;
        // Only its owner knows the queues of a port. Another worker decides when it takes the frame over.
        let verdict = match to {
            Some(to) => self.egress_verdict(now, ingress, to, egress, priority, &mut frame),
            None => Ok(self.placed_plain(egress, priority)),
        };
        let placed = match verdict {
            Ok(placed) => placed,
            Err(reason) => return self.count_drop(now, slot, Some(priority), reason),
        };
        let (preferred, wire_len) = (placed.group, frame.wire_len());
        let admitted = self.admit(now, slot, ingress, priority, preferred, group, origin, wire_len);
        if let Some(charge) = admitted {
            let item = Transit { frame, charge, egress, ingress, priority };
            self.pass_on(now, slot, to, placed, item);
        }
    }

    /// Returns the placement in the class of a frame's priority at `egress`.
    pub(super) fn placed_plain(&self, egress: PortId, priority: Priority) -> Placed {
        Placed::plain(self.tables[egress.index()].class(priority))
    }

    /// Charges a frame to the `preferred` group while that is below its limit, else to `group`.
    /// Handles the crossing of a limit, and counts the drop of a frame that is refused.
    #[allow(
        clippy::too_many_arguments,
        reason = "plain values in registers, on the path of a frame"
    )]
    #[inline(always)]
    pub(super) fn admit(
        &mut self,
        now: Instant,
        slot: usize,
        ingress: PortId,
        priority: Priority,
        preferred: Option<PriorityGroup>,
        group: PriorityGroup,
        origin: Origin,
        wire_len: u32,
    ) -> Option<Charge> {
        let admission = match origin {
            Origin::Line => self.admit_received(ingress, preferred, group, wire_len),
            // Without headroom, which is for frames that the link still brings after XOFF.
            Origin::Copy | Origin::Message => self.ledger.admit_copy(ingress, group, wire_len),
        };
        match admission {
            Admission::Admitted { charge, crossed } => {
                if let Some(crossing) = crossed {
                    // By the group that was charged, which may be the preferred one.
                    self.on_crossing(now, ingress, charge.group(), crossing);
                }
                Some(charge)
            }
            Admission::Refused(refusal) => {
                self.refused(now, slot, priority, origin, refusal);
                None
            }
        }
    }

    #[inline(always)]
    fn admit_received(
        &mut self,
        ingress: PortId,
        preferred: Option<PriorityGroup>,
        group: PriorityGroup,
        wire_len: u32,
    ) -> Admission {
        // A group above its limit has paused its sender: its headroom is not for frames of other groups.
        if let Some(other) = preferred.filter(|other| !self.ledger.is_xoff(ingress, *other)) {
            let admission = self.ledger.admit(ingress, other, wire_len);
            // Refused there, the frame falls back to the group of its priority, which has headroom for it.
            if matches!(admission, Admission::Admitted { .. }) {
                return admission;
            }
        }
        self.ledger.admit(ingress, group, wire_len)
    }

    /// Drops a frame that the ledger refused.
    #[cold]
    pub(super) fn refused(
        &mut self,
        now: Instant,
        slot: usize,
        priority: Priority,
        origin: Origin,
        refusal: Refusal,
    ) {
        let reason = match refusal {
            _ if origin == Origin::Message => DropReason::MessageNoRoom,
            Refusal::SharedLimit => DropReason::SharedLimit,
            Refusal::HeadroomFull => DropReason::HeadroomFull,
        };
        self.count_drop(now, slot, Some(priority), reason);
    }

    /// Puts an admitted frame into its queue at the port at `to`, or gives it to the worker that
    /// owns its egress port. Always inlined: otherwise every frame passes through memory.
    #[inline(always)]
    pub(super) fn pass_on(
        &mut self,
        now: Instant,
        slot: usize,
        to: Option<usize>,
        placed: Placed,
        item: Transit<W::Frame>,
    ) {
        if let Some(to) = to {
            let Transit { frame, charge, ingress, priority, .. } = item;
            return self.enqueue(now, to, priority, placed, frame, charge, ingress);
        }
        match self.handoff.give(item) {
            Ok(()) => self.given += 1,
            // The ring is full, because the other worker is late. No frame takes the charge along, so it is released
            // here.
            Err(Transit { priority, charge, ingress, .. }) => {
                self.drop_charged(now, slot, priority, DropReason::HandoffFull, charge, ingress);
            }
        }
    }

    /// Takes an admitted frame that another worker handed over.
    pub(super) fn accept(&mut self, now: Instant, item: Transit<W::Frame>) {
        let Transit { mut frame, mut charge, egress, ingress, priority } = item;
        let to = self.local(egress).expect("a frame is handed to the owner of its egress port");
        // The proxy for the host at the egress port is the one of this worker.
        if self.signals.filter.wants(frame.head()) {
            match self.accept_message(now, to, frame, charge, ingress) {
                Some(goes_on) => (frame, charge) = goes_on,
                None => return,
            }
        }
        // The link may have gone down while the frame was in the ring.
        let verdict = match self.ports[to].up {
            true => self.egress_verdict(now, ingress, to, egress, priority, &mut frame),
            false => Err(DropReason::EgressDown),
        };
        match verdict {
            Ok(placed) => self.enqueue(now, to, priority, placed, frame, charge, ingress),
            Err(reason) => {
                self.count_drop_of(now, ingress, Some(priority), reason);
                self.release(now, charge, ingress);
            }
        }
    }

    /// Drops an admitted frame of the port at `slot`.
    pub(super) fn drop_charged(
        &mut self,
        now: Instant,
        slot: usize,
        priority: Priority,
        reason: DropReason,
        charge: Charge,
        ingress: PortId,
    ) {
        self.count_drop(now, slot, Some(priority), reason);
        self.release(now, charge, ingress);
    }

    /// Releases the charge of a frame that left: at once for a group of this worker, through its
    /// owner for another's.
    #[inline]
    pub(super) fn release(&mut self, now: Instant, charge: Charge, ingress: PortId) {
        if self.index[ingress.index()].is_some() {
            let group = charge.group();
            if let Some(crossing) = self.ledger.release(charge) {
                self.on_crossing(now, ingress, group, crossing);
            }
        } else {
            // A count has one writer: the owner of the group credits the cells in its next poll.
            let (port, group, cells) = buffer::Ledger::part(charge);
            self.handoff.released(port, group, cells);
        }
    }

    /// Credits the cells of this worker's groups that other workers released.
    pub(super) fn collect_credits(&mut self, now: Instant) {
        let Self { handoff, ledger, ports, tables, index, events, .. } = self;
        handoff.collect(|port, group, cells| {
            if let Some(crossing) = ledger.credit(port, group, cells) {
                let Some(slot) = index[port.index()] else { return };
                let state = &mut ports[usize::from(slot)];
                // As `on_crossing`, which cannot be called while the handoff is borrowed.
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
        let Some(slot) = self.local(port) else { return };
        let xoff = crossing == Crossing::Xoff;
        self.awake.insert(slot);
        // A demand, not a frame yet: it stays open until a pause frame could be made.
        for p in self.tables[port.index()].priorities_of_group(group).iter() {
            self.ports[slot].sender.want(now, p, xoff);
        }
        self.events.crossed(now, port, group, xoff);
    }
}

/// Sets the C-tag that the egress port requires: none, the frame's VLAN, or the received one.
/// Returns false if there is no room for a tag.
#[inline]
fn retag<F: Frame>(frame: &mut F, meta: &Meta, egress: &Tables) -> bool {
    let tag = (meta.tag != UNTAGGED).then_some(meta.tag);
    match (tag, egress.is_tagged(meta.vid)) {
        (None, false) => true,
        // The tag is right as it is, and its PCP and DEI stay.
        (Some(vid), true) if vid == meta.vid.get() => true,
        (Some(_), true) => {
            // A priority tag gets the VLAN that the ingress port put the frame into.
            let tag = tag_of(frame.head(), meta);
            vlan::replace(frame.head_mut(), &tag).is_ok()
        }
        (Some(_), false) => vlan::remove(frame.head_mut()).is_ok() && frame.trim_front(TAG_LEN),
        (None, true) => {
            let tag = tag_of(&[], meta);
            frame.prepend(TAG_LEN) && vlan::insert(frame.head_mut(), &tag).is_ok()
        }
    }
}

/// Returns the tag for a frame: the PCP and DEI of its old one, or its priority if it had none.
fn tag_of(old: &[u8], meta: &Meta) -> vlan::Repr {
    let old = vlan::walk(old).ok().and_then(|walk| walk.outer);
    // A frame without a tag has no code point: that of its priority is sent.
    let pcp = Pcp::new(meta.priority.get()).expect("a priority is a code point");
    vlan::Repr {
        tpid: Tpid::C,
        pcp: old.map_or(pcp, |tag| tag.pcp),
        dei: old.is_some_and(|tag| tag.dei),
        vid: Some(meta.vid),
    }
}
