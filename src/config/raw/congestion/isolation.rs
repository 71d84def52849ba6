//! Congestion Isolation (802.1Qcz).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::parts::{Aqm, Centiseconds, MessageLimit};
use crate::config::quantity::{Size, Span};
use crate::config::raw::Range;

/// Congestion isolation: flows that congest a traffic class go to another, so that those beside them do
/// not wait, and the neighbour before is told to do the same.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CongestionIsolation {
    /// Whether flows are isolated. Default: `true`, where this section is; the standard has none.
    #[serde(rename = "ci-master-enable", skip_serializing_if = "Option::is_none")]
    pub master_enable: Option<bool>,
    /// The priority of CIMs, 0 to 7. Default: `6`.
    #[serde(rename = "ci-cim-tx-priority", skip_serializing_if = "Option::is_none")]
    pub cim_tx_priority: Option<u8>,
    /// How long a flow that a CIM named stays isolated after its queue is not congested any more, and
    /// any flow that is not seen, in centiseconds, or as a span with its unit. Default: `100`.
    #[serde(rename = "ci-max-flow-life", skip_serializing_if = "Option::is_none")]
    pub max_flow_life: Option<Centiseconds>,
    /// Which traffic class takes the congesting flows of which, -8 to 8 for each of the eight classes, as
    /// a list or by class: `{3: -5, 4: 4}`. 0 is no part; -k in class i says that the congesting flows of
    /// i go to class k - 1, and k in class i that those of k - 1 come to i. Default: none.
    #[serde(rename = "queue-map", skip_serializing_if = "Option::is_none")]
    pub queue_map: Option<QueueMapSaid>,
    /// The least octets of a frame that a CIM encapsulates, 48 to 512. Default: `48`.
    #[serde(rename = "min-header-octets", skip_serializing_if = "Option::is_none")]
    pub min_header_octets: Option<u16>,
    /// The most CIMs for a flow; 0 sends none. Default: `3`. `repeat` says over what.
    #[serde(rename = "max-cim-tx", skip_serializing_if = "Option::is_none")]
    pub max_cim_tx: Option<u32>,
    /// The most peers, one per port, 0 to 1024. Default: `1024`.
    #[serde(rename = "max-ci-peer-entries", skip_serializing_if = "Option::is_none")]
    pub max_peers: Option<u32>,
    /// The most isolated flows at a time, 1 to 65536. Default: `4096`.
    #[serde(rename = "max-ci-stream-entries", skip_serializing_if = "Option::is_none")]
    pub max_streams: Option<u32>,
    /// The same as `queue-map`, in plain words: `{3: 4}` moves the congesting flows of class 3 to class
    /// 4. Default: none. Not together with `queue-map`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub isolate: BTreeMap<Range, u8>,
    /// How the numbers of `queue-map` are read, on which no text at hand is certain: as the `partner`
    /// of each class, or as the number of a `pair` (k monitored, -k congesting). Default: `partner`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub map_reading: Option<MapReadingName>,
    /// When a monitored queue counts as congested, by traffic class. A port can say otherwise in its own
    /// `congestion_isolation`. Default: for each as there.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub queues: BTreeMap<Range, IsolationQueue>,
    /// The DSCP of CIMs in IP, 0 to 63. Default: `48` (CS6), and the class selector of
    /// `ci-cim-tx-priority` where that is another than 6.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dscp: Option<u8>,
    /// The least time between two CIMs about one flow, up to 1 s. Default: `10us`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spacing: Option<Span>,
    /// The CIMs of all flows together. Default: 64 at once, and one per microsecond.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<MessageLimit>,
    /// The CIMs that are taken from each peer. Default: as for those that are sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heard: Option<MessageLimit>,
    /// What `max-cim-tx` counts: all as long as the flow is isolated (`never` anew), or anew
    /// `before_its_life_ends` at the peer. Default: `before_its_life_ends`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat: Option<CimRepeatName>,
    /// How the parts of a CIM are written that no text at hand fixes. All switches must have the same.
    /// Default: as its fields have it.
    #[serde(default, skip_serializing_if = "CimDialect::is_default")]
    pub dialect: CimDialect,
}

/// What one port says of congestion isolation.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PortIsolation {
    /// The MAC address that CIMs come from and go to. Default: that of the port.
    #[serde(rename = "cip-mac-address", skip_serializing_if = "Option::is_none")]
    pub mac_address: Option<String>,
    /// The IPv4 address that CIMs come from and go to. Default: none.
    #[serde(rename = "cip-ipv4-address", skip_serializing_if = "Option::is_none")]
    pub ipv4_address: Option<String>,
    /// The IPv6 address that CIMs come from and go to. Default: none.
    #[serde(rename = "cip-ipv6-address", skip_serializing_if = "Option::is_none")]
    pub ipv6_address: Option<String>,
    /// The UDP port that CIMs come to. Default: `0`, none in IP.
    #[serde(rename = "cip-cim-port", skip_serializing_if = "Option::is_none")]
    pub cim_port: Option<u16>,
    /// The switch at the other end, for CIMs. Default: the one that LLDP finds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer: Option<IsolationPeer>,
    /// When a monitored queue of this port counts as congested, by traffic class, in place of what the
    /// switch's `congestion_isolation` says of that class. Default: as there.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub queues: BTreeMap<Range, IsolationQueue>,
}

