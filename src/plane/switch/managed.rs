//! The managed objects of Source Flow Control and of Congestion Isolation, of what those documents
//! leave open, of the storm watchdog, of link measurements and of PFC: one table with names,
//! defaults and ranges.
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

mod field;
mod isolation;
mod notifications;
mod object;
mod ports;
mod proxy;
mod sfc;
mod tables;
#[cfg(test)]
mod tests;
mod value;

pub use object::{Access, At, Object, ObjectError, Reason, Scope, Section, Source};
pub use tables::{CachePage, Listing, StreamPage, StreamRow, Streams};
pub use value::{Counter, Kind, ObjectValue, QUEUE_MAP, Unit};

use core::fmt;

use crate::CongestionPlan;
use ground::units::{Bytes, PRIORITIES, PortId, TrafficClass};
use object::Spot;

impl Object {
    /// Finds an object by name.
    ///
    /// # Errors
    /// No object has this name; the error names the nearest one.
    pub fn named(name: &str) -> Result<Self, ObjectError> {
        let found = Self::all().find(|object| object.name() == name);
        found.ok_or_else(|| {
            // Names of the standards differ in case only by mistake.
            let like = Self::all().find(|object| object.name().eq_ignore_ascii_case(name));
            ObjectError::unknown(name, like.map(Self::name))
        })
    }
}

/// Returns the value of an object in a plan of `ports` ports. `None` if the plan lacks the section,
/// port or monitored queue, and for counters.
pub fn get(plan: &CongestionPlan, ports: usize, object: Object, place: At) -> Option<ObjectValue> {
    let mut spots = spots(ports, object, place).ok()?;
    // A value is read at one place; without a port or a class there would be several.
    let (spot, None) = (spots.next()?, spots.next()) else { return None };
    (object.0.lens.get)(plan, spot)
}

/// Returns false if an object has a value only because it follows another one.
pub fn is_given(plan: &CongestionPlan, object: Object) -> bool {
    match object.name() {
        "sfc.dscp" => plan.sfc.as_ref().is_some_and(|sfc| sfc.dscp.is_some()),
        "congestion_isolation.dscp" => {
            plan.isolation.as_ref().is_some_and(|isolation| isolation.dscp.is_some())
        }
        "fast_cnp.dscp" => plan.fast_cnp.as_ref().is_some_and(|fast_cnp| fast_cnp.dscp.is_some()),
        _ => true,
    }
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
    place: At,
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
    let spots = match spots(ports, object, place) {
        Ok(spots) => spots,
        Err(reason) => return refused(reason),
    };
    // On a copy, because a later place, or the check of the whole, may refuse.
    let mut new = plan.clone();
    let (mut written, mut last) = (0, Reason::NoQueue);
    for spot in spots {
        match (object.0.lens.set)(&mut new, spot, value) {
            Ok(()) => written += 1,
            // Without a port or a class in `at`, queues that lack the object are skipped.
            Err(Reason::NoQueue) if place.port.is_none() || place.class.is_none() => {}
            Err(reason) => (written, last) = (0, reason),
        }
        // Any other reason holds for all places.
        if last != Reason::NoQueue {
            break;
        }
    }
    if written == 0 {
        return refused(last);
    }
    // The value is in its range; whether it fits the others shows only now.
    check(&new).or_else(refused)?;
    *plan = new;
    Ok(())
}

/// Refuses a queue length at which congestion would begin, but that a queue never has, because the whole
/// buffer is no larger.
///
/// # Errors
/// [`ObjectError`], with the remedy.
pub fn reaches(object: Object, value: ObjectValue, buffer: Bytes) -> Result<(), ObjectError> {
    let begins = [".queues.threshold", ".queues.aqm.kmin"];
    let ObjectValue::Number(length) = value else { return Ok(()) };
    let length = u64::try_from(length).unwrap_or(0);
    // Only lengths at which congestion begins: a larger target or maximum does no harm.
    if length < buffer.0 || !begins.iter().any(|name| object.name().ends_with(name)) {
        return Ok(());
    }
    let what = format!("no queue has {length} bytes; write less than the whole buffer, {buffer}");
    Err(ObjectError::new(object, Reason::Contradicts(what)))
}

/// Writes the value that a file gives an object at one place, even one that only a start can change.
/// The plan's parameters are not validated against each other.
///
/// # Errors
/// [`ObjectError`] if the value is out of range or the plan lacks the section, port or queue.
pub fn configure(
    plan: &mut CongestionPlan,
    object: Object,
    place: At,
    value: ObjectValue,
) -> Result<(), ObjectError> {
    let (port, class) =
        (place.port.map_or(0, PortId::index), place.class.map_or(0, TrafficClass::index));
    let written = match object.kind().takes(&value) {
        true => (object.0.lens.set)(plan, Spot { port, class }, value),
        false => Err(Reason::Range),
    };
    written.map_err(|reason| ObjectError::new(object, reason))
}

/// Iterates over the selected places.
fn spots(ports: usize, object: Object, place: At) -> Result<impl Iterator<Item = Spot>, Reason> {
    let (by_port, by_class) = match object.scope() {
        Scope::Bridge => (false, false),
        Scope::Port => (true, false),
        Scope::Queue | Scope::Sums => (true, true),
    };
    if (place.port.is_some() && !by_port) || (place.class.is_some() && !by_class) {
        return Err(Reason::Scope);
    }
    if place.port.is_some_and(|port| port.index() >= ports) {
        return Err(Reason::NoPort);
    }
    let range = |one: Option<usize>, many: bool, all: usize| match one {
        Some(n) => n..n + 1,
        None => 0..if many { all } else { 1 },
    };
    let of_ports = range(place.port.map(PortId::index), by_port, ports);
    let of_classes = range(place.class.map(TrafficClass::index), by_class, PRIORITIES);
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
    plan.measurement.iter().flatten().flatten().try_for_each(ports::check)?;
    match &plan.proxy {
        Some(proxy) if !proxy.policy.is_sound() => {
            let what = "the longest pause is longer than the credit: raise sfc_proxy.policy.credit";
            Err(Reason::Contradicts(what.into()))
        }
        _ => Ok(()),
    }
}
