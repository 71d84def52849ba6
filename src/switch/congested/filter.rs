//! Which received frames may be messages about congestion.

use crate::switch::plan::CongestionPlan;
use crate::wire::EtherType;
use crate::wire::ip::Protocol;
use crate::wire::roce;

/// Finds messages by a few loads. What it finds is then read with care; what is no message after all
/// goes on as data.
#[derive(Clone, Copy, Debug)]
pub(in crate::switch) struct Filter {
    on: bool,
    /// The UDP port of SFCMs; 0 where nothing looks at them.
    sfcm: u16,
    /// The UDP port of RoCEv2, where queue pairs are learnt; else 0.
    roce: u16,
    /// Whether CIMs are looked at.
    cim: bool,
    /// The lowest and the highest UDP port that CIMs come to; none where the first is more.
    cim_ports: (u16, u16),
    /// The UDP ports that anybody looks at, by their lowest six bits: bit n for those that end in n.
    endings: u64,
}

/// The first octets of a frame with one tag, up to the destination port of its UDP header.
const TAGGED_PORTS: usize = 18 + 24;

/// Where a RoCEv2 opcode is behind the start of the UDP header.
const OPCODE: usize = 8;

impl Filter {
    pub(super) fn new(plan: &CongestionPlan) -> Self {
        let sfcm = plan.proxy.as_ref().map_or(0, |proxy| proxy.udp_port);
        let roce = plan.fast_cnp.as_ref().map_or(0, |_| roce::UDP_PORT);
        let cim = plan.isolation.is_some();
        let on = sfcm != 0 || roce != 0 || cim;
        let endings = [sfcm, roce].map(|port| if port == 0 { 0 } else { ending(port) });
        let endings = endings[0] | endings[1];
        let mut filter = Self { on, sfcm, roce, cim, cim_ports: (u16::MAX, 0), endings };
        let points = plan.isolation.iter().flat_map(|isolation| &isolation.points);
        points.for_each(|point| filter.add_cim_port(point.cim_port));
        filter
    }

    /// CIMs may come to this UDP port from now on; 0 is none.
    pub(super) fn add_cim_port(&mut self, port: u16) {
        if port != 0 {
            let (low, high) = self.cim_ports;
            self.cim_ports = (low.min(port), high.max(port));
            // All between the lowest and the highest are looked at.
            let (low, high) = self.cim_ports;
            self.endings |= (low..=high).take(64).fold(0, |all, port| all | ending(port));
        }
    }

    /// Whether a frame may be a message.
    #[inline(always)]
    pub(in crate::switch) fn wants(&self, head: &[u8]) -> bool {
        self.on && self.may_be(head) && self.looks(head)
    }

    /// Whether a few loads leave it open. They do not for most frames: plain IPv4 that is no UDP, or goes to
    /// a port whose last bits are those of none that is looked at.
    #[inline(always)]
    fn may_be(&self, head: &[u8]) -> bool {
        let Some(h) = head.first_chunk::<TAGGED_PORTS>() else { return true };
        let l3 = if [h[12], h[13]] == [0x81, 0] { 18 } else { 14 };
        if [h[l3 - 2], h[l3 - 1], h[l3]] != [0x08, 0, 0x45] {
            return true;
        }
        h[l3 + 9] == Protocol::UDP.0 && self.endings >> (h[l3 + 23] & 63) & 1 == 1
    }

    #[inline]
    fn looks(&self, head: &[u8]) -> bool {
        let Some(h) = head.first_chunk::<18>() else { return false };
        let be16 = |at: usize| u16::from_be_bytes([h[at], h[at + 1]]);
        let (mut ethertype, mut l3) = (EtherType(be16(12)), 14);
        if ethertype == EtherType::C_TAG {
            (ethertype, l3) = (EtherType(be16(16)), 18);
        }
        match ethertype {
            EtherType::IPV4 | EtherType::IPV6 => self.is_udp_message(ethertype, &head[l3..]),
            EtherType::CIM => self.cim,
            // Who hides a message behind more tags is found out by whoever walks through them.
            EtherType::C_TAG | EtherType::S_TAG => true,
            _ => false,
        }
    }

    /// Whether a packet goes to the UDP port of SFCMs. A fragment that is not the first has no ports,
    /// and may be taken for a message that is then found to be none; so may what has extension headers.
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
            Udp::Somewhere => self.sfcm != 0 || self.cim_ports.0 <= self.cim_ports.1,
            Udp::No => false,
        }
    }

    #[inline]
    fn is_answer(&self, port: u16, packet: &[u8], header: usize) -> bool {
        let named = || {
            let opcode = packet.get(header + OPCODE).copied().map(roce::Opcode);
            matches!(opcode, Some(roce::Opcode::RC_ACKNOWLEDGE | roce::Opcode::CNP))
        };
        port == self.roce && port != 0 && named()
    }

    /// Whether a packet of RoCEv2 is looked at for the queue pair that it names.
    pub(super) const fn learns(&self) -> bool {
        self.roce != 0
    }
}

/// The bit for ports with the lowest six bits of this one.
const fn ending(port: u16) -> u64 {
    1 << (port & 63)
}

/// Where the UDP header of a packet is.
enum Udp {
    At(usize),
    /// Behind extension headers, if it is there.
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

/// The destination port of a UDP header.
#[inline]
fn port_at(packet: &[u8], header: usize) -> Option<u16> {
    let port = packet.get(header + 2..header + 4)?.first_chunk::<2>()?;
    Some(u16::from_be_bytes(*port))
}
