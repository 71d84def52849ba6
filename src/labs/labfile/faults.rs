//! Faults that are injected during the run.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use super::defects::scalar;
use super::{DefectFault, Errors};
use config::quantity::Span;
use config::raw;
use schedule::Meter;

/// Makes the fields of a fault in a file and the enum of its kinds from one list.
macro_rules! fault_kinds {
    ($(#[doc = $doc:literal] $field:ident: $Kind:ident($Raw:ty),)*) => {
        /// Kind of a fault, as the file describes it.
        #[derive(Clone, PartialEq, Debug)]
        pub enum FaultKind {
            $(#[doc = $doc] $Kind($Raw),)*
        }

        /// A fault: a time, and exactly one of the other fields.
        #[derive(Deserialize, Serialize, JsonSchema)]
        #[serde(rename = "Fault", deny_unknown_fields)]
        // The form of the file: one optional field for each kind, so that the schema lists them.
        struct Fields {
            /// Start of the fault, in simulation time; only a defect may be without: it is there from
            /// the start.
            at: Option<Span>,
            $(
                #[doc = $doc]
                $field: Option<$Raw>,
            )*
        }

        impl FaultKind {
            /// Names of the fields.
            pub const NAMES: &[&str] = &[$(stringify!($field)),*];

            /// Returns the name of its field.
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$Kind(_) => stringify!($field),)*
                }
            }
        }

        impl From<Fields> for Fault {
            fn from(fields: Fields) -> Self {
                let mut kinds = [$(fields.$field.map(FaultKind::$Kind)),*].into_iter().flatten();
                // Two kinds are as wrong as none; the resolution reports both with the place, which serde does not
                // know.
                let kind = kinds.next().filter(|_| kinds.next().is_none());
                Self { at: fields.at, kind }
            }
        }

        impl From<Fault> for Fields {
            fn from(fault: Fault) -> Self {
                let mut fields = Self { at: fault.at, $($field: None),* };
                match fault.kind {
                    $(Some(FaultKind::$Kind(raw)) => fields.$field = Some(raw),)*
                    None => {}
                }
                fields
            }
        }
    };
}

fault_kinds! {
    /// The named link goes down; frames on it are lost.
    link_down: LinkDown(String),
    /// The named link comes up.
    link_up: LinkUp(String),
    /// A link goes down and comes up again.
    flap: Flap(Flap),
    /// The next frames of a kind are lost.
    lose: Lose(LoseFault),
    /// A link has other error rates from this time on.
    errors: Errors(ErrorsFault),
    /// A forged frame arrives.
    forge: Forge(Forge),
    /// A MACsec-protected pause that was seen on a link arrives again.
    replay: Replay(Replay),
    /// A node stops processing for a while, as if its CPU were preempted.
    stall: Stall(Stall),
    /// A queue of a switch gets another ECN marking curve, or none.
    ecn: Ecn(EcnFault),
    /// A priority group of a switch gets another buffer profile.
    group: Group(GroupFault),
    /// The scheduler of a switch counts its shares in another unit.
    scheduler: Scheduler(SchedulerFault),
    /// A managed object of a switch gets another value.
    object: Object(ObjectFault),
    /// A device breaks the rules of flow control.
    defect: Defect(DefectFault),
}

/// A fault: a time and a kind.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize)]
#[serde(from = "Fields", into = "Fields")]
pub struct Fault {
    /// Start of the fault, in simulation time; required but for a defect, which `resolve` checks.
    pub at: Option<Span>,
    /// `None` if the file does not have exactly one, which `resolve` reports.
    pub kind: Option<FaultKind>,
}

// The schema is that of the file's form; `FaultKind` exists in the program alone.
impl JsonSchema for Fault {
    fn schema_name() -> Cow<'static, str> {
        Fields::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Fields::json_schema(generator)
    }
}

/// Place of a fault in the lab.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FaultPlace<'f> {
    /// Name of a link.
    Link(&'f str),
    /// Name of a node, and of the other end of one of its ports.
    Node(&'f str, Option<&'f str>),
}

impl FaultKind {
    /// Returns the place that the file names.
    pub fn place(&self) -> FaultPlace<'_> {
        match self {
            Self::LinkDown(link)
            | Self::LinkUp(link)
            | Self::Flap(Flap { link, .. })
            | Self::Lose(LoseFault { link, .. })
            | Self::Errors(ErrorsFault { link, .. })
            | Self::Forge(Forge { link, .. })
            | Self::Replay(Replay { link, .. }) => FaultPlace::Link(link),
            Self::Stall(Stall { node, .. }) => FaultPlace::Node(node, None),
            Self::Ecn(EcnFault { switch, port, .. })
            | Self::Group(GroupFault { switch, port, .. })
            | Self::Scheduler(SchedulerFault { switch, port, .. })
            | Self::Object(ObjectFault { switch, port, .. }) => {
                FaultPlace::Node(switch, port.as_deref())
            }
            Self::Defect(DefectFault { on, port, .. }) => FaultPlace::Node(on, port.as_deref()),
        }
    }
}

