//! LLDP and DCBX: what a port tells its neighbour, what it hears, and what follows from both.

pub mod plan;

pub use plan::*;
