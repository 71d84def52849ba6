//! Common fields of IPv4 and IPv6 for a switch: DSCP, ECN, hop count, addresses, and the position
//! of the ports.

use core::fmt;
use core::net::IpAddr;

use super::{EtherType, WireError, ipv4, ipv6, vlan};
use ground::units::Dscp;

/// An IP packet of either version.
#[derive(Clone, Copy, Debug)]
pub enum View<'a> {
    /// IPv4.
    V4(ipv4::View<'a>),
    /// IPv6.
    V6(ipv6::View<'a>),
}

impl<'a> View<'a> {
    /// Parses the payload of `ethertype`.
    ///
    /// # Errors
    /// [`WireError::BadEthertype`] when that is not IP, else as the version's own constructor.
    #[inline]
    pub fn new(ethertype: EtherType, packet: &'a [u8]) -> Result<Self, WireError> {
        match ethertype {
            EtherType::IPV4 => ipv4::View::new(packet).map(Self::V4),
            EtherType::IPV6 => ipv6::View::new(packet).map(Self::V6),
            _ => Err(WireError::BadEthertype),
        }
    }

    /// The differentiated services code point.
    #[must_use]
    #[inline]
    pub fn dscp(&self) -> Dscp {
        match self {
            Self::V4(v) => v.dscp(),
            Self::V6(v) => v.dscp(),
        }
    }

    /// The ECN code point.
    #[must_use]
    #[inline]
    pub fn ecn(&self) -> Ecn {
        match self {
            Self::V4(v) => v.ecn(),
            Self::V6(v) => v.ecn(),
        }
    }

    /// The source address.
    #[must_use]
    #[inline]
    pub fn src(&self) -> IpAddr {
        match self {
            Self::V4(v) => IpAddr::V4(v.src()),
            Self::V6(v) => IpAddr::V6(v.src()),
        }
    }

    /// The destination address.
    #[must_use]
    #[inline]
    pub fn dst(&self) -> IpAddr {
        match self {
            Self::V4(v) => IpAddr::V4(v.dst()),
            Self::V6(v) => IpAddr::V6(v.dst()),
        }
    }

    /// Time to live, or hop limit.
    #[must_use]
    #[inline]
    pub fn ttl(&self) -> u8 {
        match self {
            Self::V4(v) => v.ttl(),
            Self::V6(v) => v.hop_limit(),
        }
    }

    /// Returns the length of the whole packet by its length field, which may exceed the bytes
    /// present.
    #[must_use]
    #[inline]
    pub fn total_len(&self) -> usize {
        match self {
            Self::V4(v) => v.total_len() as usize,
            Self::V6(v) => ipv6::HEADER_LEN + v.payload_len() as usize,
        }
    }

    /// Returns the payload after options and extension headers.
    ///
    /// # Errors
    /// For IPv6 as [`ipv6::View::upper`]; for IPv4 none.
    #[inline]
    pub fn upper(&self) -> Result<Upper<'a>, WireError> {
        match self {
            Self::V4(v) => Ok(v.upper()),
            Self::V6(v) => v.upper(),
        }
    }
}

/// Sets CE on an ECN-capable packet (`packet` follows `ethertype`) and updates an IPv4 checksum
/// incrementally.
#[inline]
pub fn mark_ce(ethertype: EtherType, packet: &mut [u8]) -> CeMark {
    let mark = match ethertype {
        EtherType::IPV4 => ipv4::ViewMut::new(packet).map(|mut v| v.mark_ce()),
        EtherType::IPV6 => ipv6::ViewMut::new(packet).map(|mut v| v.mark_ce()),
        _ => return CeMark::NotIp,
    };
    // A packet that does not parse is forwarded as it is, like any other payload.
    mark.unwrap_or(CeMark::NotIp)
}

/// Sets CE as [`mark_ce`] does, in a whole frame with its VLAN tags.
#[inline]
pub fn mark_ce_in_frame(frame: &mut [u8]) -> CeMark {
    match vlan::walk(frame) {
        Ok(walk) => mark_ce(walk.ethertype, &mut frame[walk.l3..]),
        Err(_) => CeMark::NotIp,
    }
}

/// Sets CE on a Not-ECT packet in a frame with its VLAN tags, which RFC 3168 forbids: for a switch
/// that is configured to. Returns false if there is no IP packet.
pub fn force_ce_in_frame(frame: &mut [u8]) -> bool {
    let Ok(walk) = vlan::walk(frame) else { return false };
    let packet = &mut frame[walk.l3..];
    let forced = match walk.ethertype {
        EtherType::IPV4 => ipv4::ViewMut::new(packet).map(|mut v| v.force_ce()),
        EtherType::IPV6 => ipv6::ViewMut::new(packet).map(|mut v| v.force_ce()),
        _ => return false,
    };
    forced.is_ok()
}

/// Result of decrementing a packet's TTL.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Hop {
    /// It may be forwarded, with this TTL left (1 to 254).
    Alive(u8),
    /// Its TTL was 1 or 0: it must not be forwarded, and is unchanged.
    Expired,
    /// It is not an IP packet, and is unchanged.
    NotIp,
}

/// Decrements the TTL or hop limit (`packet` follows `ethertype`) and updates an IPv4 checksum
/// incrementally.
#[inline]
pub fn decrement_ttl(ethertype: EtherType, packet: &mut [u8]) -> Hop {
    let left = match ethertype {
        EtherType::IPV4 => ipv4::ViewMut::new(packet).map(|mut v| v.decrement_ttl()),
        EtherType::IPV6 => ipv6::ViewMut::new(packet).map(|mut v| v.decrement_hop_limit()),
        _ => return Hop::NotIp,
    };
    match left {
        Ok(Some(n)) => Hop::Alive(n),
        Ok(None) => Hop::Expired,
        Err(_) => Hop::NotIp,
    }
}

