//! Managed objects of the PFC storm watchdog: as SONiC's `pfcwd start` and `pfcwd stop`, with its times.

use super::entry::{Entry, Lens, Reason, Scope, Section};
use super::field::Field;
use super::value::{Kind, ObjectValue, Unit};

/// A field of a port's watchdog.
macro_rules! port {
    ($field:ident) => {
        Lens {
            get: |plan, at| {
                let of = plan.watchdog.as_ref()?.get(at.port)?.as_ref()?;
                Some(Field::value(&of.$field))
            },
            set: |plan, at, value| {
                let ports = plan.watchdog.as_mut().ok_or(Reason::NoSection)?;
                let of = ports.get_mut(at.port).and_then(Option::as_mut);
                Field::write(&mut of.ok_or(Reason::NoQueue)?.$field, value)
            },
        }
    };
}

const MILLISECOND: i64 = 1_000_000_000;

/// A time up to an hour.
const TIME: Kind =
    Kind::Number { least: 1, most: 3_600_000 * MILLISECOND, unit: Unit::Picoseconds };

pub(super) static OBJECTS: &[Entry] = &[
    Entry::new(
        Section::Watchdog,
        "watchdog.enabled",
        Kind::Bool,
        port!(enabled),
        "True if the storm watchdog of the port runs; one that is stopped releases its queues.",
    )
    .per(Scope::Port)
    .is(ObjectValue::Bool(true)),
    Entry::new(
        Section::Watchdog,
        "watchdog.detection",
        TIME,
        port!(detection),
        "Time that a queue with frames must be paused, without sending any, to be in a storm.",
    )
    .per(Scope::Port)
    .number(200 * MILLISECOND),
    Entry::new(
        Section::Watchdog,
        "watchdog.restoration",
        TIME,
        port!(restoration),
        "Time without a pause after which a queue in a storm is released.",
    )
    .per(Scope::Port)
    .number(400 * MILLISECOND),
];
