//! The table of managed objects, its entries, and the errors of writing one.

use core::fmt;

use super::value::{Counter, Kind, ObjectValue};
use super::{isolation, notifications, ports, proxy, sfc};
use crate::CongestionPlan;
use ground::printable::excerpt;
use ground::units::{PortId, TrafficClass};

/// A managed object: one entry of the table.
#[derive(Clone, Copy)]
pub struct Object(pub(super) &'static Entry);

/// By section, in the order of the documents.
static TABLE: [&[Entry]; 8] = [
    sfc::OBJECTS,
    proxy::OBJECTS,
    isolation::OBJECTS,
    notifications::FAST_CNP,
    notifications::QCN,
    ports::WATCHDOG,
    ports::MEASUREMENT,
    ports::PFC,
];

impl Object {
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().flat_map(|section| section.iter()).map(Self)
    }

    pub const fn name(self) -> &'static str {
        self.0.name
    }

    /// Returns the text in a file that gives a switch or a port the object.
    pub fn remedy(self) -> String {
        match self.section() {
            // These objects are in the section of measurements, and have a key of their own in a file.
            _ if self.name().starts_with("headroom.auto") => "headroom: auto".to_owned(),
            Section::Measurement => "measurement: {initiate: true}".to_owned(),
            section => format!("{}: {{}}", section.key()),
        }
    }

    pub const fn section(self) -> Section {
        self.0.section
    }

    pub const fn source(self) -> Source {
        self.0.source
    }

    pub const fn scope(self) -> Scope {
        self.0.scope
    }

    pub const fn access(self) -> Access {
        self.0.access
    }

    pub const fn kind(self) -> Kind {
        self.0.kind
    }

    /// Default value. `None` if it depends on other settings.
    pub const fn default(self) -> Option<ObjectValue> {
        self.0.default
    }

    /// One-sentence description.
    pub const fn doc(self) -> &'static str {
        self.0.doc
    }
}

impl PartialEq for Object {
    fn eq(&self, other: &Self) -> bool {
        // Entries are statics, so one object is one address.
        core::ptr::eq(self.0, other.0)
    }
}

impl Eq for Object {}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Function that an object belongs to, with its part of a plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Section {
    /// Source Flow Control points.
    Sfc,
    /// The Source Flow Control proxy.
    SfcProxy,
    /// Congestion Isolation.
    CongestionIsolation,
    /// CNPs from the switch.
    FastCnp,
    /// Quantized Congestion Notification.
    Qcn,
    /// The PFC storm watchdog.
    Watchdog,
    /// The measurement of links.
    Measurement,
    /// PFC, whose objects every switch has.
    Pfc,
}

/// Document that defines an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// The slides of Source Flow Control, and the proposed clause.
    Sfc(&'static str),
    /// 802.1Qcz and its YANG module, and the clause.
    Isolation(&'static str),
    /// The MIB of congestion notification (802.1Q 17.7.13), and the clause.
    Cn(&'static str),
    /// The MIB of PFC (802.1Q 17.7.17), and the clause.
    Pfc(&'static str),
    /// This project: the documents leave it open.
    Ours,
}

/// Number of values of an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    Bridge,
    Port,
    Queue,
    /// A counter: of all ports, of one, and of each of its queues.
    Sums,
}

/// Access to an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Written by the configuration and by clients.
    ReadWrite,
    /// Written by the configuration only: its memory is allocated at the start.
    Start,
    /// A counter.
    ReadOnly,
}

/// Address of a value. No port means the whole bridge or, for a write, every port; likewise the
/// traffic class.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct At {
    pub port: Option<PortId>,
    pub class: Option<TrafficClass>,
}

/// One of the places that an [`At`] selects.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot {
    pub(super) port: usize,
    pub(super) class: usize,
}

/// Definition of an object.
pub(super) struct Entry {
    pub(super) name: &'static str,
    pub(super) section: Section,
    pub(super) source: Source,
    pub(super) scope: Scope,
    pub(super) access: Access,
    pub(super) kind: Kind,
    pub(super) default: Option<ObjectValue>,
    pub(super) doc: &'static str,
    pub(super) lens: Lens,
}

impl Entry {
    /// A writable object of this project with one value and no default.
    pub(super) const fn new(
        section: Section,
        name: &'static str,
        kind: Kind,
        lens: Lens,
        doc: &'static str,
    ) -> Self {
        let (source, scope, access) = (Source::Ours, Scope::Bridge, Access::ReadWrite);
        Self { name, section, source, scope, access, kind, default: None, doc, lens }
    }

    pub(super) const fn of(self, source: Source) -> Self {
        Self { source, ..self }
    }

    pub(super) const fn per(self, scope: Scope) -> Self {
        Self { scope, ..self }
    }

    pub(super) const fn fixed(self) -> Self {
        Self { access: Access::Start, ..self }
    }

    pub(super) const fn is(self, default: ObjectValue) -> Self {
        Self { default: Some(default), ..self }
    }

    pub(super) const fn number(self, default: i64) -> Self {
        self.is(ObjectValue::Number(default))
    }

