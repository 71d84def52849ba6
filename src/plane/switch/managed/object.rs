//! The table of managed objects.

use core::fmt;

use super::entry::{Access, Entry, Scope, Section, Source};
use super::value::{Kind, ObjectValue};
use super::{isolation, measurement, notifications, pfc, proxy, sfc, watchdog};

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
    watchdog::OBJECTS,
    measurement::OBJECTS,
    pfc::OBJECTS,
];

impl Object {
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().flat_map(|section| section.iter()).map(Self)
    }

    #[must_use]
    pub const fn name(self) -> &'static str {
        self.0.name
    }

    /// Returns the text in a file that gives a switch or a port the object.
    #[must_use]
    pub fn remedy(self) -> String {
        match self.section() {
            _ if self.name().starts_with("headroom.auto") => "headroom: auto".to_owned(),
            Section::Measurement => "measurement: {initiate: true}".to_owned(),
            section => format!("{}: {{}}", section.key()),
        }
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
