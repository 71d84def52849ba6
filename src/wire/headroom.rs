//! The headroom measurement message of the P802.1Qdt proposals (EtherType 89-A2, subtype 1).
//!
//! No published text fixes every octet. What the proposal leaves open is a [`Dialect`], so that both
//! readings can be spoken.

/// How a message says what it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum KindCodes {
    /// Two flags: bit 0 for a request, bit 1 for a response, both for both. The proposal names the
    /// three kinds and neither the field's width nor its values; flags are this project's reading.
    #[default]
    Flags,
    /// Numbers in the order in which the proposal names them: request 0, response 1, both 2.
    Numbers,
}

/// What the length field counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LengthField {
    /// The whole PDU, its first octet included: 35, or 44 with a piggybacked request.
    #[default]
    Whole,
    /// What follows the field itself: 33 or 42.
    Rest,
}

/// What the 64-bit times of a message count. The proposal says neither unit nor epoch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TimeUnit {
    /// Nanoseconds.
    #[default]
    Nanoseconds,
    /// Picoseconds, which are exact in the virtual world.
    Picoseconds,
}

/// How the parts of the message that the proposal leaves open are read and written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Dialect {
    /// The kind of message.
    pub kind: KindCodes,
    /// The length field.
    pub length: LengthField,
    /// The times.
    pub unit: TimeUnit,
}