/// IP protocol number, which is also IPv6's next header.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Protocol(pub u8);

impl Protocol {
    /// ICMP.
    pub const ICMP: Self = Self(1);
    /// TCP.
    pub const TCP: Self = Self(6);
    /// UDP.
    pub const UDP: Self = Self(17);
    /// ICMPv6.
    pub const ICMPV6: Self = Self(58);
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::ICMP => f.write_str("icmp"),
            Self::TCP => f.write_str("tcp"),
            Self::UDP => f.write_str("udp"),
            Self::ICMPV6 => f.write_str("icmpv6"),
            Self(n) => write!(f, "protocol {n}"),
        }
    }
}

/// Explicit congestion notification code point (RFC 3168 section 5), with its two bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(u8)]
pub enum Ecn {
    /// The transport does not support ECN: congestion is signalled by loss.
    #[default]
    NotEct = 0b00,
    /// ECN-capable transport, ECT(1).
    Ect1 = 0b01,
    /// ECN-capable transport, ECT(0).
    Ect0 = 0b10,
    /// Congestion experienced.
    Ce = 0b11,
}

impl Ecn {
    /// Returns the code point in the two low bits of a TOS or traffic class octet.
    #[must_use]
    #[inline]
    pub const fn from_octet(octet: u8) -> Self {
        match octet & 0b11 {
            0b00 => Self::NotEct,
            0b01 => Self::Ect1,
            0b10 => Self::Ect0,
            _ => Self::Ce,
        }
    }
}

/// Returns the DSCP in the six high bits of a TOS or traffic class octet.
#[inline]
pub(crate) const fn dscp_of(octet: u8) -> Dscp {
    match Dscp::new(octet >> 2) {
        Some(dscp) => dscp,
        None => unreachable!(),
    }
}

/// Returns the TOS or traffic class octet of DSCP and ECN.
#[inline]
pub(crate) const fn octet_of(dscp: Dscp, ecn: Ecn) -> u8 {
    dscp.get() << 2 | ecn as u8
}

/// Part of a datagram in a packet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Fragment {
    /// The whole datagram.
    Whole,
    /// The start of the datagram, with the upper header.
    First,
    /// A later part, without the upper header.
    Later,
}

impl Fragment {
    /// Returns the part from an offset and the more-fragments flag.
    #[inline]
    pub(crate) const fn new(offset: u16, more: bool) -> Self {
        match (offset, more) {
            (0, false) => Self::Whole,
            (0, true) => Self::First,
            _ => Self::Later,
        }
    }
}

/// Payload of an IP packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Upper<'a> {
    /// Upper protocol, after any extension headers.
    pub protocol: Protocol,
    /// Part of the datagram in `payload`.
    pub fragment: Fragment,
    /// Bytes from the upper header on, except in later fragments.
    pub payload: &'a [u8],
}

/// Result of an attempt to mark a packet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CeMark {
    /// It was ECT and is CE now.
    Marked,
    /// It was CE already.
    AlreadyCe,
    /// It is Not-ECT and is unchanged (RFC 3168 section 5: such packets can only be dropped).
    NotEct,
    /// It is not an IP packet, and is unchanged.
    NotIp,
}

/// Returns the ECN code point after a mark, and the result; shared by both versions.
#[inline]
pub(crate) const fn after_mark(ecn: Ecn) -> CeMark {
    match ecn {
        Ecn::NotEct => CeMark::NotEct,
        Ecn::Ce => CeMark::AlreadyCe,
        Ecn::Ect0 | Ecn::Ect1 => CeMark::Marked,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use super::{dscp_of, octet_of};

    #[test]
    fn code_points_are_those_of_rfc_3168() {
        for (bits, ecn) in [(0, Ecn::NotEct), (1, Ecn::Ect1), (2, Ecn::Ect0), (3, Ecn::Ce)] {
            assert_eq!(Ecn::from_octet(0xfc | bits), ecn);
            assert_eq!(octet_of(Dscp::MAX, ecn), 0xfc | bits);
            assert_eq!(dscp_of(0xb8 | bits).get(), 46);
        }
    }

    #[test]
    fn marking_goes_through_tags_and_leaves_what_is_not_ip_alone() {
        let mut ip = [0; 40];
        ip[0] = 0x60;
        ip[1] = 0x20; // ECT(0)
        let mut frame = [&[2; 12][..], &[0x81, 0, 0, 5, 0x86, 0xdd], &ip].concat();
        assert_eq!(mark_ce_in_frame(&mut frame), CeMark::Marked);
        assert_eq!(mark_ce_in_frame(&mut frame), CeMark::AlreadyCe);
        assert_eq!(frame[19], 0x30);
        frame[16] = 0x08; // Not IP any more.
        let before = frame.clone();
        assert_eq!(mark_ce_in_frame(&mut frame), CeMark::NotIp);
        assert!(!force_ce_in_frame(&mut frame));
        assert_eq!(decrement_ttl(EtherType::LLDP, &mut frame), Hop::NotIp);
        assert_eq!(mark_ce_in_frame(&mut frame[..13]), CeMark::NotIp);
        assert_eq!(frame, before);
    }
}
