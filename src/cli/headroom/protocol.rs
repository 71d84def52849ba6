//! Names of the readings of the measurement protocol, as arguments, and their meaning.

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;

use super::measure::ProtocolArgs;
use crate::headroom::Formula;
use crate::link::Method;
use crate::wire::headroom::{
    Compensation, Dialect, KindCodes, LengthField, PduLength, Piggyback, TimeUnit,
};

/// Measurement methods.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum MethodName {
    /// Request and response of the P802.1Qdt proposal.
    RoundTrip,
    /// PTP peer delay, and the internal delays of both ends.
    Ptp,
}

/// Units of times.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum TimesName {
    /// Nanoseconds.
    #[default]
    Ns,
    /// Picoseconds.
    Ps,
}

/// Encodings of the message type.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum KindsName {
    /// One bit for a request, one for a response.
    #[default]
    Flags,
    /// Numbers, from 0.
    Numbers,
}

/// Extents of the length field.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum LengthName {
    /// The whole PDU.
    #[default]
    Whole,
    /// The part after the field.
    Rest,
    /// The fields, without padding.
    Fields,
}

/// Owners of the optional fields in a message with a response and a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum RidesName {
    /// The optional fields hold the request; the others are those of a lone response.
    #[default]
    Request,
    /// The optional fields hold the response; the others are those of the request.
    Response,
}

/// Places of the reaction in messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum CompensationName {
    /// None.
    #[default]
    Absent,
    /// Each response.
    Response,
}

/// Readings of all that the proposal leaves open.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum DialectName {
    /// The safe readings.
    #[default]
    Sluice,
    /// The letter of the proposal.
    Letter,
}

/// Delay values of round trips.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum FormulaName {
    /// Without the turnaround, with the peer's reaction.
    #[default]
    Full,
    /// With the turnaround.
    Short,
}

impl From<FormulaName> for Formula {
    fn from(name: FormulaName) -> Self {
        match name {
            FormulaName::Full => Self::Full,
            FormulaName::Short => Self::Short,
        }
    }
}

impl From<MethodName> for Method {
    fn from(name: MethodName) -> Self {
        match name {
            MethodName::RoundTrip => Self::RoundTrip,
            MethodName::Ptp => Self::PeerDelay,
        }
    }
}

impl ProtocolArgs {
    /// Encoding of messages.
    ///
    /// # Errors
    /// A PDU of a length that the table does not have or the length field cannot state.
    pub fn dialect(&self) -> Result<Dialect> {
        let (least, most) = PduLength::RANGE;
        let pdu = match (self.pdu, self.dialect) {
            (Some(octets), _) => PduLength::padded(octets)
                .with_context(|| format!("--pdu: must be {least} to {most} bytes"))?,
            (None, DialectName::Letter) => PduLength::SHORTEST,
            (None, DialectName::Sluice) => PduLength::NONE,
        };
        let dialect = Dialect {
            kind: match self.kinds {
                KindsName::Flags => KindCodes::Flags,
                KindsName::Numbers => KindCodes::Numbers,
            },
            length: match self.length {
                LengthName::Whole => LengthField::Whole,
                LengthName::Rest => LengthField::Rest,
                LengthName::Fields => LengthField::Fields,
            },
            unit: match self.times {
                TimesName::Ns => TimeUnit::Nanoseconds,
                TimesName::Ps => TimeUnit::Picoseconds,
            },
            piggyback: match self.rides {
                RidesName::Request => Piggyback::Request,
                RidesName::Response => Piggyback::Response,
            },
            pdu,
            compensation: match self.compensation {
                CompensationName::Absent => Compensation::Absent,
                CompensationName::Response => Compensation::InResponse,
            },
        };
        ensure!(
            dialect.is_consistent(),
            "--pdu: the length field has one byte, which cannot state so long a PDU: use --length fields"
        );
        Ok(dialect)
    }
}
