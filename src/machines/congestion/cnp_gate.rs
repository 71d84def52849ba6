//! DCQCN's notification point: selects the marked packets that are answered with a CNP.

use ground::time::{Duration, Instant};

/// Limits notifications to one per flow and interval (SIGCOMM'15, 3.1).
///
/// A marked packet that arrives within the interval is not answered later. The first marked packet
/// after the interval is. Lasting congestion marks many packets, so no notification is lost and no
/// timer is needed.
#[derive(Clone, Copy, Debug)]
pub struct CnpGate {
    interval: Duration,
    opens: Instant,
}

impl CnpGate {
    /// Creates an open gate. The usual interval is 50 us.
    #[must_use]
    pub const fn new(interval: Duration) -> Self {
        Self { interval, opens: Instant::ZERO }
    }

    /// Returns true if the marked packet that arrived is to be answered; the gate then closes for
    /// one interval.
    #[inline]
    pub fn on_marked(&mut self, now: Instant) -> bool {
        let open = now >= self.opens;
        if open {
            self.opens = now.saturating_add(self.interval);
        }
        open
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn one_passes_per_interval_and_the_first_after_it_always_does(
            gaps in prop::collection::vec(0_u64..60, 1..200), interval in 0_u64..100
        ) {
            let mut gate = CnpGate::new(Duration::from_micros(interval));
            let (mut now, mut last) = (Instant::ZERO, None::<Instant>);
            for gap in gaps {
                now += Duration::from_micros(gap);
                let due = last.is_none_or(|t| now.since(t) >= Duration::from_micros(interval));
                prop_assert_eq!(gate.on_marked(now), due);
                last = if due { Some(now) } else { last };
            }
        }
    }
}
