//! MAC Control frames (802.3 clause 31): the common part of PAUSE and PFC, and their distinction.
//!
//! They are never tagged, never forwarded, and exactly as long as the minimum frame. A longer one
//! is accepted, since software senders pad to 64 bytes without an FCS.

use core::fmt;

use super::{EtherType, WireError, be16, ethernet, mac_at, pause, pfc};
use ground::units::{Mac, PRIORITIES, PauseVector, PrioritySet};

/// A MAC Control frame of either kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Repr {
    /// 802.3x PAUSE.
    Pause(pause::Repr),
    /// Priority-based flow control.
    Pfc(pfc::Repr),
}

impl Repr {
    /// Parses a MAC Control frame that the port with address `port` received.
    ///
    /// # Errors
    /// As [`View::new`], then [`WireError::BadAddress`] for a destination that is neither the
    /// group address nor, for PAUSE alone, `port`.
    #[inline]
    pub fn parse(frame: &[u8], port: Mac) -> Result<Self, WireError> {
        let v = View::new(frame)?;
        match v.opcode() {
            Opcode::Pause => pause::Repr::parse(frame, port).map(Self::Pause),
            Opcode::Pfc => pfc::Repr::parse(frame).map(Self::Pfc),
        }
    }

    /// Returns the pause time of each priority. PAUSE applies to all of them.
    #[must_use]
    pub const fn vector(&self) -> PauseVector {
        match self {
            Self::Pfc(pfc) => PauseVector { enabled: pfc.enabled, time: pfc.times },
            Self::Pause(pause) => {
                PauseVector { enabled: PrioritySet::ALL, time: [pause.time; PRIORITIES] }
            }
        }
    }

    /// Returns the number of bytes that [`Repr::emit`] writes.
    #[must_use]
    pub const fn buffer_len(&self) -> usize {
        FRAME_LEN
    }

    /// Writes the frame at the front of `buf`.
    ///
    /// # Errors
    /// [`WireError::NoRoom`] below 60 bytes.
    #[inline]
    pub fn emit(&self, buf: &mut [u8]) -> Result<(), WireError> {
        match self {
            Self::Pause(r) => r.emit(buf),
            Self::Pfc(r) => r.emit(buf),
        }
    }
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pause(r) => r.fmt(f),
            Self::Pfc(r) => r.fmt(f),
        }
    }
}

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
        // Other opcodes are those of the EPON and of extensions (802.3 Table 31A-1); a port does not obey them.
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

#[cfg(test)]
mod tests {
    use super::blank;
    use super::*;
    use crate::{group, tests};
    use ground::units::{Priority, Quanta};

    const PORT: Mac = Mac([2, 0, 0, 0, 0, 9]);

    #[test]
    fn the_opcode_decides_the_format() {
        let pause = Repr::Pause(pause::Repr { dst: PORT, src: PORT, time: Quanta(7) });
        let mut pfc = pfc::Repr::new(PORT);
        pfc.set(Priority::MIN, Quanta(7));
        for repr in [pause, Repr::Pfc(pfc)] {
            tests::round(&repr, FRAME_LEN, |octets| Repr::parse(octets, PORT), Repr::emit);
        }
        assert_eq!(pfc.enabled, PrioritySet(1));
    }

    #[test]
    fn each_fault_has_its_own_error() {
        let good = blank(group::MAC_CONTROL, PORT, Opcode::Pfc);
        let with = |at: usize, octet| {
            let mut f = good;
            f[at] = octet;
            Repr::parse(&f, PORT)
        };
        assert_eq!(with(12, 0x08), Err(WireError::BadEthertype));
        assert_eq!(with(14, 0x00).map(|r| matches!(r, Repr::Pause(_))), Ok(true));
        assert_eq!(with(15, 0x00), Err(WireError::BadOpcode));
        assert_eq!(with(15, 0x02), Err(WireError::BadOpcode));
        assert_eq!(with(5, 0x02), Err(WireError::BadAddress));
    }
}
