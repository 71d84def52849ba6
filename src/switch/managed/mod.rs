//! The managed objects of Source Flow Control and of Congestion Isolation, what those leave open, and the
//! storm watchdog: one table of what there is, under which name, with which default and in which range.
//!
//! An [`Object`] is read from and written to a [`CongestionPlan`], so a configuration, a running switch
//! and a lab all mean the same by a name. [`set`] refuses what is out of range, what contradicts the
//! rest of the plan, and what only a new start can change; a plan that was refused is as it was.
//! Counters and tables are no part of a plan: their objects are here for their names, and are read
//! from what a switch counted.
//!
//! Names are those of the documents: the "Consideration of SFC in 802.1Q" slides of January 2022
//! (12.xx), `ieee802-dot1q-congestion-isolation` (802.1Qcz, Clauses 12.33 and 49) and the IEEE8021-CN-MIB.
//! What is ours has the name of its key in a file, with a dot in it.

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
pub use tables::{StreamPage, StreamRow, Streams};
pub use value::{Kind, ObjectValue, QUEUE_MAP, Unit};

use core::fmt;

use field::Lens;

use super::plan::CongestionPlan;
use crate::units::{PRIORITIES, PortId, TrafficClass};

/// A managed object: one line of the table.
#[derive(Clone, Copy)]
pub struct Object(&'static Entry);

/// Where the objects of one kind come from and which part of a plan they are in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Section {
    /// Source Flow Control points.
    Sfc,
    /// The proxy.
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

/// The document that an object is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// The slides of Source Flow Control, and the clause that they propose.
    Sfc(&'static str),
    /// 802.1Qcz and its YANG module, and the clause.
    Isolation(&'static str),
    /// The MIB of congestion notification (802.1Q 17.7.13), and the clause.
    Cn(&'static str),
    /// Ours: what the documents leave open.
    Ours,
}

/// How many values an object has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// One.
    Bridge,
    /// One per port.
    Port,
    /// One per port and traffic class.
    Queue,
    /// A counter: of all ports, of one, and of each of its queues.
    Sums,
}

/// Who may write an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Configuration and clients.
    ReadWrite,
    /// The configuration alone: memory is set aside for it at the start.
    Start,
    /// Nobody: a counter.
    ReadOnly,
}

/// Where a value is: nothing for a port is the whole bridge or, when writing, every port; likewise
/// the traffic class.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct At {
    /// The port.
    pub port: Option<PortId>,
    /// The traffic class.
    pub class: Option<TrafficClass>,
}

/// One of the places that an [`At`] means.
#[derive(Clone, Copy, Debug)]
struct Spot {
    port: usize,
    class: usize,
}

/// What is known of an object.
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
    /// An object of ours that has one value without a default, and can be written.
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

    /// A counter, which no plan has.
    const fn counter(section: Section, name: &'static str, doc: &'static str) -> Self {
        let lens = Lens { get: |_, _| None, set: |_, _, _| Err(Reason::ReadOnly) };
        let entry = Self::new(section, name, Kind::Counter, lens, doc).per(Scope::Sums);
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
    /// All objects, by section.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().flat_map(|section| section.iter()).map(Self)
    }

    /// The object of this name.
    ///
    /// # Errors
    /// There is none; names the nearest one.
    pub fn named(name: &str) -> Result<Self, ObjectError> {
        let found = Self::all().find(|object| object.name() == name);
        found.ok_or_else(|| {
            let like = Self::all().find(|object| object.name().eq_ignore_ascii_case(name));
            ObjectError::unknown(name, like.map(Self::name))
        })
    }

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.0.name
    }

    /// The part of a plan that it is in.
    #[must_use]
    pub const fn section(self) -> Section {
        self.0.section
    }

    /// The document that it is in.
    #[must_use]
    pub const fn source(self) -> Source {
        self.0.source
    }

    /// How many values it has.
    #[must_use]
    pub const fn scope(self) -> Scope {
        self.0.scope
    }

    /// Who may write it.
    #[must_use]
    pub const fn access(self) -> Access {
        self.0.access
    }

    /// What its values are.
    #[must_use]
    pub const fn kind(self) -> Kind {
        self.0.kind
    }

    /// What it is where a file does not say so. Nothing where that depends on other things.
    #[must_use]
    pub const fn default(self) -> Option<ObjectValue> {
        self.0.default
    }

    /// What it is, in a sentence.
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
    /// Its key in a file.
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

    /// Whether a plan has it.
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

/// The value of an object in a plan of `ports` ports. Nothing where the plan has no such section, port or
/// monitored queue, and of counters.
#[must_use]
pub fn get(plan: &CongestionPlan, ports: usize, object: Object, at: At) -> Option<ObjectValue> {
    let mut spots = spots(ports, object, at).ok()?;
    let (spot, None) = (spots.next()?, spots.next()) else { return None };
    (object.0.lens.get)(plan, spot)
}

/// Writes an object of a plan of `ports` ports. Where `at` leaves out the port or the class, all of
/// them get the value that have one.
///
/// # Errors
/// [`ObjectError`]; then the plan is as it was.
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
            // A port or a class that was not named need not have one.
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

/// The places that are meant.
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

/// Whether the numbers of a plan that objects can change go together.
fn check(plan: &CongestionPlan) -> Result<(), Reason> {
    let told = |error: &dyn fmt::Display| Reason::Contradicts(error.to_string());
    if let Some(sfc) = &plan.sfc {
        sfc.point.check().map_err(|e| told(&e))?;
        for monitor in sfc.monitors.iter().flatten().flatten() {
            monitor.check().map_err(|e| told(&e))?;
        }
    }
    if let Some(isolation) = &plan.isolation {
        isolation.machine.check().map_err(|e| told(&e))?;
        for watch in isolation.watches.iter().flatten().flatten() {
            watch.check().map_err(|e| told(&e))?;
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
