//! The commands.

#[cfg(feature = "dpdk")]
pub mod demo;
