//! The managed objects of Source Flow Control and of Congestion Isolation, of what those documents
//! leave open, and of the storm watchdog: one table with names, defaults and ranges.
//!
//! An [`Object`] is read from and written to a [`CongestionPlan`], so a name means the same in a
//! configuration, a running switch and a lab. [`set`] refuses a value that is out of range, that
//! contradicts the rest of the plan, or that only a new start can change; a refused write leaves
//! the plan unchanged. Counters and tables are not part of a plan: the table lists them for their
//! names, and they are read from a switch's counters.
//!
//! Names are those of the documents: the "Consideration of SFC in 802.1Q" slides of January 2022
//! (12.xx), `ieee802-dot1q-congestion-isolation` (802.1Qcz, Clauses 12.33 and 49) and the
//! IEEE8021-CN-MIB. An object of this project is named by its key in a file, which contains a dot.

mod error;
mod field;
mod isolation;
mod notifications;
mod proxy;
mod sfc;
mod tables;
#[cfg(test)]
mod tests;
mod value;
mod watchdog;

pub use error::{ObjectError, Reason};
pub use tables::{Listing, StreamPage, StreamRow, Streams};
pub use value::{Counter, Kind, ObjectValue, QUEUE_MAP, Unit};

use core::fmt;

use field::Lens;

use super::plan::CongestionPlan;
use ground::units::{PRIORITIES, PortId, TrafficClass};

/// A managed object: one entry of the table.
#[derive(Clone, Copy)]
pub struct Object(&'static Entry);

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
struct Spot {
    port: usize,
    class: usize,
}

/// Definition of an object.
struct Entry {
    name: &'static str,
    section: Section,
    source: Source,
    scope: Scope,
    access: Access,
    kind: Kind,
    default: Option<ObjectValue>,
    doc: &'static str,
    lens: Lens,
}

impl Entry {
    /// A writable object of this project with one value and no default.
    const fn new(
        section: Section,
        name: &'static str,
        kind: Kind,
        lens: Lens,
        doc: &'static str,
    ) -> Self {
        let (source, scope, access) = (Source::Ours, Scope::Bridge, Access::ReadWrite);
        Self { name, section, source, scope, access, kind, default: None, doc, lens }
    }

    const fn of(self, source: Source) -> Self {
        Self { source, ..self }
    }

    const fn per(self, scope: Scope) -> Self {
        Self { scope, ..self }
    }

    const fn fixed(self) -> Self {
        Self { access: Access::Start, ..self }
    }

    const fn is(self, default: ObjectValue) -> Self {
        Self { default: Some(default), ..self }
    }

    const fn number(self, default: i64) -> Self {
        self.is(ObjectValue::Number(default))
    }

    /// A counter, which is not part of a plan.
    const fn counter(
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

/// By section, in the order of the documents.
static TABLE: [&[Entry]; 6] = [
    sfc::OBJECTS,
    proxy::OBJECTS,
    isolation::OBJECTS,
    notifications::FAST_CNP,
    notifications::QCN,
    watchdog::OBJECTS,
];

impl Object {
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().flat_map(|section| section.iter()).map(Self)
    }

    /// Finds an object by name.
    ///
    /// # Errors
    /// No object has this name; the error names the nearest one.
    pub fn named(name: &str) -> Result<Self, ObjectError> {
        let found = Self::all().find(|object| object.name() == name);
        found.ok_or_else(|| {
            let like = Self::all().find(|object| object.name().eq_ignore_ascii_case(name));
            ObjectError::unknown(name, like.map(Self::name))
        })
    }

    #[must_use]
    pub const fn name(self) -> &'static str {
        self.0.name
    }

    #[must_use]
    pub const fn section(self) -> Section {
        self.0.section
    }

    #[must_use]
    pub const fn source(self) -> Source {
        self.0.source
    }

    #[must_use]
    pub const fn scope(self) -> Scope {
        self.0.scope
    }

    #[must_use]
    pub const fn access(self) -> Access {
        self.0.access
    }

    #[must_use]
    pub const fn kind(self) -> Kind {
        self.0.kind
    }

    /// Default value. `None` if it depends on other settings.
    #[must_use]
    pub const fn default(self) -> Option<ObjectValue> {
        self.0.default
    }

    /// One-sentence description.
    #[must_use]
    pub const fn doc(self) -> &'static str {
        self.0.doc
    }
}

impl PartialEq for Object {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::eq(self.0, other.0)
    }
}

impl Eq for Object {}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
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
        }
    }
}

