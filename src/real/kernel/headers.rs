//! Where the headers of a TCP or UDP packet are, and their fields that differ from frame to frame of a flow.

use core::net::IpAddr;

use wire::checksum::Sum;
use wire::ip::Protocol;
use wire::{EtherType, ipv4, ipv6, vlan};

/// Transport protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Transport {
    Tcp,
    Udp,
}

impl Transport {
    /// Offset of the checksum in its header.
    pub(super) const fn checksum_at(self) -> usize {
        match self {
            Self::Tcp => 16,
            Self::Udp => 6,
        }
    }

    const fn protocol(self) -> u8 {
        match self {
            Self::Tcp => Protocol::TCP.0,
            Self::Udp => Protocol::UDP.0,
        }
    }
}

/// Offset of the flags in a TCP header.
pub(super) const TCP_FLAGS: usize = 13;
/// FIN and PSH, which belong to the end of the data.
pub(super) const TCP_LAST: u8 = 0x09;
pub(super) const TCP_PSH: u8 = 0x08;
pub(super) const TCP_ACK: u8 = 0x10;
/// CWR, which belongs to the first segment alone (RFC 3168, 6.1.2).
pub(super) const TCP_CWR: u8 = 0x80;

/// Places of the headers of one packet, whose headers are complete and in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Headers {
    /// Offset of the IP header.
    pub(super) l3: usize,
    pub(super) is_ipv6: bool,
    pub(super) transport: Transport,
    /// Offset of the transport header.
    pub(super) l4: usize,
    /// Offset of the payload.
    pub(super) payload: usize,
}

impl Headers {
    /// Finds the headers at the front of a packet. Nothing where it is no packet of TCP or UDP, is a fragment, or
    /// ends within its headers.
    #[inline]
    pub(super) fn of(packet: &[u8]) -> Option<Self> {
        let walk = vlan::walk(packet).ok()?;
        let l3 = walk.l3;
        let (is_ipv6, protocol, l4) = match walk.ethertype {
            EtherType::IPV4 => {
                let fixed: &[u8; ipv4::HEADER_LEN] = packet.get(l3..)?.first_chunk()?;
                let len = usize::from(fixed[0] & 15) * 4;
                // A whole packet has neither an offset nor more fragments (RFC 791 3.1).
                let is_whole = u16::from_be_bytes([fixed[6], fixed[7]]) & 0x3fff == 0;
                if fixed[0] >> 4 != 4 || len < ipv4::HEADER_LEN || !is_whole {
                    return None;
                }
                (false, fixed[9], l3 + len)
            }
            EtherType::IPV6 => {
                let (protocol, l4) = behind_extensions(packet, l3)?;
                (true, protocol, l4)
            }
            _ => return None,
        };
        let (transport, len) = match Protocol(protocol) {
            Protocol::TCP => (Transport::Tcp, usize::from(*packet.get(l4 + 12)? >> 4) * 4),
            Protocol::UDP => (Transport::Udp, 8),
            _ => return None,
        };
        if transport == Transport::Tcp && len < 20 {
            return None;
        }
        let payload = l4 + len;
        (payload <= packet.len()).then_some(Self { l3, is_ipv6, transport, l4, payload })
    }

    /// Length that the IP header gives the packet from itself on.
    pub(super) fn ip_len(&self, packet: &[u8]) -> usize {
        if self.is_ipv6 {
            usize::from(be16(packet, self.l3 + 4)) + ipv6::HEADER_LEN
        } else {
            usize::from(be16(packet, self.l3 + 2))
        }
    }

    /// Sets the lengths of IP and UDP for a frame of `len` octets.
    #[inline]
    pub(super) fn set_lengths(&self, frame: &mut [u8], len: usize) {
        let of_ip = if self.is_ipv6 { len - self.l3 - ipv6::HEADER_LEN } else { len - self.l3 };
        put16(frame, self.l3 + if self.is_ipv6 { 4 } else { 2 }, of_ip as u16);
        if self.transport == Transport::Udp {
            put16(frame, self.l4 + 4, (len - self.l4) as u16);
        }
    }

    /// Sets the checksum of an IPv4 header.
    #[inline]
    pub(super) fn finish_ip(&self, frame: &mut [u8]) {
        if !self.is_ipv6 {
            put16(frame, self.l3 + 10, 0);
            let sum = Sum::default().octets(&frame[self.l3..self.ip_header_end(frame)]).finish();
            put16(frame, self.l3 + 10, sum);
        }
    }

