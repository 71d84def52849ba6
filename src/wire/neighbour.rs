//! Neighbour solicitations and advertisements of IPv6 (RFC 4861 4.3 and 4.4): resolution of
//! Ethernet addresses.
//!
//! Only the link-layer address option is read and written; others are ignored. All options are
//! validated, so the message has to be complete.

use core::fmt;
use core::net::{IpAddr, Ipv6Addr};

use super::checksum::Sum;
use super::ip::{Ecn, Protocol};
use super::{WireError, be16, ipv6, mac_at, room};
use ground::units::{Dscp, Mac};

/// Bytes of a message without options.
pub const MESSAGE_LEN: usize = 24;

/// Length of a link-layer address option for Ethernet (RFC 2464 section 6).
pub const OPTION_LEN: usize = 8;

/// Hop limit of every message: a lower one was forwarded by a router (RFC 4861 7.1).
pub const HOP_LIMIT: u8 = 255;

/// Offset of the checksum.
const CHECKSUM: usize = 2;

/// All nodes of a link: the destination of an answer to a solicitation without a source address.
pub const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);

/// Contents of a message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// Requests the target's Ethernet address.
    Solicitation,
    /// Names the target's Ethernet address.
    Advertisement {
        /// True if its sender is a router.
        router: bool,
        /// True if it answers a solicitation.
        solicited: bool,
        /// True if it replaces a cached address.
        overrides: bool,
    },
}

/// Returns the solicited-node multicast group of `address` (RFC 4291 2.7.1).
#[must_use]
pub const fn solicited_node(address: Ipv6Addr) -> Ipv6Addr {
    let o = address.octets();
    // FF02::1:FF00:0/104, and the low 24 bits of the address.
    let last = u16::from_be_bytes([o[14], o[15]]);
    Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00 | o[13] as u16, last)
}

/// Returns the Ethernet address of a multicast group (RFC 2464 section 7).
#[must_use]
pub const fn group_mac(group: Ipv6Addr) -> Mac {
    let o = group.octets();
    Mac([0x33, 0x33, o[12], o[13], o[14], o[15]])
}

/// A neighbour message of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct View<'a> {
    message: &'a [u8; MESSAGE_LEN],
    kind: Kind,
    link_layer: Option<Mac>,
}

impl<'a> View<'a> {
    /// Parses an ICMPv6 message from its type on.
    ///
    /// # Errors
    /// [`WireError::Truncated`] below 24 bytes or within an option, [`WireError::BadOpcode`] for
    /// another type or a code, [`WireError::BadLength`] for an option of length 0,
    /// [`WireError::BadAddress`] for a target that is a group.
    pub fn new(octets: &'a [u8]) -> Result<Self, WireError> {
        let (message, options) =
            octets.split_first_chunk::<MESSAGE_LEN>().ok_or(WireError::Truncated)?;
        let flag = |bit: u8| message[4] & bit != 0;
        let (kind, option) = match (message[0], message[1]) {
            // Option 1 is the source's link-layer address, option 2 the target's (RFC 4861 4.6.1).
            (135, 0) => (Kind::Solicitation, 1),
            (136, 0) => {
                let (router, solicited, overrides) = (flag(0x80), flag(0x40), flag(0x20));
                (Kind::Advertisement { router, solicited, overrides }, 2)
            }
            _ => return Err(WireError::BadOpcode),
        };
        let link_layer = link_layer(options, option)?;
        let v = Self { message, kind, link_layer };
        if v.target().is_multicast() { Err(WireError::BadAddress) } else { Ok(v) }
    }

    /// Returns the target address.
    #[must_use]
    pub const fn target(&self) -> Ipv6Addr {
        let m = self.message;
        Ipv6Addr::new(
            be16(m, 8),
            be16(m, 10),
            be16(m, 12),
            be16(m, 14),
            be16(m, 16),
            be16(m, 18),
            be16(m, 20),
            be16(m, 22),
        )
    }
}

/// Returns the Ethernet address in the first option of this type, if any.
fn link_layer(mut options: &[u8], wanted: u8) -> Result<Option<Mac>, WireError> {
    let mut found = None;
    while let Some((kind, rest)) = options.split_first() {
        let units = *rest.first().ok_or(WireError::Truncated)?;
        // The length is in units of 8 bytes; one of 0 would never end the loop.
        if units == 0 {
            return Err(WireError::BadLength);
        }
        let len = usize::from(units) * OPTION_LEN;
        let option = options.get(..len).ok_or(WireError::Truncated)?;
        if *kind == wanted && found.is_none() {
            found = <&[u8; OPTION_LEN]>::try_from(option).ok().map(|o| mac_at(o, 2));
        }
        options = &options[len..];
    }
    Ok(found)
}

/// A neighbour message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Repr {
    /// Contents of the message.
    pub kind: Kind,
    /// Target address, not multicast.
    pub target: Ipv6Addr,
    /// Ethernet address: of the sender in a solicitation, of the target in an advertisement.
    pub link_layer: Option<Mac>,
}

