//! Transports of flows, and reactions of hosts to the congestion messages of switches.

use super::{Load, Short, Wanted};
use config::changes;
use config::quantity::{Rate, Ratio, Size, Span};
use config::raw::{Centiseconds, Senders};
use congestion::DcqcnPlan;
use congestion::qcn::ReactionPlan;
use ground::time::Duration;
use ground::units::Bytes;
use host::{Operation, Recovery, SfcPause};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Transport of a flow: a word, or a mapping with parameters.
pub type Transport = Short<TransportWord, TransportLong>;

/// Transport of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TransportWord {
    /// UDP over IPv4, without acknowledgements.
    #[default]
    Udp,
    /// Ethernet without IP, without acknowledgements.
    Ethernet,
    /// RC connection of RoCEv2.
    Roce,
    /// TCP NewReno's congestion window.
    Tcp,
}

/// Transport of a flow: exactly one of these.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TransportLong {
    /// RC connection of RoCEv2.
    pub roce: Option<Roce>,
    /// TCP NewReno's congestion window.
    pub tcp: Option<Tcp>,
}

impl Wanted for TransportLong {
    const WANTED: &'static str = "udp, ethernet, roce, tcp, {roce: ...} or {tcp: ...}";
}

/// RC connection of RoCEv2.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Roce {
    /// Operation: `send`, or `write`, whose first packet has a RETH, 16 bytes more. Default:
    /// `send`.
    pub operation: Option<Operation>,
    /// Retransmission after a loss: `go_back_n` (everything from the lost packet on, as in
    /// InfiniBand) or `selective_repeat` (lost packets only). Default: `go_back_n`.
    pub recovery: Option<Recovery>,
    /// Maximum payload in flight in bytes, at least one frame's. Default: no limit but 16384
    /// frames.
    pub window: Option<Size>,
    /// Packets per acknowledgement, at least 1; each message's last packet is always acknowledged.
    /// Default: `1`.
    pub ack_every: Option<u32>,
    /// Retransmission timeout: time without an acknowledgement before the first unacknowledged
    /// packet is sent again. Default: `1ms`, or the time of 125,000 bytes on the slowest link of the path, if that is
    /// longer: below 1 Gb/s.
    pub timeout: Option<Span>,
    /// Messages, instead of one with all data. Default: one.
    pub messages: Option<Messages>,
    /// DCQCN reaction point: `none`, a parameter preset, or a preset with changes, such as
    /// `{preset: ns3, additive: 5M}`. Default: `none`; CNPs are counted and change nothing.
    pub dcqcn: Option<Short<DcqcnName, Dcqcn>>,
    /// Minimum interval between two CNPs of the flow; `0` for no CNPs. Default: `50us`.
    pub cnp_interval: Option<Span>,
    /// Priority of CNPs, 0 to 7; their DSCP is eight times that. Default: `6`.
    pub cnp_priority: Option<u8>,
    /// Priority of acknowledgements, 0 to 7; their DSCP is eight times that. Default: priority and
    /// DSCP of the data.
    pub ack_priority: Option<u8>,
}

/// TCP NewReno's congestion window, without the other functions of TCP.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tcp {
    /// Initial window in segments, at least 1. Default: `10` (RFC 6928).
    pub initial_window: Option<u32>,
    /// Maximum bytes in flight, at least one segment. Default: no limit but 16384 segments.
    pub window: Option<Size>,
    /// Minimum retransmission timeout. Default: `1ms`, as is usual in data centres, or the time of 125,000 bytes on
    /// the slowest link of the path, if that is longer: below 1 Gb/s.
    pub timeout_min: Option<Span>,
    /// Messages, instead of one with all data. Default: one.
    pub messages: Option<Messages>,
    /// Priority of acknowledgements, 0 to 7; their DSCP is eight times that. Default: priority and
    /// DSCP of the data.
    pub ack_priority: Option<u8>,
}

/// Messages, each with its completion time.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Messages {
    /// Length of each message in bytes, at least 1, or a distribution from which each length is
    /// drawn: `websearch`, `hadoop`, `{cdf: FILE}` or `{points: [...]}`.
    pub bytes: super::Bytes,
    /// Interval between messages; a message waits for those before it. Default: `0s`, back to back.
    pub every: Option<Span>,
    /// Number of messages, at least 1; with `load` or `pattern: random` that of each sender. Default:
    /// as many as the flow's `duration` has bytes for, or unlimited.
    pub count: Option<u64>,
    /// Offered load, instead of `every`: messages become due at random times (Poisson process), so
    /// that they take this share of each sender's link on average, headers, preamble and gap
    /// included: `60%`, or `{receiver: 60%}` for the receivers' links. They wait for nothing but
    /// earlier messages between the same two hosts. Default: none.
    pub load: Option<Load>,
}

