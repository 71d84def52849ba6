//! Priority of a flow at its source, from the fields of a Source Flow Control message.
//!
//! A message has the priority of the flow in the congested queue and the DSCP of its packets, "as
//! needed to identify the PFC priority" at the source. Switches may map a DSCP to different
//! priorities, and the pause goes to the source's NIC, so the maps of the source's port decide; the
//! priority in the message is for ports whose maps use neither field.

use ground::units::{Dscp, PRIORITIES, Priority, PrioritySet};

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
