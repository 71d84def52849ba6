//! Congestion Isolation (802.1Qcz).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Aqm, Centiseconds, MessageLimit};
use super::{settings, words};
use crate::quantity::{Size, Span};
use crate::raw::Range;
use ::file::forms;
use congestion::isolation::{CimRepeat, CimType, MapReading};
use wire::cim::{AddBit, OctetThree, VidBits};

settings! {
/// Congestion isolation: moves flows that congest a traffic class to another class, so that they do
/// not delay the other flows, and signals the upstream neighbour to do the same.
pub struct CongestionIsolation {
    /// True to isolate flows. Default: `true` if this section is present; the standard has no
    /// default.
    pub master_enable: Option<bool> => "ci-master-enable",
    /// Priority of CIMs, 0 to 7. Default: `6`.
    pub cim_tx_priority: Option<u8> => "ci-cim-tx-priority",
    /// Time that a flow of a CIM stays isolated after its queue is no longer congested, and any
    /// flow without frames, in centiseconds, or as a duration with a unit. Default: `100`.
    #[serde(rename = "ci-max-flow-life")]
    pub max_flow_life: Option<Centiseconds>,
    /// Map from monitored to congesting classes, -8 to 8 for each of the eight classes, as a list
    /// or by class: `{3: -5, 4: 4}`. 0 is not mapped; -k in class i moves the congesting flows of i
    /// to class k - 1, and k in class i makes it the target of class k - 1. Default: none.
    #[serde(rename = "queue-map")]
    pub queue_map: Option<QueueMap>,
    /// Least octets of a frame that a CIM encapsulates, 48 to 512. Default: `48`.
    pub min_header_octets: Option<u16> => "min-header-octets",
    /// Largest number of CIMs for a flow; 0 sends none. Default: `3`. `repeat` sets the period.
    pub max_cim_tx: Option<u32> => "max-cim-tx",
    /// Largest number of peers, one per port, 0 to 1024. Default: `1024`.
    pub max_peers: Option<u32> => "max-ci-peer-entries",
    /// Largest number of flows isolated at a time, 1 to 65536. Default: `4096`.
    pub max_streams: Option<u32> => "max-ci-stream-entries",
    /// Simple form of `queue-map`: `{3: 4}` moves the congesting flows of class 3 to class 4.
    /// Default: none. Not allowed together with `queue-map`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub isolate: BTreeMap<Range, u8>,
    /// Interpretation of the numbers in `queue-map`, on which the available texts are ambiguous:
    /// the `partner` of each class, or the number of a `pair` (k monitored, -k congesting).
    /// Default: `partner`.
    pub map_reading: Option<MapReading>,
    /// Congestion thresholds of monitored queues by traffic class. A port's own
    /// `congestion_isolation` overrides them. Default: the defaults of the fields.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub queues: BTreeMap<Range, IsolationQueue>,
    /// DSCP of CIMs in IP, 0 to 63. Default: `48` (CS6), or the class selector of
    /// `ci-cim-tx-priority` if that is not 6.
    pub dscp: Option<u8> => "dscp",
    /// Shortest time between two CIMs about one flow, up to 1 s. Default: `10us`.
    pub spacing: Option<Span> => "spacing",
    /// Rate limit of CIMs of all flows together. Default: a burst of 64, and one per microsecond.
    pub budget: Option<MessageLimit>,
    /// Rate limit of CIMs received from each peer. Default: as for those that are sent.
    pub heard: Option<MessageLimit>,
    /// Period over which `max-cim-tx` counts: the whole isolation of the flow (`never` restarts),
    /// or restarted `before_its_life_ends` at the peer. Default: `before_its_life_ends`.
    pub repeat: Option<CimRepeat> => "repeat",
    /// Encoding of those parts of a CIM that no available text defines. All switches must use the
    /// same. Default: the defaults of the fields.
    #[serde(default, skip_serializing_if = "CimDialect::is_default")]
    pub dialect: CimDialect,
}
}

