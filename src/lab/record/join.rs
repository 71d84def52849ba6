//! Joins recorders of one network, each of which has recorded one switch.

use super::{Counts, Recorder};
use ground::time::Instant;
use ground::units::{PortId, Priority};
use sim::NodeId;

impl Recorder {
    /// Records a data frame of this priority received by a switch.
    #[inline]
    pub(crate) fn received(&mut self, node: NodeId, port: PortId, priority: Priority) {
        if let Some(groups) = self.groups_of(node, port) {
            let group = groups.classify.group[priority.index()];
            groups.onsets[group.index()].frames += 1;
        }
    }

    /// Adds another recorder's records of one switch, and nothing else.
    pub(crate) fn join(&mut self, node: NodeId, mut other: Self) {
        self.counts.add(&other.counts);
        self.losses[node.index()] = other.losses[node.index()].take();
        for (own, their) in self.groups.iter_mut().zip(other.groups) {
            if own.node == node {
                own.onsets = their.onsets;
            }
        }
    }
}

impl Counts {
    fn add(&mut self, other: &Self) {
        let first = |a: Option<Instant>, b: Option<Instant>| a.into_iter().chain(b).min();
        self.xoffs += other.xoffs;
        self.xons += other.xons;
        self.first_xoff = first(self.first_xoff, other.first_xoff);
        self.pauses_sent += other.pauses_sent;
        self.first_at_host = first(self.first_at_host, other.first_at_host);
        self.marks += other.marks;
        self.first_mark = first(self.first_mark, other.first_mark);
        self.drops.add(&other.drops);
        let drops = self.first_drop.into_iter().chain(other.first_drop);
        self.first_drop = drops.min_by_key(|drop| drop.at);
        self.line_losses.add(&other.line_losses);
        self.storms.add(&other.storms);
    }
}
