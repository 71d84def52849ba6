//! Congestion messages. A message names the frame that it is about, and leaves in a frame with the addresses of that
//! one swapped and its tags copied. The switch forwards the messages that it makes and those that it receives.

use crate::admit::Origin;
use crate::classify::{Class, Meta, classify};
use crate::fdb::Key;
use crate::{Switch, UnknownHost};
use congestion::FlowKey;
use congestion::sfc::Fate;
use contracts::frame::Frame;
use contracts::port::Port;
use contracts::stats::DropReason;
use contracts::world::{Handoff, World};
use ground::time::Instant;
use ground::units::{Dscp, Mac, PortId, Priority};
use wire::flow::FiveTuple;
use wire::ip::{self, Fragment, Protocol};
use wire::roce::{self, Opcode};
use wire::{EtherType, WireError, ethernet, sfcm, udp, vlan};

impl<W: World> Switch<W> {
    /// Injects `octets` with `priority` as if the port at `slot` had received them. Returns their
    /// fate: unbuilt if there was no memory for the frame. A message for a port of another worker is
    /// sent when it is handed over; `unknown` is the handling of one to a host that is not in the
    /// address table.
    pub(super) fn originate(
        &mut self,
        now: Instant,
        slot: usize,
        octets: &[u8],
        priority: Priority,
        unknown: UnknownHost,
    ) -> Fate {
        let port = &mut self.ports[slot];
        let Some(mut frame) = port.port.message_frame(octets) else { return Fate::Unbuilt };
        port.counters.originated += 1;
        // Delivery reports no result: the drops of the port before and after tell the message's fate.
        let drops = port.counters.drops.total();
        let tables = &self.tables[port.id.index()];
        let meta = match classify(tables, frame.head(), frame.wire_len(), self.max_frame) {
            // The configured priority, whatever the tag that was copied says to this port.
            Class::Data(meta) => Meta { priority, ..meta },
            Class::Drop(reason) => {
                self.count_drop(now, slot, Some(priority), reason);
                return Fate::Lost;
            }
            Class::MacControl | Class::Agents => unreachable!("messages are data"),
        };
        let is_sfcm = self.signals.filter.is_sfcm(meta.ethertype, packet(&frame, &meta));
        match self.egress_of(now, slot, &mut frame, &meta) {
            // The host may be behind this switch's own proxy, which then pauses it.
            Ok((meta, egress)) if is_sfcm => {
                self.sfcm_leaves(now, slot, None, frame, &meta, egress);
            }
            Ok((meta, egress)) => {
                self.deliver(now, slot, frame, &meta, egress, Origin::Message);
            }
            Err(DropReason::MessageUnknown) if unknown == UnknownHost::Flood => {
                self.flood_message(now, slot, frame, &meta);
            }
            Err(reason) => self.count_drop(now, slot, Some(priority), reason),
        }
        // Whatever dropped the message counted that at the port it was injected at.
        let dropped = self.ports[slot].counters.drops.total() > drops;
        if dropped { Fate::Lost } else { Fate::Sent }
    }

    /// Sends a message with an unknown destination to every other port of its VLAN, as an unknown
    /// unicast frame, but not to hosts that the proxy acts for: they would take no notice, and their
    /// proxy would pause each of them.
    pub(super) fn flood_message(
        &mut self,
        now: Instant,
        slot: usize,
        mut frame: W::Frame,
        meta: &Meta,
    ) {
        let ingress = self.ports[slot].id;
        let mut last = None;
        for n in 0..self.tables.len() {
            let to = PortId::new(n as u16).expect("as many ports as there are identifiers");
            let wanted = to != ingress && self.tables[n].is_member(meta.vid);
            if !wanted || !self.handoff.is_up(to) || self.signals.acts_for(to) {
                continue;
            }
            // One port behind, so that the last one gets the frame itself.
            let Some(before) = last.replace(to) else { continue };
            self.ports[slot].counters.copied += 1;
            match frame.duplicate() {
                Some(copy) => self.deliver(now, slot, copy, meta, before, Origin::Message),
                None => self.count_drop(now, slot, Some(meta.priority), DropReason::NoMemory),
            }
        }
        match last {
            Some(to) => self.deliver(now, slot, frame, meta, to, Origin::Message),
            None => self.count_drop(now, slot, Some(meta.priority), DropReason::MessageUnknown),
        }
    }

