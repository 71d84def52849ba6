//! The ports of a TCP segment (RFC 9293 3.1). A switch distinguishes flows by them and parses no
//! further, so a segment needs only four bytes.

use core::fmt;

use super::{WireError, be16, room};

/// Bytes of the two ports.
pub const PORTS_LEN: usize = 4;

/// A TCP segment of at least [`PORTS_LEN`] bytes.
#[derive(Clone, Copy, Debug)]
pub struct View<'a>(&'a [u8; PORTS_LEN]);

impl<'a> View<'a> {
    /// Parses a segment from its source port on.
    ///
    /// # Errors
    /// [`WireError::Truncated`] below 4 bytes.
    #[inline]
    pub fn new(segment: &'a [u8]) -> Result<Self, WireError> {
        segment.first_chunk().map(Self).ok_or(WireError::Truncated)
    }
}

fields! {
    /// The ports of a segment.
    Repr of View as v, PORTS_LEN {
        /// Source port.
        src_port: u16 = be16(v.0, 0),
        /// Destination port.
        dst_port: u16 = be16(v.0, 2),
    }
}

impl Repr {
    /// Writes the ports at the front of `buf` and leaves the rest of the segment's header
    /// unchanged.
    ///
    /// # Errors
    /// [`WireError::NoRoom`] below 4 bytes.
    #[inline]
    pub fn emit(&self, buf: &mut [u8]) -> Result<(), WireError> {
        let ([a, b], [c, d]) = (self.src_port.to_be_bytes(), self.dst_port.to_be_bytes());
        *room(buf)? = [a, b, c, d];
        Ok(())
    }
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tcp {} > {}", self.src_port, self.dst_port)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tests;

    #[test]
    fn golden_bytes() {
        let repr = Repr { src_port: 0x1234, dst_port: 443 };
        tests::hold(&repr, &[0x12, 0x34, 0x01, 0xbb], Repr::parse, Repr::emit);
        assert_eq!(repr.to_string(), "tcp 4660 > 443");
    }

    proptest! {
        #[test]
        fn what_is_emitted_parses_to_the_same((src_port, dst_port) in any::<(u16, u16)>()) {
            let repr = Repr { src_port, dst_port };
            tests::round(&repr, PORTS_LEN, Repr::parse, Repr::emit);
        }
    }
}
