//! The top-of-rack proxy of Source Flow Control.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::parts::{Centiseconds, SendersSaid};
use crate::config::quantity::{Ratio, Span};

/// The proxy: source flow control messages for hosts that do not obey them become PFC. `{}` turns it on
/// for the ports that are `attached` to such hosts.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SfcProxy {
    /// The UDP port that the egress filter looks for, 49152 to 65535. Default: that of `sfc`, or `58622`
    /// without.
    #[serde(rename = "sfcmUDPPort", skip_serializing_if = "Option::is_none")]
    pub udp_port: Option<u16>,
    /// Whose messages are accepted. Default: anybody's from switches, nobody's from hosts.
    #[serde(default, skip_serializing_if = "SfcProxyAccept::is_default")]
    pub accept: SfcProxyAccept,
    /// How much accepted messages may pause. Default: as its fields have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<PausePolicy>,
    /// Pauses remembered by destination, so that flows to it that begin later are paused at once.
    /// `{}` turns it on. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<SfcProxyCache>,
}

/// Whose messages the proxy accepts, by the IP address that they come from.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SfcProxyAccept {
    /// From ports attached to switches: `anybody`, `nobody`, or a list of networks and addresses.
    /// Default: `anybody`, because a message comes from the destination of its flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switches: Option<SendersSaid>,
    /// From ports attached to hosts, likewise. Default: `nobody`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosts: Option<SendersSaid>,
}

impl SfcProxyAccept {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// How much messages may pause, whatever they ask for.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PausePolicy {
    /// The longest pause that one message gets, above 0 up to 5 s. Default: `1ms`, what 12.5 MB take to
    /// drain at 100 Gb/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest: Option<Span>,
    /// How long a priority of a host may be paused without a break after long rest, no less than
    /// `longest`, up to 60 s. Default: `10ms`, or ten times `longest` where that is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credit: Option<Span>,
    /// The part of time that a priority may be paused in the long run. Default: `75%`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<Ratio>,
    /// The mean time between two messages that are accepted for a port, in the long run, above 0 up to
    /// 1 s. Default: `10us`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spacing: Option<Span>,
    /// How many messages are accepted at once after long rest, at least 1. Default: `64`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<u32>,
}

/// Pauses remembered by destination.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SfcProxyCache {
    /// How many pairs of destination and priority there is room for, 8 to 1048576, a power of two.
    /// Default: `4096`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entries: Option<u32>,
    /// How long an entry can stay after the last message about it, in centiseconds, or as a span with
    /// its unit. Default: that of `sfc`, or `100` without.
    #[serde(rename = "sfcMaxFlowLife", skip_serializing_if = "Option::is_none")]
    pub max_flow_life: Option<Centiseconds>,
    /// What a flow that begins later gets: the `rest` of the pause, or the `whole` pause anew. Default:
    /// `rest`; when it is over the queue has drained.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remember: Option<RememberName>,
}

/// What a later flow gets of a pause.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RememberName {
    /// What is left of it.
    #[default]
    Rest,
    /// All of it, as long as the entry lives.
    Whole,
}
