//! Measured times with their resolution: the one rule by which tables, pages, JSON, CSV, metrics
//! and responses to clients show them.
//!
//! A time shorter than the resolution is only known to be no longer than that. It is shown to
//! people as `< 240ns`; programs get the bound, 240, and never a number below it.

use core::fmt;

use serde::{Serialize, Serializer};

use ground::described::{Number, Numeric};
use ground::time::Duration;

#[derive(Clone, Copy, PartialEq, PartialOrd, Debug, Default)]
pub struct Measured {
    ns: f64,
    floor_ns: f64,
}

impl Measured {
    /// A time in nanoseconds, measured with a resolution of `floor_ns`.
    #[must_use]
    pub const fn new(ns: f64, floor_ns: f64) -> Self {
        Self { ns, floor_ns }
    }

    /// True if the time is not below the resolution.
    #[must_use]
    pub fn is_resolved(self) -> bool {
        self.ns >= self.floor_ns
    }

    /// Returns the time in nanoseconds for programs: at least the resolution.
    #[must_use]
    pub const fn ns(self) -> f64 {
        self.ns.max(self.floor_ns)
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let below = if self.is_resolved() { "" } else { "< " };
        write!(f, "{below}{}", Duration::from_nanos_f64(self.ns()))
    }
}

impl Numeric for Measured {
    fn number(&self) -> Option<Number> {
        Some(Number::Real(self.ns()))
    }
}

impl Serialize for Measured {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_f64(self.ns())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_below_the_resolution_is_given_as_its_bound_everywhere() {
        let below = Measured::new(0.0, 240.0);
        assert_eq!((below.to_string().as_str(), below.ns()), ("< 240ns", 240.0));
        assert_eq!(serde_json::to_value(below).unwrap(), 240.0);
        let at = Measured::new(240.0, 240.0);
        assert_eq!((at.to_string().as_str(), at.ns()), ("240ns", 240.0));
        let exact = Measured::new(0.0, 0.0);
        assert_eq!(exact.to_string(), Duration::ZERO.to_string(), "exact time knows its zeros");
    }
}
