//! Congestion-related information about the other end of a port.
//!
//! It is informational, not negotiated, so it is taken from every neighbour, with or without DCBX.
//! Contradictory information of several neighbours counts as unknown.

use super::neighbours::{Neighbour, Received};
use wire::dcbx::isolation::CongestionIsolation;
use wire::dcbx::source_flow::SourceFlowControl;
use wire::dcbx::topology::{Device, Orientation, Topology};
use wire::lldp::Capabilities;

/// Information that the neighbours of a port advertise about themselves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Surroundings {
    /// Topology.
    pub place: Option<Topology>,
    /// Destination of their Congestion Isolation messages.
    pub isolation: Option<CongestionIsolation>,
    /// Source Flow Control settings.
    pub sfc: Option<SourceFlowControl>,
}

impl Surroundings {
    pub(super) fn of(neighbours: &[Neighbour]) -> Self {
        let said = || neighbours.iter().map(|n| &n.received);
        Self {
            place: agreed(said().filter_map(place)),
            isolation: agreed(said().filter_map(|said| said.dcbx.isolation)),
            sfc: agreed(said().filter_map(|said| said.dcbx.sfc)),
        }
    }
}

/// Returns the value, if all are equal.
fn agreed<T: PartialEq>(mut all: impl Iterator<Item = T>) -> Option<T> {
    let first = all.next()?;
    all.all(|other| other == first).then_some(first)
}

/// Returns the topology of a neighbour, advertised or derived from its capabilities: a system that
/// is only an end station is at the edge, even without Topology Recognition. Our choice, since most
/// hosts implement only 802.1AB.
fn place(said: &Received) -> Option<Topology> {
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