    /// Handles a received frame that the filter selected as a possible message.
    #[cold]
    pub(crate) fn ingest_message(&mut self, now: Instant, slot: usize, frame: W::Frame) {
        if self.hear_cim(now, slot, &frame) {
            return;
        }
        let (port, wire_len) = (&self.ports[slot], frame.wire_len());
        let tables = &self.tables[port.id.index()];
        let class = classify(tables, frame.head(), wire_len, self.max_frame);
        // The filter selects by a few bytes: the frame may be anything.
        let (true, Class::Data(meta)) = (port.up, class) else {
            return self.ingest_unusual(now, slot, frame);
        };
        let l3 = usize::from(meta.l3);
        if self.signals.filter.is_sfcm(meta.ethertype, &frame.head()[l3..]) {
            if let Some(frame) = self.ingest_sfcm(now, slot, frame, &meta) {
                self.ingest_data(now, slot, frame, &meta);
            }
            return;
        }
        if self.signals.filter.learns() {
            if let Some(notifier) = &mut self.signals.notifier {
                // An acknowledgement names the queue pair of its flow's source, and goes on as data.
                notifier.learn(now, frame.head(), l3, meta.ethertype);
            }
        }
        self.ingest_known(now, slot, frame);
    }

    /// Finds the egress port of a message: by the router, or by its learnt destination.
    ///
    /// # Errors
    /// The reason for dropping it.
    pub(super) fn egress_of(
        &mut self,
        now: Instant,
        slot: usize,
        frame: &mut W::Frame,
        meta: &Meta,
    ) -> Result<(Meta, PortId), DropReason> {
        if !self.router.is_empty() && self.router.wants(meta) {
            return self.route_ip(slot, frame, meta);
        }
        // A message is for one host: to a group it would pause many.
        if meta.is_to_group() {
            return Err(DropReason::MessageUnknown);
        }
        match self.fdb.lookup(now, Key::from_parts(meta.vid, meta.dst)) {
            Some(egress) if egress == self.ports[slot].id => Err(DropReason::SameSegment),
            Some(egress) => Ok((*meta, egress)),
            None => Err(DropReason::MessageUnknown),
        }
    }
}

/// Returns the packet in a frame.
pub(super) fn packet<'a>(frame: &'a impl Frame, meta: &Meta) -> &'a [u8] {
    &frame.head()[usize::from(meta.l3)..]
}

/// A frame that congests a queue.
pub(super) struct Cause<'a> {
    pub(super) head: &'a [u8],
    /// Key of its flow.
    pub(super) key: FlowKey,
    /// True for a congestion message that its EtherType or opcode identifies. SFCMs are identified
    /// by their UDP port, by the code that knows that port.
    pub(super) is_message: bool,
}

impl<'a> Cause<'a> {
    /// `None` if not even the Ethernet header can be parsed.
    #[inline]
    pub(super) fn of(head: &'a [u8]) -> Option<Self> {
        // Most frames cause no message, so they are not parsed in full.
        match Self::usual(head) {
            Some(flow) => Some(Self { head, key: FlowKey::Ip(flow), is_message: false }),
            None => Self::read(head),
        }
    }

    /// Returns the flow of a frame that is certain to be no congestion message, by a few loads.
    /// `None` for any frame that has to be read in full.
    #[inline(always)]
    fn usual(head: &[u8]) -> Option<FiveTuple> {
        let (flow, upper) = FiveTuple::of_usual(head)?;
        if flow.dst_port == roce::UDP_PORT {
            let opcode = head.get(upper + udp::HEADER_LEN).copied().map(Opcode);
            // A CNP is about a flow, not of one; without its opcode in reach the full parser decides.
            if matches!(opcode, None | Some(Opcode::CNP)) {
                return None;
            }
        }
        Some(flow)
    }

    #[inline(never)]
    fn read(head: &'a [u8]) -> Option<Self> {
        let walk = vlan::walk(head).ok()?;
        let flow = ip::View::new(walk.ethertype, &head[walk.l3..]).ok();
        let flow = flow.map(|packet| FiveTuple::of(&packet));
        let vid = walk.outer.and_then(|tag| tag.vid);
        let l2 = FlowKey::L2 { dst: walk.dst, src: walk.src, vid };
        // `roce` needs the key, so the value is completed in two steps.
        let mut cause = Self { head, key: flow.map_or(l2, FlowKey::Ip), is_message: false };
        let cnp = cause.roce().is_some_and(|bth| bth.opcode() == Opcode::CNP);
        cause.is_message = cnp || matches!(walk.ethertype, EtherType::CIM | EtherType::CNM);
        Some(cause)
    }

