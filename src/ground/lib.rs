//! Units and identifiers, times, random numbers, verdicts of checks, escaping of printed text, and memory that
//! is read soon. Every other crate of Sluice may use this one; it uses none of them.

#![warn(missing_docs)]

pub mod counters;
pub mod described;
pub mod memory;
pub mod numbered;
pub mod printable;
pub mod program;
pub mod rand;
pub mod time;
pub mod units;
pub mod verdict;
