//! Headroom by arithmetic: how much still arrives after XOFF, and so how much a lossless group
//! must keep for it.
//!
//! [`delay_value`] is the standard's sum for the hardware of a link; [`required`] adds what a
//! switch in software adds, and turns the sum into cells. Configurations are refused by it.
//! [`models`] has the sums that are in use elsewhere beside it, to compare.

mod delay;
pub mod measure;
pub mod models;
pub mod peer_delay;
mod phy;
mod required;

pub use delay::{DelayInputs, DelayValue, Term, delay_value};
pub use phy::{Extender, Fec, Interface, InterfaceError, Phy};
pub use required::{Required, SoftwareTerms, required};
