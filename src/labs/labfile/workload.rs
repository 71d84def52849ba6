//! Workloads: sizes of messages, offered load, ON and OFF periods, and random choices of hosts.

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::{Many, Short, Wanted};
use config::quantity::{Ratio, Size, Span};

/// A length in bytes, or a distribution from which each length is drawn.
#[derive(Clone, PartialEq, Debug)]
pub enum Bytes {
    /// The same for all.
    Fixed(Size),
    /// A published distribution.
    Published(Published),
    /// A distribution of the user.
    Own(Distribution),
}

/// Published distributions of the sizes of messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Published {
    /// Web search (DCTCP, SIGCOMM 2010): mean 1.71 MB, half of the messages above 70 KB.
    Websearch,
    /// Hadoop cluster (Facebook, SIGCOMM 2015): mean 120 KB, half of the messages up to 700 bytes.
    Hadoop,
}

/// A distribution of the user: exactly one of `cdf` and `points`. Between two points it is linear.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Distribution {
    /// Text file with a size in bytes and its cumulative probability, 0 to 1, on each line. Both
    /// rise from line to line, the last probability is 1; `#` starts a comment. A relative path
    /// starts at the lab's folder. Default: none, `points` are given.
    pub cdf: Option<PathBuf>,
    /// The same as a list: `[[1KB, 0], [10KB, 0.5], [1MB, 1]]`. Default: none, `cdf` is given.
    pub points: Option<Vec<(Size, f64)>>,
}

/// Offered load.
pub type Load = Short<Ratio, LoadLong>;

/// Offered load: exactly one of these.
#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadLong {
    /// Share of each sender's link, above 0% up to 100%.
    pub sender: Option<Ratio>,
    /// Share of each receiver's link, above 0% up to 100%.
    pub receiver: Option<Ratio>,
}

impl Wanted for LoadLong {
    const WANTED: &'static str = "a load; write 60%, {sender: 60%} or {receiver: 60%}";
}

/// Periods in which a flow sends, and in which it does not. The first ON period begins at the
/// flow's start. Frames that were due in an ON period and that a pause held are sent later.
#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnOff {
    /// Length of the ON periods, above 0.
    pub on: Span,
    /// Length of the OFF periods, above 0.
    pub off: Span,
    /// Lengths of periods: `fixed`, or `exponential` with `on` and `off` as means, drawn by the
    /// lab's seed. Default: `fixed`.
    pub times: Option<OnOffTimes>,
}

/// Lengths of ON and OFF periods.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnOffTimes {
    /// All the same.
    #[default]
    Fixed,
    /// Exponentially distributed.
    Exponential,
}

/// Hosts: one, a list, a range of names, or some of these at random.
#[derive(Clone, PartialEq, Debug)]
pub enum Chosen {
    /// Names and ranges of names.
    Listed(Many<String>),
    /// Some of several at random.
    Random(RandomNames),
}

/// Some of several hosts, chosen at random by the lab's seed.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RandomNames {
    /// Number of hosts, at least 1.
    pub random: u32,
    /// Hosts to choose from: a list, a range (`h1..h64`) or `all`. Default: `all`.
    pub of: Option<Many<String>>,
}

impl Chosen {
    /// Returns the names of a list; `None` for a random choice.
    pub fn names(&self) -> Option<&[String]> {
        match self {
            Self::Listed(Many(list)) => Some(list),
            Self::Random(_) => None,
        }
    }

    /// Returns the names of a list, to be changed.
    pub fn names_mut(&mut self) -> Option<&mut Vec<String>> {
        match self {
            Self::Listed(Many(list)) => Some(list),
            Self::Random(_) => None,
        }
    }
}

impl From<Vec<String>> for Chosen {
    fn from(names: Vec<String>) -> Self {
        Self::Listed(Many(names))
    }
}

impl From<String> for Chosen {
    fn from(name: String) -> Self {
        Self::Listed(Many(vec![name]))
    }
}

impl From<Size> for Bytes {
    fn from(size: Size) -> Self {
        Self::Fixed(size)
    }
}

impl Default for Bytes {
    fn default() -> Self {
        // No size at all: the resolution takes it for a field that is not set.
        Self::Fixed(Size(0))
    }
}

struct BytesReader;

impl<'de> Visitor<'de> for BytesReader {
    type Value = Bytes;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a size (64KB), `websearch`, `hadoop`, {cdf: FILE} or {points: [...]}")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Bytes, E> {
        match text {
            "websearch" => Ok(Bytes::Published(Published::Websearch)),
            "hadoop" => Ok(Bytes::Published(Published::Hadoop)),
            // A word is a misspelt name of a distribution, and a size begins with a digit.
            _ if text.starts_with(|c: char| c.is_ascii_alphabetic()) => {
                Err(E::invalid_value(de::Unexpected::Str(text), &self))
            }
            _ => text.parse().map(Bytes::Fixed).map_err(E::custom),
        }
    }

    fn visit_u64<E: de::Error>(self, n: u64) -> Result<Bytes, E> {
        self.visit_str(&n.to_string())
    }

    fn visit_i64<E: de::Error>(self, n: i64) -> Result<Bytes, E> {
        self.visit_str(&n.to_string())
    }

    fn visit_f64<E: de::Error>(self, n: f64) -> Result<Bytes, E> {
        self.visit_str(&n.to_string())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Bytes, A::Error> {
        Distribution::deserialize(MapAccessDeserializer::new(map)).map(Bytes::Own)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(BytesReader)
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Fixed(size) => size.serialize(s),
            Self::Published(name) => name.serialize(s),
            Self::Own(own) => own.serialize(s),
        }
    }
}

impl JsonSchema for Bytes {
    fn schema_name() -> Cow<'static, str> {
        "Bytes".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let size = generator.subschema_for::<Size>();
        let published = generator.subschema_for::<Published>();
        let own = generator.subschema_for::<Distribution>();
        json_schema!({ "anyOf": [size, published, own] })
    }
}

struct ChosenReader;

impl<'de> Visitor<'de> for ChosenReader {
    type Value = Chosen;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "a host, a range such as `h1..h16`, a list of both, or {random: 8, of: h1..h64}",
        )
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Chosen, E> {
        Ok(text.to_owned().into())
    }

    fn visit_u64<E: de::Error>(self, n: u64) -> Result<Chosen, E> {
        // Refused by the reader of texts, in its words.
        String::deserialize(de::value::U64Deserializer::new(n)).map(Chosen::from)
    }

    fn visit_i64<E: de::Error>(self, n: i64) -> Result<Chosen, E> {
        String::deserialize(de::value::I64Deserializer::new(n)).map(Chosen::from)
    }

    fn visit_f64<E: de::Error>(self, n: f64) -> Result<Chosen, E> {
        String::deserialize(de::value::F64Deserializer::new(n)).map(Chosen::from)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Chosen, A::Error> {
        Vec::<String>::deserialize(SeqAccessDeserializer::new(seq)).map(Chosen::from)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Chosen, A::Error> {
        RandomNames::deserialize(MapAccessDeserializer::new(map)).map(Chosen::Random)
    }
}

impl<'de> Deserialize<'de> for Chosen {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(ChosenReader)
    }
}

impl Serialize for Chosen {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Listed(list) => list.serialize(s),
            Self::Random(random) => random.serialize(s),
        }
    }
}

impl JsonSchema for Chosen {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Chosen".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let listed = generator.subschema_for::<Many<String>>();
        let random = generator.subschema_for::<RandomNames>();
        json_schema!({ "anyOf": [listed, random] })
    }
}
