//! MACsec (802.1AE): the security entity (SecY) of a port.

mod plan;

pub use plan::*;
