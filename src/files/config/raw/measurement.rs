//! Automatic headroom of a port and the measurements that it uses.

use ::file::{forms, word_or};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use super::congestion::settings;
use crate::changes;
use crate::quantity::{Length, Signed, Span};
use headroom::Formula;
use headroom::peer_delay::PeerDelayPlan;
use link::{Method, Statistic};
use wire::headroom::{Compensation, KindCodes, LengthField, Piggyback, Readings, TimeUnit};

/// Source of the headroom of a port's lossless groups whose profiles have `auto`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Headroom {
    /// Calculated from the `link` section.
    #[default]
    Computed,
    /// Calculated at first, then set from the port's measurements.
    Auto(AutoHeadroom),
}

/// The words of `headroom`.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum HeadroomWord {
    Computed,
    Auto,
}

/// The mapping form of `headroom`.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct HeadroomLong {
    auto: AutoHeadroom,
}

/// Automatic headroom of a port (P802.1Qdt).
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AutoHeadroom {
    /// Measurement: `round_trip`, by requests and responses between the two ports, `ptp`, PTP peer
    /// delay plus the internal delays of both ends, or a list of both in order of preference:
    /// the first that both ends offer is used, and the next if it fails. `auto` is `[round_trip,
    /// ptp]`. Default: `round_trip`.
    pub method: Option<MethodChoice>,
    /// Statistic of the measured times: `max`, `mean`, or a percentile from `p1` to `p99`. Default:
    /// `max`, because headroom is for the worst case; the proposal uses the mean, which is also
    /// `letter`, and the default with `measurement.dialect: letter`.
    pub statistic: Option<StatisticName>,
    /// Reading of the delay value of `round_trip`: `full`, (t2 - t1) + (t4 - t3) with the reaction
    /// and the shims of the peer (S4), or `short`, t4 - t1 (S1), whose turnaround stands for the
    /// reaction. Default: `full`.
    pub formula: Option<Formula>,
    /// Adjustment of this port for the difference between the paths of MAC data frames, which are
    /// measured, and of MAC control frames: signed, up to 1 s, in whole nanoseconds. Default:
    /// `0ns`.
    pub adjustment: Option<Signed>,
    /// Cable length for which headroom is calculated until the link is measured, up to 1000 km.
    /// Default: that of `link`; in a lab the link's own.
    pub assume: Option<Length>,
    /// Largest headroom that a measurement can set, as a multiple of the headroom for the length in
    /// `link` (in a lab the link's own), 1 to 1000, so that a host that answers late cannot take
    /// the buffer. Default: `4`.
    pub limit: Option<u32>,
    /// Time from a group's crossing of its threshold to the transfer of the PFC frame to the MAC,
    /// up to 1 s. Default: `0s`; the delay of polling is included already, as `link.poll_gap`.
    pub invocation: Option<Span>,
    /// Time after link-up that the port waits for its peer's DCBX settings before it measures
    /// without them, up to 1 h. Default: `3s`, and no wait without `dcbx`.
    pub wait: Option<Span>,
    /// MACsec delay of a PFC frame. Default: none; with `macsec` on the port, its `delay`, unless
    /// data is protected too: measurement messages include it then.
    pub macsec: Option<MacsecShims>,
}

/// Delays of the MACsec layers, which protect PFC frames and lie below the timestamps.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MacsecShims {
    /// Transmit delay of the layer at this end, up to 1 s. Default: `0s`.
    pub local_shim: Option<Span>,
    /// Delay of the layer at the peer (`r_tx_shim` of the proposal's formula), up to 1 s. Default:
    /// `0s`.
    pub remote_shim: Option<Span>,
    /// Layer of the peer whose delay is used if that of the port's own `macsec` stands for it:
    /// `transmit`, the letter of the formula, from which frames still come after the pause, or
    /// `receive`, which a protected PFC frame meets. Default: `receive`, and `transmit` with
    /// `measurement.dialect: letter`.
    pub remote: Option<RemoteShim>,
}

/// Layer of the peer in the delay value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RemoteShim {
    /// The transmit layer.
    Transmit,
    /// The receive layer.
    #[default]
    Receive,
}

/// Measurements for automatic headroom, in order of preference.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum MethodChoice {
    /// All, requests and responses first.
    Auto,
    /// Requests and responses between the two ports.
    #[default]
    RoundTrip,
    /// PTP peer delay.
    Ptp,
    /// A list.
    List(Vec<Method>),
}

word_or! {
    MethodChoice "MethodChoice" enum "auto" Auto | "round_trip" RoundTrip | "ptp" Ptp
        or list Vec<Method> as List:
        "`auto`, `round_trip`, `ptp`, or a list of methods in order of preference";
}

/// Statistic of the measured times.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StatisticName(pub Statistic);

