//! What is at the other end of a port, as far as congestion goes.
//!
//! It is information, not negotiation, so it is taken from every neighbour, whether it takes part in DCBX
//! or not. Where several neighbours contradict each other nothing is known.

use super::neighbours::{Neighbour, Said};
use crate::wire::dcbx::isolation::CongestionIsolation;
use crate::wire::dcbx::source_flow::SourceFlowControl;
use crate::wire::dcbx::topology::{Device, Orientation, Topology};
use crate::wire::lldp::Capabilities;

/// What the neighbours of a port say that they are and do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Surroundings {
    /// Their place in the network.
    pub place: Option<Topology>,
    /// Where their messages of congestion isolation go.
    pub isolation: Option<CongestionIsolation>,
    /// What they do about source flow control.
    pub sfc: Option<SourceFlowControl>,
}

impl Surroundings {
    pub(super) fn of(neighbours: &[Neighbour]) -> Self {
        let said = || neighbours.iter().map(|n| &n.said);
        Self {
            place: agreed(said().filter_map(place)),
            isolation: agreed(said().filter_map(|said| said.dcbx.isolation)),
            sfc: agreed(said().filter_map(|said| said.dcbx.sfc)),
        }
    }
}

/// The one thing that all say who say anything.
fn agreed<T: PartialEq>(mut all: impl Iterator<Item = T>) -> Option<T> {
    let first = all.next()?;
    all.all(|other| other == first).then_some(first)
}

/// The place that a neighbour says, or what follows from its capabilities: a system that is an end station
/// and nothing else is at the edge, whether it knows of Topology Recognition or not. A choice, since
/// most hosts speak no more than 802.1AB.
fn place(said: &Said) -> Option<Topology> {
    let device = |is: Capabilities| match is.enabled {
        Capabilities::STATION => Some(Device::EndStation),
        is if is & Capabilities::ROUTER != 0 => Some(Device::Router),
        is if is & Capabilities::BRIDGE != 0 => Some(Device::Bridge),
        _ => None,
    };
    said.dcbx.topology.or_else(|| {
        let device = said.capabilities.and_then(device)?;
        let level = (device == Device::EndStation).then_some(0);
        Some(Topology { device, level, orientation: Orientation::Unknown })
    })
}
