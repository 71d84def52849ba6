//! Reactions of hosts to the congestion messages of switches.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Wanted;
use config::quantity::{Rate, Ratio, Size, Span};
use config::raw::{Centiseconds, SendersSaid};
use host::SfcPause;

/// Reaction to source flow control messages, as a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SfcWord {
    /// Messages are counted only.
    None,
    /// A message pauses the flow that it names.
    #[default]
    Flow,
    /// A message pauses all flows of its priority.
    Priority,
}

/// Reaction of a host to source flow control messages. `{}` is `flow`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostSfc {
    /// Scope of the pause: the `flow` of the message, or all flows of its `priority`. Default:
    /// `flow`.
    pub pause: Option<SfcPause>,
    /// UDP port on which messages are received, 49152 to 65535. Default: `58622`.
    #[serde(rename = "sfcmUDPPort")]
    pub udp_port: Option<u16>,
    /// Reaction to messages whose locator says in-network: `pause`, or `path`, a pause and another UDP
    /// source port of RoCEv2 flows, so that they take another path of equal cost. Default: `pause`.
    pub in_network: Option<InNetworkName>,
    /// Minimum time between two changes of path of a flow, 1 us to 10 s. Default: `100us`.
    pub path_spacing: Option<Span>,
    /// Limit of the pause time of one message, above 0 up to 5 s. Default: `1ms`, as at the proxy.
    pub longest: Option<Span>,
    /// Lifetime of the entry of a flow or a priority, from the first message about it on; no pause
    /// outlasts it. In centiseconds, or as a duration with a unit. Default: `100`.
    #[serde(rename = "sfcMaxFlowLife")]
    pub max_flow_life: Option<Centiseconds>,
    /// Accepted senders, by source IP address: `anybody`, `nobody`, or a list of networks and
    /// addresses. Default: `anybody`, because messages carry the address of the flow's destination.
    pub accept: Option<SendersSaid>,
}

/// QCN reaction points of a host, as a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QcnWord {
    /// No reaction points.
    None,
    /// The standard's default parameters, which are for 10 Gb/s.
    #[default]
    Standard,
}

/// Reaction points of a host (802.1Q 32.10 to 32.15): the standard's defaults, with changes. Names
/// in brackets are those of IEEE8021-CN-MIB.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostQcn {
    /// Interval of timed rate increases, 1 us to 10 s (ieee8021CnRpgTimeReset). Default: `15ms`.
    pub time_reset: Option<Span>,
    /// Byte count between counted rate increases, 2 to 2^40 (ieee8021CnRpgByteReset). Default:
    /// `150000`.
    pub byte_reset: Option<Size>,
    /// Number of increases in fast recovery, 1 to 1000 (ieee8021CnRpgThreshold). Default: `5`.
    pub threshold: Option<u32>,
    /// Maximum rate of a flow (ieee8021CnRpgMaxRate). Default: the link's rate.
    pub max_rate: Option<Rate>,
    /// Rate step of active increase (ieee8021CnRpgAiRate). Default: `5M`.
    pub active: Option<Rate>,
    /// Rate step of hyper-active increase, multiplied by the number of hyper-active stages that
    /// both timer and byte counter have completed (ieee8021CnRpgHaiRate). Default: `50M`.
    pub hyper: Option<Rate>,
    /// Decrease of the rate for one step of feedback, as a negative power of two, 6 to 31
    /// (ieee8021CnRpgGd). Default: `7`, 1/128.
    pub gain: Option<u8>,
    /// Minimum decrease factor: smallest part of the rate that remains after one decrease, in whole
    /// percent, 1% to 100% (ieee8021CnRpgMinDecFac). Default: `50%`.
    pub keep_min: Option<Ratio>,
    /// Minimum rate of a flow (ieee8021CnRpgMinRate). Default: `5M`.
    pub min_rate: Option<Rate>,
    /// Random variation of timers and byte counters around their base, in whole percent, 0% to 99%.
    /// Default: `15%`.
    pub jitter: Option<Ratio>,
}

impl Wanted for HostSfc {
    const WANTED: &'static str = "none, flow, priority, or {pause: flow, longest: 100us}";
}

impl Wanted for HostQcn {
    const WANTED: &'static str = "none, standard, or changes such as {active: 50M}";
}

/// Reaction to congestion in the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InNetworkName {
    /// The flow, or its priority, pauses.
    #[default]
    Pause,
    /// RoCEv2 flows also get another UDP source port.
    Path,
}
