//! Parsed fields of a frame that a congestion message may be about.

use congestion::FlowKey;
use ground::units::Dscp;
use wire::flow::FiveTuple;
use wire::ip::{self, Fragment, Protocol};
use wire::roce::{self, Opcode};
use wire::{EtherType, WireError, udp, vlan};

/// A frame that congests a queue.
pub(super) struct Seen<'a> {
    pub(super) head: &'a [u8],
    /// Key of its flow.
    pub(super) key: FlowKey,
    /// True for a congestion message that its EtherType or opcode identifies. SFCMs are identified
    /// by their UDP port, by the code that knows that port.
    pub(super) is_message: bool,
}

impl<'a> Seen<'a> {
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
        let mut seen = Self { head, key: flow.map_or(l2, FlowKey::Ip), is_message: false };
        let cnp = seen.roce().is_some_and(|bth| bth.opcode() == Opcode::CNP);
        seen.is_message = cnp || matches!(walk.ethertype, EtherType::CIM | EtherType::CNM);
        Some(seen)
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
