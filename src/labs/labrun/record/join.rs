//! Joins recorders of one network, each of which has recorded one switch.

use super::Recorder;
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
