//! Spans of any length.

use core::cmp::Ordering;
use core::fmt;
use core::ops::{Add, AddAssign, Sub};

use super::Duration;

/// A span of any length in picoseconds: a sum of durations, or the time between two instants of a
/// run that may last for years.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Total {
    // As in an [`Instant`](super::Instant); the derived order needs the high word first.
    high: u64,
    low: u64,
}

impl Total {
    /// Zero.
    pub const ZERO: Self = Self::from_picos(0);

    /// Returns a span of `ps` picoseconds.
    #[must_use]
    pub const fn from_picos(ps: u128) -> Self {
        Self { high: (ps >> 64) as u64, low: ps as u64 }
    }

    /// Returns a span of `ns` nanoseconds.
    #[must_use]
    pub const fn from_nanos(ns: u64) -> Self {
        Self::from_picos(ns as u128 * 1_000)
    }

    /// Returns the span in picoseconds.
    #[must_use]
    pub const fn as_picos(self) -> u128 {
        (self.high as u128) << 64 | self.low as u128
    }

    /// Returns the span in whole nanoseconds, rounded down; a `u64` spans 584 years.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        let ns = self.as_picos() / 1_000;
        if ns > u64::MAX as u128 { u64::MAX } else { ns as u64 }
    }

    /// Returns the span in nanoseconds, with the fraction.
    #[must_use]
    pub fn as_nanos_f64(self) -> f64 {
        self.as_picos() as f64 / 1e3
    }

    /// Returns the span in seconds.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.as_picos() as f64 / 1e12
    }

    /// Returns `self` minus `less`, or zero if `less` is longer.
    #[must_use]
    pub const fn saturating_sub(self, less: Self) -> Self {
        Self::from_picos(self.as_picos().saturating_sub(less.as_picos()))
    }

    /// Returns `self` divided by `n`, rounded down, limited to [`Duration::MAX`]. Panics if `n` is
    /// zero.
    #[must_use]
    pub const fn div(self, n: u64) -> Duration {
        Self::from_picos(self.as_picos() / n as u128).saturated()
    }

    /// Returns the span, limited to [`Duration::MAX`].
    #[must_use]
    pub const fn saturated(self) -> Duration {
        Duration::from_picos(if self.as_picos() > u64::MAX as u128 {
            u64::MAX
        } else {
            self.as_picos() as u64
        })
    }
}

impl From<Duration> for Total {
    fn from(d: Duration) -> Self {
        Self::from_picos(d.as_picos().into())
    }
}

impl PartialEq<Duration> for Total {
    fn eq(&self, d: &Duration) -> bool {
        *self == Self::from(*d)
    }
}

impl PartialOrd<Duration> for Total {
    fn partial_cmp(&self, d: &Duration) -> Option<Ordering> {
        self.partial_cmp(&Self::from(*d))
    }
}

impl From<core::time::Duration> for Total {
    fn from(d: core::time::Duration) -> Self {
        // Less than 2^64 seconds.
        Self::from_picos(d.as_nanos() * 1_000)
    }
}

impl<T: Into<Self>> Add<T> for Total {
    type Output = Self;
    fn add(self, more: T) -> Self {
        Self::from_picos(
            self.as_picos().checked_add(more.into().as_picos()).expect("a sum below 2^128 ps"),
        )
    }
}

impl<T: Into<Self>> AddAssign<T> for Total {
    fn add_assign(&mut self, more: T) {
        *self = *self + more;
    }
}

impl<T: Into<Self>> Sub<T> for Total {
    type Output = Self;
    fn sub(self, less: T) -> Self {
        Self::from_picos(
            self.as_picos().checked_sub(less.into().as_picos()).expect("a span below zero"),
        )
    }
}

impl fmt::Debug for Total {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Total {
    /// Writes the span in the largest unit with at least one whole part: `5.12us`, `83.84ns`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 4] =
            [(1_000_000_000_000, "s"), (1_000_000_000, "ms"), (1_000_000, "us"), (1_000, "ns")];
        for (scale, unit) in UNITS {
            if self.as_picos() >= scale.into() {
                // Three decimals reach the next unit; zeros at the end are left out.
                let text = format!("{:.3}", self.as_picos() as f64 / scale as f64);
                let text = text.trim_end_matches('0').trim_end_matches('.');
                return write!(f, "{text}{unit}");
            }
        }
        write!(f, "{}ps", self.as_picos())
    }
}

/// Serialises a [`Total`] as whole nanoseconds.
pub mod nanos {
    use serde::{Deserialize, Deserializer, Serializer};

    use super::Total;

    /// Writes nanoseconds.
    ///
    /// # Errors
    /// Those of the serialiser.
    pub fn serialize<S: Serializer>(total: &Total, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(total.as_nanos())
    }

    /// Writes nanoseconds, with the picoseconds as decimals if there are any.
    ///
    /// # Errors
    /// Those of the serialiser.
    pub fn exact<S: Serializer>(total: &Total, to: S) -> Result<S::Ok, S::Error> {
        match total.as_picos() % 1_000 {
            // An integer where possible: JSON readers may lose digits of other numbers.
            0 => serialize(total, to),
            _ => to.serialize_f64(total.as_nanos_f64()),
        }
    }

    /// Reads nanoseconds.
    ///
    /// # Errors
    /// The value is no `u64`.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Total, D::Error> {
        u64::deserialize(from).map(Total::from_nanos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_total_of_years_is_exact() {
        let mut total = Total::ZERO;
        for _ in 0..20 {
            total += Duration::MAX;
        }
        assert_eq!(total.as_picos(), 20 * u128::from(u64::MAX));
        assert_eq!(total.as_nanos(), (20 * u128::from(u64::MAX) / 1_000) as u64);
        assert_eq!(total.saturated(), Duration::MAX);
        assert_eq!((total - Duration::MAX).as_picos(), 19 * u128::from(u64::MAX));
        assert_eq!(Total::from(Duration::from_nanos(7)).saturated(), Duration::from_nanos(7));
        assert_eq!(Total::from_picos(u128::MAX).as_nanos(), u64::MAX);
    }

    #[test]
    fn json_has_decimals_only_where_there_are_picoseconds() {
        for (ps, text) in [(7_000, "7"), (7_001, "7.001"), (0, "0")] {
            let mut out = Vec::new();
            nanos::exact(&Total::from_picos(ps), &mut serde_json::Serializer::new(&mut out))
                .unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), text);
        }
    }
}
