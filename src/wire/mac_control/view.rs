//! The part that MAC Control frames of all opcodes have in common.

use crate::{EtherType, WireError, be16, ethernet, mac_at};
use ground::units::Mac;

/// Bytes of a MAC Control frame without FCS (802.3 31.4.1: minFrameSize).
pub const FRAME_LEN: usize = ethernet::MIN_FRAME;

/// Offset of the opcode's parameters.
pub(crate) const PARAMETERS: usize = 16;

/// Supported opcodes (802.3 Table 31A-1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u16)]
pub enum Opcode {
    /// 802.3x PAUSE (Annex 31B).
    Pause = 0x0001,
    /// Priority-based flow control (Annex 31D).
    Pfc = 0x0101,
}

/// A MAC Control frame with a known opcode, from its destination address on.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    frame: &'a [u8; FRAME_LEN],
    opcode: Opcode,
}

impl<'a> View<'a> {
    /// Parses a frame from its destination address on.
    ///
    /// # Errors
    /// In this order: [`WireError::Truncated`] below 60 bytes (a runt, which no MAC delivers),
    /// [`WireError::BadEthertype`] for another EtherType than 0x8808, [`WireError::BadOpcode`] for
    /// an opcode that is neither PAUSE nor PFC.
    #[inline]
    pub fn new(frame: &'a [u8]) -> Result<Self, WireError> {
        let frame: &[u8; FRAME_LEN] = frame.first_chunk().ok_or(WireError::Truncated)?;
        if EtherType(be16(frame, 12)) != EtherType::MAC_CONTROL {
            return Err(WireError::BadEthertype);
        }
        let opcode = match be16(frame, 14) {
            0x0001 => Opcode::Pause,
            0x0101 => Opcode::Pfc,
            _ => return Err(WireError::BadOpcode),
        };
        Ok(Self { frame, opcode })
    }

    /// Returns all 60 bytes, for the parameters of the two formats.
    #[inline]
    pub(crate) const fn octets(&self) -> &'a [u8; FRAME_LEN] {
        self.frame
    }
}

fields! {
    View as v {
        /// Destination address.
        dst: Mac = mac_at(v.frame, 0),
        /// Source address.
        src: Mac = mac_at(v.frame, 6),
        /// Opcode.
        opcode: Opcode = v.opcode,
    }
}

/// Returns a frame with header and zeroed parameters and padding.
#[inline]
pub(crate) fn blank(dst: Mac, src: Mac, opcode: Opcode) -> [u8; FRAME_LEN] {
    let mut frame = [0; FRAME_LEN];
    frame[..6].copy_from_slice(&dst.0);
    frame[6..12].copy_from_slice(&src.0);
    frame[12..14].copy_from_slice(&EtherType::MAC_CONTROL.0.to_be_bytes());
    frame[14..16].copy_from_slice(&(opcode as u16).to_be_bytes());
    frame
}