/// Congestion isolation settings of one port.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PortIsolation {
    /// Source and destination MAC address of CIMs at this port. Default: that of the port.
    #[serde(rename = "cip-mac-address")]
    pub mac_address: Option<String>,
    /// Source and destination IPv4 address of CIMs at this port. Default: none.
    #[serde(rename = "cip-ipv4-address")]
    pub ipv4_address: Option<String>,
    /// Source and destination IPv6 address of CIMs at this port. Default: none.
    #[serde(rename = "cip-ipv6-address")]
    pub ipv6_address: Option<String>,
    /// UDP port at which CIMs are received. Default: `0`, no CIMs over IP.
    #[serde(rename = "cip-cim-port")]
    pub cim_port: Option<u16>,
    /// The neighbouring switch, for CIMs. Default: the one that LLDP finds.
    pub peer: Option<IsolationPeer>,
    /// Congestion thresholds of this port's monitored queues by traffic class; they replace the
    /// switch's for that class. Default: those of the switch.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub queues: BTreeMap<Range, IsolationQueue>,
}

/// An entry of the CI peer table (802.1Qcz 49.3.6).
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IsolationPeer {
    /// Form of its CIMs: `l2`, `ipv4` or `ipv6`. Default: `l2`, and `ipv4` or `ipv6` if it has such
    /// an address and a UDP port.
    #[serde(rename = "cim-type")]
    pub cim_type: Option<CimType>,
    /// MAC address of the peer.
    #[serde(rename = "peer-mac-address")]
    pub mac_address: String,
    /// IPv4 address of the peer. Default: none.
    #[serde(rename = "peer-ipv4-address")]
    pub ipv4_address: Option<String>,
    /// IPv6 address of the peer. Default: none.
    #[serde(rename = "peer-ipv6-address")]
    pub ipv6_address: Option<String>,
    /// UDP port of its CIMs. Default: `0`, no CIMs over IP.
    #[serde(rename = "peer-udp-port")]
    pub udp_port: Option<u16>,
    /// Octets of a frame that the peer wants encapsulated, 0 to 512. Default: `0`, no preference.
    #[serde(rename = "peer-cim-encap-len")]
    pub encap_len: Option<u16>,
}

/// Start and end of a monitored queue's congestion.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IsolationQueue {
    /// Length of the monitored queue in bytes above which every frame's flow is isolated. Default:
    /// 1 KB per Gb/s of the port's rate, and at least 10 KB. Not allowed together with `aqm`.
    pub threshold: Option<Size>,
    /// Curve that selects congesting frames, instead of a threshold. Default: none.
    pub aqm: Option<Aqm>,
    /// Length of the congesting queue in bytes at or below which its flows return, once the
    /// monitored queue is not congested. Default: a tenth of `threshold` (`kmin`).
    pub low: Option<Size>,
    /// Length of the congesting queue in bytes above which the upstream neighbour is signalled, not
    /// below `low`. Default: that of `threshold` (`kmin`).
    pub cim_above: Option<Size>,
}

/// A queue map: a number for each class, or for mapped classes only.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(untagged)]
pub enum QueueMap {
    /// All eight classes.
    List(Vec<i8>),
    /// Mapped classes.
    Map(BTreeMap<Range, i8>),
}

words! { CimRepeat }

/// Encoding of a CIM.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CimDialect {
    /// Contents after the EtherType: an octet with a `subtype`, or the `pdu`. Default: `subtype`.
    pub octet_three: Option<OctetThree>,
    /// Value of the add/delete bit to add: `set` or `clear`. Default: `set`.
    pub add: Option<AddBit>,
    /// Bits of the VLAN identifier in its field: the `low` or the `high` twelve. Default: `low`.
    pub vid: Option<VidBits>,
}

impl CimDialect {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

forms! {
    QueueMap as "QueueMap",
        "eight numbers from -8 to 8, or those of some classes such as `{3: -5, 4: 4}`" =>
        list Vec<i8> => QueueMap::List, map BTreeMap<Range, i8> => QueueMap::Map;
        |generator| {
            "anyOf": [
                generator.subschema_for::<Vec<i8>>(),
                generator.subschema_for::<BTreeMap<Range, i8>>()
            ]
        }
}
