//! The UDP header (RFC 768) and its checksum over IPv4 and IPv6.

use core::fmt;
use core::net::IpAddr;

use super::checksum::Sum;
use super::ip::Protocol;
use super::{WireError, be16, room};

/// Bytes of the header.
pub const HEADER_LEN: usize = 8;

/// Offset of the checksum.
const CHECKSUM: usize = 6;

/// A UDP datagram with a complete header.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    header: &'a [u8; HEADER_LEN],
    datagram: &'a [u8],
}

impl<'a> View<'a> {
    /// Parses a datagram from its source port on. The caller verifies the checksum
    /// ([`View::checksum_ok`]).
    ///
    /// # Errors
    /// [`WireError::Truncated`] below 8 bytes, [`WireError::BadLength`] for a length field below
    /// the header (including 0, a jumbogram's).
    #[inline]
    pub fn new(datagram: &'a [u8]) -> Result<Self, WireError> {
        let header: &[u8; HEADER_LEN] = datagram.first_chunk().ok_or(WireError::Truncated)?;
        let v = Self { header, datagram };
        if usize::from(v.len()) < HEADER_LEN { Err(WireError::BadLength) } else { Ok(v) }
    }

    /// Returns the length of header and payload by the length field, which may exceed the bytes
    /// present.
    #[must_use]
    #[inline]
    #[allow(clippy::len_without_is_empty)] // A datagram always has a header.
    pub const fn len(&self) -> u16 {
        be16(self.header, 4)
    }

    /// Returns the bytes after the header, as far as present.
    #[must_use]
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        &self.datagram[HEADER_LEN..self.datagram.len().min(usize::from(self.len()))]
    }

    /// Returns true if the checksum between `src` and `dst` (both of one version) is correct or
    /// absent. An absent one is accepted over IPv6 too: RFC 6936 allows that for tunnels, as RoCEv2
    /// does.
    ///
    /// # Errors
    /// [`WireError::Truncated`] when the datagram is incomplete.
    pub fn checksum_ok(&self, src: IpAddr, dst: IpAddr) -> Result<bool, WireError> {
        let whole = self.datagram.get(..usize::from(self.len())).ok_or(WireError::Truncated)?;
        // The sender has calculated none (RFC 768).
        if self.checksum() == 0 {
            return Ok(true);
        }
        Ok(Sum::default().pseudo(src, dst, Protocol::UDP.0, self.len()).octets(whole).finish() == 0)
    }
}

