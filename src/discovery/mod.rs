//! LLDP and DCBX: what a port tells its neighbour, what it hears, and what follows from both.
//!
//! [`Lldp`] is the agent of one port (802.1AB-2016 clause 9) with DCBX (802.1Q clause 38) inside.
//! Its owner tells it when the link comes and goes, hands it every LLDP frame, and asks for frames
//! to send whenever [`Lldp::is_due`]. Time is an argument, nothing allocates after [`Lldp::new`], and
//! asking more often than [`Lldp::next_deadline`] says changes nothing.
//!
//! What both ends said is resolved into what this port has to do ([`Resolved`]); doing it is the
//! owner's business. What a port sends is its own setting, never what it took from its peer, so
//! two ports cannot chase each other.

mod agent;
mod compose;
mod counters;
mod neighbours;
pub mod plan;
mod recognition;
mod resolve;
mod surroundings;
mod transmit;

pub use agent::{Event, Lldp};
pub use compose::{FRAME_MAX, frame_len};
pub use counters::Counters;
pub use neighbours::{APPLICATIONS_MAX, Identity, NEIGHBOURS_MAX, Neighbour, PeerDcbx, Said, Text};
pub use plan::*;
pub use recognition::Recognition;
pub use resolve::{EtsResolved, Methods, Party, Peer, PeerState, PfcResolved, Resolved};
pub use surroundings::Surroundings;

#[cfg(test)]
mod tests;
