//! Common parts of frames of both transports: the first headers, and buffer sizes.

use core::net::Ipv4Addr;

use crate::plan::{Marking, Tag, TransportPlan, Udp};
use crate::probe::PROBE_LEN;
use crate::template::{ROOM, ipv4_header, layer2};
use ground::units::{Dscp, Mac, Pcp};
use wire::ip::{Ecn, Protocol};
use wire::{EtherType, ethernet, ipv4};

/// Minimum accessible bytes of a frame ([`contracts::frame::Frame::head`]): all headers and the probe
/// are within them, and short frames are whole.
pub(super) const HEAD: usize = 128;

/// The first headers of a flow's frames in one direction.
#[derive(Clone, Debug)]
pub(super) struct Headers {
    dst: Mac,
    src: Mac,
    tag: Option<Tag>,
    ip: Udp<Ipv4Addr>,
}

impl Headers {
    /// Creates those of data, with the UDP ports of the flow if it has any.
    pub(super) const fn of_data(plan: &TransportPlan, src_port: u16, dst_port: u16) -> Self {
        let (dscp, ecn) = (plan.dscp, plan.ecn);
        let (src, dst) = (plan.src_ip, plan.dst_ip);
        let ip = Udp { src, dst, src_port, dst_port, dscp, ecn };
        Self { dst: plan.dst, src: plan.src, tag: plan.tag, ip }
    }

    /// Creates those of acknowledgements, in the reverse direction and marked by `marking`, or as
    /// the data.
    pub(super) fn of_answers(
        plan: &TransportPlan,
        marking: Option<Marking>,
        src_port: u16,
        dst_port: u16,
        ecn: Ecn,
    ) -> Self {
        let dscp = marking.map_or(plan.dscp, |m| m.dscp);
        let tag = plan.tag.map(|tag| match marking {
            Some(m) => Tag { pcp: Pcp::new(m.priority.get()).expect("both are 0 to 7"), ..tag },
            None => tag,
        });
        let ip = Udp { src: plan.dst_ip, dst: plan.src_ip, src_port, dst_port, dscp, ecn };
        Self { dst: plan.src, src: plan.dst, tag, ip }
    }

    /// Writes the Ethernet header; returns the offset of the IP header.
    pub(super) fn emit_ethernet(&self, head: &mut [u8; HEAD]) -> usize {
        layer2(self.dst, self.src, self.tag, EtherType::IPV4, head)
    }

    /// Writes the IP header of a packet with `payload_len` bytes behind it.
    pub(super) fn emit_ip(&self, out: &mut [u8], protocol: Protocol, payload_len: usize) {
        let header = ipv4_header(&self.ip, protocol, payload_len as u16);
        header.emit(out).expect(ROOM);
    }

    /// Returns addresses, ports and marking.
    pub(super) const fn ip(&self) -> &Udp<Ipv4Addr> {
        &self.ip
    }

    /// Sets the UDP source port.
    pub(super) const fn set_src_port(&mut self, port: u16) {
        self.ip.src_port = port;
    }

    pub(super) const fn dscp(&self) -> Dscp {
        self.ip.dscp
    }
}

/// Returns the length in bytes of a frame with a whole IP packet of `ip_len` bytes at `l3`, without
/// FCS.
pub(super) const fn padded(l3: usize, ip_len: usize) -> usize {
    let len = l3 + ip_len;
    if len < ethernet::MIN_FRAME { ethernet::MIN_FRAME } else { len }
}

const _: () = assert!(
    ethernet::HEADER_LEN + 4 + ipv4::HEADER_LEN + 8 + 12 + 16 + 4 + PROBE_LEN <= HEAD,
    "tag, UDP, BTH, RETH, immediate data and probe fit"
);