/// Returns the value of an object in a plan of `ports` ports. `None` if the plan lacks the section,
/// port or monitored queue, and for counters.
#[must_use]
pub fn get(plan: &CongestionPlan, ports: usize, object: Object, at: At) -> Option<ObjectValue> {
    let mut spots = spots(ports, object, at).ok()?;
    let (spot, None) = (spots.next()?, spots.next()) else { return None };
    (object.0.lens.get)(plan, spot)
}

/// Writes an object of a plan of `ports` ports. If `at` leaves out the port or the class, all that
/// have the object are written.
///
/// # Errors
/// [`ObjectError`]; the plan is unchanged then.
pub fn set(
    plan: &mut CongestionPlan,
    ports: usize,
    object: Object,
    at: At,
    value: ObjectValue,
) -> Result<(), ObjectError> {
    let refused = |reason| Err(ObjectError::new(object, reason));
    match object.access() {
        Access::ReadWrite => {}
        Access::Start => return refused(Reason::Start),
        Access::ReadOnly => return refused(Reason::ReadOnly),
    }
    if !object.section().is_in(plan) {
        return refused(Reason::NoSection);
    }
    if !object.kind().takes(&value) {
        return refused(Reason::Range);
    }
    let spots = match spots(ports, object, at) {
        Ok(spots) => spots,
        Err(reason) => return refused(reason),
    };
    let mut new = plan.clone();
    let (mut written, mut last) = (0, Reason::NoQueue);
    for spot in spots {
        match (object.0.lens.set)(&mut new, spot, value) {
            Ok(()) => written += 1,
            // Without a port or a class in `at`, queues that lack the object are skipped.
            Err(Reason::NoQueue) if at.port.is_none() || at.class.is_none() => {}
            Err(reason) => (written, last) = (0, reason),
        }
        if last != Reason::NoQueue {
            break;
        }
    }
    if written == 0 {
        return refused(last);
    }
    check(&new).or_else(refused)?;
    *plan = new;
    Ok(())
}

/// Writes the value that a file gives an object at one place, even one that only a start can change.
/// The plan's parameters are not validated against each other.
///
/// # Errors
/// [`ObjectError`] if the value is out of range or the plan lacks the section, port or queue.
pub fn configure(
    plan: &mut CongestionPlan,
    object: Object,
    at: At,
    value: ObjectValue,
) -> Result<(), ObjectError> {
    let (port, class) = (at.port.map_or(0, PortId::index), at.class.map_or(0, TrafficClass::index));
    let written = match object.kind().takes(&value) {
        true => (object.0.lens.set)(plan, Spot { port, class }, value),
        false => Err(Reason::Range),
    };
    written.map_err(|reason| ObjectError::new(object, reason))
}

/// Iterates over the selected places.
fn spots(ports: usize, object: Object, at: At) -> Result<impl Iterator<Item = Spot>, Reason> {
    let (by_port, by_class) = match object.scope() {
        Scope::Bridge => (false, false),
        Scope::Port => (true, false),
        Scope::Queue | Scope::Sums => (true, true),
    };
    if (at.port.is_some() && !by_port) || (at.class.is_some() && !by_class) {
        return Err(Reason::Scope);
    }
    if at.port.is_some_and(|port| port.index() >= ports) {
        return Err(Reason::NoPort);
    }
    let range = |one: Option<usize>, many: bool, all: usize| match one {
        Some(n) => n..n + 1,
        None => 0..if many { all } else { 1 },
    };
    let of_ports = range(at.port.map(PortId::index), by_port, ports);
    let of_classes = range(at.class.map(TrafficClass::index), by_class, PRIORITIES);
    Ok(of_ports.flat_map(move |port| of_classes.clone().map(move |class| Spot { port, class })))
}

/// Validates the writable parameters of a plan against each other.
fn check(plan: &CongestionPlan) -> Result<(), Reason> {
    let reason = |error: &dyn fmt::Display| Reason::Contradicts(error.to_string());
    if let Some(sfc) = &plan.sfc {
        sfc.point.check().map_err(|e| reason(&e))?;
        for monitor in sfc.monitors.iter().flatten().flatten() {
            monitor.check().map_err(|e| reason(&e))?;
        }
    }
    if let Some(isolation) = &plan.isolation {
        isolation.machine.check().map_err(|e| reason(&e))?;
        for watch in isolation.watches.iter().flatten().flatten() {
            watch.check().map_err(|e| reason(&e))?;
        }
    }
    match &plan.proxy {
        Some(proxy) if !proxy.policy.is_sound() => {
            let what = "the longest pause is longer than the credit: raise sfc_proxy.policy.credit";
            Err(Reason::Contradicts(what.into()))
        }
        _ => Ok(()),
    }
}
