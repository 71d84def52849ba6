//! Reasons why a lab cannot be run.

#[cfg(feature = "dpdk")]
use super::real::RealError;
use super::record::CaptureError;
use sim::NetworkError;

/// Reason why a lab could not be run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The network plan contradicts itself.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// A capture could not be written.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// The lab cannot run on rings, or not on this machine.
    #[cfg(feature = "dpdk")]
    #[error(transparent)]
    Real(#[from] RealError),
    /// This build has no real world.
    #[cfg(not(feature = "dpdk"))]
    #[error("this build runs labs in the virtual world only; try `--world virtual`")]
    NoRealWorld,
}

impl RunError {
    /// True if the lab or the options are invalid, false for errors of the machine or this build.
    #[must_use]
    pub const fn is_bad_input(&self) -> bool {
        match self {
            Self::Network(_) | Self::Capture(_) => true,
            #[cfg(feature = "dpdk")]
            Self::Real(error) => error.is_bad_input(),
            #[cfg(not(feature = "dpdk"))]
            Self::NoRealWorld => false,
        }
    }
}
