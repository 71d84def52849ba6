//! Messages made by the switch, messages received, and the forwarding of both.

use crate::Switch;
use crate::admit::Origin;
use crate::classify::{Class, Meta, classify};
use crate::fdb::Key;
use crate::plan::UnknownHost;
use congestion::sfc::Fate;
use contracts::frame::Frame;
use contracts::port::Port;
use contracts::stats::DropReason;
use contracts::world::{Handoff, World};
use ground::time::Instant;
use ground::units::{PortId, Priority};

impl<W: World> Switch<W> {
    /// Injects `octets` with `priority` as if the port at `at` had received them. Returns their
    /// fate: unbuilt if there was no memory for the frame. A message for a port of another worker is
    /// sent when it is handed over; `unknown` is the handling of one to a host that is not in the
    /// address table.
    pub(super) fn originate(
        &mut self,
        now: Instant,
        at: usize,
        octets: &[u8],
        (priority, unknown): (Priority, UnknownHost),
    ) -> Fate {
        let port = &mut self.ports[at];
        let Some(mut frame) = port.port.message_frame(octets) else { return Fate::Unbuilt };
        port.counters.originated += 1;
        let drops = port.counters.drops.total();
        let tables = &self.tables[port.id.index()];
        let meta = match classify(tables, frame.head(), frame.wire_len(), self.max_frame) {
            Class::Data(meta) => Meta { priority, ..meta },
            Class::Drop(reason) => {
                self.count_drop(now, at, Some(priority), reason);
                return Fate::Lost;
            }
            Class::MacControl | Class::Agents => unreachable!("messages are data"),
        };
        let is_sfcm = self.signals.filter.is_sfcm(meta.ethertype, packet(&frame, &meta));
        match self.way(now, at, &mut frame, &meta) {
            Ok((meta, egress)) if is_sfcm => {
                self.sfcm_leaves(now, at, None, frame, &meta, egress);
            }
            Ok((meta, egress)) => {
                self.deliver(now, at, frame, &meta, egress, Origin::Message);
            }
            Err(DropReason::MessageUnknown) if unknown == UnknownHost::Flood => {
                self.flood_message(now, at, frame, &meta);
            }
            Err(reason) => self.count_drop(now, at, Some(priority), reason),
        }
        // Whatever dropped the message counted that at the port it was injected at.
        let dropped = self.ports[at].counters.drops.total() > drops;
        if dropped { Fate::Lost } else { Fate::Sent }
    }

    /// Sends a message with an unknown destination to every other port of its VLAN, as an unknown
    /// unicast frame, but not to hosts that the proxy acts for: they would take no notice, and their
    /// proxy would pause each of them.
    pub(super) fn flood_message(
        &mut self,
        now: Instant,
        at: usize,
        mut frame: W::Frame,
        meta: &Meta,
    ) {
        let ingress = self.ports[at].id;
        let mut last = None;
        for n in 0..self.tables.len() {
            let to = PortId::new(n as u16).expect("as many ports as there are identifiers");
            let wanted = to != ingress && self.tables[n].is_member(meta.vid);
            if !wanted || !self.handoff.is_up(to) || self.signals.acts_for(to) {
                continue;
            }
            let Some(before) = last.replace(to) else { continue };
            self.ports[at].counters.copied += 1;
            match frame.duplicate() {
                Some(copy) => self.deliver(now, at, copy, meta, before, Origin::Message),
                None => self.count_drop(now, at, Some(meta.priority), DropReason::NoMemory),
            }
        }
        match last {
            Some(to) => self.deliver(now, at, frame, meta, to, Origin::Message),
            None => self.count_drop(now, at, Some(meta.priority), DropReason::MessageUnknown),
        }
    }

    /// Handles a received frame that the filter selected as a possible message.
    #[cold]
    pub(crate) fn ingest_message(&mut self, now: Instant, at: usize, frame: W::Frame) {
        if self.hear_cim(now, at, &frame) {
            return;
        }
        let (port, wire_len) = (&self.ports[at], frame.wire_len());
        let tables = &self.tables[port.id.index()];
        let class = classify(tables, frame.head(), wire_len, self.max_frame);
        let (true, Class::Data(meta)) = (port.up, class) else {
            return self.ingest_unusual(now, at, frame);
        };
        let l3 = usize::from(meta.l3);
        if self.signals.filter.is_sfcm(meta.ethertype, &frame.head()[l3..]) {
            if let Some(frame) = self.ingest_sfcm(now, at, frame, &meta) {
                self.ingest_data(now, at, frame, &meta);
            }
            return;
        }
        if self.signals.filter.learns() {
            if let Some(notifier) = &mut self.signals.notifier {
                notifier.learn(now, frame.head(), l3, meta.ethertype);
            }
        }
        self.ingest_known(now, at, frame);
    }

    /// Finds the egress port of a message: by the router, or by its learnt destination.
    ///
    /// # Errors
    /// The reason for dropping it.
    pub(super) fn way(
        &mut self,
        now: Instant,
        at: usize,
        frame: &mut W::Frame,
        meta: &Meta,
    ) -> Result<(Meta, PortId), DropReason> {
        if !self.router.is_empty() && self.router.wants(meta) {
            return self.route_ip(at, frame, meta);
        }
        if meta.is_to_group() {
            return Err(DropReason::MessageUnknown);
        }
        match self.fdb.lookup(now, Key::from_parts(meta.vid, meta.dst)) {
            Some(egress) if egress == self.ports[at].id => Err(DropReason::SameSegment),
            Some(egress) => Ok((*meta, egress)),
            None => Err(DropReason::MessageUnknown),
        }
    }
}

/// Returns the packet in a frame.
pub(super) fn packet<'a>(frame: &'a impl Frame, meta: &Meta) -> &'a [u8] {
    &frame.head()[usize::from(meta.l3)..]
}
