//! The CI Peer Table (802.1Qcz 49.3.6): destinations and permitted sources of CIMs, by port.
//! Entries come from the CI TLV of LLDP or from a configuration; the table does not distinguish
//! them.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use thiserror::Error;

use ground::units::{Mac, PortId};

/// Encapsulation of CIMs that a peer requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CimType {
    /// Layer-2 frame with the CIM EtherType.
    L2,
    /// In UDP over IPv4.
    Ipv4,
    /// In UDP over IPv6.
    Ipv6,
}

/// Maximum number of bytes that a peer can request to have encapsulated.
const ENCAP_MAX: u16 = 512;

/// A CIM peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Peer {
    /// Encapsulation of its CIMs.
    pub cim_type: CimType,
    /// MAC address, unicast and not zero.
    pub mac: Mac,
    /// IPv4 address. Required for CIMs in IPv4.
    pub ipv4: Option<Ipv4Addr>,
    /// IPv6 address. Required for CIMs in IPv6.
    pub ipv6: Option<Ipv6Addr>,
    /// UDP port. Not zero for CIMs in IP.
    pub udp_port: u16,
    /// Number of bytes of a frame to encapsulate (peer-cim-encap-len). 0 to 512.
    pub encap_len: u16,
}

impl Peer {
    /// # Errors
    /// If CIMs cannot be sent to the peer as configured.
    fn check(&self) -> Result<(), PeerError> {
        if self.mac.is_multicast() || self.mac == Mac::default() {
            return Err(PeerError::Mac(self.mac));
        }
        if self.encap_len > ENCAP_MAX {
            return Err(PeerError::EncapLen(self.encap_len));
        }
        let reachable = match self.cim_type {
            CimType::L2 => true,
            CimType::Ipv4 => self.ipv4.is_some() && self.udp_port > 0,
            CimType::Ipv6 => self.ipv6.is_some() && self.udp_port > 0,
        };
        if reachable { Ok(()) } else { Err(PeerError::NoAddress) }
    }

    /// Returns true if a message with these source addresses is from this peer. An IP packet may
    /// have the MAC address of a router and is identified by its IP address alone.
    pub(super) fn is_from(&self, mac: Mac, address: Option<IpAddr>) -> bool {
        match address {
            None => mac == self.mac,
            Some(IpAddr::V4(a)) => self.ipv4 == Some(a),
            Some(IpAddr::V6(a)) => self.ipv6 == Some(a),
        }
    }
}

/// Reason for refusing a peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum PeerError {
    /// The MAC address is not that of a station.
    #[error("{0} is no station's address")]
    Mac(Mac),
    /// The encapsulation length exceeds the maximum of a CIM.
    #[error("{0} encapsulated octets: at most {ENCAP_MAX}")]
    EncapLen(u16),
    /// CIMs in IP without a destination address or port.
    #[error("CIMs in IP need the peer's address and UDP port")]
    NoAddress,
    /// The table has the maximum number of peers.
    #[error("the peer table holds {0} already (max-ci-peer-entries)")]
    Full(usize),
}

/// Peer table: at most one peer per port.
pub(super) struct Peers {
    by_port: Box<[Option<Peer>]>,
    max: usize,
}

impl Peers {
    pub(super) fn new(ports: usize, max: usize) -> Self {
        Self { by_port: vec![None; ports].into_boxed_slice(), max }
    }

    pub(super) fn get(&self, port: PortId) -> Option<&Peer> {
        self.by_port[port.index()].as_ref()
    }

    pub(super) fn set(&mut self, port: PortId, peer: Option<Peer>) -> Result<(), PeerError> {
        if let Some(peer) = &peer {
            peer.check()?;
            let others = self.by_port.iter().flatten().count()
                - usize::from(self.by_port[port.index()].is_some());
            if others >= self.max {
                return Err(PeerError::Full(others));
            }
        }
        self.by_port[port.index()] = peer;
        Ok(())
    }
}
