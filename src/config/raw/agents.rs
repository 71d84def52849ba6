//! What a port finds out by itself: its headroom, from what it measures.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use crate::config::quantity::{Length, Span};

/// Where the headroom of a port's lossless groups comes from, where their profiles leave it `auto`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Headroom {
    /// Computed from what the file says of the link.
    #[default]
    Computed,
    /// Computed at first, and set anew from what the port measures.
    Auto(AutoHeadroom),
}

/// The mapping that `headroom` can be.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct HeadroomLong {
    auto: AutoHeadroom,
}

/// How a port finds its headroom by itself (P802.1Qdt).
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AutoHeadroom {
    /// What is measured: `round_trip`, by requests and responses between the two ports, or `ptp`,
    /// by PTP's peer delay with the internal delays of both ends on top. Default: `round_trip`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<MethodName>,
    /// Which of the measured times counts: `max`, `mean`, or a percentile from `p1` to `p99`.
    /// Default: `max`, because headroom is for the worst case; the proposal takes the mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub statistic: Option<StatisticName>,
    /// The cable that headroom is computed for until the link is measured, up to 1000 km. Default:
    /// that of `link`; in a lab the link's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assume: Option<Length>,
    /// The most headroom that a measurement can give, as a multiple of what the length in `link` gives (in a
    /// lab the link's own), 1 to 1000, so that a host that answers late cannot take the buffer. Default:
    /// `4`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// From a group's crossing of its threshold to the PFC frame being given to the MAC, up to
    /// 1 s. Default: `0s`; what polls take is counted already, as `link.poll_gap`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub invocation: Option<Span>,
    /// How long the port waits for what its peer says by DCBX after the link came up before it
    /// measures without, up to 1 h. Default: `3s`, and no wait without `dcbx`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait: Option<Span>,
    /// What MACsec adds on the way of a PFC frame. Default: none; where the port has `macsec`, its
    /// `delay`, unless data is protected too: the measured messages have met it then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub macsec: Option<MacsecShims>,
}

/// The delays of the layers that protect PFC frames, which stamps above them do not see.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MacsecShims {
    /// What the layer takes to send at this end, up to 1 s. Default: `0s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local_shim: Option<Span>,
    /// What the layer takes to send at the peer, up to 1 s. Default: `0s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote_shim: Option<Span>,
}

/// What is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MethodName {
    /// Requests and responses between the two ports.
    #[default]
    RoundTrip,
    /// PTP's peer delay.
    Ptp,
}

/// Which of the measured times counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum StatisticName {
    /// The longest.
    #[default]
    Max,
    /// The mean.
    Mean,
    /// A percentile, 1 to 99.
    Percentile(u8),
}

/// The request/response measurement of the link (P802.1Qdt). The port answers requests where this
/// is given, or where its headroom is found so.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Measurement {
    /// Whether requests of the peer are answered. Default: `true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub respond: Option<bool>,
    /// Whether this port measures too. Default: `false`, but `true` where its headroom is found so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initiate: Option<bool>,
    /// Round trips to be measured, 1 to 256 (N of the proposal, which has no defaults). Default:
    /// `100`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u16>,
    /// The most requests of one measurement, from `rounds` to 256; with more it has failed (M).
    /// Default: `200`, or 256 where `rounds` is more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<u16>,
    /// The least time between two requests (t). Default: `400us`: where answers
    /// carry requests, both ends of a short link ask each other every t.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spacing_min: Option<Span>,
    /// The time after which the next request is sent whatever has come in, 1 us to 10 s, no less
    /// than `spacing_min` (T). Default: `500us`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spacing_max: Option<Span>,
    /// When the port measures again by itself, counted from the end of a measurement, 1 us to 10
    /// days. Default: never; it does when the link comes up, and when it is told to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period: Option<Span>,
    /// Whether a request may ride on a response. Default: `true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub piggyback: Option<bool>,
    /// What the times in messages count, on which the proposal is silent: `ns` or `ps`. Both ends
    /// must say the same. Default: `ns`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<TimesName>,
    /// How a message says whether it asks or answers, on which the proposal is silent: by two
    /// `flags`, or by `numbers` from 0. Default: `flags`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kinds: Option<KindsName>,
    /// What the length field counts, on which the proposal is silent: the `whole` PDU, or the
    /// `rest` behind the field. Default: `whole`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<LengthName>,
    /// Which message has the optional fields of a frame of both, on which the proposal can be read
    /// in two ways: the `request` or the `response`. Default: `request`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rides: Option<RidesName>,
}

