//! Ports of the tester that a test needs.

use crate::setup::Setup;
use serde::Serialize;

/// Ports of the tester that a test needs, and its traffic between them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub enum Topology {
    /// One port.
    T1,
    /// Two ports: A sends to B, and the tester pauses the DUT at B.
    T2,
    /// Two ports, with a NIC at each.
    Pair,
    /// Three ports: A and B send to C.
    T3,
    /// Four ports: A sends to C and D, B sends to D.
    Th,
    /// All ports of the file, at least three: all others send to the last one.
    Tn,
    /// Three ports at the switches of a ring, in the direction of its frames.
    Tr,
    /// Two ports: A sends to B, whose link has MACsec.
    Tm,
    /// Two ports of different rates: the fastest sends to the slowest.
    Ts,
}

impl Topology {
    /// Number of ports.
    pub const fn ports(self) -> usize {
        match self {
            Self::T1 => 1,
            Self::T2 | Self::Tm | Self::Pair | Self::Ts => 2,
            Self::T3 | Self::Tn | Self::Tr => 3,
            Self::Th => 4,
        }
    }
}

/// Returns the reason why a test is skipped for want of ports.
pub(crate) fn too_few(setup: &Setup, needed: usize, given: usize) -> String {
    let of = if given == setup.ports.len() { String::new() } else { format!(" at {}", setup.rate) };
    format!("ports: {needed} are needed, and the file has {given}{of}")
}
