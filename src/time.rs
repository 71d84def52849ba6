//! Time as the data plane sees it: whole picoseconds since the world began.
//!
//! Nothing here reads a clock. The driver of a world reads its clock once per poll (TSC or NIC in
//! the real world, the event queue in the virtual one) and passes an [`Instant`] down.
//! A `u64` of picoseconds spans 213 days, which bounds the uptime of one run; the arithmetic
//! panics rather than wraps (both in debug and in release), so the bound cannot pass unseen.

use core::fmt;
use core::ops::{Add, AddAssign, Sub};

/// A point in time: picoseconds since the start of the world (range 0 to 213 days).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant(u64);

/// A span of time in picoseconds (range 0 to 213 days).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Duration(u64);

impl Instant {
    /// The start of the world.
    pub const ZERO: Self = Self(0);
    /// Later than anything that happens: the deadline of a machine that waits for nothing.
    pub const NEVER: Self = Self(u64::MAX);

    /// The point `ps` picoseconds after the start of the world.
    #[must_use]
    pub const fn from_picos(ps: u64) -> Self {
        Self(ps)
    }

    /// Picoseconds since the start of the world.
    #[must_use]
    pub const fn as_picos(self) -> u64 {
        self.0
    }

    /// The span since `earlier`, or zero if `earlier` is the later one.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }

    /// The point `d` later, or [`Instant::NEVER`] when that lies past the end of time.
    #[must_use]
    pub const fn saturating_add(self, d: Duration) -> Self {
        Self(self.0.saturating_add(d.0))
    }

    /// The point `d` earlier, or the start of the world when that lies before it.
    #[must_use]
    pub const fn saturating_sub(self, d: Duration) -> Self {
        Self(self.0.saturating_sub(d.0))
    }
}

impl Duration {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The longest span there is.
    pub const MAX: Self = Self(u64::MAX);

    /// A span of `ps` picoseconds.
    #[must_use]
    pub const fn from_picos(ps: u64) -> Self {
        Self(ps)
    }

    /// A span of `ns` nanoseconds.
    #[must_use]
    pub const fn from_nanos(ns: u64) -> Self {
        Self(ns * 1_000)
    }

    /// A span of `us` microseconds.
    #[must_use]
    pub const fn from_micros(us: u64) -> Self {
        Self(us * 1_000_000)
    }

    /// A span of `ms` milliseconds.
    #[must_use]
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms * 1_000_000_000)
    }

    /// A span of `s` seconds.
    #[must_use]
    pub const fn from_secs(s: u64) -> Self {
        Self(s * 1_000_000_000_000)
    }

    /// The span in picoseconds.
    #[must_use]
    pub const fn as_picos(self) -> u64 {
        self.0
    }

    /// The span in whole nanoseconds, rounded down.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0 / 1_000
    }

    /// The span in seconds.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e12
    }

    /// `self` times `n`, or [`Duration::MAX`] when that is too long.
    #[must_use]
    pub const fn saturating_mul(self, n: u64) -> Self {
        Self(self.0.saturating_mul(n))
    }

    /// `self` less `d`, or [`Duration::ZERO`] when that is longer.
    #[must_use]
    pub const fn saturating_sub(self, d: Self) -> Self {
        Self(self.0.saturating_sub(d.0))
    }

    /// `self` divided by `n`, rounded down. `n` is not zero.
    #[must_use]
    pub const fn div(self, n: u64) -> Self {
        Self(self.0 / n)
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    fn add(self, d: Duration) -> Self {
        Self(self.0.checked_add(d.0).expect("time passed 213 days"))
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, d: Duration) {
        *self = *self + d;
    }
}

impl Add for Duration {
    type Output = Self;
    fn add(self, d: Self) -> Self {
        Self(self.0.checked_add(d.0).expect("a span passed 213 days"))
    }
}

impl AddAssign for Duration {
    fn add_assign(&mut self, d: Self) {
        *self = *self + d;
    }
}

impl Sub for Duration {
    type Output = Self;
    fn sub(self, d: Self) -> Self {
        Self(self.0.checked_sub(d.0).expect("a span below zero"))
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::NEVER {
            return f.write_str("never");
        }
        write!(f, "t+{}", Duration(self.0))
    }
}

impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Duration {
    /// The span in the largest unit that keeps at least one whole part: `5.12us`, `83.84ns`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 4] =
            [(1_000_000_000_000, "s"), (1_000_000_000, "ms"), (1_000_000, "us"), (1_000, "ns")];
        for (scale, unit) in UNITS {
            if self.0 >= scale {
                let text = format!("{:.3}", self.0 as f64 / scale as f64);
                let text = text.trim_end_matches('0').trim_end_matches('.');
                return write!(f, "{text}{unit}");
            }
        }
        write!(f, "{}ps", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_print_in_their_natural_unit() {
        assert_eq!(Duration::from_picos(83_840).to_string(), "83.84ns");
        assert_eq!(Duration::from_picos(5_120_000).to_string(), "5.12us");
        assert_eq!(Duration::from_secs(2).to_string(), "2s");
        assert_eq!(Duration::ZERO.to_string(), "0ps");
    }

    #[test]
    fn since_never_goes_below_zero() {
        let a = Instant::from_picos(5);
        assert_eq!(Instant::ZERO.since(a), Duration::ZERO);
        assert_eq!(a.since(Instant::ZERO).as_picos(), 5);
    }

    #[test]
    #[should_panic(expected = "213 days")]
    fn time_does_not_wrap() {
        let _ = Instant::from_picos(u64::MAX) + Duration::from_picos(1);
    }
}
