//! RoCEv2's base transport header, BTH (InfiniBand Architecture 9.2), behind UDP port 4791.
//!
//! [`super::icrc`] ends every packet; [`super::cnp`] is the only packet that a congestion point
//! reads and a receiver sends.

use core::fmt;

use super::{WireError, be16, room};

/// The UDP destination port of RoCEv2.
pub const UDP_PORT: u16 = 4791;

/// Bytes of the header.
pub const BTH_LEN: usize = 12;

/// The default partition, which every port is a member of.
pub const DEFAULT_P_KEY: u16 = 0xffff;

/// Flags in byte 1.
const SOLICITED: u8 = 0x80;
const MIGRATED: u8 = 0x40;
/// Flags in octet 4, where both bits are excluded from the ICRC.
const FECN: u8 = 0x80;
const BECN: u8 = 0x40;
/// The flag in byte 8.
const ACK_REQUEST: u8 = 0x80;

/// A BTH opcode: the transport service in the three high bits, the operation in the others.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Opcode(pub u8);

impl Opcode {
    /// Reliable connection, first packet of a SEND.
    pub const RC_SEND_FIRST: Self = Self(0x00);
    /// Reliable connection, a packet in the middle of a SEND.
    pub const RC_SEND_MIDDLE: Self = Self(0x01);
    /// Reliable connection, last packet of a SEND.
    pub const RC_SEND_LAST: Self = Self(0x02);
    /// Reliable connection, last packet of a SEND, with immediate data.
    pub const RC_SEND_LAST_IMMEDIATE: Self = Self(0x03);
    /// Reliable connection, SEND of one packet.
    pub const RC_SEND_ONLY: Self = Self(0x04);
    /// Reliable connection, SEND of one packet, with immediate data.
    pub const RC_SEND_ONLY_IMMEDIATE: Self = Self(0x05);
    /// Reliable connection, first packet of an RDMA WRITE.
    pub const RC_WRITE_FIRST: Self = Self(0x06);
    /// Reliable connection, a packet in the middle of an RDMA WRITE.
    pub const RC_WRITE_MIDDLE: Self = Self(0x07);
    /// Reliable connection, last packet of an RDMA WRITE.
    pub const RC_WRITE_LAST: Self = Self(0x08);
    /// Reliable connection, last packet of an RDMA WRITE, with immediate data.
    pub const RC_WRITE_LAST_IMMEDIATE: Self = Self(0x09);
    /// Reliable connection, RDMA WRITE of one packet.
    pub const RC_WRITE_ONLY: Self = Self(0x0a);
    /// Reliable connection, RDMA WRITE of one packet, with immediate data.
    pub const RC_WRITE_ONLY_IMMEDIATE: Self = Self(0x0b);
    /// Reliable connection, acknowledge.
    pub const RC_ACKNOWLEDGE: Self = Self(0x11);
    /// Unreliable connection, SEND of one packet.
    pub const UC_SEND_ONLY: Self = Self(0x24);
    /// Congestion notification packet (Annex A17.9.3).
    pub const CNP: Self = Self(0x81);
}

/// Length of immediate data (IBA 9.3.6), before the payload.
pub const IMMEDIATE_LEN: usize = 4;

/// A number of 24 bits: a queue pair number or a packet sequence number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct U24(u32);

impl U24 {
    /// Maximum.
    pub const MAX: Self = Self(0xff_ffff);

    /// Creates a number; `None` above 24 bits.
    #[must_use]
    pub const fn new(n: u32) -> Option<Self> {
        if n <= Self::MAX.0 { Some(Self(n)) } else { None }
    }

    /// Returns the 24 low bits of a count.
    #[must_use]
    pub const fn wrapping(n: u64) -> Self {
        Self(n as u32 & Self::MAX.0)
    }

    /// Returns the count with these low bits that is nearest to `near`; the lower one if two are
    /// 2^23 away.
    #[must_use]
    pub const fn unwrap_near(self, near: u64) -> Option<u64> {
        // Modulo 2^24: less than half of the circle is ahead of `near`, the rest is behind.
        let ahead = (self.0.wrapping_sub(near as u32) & Self::MAX.0) as u64;
        if ahead < 1 << 23 { near.checked_add(ahead) } else { (near + ahead).checked_sub(1 << 24) }
    }

