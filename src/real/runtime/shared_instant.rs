//! An instant that one thread writes and others read, without a lock.

use std::sync::atomic::{AtomicU64, Ordering};

use ground::time::Instant;

/// The high word is kept in units of 2^48 ps (281 s).
const COARSE_SHIFT: u32 = 48;

/// A time that its writer advances, by less than 2^63 ps (106 days) from one write to the next.
///
/// The two words are written and read one after the other. That is safe: the coarse one only
/// selects one of the instants with the same low word, and those are 2^64 ps apart.
#[derive(Debug, Default)]
pub struct SharedInstant {
    low: AtomicU64,
    coarse: AtomicU64,
}

impl SharedInstant {
    /// Sets the time. A thread that reads it sees all earlier writes of this thread.
    #[inline]
    pub fn store(&self, at: Instant) {
        self.coarse.store((at.as_picos() >> COARSE_SHIFT) as u64, Ordering::Relaxed);
        self.low.store(at.as_picos() as u64, Ordering::Release);
    }

    /// Returns the time last set.
    #[inline]
    #[must_use]
    pub fn load(&self) -> Instant {
        let low = self.low.load(Ordering::Acquire);
        nearest(low, self.coarse.load(Ordering::Relaxed))
    }
}

/// The instant with the low word `low` that is nearest to `coarse`.
#[inline]
const fn nearest(low: u64, coarse: u64) -> Instant {
    let near = (coarse as u128) << COARSE_SHIFT;
    let ahead = low.wrapping_sub(near as u64) as i64;
    Instant::from_picos(near.wrapping_add_signed(ahead as i128))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use ground::time::Duration;

    proptest! {
        #[test]
        fn a_word_of_the_next_write_does_no_harm(
            years in 0_u64..20, ps in 0_u64..1 << 63, step in 0_u64..1 << 62,
        ) {
            let mut at = Instant::from_picos(ps.into());
            (0..years * 2).for_each(|_| at += Duration::MAX);
            let next = at + Duration::from_picos(step);
            let shared = SharedInstant::default();
            shared.store(at);
            prop_assert_eq!(shared.load(), at);
            let coarse = |at: Instant| (at.as_picos() >> COARSE_SHIFT) as u64;
            prop_assert_eq!(nearest(at.as_picos() as u64, coarse(next)), at);
            prop_assert_eq!(nearest(next.as_picos() as u64, coarse(at)), next);
        }
    }
}
