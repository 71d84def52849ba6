//! Source Flow Control (P802.1Qdw, as the slides of January 2022 have it).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::parts::{Aqm, Centiseconds, MessageLimit, TrafficClasses};
use crate::config::quantity::{Size, Span};
use crate::config::raw::Range;

/// Source flow control points: the source of a flow that congests a queue is told to pause. `{}` turns
/// it on for the traffic classes that PFC protects.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sfc {
    /// Whether messages are sent. Default: `true`, where this section is; the source has none.
    #[serde(rename = "sfcMasterEnable", skip_serializing_if = "Option::is_none")]
    pub master_enable: Option<bool>,
    /// The priority of messages, 0 to 7. Default: `7`.
    #[serde(rename = "sfcmTransmitPriority", skip_serializing_if = "Option::is_none")]
    pub transmit_priority: Option<u8>,
    /// The source MAC address of messages. Default: that of the port.
    #[serde(rename = "sfcmMacAddress", skip_serializing_if = "Option::is_none")]
    pub mac_address: Option<String>,
    /// The IPv4 address that messages come from. Default: none; see `from`.
    #[serde(rename = "sfcmIPv4Address", skip_serializing_if = "Option::is_none")]
    pub ipv4_address: Option<String>,
    /// The IPv6 address that messages come from. Default: none; see `from`.
    #[serde(rename = "sfcmIPv6Address", skip_serializing_if = "Option::is_none")]
    pub ipv6_address: Option<String>,
    /// Both UDP ports of messages, 49152 to 65535, the same in the whole network. Default: `58622`, the
    /// source's example.
    #[serde(rename = "sfcmUDPPort", skip_serializing_if = "Option::is_none")]
    pub udp_port: Option<u16>,
    /// The most messages for a congesting flow, at least 1. Default: `3`. `count` says over what.
    #[serde(rename = "sfcMaxSFCM", skip_serializing_if = "Option::is_none")]
    pub max_sfcm: Option<u32>,
    /// The traffic classes that are monitored: a bit mask (bit n for class n), or a list. Default:
    /// those in `queues`; without these the classes of the priorities that PFC protects or, where
    /// Congestion Isolation moves their congesting flows, the classes that these go to.
    #[serde(rename = "sfcMonitoredQueues", skip_serializing_if = "Option::is_none")]
    pub monitored_queues: Option<TrafficClasses>,
    /// How much of a congesting frame messages of the `encapsulated` form have, 64 to 512 octets.
    /// Default: `64`.
    #[serde(rename = "sfcMinHeaderOctets", skip_serializing_if = "Option::is_none")]
    pub min_header_octets: Option<u16>,
    /// How long a flow is kept in mind, in centiseconds, or as a span with its unit. Default: `100`, the
    /// ci-max-flow-life of Congestion Isolation; the source has none. `life` says from when on.
    #[serde(rename = "sfcMaxFlowLife", skip_serializing_if = "Option::is_none")]
    pub max_flow_life: Option<Centiseconds>,
    /// When a queue counts as congested, by traffic class: `{3: {threshold: 100KB, target: 50KB}}`. A
    /// port can say otherwise in its own `sfc`. Default: for each as there.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub queues: BTreeMap<Range, SfcQueue>,
    /// How a message says which flow it is about: `simplified` (addresses, protocol and ports) or
    /// `encapsulated` (the start of the frame). Default: `simplified`, and `encapsulated` where
    /// `sfcMinHeaderOctets` is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub form: Option<SfcFormName>,
    /// Whose IP address messages come from, on which the source says both: `swapped`, the destination
    /// of the flow, or `own`, the switch's. Default: `swapped`,
    /// and `own` where it has an address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<SfcFromName>,
    /// The DSCP of messages, 0 to 63. Default: `56` (CS7), and the class selector of
    /// `sfcmTransmitPriority` where that is another than 7.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dscp: Option<u8>,
    /// The least time between two messages about one flow, up to 1 s. Default: `10us`, a round trip in
    /// a data centre.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spacing: Option<Span>,
    /// How long a flow goes on congesting until its source is told, up to 1 s. Default: at once,
    /// `0s`, but `10us` with Congestion Isolation, which tries first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patience: Option<Span>,
    /// What a flow brings to a congested queue until its source is told, in octets. Default: `0`; with
    /// more, small flows are left in peace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub octets_min: Option<Size>,
    /// Shorter pauses are not asked for. Default: `0s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pause_min: Option<Span>,
    /// Longer pauses are not asked for, up to 4.294967295 s, the longest that a message can say.
    /// Default: that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pause_max: Option<Span>,
    /// The messages of all flows together. Default: 64 at once, and one per microsecond.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<MessageLimit>,
    /// How many congesting flows are kept in mind at a time, 1 to 65536. Default: `4096`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub streams: Option<u32>,
    /// What `sfcMaxSFCM` counts, on which the source is silent: the messages of one pause
    /// (`per_pause`), or all as long as the flow is kept in mind (`per_stream`). Default: `per_pause`, as
    /// otherwise congestion that lasts is told three times and never again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<SfcCountName>,
    /// What `sfcMaxFlowLife` runs from: the last time that the flow congested (`last_seen`), or the
    /// first (`created`). Default: `last_seen`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub life: Option<SfcLifeName>,
}

/// What one port says of source flow control.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PortSfc {
    /// When a queue of this port counts as congested, by traffic class, in place of what the switch's
    /// `sfc` says of that class. Default: as there.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub queues: BTreeMap<Range, SfcQueue>,
}

/// When a queue is congested, and what becomes of it.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SfcQueue {
    /// Queue length in octets above which every frame's flow is congesting. Default: 1 KB per Gb/s of
    /// the port's rate, 8 us of what it sends, and at least 10 KB. Not together with `aqm`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<Size>,
    /// The curve that picks congesting frames, in place of a threshold. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aqm: Option<Aqm>,
    /// The length that pauses bring the queue down to, in octets, not above `threshold` (`kmin`).
    /// Default: half of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Size>,
}

/// How a message says which flow it is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SfcFormName {
    /// By addresses, protocol and ports.
    #[default]
    Simplified,
    /// By the start of the frame.
    Encapsulated,
}

/// Whose IP address messages come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SfcFromName {
    /// That of the flow's destination.
    #[default]
    Swapped,
    /// That of the switch, of the same version; without one, the destination's.
    Own,
}

/// What the most messages for a flow are counted over.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SfcCountName {
    /// One pause.
    #[default]
    PerPause,
    /// The time that the flow is kept in mind.
    PerStream,
}

/// What a flow's life runs from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SfcLifeName {
    /// The last time that it congested.
    #[default]
    LastSeen,
    /// The first.
    Created,
}
