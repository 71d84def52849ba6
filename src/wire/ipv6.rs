//! The IPv6 header (RFC 8200) and its extension headers.

use core::fmt;
use core::net::Ipv6Addr;

use super::ip::{self, CeMark, Ecn, Fragment, Protocol, Upper};
use super::{WireError, be16, be32, room};
use ground::units::Dscp;

/// Bytes of the fixed header.
pub const HEADER_LEN: usize = 40;

/// Maximum number of extension headers that [`View::upper`] skips. RFC 8200 4.1 lists at most seven
/// occurrences; the bound is our choice, so that a malicious chain costs no more than a valid one.
pub const MAX_EXTENSIONS: usize = 8;

/// Maximum flow label: 20 bits.
pub const FLOW_LABEL_MAX: u32 = 0xf_ffff;

/// Next header values of extension headers (IANA's list of IPv6 extension header types).
mod extension {
    pub const HOP_BY_HOP: u8 = 0;
    pub const ROUTING: u8 = 43;
    pub const FRAGMENT: u8 = 44;
    pub const AUTHENTICATION: u8 = 51;
    pub const DESTINATION: u8 = 60;
    pub const MOBILITY: u8 = 135;
    pub const HIP: u8 = 139;
    pub const SHIM6: u8 = 140;
}

/// An IPv6 packet with a complete fixed header.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    fixed: &'a [u8; HEADER_LEN],
    rest: &'a [u8],
}

impl<'a> View<'a> {
    /// Parses a packet from its version field on.
    ///
    /// # Errors
    /// [`WireError::Truncated`] below 40 bytes, [`WireError::BadVersion`] for another version
    /// than 6.
    #[inline]
    pub fn new(packet: &'a [u8]) -> Result<Self, WireError> {
        let (fixed, rest) = packet.split_first_chunk::<HEADER_LEN>().ok_or(WireError::Truncated)?;
        if fixed[0] >> 4 != 6 {
            return Err(WireError::BadVersion);
        }
        Ok(Self { fixed, rest })
    }

    /// Returns the traffic class octet: DSCP and ECN.
    #[inline]
    const fn class(&self) -> u8 {
        class_of(self.fixed)
    }

    /// Returns the bytes after the fixed header, as far as present, without padding of the frame.
    #[must_use]
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        &self.rest[..self.rest.len().min(usize::from(self.payload_len()))]
    }

    /// Returns the payload after the extension headers.
    ///
    /// # Errors
    /// [`WireError::Truncated`] if the packet ends within an extension header,
    /// [`WireError::Unsupported`] after [`MAX_EXTENSIONS`] of them.
    #[inline]
    pub fn upper(&self) -> Result<Upper<'a>, WireError> {
        let mut upper = Upper {
            protocol: self.next_header(),
            fragment: Fragment::Whole,
            payload: self.payload(),
        };
        for _ in 0..MAX_EXTENSIONS {
            // Behind the header of a later fragment comes data, whatever the next header says.
            if upper.fragment == Fragment::Later || !is_extension(upper.protocol) {
                return Ok(upper);
            }
            upper = pass_extension(&upper)?;
        }
        if is_extension(upper.protocol) { Err(WireError::Unsupported) } else { Ok(upper) }
    }
}

/// Returns true if `next` is an extension header that can be skipped. ESP cannot, being encrypted.
#[inline]
const fn is_extension(next: Protocol) -> bool {
    use extension::*;
    matches!(
        next.0,
        HOP_BY_HOP | ROUTING | FRAGMENT | AUTHENTICATION | DESTINATION | MOBILITY | HIP | SHIM6
    )
}

/// Skips the extension header at the start of `upper`.
fn pass_extension<'a>(upper: &Upper<'a>) -> Result<Upper<'a>, WireError> {
    let head: &[u8; 8] = upper.payload.first_chunk().ok_or(WireError::Truncated)?;
    let mut fragment = upper.fragment;
    let len = match upper.protocol.0 {
        extension::FRAGMENT => {
            let word = be16(head, 2);
            // Offset in the upper 13 bits, two reserved bits, more fragments (RFC 8200 4.5).
            fragment = Fragment::new(word >> 3, word & 1 != 0);
            8
        }
        // The length of AH counts units of 4 bytes, less 2 (RFC 4302 2.2); others count units of 8, less 1.
        extension::AUTHENTICATION => (usize::from(head[1]) + 2) * 4,
        _ => (usize::from(head[1]) + 1) * 8,
    };
    let payload = upper.payload.get(len..).ok_or(WireError::Truncated)?;
    Ok(Upper { protocol: Protocol(head[0]), fragment, payload })
}

