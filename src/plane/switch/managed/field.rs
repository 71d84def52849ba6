//! Conversion between fields of plans and values of objects.

use core::net::{Ipv4Addr, Ipv6Addr};

use super::object::Reason;
use super::value::ObjectValue;
use congestion::Detect;
use congestion::sfc::CENTISECOND;
use ground::time::Duration;
use ground::units::{Bytes, Dscp, Mac, Priority};

/// A field of a plan. A written value is already validated against the range of its object, which
/// is within that of the field's type.
pub(super) trait Field {
    fn value(&self) -> ObjectValue;
    fn write(&mut self, value: ObjectValue) -> Result<(), Reason>;
}

/// A field of a section.
macro_rules! one {
    ($section:ident.$($field:ident).+) => {
        Lens {
            get: |plan, _| Some(Field::value(&plan.$section.as_ref()?.$($field).+)),
            set: |plan, _, value| {
                let section = plan.$section.as_mut().ok_or(Reason::NoSection)?;
                Field::write(&mut section.$($field).+, value)
            },
        }
    };
}

/// The DSCP of a section's messages, which follows their priority until it is written.
macro_rules! dscp {
    ($section:ident) => {
        Lens {
            get: |plan, _| Some(Field::value(&plan.$section.as_ref()?.dscp())),
            set: |plan, _, value| {
                let section = plan.$section.as_mut().ok_or(Reason::NoSection)?;
                let mut dscp = section.dscp();
                Field::write(&mut dscp, value)?;
                section.set_dscp(dscp);
                Ok(())
            },
        }
    };
}

/// A duration of a section in centiseconds.
macro_rules! life {
    ($section:ident.$($field:ident).+) => {
        Lens {
            get: |plan, _| Some(in_centiseconds(plan.$section.as_ref()?.$($field).+)),
            set: |plan, _, value| {
                let section = plan.$section.as_mut().ok_or(Reason::NoSection)?;
                write_centiseconds(&mut section.$($field).+, value)
            },
        }
    };
}

/// A field of a section with named values.
macro_rules! words {
    ($words:ident: $section:ident.$($field:ident).+) => {
        Lens {
            get: |plan, _| word($words, plan.$section.as_ref()?.$($field).+),
            set: |plan, _, value| {
                let section = plan.$section.as_mut().ok_or(Reason::NoSection)?;
                write_word($words, &mut section.$($field).+, value)
            },
        }
    };
}

/// A field of each queue that a section monitors.
macro_rules! queue {
    ($section:ident.$queues:ident: $($field:ident).+) => {
        Lens {
            get: |plan, spot| {
                let queue = plan.$section.as_ref()?.$queues.get(spot.port)?[spot.class].as_ref()?;
                Some(Field::value(&queue.$($field).+))
            },
            set: |plan, spot, value| {
                let section = plan.$section.as_mut().ok_or(Reason::NoSection)?;
                let queue = section.$queues.get_mut(spot.port).and_then(|port| port[spot.class].as_mut());
                Field::write(&mut queue.ok_or(Reason::NoQueue)?.$($field).+, value)
            },
        }
    };
}

/// The detection objects of a queue; `$get` and `$get_mut` locate its [`Detect`].
macro_rules! curves {
    ($get:ident, $get_mut:ident) => {
        const THRESHOLD: Lens = Lens {
            get: |plan, spot| threshold(&$get(plan, spot)?),
            set: |plan, spot, value| {
                write_threshold($get_mut(plan, spot).ok_or(Reason::NoQueue)?, value)
            },
        };
        curves!(KMIN Kmin $get $get_mut);
        curves!(KMAX Kmax $get $get_mut);
        curves!(PMAX Pmax $get $get_mut);
    };
    ($lens:ident $number:ident $get:ident $get_mut:ident) => {
        const $lens: Lens = Lens {
            get: |plan, spot| curve(&$get(plan, spot)?, Curve::$number),
            set: |plan, spot, value| {
                write_curve($get_mut(plan, spot).ok_or(Reason::NoQueue)?, Curve::$number, value)
            },
        };
    };
}

pub(super) use {curves, dscp, life, one, queue, words};

impl Field for bool {
    fn value(&self) -> ObjectValue {
        ObjectValue::Bool(*self)
    }
    fn write(&mut self, value: ObjectValue) -> Result<(), Reason> {
        let ObjectValue::Bool(new) = value else { return Err(Reason::Range) };
        *self = new;
        Ok(())
    }
}

macro_rules! numbers {
    ($($type:ty: $read:expr, $made:expr;)*) => {$(
        impl Field for $type {
            fn value(&self) -> ObjectValue {
                let read: fn(&$type) -> i64 = $read;
                ObjectValue::Number(read(self))
            }
            fn write(&mut self, value: ObjectValue) -> Result<(), Reason> {
                let ObjectValue::Number(n) = value else { return Err(Reason::Range) };
                // The range of the object was checked; this is the range of the type.
                let made: fn(i64) -> Option<$type> = $made;
                *self = made(n).ok_or(Reason::Range)?;
                Ok(())
            }
        }
    )*};
}

