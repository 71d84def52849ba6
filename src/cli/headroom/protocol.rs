//! Names of the readings of the measurement protocol, as arguments.

use clap::ValueEnum;

use crate::link::Method;

/// Measurement methods.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum MethodName {
    /// Request and response of the P802.1Qdt proposal.
    RoundTrip,
    /// PTP peer delay, and the internal delays of both ends.
    Ptp,
}

impl From<MethodName> for Method {
    fn from(name: MethodName) -> Self {
        match name {
            MethodName::RoundTrip => Self::RoundTrip,
            MethodName::Ptp => Self::PeerDelay,
        }
    }
}
