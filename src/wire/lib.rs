//! The frame formats: one file each, all in the same order (constants, `View`, `ViewMut` for fields
//! that the switch rewrites in transit, `Repr`, `Display`, tests). Fields that a `View` and a `Repr` have in
//! common are in one table (`fields!`).
//!
//! The contract:
//! - Bytes from the wire enter only through the checked constructor of a `View`. Accessors of an
//!   accepted value need no further checks and do not panic.
//! - A `Repr` is a header as values. `emit` writes exactly `buffer_len()` bytes at the front of its
//!   buffer; parsing those gives the same `Repr`. Reserved bits are sent as zero and ignored when
//!   received.
//! - This crate does not allocate, reads no clock and has no state.
//! - A frame starts at its destination address and has no frame check sequence. It may be truncated
//!   after its headers (of a long frame only the first 128 bytes may be present), so a length field
//!   beyond the bytes present is not an error: `payload()` returns those that are present, and
//!   functions that need all of them (a UDP checksum, an ICRC) return [`WireError::Truncated`].
//!
//! The switch parses a frame in this order: [`vlan::walk`], [`ip::View::new`] at the returned
//! offset, [`flow::FiveTuple`] if the flow is needed; and changes it with [`ip::mark_ce`],
//! [`ip::decrement_ttl`], [`vlan::insert`], [`vlan::remove`].

#![warn(missing_docs)]