/// Returns the traffic class, which spans the first two octets.
#[inline]
const fn class_of(fixed: &[u8; HEADER_LEN]) -> u8 {
    fixed[0] << 4 | fixed[1] >> 4
}

/// Returns the address at offset `offset`.
#[inline(always)]
const fn address_at(f: &[u8; HEADER_LEN], offset: usize) -> Ipv6Addr {
    Ipv6Addr::new(
        be16(f, offset),
        be16(f, offset + 2),
        be16(f, offset + 4),
        be16(f, offset + 6),
        be16(f, offset + 8),
        be16(f, offset + 10),
        be16(f, offset + 12),
        be16(f, offset + 14),
    )
}

/// An IPv6 header for changes in place.
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

    /// Sets the traffic class, without changing version and flow label.
    #[inline]
    const fn set_class(&mut self, class: u8) {
        // The class lies across two bytes, between the version and the flow label.
        self.0[0] = self.0[0] & 0xf0 | class >> 4;
        self.0[1] = self.0[1] & 0x0f | class << 4;
    }

    /// Sets DSCP and ECN.
    #[inline]
    pub const fn set_dscp_ecn(&mut self, dscp: Dscp, ecn: Ecn) {
        self.set_class(ip::octet_of(dscp, ecn));
    }

    /// Sets CE if the packet is ECT.
    #[inline]
    pub fn mark_ce(&mut self) -> CeMark {
        let class = class_of(self.0);
        let mark = ip::after_mark(Ecn::from_octet(class));
        if mark == CeMark::Marked {
            self.set_class(class | Ecn::Ce as u8);
        }
        mark
    }

    /// Sets CE whatever the code point is.
    pub(crate) fn force_ce(&mut self) {
        self.set_class(class_of(self.0) | Ecn::Ce as u8);
    }

    /// Decrements the hop limit and returns the result; `None`, without a change, if that would be
    /// 0 (RFC 8200 section 3: such a packet is not forwarded).
    #[inline]
    pub fn decrement_hop_limit(&mut self) -> Option<u8> {
        let left = self.0[7].checked_sub(1).filter(|left| *left > 0)?;
        self.0[7] = left;
        Some(left)
    }

    /// Converts the header of a request to that of its answer: swaps source and destination and
    /// sets the hop limit.
    pub fn turn_round(&mut self, hop_limit: u8) {
        let (src, dst) = self.0[8..40].split_at_mut(16);
        src.swap_with_slice(dst);
        self.0[7] = hop_limit;
    }
}

fields! {
    /// An IPv6 fixed header.
    Repr of View as v, HEADER_LEN {
        /// Differentiated services code point.
        dscp: Dscp = ip::dscp_of(v.class()),
        /// ECN code point.
        ecn: Ecn = Ecn::from_octet(v.class()),
        /// Flow label. Range 0 to [`FLOW_LABEL_MAX`].
        flow_label: u32 = be32(v.fixed, 0) & FLOW_LABEL_MAX,
        /// Number of bytes after the fixed header, which may exceed the bytes present.
        payload_len: u16 = be16(v.fixed, 4),
        /// Next header: an extension header or an upper protocol.
        next_header: Protocol = Protocol(v.fixed[6]),
        /// Hop limit.
        hop_limit: u8 = v.fixed[7],
        /// Source address.
        src: Ipv6Addr = address_at(v.fixed, 8),
        /// Destination address.
        dst: Ipv6Addr = address_at(v.fixed, 24),
    }
}

impl Repr {
    /// Writes the fixed header at the front of `buf`.
    ///
    /// # Errors
    /// [`WireError::OutOfRange`] for a flow label above 20 bits, [`WireError::NoRoom`].
    pub fn emit(&self, buf: &mut [u8]) -> Result<(), WireError> {
        if self.flow_label > FLOW_LABEL_MAX {
            return Err(WireError::OutOfRange);
        }
        let out: &mut [u8; HEADER_LEN] = room(buf)?;
        let class = u32::from(ip::octet_of(self.dscp, self.ecn));
        // Version, traffic class and flow label have 4, 8 and 20 bits (RFC 8200 section 3).
        out[..4].copy_from_slice(&(6 << 28 | class << 20 | self.flow_label).to_be_bytes());
        out[4..6].copy_from_slice(&self.payload_len.to_be_bytes());
        out[6] = self.next_header.0;
        out[7] = self.hop_limit;
        out[8..24].copy_from_slice(&self.src.octets());
        out[24..].copy_from_slice(&self.dst.octets());
        Ok(())
    }
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} > {} {} hops {} dscp {} {:?} payload {}",
            self.src,
            self.dst,
            self.next_header,
            self.hop_limit,
            self.dscp,
            self.ecn,
            self.payload_len
        )
    }
}

#[cfg(test)]
pub(crate) mod tests;
