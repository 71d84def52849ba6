//! What the discovery of one port is told.

use crate::time::Duration;
use crate::units::{Mac, PRIORITIES, PrioritySet};

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

/// The LLDP agent of one port (802.1AB-2016).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LldpPlan {
    /// Whether it sends, receives, or both.
    pub admin: AdminStatus,
    /// Its chassis: the MAC address of the system.
    pub chassis: Mac,
    /// Its port, by interface name; 1 to 255 octets.
    pub port_id: String,
    /// `sysName`, 0 to 255 octets; empty for none.
    pub system_name: String,
    /// `sysDesc`, 0 to 255 octets; empty for none.
    pub system_description: String,
    /// From one LLDPDU to the next (msgTxInterval), 1 to 3600 s.
    pub interval: Duration,
    /// The time to live as a multiple of the interval, plus one second (msgTxHold), 1 to 100.
    pub hold: u8,
    /// From one to the next while a new neighbour is told (msgFastTx), 1 to 3600 s.
    pub fast_interval: Duration,
    /// How many are sent so (txFastInit), 1 to 8.
    pub fast_count: u8,
    /// How many may leave within a second at most (txCreditMax), 1 to 10.
    pub credit: u8,
}

/// A table of enhanced transmission selection (802.1Q 38).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EtsTable {
    /// Priority to traffic class, 0 to 7 each.
    pub class: [u8; PRIORITIES],
    /// Percent by traffic class; those whose algorithm is ETS add up to 100.
    pub bandwidth: [u8; PRIORITIES],
    /// The transmission selection algorithm by traffic class: 0 strict, 1 credit-based shaper, 2 ETS,
    /// 3 ATS, 255 vendor's.
    pub algorithm: [u8; PRIORITIES],
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

/// What an entry of the application priority TLV goes by (802.1Q Table D-9).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Selector {
    /// An EtherType, or 0 for everything that nothing else names.
    EtherType,
    /// A port of TCP or SCTP.
    Tcp,
    /// A port of UDP or DCCP.
    Udp,
    /// A port of any of those.
    AnyPort,
    /// A DSCP.
    Dscp,
}

/// One entry of the application priority TLV.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Application {
    /// The priority that its frames get, 0 to 7.
    pub priority: u8,
    /// What `protocol` is.
    pub selector: Selector,
    /// The EtherType, the port, or the DSCP.
    pub protocol: u16,
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

/// What DCBX tells and takes on one port. Needs an LLDP agent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DcbxPlan {
    /// This port's own address: it decides between two ports that are both willing.
    pub mac: Mac,
    /// ETS, if it is spoken of.
    pub ets: Option<EtsPlan>,
    /// PFC, if it is spoken of.
    pub pfc: Option<DcbxPfcPlan>,
    /// Application priorities; at most 40.
    pub applications: Vec<Application>,
    /// This port's internal delay, which the peer needs to size its headroom from a peer delay (the
    /// informational TLV of the P802.1Qdt proposal), or nothing to say none.
    pub internal_delay: Option<Duration>,
    /// The numbers that no published text fixes.
    pub subtypes: Subtypes,
}
