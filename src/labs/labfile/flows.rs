//! Flows, in the terms of the Open Traffic Generator's model, and a traffic generator on hosts of a lab.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use super::{Bytes, Chosen, OnOff, Short, Transport, Wanted};
use config::forms;
use config::quantity::{Rate, Ratio, Size, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

/// A flow, or one for each pair of sender and receiver. A single flow has the name given here.
/// Several flows are named `name_from` if they share one receiver, else `name_from_to`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Name in results: letters, digits, `_` and `-`. Default: `f1` for the first, and so on.
    pub name: Option<String>,
    /// Sending host, a range (`h1..h16`), a list of both, `all`, or some hosts at random:
    /// `{random: 8, of: h1..h64}`. Default: `all`.
    pub from: Option<Chosen>,
    /// Receiving hosts, in the same forms. Default: `all`.
    pub to: Option<Chosen>,
    /// Pairs of sender and receiver, never a host with itself: `all_to_all` (every sender to every
    /// receiver; with one receiver this is an incast), `pairs` (the first to the first, and so on),
    /// `permutation` (every sender to one receiver, no receiver twice, chosen at random by the
    /// seed), `random` (every message of a sender to a receiver chosen at random; without messages,
    /// every sender to one), or a collective of the hosts of `from`: `ring` (ring all-reduce) or
    /// `exchange` (every host sends a part to every other). Default: `all_to_all`.
    pub pattern: Option<Pattern>,
    /// Offered rate of each flow: a share of the sender's link (`100%`, preamble and gap included),
    /// bits of frames per second (`40G`), frames per second (`1000pps`), or one of these as
    /// `{percentage: 50}`, `{bps: 40000000000}`, `{pps: 1000}`. Default: `100%`.
    pub rate: Option<FlowRate>,
    /// Frame size in bytes, FCS included: 64 (`tcp` 76, `roce` 80) to 16384. Default: `1518`, a
    /// packet of 1500 bytes.
    pub size: Option<Size>,
    /// Amount of traffic: `{frames: 20000}`, `{seconds: 1ms}`, `{bytes: 20MB}` of payload (rounded
    /// up to whole frames for `udp` and `ethernet`), or `continuous`. `bytes` may be a distribution,
    /// from which each flow draws its own; for `ring` and `exchange` it is the data of each host.
    /// Flows with a `load` take `seconds`: no message becomes due after them, and all are sent.
    /// Default: `continuous`, until the run ends.
    pub duration: Option<FlowDuration>,
    /// Start time. Default: `0s`.
    pub start: Option<Span>,
    /// Delay between the starts of successive flows of this entry. Default: `0s`.
    pub stagger: Option<Span>,
    /// Priority, 0 to 7: the one whose pauses stop the flow at its host, and the one that switches
    /// must classify it to. Default: the priority that the first switch maps `dscp` to, or 0
    /// without `dscp`.
    pub priority: Option<u8>,
    /// DSCP, 0 to 63. Default: one that the first switch maps to `priority`, preferably eight times
    /// the priority.
    pub dscp: Option<u8>,
    /// ECN codepoint: `not_ect`, `ect0` or `ect1`. Default: `not_ect`, and ect0 for RoCE.
    pub ecn: Option<EcnName>,
    /// True for a victim flow: one that does not cross the congestion point and must keep its
    /// throughput. Results list the throughput of victims separately. Default: `false`.
    pub victim: Option<bool>,
    /// Transport: `udp` over IPv4; `ethernet`, frames without IP, whose priority is the default of
    /// the switch's port; `roce`, an RC connection of RoCEv2; `tcp`, TCP NewReno's congestion
    /// window; or the last two with parameters: `{roce: {dcqcn: sigcomm15}}`. Default: `udp`.
    pub transport: Option<Transport>,
    /// ON and OFF periods, `{on: 20us, off: 80us}`: the flow has its rate in the ON periods and sends
    /// nothing in the others. Default: always ON.
    pub on_off: Option<OnOff>,
}

/// Pairs of sender and receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// Every sender to every receiver.
    #[default]
    #[serde(alias = "incast")]
    AllToAll,
    /// The first to the first, and so on.
    Pairs,
    /// Every sender to one receiver, no receiver twice, chosen at random by the seed.
    Permutation,
    /// Every message of a sender to a receiver chosen at random by the seed; without messages, every
    /// sender to one.
    Random,
    /// Ring all-reduce among n hosts: 2(n-1) steps, in each of which every host sends a chunk of
    /// 1/n of its data to the next one; a host begins a step when the chunk of the step before has
    /// arrived.
    Ring,
    /// All-to-all collective among n hosts: every host sends 1/n of its data to every other one.
    Exchange,
}

