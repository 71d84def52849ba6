//! The shared buffer and its profiles, with SAI's and SONiC's names.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use crate::config::quantity::Size;

/// The memory that all ports share.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Buffer {
    /// Octets per cell, 64 to 16384; a frame takes whole cells. Default: `256`, as coarse as the
    /// switch chips of today. At least 64, so that a cell is never less than a frame and the pool
    /// of frames, one per cell, cannot run dry before the buffer is full.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cell: Option<Size>,
    /// The whole buffer, in octets, up to 4 GiB. Default: what the ports' reserved space and
    /// headroom take, and 4 MiB to share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<Size>,
    /// Profiles by name, which ports give to their priority groups. Two are there without being
    /// written, and may be written over: `lossless` (`{shared: {dynamic_th: 0}, lossless: {}}`)
    /// and `lossy` (`{shared: {dynamic_th: 0}}`).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub profiles: BTreeMap<String, Profile>,
}

/// How one priority group may use the buffer.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Guaranteed to each group of this profile alone, in octets. Default: `0`; what is guaranteed
    /// to one is lost to the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserved: Option<Size>,
    /// How much of the shared pool a group may use. Default: `{dynamic_th: 0}`, as much as is
    /// still free, so that one congested group never takes more than half of the pool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared: Option<Shared>,
    /// Makes the group lossless: above its limit the sender is paused, and what is still on its
    /// way goes to headroom. Default: absent, and a frame above the limit is dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lossless: Option<Lossless>,
}

/// What a lossless group has on top.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lossless {
    /// Private headroom for what arrives after XOFF, in octets, or `auto` for the round trip of
    /// each port's link. Default: `auto`. Less than the round trip is refused; in labs
    /// `headroom_check` of the profile says what is done.
    #[serde(default, skip_serializing_if = "Xoff::is_auto")]
    pub xoff: Xoff,
    /// XON when the group's shared use is at most this, in octets ... Default: `0`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub xon: Option<Size>,
    /// ... or at most this far below its limit, in octets, whichever is higher. Default: two
    /// frames of the longest length, so that XOFF and XON do not alternate frame by frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub xon_offset: Option<Size>,
}

/// How much of the shared pool a group or queue may use: exactly one of the three.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shared {
    /// A dynamic threshold: n = log2(alpha), from -8 to 8. The limit is alpha = 2^n times what the pool has
    /// free, so `-1` is alpha 1/2, `0` alpha 1, `3` alpha 8. SAI's and SONiC's name; Broadcom and papers
    /// write alpha itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dynamic_th: Option<i8>,
    /// A fixed amount in octets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub static_th: Option<Size>,
    /// Nothing but the pool itself. Only `true` may be written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unlimited: Option<bool>,
}

/// Headroom: a size or `auto`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Xoff {
    /// The round trip of the port's link, computed.
    #[default]
    Auto,
    /// As given.
    Size(Size),
}

impl Xoff {
    fn is_auto(&self) -> bool {
        *self == Self::Auto
    }
}

impl Serialize for Xoff {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Auto => s.serialize_str("auto"),
            Self::Size(size) => size.serialize(s),
        }
    }
}

struct XoffReader;

impl Visitor<'_> for XoffReader {
    type Value = Xoff;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`auto` or a size such as 40KiB")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Xoff, E> {
        if text == "auto" {
            return Ok(Xoff::Auto);
        }
        text.parse().map(Xoff::Size).map_err(E::custom)
    }

    fn visit_u64<E: de::Error>(self, n: u64) -> Result<Xoff, E> {
        Ok(Xoff::Size(Size(n)))
    }
}

impl<'de> Deserialize<'de> for Xoff {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(XoffReader)
    }
}

impl JsonSchema for Xoff {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("Xoff")
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let size = generator.subschema_for::<Size>();
        json_schema!({ "anyOf": [{ "const": "auto" }, size] })
    }
}
