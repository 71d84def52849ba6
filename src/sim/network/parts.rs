//! Parts of a network, and the rounds in which they run.
//!
//! In a round each part runs up to the time at which a frame of another part may arrive: that of the other
//! part's first event, and the shortest delay from there to here. Then mail is exchanged. Which parts there
//! are, and how far each runs, changes nothing: a node's events before a time are known when it handles them.

use super::Network;
use crate::executor::Executor;
use crate::ids::{NodeId, Place};
use crate::mail::Mail;
use crate::node::NodeState;
use crate::part::{Job, Part};
use crate::partition::Partition;
use crate::rounds::Rounds;
use crate::wires::{Wires, least_delays};
use crate::witness::Witness;
use ground::time::Instant;

/// Events of a round from which on the next is given to the executor. Fewer take less time than to wake
/// another thread.
const EVENTS_MIN: u64 = 24;

impl<W: Witness> Network<W> {
    /// Divides the network into the parts of a partition. Returns false, and changes nothing, if its observer
    /// has to see everything in the order of time, or if there is one part. Call it before the first event.
    pub fn divide(&mut self, partition: Partition) -> bool {
        let parts = partition.parts();
        let witness = &self.parts[0].witness;
        let refused = witness.is_ordered() || !witness.is_divisible();
        if parts < 2 || refused || self.rounds.is_some() || partition.nodes() != self.nodes.len() {
            return false;
        }
        self.nodes.divide(parts, |id| partition.of(id));
        let reach = least_delays(&self.nodes.parts);
        let Some(Part { wires: whole, mut witness, .. }) = self.parts.pop().map(|part| *part)
        else {
            unreachable!("a network has a part");
        };
        let mut others = witness.divide(&partition).into_iter();
        let witnesses = core::iter::once(witness).chain(&mut others);
        for (n, (witness, nodes)) in witnesses.zip(&self.nodes.parts).enumerate() {
            let mut wires = Wires::new(nodes.len(), reach[n][n], n, parts);
            wires.take_events(nodes);
            self.parts.push(Box::new(Part::new(wires, witness, parts)));
        }
        assert_eq!(self.parts.len(), parts, "each part has an observer");
        self.parts[0].wires.take_counts(&whole);
        self.rounds = Some(Rounds::new(partition, reach));
        true
    }

    /// Makes one part of all again, for its observer and for results. No effect on a network of one part.
    pub fn unite(&mut self) {
        let Some(rounds) = self.rounds.take() else { return };
        self.bring_mail();
        self.nodes.unite();
        let nodes = &self.nodes.parts[0];
        let lookahead = least_delays(&self.nodes.parts)[0][0];
        let mut wires = Wires::new(nodes.len(), lookahead, 0, 1);
        wires.take_events(nodes);
        let mut witnesses = Vec::with_capacity(self.parts.len());
        for part in self.parts.drain(..) {
            wires.take_counts(&part.wires);
            witnesses.push(part.witness);
        }
        let mut witness = witnesses.remove(0);
        witness.unite(witnesses, &rounds.partition);
        self.parts.push(Box::new(Part::new(wires, witness, 1)));
    }

    /// Returns the number of parts.
    #[must_use]
    pub fn parts(&self) -> usize {
        self.parts.len()
    }

    /// Returns the number of rounds of the parts, and of those among them that were given to the executor.
    #[must_use]
    pub fn rounds(&self) -> (u64, u64) {
        self.rounds.as_ref().map_or((0, 0), |rounds| rounds.run)
    }

    /// Makes parts run further than frames of other parts take: a planted bug.
    #[cfg(test)]
    pub(crate) fn widen_rounds(&mut self) {
        self.rounds.iter_mut().for_each(Rounds::widen);
    }

    /// Runs all parts for one round, before `stop` at the latest.
    pub(super) fn run_round(&mut self, stop: Instant, executor: &mut impl Executor<Job<W>>) {
        let Self { nodes, parts, rounds, jobs, .. } = self;
        let Some(rounds) = rounds else {
            parts[0].until = stop;
            return parts[0].run(&mut nodes.parts[0]);
        };
        let before = events(parts);
        for (part, bound) in parts.iter().zip(&mut rounds.bounds) {
            *bound = part.bound();
        }
        for (n, part) in parts.iter_mut().enumerate() {
            part.until = rounds.first_mail(n).min(stop);
        }
        rounds.run.0 += 1;
        if rounds.events < EVENTS_MIN {
            for (part, nodes) in parts.iter_mut().zip(&mut nodes.parts) {
                part.run(nodes);
            }
        } else {
            rounds.run.1 += 1;
            let all = nodes.parts.drain(..).zip(parts.drain(..));
            jobs.extend(all.map(|(nodes, part)| Job { nodes, part }));
            executor.run(jobs);
            for Job { nodes: of, part } in jobs.drain(..) {
                nodes.parts.push(of);
                parts.push(part);
            }
        }
        rounds.events = events(parts) - before;
    }

    /// Moves mail from the senders' parts to the receivers'.
    pub(super) fn exchange(&mut self) {
        for from in 0..self.parts.len() {
            for to in (0..self.parts.len()).filter(|to| *to != from) {
                let mail = core::mem::replace(&mut self.parts[from].wires.mail[to], Mail::EMPTY);
                let slot = &mut self.parts[to].inbox[from];
                debug_assert!(slot.letters.is_empty(), "mail is received before the next exchange");
                self.parts[from].wires.mail[to] = core::mem::replace(slot, mail);
            }
        }
    }

    /// Brings all frames to their receivers, also those of other parts.
    pub(super) fn bring_mail(&mut self) {
        if self.parts.len() > 1 {
            self.receive();
            self.exchange();
            self.receive();
        }
    }

    /// Brings mail that was exchanged to the receivers.
    fn receive(&mut self) {
        for (part, nodes) in self.parts.iter_mut().zip(&mut self.nodes.parts) {
            part.receive(nodes);
        }
    }

    /// Returns a node and its part.
    pub(crate) fn state_and_part(&mut self, id: NodeId) -> (&mut NodeState, &mut Part<W>) {
        let Place { part, index } = self.nodes.place(id);
        let part = part as usize;
        (&mut self.nodes.parts[part][index as usize], &mut self.parts[part])
    }
}

/// Events handled by all parts.
fn events<W>(parts: &[Box<Part<W>>]) -> u64 {
    parts.iter().map(|part| part.wires.tally.events).sum()
}
