//! Filter for received frames that may be congestion messages.

use crate::CongestionPlan;
use wire::ip::Protocol;
use wire::{EtherType, roce};

/// Prefilter with a few loads. A frame that it selects is then parsed in full, and forwarded as
/// data if it is not a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Filter {
    on: bool,
    /// UDP port of SFCMs; 0 if they are not processed.
    sfcm: u16,
    /// UDP port of RoCEv2 if queue pairs are learnt; else 0.
    roce: u16,
    /// True if CIMs are processed.
    cim: bool,
    /// Lowest and highest UDP port of CIMs; an empty range (first above second) if there are none.
    cim_ports: (u16, u16),
    /// Bit n is set if a processed UDP port has the lowest six bits n.
    endings: u64,
}

/// Length of a frame with one tag up to and with the destination port of its UDP header.
const TAGGED_PORTS: usize = 18 + 24;

/// Offset of the RoCEv2 opcode from the start of the UDP header.
const OPCODE: usize = 8;

impl Filter {
    pub(super) fn new(plan: &CongestionPlan) -> Self {
        let sfcm = plan.proxy.as_ref().map_or(0, |proxy| proxy.udp_port);
        let roce = plan.fast_cnp.as_ref().map_or(0, |_| roce::UDP_PORT);
        let cim = plan.isolation.is_some();
        let on = sfcm != 0 || roce != 0 || cim;
        // Port 0 is not processed, and its bit would let other ports pass.
        let endings = [sfcm, roce].map(|port| if port == 0 { 0 } else { ending(port) });
        let endings = endings[0] | endings[1];
        let mut filter = Self { on, sfcm, roce, cim, cim_ports: (u16::MAX, 0), endings };
        let points = plan.isolation.iter().flat_map(|isolation| &isolation.points);
        points.for_each(|point| filter.add_cim_port(point.cim_port));
        filter
    }

    /// Adds a UDP port of CIMs; 0 is ignored.
    pub(super) fn add_cim_port(&mut self, port: u16) {
        if port != 0 {
            let (low, high) = self.cim_ports;
            self.cim_ports = (low.min(port), high.max(port));
            // The filter covers the whole range from the lowest to the highest.
            let (low, high) = self.cim_ports;
            self.endings |= (low..=high).take(64).fold(0, |all, port| all | ending(port));
        }
    }

    /// Returns true if a frame may be a message.
    #[inline(always)]
    pub(crate) fn wants(&self, head: &[u8]) -> bool {
        self.on && self.may_be(head) && self.matches(head)
    }

    /// Returns false if no frame may be a message.
    #[inline(always)]
    pub(crate) const fn is_on(&self) -> bool {
        self.on
    }

    /// As [`Self::wants`] of a filter that is on, for a frame with an IPv4 header without options at
    /// `l3`, which is 14 or 18.
    #[inline(always)]
    pub(crate) fn wants_at(&self, l3: usize, head: &[u8]) -> bool {
        let Some(h) = head.first_chunk::<TAGGED_PORTS>() else { return self.wants(head) };
        // Byte 9 of the IP header is the protocol; byte 23 the lower half of the UDP destination port.
        h[l3 + 9] == Protocol::UDP.0
            && self.endings >> (h[l3 + 23] & 63) & 1 == 1
            && self.matches(head)
    }

    /// Excludes most frames with a few loads: plain IPv4 that is not UDP, or goes to a port whose
    /// lowest six bits match no processed port.
    #[inline(always)]
    fn may_be(&self, head: &[u8]) -> bool {
        let Some(h) = head.first_chunk::<TAGGED_PORTS>() else { return true };
        // By bytes, without building numbers: this runs for each frame while a function is on.
        let l3 = if [h[12], h[13]] == [0x81, 0] { 18 } else { 14 };
        if [h[l3 - 2], h[l3 - 1], h[l3]] != [0x08, 0, 0x45] {
            return true;
        }
        h[l3 + 9] == Protocol::UDP.0 && self.endings >> (h[l3 + 23] & 63) & 1 == 1
    }

