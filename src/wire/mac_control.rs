//! MAC Control frames (802.3 clause 31): the common part of PAUSE and PFC, and their distinction.
//!
//! They are never tagged, never forwarded, and exactly as long as the minimum frame. A longer one
//! is accepted, since software senders pad to 64 bytes without an FCS.

use core::fmt;

use super::{WireError, pause, pfc};
use ground::units::{Mac, PRIORITIES, PauseVector, PrioritySet};

pub(crate) mod view;

pub use view::{FRAME_LEN, Opcode, View};

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

#[cfg(test)]
mod tests {
    use super::view::blank;
    use super::*;
    use crate::{group, rig};
    use ground::units::{Priority, Quanta};

    const PORT: Mac = Mac([2, 0, 0, 0, 0, 9]);

    #[test]
    fn the_opcode_decides_the_format() {
        let pause = Repr::Pause(pause::Repr { dst: PORT, src: PORT, time: Quanta(7) });
        let mut pfc = pfc::Repr::new(PORT);
        pfc.set(Priority::MIN, Quanta(7));
        for repr in [pause, Repr::Pfc(pfc)] {
            rig::round(&repr, FRAME_LEN, |octets| Repr::parse(octets, PORT), Repr::emit);
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
