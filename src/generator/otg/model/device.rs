//! Emulated hosts.

types_of!("device");

impl Tpid {
    /// Returns the value on the wire.
    #[must_use]
    pub const fn ether_type(self) -> u16 {
        match self {
            Self::X8100 => 0x8100,
            Self::X88A8 => 0x88a8,
            Self::X9100 => 0x9100,
            Self::X9200 => 0x9200,
            Self::X9300 => 0x9300,
        }
    }
}
