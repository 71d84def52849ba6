//! Units and identifiers, times, random numbers, verdicts of checks, escaping of printed text, and memory that
//! is read soon. Every other crate of Sluice may use this one; it uses none of them.

#![warn(missing_docs)]

// Macros name this crate as others do.
extern crate self as ground;

#[cfg(feature = "arguments")]
#[doc(hidden)]
pub use clap;
#[cfg(feature = "files")]
#[doc(hidden)]
pub use {schemars, serde};

pub mod described;
pub mod memory;
pub mod named;
pub mod numbered;
pub mod printable;
pub mod program;
pub mod rand;
pub mod time;
pub mod units;
pub mod verdict;
