//! The complete header of a TCP segment (RFC 9293 3.1), without options. [`super::tcp`] has only
//! its ports, which suffice for a switch.

use core::fmt;
use core::net::IpAddr;

use super::checksum::Sum;
use super::ip::Protocol;
use super::{WireError, be16, be32, room};

/// Length of a header without options, the only form that is emitted.
pub const HEADER_LEN: usize = 20;

/// Offset of the checksum.
pub const CHECKSUM_AT: usize = 16;

/// Flags of a segment that are used here.
pub mod flag {
    /// The acknowledgement number is valid.
    pub const ACK: u8 = 0x10;
    /// The receiver delivers the data without waiting for more.
    pub const PUSH: u8 = 0x08;
}

/// A TCP segment with a complete header.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    header: &'a [u8; HEADER_LEN],
    segment: &'a [u8],
}

impl<'a> View<'a> {
    /// Parses a segment from its source port on. The checksum is not verified.
    ///
    /// # Errors
    /// [`WireError::Truncated`] if the header with its options is incomplete,
    /// [`WireError::BadLength`] for a data offset below 20 bytes.
    #[inline]
    pub fn new(segment: &'a [u8]) -> Result<Self, WireError> {
        let header: &[u8; HEADER_LEN] = segment.first_chunk().ok_or(WireError::Truncated)?;
        let v = Self { header, segment };
        if v.header_len() < HEADER_LEN {
            return Err(WireError::BadLength);
        }
        if segment.len() < v.header_len() { Err(WireError::Truncated) } else { Ok(v) }
    }

    /// Bytes of the header with its options. Range 20 to 60.
    #[must_use]
    #[inline]
    pub const fn header_len(&self) -> usize {
        // The data offset counts words of 32 bits.
        (self.header[12] >> 4) as usize * 4
    }

    /// Returns the bytes after the header, as far as present.
    #[must_use]
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        &self.segment[self.header_len()..]
    }

    /// Returns true if the checksum is correct. The segment has to be complete, without bytes after
    /// it.
    #[must_use]
    pub fn checksum_ok(&self, src: IpAddr, dst: IpAddr) -> bool {
        let len = self.segment.len() as u16;
        Sum::default().pseudo(src, dst, Protocol::TCP.0, len).octets(self.segment).finish() == 0
    }
}

fields! {
    /// A header without options and urgent data. Reserved bits are sent as 0.
    Repr of View as v, HEADER_LEN {
        /// Source port.
        src_port: u16 = be16(v.header, 0),
        /// Destination port.
        dst_port: u16 = be16(v.header, 2),
        /// Sequence number of the first byte of payload.
        sequence: u32 = be32(v.header, 4),
        /// Sequence number that the sender of the segment expects next.
        acknowledgement: u32 = be32(v.header, 8),
        /// The eight flags, including [`flag`]'s.
        flags: u8 = v.header[13],
        /// The window, unscaled.
        window: u16 = be16(v.header, 14),
        /// Checksum; 0 until the payload is known.
        checksum: u16 = be16(v.header, CHECKSUM_AT),
    }
}

impl Repr {
    /// Writes the header at the front of `buf`.
    ///
    /// # Errors
    /// [`WireError::NoRoom`] below 20 bytes.
    pub fn emit(&self, buf: &mut [u8]) -> Result<(), WireError> {
        let out: &mut [u8; HEADER_LEN] = room(buf)?;
        out[..2].copy_from_slice(&self.src_port.to_be_bytes());
        out[2..4].copy_from_slice(&self.dst_port.to_be_bytes());
        out[4..8].copy_from_slice(&self.sequence.to_be_bytes());
        out[8..12].copy_from_slice(&self.acknowledgement.to_be_bytes());
        out[12] = (HEADER_LEN as u8 / 4) << 4;
        out[13] = self.flags;
        out[14..16].copy_from_slice(&self.window.to_be_bytes());
        out[CHECKSUM_AT..18].copy_from_slice(&self.checksum.to_be_bytes());
        // The urgent pointer, which means nothing without URG.
        out[18..].fill(0);
        Ok(())
    }
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { src_port, dst_port, sequence, acknowledgement, .. } = self;
        write!(f, "tcp {src_port} > {dst_port} seq {sequence} ack {acknowledgement}")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tests;

    fn golden() -> Repr {
        Repr {
            src_port: 0x1234,
            dst_port: 443,
            sequence: 0x0102_0304,
            acknowledgement: 0xa0b0_c0d0,
            flags: flag::ACK | flag::PUSH,
            window: 0xfffe,
            checksum: 0x5566,
        }
    }

    #[test]
    fn golden_bytes() {
        let octets = [
            0x12, 0x34, 0x01, 0xbb, 1, 2, 3, 4, 0xa0, 0xb0, 0xc0, 0xd0, 0x50, 0x18, 0xff, 0xfe,
            0x55, 0x66, 0, 0,
        ];
        tests::hold(&golden(), &octets, Repr::parse, Repr::emit);
        assert_eq!(golden().to_string(), "tcp 4660 > 443 seq 16909060 ack 2695938256");
    }

    #[test]
    fn every_impossible_offset_is_refused() {
        let mut octets = [0; 60];
        golden().emit(&mut octets).unwrap();
        for words in 0..16 {
            octets[12] = words << 4;
            let len = usize::from(words) * 4;
            let want = if words < 5 { Err(WireError::BadLength) } else { Ok(60 - len) };
            assert_eq!(View::new(&octets).map(|v| v.payload().len()), want);
            if words > 5 {
                let cut = View::new(&octets[..len - 1]).map(|v| v.header_len());
                assert_eq!(cut, Err(WireError::Truncated));
            }
        }
    }

    proptest! {
        #[test]
        fn reserved_bits_and_urgency_are_ignored(octets in any::<[u8; HEADER_LEN]>()) {
            let mut octets = octets;
            octets[12] = 0x50 | octets[12] & 0x0f;
            let mut out = [0; HEADER_LEN];
            Repr::parse(&octets).unwrap().emit(&mut out).unwrap();
            octets[12] &= 0xf0;
            octets[18..].fill(0);
            prop_assert_eq!(out, octets);
        }
    }
}
