//! Notifications by which sources slow down: CNPs of RoCEv2 from the switch, and those of QCN.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::SeqAccessDeserializer;
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::parts::{Aqm, MessageLimit};
use crate::config::quantity::{Ratio, Size, Span};
use crate::config::raw::Range;

/// Congestion notification packets to the sources of congesting RoCEv2 flows, made by the switch: `{}`
/// turns them on for the traffic classes that PFC protects.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FastCnp {
    /// Which frames are answered, by traffic class: `{3: {threshold: 100KB}}`. A port can say otherwise
    /// in its own `fast_cnp`. Default: the classes of the priorities that PFC protects.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub queues: BTreeMap<Range, FastCnpQueue>,
    /// The least time between two notifications about one flow, up to 1 s. Default: `50us`, as hosts
    /// have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spacing: Option<Span>,
    /// Notifications about all flows together. Default: 64 at once, and one per microsecond.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<MessageLimit>,
    /// How many flows are kept in mind at a time, 1 to 65536. Default: `4096`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flows: Option<u32>,
    /// The queue pairs that notifications go to, which data does not name: `learnt` from the packets of
    /// the other direction, or a list of those that are known. Default: `learnt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_qp: Option<SourceQpSaid>,
    /// The priority of notifications, 0 to 7. Default: `6`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<u8>,
    /// Their DSCP, 0 to 63. Default: `48` (CS6), and the class selector of `priority` where that is
    /// another than 6.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dscp: Option<u8>,
}

/// What one port says of notifications from the switch.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PortFastCnp {
    /// Which frames are answered at this port, by traffic class, in place of what the switch's `fast_cnp`
    /// says of that class. Default: as there.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub queues: BTreeMap<Range, FastCnpQueue>,
}

/// Which frames are answered.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FastCnpQueue {
    /// Queue length in octets above which every flow's source is notified. Default: none. Not together
    /// with `aqm`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<Size>,
    /// The curve that picks frames. Default: that of the queue's `ecn`, or one with the same defaults,
    /// so that sources learn what their destinations would have told them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aqm: Option<Aqm>,
}

/// Where the queue pair of a flow's source is known from.
#[derive(Clone, PartialEq, Debug)]
pub enum SourceQpSaid {
    /// From packets of the other direction.
    Learnt,
    /// From this list, or learnt.
    List(Vec<QpEntry>),
}

/// The queue pairs of one connection.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QpEntry {
    /// The IP address of the data's destination.
    pub destination: String,
    /// Its queue pair, which the data names, 0 to 16777215.
    pub destination_qp: u32,
    /// The queue pair of the source, 0 to 16777215.
    pub source_qp: u32,
}

/// Quantized Congestion Notification (802.1Q clauses 30 to 33): congestion points. `{}` turns them on
/// for the traffic classes that PFC protects.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Qcn {
    /// Congestion points by traffic class: `{3: {set_point: 100KB}}`. A port can say otherwise in its
    /// own `qcn`. Default: one for each class of the priorities that PFC protects.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub queues: BTreeMap<Range, QcnQueue>,
    /// The priority of messages, 0 to 7 (ieee8021CnGlobalCnmTransmitPriority). Default: `6`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transmit_priority: Option<u8>,
    /// How many octets of a frame a message has, 0 to 64 (ieee8021CnCpMinHeaderOctets). Default: `64`,
    /// not the MIB's 0, because hosts find the flow by them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub msdu_octets: Option<u8>,
}

/// What one port says of congestion points.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PortQcn {
    /// Congestion points of this port by traffic class, in place of what the switch's `qcn` says of that
    /// class. Default: as there.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub queues: BTreeMap<Range, QcnQueue>,
}

/// A congestion point.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QcnQueue {
    /// The queue length that is aimed at, 1 to 2^40 octets (ieee8021CnCpQueueSizeSetPoint). Default:
    /// `26000`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set_point: Option<Size>,
    /// The weight of the queue's growth against its length, as a power of two, -10 to 10
    /// (ieee8021CnCpFeedbackWeight). Default: `1`, a weight of two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<i8>,
    /// Octets between two looks at the queue while it is not congested, 1 to 2^40
    /// (ieee8021CnCpMinSampleBase). Default: `150000`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample_base: Option<Size>,
    /// How far the distance of looks is drawn around its base, in whole percent, up to 99%. Default:
    /// `15%`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Ratio>,
}

impl Serialize for SourceQpSaid {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Learnt => s.serialize_str("learnt"),
            Self::List(list) => list.serialize(s),
        }
    }
}

struct SourceQpReader;

impl<'de> Visitor<'de> for SourceQpReader {
    type Value = SourceQpSaid;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "`learnt`, or a list such as `[{destination: 10.0.0.2, destination_qp: 3, source_qp: 2}]`",
        )
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<SourceQpSaid, E> {
        match text {
            "learnt" => Ok(SourceQpSaid::Learnt),
            _ => Err(E::unknown_variant(text, &["learnt"])),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<SourceQpSaid, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(seq)).map(SourceQpSaid::List)
    }
}

impl<'de> Deserialize<'de> for SourceQpSaid {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(SourceQpReader)
    }
}

impl JsonSchema for SourceQpSaid {
    fn schema_name() -> Cow<'static, str> {
        "SourceQp".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let list = generator.subschema_for::<Vec<QpEntry>>();
        json_schema!({ "anyOf": [{ "const": "learnt" }, list] })
    }
}
