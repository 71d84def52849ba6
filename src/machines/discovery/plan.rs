//! Configuration of the discovery of one port.

use core::net::Ipv6Addr;

use ground::named;
use ground::time::Duration;
use ground::units::{Mac, PRIORITIES, PrioritySet};
pub use wire::dcbx::application::{Application, Selector};
pub use wire::dcbx::ets::EtsTable;
pub use wire::dcbx::isolation::{CongestionIsolation, FamilyWidth};
pub use wire::dcbx::source_flow::SourceFlowControl;
pub use wire::dcbx::topology::{Device, Orientation, Topology};
use wire::headroom::Adjustment;
use wire::sfcm;

/// Administrative status of an LLDP agent (802.1AB 9.2.5.1, adminStatus).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AdminStatus {
    /// Transmits and receives.
    #[default]
    TxRx,
    /// Transmits only.
    TxOnly,
    /// Receives only.
    RxOnly,
}

/// System capability that an LLDP agent advertises (802.1AB Table 8-4).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Role {
    /// A bridge.
    #[default]
    Bridge,
    /// A bridge that also routes.
    Router,
    /// An end station.
    Station,
}

impl Role {
    /// Returns the corresponding device type of Topology Recognition.
    #[must_use]
    pub const fn device(self) -> Device {
        match self {
            Self::Bridge => Device::Bridge,
            Self::Router => Device::Router,
            Self::Station => Device::EndStation,
        }
    }
}

/// Configuration of the LLDP agent of one port (802.1AB-2016).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LldpPlan {
    /// Administrative status.
    pub admin: AdminStatus,
    /// Source address of its frames: the port's address.
    pub mac: Mac,
    /// Chassis ID: the MAC address of the system.
    pub chassis: Mac,
    /// Port ID: the interface name; 1 to 255 bytes.
    pub port_id: String,
    /// `sysName`, 0 to 255 bytes; empty for none.
    pub system_name: String,
    /// `sysDesc`, 0 to 255 bytes; empty for none.
    pub system_description: String,
    /// System capability.
    pub role: Role,
    /// Interval between LLDPDUs (msgTxInterval), 1 to 3600 whole seconds.
    pub interval: Duration,
    /// Time to live as a multiple of the interval, plus one second (msgTxHold), 1 to 100.
    pub hold: u8,
    /// Interval between LLDPDUs after a new neighbour is found (msgFastTx), 1 to 3600 whole
    /// seconds.
    pub fast_interval: Duration,
    /// Number of LLDPDUs at that interval (txFastInit), 1 to 8.
    pub fast_count: u8,
    /// Maximum number of LLDPDUs per second (txCreditMax), 1 to 10.
    pub credit: u8,
}

impl LldpPlan {
    /// Creates an agent with the standard's defaults (802.1AB-2016 9.2.5) that sends only the
    /// mandatory information about its system.
    #[must_use]
    pub fn new(mac: Mac, chassis: Mac, port_id: impl Into<String>) -> Self {
        Self {
            admin: AdminStatus::TxRx,
            mac,
            chassis,
            port_id: port_id.into(),
            system_name: String::new(),
            system_description: String::new(),
            role: Role::Bridge,
            interval: Duration::from_secs(30),
            hold: 4,
            fast_interval: Duration::from_secs(1),
            fast_count: 4,
            credit: 5,
        }
    }
}

/// ETS settings that this port advertises.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EtsPlan {
    /// True to accept the peer's recommendation.
    pub willing: bool,
    /// True if credit-based shaping is supported.
    pub cbs: bool,
    /// Number of traffic classes, 1 to 8.
    pub classes: u8,
    /// Local ETS table.
    pub local: EtsTable,
    /// ETS table recommended to the peer, if any.
    pub recommended: Option<EtsTable>,
}

/// Format of the PFC configuration TLV.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PfcForm {
    /// 6 octets, as published in 802.1Q.
    #[default]
    Published,
    /// 7 octets, with the supported measurement methods of the P802.1Qdt proposal.
    Proposed {
        /// The request/response measurement.
        round_trip: bool,
        /// PTP's peer delay.
        ptp: bool,
        /// True if MACsec can protect PFC frames.
        macsec: bool,
    },
}

/// PFC settings that this port advertises.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DcbxPfcPlan {
    /// True to accept the peer's setting.
    pub willing: bool,
    /// MBC: set when PFC frames can NOT bypass MACsec.
    pub macsec_bound: bool,
    /// Maximum number of traffic classes with PFC, 0 (which means 8) to 8.
    pub capability: u8,
    /// Priorities with PFC.
    pub enable: PrioritySet,
    /// Format of the TLV.
    pub form: PfcForm,
}

