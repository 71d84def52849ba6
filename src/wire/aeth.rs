//! RoCEv2's ACK extended transport header, AETH (InfiniBand Architecture 9.7.5.2), behind the BTH of
//! an acknowledgement.

use core::fmt;

use super::roce::U24;
use super::{WireError, room};

/// Bytes of the header.
pub const AETH_LEN: usize = 4;

/// The kind of a syndrome: its bits 6 and 5. Bit 7 is reserved.
const KIND: u8 = 0x60;
const ACK: u8 = 0x00;
const RNR_NAK: u8 = 0x20;
const NAK: u8 = 0x60;

/// The value of a syndrome: its low five bits.
const VALUE: u8 = 0x1f;

/// Contents of the response (Table 45).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Syndrome {
    /// All packets up to the PSN of the BTH have arrived. The credits are encoded; 31 means that
    /// credits are not used.
    Ack {
        /// Range 0 to 31.
        credits: u8,
    },
    /// The responder was not ready; try again after the encoded time.
    NotReady {
        /// Range 0 to 31.
        timer: u8,
    },
    /// The responder rejects the request.
    Nak(NakCode),
}

/// Reason for a NAK (Table 46).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NakCode {
    /// A packet after the expected one arrived; the BTH has the expected PSN.
    SequenceError,
    /// Invalid request.
    InvalidRequest,
    /// Access not permitted.
    RemoteAccess,
    /// The responder cannot continue.
    RemoteOperational,
    /// Invalid reliable datagram request.
    InvalidDatagram,
}

impl NakCode {
    const ALL: [Self; 5] = [
        Self::SequenceError,
        Self::InvalidRequest,
        Self::RemoteAccess,
        Self::RemoteOperational,
        Self::InvalidDatagram,
    ];
}

impl Syndrome {
    /// An acknowledgement without credits, if only the network limits the sender.
    pub const ACK: Self = Self::Ack { credits: VALUE };
    /// A packet is missing.
    pub const SEQUENCE_ERROR: Self = Self::Nak(NakCode::SequenceError);

    /// Decodes the byte.
    ///
    /// # Errors
    /// [`WireError::BadOpcode`] for a kind or code that is reserved.
    #[inline]
    pub fn from_octet(octet: u8) -> Result<Self, WireError> {
        let value = octet & VALUE;
        match octet & KIND {
            ACK => Ok(Self::Ack { credits: value }),
            RNR_NAK => Ok(Self::NotReady { timer: value }),
            NAK => {
                // Codes from 5 on are reserved (Table 46).
                let code = NakCode::ALL.get(usize::from(value));
                code.map(|code| Self::Nak(*code)).ok_or(WireError::BadOpcode)
            }
            // The kind 0b10 is reserved.
            _ => Err(WireError::BadOpcode),
        }
    }

    /// Returns the byte, or `None` if a value does not fit.
    #[must_use]
    #[inline]
    pub const fn octet(self) -> Option<u8> {
        match self {
            Self::Ack { credits: value @ 0..=VALUE } => Some(ACK | value),
            Self::NotReady { timer: value @ 0..=VALUE } => Some(RNR_NAK | value),
            // The order of the enum is that of the codes.
            Self::Nak(code) => Some(NAK | code as u8),
            _ => None,
        }
    }
}

/// The header of an acknowledgement.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    aeth: &'a [u8; AETH_LEN],
    payload: &'a [u8],
}

impl<'a> View<'a> {
    /// Parses the payload of an acknowledgement's BTH.
    ///
    /// # Errors
    /// [`WireError::Truncated`] below 4 bytes, and as [`Syndrome::from_octet`].
    #[inline]
    pub fn new(octets: &'a [u8]) -> Result<Self, WireError> {
        let (aeth, payload) = octets.split_first_chunk::<AETH_LEN>().ok_or(WireError::Truncated)?;
        // Decoded once here, so that the accessor cannot fail.
        Syndrome::from_octet(aeth[0])?;
        Ok(Self { aeth, payload })
    }

    /// Returns the bytes after the header, ICRC included.
    #[must_use]
    #[inline]
    pub const fn payload(&self) -> &'a [u8] {
        self.payload
    }
}

fields! {
    /// AETH of an acknowledgement. The reserved bit is sent as 0.
    Repr of View as v, AETH_LEN {
        /// Syndrome.
        syndrome: Syndrome = Syndrome::from_octet(v.aeth[0]).expect("the constructor has read it"),
        /// Message sequence number: the number of messages that the responder has completed.
        msn: U24 = U24::from_octets([v.aeth[1], v.aeth[2], v.aeth[3]]),
    }
}

impl Repr {
    /// Writes the header at the front of `buf`.
    ///
    /// # Errors
    /// [`WireError::OutOfRange`] for credits or a timer above 31, [`WireError::NoRoom`].
    #[inline]
    pub fn emit(&self, buf: &mut [u8]) -> Result<(), WireError> {
        let octet = self.syndrome.octet().ok_or(WireError::OutOfRange)?;
        let [a, b, c] = self.msn.octets();
        *room(buf)? = [octet, a, b, c];
        Ok(())
    }
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.syndrome {
            Syndrome::Ack { .. } => write!(f, "ack msn {}", self.msn),
            Syndrome::NotReady { timer } => write!(f, "not ready {timer} msn {}", self.msn),
            Syndrome::Nak(code) => write!(f, "nak {code:?} msn {}", self.msn),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tests;

    #[test]
    fn golden_bytes() {
        let msn = U24::new(0x01_0203).unwrap();
        let cases = [
            (Syndrome::ACK, [0x1f, 1, 2, 3], "ack msn 66051"),
            (Syndrome::SEQUENCE_ERROR, [0x60, 1, 2, 3], "nak SequenceError msn 66051"),
            (Syndrome::NotReady { timer: 14 }, [0x2e, 1, 2, 3], "not ready 14 msn 66051"),
        ];
        for (syndrome, octets, text) in cases {
            let repr = Repr { syndrome, msn };
            tests::hold(&repr, &octets, Repr::parse, Repr::emit);
            assert_eq!(repr.to_string(), text);
        }
    }

    #[test]
    fn every_reserved_code_is_refused() {
        let repr = Repr { syndrome: Syndrome::ACK, msn: U24::MAX };
        for octet in (0x40..0x60).chain(0x65..0x80) {
            assert_eq!(Repr::parse(&[octet, 0, 0, 0]), Err(WireError::BadOpcode), "{octet}");
        }
        let much = Repr { syndrome: Syndrome::Ack { credits: 32 }, ..repr };
        assert_eq!(much.emit(&mut [0; 4]), Err(WireError::OutOfRange));
    }

    proptest! {
        #[test]
        fn what_parses_is_emitted_as_it_was_but_for_the_reserved_bit(octets in any::<[u8; 4]>()) {
            if let Ok(repr) = Repr::parse(&octets) {
                let mut out = [0; AETH_LEN];
                repr.emit(&mut out).unwrap();
                prop_assert_eq!(out, [octets[0] & 0x7f, octets[1], octets[2], octets[3]]);
            }
        }
    }
}
