//! What the discovery of one port is told.

use core::net::Ipv6Addr;

use crate::time::Duration;
use crate::units::{Mac, PRIORITIES, PrioritySet};
pub use crate::wire::dcbx::application::{Application, Selector};
pub use crate::wire::dcbx::ets::EtsTable;
pub use crate::wire::dcbx::isolation::{CongestionIsolation, FamilyWidth};
pub use crate::wire::dcbx::source_flow::SourceFlowControl;
pub use crate::wire::dcbx::topology::{Device, Orientation, Topology};
use crate::wire::sfcm;

/// Whether an LLDP agent sends, receives, or both (802.1AB 9.2.5.1, adminStatus).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AdminStatus {
    /// Both.
    #[default]
    TxRx,
    /// Sends only.
    TxOnly,
    /// Receives only.
    RxOnly,
}

/// What an LLDP agent says that its system is (802.1AB Table 8-4).
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
    /// The same, in the words of Topology Recognition.
    #[must_use]
    pub const fn device(self) -> Device {
        match self {
            Self::Bridge => Device::Bridge,
            Self::Router => Device::Router,
            Self::Station => Device::EndStation,
        }
    }
}

/// The LLDP agent of one port (802.1AB-2016).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LldpPlan {
    /// Whether it sends, receives, or both.
    pub admin: AdminStatus,
    /// The address that its frames come from: the port's own.
    pub mac: Mac,
    /// Its chassis: the MAC address of the system.
    pub chassis: Mac,
    /// Its port, by interface name; 1 to 255 octets.
    pub port_id: String,
    /// `sysName`, 0 to 255 octets; empty for none.
    pub system_name: String,
    /// `sysDesc`, 0 to 255 octets; empty for none.
    pub system_description: String,
    /// What its system is.
    pub role: Role,
    /// From one LLDPDU to the next (msgTxInterval), 1 to 3600 whole seconds.
    pub interval: Duration,
    /// The time to live as a multiple of the interval, plus one second (msgTxHold), 1 to 100.
    pub hold: u8,
    /// From one to the next while a new neighbour is told (msgFastTx), 1 to 3600 whole
    /// seconds.
    pub fast_interval: Duration,
    /// How many are sent so (txFastInit), 1 to 8.
    pub fast_count: u8,
    /// How many may leave within a second at most (txCreditMax), 1 to 10.
    pub credit: u8,
}

impl LldpPlan {
    /// An agent with the standard's defaults (802.1AB-2016 9.2.5) that says of its system no more
    /// than what must be said.
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

/// ETS as this port offers it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EtsPlan {
    /// Whether the peer's recommendation is taken.
    pub willing: bool,
    /// Whether credit-based shaping is there.
    pub cbs: bool,
    /// How many traffic classes there are, 1 to 8.
    pub classes: u8,
    /// What is in use here.
    pub local: EtsTable,
    /// What is recommended to the peer, if anything.
    pub recommended: Option<EtsTable>,
}

/// The form of the PFC configuration TLV.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PfcForm {
    /// 6 octets, as published in 802.1Q.
    #[default]
    Published,
    /// 7 octets, as the P802.1Qdt proposal has it: with what this port can measure by.
    Proposed {
        /// The request/response measurement.
        round_trip: bool,
        /// PTP's peer delay.
        ptp: bool,
        /// Whether PFC frames can be protected by MACsec.
        macsec: bool,
    },
}

/// PFC as this port offers it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DcbxPfcPlan {
    /// Whether the peer's setting is taken.
    pub willing: bool,
    /// MBC: set when PFC frames can NOT bypass MACsec.
    pub macsec_bound: bool,
    /// How many traffic classes may have PFC at a time, 0 (which means 8) to 8.
    pub capability: u8,
    /// The priorities that have PFC here.
    pub enable: PrioritySet,
    /// The form of the TLV.
    pub form: PfcForm,
}

/// Whose PFC setting holds where both ends are willing (802.1Q 38.4.2). The standard compares the
/// addresses of the two ports; which way round was not found in any text at hand.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Precedence {
    /// That of the port with the higher address: what openlldp does, the one other implementation
    /// that could be looked at. A peer that compares the other way ends with the two settings
    /// exchanged.
    #[default]
    HigherAddress,
    /// That of the port with the lower address.
    LowerAddress,
}

/// Subtypes under 00-80-C2 that no published text fixes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Subtypes {
    /// The PFC informational TLV of the P802.1Qdt proposal.
    pub pfc_information: u8,
    /// The congestion isolation TLV of 802.1Qcz, whose number was not found.
    pub congestion_isolation: u8,
    /// The topology recognition TLV of 802.1Qcz, whose number was not found.
    pub topology: u8,
}

impl Subtypes {
    /// Numbers above those that 802.1Q-2022 and its amendments are known to use. A choice.
    pub const DEFAULT: Self =
        Self { pfc_information: 0xe0, congestion_isolation: 0xe1, topology: 0xe2 };
}

/// What a port says of its place in the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TopologyPlan {
    /// This, whatever its neighbours say.
    Fixed(Topology),
    /// What Topology Recognition finds for a system of this kind. An end station finds it by itself;
    /// the ports of a switch are told (see [`Recognition`](super::Recognition)).
    Recognized(Device),
}

/// What DCBX tells and takes on one port. Needs an LLDP agent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DcbxPlan {
    /// This port's own address, which LLDPDUs come from: it decides between two ports that are both
    /// willing.
    pub mac: Mac,
    /// ETS, if it is spoken of.
    pub ets: Option<EtsPlan>,
    /// PFC, if it is spoken of.
    pub pfc: Option<DcbxPfcPlan>,
    /// Application priorities; at most 168, and the
    /// whole frame has at most [`super::FRAME_MAX`] octets.
    pub applications: Vec<Application>,
    /// This port's internal delay, which the peer needs to size its headroom from a peer delay (the
    /// informational TLV of the P802.1Qdt proposal), or nothing to say none.
    pub internal_delay: Option<Duration>,
    /// Congestion isolation, if it is spoken of.
    pub isolation: Option<CongestionIsolation>,
    /// This port's place in the network, if it is spoken of.
    pub topology: Option<TopologyPlan>,
    /// What this port's system does about source flow control, if it is spoken of.
    pub sfc: Option<SourceFlowControl>,
    /// Whose PFC setting holds where both ends are willing.
    pub precedence: Precedence,
    /// The numbers that no published text fixes.
    pub subtypes: Subtypes,
}

impl DcbxPlan {
    /// DCBX that says nothing yet, on the port with this address.
    #[must_use]
    pub const fn new(mac: Mac) -> Self {
        Self {
            mac,
            ets: None,
            pfc: None,
            applications: Vec::new(),
            internal_delay: None,
            isolation: None,
            topology: None,
            sfc: None,
            precedence: Precedence::HigherAddress,
            subtypes: Subtypes::DEFAULT,
        }
    }

    /// The same, with the longest form of what is told beside what is negotiated, where that says
    /// nothing yet.
    #[must_use]
    pub fn with_all(mut self) -> Self {
        let udp_port = sfcm::PORT_DEFAULT;
        self.topology = self.topology.or(Some(TopologyPlan::Fixed(Topology::default())));
        self.isolation = self.isolation.or(Some(CongestionIsolation {
            queue_map: [0; PRIORITIES],
            encapsulation: 0,
            mac: self.mac,
            udp_port: 0,
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
