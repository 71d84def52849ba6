//! Lateness: the times during which a node had something to do and its processor was not free.
//!
//! A planned stall and a processor that takes time are one thing to whoever waits for the node. Only
//! the time that was really lost counts, and only where it was lost: a stall in which nothing arrived
//! delays nothing.

use super::facts::Facts;
use super::unite::take;
use crate::NodeId;
use ground::time::{Duration, Instant};

/// Time that every node lost.
#[derive(Clone, Debug)]
pub(super) struct Lateness {
    nodes: Vec<Node>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Node {
    /// Since when something waits for the processor.
    since: Option<Instant>,
    /// All that was lost before that.
    total: Duration,
    /// The last time something waited.
    last: Option<(Instant, Instant)>,
}

impl Lateness {
    pub(super) fn new(facts: &Facts) -> Self {
        Self { nodes: vec![Node::default(); facts.nodes.len()] }
    }

    /// A node has something to do, and is polled later. Nothing but its plan makes that so: where
    /// that has no stall now and no processor that takes time, it is a bug and no excuse.
    pub(super) fn held_up(&mut self, facts: &Facts, at: Instant, node: NodeId) {
        let plan = facts.node(node);
        let stalled = plan.stalls.iter().any(|(from, until)| (*from..*until).contains(&at));
        if plan.takes_time || stalled {
            self.nodes[node.index()].since.get_or_insert(at);
        }
    }

    /// Adds the times of another part's nodes.
    pub(super) fn unite(&mut self, other: Self, theirs: &Facts) {
        take(&mut self.nodes, other.nodes, |n| theirs.has_node(n));
    }

    /// It is polled.
    pub(super) fn caught_up(&mut self, at: Instant, node: NodeId) {
        let node = &mut self.nodes[node.index()];
        let Some(since) = node.since.take() else { return };
        node.total += at.since(since);
        node.last = Some((since, at));
    }

    /// Since when something waits for a node, if anything does.
    pub(super) fn since(&self, node: NodeId) -> Option<Instant> {
        self.nodes[node.index()].since
    }

    /// All that a node has lost by `at`.
    pub(super) fn total(&self, at: Instant, node: NodeId) -> Duration {
        let Node { since, total, .. } = self.nodes[node.index()];
        total + since.map_or(Duration::ZERO, |since| at.since(since))
    }

    /// True if something waits for a node now, or waited for the poll that it makes at `at`.
    pub(super) fn is_late(&self, at: Instant, node: NodeId) -> bool {
        let Node { since, last, .. } = self.nodes[node.index()];
        since.is_some() || last.is_some_and(|(_, until)| until == at)
    }

    /// The last time that something waited for a node, up to `at`.
    pub(super) fn last(&self, at: Instant, node: NodeId) -> Option<(Instant, Instant)> {
        let Node { since, last, .. } = self.nodes[node.index()];
        since.map(|since| (since, at)).or(last)
    }
}
