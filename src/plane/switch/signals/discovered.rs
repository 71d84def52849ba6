//! State of the congestion machines that discovery sets, about the other ends of the ports. Must be
//! applied to every worker.

use super::{Signals, relay};
use crate::plan::AttachedKind;
use congestion::isolation::{Peer, PeerError};
use ground::units::PortId;
use wire::sfcm::{Level, Locator};

impl Signals {
    pub(crate) fn set_locator(&mut self, port: PortId, locator: Locator) {
        self.locators[port.index()] = locator;
        if let Some(sfc) = &mut self.sfc {
            sfc.point.set_locator(port, locator);
        }
    }

    /// Sets the level of the switch in its messages.
    pub(crate) fn set_level(&mut self, level: Option<Level>) {
        self.level = level;
        if let Some(sfc) = &mut self.sfc {
            sfc.level = level;
        }
    }

    /// Sets the CI peer of a port.
    ///
    /// # Errors
    /// If the peer is not valid, or there is no room for it.
    pub(crate) fn set_peer(&mut self, port: PortId, peer: Option<Peer>) -> Result<(), PeerError> {
        self.isolation.as_mut().map_or(Ok(()), |isolation| isolation.set_peer(port, peer))
    }

    /// Sets the kind of device at the other end of a port; the proxy acts for hosts that do not
    /// react themselves.
    pub(crate) fn set_attached(&mut self, port: PortId, kind: AttachedKind) {
        self.attached[port.index()] = kind;
        if let Some(relay) = &mut self.relay {
            relay.proxy.set_kind(port, relay::kind(kind));
        }
    }
}
