//! The congestion isolation TLV (802.1Q D.2.15, by 802.1Qcz): the destination of a peer's
//! congestion isolation messages.
//!
//! The order of the fields is that of the standard's managed objects. The width of the address
//! family was not found; both are accepted, distinguished by the length, and either can be written.

use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Serialize};

use crate::{WireError, mac_at};
use ground::named;
use ground::units::{Mac, PRIORITIES};

/// Bytes before the address family.
const FIXED: usize = PRIORITIES + 2 + 6 + 2;
/// Maximum length.
pub const LEN_MAX: usize = FIXED + 2 + 16;

/// Address families (RFC 3232). A missing address is written as 0, by our choice.
const IPV4: u16 = 1;
const IPV6: u16 = 2;

named! {
    /// Width of the address family.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum FamilyWidth {
        /// One byte, as in LLDP's management address. Our choice.
        #[default]
        One = "one",
        /// Two bytes, as IANA numbers them.
        Two = "two",
    }
}

impl FamilyWidth {
    const fn octets(self) -> usize {
        match self {
            Self::One => 1,
            Self::Two => 2,
        }
    }
}

/// Congestion Isolation settings of a port, in the order of their JSON in results.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CongestionIsolation {
    /// Queue map by traffic class: 0 without isolation, n is monitored for the congesting class n -
    /// 1, -n is the congesting class of the monitored class n - 1. From -8 to 8.
    pub queue_map: [i8; PRIORITIES],
    /// Number of bytes of a frame that a message encapsulates, 0 to 512.
    pub encapsulation: u16,
    /// Destination address of messages over Ethernet.
    pub mac: Mac,
    /// Destination address of messages over UDP; without one, messages are sent over Ethernet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<IpAddr>,
    /// Destination port of messages over UDP.
    pub udp_port: u16,
    /// Width of the address family as written.
    #[serde(skip)]
    pub family: FamilyWidth,
}

impl CongestionIsolation {
    /// Parses the string after the subtype.
    ///
    /// # Errors
    /// [`WireError::Truncated`] below 19 bytes, [`WireError::BadLength`] for an invalid length or
    /// an address family that contradicts it, [`WireError::OutOfRange`] for a queue map beyond
    /// -8 to 8.
    pub fn parse(value: &[u8]) -> Result<Self, WireError> {
        let (fixed, rest) = value.split_first_chunk::<FIXED>().ok_or(WireError::Truncated)?;
        let (family, width, address) = match *rest {
            [] => return Err(WireError::Truncated),
            // An address has 0, 4 or 16 bytes, so the length tells the width of the family in front of it.
            [family, ref address @ ..] if address.len() % 4 == 0 => {
                (family.into(), FamilyWidth::One, address)
            }
            [a, b, ref address @ ..] => (u16::from_be_bytes([a, b]), FamilyWidth::Two, address),
            _ => return Err(WireError::BadLength),
        };
        let mut queue_map = [0; PRIORITIES];
        for (class, &octet) in queue_map.iter_mut().zip(fixed) {
            *class = octet as i8;
        }
        let number = |offset: usize| u16::from_be_bytes([fixed[offset], fixed[offset + 1]]);
        let repr = Self {
            queue_map,
            encapsulation: number(PRIORITIES),
            mac: mac_at(fixed, PRIORITIES + 2),
            udp_port: number(FIXED - 2),
            address: read_address(family, address)?,
            family: width,
        };
        if repr.is_in_range() { Ok(repr) } else { Err(WireError::OutOfRange) }
    }

    fn is_in_range(&self) -> bool {
        self.queue_map.iter().all(|class| (-8..=8).contains(class)) && self.encapsulation <= 512
    }

    /// Returns the number of bytes that [`CongestionIsolation::emit`] writes.
    #[must_use]
    pub const fn buffer_len(&self) -> usize {
        let address = match self.address {
            None => 0,
            Some(IpAddr::V4(_)) => 4,
            Some(IpAddr::V6(_)) => 16,
        };
        FIXED + self.family.octets() + address
    }

    /// Writes the string after the subtype.
    ///
    /// # Errors
    /// [`WireError::NoRoom`], [`WireError::OutOfRange`].
    pub fn emit(&self, buf: &mut [u8]) -> Result<usize, WireError> {
        if !self.is_in_range() {
            return Err(WireError::OutOfRange);
        }
        let len = self.buffer_len();
        let out = buf.get_mut(..len).ok_or(WireError::NoRoom)?;
        for (octet, class) in out.iter_mut().zip(self.queue_map) {
            *octet = class as u8;
        }
        out[PRIORITIES..PRIORITIES + 2].copy_from_slice(&self.encapsulation.to_be_bytes());
        out[PRIORITIES + 2..FIXED - 2].copy_from_slice(&self.mac.0);
        out[FIXED - 2..FIXED].copy_from_slice(&self.udp_port.to_be_bytes());
        let (family, address) = out[FIXED..].split_at_mut(self.family.octets());
        let number = match self.address {
            None => 0,
            Some(IpAddr::V4(v4)) => {
                address.copy_from_slice(&v4.octets());
                IPV4
            }
            Some(IpAddr::V6(v6)) => {
                address.copy_from_slice(&v6.octets());
                IPV6
            }
        };
        // Both numbers fit in a byte: the narrow form is the low byte alone.
        family.copy_from_slice(&number.to_be_bytes()[2 - self.family.octets()..]);
        Ok(len)
    }
}

fn read_address(family: u16, octets: &[u8]) -> Result<Option<IpAddr>, WireError> {
    let v4 = || octets.try_into().map(|four: [u8; 4]| Ipv4Addr::from(four).into());
    let v6 = || octets.try_into().map(|sixteen: [u8; 16]| Ipv6Addr::from(sixteen).into());
    match family {
        IPV4 => v4().map(Some).map_err(|_| WireError::BadLength),
        IPV6 => v6().map(Some).map_err(|_| WireError::BadLength),
        0 if octets.is_empty() => Ok(None),
        _ => Err(WireError::BadLength),
    }
}

impl fmt::Display for CongestionIsolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { queue_map, encapsulation, mac, udp_port, address, .. } = self;
        write!(f, "congestion isolation {queue_map:?}, {encapsulation} octets to {mac}")?;
        if let Some(address) = address {
            write!(f, ", {address} port {udp_port}")?;
        }
        Ok(())
    }
}
