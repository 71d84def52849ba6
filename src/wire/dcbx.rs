//! TLVs of DCBX in LLDP: those of IEEE 802.1 (802.1Q Annex D) and one of this project, one file
//! each.
//!
//! Every `parse` takes the string after the organization's name and the subtype, and accepts a
//! longer string than expected, because later editions append fields. Every `emit` writes that
//! string at the front of its buffer and returns its length; reserved bits are sent as zero and
//! ignored.

pub mod application;
pub mod ets;
pub mod isolation;
pub mod pfc;
pub mod source_flow;
pub mod topology;

/// OUI of IEEE 802.1.
pub const OUI: [u8; 3] = [0x00, 0x80, 0xc2];

/// Subtypes of 802.1 with numbers in 802.1Q (Table D-1).
pub mod subtype {
    /// ETS configuration (D.2.8).
    pub const ETS_CONFIGURATION: u8 = 0x09;
    /// ETS recommendation (D.2.9).
    pub const ETS_RECOMMENDATION: u8 = 0x0a;
    /// PFC configuration (D.2.10).
    pub const PFC: u8 = 0x0b;
    /// Application priority (D.2.11).
    pub const APPLICATION: u8 = 0x0c;
}

#[cfg(test)]
mod tests;
