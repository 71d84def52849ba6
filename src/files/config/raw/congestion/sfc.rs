//! Source Flow Control (P802.1Qdw, as in the slides of January 2022): its points, and the top-of-rack proxy.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Aqm, Centiseconds, MessageLimit, Senders, TrafficClasses};
use super::{settings, words};
use crate::quantity::{Rate, Ratio, Size, Span};
use crate::raw::Range;
use congestion::proxy::Remember;
use congestion::sfc::{Count, Life};
use switch::{SfcmForm, SfcmFrom, UnknownHost};

settings! {
/// Source flow control points: messages pause the source of a flow that congests a queue. `{}`
/// enables them for the traffic classes that PFC protects.
pub struct Sfc {
    /// True to send messages. Default: `true` if this section is present; the proposal has no
    /// default.
    pub master_enable: Option<bool> => "sfcMasterEnable",
    /// Priority of messages, 0 to 7. Default: `7`.
    pub transmit_priority: Option<u8> => "sfcmTransmitPriority",
    /// Source MAC address of messages. Default: that of the port.
    #[serde(rename = "sfcmMacAddress")]
    pub mac_address: Option<String>,
    /// Source IPv4 address of messages. Default: none; see `from`.
    #[serde(rename = "sfcmIPv4Address")]
    pub ipv4_address: Option<String>,
    /// Source IPv6 address of messages. Default: none; see `from`.
    #[serde(rename = "sfcmIPv6Address")]
    pub ipv6_address: Option<String>,
    /// Source and destination UDP port of messages, 49152 to 65535, the same in the whole network.
    /// Default: `58622`, the example of the proposal.
    #[serde(rename = "sfcmUDPPort")]
    pub udp_port: Option<u16>,
    /// Largest number of messages for a congesting flow, at least 1. Default: `3`. `count` sets the
    /// period.
    pub max_sfcm: Option<u32> => "sfcMaxSFCM",
    /// Monitored traffic classes: a bit mask (bit n for class n), or a list. Default: those in
    /// `queues`; without these the classes of the priorities that PFC protects or, if Congestion
    /// Isolation moves their congesting flows, the classes to which it moves them.
    #[serde(rename = "sfcMonitoredQueues")]
    pub monitored_queues: Option<TrafficClasses>,
    /// Octets of a congesting frame in messages of the `encapsulated` form, 64 to 512. Default:
    /// `64`.
    pub min_header_octets: Option<u16> => "sfcMinHeaderOctets",
    /// Lifetime of a flow's entry, in centiseconds, or as a duration with a unit. Default: `100`,
    /// the ci-max-flow-life of Congestion Isolation; the proposal has no default. `life` sets its
    /// start.
    #[serde(rename = "sfcMaxFlowLife")]
    pub max_flow_life: Option<Centiseconds>,
    /// Congestion thresholds by traffic class: `{3: {threshold: 100KB, target: 50KB}}`. A port's
    /// own `sfc` overrides them. Default: the defaults of the fields.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub queues: BTreeMap<Range, SfcQueue>,
    /// Identification of the flow in a message: `simplified` (addresses, protocol and ports) or
    /// `encapsulated` (the start of the frame). Default: `simplified`, or `encapsulated` if
    /// `sfcMinHeaderOctets` is present.
    pub form: Option<SfcmForm>,
    /// Handling of messages whose destination is not in the address table: `drop`, or `flood` in the
    /// VLAN, as an unknown frame, but not to hosts that a proxy acts for. Default: `drop`.
    pub unknown: Option<UnknownHost> => "unknown",
    /// Source IP address of messages, on which the proposal is ambiguous: `swapped`, the
    /// destination of the flow, or `own`, the switch's. Default: `swapped`, or `own` if the switch
    /// has an address.
    pub from: Option<SfcmFrom>,
    /// DSCP of messages, 0 to 63. Default: `56` (CS7), or the class selector of
    /// `sfcmTransmitPriority` if that is not 7.
    pub dscp: Option<u8> => "dscp",
    /// Shortest time between two messages about one flow, up to 1 s. Default: `10us`, a round trip
    /// in a data centre.
    pub spacing: Option<Span> => "spacing",
    /// Time that a flow must congest before its source is signalled, up to 1 s. Default: none,
    /// `0s`, but `10us` with Congestion Isolation, which acts first.
    pub patience: Option<Span> => "patience",
    /// Bytes that a flow must add to a congested queue before its source is signalled. Default:
    /// `0`; a larger value exempts small flows.
    pub octets_min: Option<Size> => "octets_min",
    /// Meter of each congesting flow: its source is signalled while the rate of its frames in
    /// congested queues is at least this. Default: none; all congesting flows are signalled.
    pub meter: Option<SfcMeter>,
    /// Shortest pause that is requested. Default: `0s`.
    pub pause_min: Option<Span>,
    /// Longest pause that is requested, up to 4.294967295 s, the longest that a message can encode.
    /// Default: that maximum.
    pub pause_max: Option<Span> => "pause_max",
    /// Rate limit of messages of all flows together. Default: a burst of 64, and one per
    /// microsecond.
    pub budget: Option<MessageLimit>,
    /// Capacity of the table of congesting flows, 1 to 65536. Default: `4096`.
    pub streams: Option<u32> => "streams",
    /// Period over which `sfcMaxSFCM` counts, which the proposal does not define: one pause
    /// (`per_pause`), or the lifetime of the flow's entry (`per_stream`). Default: `per_pause`,
    /// because otherwise persistent congestion is signalled three times and never again.
    pub count: Option<Count> => "count",
    /// Start of `sfcMaxFlowLife`: the last congestion of the flow (`last_seen`), or the first
    /// (`created`). Default: `last_seen`.
    pub life: Option<Life> => "life",
}
}

settings! {
/// Meter of a flow.
pub struct SfcMeter {
    /// Least rate, up to 1T. Default: none, no meter.
    pub rate: Option<Rate> => "rate",
    /// Time over which the rate is measured, 1 us to 1 s. Default: `100us`.
    pub window: Option<Span> => "window",
}
}

/// Source flow control settings of one port.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PortSfc {
    /// False if this port has no source flow control point: its queues are not monitored. Default:
    /// `true`.
    pub point: Option<bool>,
    /// Congestion thresholds of this port by traffic class; they replace the switch's for that
    /// class. Default: those of the switch.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub queues: BTreeMap<Range, SfcQueue>,
}

/// Congestion threshold and target of a queue.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SfcQueue {
    /// Queue length in bytes above which every frame's flow is congesting. Default: 1 KB per Gb/s
    /// of the port's rate, 8 us of its traffic, and at least 10 KB. Not allowed together with
    /// `aqm`.
    pub threshold: Option<Size>,
    /// Curve that selects congesting frames, instead of a threshold. Default: none.
    pub aqm: Option<Aqm>,
    /// Queue length in bytes to which pauses reduce the queue, not above `threshold` (`kmin`).
    /// Default: half of it.
    pub target: Option<Size>,
}

words! { UnknownHost Count Life }

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
    pub switches: Option<Senders>,
    /// Senders behind ports attached to hosts, likewise. Default: `nobody`.
    pub hosts: Option<Senders>,
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
