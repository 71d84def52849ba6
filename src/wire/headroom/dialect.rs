//! Readings of the parts of the measurement message that the proposal leaves open.

use super::{BEFORE_PDU, Kind};
use crate::ethernet;
use ground::named;
use ground::time::{Duration, Instant};

/// Length of the PDU up to and with the length field, which [`LengthField::Rest`] excludes.
const BEFORE_REST: u16 = 2;

named! {
    /// Encoding of the message type, of which the proposal names the three kinds without the field's width or
    /// values; flags are our interpretation.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum KindCodes {
        /// Bit 0 for a request, bit 1 for a response, both for both.
        #[default]
        Flags = "flags",
        /// In the order of the proposal: request 0, response 1, both 2.
        Numbers = "numbers",
    }
}

named! {
    /// Extent of the length field, which the proposal does not define.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum LengthField {
        /// The whole PDU, with its first byte and its padding: 35, or 44 with a piggybacked request.
        #[default]
        Whole = "whole",
        /// The part after the field: 33 or 42.
        Rest = "rest",
        /// The fields, without padding: 35 or 44.
        Fields = "fields",
    }
}

/// Length to which PDUs are padded.
///
/// The table of the proposal gives the PDU 65 to 529 bytes, which are the lengths of a congestion
/// isolation message, and its fields 35 or 44. Without padding (the default) the PDU ends with its
/// fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PduLength(Option<u16>);

impl PduLength {
    /// Shortest and longest PDU of the proposal's table.
    pub const RANGE: (u16, u16) = (65, 529);
    /// No padding.
    pub const NONE: Self = Self(None);
    /// The shortest PDU of the table.
    pub const SHORTEST: Self = Self(Some(Self::RANGE.0));

    /// Creates a length, if it is in the table's range.
    #[must_use]
    pub const fn padded(octets: u16) -> Option<Self> {
        let (least, most) = Self::RANGE;
        if octets < least || octets > most { None } else { Some(Self(Some(octets))) }
    }

    /// Returns the length, if PDUs are padded.
    #[must_use]
    pub const fn octets(self) -> Option<u16> {
        self.0
    }
}

named! {
    /// Place of the responder's compensation in messages: the time that it takes to obey a pause, with its
    /// adjustment. The proposal (S1) says that the response or DCBX can carry it, without a layout; four bytes
    /// after its fields, signed nanoseconds, are our choice.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum Compensation {
        /// None. DCBX may have it.
        #[default]
        Absent = "absent",
        /// In each response.
        InResponse = "response",
    }
}

named! {
    /// Unit of the 64-bit times in messages. The proposal has neither unit nor epoch.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum TimeUnit {
        /// Nanoseconds.
        #[default]
        Nanoseconds = "ns",
        /// Picoseconds, which are exact in the virtual world.
        Picoseconds = "ps",
    }
}

named! {
    /// Owner of the optional fields, `p_t1` and `p_PSN`, in a message with a response and a request.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum Piggyback {
        /// The request; the others are those of a lone response.
        #[default]
        Request = "request",
        /// The response: they are those of the answered request, whose `t2` and `t3` stay; the others are those of
        /// the sender's request.
        Response = "response",
    }
}

named! {
    /// Readings of all that the proposal leaves open.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum Readings {
        /// The safe readings.
        #[default]
        Sluice = "sluice",
        /// The letter of the proposal: its PDUs of 65 bytes, and its mean.
        Letter = "letter",
    }
}

/// Encoding of the parts of the message that the proposal leaves open.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Dialect {
    /// Message kind.
    pub kind: KindCodes,
    /// Length field.
    pub length: LengthField,
    /// Unit of times.
    pub unit: TimeUnit,
    /// Piggybacked message.
    pub piggyback: Piggyback,
    /// Padding of PDUs.
    pub pdu: PduLength,
    /// Compensation of the responder.
    pub compensation: Compensation,
}

