//! What hosts do about messages of switches about their flows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Wanted;
use crate::config::quantity::{Rate, Ratio, Size, Span};
use crate::config::raw::SendersSaid;

/// What a host does about source flow control messages, in a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SfcWord {
    /// It counts them.
    None,
    /// One pauses the flow that it is about.
    #[default]
    Flow,
    /// One pauses all flows of its priority.
    Priority,
}

/// How a host obeys source flow control messages. `{}` is `flow`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostSfc {
    /// What a message pauses: the `flow` that it is about, or all flows of its `priority`. Default:
    /// `flow`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pause: Option<SfcPauseName>,
    /// The UDP port that messages come to, 49152 to 65535. Default: `58622`.
    #[serde(rename = "sfcmUDPPort", skip_serializing_if = "Option::is_none")]
    pub udp_port: Option<u16>,
    /// The longest pause that one message gets, above 0 up to 5 s. Default: `1ms`, as at the proxy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest: Option<Span>,
    /// Whose messages are obeyed, by the IP address that they come from: `anybody`, `nobody`, or a list
    /// of networks and addresses. Default: `anybody`, because they come from the flow's destination.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accept: Option<SendersSaid>,
}

/// What a message pauses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SfcPauseName {
    /// The flow that it is about.
    #[default]
    Flow,
    /// All flows of its priority.
    Priority,
}

/// The reaction points of a host, in a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QcnWord {
    /// It has none.
    None,
    /// The standard's defaults, which are for 10 Gb/s.
    #[default]
    Standard,
}

/// The reaction points of a host (802.1Q 32.10 to 32.15): the standard's defaults, with changes. Names
/// in brackets are those of IEEE8021-CN-MIB.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostQcn {
    /// From one timed increase to the next, 1 us to 10 s (ieee8021CnRpgTimeReset). Default: `15ms`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_reset: Option<Span>,
    /// From one counted increase to the next, 2 to 2^40 octets (ieee8021CnRpgByteReset). Default:
    /// `150000`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub byte_reset: Option<Size>,
    /// How many increases only recover, 1 to 1000 (ieee8021CnRpgThreshold). Default: `5`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<u32>,
    /// The most that a flow may send at (ieee8021CnRpgMaxRate). Default: the link's rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_rate: Option<Rate>,
    /// What an active increase adds (ieee8021CnRpgAiRate). Default: `5M`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active: Option<Rate>,
    /// What a hyper-active increase adds, times how often both causes had it
    /// (ieee8021CnRpgHaiRate). Default: `50M`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hyper: Option<Rate>,
    /// What a step of feedback cuts off the rate, as a negative power of two, 6 to 31
    /// (ieee8021CnRpgGd). Default: `7`, a 128th.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gain: Option<u8>,
    /// The least that one cut leaves of the rate, in whole percent from 1% (ieee8021CnRpgMinDecFac).
    /// Default: `50%`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_min: Option<Ratio>,
    /// The rate that nothing falls below (ieee8021CnRpgMinRate). Default: `5M`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_rate: Option<Rate>,
    /// How far timers and counters are drawn around their base, in whole percent up to 99%. Default:
    /// `15%`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Ratio>,
}

impl Wanted for HostSfc {
    const WANTED: &'static str = "none, flow, priority, or {pause: flow, longest: 100us}";
}

impl Wanted for HostQcn {
    const WANTED: &'static str = "none, standard, or changes such as {active: 50M}";
}
