//! Parts of a network, and the rounds in which they run.
//!
//! In a round each part runs up to the time at which a frame of another part may arrive: that of the other
//! part's first event, and the shortest delay from there to here. Then mail is exchanged. Which parts there
//! are, and how far each runs, changes nothing: a node's events before a time are known when it handles them.

use super::network::Network;
use super::node::NodeState;
use super::part::{Executor, Job, Mail, Part};
use super::partition::Partition;
use super::plan::{NodeId, Place};
use super::wires::{Wires, least_delays};
use super::witness::Witness;
use ground::time::{Duration, Instant};

/// State of the rounds of several parts.
#[derive(Debug)]
pub(super) struct Rounds {
    pub(super) partition: Partition,
    /// By part and part: least time from an event of one to an arrival at the other that follows from it.
    reach: Vec<Vec<Duration>>,
    /// By part: no event is earlier. Set before each round.
    pub(super) bounds: Vec<Instant>,
    /// Events of the last round.
    pub(super) events: u64,
    /// Rounds, and those of them that the executor ran.
    pub(super) run: (u64, u64),
}

impl Rounds {
    /// Creates the state before the first round. `delays` has the least delay of a line by part and part.
    pub(super) fn new(partition: Partition, mut delays: Vec<Vec<Duration>>) -> Self {
        close(&mut delays);
        let bounds = vec![Instant::ZERO; delays.len()];
        Self { partition, reach: delays, bounds, events: 0, run: (0, 0) }
    }

    /// Returns a time not later than the first arrival of mail at a part.
    pub(super) fn first_mail(&self, to: usize) -> Instant {
        let arrivals = self.bounds.iter().zip(&self.reach);
        let arrivals = arrivals.map(|(bound, reach)| bound.saturating_add(reach[to]));
        arrivals.fold(Instant::NEVER, Instant::min)
    }

    /// Makes parts run further than frames of other parts take: a planted bug.
    #[cfg(test)]
    pub(super) fn widen(&mut self) {
        self.reach.iter_mut().flatten().for_each(|reach| *reach = reach.saturating_mul(2));
    }
}

/// From the delays of single lines to those of the shortest ways, at the end of which a part may be where it
/// began. Lines inside of a part do not count.
fn close(reach: &mut [Vec<Duration>]) {
    let parts = reach.len();
    // Floyd and Warshall's shortest ways. `MAX` stands for no way, so sums saturate.
    (0..parts).for_each(|n| reach[n][n] = Duration::MAX);
    for via in 0..parts {
        for from in 0..parts {
            for to in 0..parts {
                let by = reach[from][via].as_picos().saturating_add(reach[via][to].as_picos());
                reach[from][to] = reach[from][to].min(Duration::from_picos(by));
            }
        }
    }
}

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
        // What was counted before the division stays, in the first part.
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
    pub fn parts(&self) -> usize {
        self.parts.len()
    }

    /// Returns the number of rounds of the parts, and of those among them that were given to the executor.
    pub fn rounds(&self) -> (u64, u64) {
        self.rounds.as_ref().map_or((0, 0), |rounds| rounds.run)
    }

    /// Makes parts run further than frames of other parts take: a planted bug.
    #[cfg(test)]
    pub(super) fn widen_rounds(&mut self) {
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
        // All bounds are taken before any part runs, as each limits the others.
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
                // The list that the receiver has emptied goes back to the sender, so none is allocated again.
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
    pub(super) fn state_and_part(&mut self, id: NodeId) -> (&mut NodeState, &mut Part<W>) {
        let Place { part, index } = self.nodes.place(id);
        let part = part as usize;
        (&mut self.nodes.parts[part][index as usize], &mut self.parts[part])
    }
}

/// Events handled by all parts.
fn events<W>(parts: &[Box<Part<W>>]) -> u64 {
    parts.iter().map(|part| part.wires.tally.events).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_way_may_lead_through_other_parts_and_back() {
        let of = |n| if n == 0 { Duration::MAX } else { Duration::from_nanos(n) };
        let mut reach: Vec<Vec<Duration>> =
            [[7, 5, 0], [3, 9, 1], [8, 0, 0]].iter().map(|row| row.map(of).to_vec()).collect();
        close(&mut reach);
        assert_eq!(reach[0], [of(8), of(5), of(6)]);
        assert_eq!(reach[1], [of(3), of(8), of(1)]);
        assert_eq!(reach[2], [of(8), of(13), of(14)]);
    }
}
