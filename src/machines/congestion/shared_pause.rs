//! Pause of a priority that messages about several flows request, at a host that obeys messages and
//! at the proxy of one that does not.
//!
//! A message with a time of 0 ends what was requested for its flow, as a PFC frame with a time of 0 ends
//! the pause of a priority. The pause goes on for the other flows: several points may be congested at
//! once, and the first that drains must not resume traffic to the others.
//!
//! The size is constant. The flow with the latest end is known; of all others only the latest end is.
//! So a pause may last longer than its flows need, but never ends early.

use ground::time::Instant;
use wire::flow::FiveTuple;

/// See the module documentation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SharedPause {
    until: Instant,
    /// Flow that requested `until`, if it is known.
    flow: Option<FiveTuple>,
    /// Latest end that another flow requested.
    others: Instant,
}

impl SharedPause {
    /// No pause.
    pub const NONE: Self = Self { until: Instant::ZERO, flow: None, others: Instant::ZERO };

    /// Returns the end of the pause; in the past if there is none.
    #[must_use]
    pub const fn until(&self) -> Instant {
        self.until
    }

    /// Records a request of `flow`, if it is known, to pause until `until`. It never shortens the pause.
    pub fn request(&mut self, flow: Option<FiveTuple>, until: Instant) {
        if flow.is_some() && flow == self.flow {
            self.until = self.until.max(until);
        } else if until > self.until {
            self.others = self.others.max(self.until);
            (self.until, self.flow) = (until, flow);
        } else {
            self.others = self.others.max(until);
        }
    }

    /// Ends what `flow` requested.
    pub fn end(&mut self, flow: FiveTuple) {
        if self.flow == Some(flow) {
            (self.until, self.flow) = (self.others, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::us;
    use ground::time::Duration;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use wire::ip::Protocol;

    fn flow(n: u16) -> FiveTuple {
        let [src, dst] = [1, 2].map(|host| [10, 0, 0, host].into());
        FiveTuple { src, dst, protocol: Protocol::UDP, src_port: n, dst_port: 4791 }
    }

    #[test]
    fn a_flow_ends_its_own_pause_and_that_of_no_other() {
        let mut pause = SharedPause::NONE;
        pause.request(Some(flow(1)), us(50));
        pause.request(Some(flow(1)), us(40));
        pause.end(flow(2));
        assert_eq!(pause.until(), us(50));
        pause.end(flow(1));
        assert_eq!(pause.until(), Instant::ZERO);
        for (first, second) in [(50, 80), (80, 50), (80, 80)] {
            let mut pause = SharedPause::NONE;
            pause.request(Some(flow(1)), us(first));
            pause.request(Some(flow(2)), us(second));
            pause.end(flow(1));
            assert_eq!(pause.until(), us(second));
        }
        // A flow that nobody names, from the cache.
        let mut pause = SharedPause::NONE;
        pause.request(None, us(50));
        pause.end(flow(1));
        assert_eq!(pause.until(), us(50));
    }

    proptest! {
        #[test]
        fn a_pause_never_ends_before_a_flow_that_wants_it(
            steps in prop::collection::vec((0_u16..4, prop::option::of(1_u64..100)), 0..60)
        ) {
            let (mut pause, mut wanted) = (SharedPause::NONE, BTreeMap::new());
            for (now, (n, micros)) in steps.into_iter().enumerate() {
                let now = us(now as u64);
                match micros {
                    Some(micros) => {
                        let until = now + Duration::from_micros(micros);
                        pause.request(Some(flow(n)), until);
                        let end = wanted.entry(n).or_insert(until);
                        *end = until.max(*end);
                    }
                    None => {
                        pause.end(flow(n));
                        wanted.remove(&n);
                    }
                }
                let latest = wanted.values().copied().max().unwrap_or(Instant::ZERO);
                prop_assert!(pause.until() >= latest, "{pause:?} {wanted:?}");
            }
        }
    }
}