    /// Returns the number.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// Returns the number after this one, 0 after the last, as for packet sequence numbers.
    #[must_use]
    pub const fn next(self) -> Self {
        Self((self.0 + 1) & Self::MAX.0)
    }

    /// Returns the three bytes at `offset`.
    #[inline(always)]
    const fn at<const N: usize>(octets: &[u8; N], offset: usize) -> Self {
        Self::from_octets([octets[offset], octets[offset + 1], octets[offset + 2]])
    }

    /// Decodes three bytes from the wire.
    #[must_use]
    #[inline(always)]
    pub const fn from_octets(octets: [u8; 3]) -> Self {
        let [a, b, c] = octets;
        Self(u32::from_be_bytes([0, a, b, c]))
    }

    /// Returns the number in wire format.
    #[must_use]
    #[inline(always)]
    pub const fn octets(self) -> [u8; 3] {
        let [_, a, b, c] = self.0.to_be_bytes();
        [a, b, c]
    }
}

impl fmt::Display for U24 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// A RoCEv2 packet, from its BTH on.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    bth: &'a [u8; BTH_LEN],
    payload: &'a [u8],
}

impl<'a> View<'a> {
    /// Parses the payload of a UDP datagram to port 4791.
    ///
    /// # Errors
    /// [`WireError::Truncated`] below 12 bytes, [`WireError::BadVersion`] for another transport
    /// header version than 0.
    #[inline]
    pub fn new(octets: &'a [u8]) -> Result<Self, WireError> {
        let (bth, payload) = octets.split_first_chunk::<BTH_LEN>().ok_or(WireError::Truncated)?;
        // TVer, the version of the transport header.
        if bth[1] & 0x0f != 0 {
            return Err(WireError::BadVersion);
        }
        Ok(Self { bth, payload })
    }

    /// Returns the bytes after the header, ICRC included.
    #[must_use]
    #[inline]
    pub const fn payload(&self) -> &'a [u8] {
        self.payload
    }
}

fields! {
    /// A base transport header. Reserved bits and the header version are sent as 0.
    Repr of View as v, BTH_LEN {
        /// Opcode.
        opcode: Opcode = Opcode(v.bth[0]),
        /// True if the receiver is to raise a completion event.
        solicited: bool = v.bth[1] & SOLICITED != 0,
        /// Migration state bit.
        migrated: bool = v.bth[1] & MIGRATED != 0,
        /// Number of padding bytes after the payload, to a multiple of 4. Range 0 to 3.
        pad_count: u8 = (v.bth[1] >> 4) & 0b11,
        /// Partition key.
        p_key: u16 = be16(v.bth, 2),
        /// Forward congestion notification.
        fecn: bool = v.bth[4] & FECN != 0,
        /// Backward congestion notification.
        becn: bool = v.bth[4] & BECN != 0,
        /// Destination queue pair.
        dest_qp: U24 = U24::at(v.bth, 5),
        /// True if the receiver is to acknowledge.
        ack_request: bool = v.bth[8] & ACK_REQUEST != 0,
        /// Packet sequence number.
        psn: U24 = U24::at(v.bth, 9),
    }
}

impl Repr {
    /// Creates a header with an opcode and a destination, in the default partition, all other
    /// fields 0.
    #[must_use]
    pub const fn new(opcode: Opcode, dest_qp: U24, psn: U24) -> Self {
        Self {
            opcode,
            solicited: false,
            migrated: false,
            pad_count: 0,
            p_key: DEFAULT_P_KEY,
            fecn: false,
            becn: false,
            dest_qp,
            ack_request: false,
            psn,
        }
    }

