//! What carries a flow, and how its two ends talk.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Short, Wanted};
use crate::config::quantity::{Rate, Ratio, Size, Span};

/// What carries a flow: a word, or one with more to it.
pub type Transport = Short<TransportName, TransportLong>;

/// What carries a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TransportName {
    /// UDP over IPv4; nothing is answered.
    #[default]
    Udp,
    /// Nothing but Ethernet; nothing is answered.
    Ethernet,
    /// A reliable connection of RoCEv2.
    Roce,
    /// A window that goes as TCP's does.
    Tcp,
}

/// What carries a flow: exactly one of these.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TransportLong {
    /// A reliable connection of RoCEv2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roce: Option<Roce>,
    /// A window that goes as TCP's does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp: Option<Tcp>,
}

impl Wanted for TransportLong {
    const WANTED: &'static str = "udp, ethernet, roce, tcp, {roce: ...} or {tcp: ...}";
}

/// A reliable connection of RoCEv2.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Roce {
    /// How data is named: `send`, or `write`, whose first frame is 16 octets longer. Default:
    /// `send`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<OperationName>,
    /// What is repeated after a loss: `go_back_n` (everything from there on, as InfiniBand has it)
    /// or `selective_repeat` (what was lost). Default: `go_back_n`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery: Option<RecoveryName>,
    /// The most octets of payload in flight, at least one frame's. Default: no bound but 16384
    /// frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<Size>,
    /// The receiver acknowledges every so manieth packet, at least 1, and each message's last.
    /// Default: `1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack_every: Option<u32>,
    /// How long nothing may be acknowledged before the first unacknowledged packet is repeated.
    /// Default: `1ms`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Span>,
    /// Messages, in place of one of all that there is to send. Default: one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<Messages>,
    /// The reaction point: `none`, a set of parameters, or one with changes, such as
    /// `{preset: ns3, additive: 5M}`. Default: `none`; CNPs are counted and change nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dcqcn: Option<Short<DcqcnName, Dcqcn>>,
    /// The least time between two CNPs of the flow; `0` for no CNPs at all. Default: `50us`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cnp_interval: Option<Span>,
    /// The priority of CNPs, 0 to 7; their DSCP is eight times that. Default: `6`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cnp_priority: Option<u8>,
    /// The priority of acknowledgements, 0 to 7; their DSCP is eight times that. Default: priority
    /// and DSCP of the data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack_priority: Option<u8>,
}

/// A window that goes as that of TCP NewReno does: what congestion control makes of a network, and
/// no more of TCP than that.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tcp {
    /// The window that it starts with, in segments, at least 1. Default: `10` (RFC 6928).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_window: Option<u32>,
    /// The most octets in flight, at least one segment. Default: no bound but 16384 segments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<Size>,
    /// The shortest retransmission timeout. Default: `1ms`, as data centres have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_min: Option<Span>,
    /// Messages, in place of one of all that there is to send. Default: one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<Messages>,
    /// The priority of acknowledgements, 0 to 7; their DSCP is eight times that. Default: priority
    /// and DSCP of the data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack_priority: Option<u8>,
}

/// Messages, each with a completion time of its own.
#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Messages {
    /// Octets of each, at least 1.
    pub bytes: Size,
    /// From one becoming due to the next; one that is due waits for those before it. Default:
    /// `0s`, as fast as they go.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<Span>,
    /// How many there are, at least 1. Default: as many as the flow's `duration` has octets for, or
    /// without end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
}

/// How data is named on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OperationName {
    /// SEND.
    #[default]
    Send,
    /// RDMA WRITE.
    Write,
}

/// What is repeated after a loss.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RecoveryName {
    /// Everything from the lost packet on.
    #[default]
    GoBackN,
    /// The lost packets alone.
    SelectiveRepeat,
}

/// Sets of DCQCN's parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DcqcnName {
    /// No reaction point.
    None,
    /// As in the paper (SIGCOMM 2015), for links of 40 Gb/s; at others say `additive` too.
    #[default]
    Sigcomm15,
    /// As in the authors' simulator, for links of 40 Gb/s; at others say `additive` too.
    Ns3,
    /// As in the firmware of ConnectX NICs, one set for all rates.
    Mellanox,
}

/// DCQCN's parameters: a set of them, with changes.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dcqcn {
    /// The set that is changed. Default: `sigcomm15`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<DcqcnName>,
    /// The gain g by which alpha follows the notifications, above 0 up to 1. Default: the set's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gain: Option<f64>,
    /// Alpha before the first notification. Default: the set's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_alpha: Option<Ratio>,
    /// How long without a notification until alpha decays (K). Default: the set's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpha_period: Option<Span>,
    /// From one timed increase to the next (T). Default: the set's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub increase_period: Option<Span>,
    /// From one counted increase to the next (B). Default: the set's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub increase_bytes: Option<Size>,
    /// How many increases only go half way back (F). Default: the set's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recoveries: Option<u32>,
    /// What an additive increase adds (R_AI). Default: the set's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub additive: Option<Rate>,
    /// What a hyper increase adds (R_HAI). Default: the set's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hyper: Option<Rate>,
    /// The rate that nothing falls below. Default: the set's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_rate: Option<Rate>,
    /// The least time between two decreases. Default: the set's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decrease_period: Option<Span>,
    /// The most that one decrease takes of the rate, 1% to 100%, in whole percent. Default: the
    /// set's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decrease_max: Option<Ratio>,
    /// Whether each decrease makes the rate before it the target. Default: the set's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clamp_target: Option<bool>,
}

impl Wanted for Dcqcn {
    const WANTED: &'static str = "none, sigcomm15, ns3, mellanox, or {preset: ns3, additive: 5M}";
}
