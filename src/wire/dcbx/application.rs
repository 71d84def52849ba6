//! Application priority (802.1Q D.2.11): the priority of an application's frames.

use core::fmt;

use crate::WireError;

/// Length of one entry.
const ENTRY: usize = 3;
/// Maximum number of entries in one TLV: a string of 511 bytes, less name, subtype and reserved.
pub const ENTRIES_MAX: usize = (511 - 5) / ENTRY;

/// Meaning of an entry's protocol (Table D-9).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Selector {
    /// EtherType, or 0 for all frames without another entry.
    EtherType,
    /// Port of TCP or SCTP.
    Tcp,
    /// Port of UDP or DCCP.
    Udp,
    /// Port of any of those.
    AnyPort,
    /// DSCP.
    Dscp,
}

impl Selector {
    /// Decodes the bits; `None` for reserved ones.
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
    /// Priority of its frames, 0 to 7.
    pub priority: u8,
    /// Meaning of `protocol`.
    pub selector: Selector,
    /// EtherType, port, or DSCP.
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

/// Parses the entries after the subtype, without those with a reserved selector. An incomplete
/// entry at the end is ignored.
///
/// # Errors
/// [`WireError::Truncated`] without the reserved byte before them.
pub fn parse(value: &[u8]) -> Result<impl Iterator<Item = Application> + Clone, WireError> {
    let (_reserved, entries) = value.split_first().ok_or(WireError::Truncated)?;
    Ok(entries.chunks_exact(ENTRY).filter_map(|entry| {
        Some(Application {
            // Priority in the upper three bits, two reserved ones, selector in the lower three (D.2.11).
            priority: entry[0] >> 5,
            // An entry with a reserved selector is left out alone: a later edition may define it.
            selector: Selector::from_bits(entry[0] & 0x7)?,
            protocol: u16::from_be_bytes([entry[1], entry[2]]),
        })
    }))
}

/// Returns the number of bytes that [`emit`] writes.
#[must_use]
pub const fn buffer_len(entries: &[Application]) -> usize {
    1 + ENTRY * entries.len()
}

/// Writes the string after the subtype.
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
