//! Congestion functions of a switch: isolation of congesting flows, and messages that pause or slow
//! their sources.

use core::net::{Ipv4Addr, Ipv6Addr};

use congestion::isolation::{IsolationPlan, Peer, Watch};
use congestion::proxy::{CachePlan, PausePolicy, Senders};
use congestion::qcn::PointPlan;
use congestion::sfc::{Monitor, SfcPlan};
use congestion::{Detect, LimitPlan};
use discovery::{Device, Topology};
use ground::named;
use ground::time::Duration;
use ground::units::{Dscp, Mac, PRIORITIES, PortId, Priority};
use headroom::measure::InitiatePlan;
use link::{AgentsPlan, Method, Preference, Statistic};
use pfc::WatchdogPlan;
use wire::cim;
use wire::roce::U24;
use wire::sfcm::Locator;

/// All congestion functions; all off by default.
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
    /// Storm watchdogs by [`PortId`], `None` where a port has none; those of
    /// [`PortPlan::watchdog`](super::PortPlan::watchdog), which has the queues. `None` if no port has
    /// one.
    pub watchdog: Option<Vec<Option<WatchdogPlan>>>,
    /// Link measurements by [`PortId`], `None` where a port initiates none; those of
    /// [`PortPlan::agents`](super::PortPlan::agents). `None` if no port initiates any.
    pub measurement: Option<Vec<Option<PortMeasurement>>>,
    /// Device at the other end of each port, by [`PortId`]; [`Attached::default`] for missing
    /// entries.
    pub ports: Vec<Attached>,
}

/// Parameters of a port's link measurement that may change while the switch runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PortMeasurement {
    /// Requests and responses, if the port initiates them.
    pub initiate: Option<InitiatePlan>,
    /// Selection for automatic headroom, if the port has it.
    pub auto: Option<MeasurementChoice>,
}

/// Selection of the measurement, and of the figure in it, from which headroom is calculated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MeasurementChoice {
    pub methods: Preference,
    pub statistic: Statistic,
    /// True if the port can measure by PTP's peer delay.
    pub ptp: bool,
}

impl PortMeasurement {
    /// Returns the parameters in a port's plan; `None` if the port initiates no measurement.
    pub fn of(agents: &AgentsPlan) -> Option<Self> {
        let initiate = agents.measure.as_ref().and_then(|measure| measure.initiate);
        let ptp = agents.peer_delay.as_ref().is_some_and(|ptp| ptp.interval.is_some());
        let auto = agents.auto.as_ref().map(|auto| MeasurementChoice {
            methods: auto.methods,
            statistic: auto.statistic,
            ptp,
        });
        (initiate.is_some() || auto.is_some()).then_some(Self { initiate, auto })
    }

    /// Returns true if the port can measure by a method.
    pub fn can(&self, method: Method) -> bool {
        match method {
            Method::RoundTrip => self.initiate.is_some(),
            Method::PeerDelay => self.auto.is_some_and(|auto| auto.ptp),
        }
    }
}

impl CongestionPlan {
    /// Returns the parameters of a port's link measurement, if the port initiates any.
    pub fn port_measurement(&self, port: PortId) -> Option<PortMeasurement> {
        *self.measurement.as_ref()?.get(port.index())?
    }

    /// True if the storm watchdog of a port runs, where the port has one.
    pub fn watches(&self, port: PortId) -> bool {
        self.port_watchdog(port).is_none_or(|watchdog| watchdog.enabled)
    }

    /// Returns the parameters of a port's storm watchdog, where the port has one.
    pub fn port_watchdog(&self, port: PortId) -> Option<WatchdogPlan> {
        *self.watchdog.as_ref()?.get(port.index())?
    }

    /// Returns the configured device at the other end of a port.
    pub fn attached(&self, port: PortId) -> Attached {
        self.ports.get(port.index()).copied().unwrap_or_default()
    }

    /// Returns the congestion locator of a port before its neighbour is known: incast next to a
    /// host.
    pub fn locator(&self, port: PortId) -> Locator {
        let attached = self.attached(port);
        attached.locator.unwrap_or(match attached.kind {
            AttachedKind::Switch => Locator::InNetwork,
            AttachedKind::Host | AttachedKind::SfcHost | AttachedKind::Discovered => {
                Locator::Incast
            }
        })
    }

