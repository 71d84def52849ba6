//! Priority-based flow control frames (802.1Q clause 36, 802.3 Annex 31D).
//!
//! A frame carries a pause time for each of the eight priorities and a vector of those it is about.

use core::fmt;

use super::mac_control::{self, FRAME_LEN, Opcode, PARAMETERS};
use super::{WireError, be16, group, room};
use ground::units::{Mac, PRIORITIES, Priority, PrioritySet, Quanta};

/// Offset of the first time, after the two octets of the enable vector.
const TIMES: usize = PARAMETERS + 2;

/// A PFC frame, from its destination address on.
#[derive(Clone, Copy, Debug)]
pub struct View<'a>(mac_control::View<'a>);

impl<'a> View<'a> {
    /// Parses a frame from its destination address on.
    ///
    /// # Errors
    /// In this order: [`WireError::Truncated`] below 60 bytes, [`WireError::BadEthertype`],
    /// [`WireError::BadOpcode`] for anything but 0x0101, [`WireError::BadAddress`] for another
    /// destination than 01-80-C2-00-00-01, the only one that PFC is sent to (802.3 31D.3).
    #[inline]
    pub fn new(frame: &'a [u8]) -> Result<Self, WireError> {
        let v = mac_control::View::new(frame)?;
        if v.opcode() != Opcode::Pfc {
            return Err(WireError::BadOpcode);
        }
        // The only destination of PFC (31D.3).
        if v.dst() != group::MAC_CONTROL {
            return Err(WireError::BadAddress);
        }
        Ok(Self(v))
    }

    /// Returns the time field of `p`, which is meaningless if `p` is not enabled.
    #[must_use]
    #[inline]
    pub const fn time_field(&self, p: Priority) -> Quanta {
        let (frame, offset) = (self.0.octets(), TIMES + 2 * p.index());
        Quanta(be16(frame, offset))
    }
}

fields! {
    View as v {
        /// Address of the sending port.
        src: Mac = v.0.src(),
        /// Enabled priorities. The vector's high octet is reserved.
        enabled: PrioritySet = PrioritySet(v.0.octets()[PARAMETERS + 1]),
    }
}

/// A PFC frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Repr {
    /// Address of the sending port.
    pub src: Mac,
    /// Enabled priorities.
    pub enabled: PrioritySet,
    /// Pause time of each enabled priority; 0 resumes. The others are sent and parsed as 0.
    pub times: [Quanta; PRIORITIES],
}

impl Repr {
    /// Creates a frame from `src` without enabled priorities.
    #[must_use]
    pub const fn new(src: Mac) -> Self {
        Self { src, enabled: PrioritySet::EMPTY, times: [Quanta(0); PRIORITIES] }
    }

    /// Enables `p` with a pause time, or with 0 to resume.
    #[inline]
    pub const fn set(&mut self, p: Priority, time: Quanta) {
        self.enabled.insert(p);
        self.times[p.index()] = time;
    }

    /// Returns the pause time of `p` (0 to resume), or `None` if it is not enabled.
    #[must_use]
    #[inline]
    pub const fn time(&self, p: Priority) -> Option<Quanta> {
        if self.enabled.contains(p) { Some(self.times[p.index()]) } else { None }
    }

    /// Parses a frame.
    ///
    /// # Errors
    /// As [`View::new`].
    #[inline]
    pub fn parse(frame: &[u8]) -> Result<Self, WireError> {
        let v = View::new(frame)?;
        let mut repr = Self::new(v.src());
        repr.enabled = v.enabled();
        for p in Priority::ALL {
            // The time of a bit that is off means nothing (31D). As 0, equal pauses are equal values.
            if repr.enabled.contains(p) {
                repr.times[p.index()] = v.time_field(p);
            }
        }
        Ok(repr)
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
        *out = mac_control::blank(group::MAC_CONTROL, self.src, Opcode::Pfc);
        // The first byte of the vector is reserved and stays 0.
        out[PARAMETERS + 1] = self.enabled.0;
        for p in Priority::ALL {
            let time = self.time(p).unwrap_or_default();
            let offset = TIMES + 2 * p.index();
            out[offset..offset + 2].copy_from_slice(&time.0.to_be_bytes());
        }
        Ok(())
    }
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} PFC", self.src)?;
        for p in self.enabled.iter() {
            write!(f, " {p}:{}", self.times[p.index()].0)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tests;

    fn golden() -> ([u8; 60], Repr) {
        let mut octets = [0; 60];
        let front = [
            0x01, 0x80, 0xc2, 0x00, 0x00, 0x01, 0x02, 0x00, 0x00, 0x00, 0x00, 0x05, 0x88, 0x08,
            0x01, 0x01, 0x00, 0x88, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0x00, 0x00,
        ];
        octets[..34].copy_from_slice(&front);
        let mut repr = Repr::new(Mac([2, 0, 0, 0, 0, 5]));
        repr.set(Priority::new(3).unwrap(), Quanta::MAX);
        repr.set(Priority::new(7).unwrap(), Quanta(0));
        (octets, repr)
    }

    #[test]
    fn golden_bytes() {
        let (octets, repr) = golden();
        tests::hold(&repr, &octets, Repr::parse, Repr::emit);
        assert_eq!(repr.to_string(), "02:00:00:00:00:05 PFC 3:65535 7:0");
        assert_eq!(
            Repr::parse(&[&octets[..], &[0xee; 9]].concat()),
            Ok(repr),
            "padding is accepted"
        );
    }

    #[test]
    fn each_fault_has_its_own_error() {
        let (good, _) = golden();
        for (at, octet, error) in [
            (5, 0x02, WireError::BadAddress),
            (0, 0x00, WireError::BadAddress),
            (12, 0x81, WireError::BadEthertype),
            (14, 0x00, WireError::BadOpcode),
            (15, 0x02, WireError::BadOpcode),
        ] {
            let mut bad = good;
            bad[at] = octet;
            assert_eq!(Repr::parse(&bad), Err(error), "octet {at}");
        }
    }

    #[test]
    fn reserved_octets_are_ignored_and_sent_as_zero() {
        let (mut octets, repr) = golden();
        octets[16] = 0xff;
        octets[34..].fill(0xff);
        octets[18] = 0x55; // Time of priority 0, which is not enabled.
        assert_eq!(Repr::parse(&octets), Ok(repr));
        let mut untidy = repr;
        untidy.times[0] = Quanta(0x55);
        let mut out = [0xff; 60];
        untidy.emit(&mut out).unwrap();
        assert_eq!(out, golden().0);
    }

    proptest! {
        #[test]
        fn what_is_emitted_parses_to_the_same(
            src in any::<[u8; 6]>(), times in any::<[Option<u16>; 8]>()
        ) {
            let mut repr = Repr::new(Mac(src));
            for (p, t) in Priority::ALL.into_iter().zip(times) {
                if let Some(t) = t {
                    repr.set(p, Quanta(t));
                }
            }
            tests::round(&repr, 60, Repr::parse, Repr::emit);
            for (p, t) in Priority::ALL.into_iter().zip(times) {
                prop_assert_eq!(repr.time(p), t.map(Quanta));
            }
        }
    }
}
