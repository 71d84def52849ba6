//! What a port does by itself beside data and pauses: it measures the link, asks for the delay of the
//! medium, tells its neighbour who it is and what it offers, and finds its headroom from all that.
//!
//! The same for a port of a switch and for an end station. Frames come in as octets with a stamp and
//! leave as octets; nothing here knows a port.

pub mod plan;

pub use plan::*;
