//! Checkers of a network in parts.
//!
//! Every part has checkers, which are told about the nodes of that part. Nearly all that a checker knows is
//! of one port or node. A frame on a line between parts counts as that of the receiver's part once it is
//! handed over. Ledgers and idle lines are sampled by each for its own nodes, deadlocks by the first part with
//! what the others know.

use super::Checkers;
use super::deadlock::{Known, Parts};
use super::facts::Facts;
use crate::{NodeId, Nodes, Partition};
use ground::time::Instant;

impl Checkers {
    /// Reason for which one observer has to see the whole network in the order of time, if there is one.
    #[must_use]
    pub fn needs_whole(&self) -> Option<&'static str> {
        if self.ordered {
            Some("faults, line errors, MACsec or a forwarding watchdog may excuse losses elsewhere")
        } else if self.facts.nodes.iter().any(|node| node.takes_time) {
            Some("a processor that takes time may excuse losses, in the order of time")
        } else {
            None
        }
    }

    /// Becomes the checkers of the first part; returns those of the others.
    pub(super) fn divide_into(&mut self, partition: &Partition) -> Vec<Self> {
        let nodes = self.facts.nodes.len() as u32;
        let of = |part: usize| {
            let own = (0..nodes).map(|n| partition.of(NodeId(n)) as usize == part);
            let facts = Facts { own: own.collect(), ..self.facts.clone() };
            Self { facts, ..self.clone() }
        };
        let mut all: Vec<Self> = (0..partition.parts()).map(of).collect();
        *self = all.remove(0);
        all
    }

    /// Takes over what the checkers of another part know.
    pub(super) fn unite_with(&mut self, other: Self) {
        let theirs = &other.facts;
        self.lateness.unite(other.lateness, theirs);
        self.passages.unite(other.passages, theirs);
        self.frames.unite(other.frames);
        self.cells.unite(other.cells, theirs);
        self.lossless.unite(other.lossless, theirs);
        self.pauses.unite(other.pauses, theirs);
        self.requests.unite(other.requests, theirs);
        self.deadlocks.unite(other.deadlocks, theirs);
        self.starved.unite(other.starved, theirs);
        self.idle.unite(other.idle, theirs);
        self.ecn.unite(other.ecn, theirs);
        self.marks.unite(other.marks, theirs);
        self.floods.extend(other.floods);
        self.strangers.extend(other.strangers);
        self.totals.add(&other.totals);
        self.facts.unite(other.facts);
    }

    /// Samples what is of single nodes of this part.
    pub(super) fn sample_own(&mut self, at: Instant, nodes: &mut Nodes) {
        let Self { facts, lateness, passages, pauses, deadlocks, starved, .. } = self;
        self.cells.sample(facts, (passages, lateness), at, nodes);
        self.idle.sample(facts, (passages, pauses, lateness), at, nodes);
        starved.sample(facts, deadlocks, at, nodes);
    }

    /// Searches for deadlocks in all parts.
    pub(super) fn sample_deadlocks(
        &mut self,
        others: &[&mut Self],
        at: Instant,
        nodes: &mut Nodes,
    ) {
        let Self { facts, passages, pauses, requests, deadlocks, .. } = self;
        let mut parts = Parts(vec![Known { facts, passages, pauses, requests, deadlocks: None }]);
        for other in others {
            let Self { facts, passages, pauses, requests, deadlocks: of, .. } = &**other;
            deadlocks.started(of.last_start());
            parts.0.push(Known { facts, passages, pauses, requests, deadlocks: Some(of) });
        }
        deadlocks.sample(&parts, at, nodes);
    }
}
