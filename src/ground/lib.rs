//! Numbers with their meaning, times, results of checks, and text that is safe to show. Every other
//! crate of Sluice may use this one; it uses none of them.

#![warn(missing_docs)]

pub mod printable;
pub mod time;
pub mod units;
pub mod verdict;
