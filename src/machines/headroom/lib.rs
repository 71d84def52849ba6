//! Calculation of headroom: the data that still arrives after XOFF, and the buffer that a lossless
//! group must reserve for it.
//!
//! [`delay_value`] is the standard's sum for the hardware of a link; [`required`] adds the delays
//! of a software switch, and converts the sum to cells. Configurations are validated against it.
//! [`measured`] is the same sum for a link whose round trip [`measure`] has measured, and
//! [`by_peer_delay`] for one whose medium [`peer_delay`] has. [`models`] has other sums in use, for
//! comparison, and the inverse: the longest cable for a headroom. [`Effect`] is that of an error of
//! a measurement.

#![warn(missing_docs)]

mod delay;
pub mod identify;
pub mod measure;
mod measured;
pub mod models;
pub mod peer_delay;
mod phy;
mod required;
mod samples;

pub use delay::{DelayInputs, DelayValue, Frames, MacsecOverhead, Term, delay_value};
pub use measured::{
    Accuracy, Effect, Formula, LinkEnds, MeasuredInputs, PeerDelayInputs, Reaction, Shims,
    by_peer_delay, is_limited, measured,
};
pub use phy::{Extender, Fec, Interface, InterfaceError, Phy};
pub use required::{Required, SoftwareTerms, required, required_of};
pub use samples::{SAMPLES_MAX, Samples};
