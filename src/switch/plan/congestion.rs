//! What a switch does about flows that congest it: isolate them, pause or slow their sources.

use core::net::{Ipv4Addr, Ipv6Addr};

use crate::congestion::isolation::{IsolationPlan, Peer, Watch};
use crate::congestion::proxy::{CachePlan, PausePolicy, Senders};
use crate::congestion::qcn::PointPlan;
use crate::congestion::sfc::{Monitor, SfcPlan};
use crate::congestion::{Detect, LimitPlan};
use crate::discovery::{Device, Topology};
use crate::time::Duration;
use crate::units::{Dscp, Mac, PRIORITIES, PortId, Priority};
use crate::wire::cim;
use crate::wire::roce::U24;
use crate::wire::sfcm::Locator;

/// All of it. Nothing, by default.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CongestionPlan {
    /// Source Flow Control: messages to the sources of congesting flows (P802.1Qdw).
    pub sfc: Option<SourceFlowControlPlan>,
    /// Congestion Isolation (802.1Qcz).
    pub isolation: Option<CongestionIsolationPlan>,
    /// The proxy that turns source flow control messages into PFC (P802.1Qdw).
    pub proxy: Option<SfcProxyPlan>,
    /// Congestion notifications of RoCEv2 from the switch itself.
    pub fast_cnp: Option<FastCnpPlan>,
    /// Quantized Congestion Notification (802.1Q Clauses 30 to 33).
    pub qcn: Option<QuantizedPlan>,
    /// The storm watchdog of each port, by [`PortId`]: true where it runs, nothing where a port has none.
    /// [`PortPlan::watchdog`](super::PortPlan::watchdog) says what it does. Nothing where no port has one.
    pub watchdog: Option<Vec<Option<bool>>>,
    /// What is at the other end of each port, by [`PortId`]; [`Attached::default`] where it is short.
    pub ports: Vec<Attached>,
}

impl CongestionPlan {
    /// True if the storm watchdog of a port runs, where the port has one.
    #[must_use]
    pub fn watches(&self, port: PortId) -> bool {
        let said = self.watchdog.as_ref().and_then(|ports| *ports.get(port.index())?);
        said.unwrap_or(true)
    }

    /// What is planned to be at the other end of a port.
    #[must_use]
    pub fn attached(&self, port: PortId) -> Attached {
        self.ports.get(port.index()).copied().unwrap_or_default()
    }

    /// Where congestion at a port is, before anybody is heard there: next to a host it is incast.
    #[must_use]
    pub fn locator(&self, port: PortId) -> Locator {
        let attached = self.attached(port);
        attached.locator.unwrap_or(match attached.kind {
            AttachedKind::Switch => Locator::InNetwork,
            AttachedKind::Host | AttachedKind::SfcHost | AttachedKind::Discovered => {
                Locator::Incast
            }
        })
    }

    /// Where congestion at a port is, by what its neighbour says of its place, if it does. What is
    /// configured holds whatever is heard.
    #[must_use]
    pub fn locator_by(&self, port: PortId, peer: Option<&Topology>) -> Locator {
        let planned = self.locator(port);
        if self.attached(port).locator.is_some() {
            return planned;
        }
        match peer {
            Some(Topology { device: Device::EndStation, .. } | Topology { level: Some(0), .. }) => {
                Locator::Incast
            }
            Some(Topology { device: Device::Bridge | Device::Router, .. })
            | Some(Topology { level: Some(_), .. }) => Locator::InNetwork,
            Some(Topology { device: Device::Unknown, level: None, .. }) | None => planned,
        }
    }
}

/// What is at the other end of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Attached {
    /// What it is.
    pub kind: AttachedKind,
    /// Where congestion at this port is. Nothing: found from `kind`, and from Topology Recognition.
    pub locator: Option<Locator>,
}

/// What is at the other end of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AttachedKind {
    /// A switch. Messages go on to it.
    #[default]
    Switch,
    /// A host that knows PFC alone: the proxy speaks for it.
    Host,
    /// A host that obeys SFCMs by itself.
    SfcHost,
    /// A host, of which the capability TLV of DCBX says whether it obeys SFCMs; until then it is taken
    /// for one that does not.
    Discovered,
}

/// Source flow control points of all ports.
#[derive(Clone, PartialEq, Debug)]
pub struct SourceFlowControlPlan {
    /// The objects that the machine keeps: sfcMasterEnable, sfcmUDPPort, sfcMaxSFCM,
    /// sfcMonitoredQueues, sfcMaxFlowLife, and what the source leaves open.
    pub point: SfcPlan,
    /// sfcmTransmitPriority. Default 7.
    pub transmit_priority: Priority,
    /// The DSCP of messages. Default 56 (CS7), which goes with priority 7.
    pub dscp: Dscp,
    /// How a message says which flow it is about.
    pub form: SfcmForm,
    /// Whose address a message has as its source.
    pub from: SfcmFrom,
    /// sfcmMacAddress; nothing is the MAC address of the port.
    pub mac: Option<Mac>,
    /// sfcmIPv4Address, sfcmIPv6Address: used where `from` says so.
    pub ipv4: Option<Ipv4Addr>,
    /// See `ipv4`.
    pub ipv6: Option<Ipv6Addr>,
    /// By port, then traffic class: when a queue is congested, of those that are monitored.
    pub monitors: Vec<[Option<Monitor>; PRIORITIES]>,
}

