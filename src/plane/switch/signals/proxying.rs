//! Relay of Source Flow Control messages where the switch is a proxy: messages to switches and to
//! hosts that obey them are forwarded, those to other hosts become pauses (P802.1Qdw, 5.11 j as
//! proposed).
//!
//! A message is parsed and its sender validated at ingress; the proxy of the worker that owns the
//! egress port then decides on it. The sender of messages that the switch made itself is not
//! validated.

use super::Signals;
use super::message::packet;
use super::relay::{Relay, protected};
use crate::admit::Origin;
use crate::classify::Meta;
use crate::{Switch, UnknownHost};
use buffer::Charge;
use congestion::Named;
use congestion::proxy::{Message, Outcome, Refusal};
use contracts::frame::Frame;
use contracts::stats::DropReason;
use contracts::world::World;
use ground::time::Instant;
use ground::units::{BitsPerSec, PauseVector, PortId};
use pfc::FlowControl;
use wire::flow::FiveTuple;
use wire::sfcm::{self, Sfcm};
use wire::{EtherType, ip, vlan};

impl Signals {
    /// Returns true if a received message whose destination is unknown is flooded.
    pub(super) fn relays_unknown(&self, meta: &Meta) -> bool {
        let floods = |relay: &Relay| relay.unknown == UnknownHost::Flood && !meta.is_to_group();
        self.relay.as_deref().is_some_and(floods)
    }
}

impl<W: World> Switch<W> {
    /// Handles a received frame that may be a Source Flow Control message. Returns it if it is not.
    pub(super) fn ingest_sfcm(
        &mut self,
        now: Instant,
        slot: usize,
        mut frame: W::Frame,
        meta: &Meta,
    ) -> Option<W::Frame> {
        let Some(relay) = &mut self.signals.relay else { return Some(frame) };
        if !relay.is_message(meta.ethertype, packet(&frame, meta)) {
            return Some(frame);
        }
        // To the message port, but no message: a host could take it for one, so it goes no further.
        let Ok(read) = sfcm::Repr::parse(meta.ethertype, packet(&frame, meta)) else {
            relay.malformed += 1;
            self.count_drop(now, slot, None, DropReason::SfcmMalformed);
            return None;
        };
        let ingress = self.ports[slot].id;
        let message = message(&read, Some(ingress), None);
        // At ingress, where the port is known: its kind of neighbour decides which senders are valid.
        if !relay.proxy.admits(ingress, message.sender) {
            self.count_drop(now, slot, None, DropReason::SfcmRefused);
            return None;
        }
        match self.egress_of(now, slot, &mut frame, meta) {
            Ok((leaving, egress)) => {
                // Also one that only becomes a pause: the worker that decides on it may be another.
                self.note_received(now, slot, frame.wire_len(), meta);
                self.sfcm_leaves(now, slot, Some(ingress), frame, &leaving, egress);
            }
            Err(DropReason::MessageUnknown) if self.signals.relays_unknown(meta) => {
                self.note_received(now, slot, frame.wire_len(), meta);
                self.flood_message(now, slot, frame, meta);
            }
            Err(reason) => {
                // The proxy counts a reflected message apart from one without a route.
                let egress = (reason == DropReason::SameSegment).then_some(ingress);
                self.refuse_sfcm(now, slot, Message { egress, ..message });
            }
        }
        None
    }

    /// Drops a message; the proxy counts the reason.
    fn refuse_sfcm(&mut self, now: Instant, slot: usize, message: Message) {
        if let Some(relay) = &mut self.signals.relay {
            relay.proxy.on_message(now, &message);
        }
        self.count_drop(now, slot, None, DropReason::SfcmRefused);
    }