named! {
    /// Precedence of PFC settings if both ends are willing (802.1Q 38.4.2). The standard compares the
    /// addresses of the two ports; the direction was not found in any available text.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum Precedence {
        /// The port with the higher address wins: as in openlldp, the only other implementation that
        /// was available. With a peer that compares the other way both ports adopt each other's
        /// setting.
        #[default]
        HigherAddress = "higher_address",
        /// The port with the lower address wins.
        LowerAddress = "lower_address",
    }
}

/// Subtypes under 00-80-C2 without a published number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Subtypes {
    /// The PFC informational TLV of the P802.1Qdt proposal.
    pub pfc_information: u8,
    /// The congestion isolation TLV of 802.1Qcz.
    pub congestion_isolation: u8,
    /// The topology recognition TLV of 802.1Qcz.
    pub topology: u8,
}

impl Subtypes {
    /// Numbers above those that 802.1Q-2022 and its amendments are known to use. Our choice.
    pub const DEFAULT: Self =
        Self { pfc_information: 0xe0, congestion_isolation: 0xe1, topology: 0xe2 };
}

/// Topology that a port advertises.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TopologyPlan {
    /// Fixed, independent of its neighbours.
    Fixed(Topology),
    /// Determined by Topology Recognition for a system of this type. An end station determines it
    /// itself; the ports of a switch are set by it (see [`Recognition`](super::Recognition)).
    Recognized(Device),
}

/// DCBX configuration of one port. Needs an LLDP agent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DcbxPlan {
    /// Source address of this port's LLDPDUs: it decides between two willing ports.
    pub mac: Mac,
    /// ETS settings, if advertised.
    pub ets: Option<EtsPlan>,
    /// PFC settings, if advertised.
    pub pfc: Option<DcbxPfcPlan>,
    /// True for a port without data: it advertises the priorities of its peer, so that a willing peer keeps
    /// its own setting.
    pub follows_pfc: bool,
    /// Application priorities; at most 168, and the whole frame has at most [`super::FRAME_MAX`]
    /// bytes.
    pub applications: Vec<Application>,
    /// Internal delay of this port, which the peer needs to size its headroom from a peer delay
    /// (the informational TLV of the P802.1Qdt proposal); `None` to omit it.
    pub internal_delay: Option<Duration>,
    /// Reaction of this port to a pause from above the MAC, with its adjustment, for the peer's
    /// measurement of the round trip; sent with the internal delay only.
    pub compensation: Option<Adjustment>,
    /// Congestion Isolation settings, if advertised.
    pub isolation: Option<CongestionIsolation>,
    /// Topology, if advertised.
    pub topology: Option<TopologyPlan>,
    /// Source Flow Control settings, if advertised.
    pub sfc: Option<SourceFlowControl>,
    /// Precedence of PFC settings if both ends are willing.
    pub precedence: Precedence,
    /// Subtypes without a published number.
    pub subtypes: Subtypes,
}

impl DcbxPlan {
    /// Creates a configuration without TLVs, for the port with this address.
    #[must_use]
    pub const fn new(mac: Mac) -> Self {
        Self {
            mac,
            ets: None,
            pfc: None,
            follows_pfc: false,
            applications: Vec::new(),
            internal_delay: None,
            compensation: None,
            isolation: None,
            topology: None,
            sfc: None,
            precedence: Precedence::HigherAddress,
            subtypes: Subtypes::DEFAULT,
        }
    }

    /// Returns the configuration with the longest form of the informational TLVs that are not yet
    /// set.
    #[must_use]
    pub fn with_all(mut self) -> Self {
        let udp_port = sfcm::PORT_DEFAULT;
        self.topology = self.topology.or(Some(TopologyPlan::Fixed(Topology::default())));
        self.isolation = self.isolation.or(Some(CongestionIsolation {
            queue_map: [0; PRIORITIES],
            encapsulation: 0,
            mac: self.mac,
            udp_port: 0,
            // The longest form of the TLV has an IPv6 address.
            address: Some(Ipv6Addr::UNSPECIFIED.into()),
            family: FamilyWidth::One,
        }));
        self.sfc = self.sfc.or(Some(SourceFlowControl {
            point: false,
            proxy: false,
            by_flow: false,
            by_priority: false,
            udp_port,
        }));
        self
    }
}
