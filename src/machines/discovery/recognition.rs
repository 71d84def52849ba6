//! Topology Recognition (802.1Qcz 49.5): the level of a system in its network, and the orientation
//! of each of its ports.
//!
//! One [`Recognition`] per system. [`Recognition::hear`] takes the information about the other end
//! of a port whenever it changes, and [`Recognition::advertised`] returns the port's advertisement from
//! then on. Servers are always level 0; every other system is one above the lowest level that it
//! receives. The result depends only on the present information, not on its order of arrival.
//!
//! The rules are those of the amendment's editor: an unknown level is ignored, an equal one makes a
//! crosslink, one more an uplink, one less a downlink, and a still lower one, or any if the local
//! one is unknown, sets the local level. They do not cover the loss of the system below; here the
//! level is recalculated from the remaining ones. A neighbour that calls its port to this system a
//! downlink has its level from this one or is above it, so its level is not used as a base: two
//! systems without servers would otherwise increase each other's level forever.
//!
//! [`Surroundings`] is the congestion-related information about the other end of a port. It is
//! informational, not negotiated, so it is taken from every neighbour, with or without DCBX.
//! Contradictory information of several neighbours counts as unknown.

use super::neighbours::{Neighbour, Received};
use wire::dcbx::isolation::CongestionIsolation;
use wire::dcbx::source_flow::SourceFlowControl;
use wire::dcbx::topology::{Device, Orientation, Topology};
use wire::lldp::Capabilities;

/// Maximum level that can be advertised.
const LEVEL_MAX: u8 = 254;

/// Information received on one port.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Heard {
    level: Option<u8>,
    /// True if the neighbour advertises that it is above.
    from_above: bool,
}

/// Topology Recognition of one system; see the module documentation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recognition {
    device: Device,
    level: Option<u8>,
    heard: Box<[Heard]>,
}

impl Recognition {
    /// Creates a system of `ports` ports without information. An end station is always at level 0.
    #[must_use]
    pub fn new(device: Device, ports: usize) -> Self {
        let heard = vec![Heard::default(); ports].into_boxed_slice();
        Self { device, level: first_level(device), heard }
    }

    /// Sets the information about the other end of a port; `None` if there is none.
    ///
    /// # Panics
    /// If there is no such port.
    pub fn hear(&mut self, port: usize, peer: Option<Topology>) {
        self.heard[port] = peer.map_or_else(Heard::default, |peer| Heard {
            level: peer.level,
            from_above: peer.orientation == Orientation::Downlink,
        });
        if self.device != Device::EndStation {
            // A neighbour above has its level from this system or from another below it.
            let below = self.heard.iter().filter(|heard| !heard.from_above);
            let lowest = below.filter_map(|heard| heard.level).min();
            // A level above the maximum is unknown, which also ends a circle of systems that raise each other.
            self.level = lowest.filter(|level| *level < LEVEL_MAX).map(|level| level + 1);
        }
    }

    /// Returns the level of the system.
    #[must_use]
    pub const fn level(&self) -> Option<u8> {
        self.level
    }

    /// Returns the advertisement of a port.
    ///
    /// # Panics
    /// If there is no such port.
    #[must_use]
    pub fn advertised(&self, port: usize) -> Topology {
        let orientation = orientation(self.level, self.heard[port].level);
        Topology { device: self.device, level: self.level, orientation }
    }
}

/// Returns the advertisement of a port without received information.
pub(super) const fn silent(device: Device) -> Topology {
    Topology { device, level: first_level(device), orientation: Orientation::Unknown }
}

const fn first_level(device: Device) -> Option<u8> {
    match device {
        Device::EndStation => Some(0),
        Device::Bridge | Device::Router | Device::Unknown => None,
    }
}

/// Returns the orientation of a port from the levels of both ends. A neighbour more than one level
/// away corrects its level when it receives this system's.
fn orientation(own: Option<u8>, peer: Option<u8>) -> Orientation {
    let (Some(own), Some(peer)) = (own, peer) else { return Orientation::Unknown };
    match i16::from(peer) - i16::from(own) {
        0 => Orientation::Crosslink,
        1 => Orientation::Uplink,
        -1 => Orientation::Downlink,
        _ => Orientation::Unknown,
    }
}

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
        let all = || neighbours.iter().map(|n| &n.received);
        Self {
            place: agreed(all().filter_map(place)),
            isolation: agreed(all().filter_map(|received| received.dcbx.isolation)),
            sfc: agreed(all().filter_map(|received| received.dcbx.sfc)),
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
fn place(received: &Received) -> Option<Topology> {
    let device = |is: Capabilities| match is.enabled {
        // The station bit alone: a bridge may also be a host.
        Capabilities::STATION => Some(Device::EndStation),
        is if is & Capabilities::ROUTER != 0 => Some(Device::Router),
        is if is & Capabilities::BRIDGE != 0 => Some(Device::Bridge),
        _ => None,
    };
    received.dcbx.topology.or_else(|| {
        let device = received.capabilities.and_then(device)?;
        let level = (device == Device::EndStation).then_some(0);
        Some(Topology { device, level, orientation: Orientation::Unknown })
    })
}
