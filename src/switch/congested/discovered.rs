//! What the machines are told that the switch found out about the other ends of its ports. To be told
//! to every worker.

use super::{Congested, relay};
use crate::congestion::isolation::{Peer, PeerError};
use crate::switch::plan::AttachedKind;
use crate::units::PortId;
use crate::wire::sfcm::Locator;

impl Congested {
    /// Where congestion at a port is.
    pub(in crate::switch) fn set_locator(&mut self, port: PortId, locator: Locator) {
        if let Some(sfc) = &mut self.sfc {
            sfc.point.set_locator(port, locator);
        }
    }

    /// The CI peer of a port.
    ///
    /// # Errors
    /// If the peer is none, or there is no room for it.
    pub(in crate::switch) fn set_peer(
        &mut self,
        port: PortId,
        peer: Option<Peer>,
    ) -> Result<(), PeerError> {
        self.isolation.as_mut().map_or(Ok(()), |isolation| isolation.set_peer(port, peer))
    }

    /// What is at the other end of a port: whether the proxy speaks for it.
    pub(in crate::switch) fn set_attached(&mut self, port: PortId, kind: AttachedKind) {
        if let Some(relay) = &mut self.relay {
            relay.proxy.set_kind(port, relay::kind(kind));
        }
    }
}
