//! The IPv4 header (RFC 791), its checksum, and the changes that a switch makes in transit.

use core::fmt;
use core::net::Ipv4Addr;

use super::checksum::{self, Sum};
use super::ip::{self, CeMark, Ecn, Fragment, Protocol, Upper};
use super::{WireError, be16, ipv4_at};
use ground::units::Dscp;

/// Bytes of the header without options.
pub const HEADER_LEN: usize = 20;

/// Maximum header length.
pub const HEADER_LEN_MAX: usize = 60;

/// Maximum fragment offset, in units of 8 bytes.
pub const FRAGMENT_OFFSET_MAX: u16 = 0x1fff;

/// Offset of the header checksum.
const CHECKSUM: usize = 10;
/// The don't-fragment flag in the word of flags and offset.
const DONT_FRAGMENT: u16 = 0x4000;
/// The more-fragments flag in the same word.
const MORE_FRAGMENTS: u16 = 0x2000;

/// An IPv4 packet with a complete header and consistent lengths.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    fixed: &'a [u8; HEADER_LEN],
    packet: &'a [u8],
}

impl<'a> View<'a> {
    /// Parses a packet from its version field on. The caller verifies the checksum
    /// ([`View::checksum_ok`]): a bridge does not, a router must.
    ///
    /// # Errors
    /// [`WireError::Truncated`] if the header with its options is incomplete,
    /// [`WireError::BadVersion`] for another version than 4, [`WireError::BadLength`] for a header
    /// below 20 bytes or a total below the header.
    #[inline]
    pub fn new(packet: &'a [u8]) -> Result<Self, WireError> {
        let fixed: &[u8; HEADER_LEN] = packet.first_chunk().ok_or(WireError::Truncated)?;
        if fixed[0] >> 4 != 4 {
            return Err(WireError::BadVersion);
        }
        let v = Self { fixed, packet };
        if v.header_len() < HEADER_LEN || usize::from(v.total_len()) < v.header_len() {
            return Err(WireError::BadLength);
        }
        if packet.len() < v.header_len() {
            return Err(WireError::Truncated);
        }
        Ok(v)
    }

    /// Bytes of the header with its options. Range 20 to 60.
    #[must_use]
    #[inline]
    pub const fn header_len(&self) -> usize {
        (self.fixed[0] & 0x0f) as usize * 4
    }

    /// Returns the length of header and payload by the length field, which may exceed the bytes
    /// present.
    #[must_use]
    #[inline]
    pub const fn total_len(&self) -> u16 {
        be16(self.fixed, 2)
    }

    /// The checksum field.
    #[must_use]
    #[inline]
    pub const fn checksum(&self) -> u16 {
        be16(self.fixed, CHECKSUM)
    }

    /// Returns the bytes after the header, as far as present, without padding of the frame.
    #[must_use]
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        // A short packet is padded by Ethernet, and a long one may be cut off.
        let end = self.packet.len().min(usize::from(self.total_len()));
        &self.packet[self.header_len()..end]
    }

    /// Returns the payload and its part of the datagram.
    #[must_use]
    #[inline]
    pub fn upper(&self) -> Upper<'a> {
        let fragment = Fragment::new(self.fragment_offset(), self.more_fragments());
        Upper { protocol: self.protocol(), fragment, payload: self.payload() }
    }

    /// Returns true if the header checksum is correct.
    #[must_use]
    #[inline]
    pub fn checksum_ok(&self) -> bool {
        Sum::default().octets(&self.packet[..self.header_len()]).finish() == 0
    }
}

/// An IPv4 header for changes in place. Changes update the checksum incrementally: a correct one
/// stays correct and a wrong one wrong.
#[derive(Debug)]
pub struct ViewMut<'a>(&'a mut [u8; HEADER_LEN]);

impl<'a> ViewMut<'a> {
    /// Parses a packet from its version field on.
    ///
    /// # Errors
    /// As [`View::new`].
    #[inline]
    pub fn new(packet: &'a mut [u8]) -> Result<Self, WireError> {
        View::new(packet)?;
        packet.first_chunk_mut().map(Self).ok_or(WireError::Truncated)
    }