numbers! {
    u8: |n| (*n).into(), |n| n.try_into().ok();
    i8: |n| (*n).into(), |n| n.try_into().ok();
    u16: |n| (*n).into(), |n| n.try_into().ok();
    u32: |n| (*n).into(), |n| n.try_into().ok();
    usize: |n| i64::try_from(*n).unwrap_or(i64::MAX), |n| n.try_into().ok();
    Bytes: |n| i64::try_from(n.0).unwrap_or(i64::MAX), |n| n.try_into().ok().map(Bytes);
    Duration: |d| i64::try_from(d.as_picos()).unwrap_or(i64::MAX),
        |n| n.try_into().ok().map(Duration::from_picos);
    Priority: |p| p.get().into(), |n| Priority::new(n.try_into().ok()?);
    Dscp: |d| d.get().into(), |n| Dscp::new(n.try_into().ok()?);
}

macro_rules! addresses {
    ($($type:ty: $variant:ident;)*) => {$(
        impl Field for Option<$type> {
            fn value(&self) -> ObjectValue {
                self.map_or(ObjectValue::Unset, ObjectValue::$variant)
            }
            fn write(&mut self, value: ObjectValue) -> Result<(), Reason> {
                *self = match value {
                    ObjectValue::$variant(address) => Some(address),
                    ObjectValue::Unset => None,
                    _ => return Err(Reason::Range),
                };
                Ok(())
            }
        }
    )*};
}

addresses! {
    Mac: Mac;
    Ipv4Addr: Ipv4;
    Ipv6Addr: Ipv6;
}

/// Converts a time to centiseconds, rounded up so that only zero is shown as 0.
pub(super) fn in_centiseconds(time: Duration) -> ObjectValue {
    let unit = CENTISECOND.as_picos();
    ObjectValue::Number(i64::try_from(time.as_picos().div_ceil(unit)).unwrap_or(i64::MAX))
}

pub(super) fn write_centiseconds(time: &mut Duration, value: ObjectValue) -> Result<(), Reason> {
    let ObjectValue::Number(n) = value else { return Err(Reason::Range) };
    *time = CENTISECOND.saturating_mul(n.try_into().map_err(|_| Reason::Range)?);
    Ok(())
}

/// Returns the name of a value.
pub(super) fn word<T: Copy + PartialEq>(
    words: &[(&'static str, T)],
    wanted: T,
) -> Option<ObjectValue> {
    words.iter().find(|(_, value)| *value == wanted).map(|(word, _)| ObjectValue::Choice(word))
}

/// Writes the value with a name.
pub(super) fn write_word<T: Copy>(
    words: &[(&'static str, T)],
    field: &mut T,
    value: ObjectValue,
) -> Result<(), Reason> {
    let ObjectValue::Choice(word) = value else { return Err(Reason::Range) };
    let (_, new) = words.iter().find(|(name, _)| *name == word).ok_or(Reason::Range)?;
    *field = *new;
    Ok(())
}

/// Parameters of a detection curve.
#[derive(Clone, Copy)]
pub(super) enum Curve {
    Kmin,
    Kmax,
    Pmax,
}

/// Returns the threshold of a queue that is detected by its length.
pub(super) fn threshold(detect: &Detect) -> Option<ObjectValue> {
    match detect {
        Detect::Length(threshold) => Some(threshold.value()),
        Detect::Aqm(_) => None,
    }
}

/// Sets detection by queue length.
pub(super) fn write_threshold(detect: &mut Detect, value: ObjectValue) -> Result<(), Reason> {
    let mut octets = Bytes(0);
    octets.write(value)?;
    // A queue with a curve becomes one with a threshold, so the write always succeeds.
    *detect = Detect::Length(octets);
    Ok(())
}

/// Returns a parameter of a queue that is detected by a curve.
pub(super) fn curve(detect: &Detect, number: Curve) -> Option<ObjectValue> {
    let Detect::Aqm(plan) = detect else { return None };
    Some(match number {
        Curve::Kmin => plan.kmin.value(),
        Curve::Kmax => plan.kmax.value(),
        Curve::Pmax => plan.pmax.value(),
    })
}

/// Sets a parameter of a queue that is detected by a curve.
pub(super) fn write_curve(
    detect: &mut Detect,
    number: Curve,
    value: ObjectValue,
) -> Result<(), Reason> {
    const WHY: &str = "the queue is looked at by its length; give it an `aqm` in the file";
    let Detect::Aqm(plan) = detect else { return Err(Reason::Needs(WHY)) };
    match number {
        Curve::Kmin => plan.kmin.write(value)?,
        Curve::Kmax => plan.kmax.write(value)?,
        Curve::Pmax => plan.pmax.write(value)?,
    }
    // After the write, on the copy of the plan that a refusal discards.
    if plan.kmin > plan.kmax {
        let what = format!("kmin {} is above kmax {}", plan.kmin, plan.kmax);
        return Err(Reason::Contradicts(what));
    }
    Ok(())
}
