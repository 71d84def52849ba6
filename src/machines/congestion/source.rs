//! The source of a flow as Source Flow Control messages name it: the priority of the flow there, and
//! the pause of a priority that messages about several flows request.
//!
//! A message has the priority of the flow in the congested queue and the DSCP of its packets, "as
//! needed to identify the PFC priority" at the source. Switches may map a DSCP to different
//! priorities, and the pause goes to the source's NIC, so the maps of the source's port decide; the
//! priority in the message is for ports whose maps use neither field.

use ground::time::Instant;
use ground::units::{Dscp, PRIORITIES, Priority, PrioritySet};
use wire::flow::FiveTuple;

/// Field of a host's frames that determines their priority.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trusted {
    /// The DSCP.
    Dscp,
    /// The PCP of the tag.
    Pcp,
    /// The PCP of tagged frames, the DSCP of others.
    PcpOrDscp,
    /// Neither.
    Neither,
}

/// Maps from the fields of a host's frames to their priority.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SourceMap {
    /// Field that decides.
    pub trusted: Trusted,
    /// PCP to priority.
    pub pcp: [Priority; PRIORITIES],
    /// DSCP to priority.
    pub dscp: [Priority; 64],
}

/// Fields of a message that identify the priority.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Named {
    /// Priority of the flow in the congested queue, which is the PCP of its frames where they are
    /// tagged.
    pub priority: Priority,
    /// DSCP of its packets.
    pub dscp: Dscp,
    /// True if frames between the host and its switch are tagged.
    pub tagged: bool,
}

impl SourceMap {
    /// Returns the priority of the flow at its host. `usable` are the priorities that can be paused
    /// there: they decide where an untagged port reads the PCP of priority-tagged frames and the
    /// DSCP of others, because a message does not tell the two apart.
    #[must_use]
    pub fn priority(&self, named: Named, usable: PrioritySet) -> Priority {
        let by_pcp = self.pcp[named.priority.index()];
        let by_dscp = self.dscp[named.dscp.index()];
        match self.trusted {
            Trusted::Dscp => by_dscp,
            Trusted::Pcp => by_pcp,
            Trusted::PcpOrDscp if named.tagged => by_pcp,
            Trusted::PcpOrDscp if usable.contains(by_dscp) || !usable.contains(by_pcp) => by_dscp,
            Trusted::PcpOrDscp => by_pcp,
            Trusted::Neither => named.priority,
        }
    }
}

/// Pause of a priority that messages about several flows request, at a host that obeys messages and
/// at the proxy of one that does not.
///
/// A message with a time of 0 ends what was requested for its flow, as a PFC frame with a time of 0 ends
/// the pause of a priority. The pause goes on for the other flows: several points may be congested at
/// once, and the first that drains must not resume traffic to the others.
///
/// The size is constant. The flow with the latest end is known; of all others only the latest end is.
/// So a pause may last longer than its flows need, but never ends early.
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
        // Two requests without a flow may be of different ones.
        if flow.is_some() && flow == self.flow {
            self.until = self.until.max(until);
        } else if until > self.until {
            // What was the latest is now one of the others.
            self.others = self.others.max(self.until);
            (self.until, self.flow) = (until, flow);
        } else {
            self.others = self.others.max(until);
        }
    }

    /// Ends what `flow` requested.
    pub fn end(&mut self, flow: FiveTuple) {
        // The ends of other flows are not known one by one, so they stay until the latest of them is over.
        if self.flow == Some(flow) {
            (self.until, self.flow) = (self.others, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::us;
    use ground::time::Duration;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use wire::ip::Protocol;

    const P: [Priority; 8] = Priority::ALL;

    /// DSCP 26 is priority 4, PCP 3 is priority 5, everything else is priority 0.
    fn map(trusted: Trusted) -> SourceMap {
        let mut map = SourceMap { trusted, pcp: [P[0]; 8], dscp: [P[0]; 64] };
        (map.pcp[3], map.dscp[26]) = (P[5], P[4]);
        map
    }

    fn named(tagged: bool) -> Named {
        Named { priority: P[3], dscp: Dscp::new(26).unwrap(), tagged }
    }

    #[test]
    fn the_trusted_field_decides_and_without_one_the_priority_of_the_message() {
        for (trusted, tagged, expected) in [
            (Trusted::Dscp, true, 4),
            (Trusted::Pcp, false, 5),
            (Trusted::PcpOrDscp, true, 5),
            (Trusted::PcpOrDscp, false, 4),
            (Trusted::Neither, true, 3),
        ] {
            let found = map(trusted).priority(named(tagged), PrioritySet::ALL);
            assert_eq!(found, P[expected], "{trusted:?} {tagged}");
        }
    }

    #[test]
    fn a_priority_tag_that_the_message_does_not_show_is_assumed_where_only_it_can_be_paused() {
        let found = |usable| map(Trusted::PcpOrDscp).priority(named(false), usable);
        assert_eq!(found(PrioritySet::of(P[5])), P[5]);
        assert_eq!(found(PrioritySet::of(P[4])), P[4]);
        // Neither can: the caller refuses the more probable one.
        assert_eq!(found(PrioritySet::EMPTY), P[4]);
        // A port that trusts one field alone has no doubt.
        let strict = map(Trusted::Dscp).priority(named(false), PrioritySet::of(P[5]));
        assert_eq!(strict, P[4]);
    }

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
