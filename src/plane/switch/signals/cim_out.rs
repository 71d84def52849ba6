//! CIMs sent by the switch: to the peer of the port by which a congesting frame came in, at once,
//! and by that port whatever the address table says.

use super::Signals;
use super::cim::{CIM_FRAME_MAX, Unsaid};
use crate::Switch;
use crate::admit::Origin;
use congestion::isolation::CimOrder;
use contracts::frame::Frame;
use contracts::port::Port;
use contracts::stats::DropReason;
use contracts::world::{Handoff, Transit, World};
use ground::time::Instant;
use ground::units::{PortId, Priority};

impl<W: World> Switch<W> {
    /// Sends a CIM about the flow of `frame`, which congests the port at `at`.
    pub(super) fn send_cim(&mut self, now: Instant, at: usize, order: &CimOrder, frame: &W::Frame) {
        let CimOrder { add, to } = *order;
        let Signals { cims: Some(cims), isolation: Some(isolation), .. } = &self.signals else {
            return;
        };
        let mut octets = [0; CIM_FRAME_MAX];
        let peer = *isolation.peer(to).expect("CIMs are ordered for ports that have a peer");
        let written = cims.write((add, to), &peer, frame.head(), &mut octets);
        let priority = cims.priority;
        let made = written.and_then(|len| {
            let message = self.ports[at].port.message_frame(&octets[..len]);
            message.ok_or(Unsaid::NoMemory)
        });
        let cims = self.signals.cims.as_mut().expect("looked at above");
        let counters = &mut cims.counters[to.index()];
        match made {
            Ok(message) => {
                counters.sent += 1;
                self.ports[at].counters.originated += 1;
                self.send_by(now, (at, to), priority, message);
            }
            Err(Unsaid::NoAddress) => counters.no_address += 1,
            Err(Unsaid::Unwritable) => counters.unwritable += 1,
            Err(Unsaid::NoMemory) => counters.no_memory += 1,
        }
    }

    /// Queues a message at port `to`, accounted for as if it had come in by the port at `at`, which
    /// caused it.
    fn send_by(
        &mut self,
        now: Instant,
        (at, to): (usize, PortId),
        priority: Priority,
        frame: W::Frame,
    ) {
        let ingress = self.ports[at].id;
        if !self.handoff.is_up(to) {
            return self.count_drop(now, at, Some(priority), DropReason::EgressDown);
        }
        let group = self.tables[ingress.index()].group(priority);
        let (groups, wire_len) = ((None, group), frame.wire_len());
        let from = (at, ingress);
        let admitted = self.admit(now, from, priority, groups, Origin::Message, wire_len);
        if let Some(charge) = admitted {
            let placed = self.placed_plain(to, priority);
            let item = Transit { frame, charge, egress: to, ingress, priority };
            self.pass_on(now, at, self.local(to), placed, item);
        }
    }
}