impl Fault {
    pub const fn new(at: Span, kind: FaultKind) -> Self {
        Self { at: Some(at), kind: Some(kind) }
    }
}

/// A link goes down and comes up again.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flap {
    /// Name of the link.
    pub link: String,
    /// Down time of each flap.
    pub down_for: Span,
    /// Number of flaps, 1 to 10000. Default: `1`.
    pub times: Option<u32>,
    /// Interval between flaps, longer than `down_for`. Default: twice `down_for`.
    pub every: Option<Span>,
}

/// A forged frame: it arrives as if received over a link, even while the link is paused.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Forge {
    /// Name of the link.
    pub link: String,
    /// Apparent sender. Default: both ends, one frame to each.
    pub from: Option<String>,
    /// Frame from the destination address on, without FCS, in hexadecimal: 14 to 1514 bytes. Frames
    /// shorter than 60 bytes are padded with zeros.
    pub octets: String,
    /// Number of copies, 1 to 10000. Default: `1`.
    pub times: Option<u32>,
    /// Interval between copies. Default: `1us`.
    pub every: Option<Span>,
}

/// A MACsec-protected pause arrives again, byte for byte. No effect if none was sent.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Replay {
    /// Name of the link.
    pub link: String,
    /// Node that sent the pause. Default: both ends, one of each.
    pub from: Option<String>,
    /// Index of the pause, 0 to 63: 0 is the last that has arrived, 1 the one before. Default: `0`.
    pub back: Option<u32>,
    /// Number of copies, 1 to 10000. Default: `1`.
    pub times: Option<u32>,
    /// Interval between copies. Default: `1us`.
    pub every: Option<Span>,
}

/// Frames that are lost.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoseFault {
    /// Name of the link.
    pub link: String,
    /// Node that sends the frames. Default: both ends, the same number of each.
    pub from: Option<String>,
    /// Number of frames. Default: `1`.
    pub frames: Option<u64>,
    /// Kind of frames: `any`, `pause` (MAC control) or `data` (all others). Default: `any`.
    pub which: Option<WhichName>,
}

/// Kinds of frames.
// `sim::Which` has the same kinds, but files do not depend on the virtual world.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WhichName {
    /// All frames.
    #[default]
    Any,
    /// MAC control: PFC and PAUSE.
    Pause,
    /// All frames but MAC control.
    Data,
}

/// Error rates from this time on.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ErrorsFault {
    /// Name of the link.
    pub link: String,
    /// Node whose frames have the errors. Default: both.
    pub from: Option<String>,
    /// Bit error ratio. Default: `0`.
    pub ber: Option<super::Chance>,
    /// Frame loss probability. Default: `0`.
    pub loss: Option<super::Chance>,
}

impl ErrorsFault {
    pub const fn errors(&self) -> Errors {
        Errors { ber: self.ber, loss: self.loss }
    }
}

/// A node that stops processing for a while.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stall {
    /// Name of the node.
    pub node: String,
    /// Duration of the stall.
    // `for` is a keyword of Rust.
    #[serde(rename = "for")]
    pub span: Span,
}

/// Another ECN marking curve.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EcnFault {
    /// Name of the switch.
    pub switch: String,
    /// Node at the other end of the port, or name of its link. Default: all ports.
    pub port: Option<String>,
    /// Egress queue, 0 to 7.
    pub queue: u8,
    /// Marking curve. Default: none; ECN marking is turned off.
    pub curve: Option<raw::Ecn>,
}

/// Another buffer profile.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GroupFault {
    /// Name of the switch.
    pub switch: String,
    /// Node at the other end of the port, or name of its link. Default: all ports.
    pub port: Option<String>,
    /// Priority group, 0 to 7.
    pub group: u8,
    /// Buffer profile, one of those in the switch's profile. `auto` headroom keeps its size. A
    /// change that the buffer occupancy does not allow is retried until it fits.
    pub profile: String,
}

/// Another unit of the shares of weighted queues.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SchedulerFault {
    /// Name of the switch.
    pub switch: String,
    /// Node at the other end of the port, or name of its link. Default: all ports.
    pub port: Option<String>,
    /// Unit of the shares: `bytes`, as 802.1Q 8.6.8.4 requires, or `frames`, by which long frames get more
    /// than their share (SAI's `SAI_SCHEDULER_ATTR_METER_TYPE`).
    pub meter: Meter,
}

/// Another value for a managed object.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ObjectFault {
    /// Name of the switch.
    pub switch: String,
    /// Object name, as listed by `sluice ctl objects --describe`.
    pub name: String,
    /// Node at the other end of the port, or name of its link. Default: all ports.
    pub port: Option<String>,
    /// Traffic class, 0 to 7. Default: all.
    pub class: Option<u8>,
    /// Value, as in a switch file: `false`, `100KB`, `10us`; lists in quotes.
    #[schemars(schema_with = "scalar")]
    pub value: String,
}
