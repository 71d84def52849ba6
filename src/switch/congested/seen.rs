//! What is read of a frame that somebody may be told of.

use crate::congestion::FlowKey;
use crate::units::Dscp;
use crate::wire::flow::FiveTuple;
use crate::wire::ip::{self, Fragment, Protocol};
use crate::wire::roce::{self, Opcode};
use crate::wire::{EtherType, udp, vlan};

/// A frame that congests a queue.
pub(super) struct Seen<'a> {
    pub(super) head: &'a [u8],
    pub(super) walk: vlan::Walk,
    /// Its flow and DSCP, where it is IP.
    pub(super) ip: Option<(FiveTuple, Dscp)>,
    /// Its RoCEv2 header, where it has one.
    pub(super) roce: Option<roce::View<'a>>,
}

impl<'a> Seen<'a> {
    /// Nothing where not even the Ethernet header can be read.
    pub(super) fn of(head: &'a [u8]) -> Option<Self> {
        let walk = vlan::walk(head).ok()?;
        let packet = ip::View::new(walk.ethertype, &head[walk.l3..]).ok();
        let ip = packet.as_ref().map(|packet| (FiveTuple::of(packet), packet.dscp()));
        let roce = ip.filter(|(flow, _)| flow.protocol == Protocol::UDP);
        let roce = roce.filter(|(flow, _)| flow.dst_port == roce::UDP_PORT);
        let roce = roce.and_then(|_| roce_of(head, &walk));
        Some(Self { head, walk, ip, roce })
    }

    /// What the flow is known by.
    pub(super) fn key(&self) -> FlowKey {
        let vid = self.walk.outer.and_then(|tag| tag.vid);
        let l2 = FlowKey::L2 { dst: self.walk.dst, src: self.walk.src, vid };
        self.ip.map_or(l2, |(flow, _)| FlowKey::Ip(flow))
    }

    /// Whether it is a message about congestion that is told by its EtherType or opcode. SFCMs are known
    /// by their UDP port, which whoever knows that port looks at.
    pub(super) fn is_message(&self) -> bool {
        let cnp = self.roce.as_ref().is_some_and(|bth| bth.opcode() == Opcode::CNP);
        cnp || matches!(self.walk.ethertype, EtherType::CIM | EtherType::CNM)
    }
}

/// The RoCEv2 header of a packet of which this is known to be one to the UDP port.
fn roce_of<'a>(head: &'a [u8], walk: &vlan::Walk) -> Option<roce::View<'a>> {
    let packet = ip::View::new(walk.ethertype, &head[walk.l3..]).ok()?;
    let upper = packet.upper().ok()?;
    let udp = udp::View::new(upper.payload).ok().filter(|_| upper.fragment == Fragment::Whole)?;
    roce::View::new(udp.payload()).ok()
}
