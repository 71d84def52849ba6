//! Names of the readings of the measurement protocol, as arguments.

use clap::ValueEnum;

use crate::headroom::Formula;
use crate::link::Method;

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
