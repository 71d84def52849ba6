//! Advertisements of a port to its neighbour: LLDP, and DCBX in it. Two of its TLVs are not negotiated: the
//! port's place in the network, and source flow control.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Range;
use crate::changes;
use crate::quantity::Span;
use ::file::word_or;
use discovery::{Device, FamilyWidth, LldpPlan, Orientation, Precedence};
use ground::time::Duration;

/// Range of the intervals of LLDP (802.1AB-2016 9.2.5).
const LLDP_INTERVALS: RangeInclusive<Duration> =
    Duration::from_secs(1)..=Duration::from_secs(3_600);

changes! {
/// LLDP of the port (IEEE 802.1AB).
pub struct Lldp of LldpPlan {
    /// Direction: sends and receives (`tx_rx`), only sends (`tx`), only receives (`rx`), or is
    /// disabled (`off`, to override `defaults`). Default: `tx_rx`.
    pub admin: Option<LldpAdmin>,
    /// Time between LLDPDUs, 1 to 3600 whole seconds. Default: `30s` (802.1AB 9.2.5.7).
    pub interval: Option<Span> => LLDP_INTERVALS,
    /// Lifetime of the advertised information in intervals, 1 to 100. Default: `4`.
    pub hold: Option<u8> => 1..=100,
    /// Time between LLDPDUs after a new neighbour is detected, 1 to 3600 whole seconds. Default:
    /// `1s`.
    pub fast_interval: Option<Span> => LLDP_INTERVALS,
    /// Number of LLDPDUs at the fast interval, 1 to 8. Default: `4`.
    pub fast_count: Option<u8> => 1..=8,
    /// Largest number of LLDPDUs sent back to back (txCreditMax), 1 to 10. Default: `5`.
    pub credit: Option<u8> => 1..=10,
    /// System name, up to 255 bytes. Default: the switch's (the host's) name.
    pub system_name: Option<String>,
    /// System description, up to 255 bytes. Default: this program's name and version.
    pub system_description: Option<String>,
    /// Port identifier, 1 to 255 bytes. Default: the port's name in this file.
    pub port_id: Option<String>,
}
}

/// Direction of LLDP.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LldpAdmin {
    /// Sends and receives.
    #[default]
    TxRx,
    /// Only sends.
    Tx,
    /// Only receives.
    Rx,
    /// Disabled. (YAML 1.1 reads the word as a boolean.)
    #[serde(alias = "false")]
    Off,
}

/// DCBX (802.1Q clause 38): the advertised and the accepted settings. It enables LLDP.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dcbx {
    /// PFC. The priorities are those of the port's own `pfc`. A port with `pause` advertises none.
    #[serde(default)]
    pub pfc: DcbxPfc,
    /// ETS. Classes and shares are those of the port's own queues.
    #[serde(default)]
    pub ets: DcbxEts,
    /// Application priority table, at most 168 entries. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub applications: Vec<DcbxApplication>,
    /// Time from the last bit of a received pause to the end of transmission, plus the delay of
    /// this port's interface (transmit and receive) that its timestamps do not include; up to 1 s.
    /// The peer needs it to calculate headroom from a peer delay. Default: the link's `poll_gap`,
    /// the time of the frames that the device still sends, and for a NIC the PHY delay that IEEE
    /// 802.3 allows; in a lab the link's `response`.
    pub internal_delay: Option<Span>,
    /// End whose PFC setting is used if both ends are willing: the port with the `higher_address`
    /// or the `lower_address`. Default: `higher_address`, as in openlldp; both ends must be set
    /// alike.
    pub precedence: Option<Precedence>,
    /// Congestion isolation TLV (802.1Qcz). Default: not sent.
    pub isolation: Option<DcbxIsolation>,
    /// Place of the port in the network (802.1Qcz): `auto` for the result of Topology Recognition,
    /// or fixed values. Default: not sent; `auto` in systems with source flow control or congestion
    /// isolation.
    pub topology: Option<DcbxPlace>,
    /// Source flow control TLV. Default: the configuration of the switch or host; not sent if that
    /// has none.
    pub sfc: Option<DcbxSfc>,
    /// Subtypes of TLVs that no published text defines. Both ends must use the same.
    #[serde(default)]
    pub subtypes: DcbxSubtypes,
}

/// PFC settings in DCBX.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DcbxPfc {
    /// True to use the peer's priorities instead of the port's own. Default: `false`; the hosts of
    /// a lab are willing.
    pub willing: Option<bool>,
    /// Largest number of traffic classes with PFC at the same time, 1 to 8. Default: `8`.
    pub capability: Option<u8>,
    /// Form of the TLV: `published` with six octets, or `proposed` with the seven of the P802.1Qdt
    /// proposal, which add this port's measurement capabilities. Default: `published`, which all
    /// peers support.
    pub form: Option<DcbxPfcForm>,
    /// True if PFC frames can bypass MACsec. Default: `true`, but not where `macsec.accept_pfc` is
    /// `protected`.
    pub macsec_bypass: Option<bool>,
    /// True if PFC frames can be protected by MACsec; sent in the proposed form only. Default:
    /// `false`, but `true` if the port's `macsec` accepts protected PFC frames.
    pub macsec: Option<bool>,
}

