//! Fields that several sections share.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::SeqAccessDeserializer;
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::settings::settings;
use crate::quantity::{Ratio, Size, Span};
use ::file::word_or;
use congestion::sfc::CENTISECOND;
use ground::time::Duration;

/// Type of the link partner of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AttachedName {
    /// A switch: source flow control messages are forwarded to it.
    #[default]
    Switch,
    /// A host that supports PFC only: the proxy acts for it.
    Host,
    /// A host that obeys source flow control messages itself.
    SfcHost,
    /// A host that advertises in DCBX if it obeys them; until then it is treated as one that does
    /// not.
    Auto,
}

/// Location of the congestion of a port's queues.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LocatorName {
    /// At the edge, in the queue to the destination.
    Incast,
    /// Inside the network.
    InNetwork,
    /// Derived from the link partner and Topology Recognition.
    #[default]
    Auto,
}

/// Curve by which an AQM selects frames, as for ECN.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Aqm {
    /// Queue length in bytes below which no frame is selected. Default: that of `threshold`.
    pub kmin: Option<Size>,
    /// Queue length in bytes above which every frame is selected. Default: four times `kmin`.
    pub kmax: Option<Size>,
    /// Probability just below `kmax`. Default: `20%`.
    pub pmax: Option<Ratio>,
}

settings! {
/// Rate limit of messages.
pub struct MessageLimit {
    /// Average time between two messages, up to 1 s; `0` is no limit. Default: `1us`: at 100 bytes
    /// each that is less than 1 Gb/s.
    pub interval: Option<Span> => "interval",
    /// Largest burst of messages, at least 1. Default: `64`.
    pub burst: Option<u32> => "burst",
}
}

/// Senders whose messages are accepted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SendersSaid {
    /// None.
    Nobody,
    /// All.
    Anybody,
    /// These networks and addresses.
    Only(Vec<String>),
}

/// A time that a managed object counts in centiseconds: a bare number is in centiseconds, a number
/// with a unit is a duration.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Centiseconds(pub Duration);

/// Traffic classes: a bit mask, or a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TrafficClasses {
    /// Bit n for class n.
    Mask(u64),
    /// The classes.
    List(Vec<u8>),
}

word_or! {
    SendersSaid "Senders" enum "anybody" Anybody | "nobody" Nobody or list Vec<String> as Only:
        "`anybody`, `nobody` or a list of networks such as `[10.0.0.0/8]`";
}

struct CentisecondsReader;

impl Visitor<'_> for CentisecondsReader {
    type Value = Centiseconds;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("centiseconds, such as 100, or a span of time with its unit, such as 500us")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Centiseconds, E> {
        match text.trim().parse::<u64>() {
            Ok(n) => self.visit_u64(n),
            Err(_) => text.parse().map(|Span(span)| Centiseconds(span)).map_err(E::custom),
        }
    }

    fn visit_u64<E: de::Error>(self, n: u64) -> Result<Centiseconds, E> {
        // The objects have 32 bits, more than the 100 days that a duration may have.
        let span = format!("{n}0ms").parse::<Span>();
        let span = span.map_err(|_| E::custom(format!("{n} centiseconds are over 100 days")))?;
        Ok(Centiseconds(span.0))
    }
}

struct ClassesReader;

impl<'de> Visitor<'de> for ClassesReader {
    type Value = TrafficClasses;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a bit mask such as 0x18, or a list of traffic classes such as `[3, 4]`")
    }

    fn visit_u64<E: de::Error>(self, n: u64) -> Result<TrafficClasses, E> {
        Ok(TrafficClasses::Mask(n))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<TrafficClasses, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(seq)).map(TrafficClasses::List)
    }
}

/// Implements deserialization by a visitor.
macro_rules! read_by {
    ($($name:ty: $reader:expr;)*) => {$(
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                d.deserialize_any($reader)
            }
        }
    )*};
}

read_by! {
    Centiseconds: CentisecondsReader;
    TrafficClasses: ClassesReader;
}

impl Serialize for Centiseconds {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let (all, one) = (self.0.as_picos(), CENTISECOND.as_picos());
        if all % one == 0 { s.serialize_u64(all / one) } else { Span(self.0).serialize(s) }
    }
}

impl Serialize for TrafficClasses {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Mask(n) => s.serialize_u64(*n),
            Self::List(list) => list.serialize(s),
        }
    }
}

impl JsonSchema for Centiseconds {
    fn schema_name() -> Cow<'static, str> {
        "Centiseconds".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let span = generator.subschema_for::<Span>();
        json_schema!({ "anyOf": [{ "type": "integer", "minimum": 0 }, span] })
    }
}

impl JsonSchema for TrafficClasses {
    fn schema_name() -> Cow<'static, str> {
        "TrafficClasses".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let list = generator.subschema_for::<Vec<u8>>();
        let mask = json_schema!({ "type": "integer", "minimum": 0, "maximum": 255 });
        json_schema!({ "anyOf": [mask, list] })
    }
}
