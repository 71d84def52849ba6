//! DCBX TLVs without negotiation: the port's place in the network, and source flow control.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use ::file::word_or;
/// Place of the port in the network.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum DcbxPlace {
    /// The result of Topology Recognition.
    #[default]
    Auto,
    /// Fixed values.
    Fixed(DcbxTopology),
}

/// Place of a port in the network.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DcbxTopology {
    /// Type of the system: `end_station`, `bridge`, `router` or `unknown`. Default: `unknown`.
    pub device: Option<DeviceName>,
    /// Level of the system, 0 at the edge, at most 254. Default: unknown.
    pub level: Option<u8>,
    /// Direction of the port: `uplink`, `downlink`, `crosslink` or `unknown`. Default: `unknown`.
    pub orientation: Option<OrientationName>,
}

/// Type of a system.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeviceName {
    /// End station.
    EndStation,
    /// Bridge.
    Bridge,
    /// Router.
    Router,
    /// Unknown.
    #[default]
    Unknown,
}

/// Direction of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OrientationName {
    /// To a higher level.
    Uplink,
    /// To a lower level.
    Downlink,
    /// Within its level.
    Crosslink,
    /// Unknown.
    #[default]
    Unknown,
}

/// Source flow control (P802.1Qdw) capabilities, in a TLV of this project.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DcbxSfc {
    /// True if the system sends messages about flows that congest it. Default: `false`.
    pub point: Option<bool>,
    /// True if it converts messages to PFC for hosts that do not obey them. Default: `false`.
    pub proxy: Option<bool>,
    /// Scope of the pause that a message to it causes: `nothing`, the `flow` of the message, or
    /// that flow's `priority`. Default: `nothing`.
    pub obeys: Option<ObeysName>,
    /// sfcmUDPPort, the UDP port at which it expects messages: 49152 to 65535. Default: `58622`.
    pub udp_port: Option<u16>,
}

/// Scope of the pause that a source flow control message causes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ObeysName {
    /// No pause.
    #[default]
    Nothing,
    /// The flow of the message.
    Flow,
    /// That flow's priority.
    Priority,
}

word_or! {
    DcbxPlace "DcbxPlace" enum "auto" Auto or map DcbxTopology as Fixed:
        "`auto`, or a mapping such as `{device: bridge, level: 1}`";
}
