//! What the lines on the control socket mean: JSON, one request, one response.
//!
//! `{"command":"link","port":"p1","up":false}` is answered with `{"ok":true,"result":...}` or
//! `{"ok":false,"error":"..."}`. Unknown commands and fields are refused. Sizes are in octets.

use serde::{Deserialize, Serialize};

use crate::config::raw::HexText;
use crate::report::{AgentsSummary, MacsecSummary};

/// A line from a client.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Request {
    /// The summary until now.
    Show {},
    /// The drops until now, by reason, those that happened.
    Drops {},
    /// New thresholds for one priority group; what is left out stays.
    SetGroup(SetGroup),
    /// A new marking curve for one traffic class; what is left out stays.
    SetEcn(SetEcn),
    /// Takes a link up or down.
    Link {
        /// The port's name, or its number counted from 0.
        port: String,
        /// Whether it is to be up.
        up: bool,
    },
    /// The neighbours of all ports, and what was negotiated with them.
    Neighbours {},
    /// How ports found their headroom, what was measured, and the steps taken so far.
    Headroom {},
    /// The managed objects whose names have `pattern` in them, and the tables among them; all without
    /// one.
    Objects {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pattern: Option<String>,
    },
    /// One managed object, or a table.
    Get(Place),
    /// Another value for a managed object.
    Set(SetObject),
    /// What MACsec did at all ports that have it.
    Macsec {},
    /// A key for an association.
    MacsecInstall(MacsecInstall),
    /// A port sends with another association from now on.
    MacsecUse {
        /// The port's name, or its number counted from 0.
        port: String,
        /// The association, 0 to 3.
        an: u8,
    },
    /// An association, or a whole channel that is received, is taken out.
    MacsecRemove {
        /// The port's name, or its number counted from 0.
        port: String,
        /// The channel that is received; the port's own where this is left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        receive: Option<String>,
        /// The association, 0 to 3; all of a channel that is received where this is left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        an: Option<u8>,
    },
    /// A port measures its link again.
    Measure {
        /// The port's name, or its number counted from 0.
        port: String,
    },
    /// Counters and peaks start again from zero.
    Clear {},
    /// The learnt addresses are forgotten.
    FlushFdb {},
    /// The switch stops as if interrupted: it drains, and prints its summary.
    Stop {},
}

/// A managed object, and which of its values are meant: all where the port or the class is left out.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Place {
    pub(super) name: String,
    /// The port's name, or its number counted from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) port: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) class: Option<u8>,
}

/// See [`Request::Set`].
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SetObject {
    pub(super) name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) port: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) class: Option<u8>,
    /// As in a file: `true`, `6`, `100KB`, `10us`.
    pub(super) value: String,
}

/// See [`Request::MacsecInstall`].
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MacsecInstall {
    /// The port's name, or its number counted from 0.
    pub(super) port: String,
    /// The channel that is received, such as `02:00:00:00:00:01/1`; the port's own where this is left
    /// out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) receive: Option<String>,
    /// The association, 0 to 3.
    pub(super) an: u8,
    /// The key, 32 or 64 hexadecimal digits.
    #[serde(deserialize_with = "HexText::said")]
    pub(super) key: HexText,
    /// The packet number of the first frame sent, or the lowest accepted; 1 where this is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) next_pn: Option<u64>,
    /// The short name of the channel's sender, for XPN suites alone, which must have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ssci: Option<u32>,
    /// 24 hexadecimal digits, for XPN suites alone, which must have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) salt: Option<HexText>,
    /// Whether the port sends with it from now on.
    #[serde(default)]
    pub(super) using: bool,
}

/// A port with MACsec.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct PortSecured {
    pub(super) name: String,
    pub(super) macsec: MacsecSummary,
}

/// The ports with agents, and what was done with what they found out.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct PortsFound {
    pub(super) ports: Vec<PortFound>,
    /// The latest steps, the oldest first.
    pub(super) steps: Vec<StepTold>,
    /// How many steps there were before those.
    pub(super) steps_before: u64,
}

/// A port with agents.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct PortFound {
    pub(super) name: String,
    pub(super) agents: AgentsSummary,
}

/// Something that was done.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct StepTold {
    /// Since the switch began.
    pub(super) at_ns: u64,
    pub(super) port: String,
    pub(super) step: String,
}

/// See [`Request::SetGroup`]; names as in a switch file.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SetGroup {
    pub(super) port: String,
    pub(super) group: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reserved: Option<u64>,
    /// Exactly one of the next three, or none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) dynamic_th: Option<i8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) static_th: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) unlimited: Option<bool>,
    /// Headroom; lossless groups alone have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) xoff: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) xon: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) xon_offset: Option<u64>,
}

/// See [`Request::SetEcn`].
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SetEcn {
    pub(super) port: String,
    pub(super) class: u8,
    /// No marking.
    #[serde(default)]
    pub(super) off: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) kmin: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) kmax: Option<u64>,
    /// The probability just below kmax, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pmax: Option<f64>,
}

/// A line to a client.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Response {
    pub(super) ok: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) result: Option<serde_json::Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
}
