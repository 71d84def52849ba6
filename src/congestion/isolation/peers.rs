//! The CI Peer Table (802.1Qcz 49.3.6): whom to send CIMs to, and from whom to take them, by port. Entries
//! come from the CI TLV of LLDP or from a configuration; this does not tell them apart.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use thiserror::Error;

use crate::units::{Mac, PortId};

/// In which form a peer wants its CIMs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CimType {
    /// In a frame of their own EtherType.
    L2,
    /// In UDP over IPv4.
    Ipv4,
    /// In UDP over IPv6.
    Ipv6,
}

/// The most octets that a peer can ask to have encapsulated.
const ENCAP_MAX: u16 = 512;

/// A peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Peer {
    /// The form of its CIMs.
    pub cim_type: CimType,
    /// Its address.
    pub mac: Mac,
    /// Its IPv4 address. Necessary for CIMs in IPv4.
    pub ipv4: Option<Ipv4Addr>,
    /// Its IPv6 address. Necessary for CIMs in IPv6.
    pub ipv6: Option<Ipv6Addr>,
    /// Its UDP port. Not zero for CIMs in IP.
    pub udp_port: u16,
    /// How many octets of a frame it wants encapsulated (peer-cim-encap-len). 0 to 512.
    pub encap_len: u16,
}

impl Peer {
    /// # Errors
    /// If what it wants cannot be sent to it.
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

    /// Whether a message with these source addresses is this peer's. What came as a packet may have
    /// the MAC address of a router, and is known by its IP address alone.
    pub(super) fn is_from(&self, mac: Mac, address: Option<IpAddr>) -> bool {
        match address {
            None => mac == self.mac,
            Some(IpAddr::V4(a)) => self.ipv4 == Some(a),
            Some(IpAddr::V6(a)) => self.ipv6 == Some(a),
        }
    }
}

/// Why a peer was not entered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum PeerError {
    /// No station's address.
    #[error("{0} is no station's address")]
    Mac(Mac),
    /// More than a CIM holds.
    #[error("{0} encapsulated octets: at most {ENCAP_MAX}")]
    EncapLen(u16),
    /// CIMs in IP without an address or a port to send them to.
    #[error("CIMs in IP need the peer's address and UDP port")]
    NoAddress,
    /// As many peers as the table may have.
    #[error("the peer table holds {0} already (max-ci-peer-entries)")]
    Full(usize),
}

/// The table: at most one peer per port.
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