    /// Handles a Source Flow Control message about to leave by `egress`. `ingress` is `None` for
    /// one that the switch made.
    pub(super) fn sfcm_leaves(
        &mut self,
        now: Instant,
        slot: usize,
        ingress: Option<PortId>,
        frame: W::Frame,
        meta: &Meta,
        egress: PortId,
    ) {
        // For a port of another worker that worker asks its proxy.
        let outcome = match self.local(egress) {
            Some(to) => {
                let tagged = self.tables[egress.index()].is_tagged(meta.vid);
                let packet = packet(&frame, meta);
                self.ask_proxy(now, ingress, to, meta.ethertype, packet, tagged)
            }
            None => Outcome::Forward,
        };
        match outcome {
            Outcome::Forward => {
                // A message that the link brought may use headroom, one of the switch may not.
                let origin = if ingress.is_some() { Origin::Line } else { Origin::Message };
                self.deliver(now, slot, frame, meta, egress, origin);
            }
            Outcome::Paused(_) | Outcome::Resumed(_) => self.ports[slot].counters.consumed += 1,
            Outcome::Refused(_) => self.count_drop(now, slot, None, DropReason::SfcmRefused),
        }
    }

    /// Handles a Source Flow Control message from another worker, about to leave by the port at
    /// `to`. Returns it with its charge if it is to be forwarded.
    #[cold]
    pub(crate) fn accept_message(
        &mut self,
        now: Instant,
        to: usize,
        frame: W::Frame,
        charge: Charge,
        ingress: PortId,
    ) -> Option<(W::Frame, Charge)> {
        let walk = vlan::walk(frame.head()).ok();
        let outcome = match (&self.signals.relay, walk) {
            (Some(relay), Some(walk))
                if relay.is_message(walk.ethertype, &frame.head()[walk.l3..]) =>
            {
                // It was retagged for its egress port already.
                let tagged = walk.outer.is_some();
                self.ask_proxy(now, None, to, walk.ethertype, &frame.head()[walk.l3..], tagged)
            }
            _ => Outcome::Forward,
        };
        match outcome {
            Outcome::Forward => return Some((frame, charge)),
            Outcome::Paused(_) | Outcome::Resumed(_) => match self.local(ingress) {
                Some(slot) => self.ports[slot].counters.consumed += 1,
                None => self.taken_over[ingress.index()].consumed += 1,
            },
            Outcome::Refused(_) => self.count_drop_of(now, ingress, None, DropReason::SfcmRefused),
        }
        self.release(now, charge, ingress);
        None
    }

    /// Returns the proxy's decision on a message that would leave by the port at `to`, `tagged` or
    /// not.
    fn ask_proxy(
        &mut self,
        now: Instant,
        ingress: Option<PortId>,
        to: usize,
        ethertype: EtherType,
        packet: &[u8],
        tagged: bool,
    ) -> Outcome {
        let Some(relay) = &mut self.signals.relay else { return Outcome::Forward };
        let Ok(read) = sfcm::Repr::parse(ethertype, packet) else {
            // The message was parsed before; one that no longer parses causes no pause.
            relay.malformed += 1;
            return Outcome::Refused(Refusal::Malformed);
        };
        let id = self.ports[to].id;
        let Sfcm { priority, dscp, locator, .. } = read.message;
        let named = Named { priority, dscp, tagged };
        let priority = relay.priority(id, &self.tables[id.index()].source, named);
        let is_paused_by_port = self.ports[to].sender.wanted().contains(priority);
        let message = Message { priority, is_paused_by_port, ..message(&read, ingress, Some(id)) };
        let flow = read.message.flow().expect("what was parsed says which flow it is about");
        // No pause outlasts the entry of its flow (sfcMaxFlowLife).
        let pause = message.pause.min(relay.heard.left(now, id, flow));
        let message = Message { pause, ..message };
        // A new destination in the cache concerns flows whose forwarding decision is cached already.
        let known = relay.proxy.cache_counters().created;
        let outcome = relay.proxy.on_message(now, &message);
        relay.heard.on_outcome(now, id, flow, priority, outcome);
        if relay.proxy.cache_counters().created > known {
            // The next frame of each flow is examined again, as if it were the first.
            self.fdb.invalidate();
        }
        if matches!(outcome, Outcome::Paused(_) | Outcome::Resumed(_)) {
            relay.locate(locator);
            self.note_proxy(to);
        }
        outcome
    }