    /// Returns the congestion locator of a port by its neighbour's advertised topology, if any. A
    /// configured locator takes precedence.
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

/// Device at the other end of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Attached {
    pub kind: AttachedKind,
    /// Congestion locator of this port. `None`: derived from `kind`, and from Topology Recognition.
    pub locator: Option<Locator>,
}

named! {
    /// Type of the link partner of a port.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum AttachedKind {
        /// A switch: source flow control messages are forwarded to it.
        #[default]
        Switch = "switch",
        /// A host that supports PFC only: the proxy acts for it.
        Host = "host",
        /// A host that obeys source flow control messages itself.
        SfcHost = "sfc_host",
        /// A host that advertises in DCBX if it obeys them; until then it is treated as one that does
        /// not.
        Discovered = "auto",
    }
}

/// Source flow control points of all ports.
#[derive(Clone, PartialEq, Debug)]
pub struct SourceFlowControlPlan {
    /// Objects of the machine: sfcMasterEnable, sfcmUDPPort, sfcMaxSFCM, sfcMonitoredQueues,
    /// sfcMaxFlowLife, and those that the source document leaves open.
    pub point: SfcPlan,
    /// sfcmTransmitPriority. Default 7.
    pub transmit_priority: Priority,
    /// DSCP of messages; `None` is the class selector of their priority.
    pub dscp: Option<Dscp>,
    /// Form in which a message identifies its flow.
    pub form: SfcmForm,
    /// sfcMinHeaderOctets: bytes of the congesting frame in messages of the encapsulated form. 64 to
    /// 512; default 64. A shorter frame is quoted whole.
    pub min_header_octets: u16,
    /// Handling of messages whose destination is not in the address table.
    pub unknown: UnknownHost,
    /// Source address of messages.
    pub from: SfcmFrom,
    /// sfcmMacAddress; `None` is the MAC address of the port.
    pub mac: Option<Mac>,
    /// sfcmIPv4Address and sfcmIPv6Address: used if `from` is `Own`.
    pub ipv4: Option<Ipv4Addr>,
    /// See `ipv4`.
    pub ipv6: Option<Ipv6Addr>,
    /// By port, then traffic class: the congestion condition of each monitored queue.
    pub monitors: Vec<[Option<Monitor>; PRIORITIES]>,
}

named! {
    /// Identification of the flow in a message.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum SfcmForm {
        /// By addresses, protocol and ports.
        #[default]
        Simplified = "simplified",
        /// By the start of the frame.
        Encapsulated = "encapsulated",
    }
}

named! {
    /// Handling of a message whose destination is not in the address table. The source document injects
    /// messages into the forwarding process (8.6.6), which floods such frames.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum UnknownHost {
        /// It is dropped. The default: a host that sends is in the table, and a flooded message could
        /// pause others.
        #[default]
        Drop = "drop",
        /// It is flooded in its VLAN, except to hosts that a proxy acts for.
        Flood = "flood",
    }
}

named! {
    /// Source IP address of messages.
    // The source document swaps the addresses of the congesting frame, but also defines addresses of
    // the point.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum SfcmFrom {
        /// The flow's destination.
        #[default]
        Swapped = "swapped",
        /// The switch's address of the same IP version; without one, the flow's destination.
        Own = "own",
    }
}

/// Congestion Isolation of all ports.
#[derive(Clone, PartialEq, Debug)]
pub struct CongestionIsolationPlan {
    /// Objects of the machine.
    pub machine: IsolationPlan,
    /// ci-cim-tx-priority. Default 6.
    pub cim_tx_priority: Priority,
    /// DSCP of CIMs in IP; `None` is the class selector of their priority.
    pub dscp: Option<Dscp>,
    /// min-header-octets: bytes of a congesting frame to encapsulate, unless the peer requires
    /// more. 48 to 512; default 48.
    pub min_header_octets: u16,
    /// By port, then traffic class: parameters of monitored queues that differ from the plan's.
    pub watches: Vec<[Option<Watch>; PRIORITIES]>,
    /// Addresses of each port's isolation point, by [`PortId`].
    pub points: Vec<IsolationPoint>,
    /// Configured peers; LLDP's CI TLV adds those of other ports.
    pub peers: Vec<(PortId, Peer)>,
    /// Interpretation of CIM fields on which the standard is ambiguous.
    pub dialect: cim::Dialect,
}

