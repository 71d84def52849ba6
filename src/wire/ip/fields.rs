//! Fields that IPv4 and IPv6 have in common.

use core::fmt;

use ground::units::Dscp;

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
