//! CIMs sent to peers, handling of CIMs received, and the CI Peer Table (802.1Qcz 49.3.6):
//! destinations and permitted sources of CIMs, by port. Entries come from the CI TLV of LLDP or from
//! a configuration; the table does not distinguish them.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use thiserror::Error;

use super::plan::CimRepeat;
use super::{Arrival, Isolation, IsolationCounters, Labels};
use crate::detect::Queue;
use crate::flow_key::FlowKey;
use crate::streams::{CreateMask, Place};
use ground::named;
use ground::time::Instant;
use ground::units::{Mac, PortId, TrafficClass};

/// A CIM that is due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CimOrder {
    /// True to isolate the flow, false to stop.
    pub add: bool,
    /// Port of the peer; [`Isolation::peer`] has its addresses.
    pub to: PortId,
}

/// A received CIM.
#[derive(Clone, Copy, Debug)]
pub struct Received {
    /// Ingress port: the port whose queues hold the flow.
    pub port: PortId,
    /// Source MAC address.
    pub mac: Mac,
    /// Source IP address, if the CIM was an IP packet.
    pub address: Option<IpAddr>,
    /// True to isolate the flow, false to stop.
    pub add: bool,
    /// Flow key, from the encapsulated frame.
    pub key: FlowKey,
    /// Other fields of the encapsulated frame.
    pub labels: Labels,
    /// Bit mask of the traffic classes that this bridge may use for the flow's frames, because a
    /// CIM does not carry their priority. The flow counts as a separate one in each class.
    pub classes: u8,
}

impl Isolation {
    /// Returns the CIM to send to the upstream peer about a flow now, if any.
    pub(super) fn notify(
        &mut self,
        now: Instant,
        place: Place,
        ingress: PortId,
    ) -> Option<CimOrder> {
        // Half of the life, so that the peer's entry is renewed before it ends there.
        let again = self.plan.max_flow_life.div(2);
        let stream = self.streams.get_mut(place);
        let state = &mut stream.state;
        let ago = state.cim_sent.map(|(at, _)| now.since(at));
        if self.plan.dialect.repeat == CimRepeat::BeforeItsLifeEnds
            && ago.is_some_and(|ago| ago >= again)
        {
            state.counted = 0;
        }
        let cim = &mut self.counters;
        let refused = if state.counted >= self.plan.max_cim_tx {
            &mut cim.had_all
        } else if ago.is_some_and(|ago| ago < self.plan.spacing) {
            &mut cim.too_soon
        } else if self.peers.get(ingress).is_none() {
            &mut cim.no_peer
        } else if !self.budget.pass(now) {
            // Asked last: a CIM that another reason stops uses none of the common limit.
            &mut cim.over_budget
        } else {
            state.counted += 1;
            state.cim_sent = Some((now, ingress));
            stream.messages = stream.messages.saturating_add(1);
            cim.sent_add += 1;
            return Some(CimOrder { add: true, to: ingress });
        };
        *refused += 1;
        None
    }

    /// Returns the CIM that tells a peer that the flow has ended.
    pub(super) fn tell_end(
        &mut self,
        now: Instant,
        cim_sent: Option<(Instant, PortId)>,
    ) -> Option<CimOrder> {
        // Only a peer that was notified of the flow, and is still there, is notified of its end.
        let (_, to) = cim_sent.filter(|(_, port)| self.peers.get(*port).is_some())?;
        if !self.budget.pass(now) {
            self.counters.over_budget += 1;
            return None;
        }
        self.counters.sent_del += 1;
        Some(CimOrder { add: false, to })
    }

    /// Handles a received CIM.
    pub fn on_cim(&mut self, now: Instant, received: &Received) -> Heard {
        let heard = self.hear(now, received);
        *heard.counter(&mut self.counters) += 1;
        heard
    }

