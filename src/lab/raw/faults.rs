//! What goes wrong, and when.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::Errors;
use crate::config::quantity::Span;
use crate::config::raw;

/// Something that goes wrong: a time, and exactly one of the rest.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// When, in time of the lab.
    pub at: Span,
    /// The link of this name goes down; what is on it is lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_down: Option<String>,
    /// The link of this name comes up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_up: Option<String>,
    /// A link goes down and comes up again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flap: Option<Flap>,
    /// The next frames of a kind are lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lose: Option<LoseFault>,
    /// A link has other errors from now on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errors: Option<ErrorsFault>,
    /// A frame that nobody sent arrives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forge: Option<Forge>,
    /// A protected pause that was on a link arrives once more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay: Option<Replay>,
    /// A node does nothing for a while, as if its processor had been taken away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stall: Option<Stall>,
    /// A queue of a switch gets another marking curve, or none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<EcnFault>,
    /// A priority group of a switch gets another buffer profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupFault>,
    /// A managed object of a switch gets another value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<ObjectFault>,
}

/// A link goes down and comes up again.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flap {
    /// The link.
    pub link: String,
    /// How long it is down.
    pub down_for: Span,
    /// How many times it does so, 1 to 10000. Default: `1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<u32>,
    /// From one time to the next, longer than `down_for`. Default: twice `down_for`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<Span>,
}

/// A frame that nobody sent: it arrives as if it had come over a link, whatever pauses say there.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Forge {
    /// The link.
    pub link: String,
    /// The node that it seems to come from. Default: both ends, one frame to each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Its octets from the destination address on, without FCS, in hexadecimal: 14 to 1514. What is
    /// shorter than 60 is filled up with zeros.
    pub octets: String,
    /// How many times it arrives, 1 to 10000. Default: `1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<u32>,
    /// From one time to the next. Default: `1us`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<Span>,
}

/// A pause that MACsec protects arrives once more, octet for octet. Nothing happens where there was none.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Replay {
    /// The link.
    pub link: String,
    /// The node that sent it. Default: both ends, one of each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Which, 0 to 63: 0 is the last that has arrived until then, 1 the one before. Default: `0`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub back: Option<u32>,
    /// How many times such a frame arrives, 1 to 10000. Default: `1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<u32>,
    /// From one time to the next. Default: `1us`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<Span>,
}

/// Frames that are lost.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoseFault {
    /// The link.
    pub link: String,
    /// The node that sends them. Default: both ends, each so many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// How many. Default: `1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frames: Option<u64>,
    /// Which: `any`, `pause` (MAC control) or `data` (all else). Default: `any`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub which: Option<WhichName>,
}

/// Kinds of frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WhichName {
    /// All.
    #[default]
    Any,
    /// MAC control: PFC and PAUSE.
    Pause,
    /// All but MAC control.
    Data,
}

/// Errors from now on.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ErrorsFault {
    /// The link.
    pub link: String,
    /// The node whose frames suffer. Default: both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// How likely a bit is to be received wrong. Default: `0`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ber: Option<super::Chance>,
    /// How likely a frame is to be lost. Default: `0`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<super::Chance>,
}

impl ErrorsFault {
    /// The errors alone.
    pub(in crate::lab) const fn errors(&self) -> Errors {
        Errors { ber: self.ber, loss: self.loss }
    }
}

/// A node that does nothing for a while.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stall {
    /// The node.
    pub node: String,
    /// For how long.
    #[serde(rename = "for")]
    pub span: Span,
}

/// Another marking curve.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EcnFault {
    /// The switch.
    pub switch: String,
    /// The node at the other end of the port, or the name of its link. Default: all ports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<String>,
    /// The queue, 0 to 7.
    pub queue: u8,
    /// The curve. Default: none; nothing is marked any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub curve: Option<raw::Ecn>,
}

/// Another buffer profile.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GroupFault {
    /// The switch.
    pub switch: String,
    /// The node at the other end of the port, or the name of its link. Default: all ports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<String>,
    /// The priority group, 0 to 7.
    pub group: u8,
    /// A buffer profile of the switch's profile. Headroom that is `auto` stays what it was. A change
    /// that does not fit what the buffer holds is tried again until it does.
    pub profile: String,
}

/// What is read as text, whatever it looks like.
fn scalar(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "number", "boolean"] })
}

/// Another value for a managed object.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ObjectFault {
    /// The switch.
    pub switch: String,
    /// The object's name, as `sluice ctl objects --describe` lists them.
    pub name: String,
    /// The node at the other end of the port, or the name of its link. Default: all ports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<String>,
    /// The traffic class, 0 to 7. Default: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<u8>,
    /// The value, as a switch file has it: `false`, `100KB`, `10us`; lists in quotes.
    #[schemars(schema_with = "scalar")]
    pub value: String,
}
