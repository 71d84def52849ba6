//! LLDP and DCBX: a port's advertisements, its neighbours' advertisements, and the resulting
//! settings.
//!
//! [`Lldp`] is the agent of one port (802.1AB-2016 clause 9) and includes DCBX (802.1Q clause 38).
//! Its owner reports link changes, passes in every LLDP frame, and takes frames to send while
//! [`Lldp::is_due`]. Time is an argument, nothing allocates after [`Lldp::new`], and calls before
//! [`Lldp::next_deadline`] change nothing.
//!
//! The advertisements of both ends are resolved into this port's settings ([`Resolved`]); the owner
//! applies them. A port advertises its local settings, never those adopted from its peer, so two
//! ports cannot oscillate.

#![warn(missing_docs)]

mod agent;
mod neighbours;
pub mod plan;
mod recognition;
mod resolve;
mod transmit;

pub use agent::{Counters, Event, Lldp};
pub use neighbours::{
    APPLICATIONS_MAX, Identity, NEIGHBOURS_MAX, Neighbour, PeerDcbx, Received, Refusal, Refusals,
    Text, Why,
};
pub use plan::*;
pub use recognition::{Recognition, Surroundings};
pub use resolve::{EtsResolved, Methods, Party, Peer, PeerState, PfcResolved, Resolved};
pub use transmit::{FRAME_MAX, frame_len};

#[cfg(test)]
mod tests;