/// An entry of the CI peer table (802.1Qcz 49.3.6).
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IsolationPeer {
    /// The form of its CIMs: `l2`, `ipv4` or `ipv6`. Default: `l2`, and `ipv4` or `ipv6` where it has
    /// such an address and a port.
    #[serde(rename = "cim-type", skip_serializing_if = "Option::is_none")]
    pub cim_type: Option<CimTypeName>,
    /// Its MAC address.
    #[serde(rename = "peer-mac-address")]
    pub mac_address: String,
    /// Its IPv4 address. Default: none.
    #[serde(rename = "peer-ipv4-address", skip_serializing_if = "Option::is_none")]
    pub ipv4_address: Option<String>,
    /// Its IPv6 address. Default: none.
    #[serde(rename = "peer-ipv6-address", skip_serializing_if = "Option::is_none")]
    pub ipv6_address: Option<String>,
    /// The UDP port of its CIMs. Default: `0`, none in IP.
    #[serde(rename = "peer-udp-port", skip_serializing_if = "Option::is_none")]
    pub udp_port: Option<u16>,
    /// How many octets of a frame it wants encapsulated, 0 to 512. Default: `0`, whatever it gets.
    #[serde(rename = "peer-cim-encap-len", skip_serializing_if = "Option::is_none")]
    pub encap_len: Option<u16>,
}

/// When a monitored queue is congested, and when that is over.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IsolationQueue {
    /// Length of the monitored queue in octets above which every frame's flow is isolated. Default: 1 KB
    /// per Gb/s of the port's rate, and at least 10 KB. Not together with `aqm`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<Size>,
    /// The curve that picks congesting frames, in place of a threshold. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aqm: Option<Aqm>,
    /// Length of the congesting queue in octets at or below which its flows go back, once the monitored
    /// queue is not congested. Default: a tenth of `threshold` (`kmin`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<Size>,
    /// Length of the congesting queue in octets above which the neighbour before is told, not below
    /// `low`. Default: that of `threshold` (`kmin`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cim_above: Option<Size>,
}

/// A queue map: a number for each class, or for those that take part.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum QueueMapSaid {
    /// All eight.
    List(Vec<i8>),
    /// Those that take part.
    Map(BTreeMap<Range, i8>),
}

/// How the numbers of a queue map are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MapReadingName {
    /// Each names the other class.
    #[default]
    Partner,
    /// Each says which pair its class belongs to, and as what.
    Pair,
}

/// The form of CIMs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CimTypeName {
    /// Frames of their own EtherType.
    #[default]
    L2,
    /// UDP over IPv4.
    Ipv4,
    /// UDP over IPv6.
    Ipv6,
}

/// When CIMs about a flow are counted anew.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CimRepeatName {
    /// Never, while it is isolated.
    Never,
    /// Half a life after the last one.
    #[default]
    BeforeItsLifeEnds,
}

/// Readings of a CIM's octets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CimDialect {
    /// What stands behind the EtherType: an octet with a `subtype`, or the `pdu`. Default: `subtype`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub octet_three: Option<OctetThreeName>,
    /// Whether the add/delete bit is `set` or `clear` to add. Default: `set`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub add: Option<AddBitName>,
    /// Whether the VLAN identifier is in the `low` or in the `high` twelve bits of its field. Default:
    /// `low`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vid: Option<VidBitsName>,
}

impl CimDialect {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// What stands behind the EtherType of a CIM.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OctetThreeName {
    /// An octet of version and subtype.
    #[default]
    Subtype,
    /// The PDU.
    Pdu,
}

/// The add/delete bit of a CIM that adds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AddBitName {
    /// 1.
    #[default]
    Set,
    /// 0.
    Clear,
}

/// Which bits of its field the VLAN identifier is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VidBitsName {
    /// The lower ones.
    #[default]
    Low,
    /// The upper ones.
    High,
}

impl Serialize for QueueMapSaid {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::List(list) => list.serialize(s),
            Self::Map(map) => map.serialize(s),
        }
    }
}

struct QueueMapReader;

impl<'de> Visitor<'de> for QueueMapReader {
    type Value = QueueMapSaid;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("eight numbers from -8 to 8, or those of some classes such as `{3: -5, 4: 4}`")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<QueueMapSaid, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(seq)).map(QueueMapSaid::List)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<QueueMapSaid, A::Error> {
        BTreeMap::deserialize(MapAccessDeserializer::new(map)).map(QueueMapSaid::Map)
    }
}

impl<'de> Deserialize<'de> for QueueMapSaid {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(QueueMapReader)
    }
}

impl JsonSchema for QueueMapSaid {
    fn schema_name() -> Cow<'static, str> {
        "QueueMap".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let list = generator.subschema_for::<Vec<i8>>();
        let map = generator.subschema_for::<BTreeMap<Range, i8>>();
        json_schema!({ "anyOf": [list, map] })
    }
}