    /// End of an IPv4 header with its options.
    pub(super) fn ip_header_end(&self, frame: &[u8]) -> usize {
        self.l3 + usize::from(frame[self.l3] & 15) * 4
    }

    /// Sum of the pseudo header of a transport header with its payload of `len` octets. The destination of a
    /// packet with a routing header is its last (RFC 8200, 8.1), which only its sender's own sum has.
    #[inline]
    pub(super) fn pseudo(&self, frame: &[u8], len: usize) -> Sum {
        let (src, dst) = self.addresses(frame);
        Sum::default().pseudo(src, dst, self.transport.protocol(), len as u16)
    }

    fn addresses(&self, frame: &[u8]) -> (IpAddr, IpAddr) {
        let at = |offset: usize| &frame[self.l3 + offset..];
        if self.is_ipv6 {
            let address =
                |offset| IpAddr::from(*at(offset).first_chunk::<16>().expect("it was found whole"));
            (address(8), address(24))
        } else {
            let address =
                |offset| IpAddr::from(*at(offset).first_chunk::<4>().expect("it was found whole"));
            (address(12), address(16))
        }
    }

    /// Sets the checksum of the transport header of a frame that ends with its payload.
    #[cfg(test)]
    pub(super) fn finish_transport(&self, frame: &mut [u8]) {
        let at = self.l4 + self.transport.checksum_at();
        put16(frame, at, 0);
        let sum = self.pseudo(frame, frame.len() - self.l4).octets(&frame[self.l4..]).finish();
        put16(frame, at, or_ones(self.transport, sum));
    }

    /// True if the checksum of the transport header is there and right; the frame ends with its payload.
    #[inline]
    pub(super) fn is_right(&self, frame: &[u8]) -> bool {
        let at = self.l4 + self.transport.checksum_at();
        // A checksum of 0 is none in UDP (RFC 768).
        let is_there = self.transport == Transport::Tcp || be16(frame, at) != 0;
        is_there
            && self.pseudo(frame, frame.len() - self.l4).octets(&frame[self.l4..]).finish() == 0
    }
}

/// Passes over the extension headers of IPv6 that a host may send before TCP or UDP; the next protocol and its
/// offset. Nothing behind a fragment header.
fn behind_extensions(packet: &[u8], l3: usize) -> Option<(u8, usize)> {
    /// Hop-by-hop options, routing, destination options (RFC 8200, 4).
    const PASSED: [u8; 3] = [0, 43, 60];
    let fixed: &[u8; ipv6::HEADER_LEN] = packet.get(l3..)?.first_chunk()?;
    if fixed[0] >> 4 != 6 {
        return None;
    }
    let (mut protocol, mut at) = (fixed[6], l3 + ipv6::HEADER_LEN);
    while PASSED.contains(&protocol) {
        let head: &[u8; 2] = packet.get(at..)?.first_chunk()?;
        protocol = head[0];
        at += (usize::from(head[1]) + 1) * 8;
    }
    Some((protocol, at))
}

/// In UDP a sum of 0 is sent as ones, since 0 is none (RFC 768).
pub(super) const fn or_ones(transport: Transport, sum: u16) -> u16 {
    if matches!(transport, Transport::Udp) && sum == 0 { 0xffff } else { sum }
}

/// True if two sums are equal in ones' complement, in which 0 and all ones are both zero.
pub(super) const fn is_same_sum(a: u16, b: u16) -> bool {
    a == b || a == 0 && b == 0xffff || a == 0xffff && b == 0
}

/// The word at an offset of headers that are known to be whole.
#[inline]
pub(super) fn be16(octets: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([octets[at], octets[at + 1]])
}

#[inline]
pub(super) fn be32(octets: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([octets[at], octets[at + 1], octets[at + 2], octets[at + 3]])
}

#[inline]
pub(super) fn put16(octets: &mut [u8], at: usize, word: u16) {
    octets[at..at + 2].copy_from_slice(&word.to_be_bytes());
}

#[inline]
pub(super) fn put32(octets: &mut [u8], at: usize, word: u32) {
    octets[at..at + 4].copy_from_slice(&word.to_be_bytes());
}
