//! Switches and hosts.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::SeqAccessDeserializer;
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::{Drift, HostQcn, HostSfc, Members, QcnWord, SfcWord, Short, Wanted, silent};
use crate::config::quantity::{Size, Span};
use crate::config::raw::{Dcbx, Lldp, Macsec, Measurement, Ptp};

/// The nodes of a lab. A node is one switch or one host.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nodes {
    /// Switches: how many (`s1`, `s2` ...), or a list of names and of mappings with a name. Default:
    /// none.
    #[serde(default, skip_serializing_if = "silent")]
    pub switches: Members<SwitchEntry>,
    /// Hosts: how many (`h1`, `h2` ...), or a list of names and of mappings with a name. Default:
    /// none.
    #[serde(default, skip_serializing_if = "silent")]
    pub hosts: Members<HostEntry>,
}

/// A switch by its name, or with more to it.
pub type SwitchEntry = Short<String, Switch>;

/// A host by its name, or with more to it.
pub type HostEntry = Short<String, Host>;

/// A switch. Its ports are those of its links, named after what is at the other end: `to_h1`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Switch {
    /// Its name: letters, digits, `_` and `-`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its profile. Default: the one that the file has, or the built-in one if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Its clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<Clock>,
    /// What its processor takes, for switches in software. Headroom that is `auto` does not count
    /// it. Default: none, as for hardware.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<Cpu>,
    /// Whether frames are passed on before their last bit is there, where the rates allow it.
    /// Default: `false`; it stores and forwards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut_through: Option<bool>,
    /// The length of the pauses it sends as they are on the line, in octets, FCS included, 18 to
    /// 1518. Default: `64`; others are for comparison with simulators.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_frame: Option<Size>,
}

/// A host: one link, a traffic generator and a sink. Its addresses are made of its number.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Its name: letters, digits, `_` and `-`, but not `all`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Which pauses it obeys: `auto` (those that the other end of its link may send), `none`, or a
    /// list of priorities. Default: `auto`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub obey: Option<Obey>,
    /// Pauses that it sends by itself, whatever it receives: a storm, or a slow receiver. Default:
    /// none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storms: Option<Vec<Storm>>,
    /// How far a flow that was paused may catch up with its schedule, in time; what it is further
    /// behind is never sent. Default: without bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backlog: Option<Span>,
    /// Its clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<Clock>,
    /// What its processor takes. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<Cpu>,
    /// The request/response measurement of its link. Default: none, but requests are answered where
    /// the port at the other end finds its headroom by them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measurement: Option<Measurement>,
    /// PTP's peer delay. Default: as for `measurement`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ptp: Option<Ptp>,
    /// LLDP. `{}` turns it on. Default: off, unless there is `dcbx`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lldp: Option<Lldp>,
    /// DCBX. `{}` turns it on; a host is willing to take what its peer says. Default: off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dcbx: Option<Dcbx>,
    /// MACsec. The channel of the other end of its link needs no name. Default: none, unless the link
    /// has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub macsec: Option<Box<Macsec>>,
    /// Whether it obeys source flow control messages: `none`, or what one pauses, the `flow` that it is
    /// about or all flows of its `priority`; or more, as `{pause: flow, longest: 100us}`. Default:
    /// `none`; it counts them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sfc: Option<Short<SfcWord, HostSfc>>,
    /// Whether its flows have reaction points of QCN: `none`, the `standard` ones, or ones with changes,
    /// such as `{active: 50M}`. Default: `none`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub qcn: Option<Short<QcnWord, HostQcn>>,
}

/// Which pauses a host obeys.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Obey {
    /// Those that the other end of its link may send.
    #[default]
    Auto,
    /// None at all.
    None,
    /// PFC, for these priorities.
    List(Vec<u8>),
}

/// Pauses at regular times.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Storm {
    /// The priorities that are to pause, or `[]` for link-wide PAUSE.
    pub priorities: Vec<u8>,
    /// What each asks for, in quanta of 512 bit times, 0 to 65535; 0 resumes. Default: `65535`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quanta: Option<u16>,
    /// When the first is sent. Default: `0s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<Span>,
    /// From one to the next, above zero. Default: half of what one asks for, so that the pause
    /// never ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<Span>,
    /// How many there are. Default: as many as fit before the lab's `duration`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frames: Option<u64>,
}

/// How a node's clock stands to the lab's time.
#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Clock {
    /// What it shows at time 0, up to 100 days. Default: `0s`. What is planned for a host, such as
    /// the start of a flow, is in the lab's time whatever its clock shows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<Span>,
    /// How much too fast it runs, `50ppm` or, too slow, `-50ppm`. Default: `0ppm`. Ethernet allows
    /// 100 ppm either way; up to 200 are taken here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drift: Option<Drift>,
}

/// What a processor takes for its work. While it works nothing is looked at.
#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cpu {
    /// For every look at the ports. Default: `0s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll: Option<Span>,
    /// For every frame. Default: `0s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame: Option<Span>,
    /// For every octet of them. Default: `0s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub byte: Option<Span>,
}

impl Wanted for Switch {
    const WANTED: &'static str = "a name, or a mapping such as `{name: s1, profile: tor}`";
}

impl Wanted for Host {
    const WANTED: &'static str = "a name, or a mapping such as `{name: h1, obey: none}`";
}

struct ObeyReader;

impl<'de> Visitor<'de> for ObeyReader {
    type Value = Obey;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`auto`, `none` or a list of priorities such as `[3, 4]`")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Obey, E> {
        match text {
            "auto" => Ok(Obey::Auto),
            "none" => Ok(Obey::None),
            _ => Err(E::unknown_variant(text, &["auto", "none"])),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Obey, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(seq)).map(Obey::List)
    }
}

impl<'de> Deserialize<'de> for Obey {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(ObeyReader)
    }
}

impl Serialize for Obey {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Auto => s.serialize_str("auto"),
            Self::None => s.serialize_str("none"),
            Self::List(list) => list.serialize(s),
        }
    }
}

impl JsonSchema for Obey {
    fn schema_name() -> Cow<'static, str> {
        "Obey".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let list = generator.subschema_for::<Vec<u8>>();
        json_schema!({ "anyOf": [{ "enum": ["auto", "none"] }, list] })
    }
}