/// The two forms of a message's payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SfcmForm {
    /// Addresses, protocol and ports.
    Simplified,
    /// The start of the frame.
    Encapsulated {
        /// sfcMinHeaderOctets: how much of it. 64 to 512; default 64. A shorter frame is all there is.
        min_header_octets: u16,
    },
}

/// Whose IP address messages come from. The source document swaps the addresses of the congesting
/// frame, and gives the point addresses of its own all the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SfcmFrom {
    /// The destination of the congesting flow: the addresses are swapped.
    Swapped,
    /// The switch; what goes in a version of IP that it has no address of is swapped.
    Own,
}

/// Congestion Isolation of all ports.
#[derive(Clone, PartialEq, Debug)]
pub struct CongestionIsolationPlan {
    /// The objects that the machine keeps.
    pub machine: IsolationPlan,
    /// ci-cim-tx-priority. Default 6.
    pub cim_tx_priority: Priority,
    /// The DSCP of CIMs in IP. Default 48 (CS6), which goes with priority 6.
    pub dscp: Dscp,
    /// min-header-octets: how much of a congesting frame is encapsulated, unless the peer wants more.
    /// 48 to 512; default 48.
    pub min_header_octets: u16,
    /// By port, then traffic class: the numbers of monitored queues that differ from the plan's.
    pub watches: Vec<[Option<Watch>; PRIORITIES]>,
    /// Each port's own addresses, by [`PortId`].
    pub points: Vec<IsolationPoint>,
    /// Peers that are configured; LLDP's CI TLV adds those of other ports.
    pub peers: Vec<(PortId, Peer)>,
    /// What in a CIM is not certain.
    pub dialect: cim::Dialect,
}

/// A congestion isolation point: cip-mac-address, cip-ipv4-address, cip-ipv6-address, cip-cim-port.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct IsolationPoint {
    /// Nothing is the MAC address of the port.
    pub mac: Option<Mac>,
    /// CIMs in IPv4 come from and go to it.
    pub ipv4: Option<Ipv4Addr>,
    /// CIMs in IPv6 come from and go to it.
    pub ipv6: Option<Ipv6Addr>,
    /// The UDP port that CIMs come to. 0 takes none in IP.
    pub cim_port: u16,
}

/// The top-of-rack proxy. Its ports are those of the switch ([`CongestionPlan::ports`]).
#[derive(Clone, PartialEq, Debug)]
pub struct SfcProxyPlan {
    /// sfcmUDPPort: what the egress filter looks for. The same as the point's where there is one.
    pub udp_port: u16,
    /// See [`ProxyPlan`](crate::congestion::proxy::ProxyPlan).
    pub fabric: Senders,
    /// Likewise.
    pub hosts: Senders,
    /// Likewise.
    pub policy: PausePolicy,
    /// Likewise.
    pub cache: Option<CachePlan>,
}

/// Congestion notifications to the sources of congesting RoCEv2 flows, one round trip earlier than those
/// of their destinations.
#[derive(Clone, PartialEq, Debug)]
pub struct FastCnpPlan {
    /// By port, then traffic class: which frames are answered.
    pub detect: Vec<[Option<Detect>; PRIORITIES]>,
    /// The least time between two notifications about one flow. Default 50 us, as DCQCN's.
    pub spacing: Duration,
    /// Notifications about all flows together.
    pub budget: LimitPlan,
    /// The most flows that are kept in mind at a time.
    pub flows: usize,
    /// The queue pairs that notifications go to. A packet names only that of its destination.
    pub source_qp: SourceQp,
    /// The priority that notifications are sent with. Default 6.
    pub priority: Priority,
    /// Their DSCP. Default 48 (CS6), which goes with priority 6.
    pub dscp: Dscp,
}

/// Where the queue pair of a flow's source is known from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SourceQp {
    /// From the acknowledgements and notifications of the other direction that pass through the switch,
    /// between the same two addresses with the same UDP source port. Where several queue pairs share
    /// those none is taken: it would be a guess.
    Learnt,
    /// Configured by address and queue pair of the destination, or learnt.
    Configured(Vec<QueuePairs>),
}

/// The queue pairs of one connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueuePairs {
    /// The destination of the data.
    pub destination: core::net::IpAddr,
    /// Its queue pair, which packets name.
    pub destination_qp: U24,
    /// The queue pair of the source.
    pub source_qp: U24,
}

/// Congestion points of Quantized Congestion Notification.
#[derive(Clone, PartialEq, Debug)]
pub struct QuantizedPlan {
    /// By port, then traffic class.
    pub points: Vec<[Option<PointPlan>; PRIORITIES]>,
    /// The priority of CNMs (cngCnmTransmitPriority). Default 6.
    pub transmit_priority: Priority,
    /// How many octets of a frame's payload a CNM has. 0 to 64; default 64.
    pub msdu_octets: u8,
}