/// Calculates and writes the checksum of the datagram at the front of `datagram`, sent from `src`
/// to `dst` (both of one version). A checksum of 0 is sent as 0xFFFF, its other form.
///
/// # Errors
/// As [`View::new`], and [`WireError::Truncated`] if the datagram is incomplete.
pub fn set_checksum(datagram: &mut [u8], src: IpAddr, dst: IpAddr) -> Result<(), WireError> {
    let len = View::new(datagram)?.len();
    let whole = datagram.get_mut(..usize::from(len)).ok_or(WireError::Truncated)?;
    whole[CHECKSUM..CHECKSUM + 2].fill(0);
    let sum = Sum::default().pseudo(src, dst, Protocol::UDP.0, len).octets(whole).finish();
    let sum = if sum == 0 { 0xffff } else { sum };
    whole[CHECKSUM..CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
    Ok(())
}

fields! {
    /// A UDP header.
    Repr of View as v, HEADER_LEN {
        /// Source port.
        src_port: u16 = be16(v.header, 0),
        /// Destination port.
        dst_port: u16 = be16(v.header, 2),
        /// Number of payload bytes by the length field. Range 0 to 65527.
        payload_len: u16 = v.len() - HEADER_LEN as u16,
        /// Checksum; 0 for none, and until [`set_checksum`] has calculated it.
        checksum: u16 = be16(v.header, CHECKSUM),
    }
}

impl Repr {
    /// Writes the header at the front of `buf`.
    ///
    /// # Errors
    /// [`WireError::OutOfRange`] for a payload above 65527 bytes, [`WireError::NoRoom`].
    pub fn emit(&self, buf: &mut [u8]) -> Result<(), WireError> {
        let len = self.payload_len.checked_add(HEADER_LEN as u16).ok_or(WireError::OutOfRange)?;
        let out: &mut [u8; HEADER_LEN] = room(buf)?;
        out[..2].copy_from_slice(&self.src_port.to_be_bytes());
        out[2..4].copy_from_slice(&self.dst_port.to_be_bytes());
        out[4..6].copy_from_slice(&len.to_be_bytes());
        out[CHECKSUM..].copy_from_slice(&self.checksum.to_be_bytes());
        Ok(())
    }
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "udp {} > {} payload {}", self.src_port, self.dst_port, self.payload_len)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tests;

    /// Between the addresses of `ends`.
    const GOLDEN: [u8; 10] = [0x30, 0x39, 0x12, 0xb7, 0x00, 0x0a, 0x47, 0x85, 0x61, 0x62];
    const GOLDEN_REPR: Repr =
        Repr { src_port: 12345, dst_port: 4791, payload_len: 2, checksum: 0x4785 };

    fn ends() -> (IpAddr, IpAddr) {
        ("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap())
    }

    #[test]
    fn golden_bytes() {
        assert_eq!(Repr::parse(&GOLDEN), Ok(GOLDEN_REPR));
        let (src, dst) = ends();
        assert_eq!(View::new(&GOLDEN).unwrap().checksum_ok(src, dst), Ok(true));
        let mut out = *b"........ab";
        Repr { checksum: 0, ..GOLDEN_REPR }.emit(&mut out).unwrap();
        set_checksum(&mut out, src, dst).unwrap();
        assert_eq!(out, GOLDEN);
        assert_eq!(GOLDEN_REPR.to_string(), "udp 12345 > 4791 payload 2");
    }

    #[test]
    fn a_payload_that_is_cut_has_no_checksum() {
        let (src, dst) = ends();
        for n in HEADER_LEN..GOLDEN.len() {
            let v = View::new(&GOLDEN[..n]).unwrap();
            assert_eq!(v.payload().len(), n - HEADER_LEN);
            assert_eq!(v.checksum_ok(src, dst), Err(WireError::Truncated));
            let mut cut = GOLDEN;
            assert_eq!(set_checksum(&mut cut[..n], src, dst), Err(WireError::Truncated));
            assert_eq!(cut, GOLDEN);
        }
    }

    #[test]
    fn impossible_lengths_are_refused() {
        for len in 0..8 {
            let mut bad = GOLDEN;
            bad[5] = len;
            assert_eq!(Repr::parse(&bad), Err(WireError::BadLength));
        }
        let bad = Repr { payload_len: 65528, ..GOLDEN_REPR };
        assert_eq!(bad.emit(&mut [0; 8]), Err(WireError::OutOfRange));
    }

    proptest! {
        #[test]
        fn what_is_emitted_parses_to_the_same(
            (src_port, dst_port, checksum) in any::<(u16, u16, u16)>(), payload_len in 0_u16..65528
        ) {
            let repr = Repr { src_port, dst_port, payload_len, checksum };
            tests::round(&repr, HEADER_LEN, Repr::parse, Repr::emit);
        }

        #[test]
        fn a_checksum_is_never_absent_and_any_single_change_breaks_it(
            src in any::<u128>(), dst in any::<u128>(), v6 in any::<bool>(),
            payload in prop::collection::vec(any::<u8>(), 1..50), at in any::<prop::sample::Index>(),
            flip in 1_u8..255,
        ) {
            let ends: (IpAddr, IpAddr) = if v6 {
                (IpAddr::V6(src.into()), IpAddr::V6(dst.into()))
            } else {
                (IpAddr::V4((src as u32).into()), IpAddr::V4((dst as u32).into()))
            };
            let payload_len = payload.len() as u16;
            let repr = Repr { src_port: 1, dst_port: 2, payload_len, checksum: 0 };
            let mut datagram = [&[0; HEADER_LEN][..], &payload].concat();
            repr.emit(&mut datagram).unwrap();
            set_checksum(&mut datagram, ends.0, ends.1).unwrap();
            prop_assert!(View::new(&datagram).unwrap().checksum() != 0);
            prop_assert_eq!(View::new(&datagram).unwrap().checksum_ok(ends.0, ends.1), Ok(true));
            let at = HEADER_LEN + at.index(payload.len());
            datagram[at] ^= flip;
            prop_assert_eq!(View::new(&datagram).unwrap().checksum_ok(ends.0, ends.1), Ok(false));
        }
    }
}