    /// Handles the first frame of a flow from the host at the port at `slot` (first ever, or after a
    /// long gap): the flow is paused at once if its destination is known to be congested.
    #[inline]
    pub(crate) fn flow_begins(&mut self, now: Instant, slot: usize, frame: &W::Frame, meta: &Meta) {
        let Some(relay) = &mut self.signals.relay else { return };
        // Without a cache nothing is known of a flow that begins.
        if !relay.caches {
            return;
        }
        let Ok(view) = ip::View::new(meta.ethertype, packet(frame, meta)) else { return };
        let (flow, id) = (FiveTuple::of(&view), self.ports[slot].id);
        if relay.begins(now, id, flow) && relay.proxy.on_flow(now, id, flow.dst, meta.priority) {
            self.note_proxy(slot);
        }
    }

    /// Updates the proxy's deadline of the port at `slot`.
    pub(crate) fn note_proxy(&mut self, slot: usize) {
        let port = &mut self.ports[slot];
        let relay = self.signals.relay.as_ref();
        port.proxy_due = relay.map_or(Instant::NEVER, |r| r.proxy.next_deadline(port.id));
        self.awake.insert(slot);
    }

    /// Merges the proxy's priorities into the pause frame `own` of the port at `slot`. `None` if
    /// there is no `own` and the proxy has nothing to send.
    pub(crate) fn with_proxy(
        &mut self,
        now: Instant,
        slot: usize,
        own: Option<PauseVector>,
    ) -> Option<PauseVector> {
        let id = self.ports[slot].id;
        let Some(relay) = &mut self.signals.relay else { return own };
        let vector = match own {
            Some(own) => Some(relay.proxy.merge(now, id, own)),
            None => relay.proxy.due(now, id),
        };
        // The deadline that led here is over, or the proxy would be asked in every poll.
        if vector.is_none() {
            self.note_proxy(slot);
        }
        vector
    }

    /// Reports that a PFC frame left by the port at `slot`; `alone` if only the proxy caused it.
    pub(crate) fn proxy_sent(
        &mut self,
        now: Instant,
        slot: usize,
        vector: &PauseVector,
        alone: bool,
    ) {
        self.tell_proxy(slot, |relay, id| {
            relay.proxy.on_sent(now, id, vector);
            // A frame that the groups of the port sent anyway cost the line nothing more.
            relay.pauses[id.index()] += u64::from(alone);
        });
    }

    /// Reports a new link rate of the port at `slot`.
    pub(crate) fn proxy_rate(&mut self, now: Instant, slot: usize, rate: BitsPerSec) {
        self.tell_proxy(slot, |relay, id| relay.proxy.set_rate(now, id, rate));
    }

    /// Reports that the link of the port at `slot` went down.
    pub(crate) fn proxy_link_down(&mut self, slot: usize) {
        self.tell_proxy(slot, |relay, id| relay.proxy.on_link_down(id));
    }

    /// Reports a new set of PFC priorities of the port at `slot`.
    pub(crate) fn proxy_mode(&mut self, slot: usize, mode: FlowControl) {
        self.tell_proxy(slot, |relay, id| relay.proxy.set_protected(id, protected(mode)));
    }

    /// Reports an event of the port at `slot` to the proxy, if there is one.
    fn tell_proxy(&mut self, slot: usize, event: impl FnOnce(&mut Relay, PortId)) {
        if let Some(relay) = &mut self.signals.relay {
            event(relay, self.ports[slot].id);
            self.note_proxy(slot);
        }
    }
}

/// Translates a message for the proxy.
fn message(read: &sfcm::Repr<'_>, ingress: Option<PortId>, egress: Option<PortId>) -> Message {
    let flow = read.message.flow().expect("what was parsed says which flow it is about");
    Message {
        ingress,
        egress,
        sender: read.headers.src,
        host: read.headers.dst,
        flow,
        priority: read.message.priority,
        pause: read.message.pause,
        is_paused_by_port: false,
    }
}
