//! Time in the data plane: whole picoseconds since the start of the world.
//!
//! This module reads no clock. The driver of a world reads its clock once per poll (TSC or NIC in
//! the real world, the event queue in the virtual one) and passes an [`Instant`] down.
//!
//! A `u64` of picoseconds spans 213 days. That suffices for a [`Duration`], a relative time, but
//! not for the uptime of a switch: an [`Instant`] and a [`Total`] have 128 bits and do not overflow
//! in practice. The arithmetic panics on overflow (both in debug and in release).

use core::cmp::Ordering;
use core::fmt;
use core::ops::{Add, AddAssign, Sub};

use serde::{Serialize, Serializer};

mod total;

pub use total::{Total, nanos};

/// A point in time: picoseconds since the start of the world.
///
/// Stored as the two words of a 128-bit number for their alignment: a `u128` would make each
/// structure with an instant in it up to 8 bytes longer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Instant {
    high: u64,
    low: u64,
}

/// A span of time in picoseconds (range 0 to 213 days).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Duration(u64);

impl Instant {
    /// The start of the world.
    pub const ZERO: Self = Self::from_picos(0);
    /// Later than any event: the deadline of a machine without a pending timer.
    pub const NEVER: Self = Self::from_picos(u128::MAX);

    /// Returns the point `ps` picoseconds after the start of the world.
    #[inline(always)]
    #[must_use]
    pub const fn from_picos(ps: u128) -> Self {
        Self { high: (ps >> 64) as u64, low: ps as u64 }
    }

    /// Returns the picoseconds since the start of the world.
    #[inline(always)]
    #[must_use]
    pub const fn as_picos(self) -> u128 {
        (self.high as u128) << 64 | self.low as u128
    }

    /// Returns the whole nanoseconds since the start of the world, rounded down; a `u64` spans 584
    /// years.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.total_since(Self::ZERO).as_nanos()
    }

    /// Returns the span since `earlier`: zero if `earlier` is the later one, limited to
    /// [`Duration::MAX`], which is 213 days.
    #[inline]
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        let span = self.as_picos().saturating_sub(earlier.as_picos());
        Duration(if span > u64::MAX as u128 { u64::MAX } else { span as u64 })
    }

    /// Returns the span since the start of the world, as [`Self::since`] does.
    #[must_use]
    pub const fn since_start(self) -> Duration {
        self.since(Self::ZERO)
    }

    /// Returns the span since `earlier`, of any length, or zero if `earlier` is the later one.
    #[must_use]
    pub const fn total_since(self, earlier: Self) -> Total {
        Total::from_picos(self.as_picos().saturating_sub(earlier.as_picos()))
    }

    /// Returns the point `d` later, limited to [`Instant::NEVER`].
    #[inline]
    #[must_use]
    pub const fn saturating_add(self, d: Duration) -> Self {
        Self::from_picos(self.as_picos().saturating_add(d.0 as u128))
    }

    /// Returns the point `d` later, limited to [`Instant::NEVER`], for a span of any length.
    #[must_use]
    pub const fn saturating_add_total(self, d: Total) -> Self {
        Self::from_picos(self.as_picos().saturating_add(d.as_picos()))
    }

    /// Returns the point `d` earlier, or the start of the world if that is later.
    #[inline]
    #[must_use]
    pub const fn saturating_sub(self, d: Duration) -> Self {
        Self::from_picos(self.as_picos().saturating_sub(d.0 as u128))
    }
}

impl Ord for Instant {
    #[inline(always)]
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_picos().cmp(&other.as_picos())
    }

    #[inline(always)]
    fn max(self, other: Self) -> Self {
        if other.as_picos() < self.as_picos() { self } else { other }
    }

    #[inline(always)]
    fn min(self, other: Self) -> Self {
        if other.as_picos() < self.as_picos() { other } else { self }
    }
}

// Compares as numbers: two instructions each, instead of word by word.
impl PartialOrd for Instant {
    #[inline(always)]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }

    #[inline(always)]
    fn lt(&self, other: &Self) -> bool {
        self.as_picos() < other.as_picos()
    }

    #[inline(always)]
    fn le(&self, other: &Self) -> bool {
        self.as_picos() <= other.as_picos()
    }

    #[inline(always)]
    fn gt(&self, other: &Self) -> bool {
        self.as_picos() > other.as_picos()
    }

    #[inline(always)]
    fn ge(&self, other: &Self) -> bool {
        self.as_picos() >= other.as_picos()
    }
}

impl Duration {
    /// Zero.
    pub const ZERO: Self = Self(0);
    /// Maximum span.
    pub const MAX: Self = Self(u64::MAX);

    /// Returns a span of `ps` picoseconds.
    #[must_use]
    pub const fn from_picos(ps: u64) -> Self {
        Self(ps)
    }

    /// Returns a span of `ns` nanoseconds, limited to [`Duration::MAX`], as below.
    #[must_use]
    pub const fn from_nanos(ns: u64) -> Self {
        Self(ns.saturating_mul(1_000))
    }

    /// Returns a span of `us` microseconds.
    #[must_use]
    pub const fn from_micros(us: u64) -> Self {
        Self(us.saturating_mul(1_000_000))
    }

