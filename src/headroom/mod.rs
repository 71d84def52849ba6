//! Headroom by arithmetic: how much still arrives after XOFF, and so how much a lossless group
//! must keep for it.
//!
//! [`delay_value`] is the standard's sum for the hardware of a link; [`required`] adds what a
//! switch in software adds, and turns the sum into cells. Configurations are refused by it.
//! [`measured`] is the same sum for a link whose round trip [`measure`] has measured, and
//! [`by_peer_delay`] for one whose medium [`peer_delay`] has.
//! [`models`] has the sums that are in use elsewhere beside it, to compare.

mod delay;
pub mod measure;
mod measured;
pub mod models;
pub mod peer_delay;
mod phy;
mod required;
mod samples;

pub use delay::{DelayInputs, DelayValue, Frames, Shield, Term, delay_value};
pub use measured::{Accuracy, MeasuredInputs, PeerDelayInputs, Shims, by_peer_delay, measured};
pub use phy::{Extender, Fec, Interface, InterfaceError, Phy};
pub use required::{Required, SoftwareTerms, required, required_of};
pub use samples::{SAMPLES_MAX, Samples};