/// A congestion isolation point: cip-mac-address, cip-ipv4-address, cip-ipv6-address, cip-cim-port.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct IsolationPoint<M = Option<Mac>> {
    /// `None` is the MAC address of the port.
    pub mac: M,
    /// Source and destination of CIMs in IPv4.
    pub ipv4: Option<Ipv4Addr>,
    /// Source and destination of CIMs in IPv6.
    pub ipv6: Option<Ipv6Addr>,
    /// UDP port for received CIMs. 0 accepts none in IP.
    pub cim_port: u16,
}

/// The top-of-rack proxy. Its ports are those of the switch ([`CongestionPlan::ports`]).
#[derive(Clone, PartialEq, Debug)]
pub struct SfcProxyPlan {
    /// sfcmUDPPort, matched by the egress filter. The same as the point's if there is one.
    pub udp_port: u16,
    /// Handling of received messages whose destination is not in the address table.
    pub unknown: UnknownHost,
    /// sfcMaxFlowLife: lifetime of an entry of the table of flows that messages named, from the
    /// first message on. Not zero.
    pub max_flow_life: Duration,
    /// See [`ProxyPlan`](congestion::proxy::ProxyPlan).
    pub fabric: Senders,
    /// Likewise.
    pub hosts: Senders,
    /// Likewise.
    pub policy: PausePolicy,
    /// Likewise.
    pub cache: Option<CachePlan>,
}

/// Congestion notifications to the sources of congesting RoCEv2 flows, one round trip earlier than
/// those of their destinations.
#[derive(Clone, PartialEq, Debug)]
pub struct FastCnpPlan {
    /// By port, then traffic class: the condition for a notification.
    pub detect: Vec<[Option<Detect>; PRIORITIES]>,
    /// Minimum time between two notifications about one flow. Default 50 us, as DCQCN's.
    pub spacing: Duration,
    /// Rate limit of notifications about all flows together.
    pub budget: LimitPlan,
    /// Maximum number of flows in the table.
    pub flows: usize,
    /// Origin of the queue pairs that notifications go to. A packet names only its destination's.
    pub source_qp: SourceQp,
    /// Priority of notifications. Default 6.
    pub priority: Priority,
    /// DSCP of notifications; `None` is the class selector of their priority.
    pub dscp: Option<Dscp>,
}

/// DSCP of messages of a section: the default follows their priority, whenever that is written.
macro_rules! dscp_of {
    ($($plan:ident: $priority:ident,)+) => {$(
        impl $plan {
            /// Returns the DSCP of messages.
            pub fn dscp(&self) -> Dscp {
                self.dscp.unwrap_or_else(|| Dscp::selector(self.$priority))
            }

            /// Sets the DSCP of messages. The class selector of their priority goes on following it.
            pub fn set_dscp(&mut self, dscp: Dscp) {
                self.dscp = (dscp != Dscp::selector(self.$priority)).then_some(dscp);
            }
        }
    )+};
}

dscp_of! {
    SourceFlowControlPlan: transmit_priority,
    CongestionIsolationPlan: cim_tx_priority,
    FastCnpPlan: priority,
}

/// Origin of the queue pair of a flow's source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SourceQp {
    /// From acknowledgements and notifications of the other direction that pass through the switch,
    /// between the same two addresses with the same UDP source port. If several queue pairs share
    /// those, none is used, since the choice would be a guess.
    Learnt,
    /// Configured by address and queue pair of the destination, or learnt.
    Configured(Vec<QueuePairs>),
}

/// The queue pairs of one connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueuePairs {
    pub destination: core::net::IpAddr,
    /// The destination's queue pair, which packets name.
    pub destination_qp: U24,
    pub source_qp: U24,
}

/// Congestion points of Quantized Congestion Notification.
#[derive(Clone, PartialEq, Debug)]
pub struct QuantizedPlan {
    /// By port, then traffic class.
    pub points: Vec<[Option<PointPlan>; PRIORITIES]>,
    /// Priority of CNMs (cngCnmTransmitPriority). Default 6.
    pub transmit_priority: Priority,
    /// Bytes of a frame's payload that a CNM quotes. 0 to 64; default 64.
    pub msdu_octets: u8,
}