    /// Returns a span of `ms` milliseconds.
    #[must_use]
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms.saturating_mul(1_000_000_000))
    }

    /// Returns a span of `s` seconds.
    #[must_use]
    pub const fn from_secs(s: u64) -> Self {
        Self(s.saturating_mul(1_000_000_000_000))
    }

    /// Returns the span in picoseconds.
    #[must_use]
    pub const fn as_picos(self) -> u64 {
        self.0
    }

    /// Returns the span in whole nanoseconds, rounded down.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0 / 1_000
    }

    /// Returns the span in nanoseconds, with the fraction.
    #[must_use]
    pub fn as_nanos_f64(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// Returns a span of `ns` nanoseconds, rounded to picoseconds; a negative one is zero.
    #[must_use]
    pub fn from_nanos_f64(ns: f64) -> Self {
        // The cast saturates: what is negative becomes 0.
        Self((ns * 1e3).round() as u64)
    }

    /// Returns the span in seconds.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e12
    }

    /// Returns `self` times `n`, limited to [`Duration::MAX`].
    #[must_use]
    pub const fn saturating_mul(self, n: u64) -> Self {
        Self(self.0.saturating_mul(n))
    }

    /// Returns `self` plus `d`, limited to [`Duration::MAX`].
    #[must_use]
    pub const fn saturating_add(self, d: Self) -> Self {
        Self(self.0.saturating_add(d.0))
    }

    /// Returns `self` minus `d`, or zero if `d` is longer.
    #[must_use]
    pub const fn saturating_sub(self, d: Self) -> Self {
        Self(self.0.saturating_sub(d.0))
    }

    /// Returns `self` divided by `n`, rounded down. Panics if `n` is zero.
    #[must_use]
    pub const fn div(self, n: u64) -> Self {
        Self(self.0 / n)
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    #[inline]
    fn add(self, d: Duration) -> Self {
        let ps = self.as_picos().checked_add(u128::from(d.0));
        Self::from_picos(ps.expect("nothing is later than never"))
    }
}

impl Add<Total> for Instant {
    type Output = Self;
    fn add(self, d: Total) -> Self {
        let ps = self.as_picos().checked_add(d.as_picos());
        Self::from_picos(ps.expect("nothing is later than never"))
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

/// In nanoseconds since the start of the world, as [`Duration`] is.
impl Serialize for Instant {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.since_start().serialize(to)
    }
}

/// In nanoseconds: an integer if possible, else with up to three decimals (picoseconds).
impl Serialize for Duration {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        nanos::exact(&Total::from(*self), to)
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::NEVER {
            return f.write_str("never");
        }
        write!(f, "t+{}", self.total_since(Self::ZERO))
    }
}

impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Duration {
    /// Writes the span in the largest unit with at least one whole part: `5.12us`, `83.84ns`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Total::from(*self), f)
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
    fn nanoseconds_with_a_fraction_are_kept_to_the_picosecond() {
        for ps in [0, 1, 83_840, 12_345_678_901] {
            let span = Duration::from_picos(ps);
            assert_eq!(Duration::from_nanos_f64(span.as_nanos_f64()), span);
            assert_eq!(Total::from(span).as_nanos_f64(), span.as_nanos_f64());
        }
        assert_eq!(Duration::from_nanos_f64(-1.0), Duration::ZERO);
    }

    #[test]
    fn since_never_goes_below_zero() {
        let a = Instant::from_picos(5);
        assert_eq!(Instant::ZERO.since(a), Duration::ZERO);
        assert_eq!(a.since(Instant::ZERO), Duration::from_picos(5));
    }

    #[test]
    fn the_order_of_instants_and_the_spans_between_them_are_those_of_numbers() {
        let around = |n: u128| [n.saturating_sub(2), n.saturating_sub(1), n, n + 1];
        let mut all: Vec<u128> = [0, 1 << 63, 1 << 64, 3 << 64, 1 << 72].map(around).concat();
        all.extend([u128::from(u64::MAX), u128::MAX - 1, u128::MAX]);
        for (a, b) in all.iter().flat_map(|a| all.iter().map(move |b| (*a, *b))) {
            let (x, y) = (Instant::from_picos(a), Instant::from_picos(b));
            assert_eq!((x.as_picos(), y.as_picos()), (a, b));
            assert_eq!((x < y, x <= y, x > y, x >= y), (a < b, a <= b, a > b, a >= b), "{a} {b}");
            assert_eq!((x == y, x.cmp(&y)), (a == b, a.cmp(&b)), "{a} {b}");
            assert_eq!((x.min(y).as_picos(), x.max(y).as_picos()), (a.min(b), a.max(b)));
            assert_eq!(x.total_since(y).as_picos(), a.saturating_sub(b), "{a} {b}");
            let span = u64::try_from(a.saturating_sub(b)).unwrap_or(u64::MAX);
            assert_eq!(x.since(y), Duration::from_picos(span), "{a} {b}");
            let b = Duration::from_picos(b as u64);
            assert_eq!(x.saturating_add(b).as_picos(), a.saturating_add(b.as_picos().into()));
            assert_eq!(x.saturating_sub(b).as_picos(), a.saturating_sub(b.as_picos().into()));
        }
        assert_eq!(size_of::<Option<Instant>>(), 3 * size_of::<u64>());
    }

    #[test]
    fn time_goes_on_after_213_days() {
        let last = Instant::from_picos(u64::MAX.into());
        let mut next = last + Duration::from_picos(1);
        assert!(next > last && next < Instant::NEVER);
        assert_eq!(next.since(last), Duration::from_picos(1));
        for _ in 0..1_000 {
            next += Duration::MAX;
        }
        assert!(next < Instant::NEVER, "that is 584 years");
        assert_eq!(format!("{:?}", Instant::from_picos(1 << 65)), "t+36893488.147s");
        assert_eq!(format!("{:?}", Instant::NEVER), "never");
    }

    #[test]
    #[should_panic(expected = "later than never")]
    fn time_does_not_wrap() {
        let _ = Instant::NEVER + Duration::from_picos(1);
    }
}