impl TimeUnit {
    /// Returns the unit in picoseconds.
    const fn picos(self) -> u64 {
        match self {
            Self::Nanoseconds => 1_000,
            Self::Picoseconds => 1,
        }
    }
}

impl Dialect {
    /// Converts a time to a message's unit, modulo 2^64, rounded down.
    #[must_use]
    #[inline]
    pub const fn stamp(self, time: Instant) -> u64 {
        let picos = time.as_picos();
        match self.unit {
            TimeUnit::Picoseconds => picos as u64,
            // Without the division of 128 bits in the first 213 days.
            TimeUnit::Nanoseconds if picos <= u64::MAX as u128 => picos as u64 / 1_000,
            TimeUnit::Nanoseconds => (picos / 1_000) as u64,
        }
    }

    /// Returns the span between two times of a message, limited to [`Duration::MAX`].
    #[must_use]
    pub const fn span(self, units: u64) -> Duration {
        self.resolution().saturating_mul(units)
    }

    /// Returns the unit of a message's times.
    #[must_use]
    pub const fn resolution(self) -> Duration {
        Duration::from_picos(self.unit.picos())
    }

    /// Returns the code of a kind in the kind field.
    #[inline]
    pub(super) const fn code(self, kind: Kind) -> u8 {
        match (self.kind, kind) {
            (KindCodes::Flags, Kind::Request) => 1,
            (KindCodes::Flags, Kind::Response) => 2,
            (KindCodes::Flags, Kind::Both) => 3,
            (KindCodes::Numbers, Kind::Request) => 0,
            (KindCodes::Numbers, Kind::Response) => 1,
            (KindCodes::Numbers, Kind::Both) => 2,
        }
    }

    /// Returns the kind with this code, if there is one.
    #[inline]
    pub(super) const fn kind_of(self, code: u8) -> Option<Kind> {
        match (self.kind, code) {
            (KindCodes::Flags, 1) | (KindCodes::Numbers, 0) => Some(Kind::Request),
            (KindCodes::Flags, 2) | (KindCodes::Numbers, 1) => Some(Kind::Response),
            (KindCodes::Flags, 3) | (KindCodes::Numbers, 2) => Some(Kind::Both),
            _ => None,
        }
    }

    /// Returns the number of bytes of every frame, without FCS: padding of the frame and of the PDU
    /// makes all messages of a dialect equally long.
    #[must_use]
    pub const fn frame_len(&self) -> usize {
        let fields = match self.compensation {
            Compensation::Absent => super::PIGGYBACKED,
            Compensation::InResponse => super::COMPENSATED,
        };
        let pdu = match self.pdu.0 {
            Some(octets) if octets > fields as u16 => octets as usize,
            _ => fields as usize,
        };
        let frame = BEFORE_PDU + pdu;
        // A PFC frame has the minimum size, too, so both take as long on the line.
        if frame > ethernet::MIN_FRAME { frame } else { ethernet::MIN_FRAME }
    }

    /// Returns true if the length field can state the length of every PDU: it has one byte, and the
    /// table's PDUs have up to 529.
    #[must_use]
    pub const fn is_consistent(&self) -> bool {
        let most = u8::MAX as u16;
        match (self.length, self.pdu.0) {
            (LengthField::Whole, Some(octets)) => octets <= most,
            (LengthField::Rest, Some(octets)) => octets <= most + BEFORE_REST,
            (LengthField::Fields, _) | (_, None) => true,
        }
    }

    /// Returns the length field of a message, if it can be stated.
    #[inline]
    pub(super) fn length(&self, kind: Kind) -> Option<u8> {
        let fields = u16::from(kind.octets(self.compensation));
        // The padding is part of the PDU in two of the three readings.
        let whole = self.pdu.0.unwrap_or_default().max(fields);
        let length = match self.length {
            LengthField::Whole => whole,
            LengthField::Rest => whole - BEFORE_REST,
            LengthField::Fields => fields,
        };
        u8::try_from(length).ok()
    }
}
