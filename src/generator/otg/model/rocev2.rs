//! RoCEv2 connections: endpoints of devices, their flows, and the RoCEv2 settings of ports.

types_of!("rocev2");

impl Ecn {
    /// Returns the codepoint on the wire.
    #[must_use]
    pub const fn bits(self) -> u8 {
        match self {
            Self::NonEct => 0,
            Self::Ect1 => 1,
            Self::Ect0 => 2,
            Self::Ce => 3,
        }
    }
}
