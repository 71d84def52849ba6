//! Recorders of a network in parts: each is told about the nodes of its part, or has recorded one switch.

use super::{Captures, Recorder};
#[cfg(feature = "dpdk")]
use ground::units::{PortId, Priority};
#[cfg(feature = "dpdk")]
use sim::NodeId;
use sim::Partition;

impl Recorder {
    /// Becomes the recorder of the first part, before the first event; returns those of the others.
    pub(super) fn divide_into(&self, parts: usize) -> Vec<Self> {
        let other = || Self {
            detail: self.detail,
            counts: self.counts.clone(),
            towards: self.towards.clone(),
            groups: self.groups.clone(),
            first_port: self.first_port.clone(),
            ports: self.ports.clone(),
            losses: self.losses.clone(),
            changes: self.changes.clone(),
            clocks: self.clocks.clone(),
            captures: Captures::default(),
            last: self.last,
            frames_most: self.frames_most,
        };
        (1..parts).map(|_| other()).collect()
    }

    /// Adds the records of another part, which has this number.
    pub(super) fn unite_with(&mut self, other: Self, part: u32, partition: &Partition) {
        self.counts.add(&other.counts);
        for (own, their) in self.towards.iter_mut().zip(other.towards) {
            // A line between parts is seen from both: one part has its starts, the other what was obeyed.
            own.frames.unite(their.frames);
            if partition.of(own.node) == part {
                own.receiver = their.receiver;
            }
        }
        for (own, their) in self.groups.iter_mut().zip(other.groups) {
            if partition.of(own.node) == part {
                own.onsets = their.onsets;
            }
        }
        for ((own, their), node) in self.losses.iter_mut().zip(other.losses).zip(0..) {
            if partition.of(sim::NodeId(node)) == part {
                *own = their;
            }
        }
        for (own, their) in self.clocks.iter_mut().zip(&other.clocks) {
            if let (Some(own), Some(their)) = (own, their) {
                own.latency.add(&their.latency);
            }
        }
        self.last.iter_mut().zip(other.last).for_each(|(own, their)| *own = (*own).max(their));
    }
}

#[cfg(feature = "dpdk")]
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
