//! Application priority (802.1Q D.2.11): which priority the frames of an application get.

use core::fmt;

use crate::WireError;

/// Octets of one entry.
const ENTRY: usize = 3;
/// The most entries that fit in one TLV: a string of 511 octets, less name, subtype and reserved.
pub const ENTRIES_MAX: usize = (511 - 5) / ENTRY;

/// What an entry goes by (Table D-9).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Selector {
    /// An EtherType, or 0 for everything that nothing else names.
    EtherType,
    /// A port of TCP or SCTP.
    Tcp,
    /// A port of UDP or DCCP.
    Udp,
    /// A port of any of those.
    AnyPort,
    /// A DSCP.
    Dscp,
}

impl Selector {
    /// `None` for those that are reserved.
    const fn from_bits(bits: u8) -> Option<Self> {
        match bits {
            1 => Some(Self::EtherType),
            2 => Some(Self::Tcp),
            3 => Some(Self::Udp),
            4 => Some(Self::AnyPort),
            5 => Some(Self::Dscp),
            _ => None,
        }
    }

    const fn bits(self) -> u8 {
        match self {
            Self::EtherType => 1,
            Self::Tcp => 2,
            Self::Udp => 3,
            Self::AnyPort => 4,
            Self::Dscp => 5,
        }
    }
}

/// One entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Application {
    /// The priority that its frames get, 0 to 7.
    pub priority: u8,
    /// What `protocol` is.
    pub selector: Selector,
    /// The EtherType, the port, or the DSCP.
    pub protocol: u16,
}

impl fmt::Display for Application {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { priority, selector, protocol } = self;
        match selector {
            Selector::EtherType => write!(f, "EtherType {protocol:#06x}")?,
            Selector::Tcp => write!(f, "TCP port {protocol}")?,
            Selector::Udp => write!(f, "UDP port {protocol}")?,
            Selector::AnyPort => write!(f, "port {protocol}")?,
            Selector::Dscp => write!(f, "DSCP {protocol}")?,
        }
        write!(f, " priority {priority}")
    }
}

/// The entries in what follows the subtype, without those whose selector is reserved. What is left
/// over at the end and is no whole entry is ignored.
///
/// # Errors
/// [`WireError::Truncated`] without the reserved octet in front.
pub fn parse(value: &[u8]) -> Result<impl Iterator<Item = Application> + Clone, WireError> {
    let (_reserved, entries) = value.split_first().ok_or(WireError::Truncated)?;
    Ok(entries.chunks_exact(ENTRY).filter_map(|entry| {
        Some(Application {
            priority: entry[0] >> 5,
            selector: Selector::from_bits(entry[0] & 0x7)?,
            protocol: u16::from_be_bytes([entry[1], entry[2]]),
        })
    }))
}

/// Octets that [`emit`] writes.
#[must_use]
pub const fn buffer_len(entries: &[Application]) -> usize {
    1 + ENTRY * entries.len()
}

/// Writes what follows the subtype.
///
/// # Errors
/// [`WireError::NoRoom`], [`WireError::OutOfRange`] for a priority above 7 or more than
/// [`ENTRIES_MAX`] entries.
pub fn emit(entries: &[Application], buf: &mut [u8]) -> Result<usize, WireError> {
    if entries.len() > ENTRIES_MAX || entries.iter().any(|entry| entry.priority > 7) {
        return Err(WireError::OutOfRange);
    }
    let len = buffer_len(entries);
    let (reserved, out) =
        buf.get_mut(..len).and_then(<[u8]>::split_first_mut).ok_or(WireError::NoRoom)?;
    *reserved = 0;
    for (entry, out) in entries.iter().zip(out.chunks_exact_mut(ENTRY)) {
        let [high, low] = entry.protocol.to_be_bytes();
        out.copy_from_slice(&[entry.priority << 5 | entry.selector.bits(), high, low]);
    }
    Ok(len)
}
