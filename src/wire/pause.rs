//! 802.3x PAUSE frames (802.3 Annex 31B): one time for the whole link.

use core::fmt;

use super::mac_control::{self, FRAME_LEN, Opcode, PARAMETERS};
use super::{WireError, be16, group, room};
use ground::units::{Mac, Quanta};

/// A PAUSE frame, from its destination address on.
#[derive(Clone, Copy, Debug)]
pub struct View<'a>(mac_control::View<'a>);

impl<'a> View<'a> {
    /// Parses a frame that the port with address `port` received.
    ///
    /// # Errors
    /// In this order: [`WireError::Truncated`] below 60 bytes, [`WireError::BadEthertype`],
    /// [`WireError::BadOpcode`] for anything but 0x0001, [`WireError::BadAddress`] for a
    /// destination that is neither 01-80-C2-00-00-01 nor `port` (802.3 31B.3.3 allows both).
    #[inline]
    pub fn new(frame: &'a [u8], port: Mac) -> Result<Self, WireError> {
        let v = mac_control::View::new(frame)?;
        if v.opcode() != Opcode::Pause {
            return Err(WireError::BadOpcode);
        }
        // PAUSE may be sent to the port itself (31B.3.3), unlike PFC.
        if v.dst() != group::MAC_CONTROL && v.dst() != port {
            return Err(WireError::BadAddress);
        }
        Ok(Self(v))
    }
}

fields! {
    /// A PAUSE frame.
    Repr of View as v {
        /// Destination: [`group::MAC_CONTROL`], or the address of the receiving port.
        dst: Mac = v.0.dst(),
        /// Address of the sending port.
        src: Mac = v.0.src(),
        /// Pause time; 0 resumes.
        time: Quanta = Quanta(be16(v.0.octets(), PARAMETERS)),
    }
}

impl Repr {
    /// Creates a frame from `src` to the group address.
    #[must_use]
    pub const fn new(src: Mac, time: Quanta) -> Self {
        Self { dst: group::MAC_CONTROL, src, time }
    }

    /// Parses a frame that the port with address `port` received.
    ///
    /// # Errors
    /// As [`View::new`].
    #[inline]
    pub fn parse(frame: &[u8], port: Mac) -> Result<Self, WireError> {
        Ok(Self::of(&View::new(frame, port)?))
    }

    /// Returns the number of bytes that [`Repr::emit`] writes: 60, padding included.
    #[must_use]
    pub const fn buffer_len(&self) -> usize {
        FRAME_LEN
    }

    /// Writes the whole padded frame at the front of `buf`.
    ///
    /// # Errors
    /// [`WireError::NoRoom`] below 60 bytes.
    #[inline]
    pub fn emit(&self, buf: &mut [u8]) -> Result<(), WireError> {
        let out: &mut [u8; FRAME_LEN] = room(buf)?;
        *out = mac_control::blank(self.dst, self.src, Opcode::Pause);
        out[PARAMETERS..PARAMETERS + 2].copy_from_slice(&self.time.0.to_be_bytes());
        Ok(())
    }
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} > {} PAUSE {}", self.src, self.dst, self.time.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tests;

    const PORT: Mac = Mac([2, 0, 0, 0, 0, 9]);

    fn golden() -> ([u8; 60], Repr) {
        let mut octets = [0; 60];
        let front = [
            0x01, 0x80, 0xc2, 0x00, 0x00, 0x01, 0x02, 0x00, 0x00, 0x00, 0x00, 0x05, 0x88, 0x08,
            0x00, 0x01, 0x12, 0x34,
        ];
        octets[..18].copy_from_slice(&front);
        (octets, Repr::new(Mac([2, 0, 0, 0, 0, 5]), Quanta(0x1234)))
    }

    #[test]
    fn golden_bytes() {
        let (mut octets, repr) = golden();
        tests::hold(&repr, &octets.clone(), |octets| Repr::parse(octets, PORT), Repr::emit);
        assert_eq!(repr.to_string(), "02:00:00:00:00:05 > 01:80:c2:00:00:01 PAUSE 4660");
        octets[18..].fill(0xff);
        assert_eq!(Repr::parse(&octets, PORT), Ok(repr), "padding is ignored");
    }

    #[test]
    fn each_fault_has_its_own_error() {
        let (good, _) = golden();
        for (at, octet, error) in [
            (5, 0x02, WireError::BadAddress),
            (12, 0x81, WireError::BadEthertype),
            (14, 0x01, WireError::BadOpcode),
            (15, 0x02, WireError::BadOpcode),
        ] {
            let mut bad = good;
            bad[at] = octet;
            assert_eq!(Repr::parse(&bad, PORT), Err(error), "octet {at}");
        }
    }

    proptest! {
        #[test]
        fn what_is_emitted_parses_to_the_same(
            src in any::<[u8; 6]>(), time in any::<u16>(), unicast in any::<bool>()
        ) {
            let dst = if unicast { PORT } else { group::MAC_CONTROL };
            let repr = Repr { dst, src: Mac(src), time: Quanta(time) };
            tests::round(&repr, 60, |octets| Repr::parse(octets, PORT), Repr::emit);
        }
    }
}
