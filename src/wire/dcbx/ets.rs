//! Enhanced transmission selection: configuration and recommendation (802.1Q D.2.8, D.2.9).

use core::fmt;

use crate::{WireError, room};
use ground::units::PRIORITIES;

/// Length of a table: a nibble per priority, then two bytes per traffic class.
const TABLE_LEN: usize = PRIORITIES / 2 + 2 * PRIORITIES;
/// Length of either TLV after the subtype.
pub const LEN: usize = 1 + TABLE_LEN;

/// Transmission selection algorithms (Table 8-6).
pub mod algorithm {
    /// Strict priority.
    pub const STRICT: u8 = 0;
    /// The credit-based shaper.
    pub const CREDIT_BASED: u8 = 1;
    /// Enhanced transmission selection.
    pub const ETS: u8 = 2;
    /// Asynchronous traffic shaping.
    pub const ATS: u8 = 3;
    /// Vendor-specific algorithm.
    pub const VENDOR: u8 = 255;
}

/// A table of enhanced transmission selection (802.1Q 37).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EtsTable {
    /// Priority to traffic class, 0 to 7 each.
    pub class: [u8; PRIORITIES],
    /// Percent by traffic class; those whose algorithm is ETS add up to 100.
    pub bandwidth: [u8; PRIORITIES],
    /// Transmission selection algorithm by traffic class: 0 strict, 1 credit-based shaper, 2 ETS, 3
    /// ATS, 255 vendor-specific.
    pub algorithm: [u8; PRIORITIES],
}

impl EtsTable {
    /// Returns true if the shares of the ETS classes add up to 100, or there are none.
    #[must_use]
    pub fn is_consistent(&self) -> bool {
        // The percentages are shares of what the ETS classes have together (D.2.8.5).
        self.shares() == 100 || !self.algorithm.contains(&algorithm::ETS)
    }

    /// Returns the sum of the shares of the ETS classes.
    #[must_use]
    pub fn shares(&self) -> u32 {
        let shared = |tc: &usize| self.algorithm[*tc] == algorithm::ETS;
        (0..PRIORITIES).filter(shared).map(|tc| u32::from(self.bandwidth[tc])).sum()
    }

    fn parse(octets: &[u8; TABLE_LEN]) -> Result<Self, WireError> {
        let (map, shares) = octets.split_at(PRIORITIES / 2);
        let mut table = Self { class: [0; 8], bandwidth: [0; 8], algorithm: [0; 8] };
        for (p, class) in table.class.iter_mut().enumerate() {
            // A nibble per priority, priority 0 in the high nibble of the first byte (D.2.8).
            *class = if p % 2 == 0 { map[p / 2] >> 4 } else { map[p / 2] & 0xf };
        }
        // A nibble can name 16 classes, and there are eight.
        if table.class.iter().any(|&class| usize::from(class) >= PRIORITIES) {
            return Err(WireError::OutOfRange);
        }
        table.bandwidth.copy_from_slice(&shares[..PRIORITIES]);
        table.algorithm.copy_from_slice(&shares[PRIORITIES..]);
        Ok(table)
    }

    fn emit(&self, out: &mut [u8; TABLE_LEN]) -> Result<(), WireError> {
        if self.class.iter().any(|&class| usize::from(class) >= PRIORITIES) {
            return Err(WireError::OutOfRange);
        }
        let (map, shares) = out.split_at_mut(PRIORITIES / 2);
        for (octet, pair) in map.iter_mut().zip(self.class.chunks_exact(2)) {
            *octet = pair[0] << 4 | pair[1];
        }
        shares[..PRIORITIES].copy_from_slice(&self.bandwidth);
        shares[PRIORITIES..].copy_from_slice(&self.algorithm);
        Ok(())
    }
}

impl fmt::Display for EtsTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "classes {:?} shares {:?} algorithms", self.class, self.bandwidth)?;
        write!(f, " {:?}", self.algorithm)
    }
}

/// ETS configuration of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Configuration {
    /// True if it accepts the peer's recommendation.
    pub willing: bool,
    /// True if it supports the credit-based shaper.
    pub cbs: bool,
    /// Number of traffic classes, 1 to 8; 8 is sent as 0.
    pub classes: u8,
    /// Table in use.
    pub table: EtsTable,
}

impl Configuration {
    /// Parses the string after the subtype.
    ///
    /// # Errors
    /// [`WireError::Truncated`] below 21 bytes, [`WireError::OutOfRange`] for a traffic class
    /// above 7.
    pub fn parse(value: &[u8]) -> Result<Self, WireError> {
        let (&flags, table) = value.split_first().ok_or(WireError::Truncated)?;
        let table = EtsTable::parse(table.first_chunk().ok_or(WireError::Truncated)?)?;
        // Three bits cannot hold 8, which is sent as 0.
        let classes = if flags & 0x7 == 0 { 8 } else { flags & 0x7 };
        Ok(Self { willing: flags & 0x80 != 0, cbs: flags & 0x40 != 0, classes, table })
    }

    /// Returns the number of bytes that [`Configuration::emit`] writes.
    #[must_use]
    pub const fn buffer_len(&self) -> usize {
        LEN
    }

    /// Writes the string after the subtype.
    ///
    /// # Errors
    /// [`WireError::NoRoom`], [`WireError::OutOfRange`].
    pub fn emit(&self, buf: &mut [u8]) -> Result<usize, WireError> {
        if !(1..=8).contains(&self.classes) {
            return Err(WireError::OutOfRange);
        }
        let [flags, table @ ..]: &mut [u8; LEN] = room(buf)?;
        *flags = u8::from(self.willing) << 7 | u8::from(self.cbs) << 6 | self.classes & 0x7;
        self.table.emit(table)?;
        Ok(LEN)
    }
}

impl fmt::Display for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let willing = if self.willing { "willing, " } else { "" };
        write!(f, "ETS {willing}{} classes, {}", self.classes, self.table)
    }
}

/// ETS recommendation of a port to its peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Recommendation {
    /// Recommended table.
    pub table: EtsTable,
}

impl Recommendation {
    /// Parses the string after the subtype.
    ///
    /// # Errors
    /// As [`Configuration::parse`].
    pub fn parse(value: &[u8]) -> Result<Self, WireError> {
        let (_reserved, table) = value.split_first().ok_or(WireError::Truncated)?;
        let table = EtsTable::parse(table.first_chunk().ok_or(WireError::Truncated)?)?;
        Ok(Self { table })
    }

    /// Returns the number of bytes that [`Recommendation::emit`] writes.
    #[must_use]
    pub const fn buffer_len(&self) -> usize {
        LEN
    }

    /// Writes the string after the subtype.
    ///
    /// # Errors
    /// [`WireError::NoRoom`], [`WireError::OutOfRange`].
    pub fn emit(&self, buf: &mut [u8]) -> Result<usize, WireError> {
        let [reserved, table @ ..]: &mut [u8; LEN] = room(buf)?;
        *reserved = 0;
        self.table.emit(table)?;
        Ok(LEN)
    }
}

impl fmt::Display for Recommendation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ETS recommended {}", self.table)
    }
}