    /// A counter, which is not part of a plan.
    pub(super) const fn counter(
        section: Section,
        name: &'static str,
        counter: Counter,
        doc: &'static str,
    ) -> Self {
        // In the table for its name; its value is read from the counters of a switch.
        let lens = Lens { get: |_, _| None, set: |_, _, _| Err(Reason::ReadOnly) };
        let entry = Self::new(section, name, Kind::Counter(counter), lens, doc).per(Scope::Sums);
        Self { access: Access::ReadOnly, ..entry }
    }
}

/// Accessors of an object's value in a plan.
pub(super) struct Lens {
    pub(super) get: fn(&CongestionPlan, Spot) -> Option<ObjectValue>,
    pub(super) set: fn(&mut CongestionPlan, Spot, ObjectValue) -> Result<(), Reason>,
}

/// Reason for refusing a write.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reason {
    /// No object has this name; the nearest one, if any.
    Unknown(Option<&'static str>),
    /// The value is of another kind, or out of range.
    Range,
    ReadOnly,
    /// Fixed when the switch starts.
    Start,
    /// The plan does not have the object's section.
    NoSection,
    /// The object does not exist per port, or not per traffic class.
    Scope,
    NoPort,
    /// The section does not monitor this queue.
    NoQueue,
    /// Another setting is required first.
    Needs(&'static str),
    /// The value contradicts another setting.
    Contradicts(String),
}

impl Section {
    /// Key of the section in a file.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Sfc => "sfc",
            Self::SfcProxy => "sfc_proxy",
            Self::CongestionIsolation => "congestion_isolation",
            Self::FastCnp => "fast_cnp",
            Self::Qcn => "qcn",
            Self::Watchdog => "watchdog",
            Self::Measurement => "measurement",
            Self::Pfc => "pfc",
        }
    }

    /// Returns true if a plan has the section.
    pub const fn is_in(self, plan: &CongestionPlan) -> bool {
        match self {
            Self::Sfc => plan.sfc.is_some(),
            Self::SfcProxy => plan.proxy.is_some(),
            Self::CongestionIsolation => plan.isolation.is_some(),
            Self::FastCnp => plan.fast_cnp.is_some(),
            Self::Qcn => plan.qcn.is_some(),
            Self::Watchdog => plan.watchdog.is_some(),
            Self::Measurement => plan.measurement.is_some(),
            Self::Pfc => true,
        }
    }
}

impl Access {
    /// Word for tables.
    pub const fn word(self) -> &'static str {
        match self {
            Self::ReadWrite => "rw",
            Self::Start => "start",
            Self::ReadOnly => "ro",
        }
    }
}

/// A refused write, with the object and the remedy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ObjectError {
    /// The object, or the unknown name.
    object: Result<Object, String>,
    reason: Reason,
}

impl ObjectError {
    pub const fn new(object: Object, reason: Reason) -> Self {
        Self { object: Ok(object), reason }
    }

    pub(super) fn unknown(name: &str, like: Option<&'static str>) -> Self {
        Self { object: Err(name.into()), reason: Reason::Unknown(like) }
    }

    pub const fn reason(&self) -> &Reason {
        &self.reason
    }
}

impl std::error::Error for ObjectError {}

impl fmt::Display for ObjectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let object = match &self.object {
            Ok(object) => *object,
            Err(name) => {
                write!(f, "there is no managed object {}; ", excerpt(name))?;
                // Without an object there is no range and no section to name.
                return match self.reason {
                    Reason::Unknown(Some(like)) => write!(f, "is {like} meant?"),
                    _ => f.write_str("`sluice ctl objects --describe` names them all"),
                };
            }
        };
        let (name, section) = (object.name(), object.section().key());
        let remedy = object.remedy();
        match &self.reason {
            Reason::Unknown(_) => write!(f, "{name} is unknown"),
            Reason::Range => write!(f, "{name}: {}", wanted(object.kind())),
            Reason::ReadOnly => write!(f, "{name} is a counter and cannot be written"),
            Reason::Start => {
                write!(f, "{name} is fixed when a switch starts; change it in the file and restart")
            }
            Reason::NoSection => {
                write!(f, "{name} is of a feature that is off; put `{remedy}` into the file")?;
                // Clients can create these.
                match object.section() {
                    Section::Sfc | Section::SfcProxy => {
                        write!(f, ", or `sluice ctl create {section}`")
                    }
                    _ => Ok(()),
                }
            }
            Reason::Scope => match object.scope() {
                Scope::Bridge => {
                    write!(f, "{name} is one for the whole switch; leave out the port")
                }
                _ => write!(f, "{name} is the same for all classes of a port; leave out the class"),
            },
            Reason::NoPort => write!(f, "{name}: the switch has no such port"),
            Reason::NoQueue if object.scope() == Scope::Port => {
                write!(f, "{name}: the port has none; put `{remedy}` into its part of the file")
            }
            Reason::NoQueue => write!(
                f,
                "{name}: this queue is not looked at; name its class in `{section}.queues` of the file"
            ),
            Reason::Needs(what) => write!(f, "{name}: {what}"),
            Reason::Contradicts(what) => write!(f, "{name}: {what}"),
        }
    }
}

/// Describes the valid values of a kind.
fn wanted(kind: Kind) -> String {
    format!("wanted is {}", kind.range())
}
