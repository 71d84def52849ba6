//! What a port says of itself to its neighbour: LLDP, and DCBX in it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::{DcbxPlace, DcbxSfc, Range};
use crate::config::quantity::Span;

/// The LLDP agent of the port (IEEE 802.1AB).
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lldp {
    /// Whether it sends and receives (`tx_rx`), only one of both (`tx`, `rx`), or neither (`off`,
    /// where `defaults` have it on). Default: `tx_rx`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admin: Option<AdminName>,
    /// From one LLDPDU to the next, 1 to 3600 whole seconds. Default: `30s` (802.1AB 9.2.5.7).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Span>,
    /// How many intervals what it says is good for, 1 to 100. Default: `4`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold: Option<u8>,
    /// From one to the next while a new neighbour is told, 1 to 3600 whole seconds. Default: `1s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fast_interval: Option<Span>,
    /// How many a new neighbour is told so, 1 to 8. Default: `4`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fast_count: Option<u8>,
    /// How many may leave within a second, 1 to 10. Default: `5`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credit: Option<u8>,
    /// The name of the system, up to 255 octets. Default: the switch's (the host's).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_name: Option<String>,
    /// What the system is, up to 255 octets. Default: this program's name and version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_description: Option<String>,
    /// The name of the port, 1 to 255 octets. Default: the port's in this file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port_id: Option<String>,
}

/// What an LLDP agent does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AdminName {
    /// It sends and receives.
    #[default]
    TxRx,
    /// It sends.
    Tx,
    /// It receives.
    Rx,
    /// It does not exist. (YAML 1.1 takes the word for a boolean.)
    #[serde(alias = "false")]
    Off,
}

/// DCBX (802.1Q clause 38): what the port offers, and what it takes from its peer. LLDP is on with
/// it.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dcbx {
    /// PFC. The priorities are those of the port's own `pfc`. A port with `pause` says nothing.
    #[serde(default)]
    pub pfc: DcbxPfc,
    /// ETS. Classes and shares are those of the port's own queues.
    #[serde(default)]
    pub ets: DcbxEts,
    /// Which frames are to have which priority, at most 168 entries. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub applications: Vec<DcbxApplication>,
    /// How long this port takes from a pause's last bit to sending no more, and what its interface
    /// adds to frames, in and out together, where its stamps do not see it; up to 1 s. Its peer
    /// needs it to size headroom from a peer delay. Default: the link's `poll_gap`, what the device
    /// still sends then, and for a NIC what IEEE 802.3 allows its PHY; in a lab the link's `response`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub internal_delay: Option<Span>,
    /// Whose PFC setting holds where both ends are willing: that of the `higher_address` or of the
    /// `lower_address`. Default: `higher_address`, as openlldp has it; both ends must agree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub precedence: Option<PrecedenceName>,
    /// What is said of congestion isolation (802.1Qcz). Default: nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolation: Option<DcbxIsolation>,
    /// What is said of the port's place in the network (802.1Qcz): `auto`, what Topology Recognition
    /// finds, or what is written here. Default: nothing; `auto` in systems with source flow control or
    /// congestion isolation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topology: Option<DcbxPlace>,
    /// What is said of source flow control. Default: what the switch or host does about it; nothing
    /// where that is nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sfc: Option<DcbxSfc>,
    /// The numbers of TLVs that no published text fixes. Both ends must have the same.
    #[serde(default)]
    pub subtypes: DcbxSubtypes,
}

/// PFC as DCBX speaks of it.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DcbxPfc {
    /// Whether the peer's priorities are taken in place of the port's own. Default: `false`; the
    /// hosts of a lab are willing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub willing: Option<bool>,
    /// How many traffic classes may have PFC at a time, 1 to 8. Default: `8`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capability: Option<u8>,
    /// The form of the TLV: `published`, six octets, or `proposed`, the seven of the P802.1Qdt
    /// proposal, which tell what this port can measure by. Default: `published`, which everyone
    /// reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub form: Option<PfcFormName>,
    /// Whether PFC frames can bypass MACsec. Default: `true`, but not where `macsec.accept_pfc` is
    /// `protected`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub macsec_bypass: Option<bool>,
    /// Whether PFC frames can be protected by MACsec, which the proposed form tells. Default:
    /// `false`, but `true` where the port has `macsec` that accepts them so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub macsec: Option<bool>,
}

/// The form of the PFC configuration TLV.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PfcFormName {
    /// As 802.1Q has it.
    #[default]
    Published,
    /// As the P802.1Qdt proposal has it.
    Proposed,
}

/// ETS as DCBX speaks of it.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DcbxEts {
    /// Whether the peer's recommendation is taken. Default: `false`; the hosts of a lab are
    /// willing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub willing: Option<bool>,
    /// What is recommended to the peer: the port's `own` table, `none`, or another table. Default:
    /// `own`, so that both ends of a link share it alike.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recommend: Option<Recommend>,
}