/// Presets of DCQCN parameters.
// The names of the constructors of `DcqcnPlan`, and `none`, which is no plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DcqcnName {
    /// No reaction point.
    None,
    /// As in the paper (SIGCOMM 2015), for links of 40 Gb/s; other rates also need `additive`.
    #[default]
    Sigcomm15,
    /// As in the authors' simulator, for links of 40 Gb/s; other rates also need `additive`.
    Ns3,
    /// As in the firmware of ConnectX NICs, one set for all rates.
    Mellanox,
}

changes! {
/// DCQCN parameters: a preset, with changes.
pub struct Dcqcn of DcqcnPlan {
    /// Preset. Default: `sigcomm15`.
    pub preset: Option<DcqcnName>,
    /// Gain g of alpha, above 0 up to 1. Default: the preset's.
    pub gain: Option<f64>,
    /// Initial alpha, before the first CNP. Default: the preset's.
    pub initial_alpha: Option<Ratio>,
    /// Time without a CNP until alpha decays (K). Default: the preset's.
    pub alpha_period: Option<Span> => ..,
    /// Interval of timed rate increases (T). Default: the preset's.
    pub increase_period: Option<Span> => ..,
    /// Byte count between counted rate increases (B). Default: the preset's.
    pub increase_bytes: Option<Size> => ..,
    /// Number of increases in fast recovery, each half way to the target rate (F). Default: the
    /// preset's.
    pub recoveries: Option<u32> => ..,
    /// Rate step of additive increase (R_AI). Default: the preset's.
    pub additive: Option<Rate> => ..,
    /// Rate step of hyper increase (R_HAI). Default: the preset's.
    pub hyper: Option<Rate>,
    /// Minimum rate. Default: the preset's.
    pub min_rate: Option<Rate> => ..,
    /// Minimum interval between two decreases. Default: the preset's.
    pub decrease_period: Option<Span> => ..,
    /// Largest decrease at one time, 1% to 100% of the rate, in whole percent. Default: the
    /// preset's.
    pub decrease_max: Option<Ratio>,
    /// True if each decrease sets the target rate to the rate before it. Default: the preset's.
    pub clamp_target: Option<bool> => ..,
}
}

impl Wanted for Dcqcn {
    const WANTED: &'static str = "none, sigcomm15, ns3, mellanox, or {preset: ns3, additive: 5M}";
}

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
    pub in_network: Option<InNetwork>,
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
    pub accept: Option<Senders>,
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

changes! {
/// Reaction points of a host (802.1Q 32.10 to 32.15): the standard's defaults, with changes. Names
/// in brackets are those of IEEE8021-CN-MIB.
pub struct HostQcn of ReactionPlan {
    // A longer interval would never expire.
    /// Interval of timed rate increases, 1 us to 10 s (ieee8021CnRpgTimeReset). Default: `15ms`.
    pub time_reset: Option<Span> => Duration::from_micros(1)..=Duration::from_secs(10),
    /// Byte count between counted rate increases, 2 to 2^40 (ieee8021CnRpgByteReset). Default:
    /// `150000`.
    pub byte_reset: Option<Size> => Bytes(2)..=Bytes(1 << 40),
    /// Number of increases in fast recovery, 1 to 1000 (ieee8021CnRpgThreshold). Default: `5`.
    pub threshold: Option<u32> => 1..=1_000,
    /// Maximum rate of a flow (ieee8021CnRpgMaxRate). Default: the link's rate.
    pub max_rate: Option<Rate>,
    /// Rate step of active increase (ieee8021CnRpgAiRate). Default: `5M`.
    pub active: Option<Rate> => ..,
    /// Rate step of hyper-active increase, multiplied by the number of hyper-active stages that
    /// both timer and byte counter have completed (ieee8021CnRpgHaiRate). Default: `50M`.
    pub hyper: Option<Rate> => ..,
    // Below 6 the strongest feedback would cut the rate to zero.
    /// Decrease of the rate for one step of feedback, as a negative power of two, 6 to 31
    /// (ieee8021CnRpgGd). Default: `7`, 1/128.
    pub gain: Option<u8> => 6..=31,
    /// Minimum decrease factor: smallest part of the rate that remains after one decrease, in whole
    /// percent, 1% to 100% (ieee8021CnRpgMinDecFac). Default: `50%`.
    pub keep_min: Option<Ratio> => 1..=100,
    /// Minimum rate of a flow (ieee8021CnRpgMinRate). Default: `5M`.
    pub min_rate: Option<Rate> => ..,
    /// Random variation of timers and byte counters around their base, in whole percent, 0% to 99%.
    /// Default: `15%`.
    pub jitter: Option<Ratio> => 0..=99,
}
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
pub enum InNetwork {
    /// The flow, or its priority, pauses.
    #[default]
    Pause,
    /// RoCEv2 flows also get another UDP source port.
    Path,
}