settings! {
/// Request/response measurement of the link (P802.1Qdt). The port answers requests if this section
/// is present, or if its automatic headroom uses the measurement.
pub struct Measurement {
    /// True to answer the peer's requests. Default: `true`.
    pub respond: Option<bool>,
    /// True to measure from this port too. Default: `false`, but `true` if its automatic headroom
    /// uses the measurement.
    pub initiate: Option<bool>,
    /// Number of round trips in a measurement, 1 to 256 (N of the proposal, which has no defaults).
    /// Default: `100`.
    pub rounds: Option<u16> => "rounds",
    /// Largest number of requests in a measurement, from `rounds` to 256; the measurement fails if
    /// they do not suffice (M). Default: `200`, or 256 if `rounds` is more.
    pub requests: Option<u16>,
    /// Shortest time between two requests (t). Default: `400us`: with piggybacked requests, both
    /// ends of a short link send a request every t.
    pub spacing_min: Option<Span>,
    /// Time after which the next request is sent without waiting for a response, 1 us to 10 s, not
    /// below `spacing_min` (T). Default: `500us`.
    pub spacing_max: Option<Span> => "spacing_max",
    /// Time from the end of a measurement to the next, 1 us to 10 days. Default: never; the port
    /// measures when its link comes up, and on command.
    pub period: Option<Span>,
    /// True if a response may carry a request. Default: `true`.
    pub piggyback: Option<bool>,
    /// Unit of the times in messages, which the proposal does not define: `ns` or `ps`. Both ends
    /// must use the same. Default: `ns`.
    pub times: Option<TimeUnit>,
    /// Encoding of the message type, which the proposal does not define: two `flags`, or `numbers`
    /// from 0. Default: `flags`.
    pub kinds: Option<KindCodes>,
    /// Extent of the length field, which the proposal does not define: the `whole` PDU, the `rest`
    /// after the field, or the `fields` without the padding of `pdu`. Default: `whole`.
    pub length: Option<LengthField>,
    /// Owner of the optional fields in a frame with both messages, on which the proposal is
    /// ambiguous: the `request` or the `response`. Default: `request`.
    pub rides: Option<Piggyback>,
    /// Length to which PDUs are padded, 65 to 529 bytes as in the proposal's table; above 255 the
    /// field `length` of one byte has to be of the `fields`. Default: none, PDUs end with their
    /// fields (35 or 44 bytes); 65 with `dialect: letter`.
    pub pdu: Option<u16>,
    /// Place in messages of the port's reaction to a pause, which the proposal names without a
    /// layout: `absent`, or in each `response`, after the proposal's fields. Default: `absent`;
    /// DCBX may have it.
    pub compensation: Option<Compensation>,
    /// Time from the last bit of a received pause to this port's last frame start, which it tells
    /// its peer; up to 1 s. Default: that of the link's `poll_gap` and of the frames that the
    /// device still sends; in a lab the link's `response`.
    pub reaction: Option<Span>,
    /// Adjustment of that time for the difference between the paths of MAC data frames, which are
    /// measured, and of MAC control frames: signed, up to 1 s, in whole nanoseconds. Default:
    /// `0ns`.
    pub adjustment: Option<Signed>,
    /// Readings of all that the proposal leaves open, unless a key sets one: `sluice`, or the
    /// `letter` of the proposal: PDUs of its table, its mean as `statistic`, and its form of the
    /// PFC TLV. Default: `sluice`.
    pub dialect: Option<Readings>,
}
}

changes! {
/// PTP peer delay (IEEE 1588 11.4). The port answers requests if this section is present, or if its
/// automatic headroom uses peer delay.
pub struct Ptp of PeerDelayPlan {
    /// True to answer the peer's requests, in two steps. Default: `true`.
    pub respond: Option<bool> => ..,
    /// True to send requests too, as PTP ports do. Default: `true`.
    pub initiate: Option<bool>,
    /// Time between requests, 1 us to 100 s. Default: `1s`, as in IEEE 1588.
    pub interval: Option<Span>,
    /// Number of exchanges per result, 1 to 256. Default: `8`.
    pub rounds: Option<u16> => 1..=256,
    /// PTP domain, 0 to 239. Default: `0`.
    pub domain: Option<u8> => 0..=239,
    /// PTP profile: `ieee1588` or `ieee802_1as`. Default: `ieee1588`.
    pub profile: Option<PtpProfile>,
}
}

/// PTP profile (majorSdoId).
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
            // The short form, as authors write it.
            Self::Auto(auto) if *auto == AutoHeadroom::default() => s.serialize_str("auto"),
            Self::Auto(auto) => HeadroomLong { auto: auto.clone() }.serialize(s),
        }
    }
}

impl Serialize for StatisticName {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(&self.0)
    }
}

forms! {
    Headroom as "Headroom", "`computed`, `auto`, or a mapping such as `{auto: {method: ptp}}`" =>
        text HeadroomWord => |word| match word {
            HeadroomWord::Computed => Headroom::Computed,
            HeadroomWord::Auto => Headroom::Auto(AutoHeadroom::default()),
        },
        map HeadroomLong => |long| Headroom::Auto(long.auto);
        |generator| {
            "anyOf": [
                { "enum": ["computed", "auto"] },
                {
                    "type": "object",
                    "properties": { "auto": generator.subschema_for::<AutoHeadroom>() },
                    "required": ["auto"],
                    "additionalProperties": false
                }
            ]
        }

    StatisticName as "StatisticName", "`max`, `mean` (or `letter`), or a percentile from `p1` to `p99`" =>
        word => |text| text.parse().map(|statistic| Ok(StatisticName(statistic))).ok();
        |_| { "type": "string", "pattern": "^(max|mean|letter|p[1-9][0-9]?)$" }
}