    fn hear(&mut self, now: Instant, received: &Received) -> Heard {
        if !self.plan.enabled {
            return Heard::Disabled;
        }
        let Some(peer) = self.peers.get(received.port) else {
            return Heard::UnknownPeer;
        };
        if !peer.is_from(received.mac, received.address) {
            return Heard::ForeignSource;
        }
        // After the source is known: the flood of a stranger must not use up the limit of the peer.
        if !self.heard[received.port.index()].pass(now) {
            return Heard::TooMany;
        }
        let map = self.plan.map;
        let named = TrafficClass::ALL.into_iter().filter(|c| received.classes >> c.get() & 1 == 1);
        let monitored = named.filter(|class| map.congesting(*class).is_some());
        // The variants of `Heard` are in the order of effect, so the minimum is the best of all classes.
        monitored.map(|class| self.obey(now, received, class)).min().unwrap_or(Heard::NotMonitored)
    }

    /// Applies a valid CIM to frames of one monitored class.
    fn obey(&mut self, now: Instant, received: &Received, class: TrafficClass) -> Heard {
        let queue = Queue { port: received.port, class };
        match (self.streams.find(queue, &received.key), received.add) {
            (Some(place), true) => {
                self.streams.get_mut(place).mask.insert(CreateMask::CIM);
                // A repeated request begins the flow's life again (49.4.1.1.3).
                self.streams.touch(now, place);
                Heard::Renewed
            }
            (Some(place), false) => {
                let mask = &mut self.streams.get_mut(place).mask;
                let named = mask.has(CreateMask::CIM);
                mask.remove(CreateMask::CIM);
                if named { Heard::Released } else { Heard::NothingToRelease }
            }
            (None, false) => Heard::NothingToRelease,
            (None, true) => {
                let arrival = Arrival {
                    ingress: received.port,
                    queue,
                    key: received.key,
                    labels: received.labels,
                };
                let taken = self.isolate(now, &arrival, CreateMask::CIM);
                if taken.is_some() { Heard::Isolated } else { Heard::NoRoom }
            }
        }
    }
}

/// Result of a received CIM: the first of these that holds for any of its classes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Heard {
    /// The flow is isolated from now on.
    Isolated,
    /// The flow was already isolated.
    Renewed,
    /// The peer no longer requests isolation.
    Released,
    /// The table is full.
    NoRoom,
    /// The peer ended a request that was not in force.
    NothingToRelease,
    /// No queue of these classes is monitored.
    NotMonitored,
    /// Isolation is disabled.
    Disabled,
    /// The port has no entry in the peer table.
    UnknownPeer,
    /// The sender is not the port's peer.
    ForeignSource,
    /// The peer exceeds its limit of messages.
    TooMany,
}

impl Heard {
    /// Returns the counter of messages with this result.
    const fn counter(self, counters: &mut IsolationCounters) -> &mut u64 {
        match self {
            Self::Isolated => &mut counters.heard_isolated,
            Self::Renewed => &mut counters.heard_renewed,
            Self::Released => &mut counters.heard_released,
            Self::NoRoom => &mut counters.heard_no_room,
            Self::NothingToRelease => &mut counters.heard_nothing_to_release,
            Self::NotMonitored => &mut counters.heard_not_monitored,
            Self::Disabled => &mut counters.heard_disabled,
            Self::UnknownPeer => &mut counters.heard_unknown_peer,
            Self::ForeignSource => &mut counters.heard_foreign_source,
            Self::TooMany => &mut counters.heard_too_many,
        }
    }

    /// Returns true if the message was valid and applied, even if nothing had to change.
    #[must_use]
    pub const fn is_obeyed(self) -> bool {
        matches!(self, Self::Isolated | Self::Renewed | Self::Released | Self::NothingToRelease)
    }
}

named! {
    /// Form of CIMs.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum CimType {
        /// Ethernet frames with an EtherType for CIMs.
        #[default]
        L2 = "l2",
        /// UDP over IPv4.
        Ipv4 = "ipv4",
        /// UDP over IPv6.
        Ipv6 = "ipv6",
    }
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
    fn is_from(&self, mac: Mac, address: Option<IpAddr>) -> bool {
        // An IP packet may come through a router, whose MAC address says nothing about the peer.
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
            // The port's own entry is replaced and needs no further place.
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