    /// Replaces the 16-bit word at `offset`, checksum included.
    #[inline]
    fn set_word(&mut self, offset: usize, new: [u8; 2]) {
        let old = be16(self.0, offset);
        let sum = checksum::update(be16(self.0, CHECKSUM), old, u16::from_be_bytes(new));
        self.0[offset..offset + 2].copy_from_slice(&new);
        self.0[CHECKSUM..CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
    }

    /// Sets DSCP and ECN.
    #[inline]
    pub fn set_dscp_ecn(&mut self, dscp: Dscp, ecn: Ecn) {
        self.set_word(0, [self.0[0], ip::octet_of(dscp, ecn)]);
    }

    /// Sets CE if the packet is ECT.
    #[inline]
    pub fn mark_ce(&mut self) -> CeMark {
        let mark = ip::after_mark(Ecn::from_octet(self.0[1]));
        if mark == CeMark::Marked {
            self.set_word(0, [self.0[0], self.0[1] | Ecn::Ce as u8]);
        }
        mark
    }

    /// Sets CE whatever the code point is.
    pub(crate) fn force_ce(&mut self) {
        self.set_word(0, [self.0[0], self.0[1] | Ecn::Ce as u8]);
    }

    /// Decrements the TTL and returns the result; `None`, without a change, if that would be 0 (RFC
    /// 1812 5.3.1: such a packet is not forwarded).
    #[inline]
    pub fn decrement_ttl(&mut self) -> Option<u8> {
        let left = self.0[8].checked_sub(1).filter(|left| *left > 0)?;
        // TTL and protocol are one word of the checksum.
        self.set_word(8, [left, self.0[9]]);
        Some(left)
    }

    /// Converts the header of a request to that of its answer: swaps source and destination, which
    /// leaves the checksum unchanged, and sets the TTL to `ttl`.
    pub fn turn_round(&mut self, ttl: u8) {
        let (src, dst) = self.0[12..20].split_at_mut(4);
        // A sum does not depend on the order of its words.
        src.swap_with_slice(dst);
        self.set_word(8, [ttl, self.0[9]]);
    }
}

fields! {
    /// An IPv4 header.
    Repr<'a> of View as v {
        /// Differentiated services code point.
        dscp: Dscp = ip::dscp_of(v.fixed[1]),
        /// ECN code point.
        ecn: Ecn = Ecn::from_octet(v.fixed[1]),
        /// Identification of the datagram, which its fragments share.
        identification: u16 = be16(v.fixed, 4),
        /// True if the packet must not be fragmented.
        dont_fragment: bool = be16(v.fixed, 6) & DONT_FRAGMENT != 0,
        /// True if later fragments follow.
        more_fragments: bool = be16(v.fixed, 6) & MORE_FRAGMENTS != 0,
        /// Fragment offset in the datagram, in units of 8 bytes. Range 0 to [`FRAGMENT_OFFSET_MAX`].
        fragment_offset: u16 = be16(v.fixed, 6) & FRAGMENT_OFFSET_MAX,
        /// Time to live, in hops.
        ttl: u8 = v.fixed[8],
        /// Upper protocol.
        protocol: Protocol = Protocol(v.fixed[9]),
        /// Source address.
        src: Ipv4Addr = ipv4_at(v.fixed, 12),
        /// Destination address.
        dst: Ipv4Addr = ipv4_at(v.fixed, 16),
        /// Options: a multiple of 4 bytes, at most 40; usually none.
        options: &'a [u8] = &v.packet[HEADER_LEN..v.header_len()],
        /// Length of the payload by the length field. Range 0 to 65535 minus the header.
        payload_len: u16 = v.total_len() - v.header_len() as u16,
    }
}

impl<'a> Repr<'a> {
    /// Parses the header of a packet.
    ///
    /// # Errors
    /// As [`View::new`], and [`WireError::BadChecksum`].
    #[inline]
    pub fn parse(packet: &'a [u8]) -> Result<Self, WireError> {
        let v = View::new(packet)?;
        if !v.checksum_ok() {
            return Err(WireError::BadChecksum);
        }
        Ok(Self::of(&v))
    }

    /// Returns the number of bytes that [`Repr::emit`] writes: the header with its options.
    #[must_use]
    pub const fn buffer_len(&self) -> usize {
        HEADER_LEN + self.options.len()
    }

    /// Writes the header with its checksum at the front of `buf`.
    ///
    /// # Errors
    /// [`WireError::OutOfRange`] for options of an invalid length, a fragment offset above 13 bits
    /// or a total above 65535; [`WireError::NoRoom`].
    pub fn emit(&self, buf: &mut [u8]) -> Result<(), WireError> {
        let header_len = self.buffer_len();
        let total = u16::try_from(header_len + usize::from(self.payload_len));
        let total = total.map_err(|_| WireError::OutOfRange)?;
        if header_len % 4 != 0
            || header_len > HEADER_LEN_MAX
            || self.fragment_offset > FRAGMENT_OFFSET_MAX
        {
            return Err(WireError::OutOfRange);
        }
        let out = buf.get_mut(..header_len).ok_or(WireError::NoRoom)?;
        let flags = (u16::from(self.dont_fragment) * DONT_FRAGMENT)
            | (u16::from(self.more_fragments) * MORE_FRAGMENTS);
        out[0] = 0x40 | (header_len / 4) as u8;
        out[1] = ip::octet_of(self.dscp, self.ecn);
        out[2..4].copy_from_slice(&total.to_be_bytes());
        out[4..6].copy_from_slice(&self.identification.to_be_bytes());
        out[6..8].copy_from_slice(&(flags | self.fragment_offset).to_be_bytes());
        out[8] = self.ttl;
        out[9] = self.protocol.0;
        out[CHECKSUM..CHECKSUM + 2].fill(0);
        out[12..16].copy_from_slice(&self.src.octets());
        out[16..20].copy_from_slice(&self.dst.octets());
        out[HEADER_LEN..].copy_from_slice(self.options);
        // The checksum field is still 0, as the sum requires.
        let sum = Sum::default().octets(out).finish();
        out[CHECKSUM..CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
        Ok(())
    }
}

impl fmt::Display for Repr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} > {} {} ttl {} dscp {} {:?} payload {}",
            self.src, self.dst, self.protocol, self.ttl, self.dscp, self.ecn, self.payload_len
        )
    }
}

#[cfg(test)]
pub(crate) mod tests;
