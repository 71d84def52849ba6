//! Notifications that reduce the rate of sources: RoCEv2 CNPs from the switch, and QCN.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::settings;
use super::{Aqm, MessageLimit};
use crate::quantity::{Ratio, Size, Span};
use crate::raw::Range;
use ::file::word_or;

settings! {
/// Congestion notification packets from the switch to the sources of congesting RoCEv2 flows. `{}`
/// enables them for the traffic classes that PFC protects.
pub struct FastCnp {
    /// Selection of frames by traffic class: `{3: {threshold: 100KB}}`. A port's own `fast_cnp`
    /// overrides it. Default: the classes of the priorities that PFC protects.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub queues: BTreeMap<Range, FastCnpQueue>,
    /// Shortest time between two notifications about one flow, up to 1 s. Default: `50us`, as for
    /// hosts.
    pub spacing: Option<Span> => "spacing",
    /// Rate limit of notifications of all flows together. Default: a burst of 64, and one per
    /// microsecond.
    pub budget: Option<MessageLimit>,
    /// Capacity of the flow table, 1 to 65536. Default: `4096`.
    pub flows: Option<u32> => "flows",
    /// Destination queue pairs of notifications, which data packets do not contain: `learnt` from
    /// packets in the opposite direction, or a list of known ones. Default: `learnt`.
    pub source_qp: Option<SourceQp>,
    /// Priority of notifications, 0 to 7. Default: `6`.
    pub priority: Option<u8> => "priority",
    /// DSCP of notifications, 0 to 63. Default: `48` (CS6), or the class selector of `priority` if
    /// that is not 6.
    pub dscp: Option<u8> => "dscp",
}
}

/// Notification settings of one port.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PortFastCnp {
    /// Selection of frames at this port by traffic class; it replaces the switch's for that class.
    /// Default: that of the switch.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub queues: BTreeMap<Range, FastCnpQueue>,
}

/// Selection of the frames that cause notifications.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FastCnpQueue {
    /// Queue length in bytes above which every flow's source is notified. Default: none. Not
    /// allowed together with `aqm`.
    pub threshold: Option<Size>,
    /// Curve that selects frames. Default: that of the queue's `ecn`, or one with the same
    /// defaults, so that sources receive the same notifications as from their destinations.
    pub aqm: Option<Aqm>,
}

/// Source of the queue pair of a flow's sender.
#[derive(Clone, PartialEq, Debug)]
pub enum SourceQp {
    /// Learnt from packets in the opposite direction.
    Learnt,
    /// This list, otherwise learnt.
    List(Vec<QpEntry>),
}

/// Queue pairs of one connection.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QpEntry {
    /// IP address of the data's destination.
    pub destination: String,
    /// Destination queue pair, which the data packets contain, 0 to 16777215.
    pub destination_qp: u32,
    /// Queue pair of the source, 0 to 16777215.
    pub source_qp: u32,
}

settings! {
/// Quantized Congestion Notification (802.1Q clauses 30 to 33): congestion points. `{}` enables
/// them for the traffic classes that PFC protects.
pub struct Qcn {
    /// Congestion points by traffic class: `{3: {set_point: 100KB}}`. A port's own `qcn` overrides
    /// them. Default: one for each class of the priorities that PFC protects.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub queues: BTreeMap<Range, QcnQueue>,
    /// Priority of messages, 0 to 7 (ieee8021CnGlobalCnmTransmitPriority). Default: `6`.
    pub transmit_priority: Option<u8> => "transmit_priority" "ieee8021CnGlobalCnmTransmitPriority",
    /// Octets of a frame that a message contains, 0 to 64 (ieee8021CnCpMinHeaderOctets). Default:
    /// `64`, not the MIB's 0, because hosts identify the flow by them.
    pub msdu_octets: Option<u8> => "msdu_octets" "ieee8021CnCpMinHeaderOctets",
}
}

/// Congestion point settings of one port.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PortQcn {
    /// Congestion points of this port by traffic class; they replace the switch's for that class.
    /// Default: those of the switch.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub queues: BTreeMap<Range, QcnQueue>,
}

settings! {
/// A congestion point.
pub struct QcnQueue {
    /// Target queue length, 1 to 2^40 bytes (ieee8021CnCpQueueSizeSetPoint). Default: `26000`.
    pub set_point: Option<Size> => "set_point" "ieee8021CnCpQueueSizeSetPoint",
    /// Weight of the queue's growth relative to its length, as a power of two, -10 to 10
    /// (ieee8021CnCpFeedbackWeight). Default: `1`, a weight of two.
    pub weight: Option<i8> => "weight" "ieee8021CnCpFeedbackWeight",
    /// Bytes between two samples of the queue while it is not congested, 1 to 2^40
    /// (ieee8021CnCpMinSampleBase). Default: `150000`.
    pub sample_base: Option<Size> => "sample_base" "ieee8021CnCpMinSampleBase",
    /// Random variation of the sample distance around its base, in whole percent, up to 99%.
    /// Default: `15%`.
    pub jitter: Option<Ratio> => "jitter",
}
}

word_or! {
    SourceQp "SourceQp" const "learnt" Learnt or list Vec<QpEntry> as List:
        "`learnt`, or a list such as `[{destination: 10.0.0.2, destination_qp: 3, source_qp: 2}]`";
}
