//! The source flow control capability TLV: a system's support of source flow control messages
//! (P802.1Qdw), so that a switch learns which hosts need its proxy.
//!
//! The source document (S0) requires the capability to be advertised by DCBX without a layout, and
//! no draft is public. This is version 0 of a draft of ours. It is an organizationally specific
//! TLV, not another subtype of 802.1's, because 802.1 may never define one:
//!
//! | octet | field |
//! | --- | --- |
//! | 0 | version (4 bits), reserved (4 bits) |
//! | 1 | point, proxy, obeys by flow, obeys by priority (a bit each, from the highest), reserved |
//! | 2 | sfcmUDPPort |

use core::fmt;

use crate::{WireError, room, sfcm};

/// OUI, not assigned to any organization. Its first octet ends in the bits 0010, so addresses with
/// it lie in the quadrant that 802c-2017 leaves to local administration, in which the registration
/// authority assigns no OUI or CID. The other two octets are our choice.
pub const OUI: [u8; 3] = [0x02, 0x53, 0x46];

/// Subtype under [`OUI`]; the only one.
pub const SUBTYPE: u8 = 0x01;

/// Supported version.
pub const VERSION: u8 = 0;

const POINT: u8 = 1 << 7;
const PROXY: u8 = 1 << 6;
const BY_FLOW: u8 = 1 << 5;
const BY_PRIORITY: u8 = 1 << 4;

/// Source Flow Control capabilities of a system.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SourceFlowControl {
    /// True for a source flow control point: it generates messages about flows that congest it.
    pub point: bool,
    /// True for a proxy: it converts messages to PFC for hosts that do not obey them.
    pub proxy: bool,
    /// True if it obeys a message by pausing the flow.
    pub by_flow: bool,
    /// True if it obeys a message by pausing the flow's priority.
    pub by_priority: bool,
    /// sfcmUDPPort: UDP port of its messages. 49152 to 65535.
    pub udp_port: u16,
}

impl SourceFlowControl {
    /// Length after the subtype.
    pub const LEN: usize = 4;

    /// Returns true if it obeys messages.
    #[must_use]
    pub const fn obeys(&self) -> bool {
        self.by_flow || self.by_priority
    }

    /// Parses the string after the subtype.
    ///
    /// # Errors
    /// [`WireError::Truncated`] below 4 bytes, [`WireError::BadVersion`], [`WireError::OutOfRange`]
    /// for a port outside the dynamic range.
    pub fn parse(value: &[u8]) -> Result<Self, WireError> {
        let &[version, roles, high, low] = value.first_chunk().ok_or(WireError::Truncated)?;
        if version >> 4 != VERSION {
            return Err(WireError::BadVersion);
        }
        let udp_port = u16::from_be_bytes([high, low]);
        // sfcmUDPPort is a dynamic port (S0; RFC 6335).
        if udp_port < sfcm::PORT_MIN {
            return Err(WireError::OutOfRange);
        }
        Ok(Self {
            point: roles & POINT != 0,
            proxy: roles & PROXY != 0,
            by_flow: roles & BY_FLOW != 0,
            by_priority: roles & BY_PRIORITY != 0,
            udp_port,
        })
    }

    /// Returns the number of bytes that [`SourceFlowControl::emit`] writes.
    #[must_use]
    pub const fn buffer_len(&self) -> usize {
        Self::LEN
    }

    /// Writes the string after the subtype.
    ///
    /// # Errors
    /// [`WireError::NoRoom`], [`WireError::OutOfRange`] for a port outside the dynamic range.
    pub fn emit(&self, buf: &mut [u8]) -> Result<usize, WireError> {
        if self.udp_port < sfcm::PORT_MIN {
            return Err(WireError::OutOfRange);
        }
        let out: &mut [u8; Self::LEN] = room(buf)?;
        let bit = |on, bit| if on { bit } else { 0 };
        let [high, low] = self.udp_port.to_be_bytes();
        let roles = bit(self.point, POINT)
            | bit(self.proxy, PROXY)
            | bit(self.by_flow, BY_FLOW)
            | bit(self.by_priority, BY_PRIORITY);
        *out = [VERSION << 4, roles, high, low];
        Ok(Self::LEN)
    }
}

impl fmt::Display for SourceFlowControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let roles = [
            (self.point, "point"),
            (self.proxy, "proxy"),
            (self.by_flow, "obeys by flow"),
            (self.by_priority, "obeys by priority"),
        ];
        f.write_str("SFC")?;
        for (_, role) in roles.iter().filter(|(is, _)| *is) {
            write!(f, " {role},")?;
        }
        write!(f, " port {}", self.udp_port)
    }
}