impl Repr {
    /// Parses the message in a complete IPv6 packet without extension headers.
    ///
    /// # Errors
    /// Messages that a receiver must drop by RFC 4861 7.1: as [`ipv6::View::new`] and
    /// [`View::new`], [`WireError::Unsupported`] for another protocol, [`WireError::OutOfRange`]
    /// for a hop limit below 255, [`WireError::BadChecksum`], [`WireError::BadAddress`] for a
    /// solicitation from the unspecified address that has a link-layer address or is not sent to a
    /// solicited-node group, or a solicited advertisement to a group.
    pub fn parse(packet: &[u8]) -> Result<Self, WireError> {
        let ip = ipv6::View::new(packet)?;
        if ip.next_header() != Protocol::ICMPV6 {
            return Err(WireError::Unsupported);
        }
        let message = ip.payload();
        // Neither the checksum nor all options can be validated in a part of the message.
        if message.len() < usize::from(ip.payload_len()) {
            return Err(WireError::Truncated);
        }
        let v = View::new(message)?;
        if ip.hop_limit() != HOP_LIMIT {
            return Err(WireError::OutOfRange);
        }
        if sum(message, ip.src(), ip.dst()) != 0 {
            return Err(WireError::BadChecksum);
        }
        // RFC 4861 7.1.1 for solicitations, 7.1.2 for advertisements.
        let right = match v.kind {
            Kind::Solicitation if ip.src().is_unspecified() => {
                v.link_layer.is_none() && ip.dst() == solicited_node(v.target())
            }
            Kind::Solicitation => true,
            Kind::Advertisement { solicited, .. } => !(solicited && ip.dst().is_multicast()),
        };
        if !right {
            return Err(WireError::BadAddress);
        }
        Ok(Self { kind: v.kind, target: v.target(), link_layer: v.link_layer })
    }

    /// Returns the number of packet bytes that [`Repr::emit`] writes.
    #[must_use]
    pub const fn buffer_len(&self) -> usize {
        let option = if self.link_layer.is_some() { OPTION_LEN } else { 0 };
        ipv6::HEADER_LEN + MESSAGE_LEN + option
    }

    /// Writes the whole packet at the front of `buf`.
    ///
    /// # Errors
    /// [`WireError::NoRoom`].
    pub fn emit(&self, src: Ipv6Addr, dst: Ipv6Addr, buf: &mut [u8]) -> Result<(), WireError> {
        let out = buf.get_mut(..self.buffer_len()).ok_or(WireError::NoRoom)?;
        let header = ipv6::Repr {
            dscp: Dscp::MIN,
            ecn: Ecn::NotEct,
            flow_label: 0,
            // At most a message and one option, 32 bytes.
            payload_len: (out.len() - ipv6::HEADER_LEN) as u16,
            next_header: Protocol::ICMPV6,
            hop_limit: HOP_LIMIT,
            src,
            dst,
        };
        header.emit(out)?;
        let out = &mut out[ipv6::HEADER_LEN..];
        let message: &mut [u8; MESSAGE_LEN] = room(out)?;
        let (number, flags, option) = match self.kind {
            Kind::Solicitation => (135, 0, 1),
            Kind::Advertisement { router, solicited, overrides } => {
                // R, S and O, from the highest bit down (RFC 4861 4.4).
                let flags = u8::from(router) << 7 | u8::from(solicited) << 6;
                (136, flags | u8::from(overrides) << 5, 2)
            }
        };
        message[..8].copy_from_slice(&[number, 0, 0, 0, flags, 0, 0, 0]);
        message[8..].copy_from_slice(&self.target.octets());
        if let Some(mac) = self.link_layer {
            let out = &mut out[MESSAGE_LEN..];
            out[..2].copy_from_slice(&[option, 1]);
            out[2..].copy_from_slice(&mac.0);
        }
        let sum = sum(out, src, dst);
        out[CHECKSUM..CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
        Ok(())
    }
}

/// Returns the checksum over a message including its checksum field.
fn sum(message: &[u8], src: Ipv6Addr, dst: Ipv6Addr) -> u16 {
    let len = message.len() as u16;
    let pseudo = Sum::default().pseudo(IpAddr::V6(src), IpAddr::V6(dst), Protocol::ICMPV6.0, len);
    pseudo.octets(message).finish()
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.kind, self.link_layer) {
            (Kind::Solicitation, Some(mac)) => write!(f, "who has {} tell {mac}", self.target),
            (Kind::Solicitation, None) => write!(f, "who has {}", self.target),
            (Kind::Advertisement { .. }, Some(mac)) => write!(f, "{} is at {mac}", self.target),
            (Kind::Advertisement { .. }, None) => write!(f, "{} is here", self.target),
        }
    }
}

#[cfg(test)]
mod tests;
