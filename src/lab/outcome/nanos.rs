//! Times in results.

use core::fmt;

use serde::ser::{Serialize, Serializer};

use ground::time::{Duration, Instant, nanos};

/// A time in nanoseconds: an integer in JSON if possible, else with up to three decimals
/// (picoseconds).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Nanos(pub Duration);

impl Nanos {
    /// Time since the start of the run.
    #[must_use]
    pub const fn at(instant: Instant) -> Self {
        Self(instant.since(Instant::ZERO))
    }

    /// As a number of nanoseconds, for plots.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        self.0.as_nanos_f64()
    }
}

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl Serialize for Nanos {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        nanos::exact(&self.0.into(), s)
    }
}