    #[inline]
    fn matches(&self, head: &[u8]) -> bool {
        let Some(h) = head.first_chunk::<18>() else { return false };
        let be16 = |offset: usize| u16::from_be_bytes([h[offset], h[offset + 1]]);
        // Any frame: with IP options, IPv6, or a tag that the short test does not know.
        let (mut ethertype, mut l3) = (EtherType(be16(12)), 14);
        if ethertype == EtherType::C_TAG {
            (ethertype, l3) = (EtherType(be16(16)), 18);
        }
        match ethertype {
            EtherType::IPV4 | EtherType::IPV6 => self.is_udp_message(ethertype, &head[l3..]),
            EtherType::CIM => self.cim,
            // A message behind more tags is found by the full parser.
            EtherType::C_TAG | EtherType::S_TAG => true,
            _ => false,
        }
    }

    /// Returns true if a packet may go to the UDP port of SFCMs. A later fragment and a packet with
    /// extension headers have no port here; both count as candidates and are parsed later.
    #[inline]
    pub(super) fn is_sfcm(&self, ethertype: EtherType, packet: &[u8]) -> bool {
        match udp_of(ethertype, packet) {
            Udp::At(header) => self.sfcm != 0 && port_at(packet, header) == Some(self.sfcm),
            Udp::Somewhere => self.sfcm != 0,
            Udp::No => false,
        }
    }

    /// As [`Self::is_sfcm`], or a CIM, or a packet of RoCEv2 that names the queue pair of a source.
    #[inline]
    fn is_udp_message(&self, ethertype: EtherType, packet: &[u8]) -> bool {
        match udp_of(ethertype, packet) {
            Udp::At(header) => {
                let Some(port) = port_at(packet, header) else { return false };
                port == self.sfcm && port != 0
                    || (self.cim_ports.0..=self.cim_ports.1).contains(&port)
                    || self.is_answer(port, packet, header)
            }
            // Behind extension headers no queue pair is learnt.
            Udp::Somewhere => self.sfcm != 0 || self.cim_ports.0 <= self.cim_ports.1,
            Udp::No => false,
        }
    }

    #[inline]
    fn is_answer(&self, port: u16, packet: &[u8], header: usize) -> bool {
        let named = || {
            // Data has no use here, and is most of the traffic to that port.
            let opcode = packet.get(header + OPCODE).copied().map(roce::Opcode);
            matches!(opcode, Some(roce::Opcode::RC_ACKNOWLEDGE | roce::Opcode::CNP))
        };
        port == self.roce && port != 0 && named()
    }

    /// Returns true if RoCEv2 packets are examined for queue pairs.
    pub(super) const fn learns(&self) -> bool {
        self.roce != 0
    }
}

/// Returns the bit for the lowest six bits of a port.
const fn ending(port: u16) -> u64 {
    1 << (port & 63)
}

/// Location of the UDP header of a packet.
enum Udp {
    At(usize),
    /// Behind extension headers, if present.
    Somewhere,
    No,
}

#[inline]
fn udp_of(ethertype: EtherType, packet: &[u8]) -> Udp {
    let (protocol, header) = match (ethertype, packet) {
        (EtherType::IPV4, [first, ..]) => (9, usize::from(first & 0xf) * 4),
        (EtherType::IPV6, _) => (6, 40),
        _ => return Udp::No,
    };
    match packet.get(protocol).copied().map(Protocol) {
        Some(Protocol::UDP) => Udp::At(header),
        // Hop-by-hop and destination options, routing, fragment, authentication (RFC 8200 4).
        Some(Protocol(0 | 43 | 44 | 51 | 60)) if ethertype == EtherType::IPV6 => Udp::Somewhere,
        _ => Udp::No,
    }
}

/// Reads the destination port of a UDP header.
#[inline]
fn port_at(packet: &[u8], header: usize) -> Option<u16> {
    let port = packet.get(header + 2..header + 4)?.first_chunk::<2>()?;
    Some(u16::from_be_bytes(*port))
}
