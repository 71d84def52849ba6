//! The top-of-rack proxy of Source Flow Control.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::parts::{Centiseconds, SendersSaid};
use super::settings::settings;
use crate::quantity::{Ratio, Span};
use congestion::proxy::Remember;
use switch::UnknownHost;

settings! {
/// Proxy that converts source flow control messages to PFC for hosts that do not obey them. `{}`
/// enables it for the ports that are `attached` to such hosts.
pub struct SfcProxy {
    /// UDP port that the egress filter matches, 49152 to 65535. Default: that of `sfc`, or `58622`
    /// without.
    #[serde(rename = "sfcmUDPPort")]
    pub udp_port: Option<u16>,
    /// Accepted senders of messages. Default: all from switches, none from hosts.
    #[serde(default, skip_serializing_if = "SfcProxyAccept::is_default")]
    pub accept: SfcProxyAccept,
    /// Handling of received messages whose destination is not in the address table: `drop`, or
    /// `flood` in the VLAN, but not to hosts that the proxy acts for. Default: `drop`.
    pub unknown: Option<UnknownHost> => "unknown",
    /// Lifetime of the entry of a flow that messages named, from the first message on; no pause
    /// outlasts it. In centiseconds, or as a duration with a unit. Default: that of `sfc`, or `100`
    /// without.
    #[serde(rename = "sfcMaxFlowLife")]
    pub max_flow_life: Option<Centiseconds>,
    /// Limits of the pauses that accepted messages cause. Default: the defaults of the fields.
    pub policy: Option<PausePolicy>,
    /// Cache of pauses by destination, so that later flows to it are paused at once. `{}` enables
    /// it. Default: none.
    pub cache: Option<SfcProxyCache>,
}
}

/// Accepted senders of messages, by their source IP address.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SfcProxyAccept {
    /// Senders behind ports attached to switches: `anybody`, `nobody`, or a list of networks and
    /// addresses. Default: `anybody`, because the source address of a message is the destination of
    /// its flow.
    pub switches: Option<SendersSaid>,
    /// Senders behind ports attached to hosts, likewise. Default: `nobody`.
    pub hosts: Option<SendersSaid>,
}

impl SfcProxyAccept {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

settings! {
/// Limits of the pauses that messages cause.
pub struct PausePolicy {
    /// Longest pause from one message, above 0 up to 5 s. Default: `1ms`, in which 12.5 MB drain at
    /// 100 Gb/s.
    pub longest: Option<Span> => "longest",
    /// Longest continuous pause of a host's priority after a long time without one, not below
    /// `longest`, up to 60 s. Default: `10ms`, or ten times `longest` if that is present.
    pub credit: Option<Span>,
    /// Largest average part of the time that a priority may be paused. Default: `75%`.
    pub share: Option<Ratio> => "share",
    /// Average time between two messages that are accepted for a port, above 0 up to 1 s. Default:
    /// `10us`.
    pub spacing: Option<Span> => "spacing",
    /// Largest burst of messages that is accepted, at least 1. Default: `64`.
    pub burst: Option<u32> => "burst",
}
}

/// Cache of pauses by destination.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SfcProxyCache {
    /// Capacity in pairs of destination and priority, 8 to 1048576, a power of two. Default:
    /// `4096`.
    pub entries: Option<u32>,
    /// Lifetime of an entry after the last message about it, in centiseconds, or as a duration with
    /// a unit. Default: that of `sfc`, or `100` without.
    #[serde(rename = "sfcMaxFlowLife")]
    pub max_flow_life: Option<Centiseconds>,
    /// Pause of a later flow: the `rest` of the cached pause, or the `whole` pause again. Default:
    /// `rest`; when it ends the queue has drained.
    pub remember: Option<Remember>,
}
