//! The managed object of the PFC storm watchdog, as SONiC's `pfcwd start` and `pfcwd stop`.

use super::entry::{Entry, Lens, Reason, Scope, Section};
use super::field::Field;
use super::value::{Kind, ObjectValue};

const ENABLED: Lens = Lens {
    get: |plan, at| plan.watchdog.as_ref()?.get(at.port)?.map(ObjectValue::Bool),
    set: |plan, at, value| {
        let ports = plan.watchdog.as_mut().ok_or(Reason::NoSection)?;
        let enabled = ports.get_mut(at.port).and_then(Option::as_mut);
        enabled.ok_or(Reason::NoQueue)?.write(value)
    },
};

pub(super) static OBJECTS: &[Entry] = &[Entry::new(
    Section::Watchdog,
    "watchdog.enabled",
    Kind::Bool,
    ENABLED,
    "True if the storm watchdog of the port runs; one that is stopped releases its queues.",
)
.per(Scope::Port)
.is(ObjectValue::Bool(true))];