    /// Returns the RoCEv2 header, where there is one.
    pub(super) fn roce(&self) -> Option<roce::View<'a>> {
        let flow = self.flow().filter(|flow| flow.protocol == Protocol::UDP)?;
        let walk = self.walk().ok().filter(|_| flow.dst_port == roce::UDP_PORT)?;
        roce_of(self.head, &walk)
    }

    /// Parses addresses and tags.
    ///
    /// # Errors
    /// Never for a value made by [`Self::of`].
    pub(super) fn walk(&self) -> Result<vlan::Walk, WireError> {
        vlan::walk(self.head)
    }

    /// Returns the flow of an IP packet.
    pub(super) const fn flow(&self) -> Option<&FiveTuple> {
        match &self.key {
            FlowKey::Ip(flow) => Some(flow),
            FlowKey::L2 { .. } => None,
        }
    }

    /// Returns the DSCP.
    ///
    /// # Errors
    /// If the frame is not IP.
    pub(super) fn dscp(&self) -> Result<Dscp, WireError> {
        let walk = self.walk()?;
        Ok(ip::View::new(walk.ethertype, &self.head[walk.l3..])?.dscp())
    }
}

/// Returns the RoCEv2 header of a packet known to go to its UDP port.
fn roce_of<'a>(head: &'a [u8], walk: &vlan::Walk) -> Option<roce::View<'a>> {
    let packet = ip::View::new(walk.ethertype, &head[walk.l3..]).ok()?;
    let upper = packet.upper().ok()?;
    let udp = udp::View::new(upper.payload).ok().filter(|_| upper.fragment == Fragment::Whole)?;
    roce::View::new(udp.payload()).ok()
}

/// Length in bytes of the longest message with its tags: an SFCM over IPv6 with the longest
/// quotation.
const LEN_MAX: usize = ethernet::HEADER_LEN + vlan::MAX_TAGS * vlan::TAG_LEN + sfcm::LEN_MAX;

/// Minimum frame length in bytes without the FCS (802.3 4A.2.3.2.4).
const LEN_MIN: usize = 60;

/// Length in bytes of the two MAC addresses.
const ADDRESSES: usize = 12;

/// Shift of the PCP in the third byte of a tag.
const PCP_SHIFT: u32 = 5;
/// Upper bits of the VLAN identifier in that byte; the DEI between the two is not copied.
const VID_UPPER: u8 = 0x0f;

/// TTL of messages: RFC 1700's default, since the source document gives none.
pub(super) const TTL: u8 = 64;

/// A message under construction.
pub(super) struct Draft {
    octets: [u8; LEN_MAX],
    len: usize,
}

impl Draft {
    /// Returns the headers of a message from `src` to the source of the frame whose first bytes are
    /// `head`, with the tags of that frame. The outermost tag gets `priority`.
    pub(super) fn answer(head: &[u8], walk: &vlan::Walk, src: Mac, priority: Priority) -> Self {
        let mut octets = [0; LEN_MAX];
        octets[..6].copy_from_slice(&walk.src.0);
        octets[6..ADDRESSES].copy_from_slice(&src.0);
        // All tags are copied, because the message goes back through the same VLANs.
        let tags = ADDRESSES..ADDRESSES + walk.tags * vlan::TAG_LEN;
        octets[tags.clone()].copy_from_slice(&head[tags.clone()]);
        if walk.tags > 0 {
            let tci = &mut octets[ADDRESSES + 2];
            *tci = *tci & VID_UPPER | priority.get() << PCP_SHIFT;
        }
        Self { octets, len: tags.end }
    }

    /// Appends `len` bytes behind `ethertype`, written by `emit`.
    ///
    /// # Errors
    /// The error of `emit`; nothing was appended then.
    pub(super) fn fill(
        &mut self,
        ethertype: EtherType,
        len: usize,
        emit: impl FnOnce(&mut [u8]) -> Result<(), WireError>,
    ) -> Result<(), WireError> {
        let start = self.len + 2;
        // Written first: nothing is appended if it fails.
        let body = self.octets.get_mut(start..start + len).ok_or(WireError::NoRoom)?;
        emit(body)?;
        self.octets[self.len..start].copy_from_slice(&ethertype.0.to_be_bytes());
        self.len = start + len;
        Ok(())
    }

    /// Returns the whole frame without its FCS.
    pub(super) fn octets(&self) -> &[u8] {
        &self.octets[..self.len.max(LEN_MIN)]
    }
}
