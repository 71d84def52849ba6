//! Entries of the table of managed objects, and reasons for refusing to write one.

use super::value::{Counter, Kind, ObjectValue};
use crate::plan::CongestionPlan;
use ground::units::{PortId, TrafficClass};

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
    #[must_use]
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
    #[must_use]
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
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::ReadWrite => "rw",
            Self::Start => "start",
            Self::ReadOnly => "ro",
        }
    }
}
