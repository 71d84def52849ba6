//! Recorders of a network in parts, each of which is told about the nodes of its part.

use super::{Captures, Counts, Recorder};
use ground::time::Instant;
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

impl Counts {
    /// Adds the counts of other switches and lines.
    pub(super) fn add(&mut self, other: &Self) {
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
        self.first_drop = drops.min_by_key(|drop| (drop.at, drop.node));
        self.line_losses.add(&other.line_losses);
        self.storms.add(&other.storms);
    }
}