/// Form of the PFC configuration TLV.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DcbxPfcForm {
    /// As in 802.1Q.
    #[default]
    Published,
    /// As in the P802.1Qdt proposal.
    Proposed,
}

/// ETS settings in DCBX.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DcbxEts {
    /// True to use the peer's recommendation. Default: `false`; the hosts of a lab are willing.
    pub willing: Option<bool>,
    /// Recommendation to the peer: the port's `own` table, `none`, or another table. Default:
    /// `own`, so that both ends share the link in the same way.
    pub recommend: Option<Recommend>,
}

/// ETS recommendation to the peer.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Recommend {
    /// The port's own table.
    #[default]
    Own,
    /// No recommendation.
    None,
    /// Another table.
    Table(RecommendedTable),
}

/// An ETS table.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecommendedTable {
    /// Priority to traffic class, `{0-2: 0, 3: 1}`, 0 to 7 each. Default: the same number.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub classes: BTreeMap<Range, u8>,
    /// Share of each traffic class in percent, 100 in total; `{0-1: 25, 3: 50}` gives 25 to each of
    /// 0 and 1. Default: none; classes without a share are strict.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub bandwidth: BTreeMap<Range, u8>,
}

/// An entry of the application priority table: a priority, and exactly one selector.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DcbxApplication {
    /// Priority, 0 to 7.
    pub priority: u8,
    /// EtherType, 0x600 to 0xffff, or 0 for all frames without another entry.
    pub ethertype: Option<u16>,
    /// Port of TCP or SCTP.
    pub tcp: Option<u16>,
    /// Port of UDP or DCCP; RoCEv2 uses 4791.
    pub udp: Option<u16>,
    /// Port of any of these four protocols.
    pub any_port: Option<u16>,
    /// DSCP of IP packets, 0 to 63.
    pub dscp: Option<u16>,
}

/// Congestion isolation TLV.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DcbxIsolation {
    /// Queue map by traffic class, `{3: -5, 4: 4}`, encoded as in the standard: -n moves the
    /// congesting flows of the class to class n - 1, n makes the class the target of class n - 1;
    /// -8 to 8. Default: `0`, not mapped.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub queue_map: BTreeMap<Range, i8>,
    /// Octets of a frame that a message encapsulates, 0 to 512. Default: `48`, the least that the
    /// standard requires of a bridge.
    pub encapsulation: Option<u16>,
    /// IPv4 or IPv6 address for messages over UDP. Default: none; messages use Ethernet.
    pub address: Option<String>,
    /// UDP port for messages over UDP. Default: `0`, for messages over Ethernet.
    pub udp_port: Option<u16>,
    /// Length of the address family field in octets, which no available text defines: `one` or
    /// `two`. Default: `one`.
    pub family: Option<FamilyWidth>,
}

/// Subtypes under the OUI 00-80-C2 that no published text defines, 0 to 255.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DcbxSubtypes {
    /// PFC informational TLV of the P802.1Qdt proposal. Default: `224`.
    pub pfc_information: Option<u8>,
    /// Congestion isolation TLV of 802.1Qcz. Default: `225`.
    pub congestion_isolation: Option<u8>,
    /// Topology recognition TLV of 802.1Qcz. Default: `226`.
    pub topology: Option<u8>,
}

word_or! {
    Recommend "Recommend" enum "own" Own | "none" None or map RecommendedTable as Table:
        "`own`, `none`, or a mapping such as `{bandwidth: {0-1: 50}}`";
}

/// Place of the port in the network.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum DcbxPlace {
    /// The result of Topology Recognition.
    #[default]
    Auto,
    /// Fixed values.
    Fixed(DcbxTopology),
}

/// Place of a port in the network.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DcbxTopology {
    /// Type of the system: `end_station`, `bridge`, `router` or `unknown`. Default: `unknown`.
    pub device: Option<Device>,
    /// Level of the system, 0 at the edge, at most 254. Default: unknown.
    pub level: Option<u8>,
    /// Direction of the port: `uplink`, `downlink`, `crosslink` or `unknown`. Default: `unknown`.
    pub orientation: Option<Orientation>,
}

/// Source flow control (P802.1Qdw) capabilities, in a TLV of this project.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DcbxSfc {
    /// True if the system sends messages about flows that congest it. Default: `false`.
    pub point: Option<bool>,
    /// True if it converts messages to PFC for hosts that do not obey them. Default: `false`.
    pub proxy: Option<bool>,
    /// Scope of the pause that a message to it causes: `nothing`, the `flow` of the message, or
    /// that flow's `priority`. Default: `nothing`.
    pub obeys: Option<DcbxObeys>,
    /// sfcmUDPPort, the UDP port at which it expects messages: 49152 to 65535. Default: `58622`.
    pub udp_port: Option<u16>,
}

/// Scope of the pause that a source flow control message causes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DcbxObeys {
    /// No pause.
    #[default]
    Nothing,
    /// The flow of the message.
    Flow,
    /// That flow's priority.
    Priority,
}

word_or! {
    DcbxPlace "DcbxPlace" enum "auto" Auto or map DcbxTopology as Fixed:
        "`auto`, or a mapping such as `{device: bridge, level: 1}`";
}