/// Which of two messages in one frame has the optional fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RidesName {
    /// The request of its sender.
    #[default]
    Request,
    /// The response to its receiver.
    Response,
}

/// What the times in messages count.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TimesName {
    /// Nanoseconds.
    #[default]
    Ns,
    /// Picoseconds.
    Ps,
}

/// How a message says what it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum KindsName {
    /// Bit 0 for a request, bit 1 for a response.
    #[default]
    Flags,
    /// Request 0, response 1, both 2.
    Numbers,
}

/// What the length field counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LengthName {
    /// The whole PDU.
    #[default]
    Whole,
    /// What follows the field.
    Rest,
}

/// PTP's peer delay (IEEE 1588 11.4). The port answers requests where this is given, or where its
/// headroom is found so.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ptp {
    /// Whether requests of the peer are answered, in two steps. Default: `true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub respond: Option<bool>,
    /// Whether this port asks too, as ports that speak PTP do. Default: `true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initiate: Option<bool>,
    /// From one request to the next, 1 us to 100 s. Default: `1s`, as IEEE 1588 has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Span>,
    /// Exchanges over which the delay is taken, 1 to 256. Default: `8`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u16>,
    /// The PTP domain, 0 to 239. Default: `0`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain: Option<u8>,
    /// Whose messages they are: `ieee1588` or `ieee802_1as`. Default: `ieee1588`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<PtpProfile>,
}

/// Whose messages PTP's are (majorSdoId).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
pub enum PtpProfile {
    /// IEEE 1588.
    #[default]
    #[serde(rename = "ieee1588")]
    Ieee1588,
    /// IEEE 802.1AS.
    #[serde(rename = "ieee802_1as")]
    Ieee8021As,
}

impl Serialize for Headroom {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Computed => s.serialize_str("computed"),
            Self::Auto(auto) if *auto == AutoHeadroom::default() => s.serialize_str("auto"),
            Self::Auto(auto) => HeadroomLong { auto: auto.clone() }.serialize(s),
        }
    }
}

struct HeadroomReader;

impl<'de> Visitor<'de> for HeadroomReader {
    type Value = Headroom;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`computed`, `auto`, or a mapping such as `{auto: {method: ptp}}`")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Headroom, E> {
        match text {
            "computed" => Ok(Headroom::Computed),
            "auto" => Ok(Headroom::Auto(AutoHeadroom::default())),
            _ => Err(E::unknown_variant(text, &["computed", "auto"])),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Headroom, A::Error> {
        HeadroomLong::deserialize(MapAccessDeserializer::new(map))
            .map(|long| Headroom::Auto(long.auto))
    }
}

impl<'de> Deserialize<'de> for Headroom {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(HeadroomReader)
    }
}

impl JsonSchema for Headroom {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("Headroom")
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let auto = generator.subschema_for::<AutoHeadroom>();
        json_schema!({
            "anyOf": [
                { "enum": ["computed", "auto"] },
                {
                    "type": "object",
                    "properties": { "auto": auto },
                    "required": ["auto"],
                    "additionalProperties": false
                }
            ]
        })
    }
}

impl fmt::Display for StatisticName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Max => f.write_str("max"),
            Self::Mean => f.write_str("mean"),
            Self::Percentile(n) => write!(f, "p{n}"),
        }
    }
}

impl Serialize for StatisticName {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

struct StatisticReader;

impl Visitor<'_> for StatisticReader {
    type Value = StatisticName;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`max`, `mean`, or a percentile from `p1` to `p99`")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<StatisticName, E> {
        let percentile = || text.strip_prefix('p')?.parse().ok().filter(|n| (1..=99).contains(n));
        match text {
            "max" => Ok(StatisticName::Max),
            "mean" => Ok(StatisticName::Mean),
            _ => percentile()
                .map(StatisticName::Percentile)
                .ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self)),
        }
    }
}

impl<'de> Deserialize<'de> for StatisticName {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(StatisticReader)
    }
}

impl JsonSchema for StatisticName {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("StatisticName")
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^(max|mean|p[1-9][0-9]?)$" })
    }
}