/// Declares fields of the view in its module: name, type and the expression that reads it, which
/// becomes an accessor. With a name before `of`, they are also the fields of a struct of that name, which
/// its function `of` reads from a view; with a length before them, that of every such header, the struct
/// also has the functions to parse it.
macro_rules! fields {
    (View $(<$life:lifetime>)? as $v:ident {
        $($(#[$doc:meta])+ $field:ident: $ty:ty = $value:expr,)+
    }) => {
        fields! { @view ($($life)?) $v $($(#[$doc])+ $field: $ty = $value,)+ }
    };
    (
        $(#[$meta:meta])+ $repr:ident of View as $v:ident, $len:ident { $($fields:tt)+ }
    ) => {
        fields! { $(#[$meta])+ $repr of View as $v { $($fields)+ } }

        impl $repr {
            /// Parses the bytes at the front of `octets`.
            ///
            /// # Errors
            /// As [`View::new`].
            #[inline]
            pub fn parse(octets: &[u8]) -> Result<Self, WireError> {
                View::new(octets).map(|view| Self::of(&view))
            }

            /// Returns the number of bytes that `emit` writes.
            #[must_use]
            pub const fn buffer_len(&self) -> usize {
                $len
            }
        }
    };
    (
        $(#[$meta:meta])+ $repr:ident $(<$life:lifetime>)? of View as $v:ident {
            $($(#[$doc:meta])+ $field:ident: $ty:ty = $value:expr,)+
        }
    ) => {
        fields! { @view ($($life)?) $v $($(#[$doc])+ $field: $ty = $value,)+ }

        $(#[$meta])+
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub struct $repr $(<$life>)? {
            $($(#[$doc])+ pub $field: $ty,)+
        }

        impl $(<$life>)? $repr $(<$life>)? {
            #[inline]
            fn of(view: &fields!(@type $($life)?)) -> Self {
                Self { $($field: view.$field(),)+ }
            }
        }
    };
    (@type) => { View<'_> };
    (@type $life:lifetime) => { View<$life> };
    (@view ($($life:lifetime)?) $v:ident $($(#[$doc:meta])+ $field:ident: $ty:ty = $value:expr,)+) => {
        impl $(<$life>)? fields!(@type $($life)?) {
            $(
                $(#[$doc])+
                #[must_use]
                #[inline]
                pub fn $field(&self) -> $ty {
                    // Under a name of the caller, because hygiene hides `self` from its expressions.
                    let $v = self;
                    $value
                }
            )+
        }
    };
}

pub mod aeth;
pub mod arp;
pub mod checksum;
pub mod cim;
pub mod cnm;
pub mod cnp;
pub mod datagram;
pub mod dcbx;
pub mod echo;
pub mod ethernet;
pub mod flow;
pub mod headroom;
pub mod icrc;
pub mod ip;
pub mod ipv4;
pub mod ipv6;
pub mod lldp;
pub mod mac_control;
pub mod macsec;
pub mod msdu;
pub mod neighbour;
pub mod pause;
pub mod pfc;
pub mod ptp;
pub mod reth;
pub mod roce;
pub mod segment;
pub mod sfcm;
pub mod tcp;
#[cfg(test)]
mod tests;
pub mod udp;
pub mod vlan;

use core::fmt;
use core::net::Ipv4Addr;

use ground::units::Mac;

/// Reason why bytes do not match the format, or values do not fit in it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
pub enum WireError {
    /// The bytes end before the format does.
    #[error("too short")]
    Truncated,
    /// The EtherType is that of another format.
    #[error("unexpected EtherType")]
    BadEthertype,
    /// The version field is that of another format.
    #[error("unexpected version")]
    BadVersion,
    /// A length field is inconsistent, such as shorter than its header.
    #[error("impossible length")]
    BadLength,
    /// A checksum or ICRC is wrong.
    #[error("wrong checksum")]
    BadChecksum,
    /// The opcode is unknown in this format.
    #[error("unknown opcode")]
    BadOpcode,
    /// The destination address is invalid for this format.
    #[error("unexpected destination address")]
    BadAddress,
    /// The VLAN identifier is 4095, which is not allowed in a frame (802.1Q 9.6).
    #[error("reserved VLAN identifier 4095")]
    ReservedVid,
    /// A variant of the format that is not supported (ARP for another network than IPv4 over
    /// Ethernet).
    #[error("unsupported variant")]
    Unsupported,
    /// A congestion message about a congestion message. Answering those could cause a loop.
    #[error("about a message of its own kind")]
    AboutItself,
    /// The buffer to emit into is shorter than `buffer_len()`.
    #[error("no room to emit")]
    NoRoom,
    /// A value to emit does not fit in the bits of its field.
    #[error("value out of range")]
    OutOfRange,
}

/// An EtherType, or for values below 1536 an 802.3 length.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EtherType(pub u16);

impl EtherType {
    /// IPv4.
    pub const IPV4: Self = Self(0x0800);
    /// ARP.
    pub const ARP: Self = Self(0x0806);
    /// A customer VLAN tag (802.1Q Table 9-1).
    pub const C_TAG: Self = Self(0x8100);
    /// A service VLAN tag (802.1Q Table 9-1).
    pub const S_TAG: Self = Self(0x88a8);
    /// IPv6.
    pub const IPV6: Self = Self(0x86dd);
    /// MAC Control: PAUSE and PFC (802.3 31.4.1.3).
    pub const MAC_CONTROL: Self = Self(0x8808);
    /// Port access entities (802.1X), MACsec key agreement among them.
    pub const EAPOL: Self = Self(0x888e);
    /// LLDP (802.1AB).
    pub const LLDP: Self = Self(0x88cc);
    /// MACsec (802.1AE).
    pub const MACSEC: Self = Self(0x88e5);
    /// PTP (1588 over Ethernet).
    pub const PTP: Self = Self(0x88f7);
    /// Congestion isolation messages (802.1Qcz).
    pub const CIM: Self = Self(0x89a2);
    /// Congestion notification messages (802.1Q 33.3, by 802.1Qau).
    pub const CNM: Self = Self(0x22e7);
    /// The tag that names a flow to its reaction point (802.1Q 33.1, by 802.1Qau).
    pub const CN_TAG: Self = Self(0x22e9);
}

impl fmt::Display for EtherType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#06x}", self.0)
    }
}

impl fmt::Debug for EtherType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Group addresses that a bridge does not forward (802.1Q Table 8-1).
pub mod group {
    use super::Mac;

    /// Nearest customer bridge: spanning tree, and LLDP of that scope.
    pub const NEAREST_CUSTOMER_BRIDGE: Mac = Mac([0x01, 0x80, 0xc2, 0, 0, 0x00]);
    /// MAC-specific control protocols: PAUSE and PFC.
    pub const MAC_CONTROL: Mac = Mac([0x01, 0x80, 0xc2, 0, 0, 0x01]);
    /// Nearest non-TPMR bridge: port access, and LLDP of that scope.
    pub const NEAREST_NON_TPMR_BRIDGE: Mac = Mac([0x01, 0x80, 0xc2, 0, 0, 0x03]);
    /// Nearest bridge: LLDP's usual destination.
    pub const NEAREST_BRIDGE: Mac = Mac([0x01, 0x80, 0xc2, 0, 0, 0x0e]);

    /// Returns true if `mac` is one of the sixteen 01-80-C2-00-00-0x, which are not forwarded.
    #[must_use]
    #[inline]
    pub const fn is_reserved(mac: Mac) -> bool {
        // The sixteen differ in the last four bits alone.
        mac.to_u64() & !0xf == NEAREST_CUSTOMER_BRIDGE.to_u64()
    }
}

/// Returns the big-endian number at `offset`, a constant in every call, so that no bounds check is
/// needed.
#[inline(always)]
const fn be16<const N: usize>(octets: &[u8; N], offset: usize) -> u16 {
    u16::from_be_bytes([octets[offset], octets[offset + 1]])
}

/// Returns the big-endian number at `offset`.
#[inline(always)]
const fn be32<const N: usize>(octets: &[u8; N], offset: usize) -> u32 {
    u32::from_be_bytes([octets[offset], octets[offset + 1], octets[offset + 2], octets[offset + 3]])
}

/// Returns the IPv4 address at `offset`.
#[inline(always)]
const fn ipv4_at<const N: usize>(octets: &[u8; N], offset: usize) -> Ipv4Addr {
    Ipv4Addr::new(octets[offset], octets[offset + 1], octets[offset + 2], octets[offset + 3])
}

/// Returns the MAC address at `offset`.
#[inline(always)]
const fn mac_at<const N: usize>(octets: &[u8; N], offset: usize) -> Mac {
    Mac([
        octets[offset],
        octets[offset + 1],
        octets[offset + 2],
        octets[offset + 3],
        octets[offset + 4],
        octets[offset + 5],
    ])
}

/// Returns the first `N` bytes of `buf` for writing.
#[inline]
fn room<const N: usize>(buf: &mut [u8]) -> Result<&mut [u8; N], WireError> {
    buf.first_chunk_mut().ok_or(WireError::NoRoom)
}
