//! Topology Recognition (802.1Qcz 49.5): at which level of its network a system is, and where each of
//! its ports points.
//!
//! One [`Recognition`] per system. It is told what is known of the other end of a port whenever that
//! changes ([`Recognition::hear`]), and gives what each port is to say from then on
//! ([`Recognition::said`]). Servers are level 0 and stay there; every other system is one above the
//! lowest that it hears. What it comes to depends on what is heard now alone, not on the order in
//! which it was heard.
//!
//! The rules are those of the amendment's editor (facts 4.3): a level that is not known is ignored, an
//! equal one makes a crosslink, one more an uplink, one less a downlink, and one that is lower still,
//! or any where the own is not known, gives the own level anew. They do not say what happens when the
//! system below goes away; here the level is found anew from those that are left. A neighbour that
//! calls its port to this system a downlink has its level from this one or is above it, so its level is
//! not one to start from: two systems without servers would else count each other up.

use crate::wire::dcbx::topology::{Device, Orientation, Topology};

/// The highest level that can be said.
const LEVEL_MAX: u8 = 254;

/// What one port has heard.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Heard {
    level: Option<u8>,
    /// Whether the neighbour says that it is above.
    from_above: bool,
}

/// See the module's head.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recognition {
    device: Device,
    level: Option<u8>,
    heard: Box<[Heard]>,
}

impl Recognition {
    /// A system of `ports` ports that has heard nothing. An end station is at level 0 and stays there.
    #[must_use]
    pub fn new(device: Device, ports: usize) -> Self {
        let heard = vec![Heard::default(); ports].into_boxed_slice();
        Self { device, level: first_level(device), heard }
    }

    /// What is at the other end of a port from now on; nothing where nobody says.
    ///
    /// # Panics
    /// If there is no such port.
    pub fn hear(&mut self, port: usize, peer: Option<Topology>) {
        self.heard[port] = peer.map_or_else(Heard::default, |peer| Heard {
            level: peer.level,
            from_above: peer.orientation == Orientation::Downlink,
        });
        if self.device != Device::EndStation {
            let below = self.heard.iter().filter(|heard| !heard.from_above);
            let lowest = below.filter_map(|heard| heard.level).min();
            self.level = lowest.filter(|level| *level < LEVEL_MAX).map(|level| level + 1);
        }
    }

    /// The system's level.
    #[must_use]
    pub const fn level(&self) -> Option<u8> {
        self.level
    }

    /// What a port says.
    ///
    /// # Panics
    /// If there is no such port.
    #[must_use]
    pub fn said(&self, port: usize) -> Topology {
        let orientation = orientation(self.level, self.heard[port].level);
        Topology { device: self.device, level: self.level, orientation }
    }
}

/// What a port says before it has heard anything.
pub(super) const fn silent(device: Device) -> Topology {
    Topology { device, level: first_level(device), orientation: Orientation::Unknown }
}

const fn first_level(device: Device) -> Option<u8> {
    match device {
        Device::EndStation => Some(0),
        Device::Bridge | Device::Router | Device::Unknown => None,
    }
}

/// Where a port points by the levels of both ends. A neighbour that is further away than one level will
/// know better as soon as it has heard this system.
fn orientation(own: Option<u8>, peer: Option<u8>) -> Orientation {
    let (Some(own), Some(peer)) = (own, peer) else { return Orientation::Unknown };
    match i16::from(peer) - i16::from(own) {
        0 => Orientation::Crosslink,
        1 => Orientation::Uplink,
        -1 => Orientation::Downlink,
        _ => Orientation::Unknown,
    }
}
