//! The Ethernet header (802.3 3.1.1): destination, source, EtherType.

use core::fmt;

use super::{EtherType, WireError, be16, mac_at, room};
use ground::units::Mac;

/// Bytes of the header.
pub const HEADER_LEN: usize = 14;

/// Minimum frame size on a wire, in bytes without FCS (802.3 4A.2.3.2.4 pads to 64 with it).
pub const MIN_FRAME: usize = 60;

/// An Ethernet frame of at least [`HEADER_LEN`] bytes.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    header: &'a [u8; HEADER_LEN],
    payload: &'a [u8],
}

impl<'a> View<'a> {
    /// Parses a frame from its destination address on.
    ///
    /// # Errors
    /// [`WireError::Truncated`] below 14 bytes.
    #[inline]
    pub fn new(frame: &'a [u8]) -> Result<Self, WireError> {
        let (header, payload) = frame.split_first_chunk().ok_or(WireError::Truncated)?;
        Ok(Self { header, payload })
    }

    /// Returns the bytes after the header, padding included.
    #[must_use]
    #[inline]
    pub const fn payload(&self) -> &'a [u8] {
        self.payload
    }
}

fields! {
    /// An Ethernet header.
    Repr of View as v, HEADER_LEN {
        /// Destination address.
        dst: Mac = mac_at(v.header, 0),
        /// Source address.
        src: Mac = mac_at(v.header, 6),
        /// EtherType, or length below 1536, of an untagged frame; a tag's TPID in a tagged one.
        ethertype: EtherType = EtherType(be16(v.header, 12)),
    }
}

impl Repr {
    /// Writes the header at the front of `buf`.
    ///
    /// # Errors
    /// [`WireError::NoRoom`] below 14 bytes.
    #[inline]
    pub fn emit(&self, buf: &mut [u8]) -> Result<(), WireError> {
        let b: &mut [u8; HEADER_LEN] = room(buf)?;
        b[..6].copy_from_slice(&self.dst.0);
        b[6..12].copy_from_slice(&self.src.0);
        b[12..].copy_from_slice(&self.ethertype.0.to_be_bytes());
        Ok(())
    }
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} > {} type {}", self.src, self.dst, self.ethertype)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tests;

    const GOLDEN: [u8; 14] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x08, 0x00];

    fn golden() -> Repr {
        Repr {
            dst: Mac([2, 0, 0, 0, 0, 1]),
            src: Mac([2, 0, 0, 0, 0, 2]),
            ethertype: EtherType::IPV4,
        }
    }

    #[test]
    fn golden_bytes() {
        tests::hold(&golden(), &GOLDEN, Repr::parse, Repr::emit);
        assert_eq!(golden().to_string(), "02:00:00:00:00:02 > 02:00:00:00:00:01 type 0x0800");
        assert!(View::new(&GOLDEN).unwrap().payload().is_empty());
    }

    proptest! {
        #[test]
        fn what_is_emitted_parses_to_the_same(
            dst in any::<[u8; 6]>(), src in any::<[u8; 6]>(), t in any::<u16>()
        ) {
            let repr = Repr { dst: Mac(dst), src: Mac(src), ethertype: EtherType(t) };
            tests::round(&repr, HEADER_LEN, Repr::parse, Repr::emit);
        }
    }
}