    /// Writes the header at the front of `buf`.
    ///
    /// # Errors
    /// [`WireError::OutOfRange`] for a pad count above 3, [`WireError::NoRoom`].
    pub fn emit(&self, buf: &mut [u8]) -> Result<(), WireError> {
        if self.pad_count > 3 {
            return Err(WireError::OutOfRange);
        }
        let out: &mut [u8; BTH_LEN] = room(buf)?;
        out[0] = self.opcode.0;
        out[1] =
            bit(self.solicited, SOLICITED) | bit(self.migrated, MIGRATED) | (self.pad_count << 4);
        out[2..4].copy_from_slice(&self.p_key.to_be_bytes());
        // The six bits beside them are reserved.
        out[4] = bit(self.fecn, FECN) | bit(self.becn, BECN);
        out[5..8].copy_from_slice(&self.dest_qp.octets());
        out[8] = bit(self.ack_request, ACK_REQUEST);
        out[9..].copy_from_slice(&self.psn.octets());
        Ok(())
    }
}

/// Returns `mask` if `on`, else 0.
#[inline(always)]
const fn bit(on: bool, mask: u8) -> u8 {
    if on { mask } else { 0 }
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "roce opcode {:#04x} qp {} psn {}", self.opcode.0, self.dest_qp, self.psn)?;
        for (on, name) in [(self.ack_request, " ack"), (self.fecn, " fecn"), (self.becn, " becn")] {
            if on {
                f.write_str(name)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tests;

    const GOLDEN: [u8; 12] = [0x24, 0xe0, 0xff, 0xff, 0xc0, 0, 0x02, 0xd3, 0x80, 0x12, 0x34, 0x56];

    fn golden() -> Repr {
        Repr {
            solicited: true,
            migrated: true,
            pad_count: 2,
            fecn: true,
            becn: true,
            ack_request: true,
            ..Repr::new(Opcode::UC_SEND_ONLY, U24(0x2d3), U24(0x12_3456))
        }
    }

    #[test]
    fn golden_bytes() {
        tests::hold(&golden(), &GOLDEN, Repr::parse, Repr::emit);
        assert_eq!(golden().to_string(), "roce opcode 0x24 qp 723 psn 1193046 ack fecn becn");
    }

    #[test]
    fn reserved_bits_are_ignored_and_other_versions_refused() {
        let mut octets = GOLDEN;
        octets[4] |= 0x3f;
        octets[8] |= 0x7f;
        assert_eq!(Repr::parse(&octets), Ok(golden()));
        octets[1] |= 1;
        assert_eq!(Repr::parse(&octets), Err(WireError::BadVersion));
        let bad = Repr { pad_count: 4, ..golden() };
        assert_eq!(bad.emit(&mut [0; 12]), Err(WireError::OutOfRange));
    }

    #[test]
    fn sequence_numbers_wrap_at_24_bits() {
        assert_eq!(U24::MAX.next(), U24(0));
        assert_eq!((U24::new(1 << 24), U24::new(0xff_ffff)), (None, Some(U24::MAX)));
    }

    proptest! {
        #[test]
        fn a_count_is_known_again_by_its_low_bits_within_half_their_range(
            near in any::<u64>(), off in 0_u64..1 << 23, behind in any::<bool>()
        ) {
            let count = if behind { near.checked_sub(off) } else { near.checked_add(off) };
            if let Some(count) = count {
                prop_assert_eq!(U24::wrapping(count).unwrap_near(near), Some(count));
            }
        }

        #[test]
        fn below_zero_there_is_no_count(near in 0_u64..1 << 23, off in 1_u64..1 << 23) {
            let low = U24::wrapping(0_u64.wrapping_sub(off));
            let ahead = (near + off > 1 << 23).then(|| (1 << 24) - off);
            prop_assert_eq!(low.unwrap_near(near), ahead);
        }

        #[test]
        fn what_is_emitted_parses_to_the_same(
            (opcode, pad_count, p_key) in (any::<u8>(), 0_u8..4, any::<u16>()),
            (solicited, migrated, fecn, becn, ack_request) in any::<(bool, bool, bool, bool, bool)>(),
            (dest_qp, psn) in (0_u32..1 << 24, 0_u32..1 << 24),
        ) {
            let repr = Repr {
                opcode: Opcode(opcode),
                solicited,
                migrated,
                pad_count,
                p_key,
                fecn,
                becn,
                dest_qp: U24(dest_qp),
                ack_request,
                psn: U24(psn),
            };
            tests::round(&repr, BTH_LEN, Repr::parse, Repr::emit);
        }
    }
}
