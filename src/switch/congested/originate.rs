//! Messages that the switch makes by itself, and the way of messages through it.

use crate::frame::Frame;
use crate::port::Port;
use crate::stats::DropReason;
use crate::switch::Switch;
use crate::switch::classify::{Class, Meta, classify};
use crate::switch::fdb::Key;
use crate::time::Instant;
use crate::units::{PortId, Priority};
use crate::world::World;

impl<W: World> Switch<W> {
    /// Sends `octets` on their way as if the port at `at` had received them, with `priority`. Gives
    /// whether there was memory for them.
    pub(super) fn originate(
        &mut self,
        now: Instant,
        at: usize,
        octets: &[u8],
        priority: Priority,
    ) -> bool {
        let port = &mut self.ports[at];
        let Some(mut frame) = port.port.message_frame(octets) else { return false };
        port.counters.originated += 1;
        let tables = &self.tables[port.id.index()];
        let meta = match classify(tables, frame.head(), frame.wire_len(), self.max_frame) {
            Class::Data(meta) => Meta { priority, ..meta },
            Class::Drop(reason) => {
                self.count_drop(now, at, Some(priority), reason);
                return true;
            }
            Class::MacControl | Class::Agents => unreachable!("messages are data"),
        };
        let is_sfcm = self.congested.filter.is_sfcm(meta.ethertype, packet(&frame, &meta));
        match self.way(now, at, &mut frame, &meta) {
            Ok((meta, egress)) if is_sfcm => {
                self.sfcm_leaves(now, at, None, frame, &meta, egress);
            }
            Ok((meta, egress)) => self.deliver(now, at, frame, &meta, egress),
            Err(reason) => self.count_drop(now, at, Some(priority), reason),
        }
        true
    }

    /// Where a message goes: by the router, or to where its destination was learnt. It is never
    /// flooded, since everybody would obey it.
    ///
    /// # Errors
    /// Why it goes nowhere.
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

/// The packet in a frame.
pub(super) fn packet<'a>(frame: &'a impl Frame, meta: &Meta) -> &'a [u8] {
    &frame.head()[usize::from(meta.l3)..]
}