/// ECN codepoints.
// Without CE, which senders do not set: `wire::ip::Ecn` has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EcnName {
    /// Not ECN-capable.
    #[default]
    NotEct,
    /// ECT(0).
    Ect0,
    /// ECT(1).
    Ect1,
}

/// Offered rate of a flow.
pub type FlowRate = Short<FlowRateText, FlowRateLong>;

/// Offered rate as text with a unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlowRateText {
    /// Share of the link's rate.
    Share(Ratio),
    /// Bits of frames per second.
    Bits(Rate),
    /// Frames per second.
    Frames(u64),
}

/// Offered rate: exactly one of these.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowRateLong {
    /// Share of the link in percent, above 0 and up to 100.
    pub percentage: Option<f64>,
    /// Bits of frames (FCS included, preamble and gap not) per second.
    pub bps: Option<Rate>,
    /// Frames per second.
    pub pps: Option<u64>,
}

impl Wanted for FlowRateLong {
    const WANTED: &'static str = "a rate; write 100%, 40G, 1000pps or {percentage: 50}";
}

/// Amount of traffic of a flow.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum FlowDuration {
    /// Until the run ends.
    #[default]
    Continuous,
    /// A given amount.
    Amount(Amount),
}

/// Amount of traffic: exactly one of these.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Amount {
    /// Number of frames, at least 1.
    pub frames: Option<u64>,
    /// Duration from the flow's start.
    pub seconds: Option<Span>,
    /// Payload in bytes, at least 1, sent in whole frames; or a distribution, from which each flow
    /// draws its own: `websearch`, `hadoop`, `{cdf: FILE}`.
    pub bytes: Option<Bytes>,
}

impl fmt::Display for FlowRateText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Share(ratio) => ratio.fmt(f),
            // With `bps` in any case, which tells a rate from a number of frames.
            Self::Bits(rate) => write!(f, "{}bps", rate.to_string().trim_end_matches("bps")),
            Self::Frames(n) => write!(f, "{n}pps"),
        }
    }
}

impl std::str::FromStr for FlowRateText {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.ends_with('%') {
            return text.parse().map(Self::Share);
        }
        if let Some(number) = text.strip_suffix("pps") {
            // Parsed as a rate: it has the unit prefixes and is above zero.
            let rate = format!("{number}bps").parse::<Rate>().map_err(|_| {
                format!("`{text}` is no number of frames per second; write 1000pps or 1.5Mpps")
            })?;
            return Ok(Self::Frames(rate.0.get()));
        }
        // A bare number could be bits or frames per second.
        if text.ends_with(|c: char| c.is_ascii_digit()) {
            return Err(format!(
                "`{text}` has no unit; write a share (100%), bits (40G) or frames (1000pps)"
            ));
        }
        text.parse().map(Self::Bits)
    }
}

impl Serialize for FlowRateText {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl Serialize for FlowDuration {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Continuous => s.serialize_str("continuous"),
            Self::Amount(amount) => amount.serialize(s),
        }
    }
}

forms! {
    // A number without a unit is always an error, and the text has the better message.
    FlowRateText as "FlowRateText", FlowRateLong::WANTED =>
        text, whole, float;
        |_| {
            "type": "string",
            "pattern": r"^[0-9][0-9_]*(\.[0-9]+)? *(%|[kKMGT]?(bps|b/s|pps)?)$"
        }

    FlowDuration as "FlowDuration", "`continuous`, {frames: 1000}, {seconds: 1ms} or {bytes: 20MB}" =>
        word => |text| (text == "continuous").then_some(Ok(FlowDuration::Continuous)),
        map Amount => FlowDuration::Amount;
        |generator| { "anyOf": [{ "const": "continuous" }, generator.subschema_for::<Amount>()] }
}

/// A traffic generator: a configuration of the Open Traffic Generator model whose ports are hosts.
/// Its flows start with the lab. Exactly one of `file` and `config` is given.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Otg {
    /// Generator file of `sluice gen`; a relative path starts at the lab file's folder. Default:
    /// none.
    pub file: Option<PathBuf>,
    /// OTG configuration. Default: none.
    pub config: Option<serde_json::Value>,
    /// Host of each port of the configuration, by port name, instead of the port's `location`.
    /// Default: the location is the name of a host.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ports: BTreeMap<String, String>,
}
