//! Messages that the switch makes by itself.

use crate::frame::Frame;
use crate::port::Port;
use crate::switch::Switch;
use crate::switch::classify::{Class, Meta, classify};
use crate::time::Instant;
use crate::units::Priority;
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
        let Some(frame) = port.port.message_frame(octets) else { return false };
        port.counters.originated += 1;
        let tables = &self.tables[port.id.index()];
        match classify(tables, frame.head(), frame.wire_len(), self.max_frame) {
            Class::Data(meta) => self.forward(now, at, frame, &Meta { priority, ..meta }),
            Class::Drop(reason) => self.count_drop(now, at, Some(priority), reason),
            Class::MacControl | Class::Agents => unreachable!("messages are data"),
        }
        true
    }
}
