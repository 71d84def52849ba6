//! Times in microseconds, for tests.

use ground::time::{Duration, Instant};

pub(crate) const fn us(n: u64) -> Duration {
    Duration::from_micros(n)
}

pub(crate) fn at(us: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(us)
}