/// What is recommended to the peer.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Recommend {
    /// The port's own table.
    #[default]
    Own,
    /// Nothing.
    None,
    /// Another table.
    Table(RecommendedTable),
}

/// A table of enhanced transmission selection.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecommendedTable {
    /// Priority to traffic class, `{0-2: 0, 3: 1}`, 0 to 7 each. Default: the same number.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub classes: BTreeMap<Range, u8>,
    /// The share of each traffic class in percent, 100 in all; `{0-1: 25, 3: 50}` is 25 for each of
    /// 0 and 1. Default: none; classes that are not named are strict.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub bandwidth: BTreeMap<Range, u8>,
}

/// An entry of the application priority table: a priority, and exactly one of what it goes by.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DcbxApplication {
    /// The priority, 0 to 7.
    pub priority: u8,
    /// An EtherType, 0x600 to 0xffff, or 0 for all frames that no other entry names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ethertype: Option<u16>,
    /// A port of TCP or SCTP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp: Option<u16>,
    /// A port of UDP or DCCP; 4791 is RoCEv2's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub udp: Option<u16>,
    /// A port of any of those four.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub any_port: Option<u16>,
    /// A DSCP, 0 to 63.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dscp: Option<u16>,
}

/// Whose PFC setting holds where both ends are willing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PrecedenceName {
    /// That of the port with the higher address.
    #[default]
    HigherAddress,
    /// That of the port with the lower address.
    LowerAddress,
}

/// Congestion isolation as the port tells it.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DcbxIsolation {
    /// Traffic class to its part, `{3: -5, 4: 4}`, as the standard writes it: -n says that the congesting
    /// flows of the class go to class n - 1, n that those of n - 1 come to it, -8 to 8. Default: `0`, no
    /// part.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub queue_map: BTreeMap<Range, i8>,
    /// How many octets of a frame a message encapsulates, 0 to 512. Default: `48`, the least that
    /// the standard has a bridge send.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encapsulation: Option<u16>,
    /// The IPv4 or IPv6 address of messages over UDP. Default: none; they go over Ethernet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The port of messages over UDP. Default: `0`, for messages over Ethernet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub udp_port: Option<u16>,
    /// How many octets the address family has, which no text at hand fixes: `one` or `two`.
    /// Default: `one`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub family: Option<FamilyWidthName>,
}

/// How many octets an address family has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FamilyWidthName {
    /// One.
    #[default]
    One,
    /// Two.
    Two,
}

/// The place of a port in the network.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DcbxTopology {
    /// What its system is: `end_station`, `bridge`, `router` or `unknown`. Default: `unknown`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<DeviceName>,
    /// The system's level, 0 at the edge, at most 254. Default: not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<u8>,
    /// Where the port points: `uplink`, `downlink`, `crosslink` or `unknown`. Default: `unknown`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub orientation: Option<OrientationName>,
}

/// What a system is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeviceName {
    /// An end station.
    EndStation,
    /// A bridge.
    Bridge,
    /// A router.
    Router,
    /// Not known.
    #[default]
    Unknown,
}

/// Where a port points.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OrientationName {
    /// To a higher level.
    Uplink,
    /// To a lower level.
    Downlink,
    /// Within its level.
    Crosslink,
    /// Not known.
    #[default]
    Unknown,
}

/// Subtypes under 00-80-C2 that no published text fixes, 0 to 255.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DcbxSubtypes {
    /// The PFC informational TLV of the P802.1Qdt proposal. Default: `224`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pfc_information: Option<u8>,
    /// The congestion isolation TLV of 802.1Qcz. Default: `225`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion_isolation: Option<u8>,
    /// The topology recognition TLV of 802.1Qcz. Default: `226`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topology: Option<u8>,
}

impl Serialize for Recommend {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Own => s.serialize_str("own"),
            Self::None => s.serialize_str("none"),
            Self::Table(table) => table.serialize(s),
        }
    }
}

struct RecommendReader;

impl<'de> Visitor<'de> for RecommendReader {
    type Value = Recommend;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`own`, `none`, or a mapping such as `{bandwidth: {0-1: 50}}`")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Recommend, E> {
        match text {
            "own" => Ok(Recommend::Own),
            "none" => Ok(Recommend::None),
            _ => Err(E::unknown_variant(text, &["own", "none"])),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Recommend, A::Error> {
        RecommendedTable::deserialize(MapAccessDeserializer::new(map)).map(Recommend::Table)
    }
}

impl<'de> Deserialize<'de> for Recommend {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(RecommendReader)
    }
}

impl JsonSchema for Recommend {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("Recommend")
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = generator.subschema_for::<RecommendedTable>();
        json_schema!({ "anyOf": [{ "enum": ["own", "none"] }, table] })
    }
}
