//! The source flow control capability TLV: what a port's system does about source flow control
//! messages (P802.1Qdw), so that a switch learns which hosts need its proxy.
//!
//! The source document (S0) wants the capability told by DCBX and gives no layout, and no draft is in
//! public. This is version 0 of a draft of ours. It is an organizationally specific TLV, not one more
//! subtype of 802.1's, because nothing says that 802.1 will ever have one like it:
//!
//! | octet | field |
//! | --- | --- |
//! | 0 | version (4 bits), reserved (4 bits) |
//! | 1 | point, proxy, obeys by flow, obeys by priority (a bit each, from the highest), reserved |
//! | 2 | sfcmUDPPort |

use core::fmt;

use crate::{WireError, room, sfcm};

/// The organization: nobody's. Its first octet ends in the bits 0010, so addresses made of it lie in the
/// quadrant that 802c-2017 leaves to local administration, and the registration authority assigns
/// nobody an OUI or CID there. The other two octets are a choice.
pub const OUI: [u8; 3] = [0x02, 0x53, 0x46];

/// The subtype under [`OUI`]; the only one.
pub const SUBTYPE: u8 = 0x01;

/// The version that is spoken here.
pub const VERSION: u8 = 0;

const POINT: u8 = 1 << 7;
const PROXY: u8 = 1 << 6;
const BY_FLOW: u8 = 1 << 5;
const BY_PRIORITY: u8 = 1 << 4;

/// What a system does about source flow control.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SourceFlowControl {
    /// Whether it is a source flow control point: makes messages about flows that congest it.
    pub point: bool,
    /// Whether it turns messages into PFC for hosts that do not obey them.
    pub proxy: bool,
    /// Whether it obeys a message by pausing the flow that it is about.
    pub by_flow: bool,
    /// Whether it obeys a message by pausing the flow's priority.
    pub by_priority: bool,
    /// sfcmUDPPort: where it expects messages. 49152 to 65535.
    pub udp_port: u16,
}

impl SourceFlowControl {
    /// Octets behind the subtype.
    pub const LEN: usize = 4;

    /// Whether messages to it pause anything.
    #[must_use]
    pub const fn obeys(&self) -> bool {
        self.by_flow || self.by_priority
    }

    /// Reads what follows the subtype.
    ///
    /// # Errors
    /// [`WireError::Truncated`] below 4 octets, [`WireError::BadVersion`], [`WireError::OutOfRange`]
    /// for a port that is not a dynamic one.
    pub fn parse(value: &[u8]) -> Result<Self, WireError> {
        let &[version, roles, high, low] = value.first_chunk().ok_or(WireError::Truncated)?;
        if version >> 4 != VERSION {
            return Err(WireError::BadVersion);
        }
        let udp_port = u16::from_be_bytes([high, low]);
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

    /// Octets that [`SourceFlowControl::emit`] writes.
    #[must_use]
    pub const fn buffer_len(&self) -> usize {
        Self::LEN
    }

    /// Writes what follows the subtype.
    ///
    /// # Errors
    /// [`WireError::NoRoom`], [`WireError::OutOfRange`] for a port that is not a dynamic one.
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
