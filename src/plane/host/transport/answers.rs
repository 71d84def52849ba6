//! Queue of acknowledgements and CNPs: first in, first out among receivers whose priority is not
//! paused.

use std::collections::VecDeque;

use super::receiver::{AnswerKind, Data, Receiver, ReceiverCounters, Turn};
use crate::plan::TransportPlan;
use ground::time::Instant;
use ground::units::{PRIORITIES, Priority, PrioritySet};

/// An entry: its serial number, the receiver, and the kind.
type Ticket = (u64, u32, AnswerKind);

/// All receivers of a station that send acknowledgements.
#[derive(Debug)]
pub(crate) struct Answers {
    receivers: Vec<Receiver>,
    /// By priority. A receiver has at most one entry per kind, so none ever grows.
    turns: [VecDeque<Ticket>; PRIORITIES],
    /// Priorities with queued entries.
    waiting: PrioritySet,
    asked: u64,
}

impl Answers {
    /// Creates the receivers of validated plans.
    pub(crate) fn new(plans: &[TransportPlan]) -> Self {
        let mut turns: [VecDeque<Ticket>; PRIORITIES] = Default::default();
        let receivers: Vec<_> = plans.iter().map(Receiver::new).collect();
        for (n, ring) in turns.iter_mut().enumerate() {
            let kinds = [AnswerKind::Ack, AnswerKind::Cnp];
            let has = |r: &Receiver| kinds.iter().filter(|k| r.priority(**k).index() == n).count();
            ring.reserve_exact(receivers.iter().map(has).sum());
        }
        Self { receivers, turns, waiting: PrioritySet::EMPTY, asked: 0 }
    }

    /// Restarts receiver `i`. An entry that it had queued before sends nothing.
    pub(crate) fn restart(&mut self, i: usize, plan: &TransportPlan) {
        self.receivers[i] = Receiver::new(plan);
    }

    /// Processes data for receiver `i`. Returns false if it belongs to another flow.
    #[inline]
    pub(crate) fn on_data(&mut self, now: Instant, i: usize, data: &Data) -> bool {
        let receiver = &mut self.receivers[i];
        if !receiver.on_data(now, data) {
            return false;
        }
        for kind in [AnswerKind::Ack, AnswerKind::Cnp] {
            if receiver.asks_for_turn(kind) {
                let p = receiver.priority(kind);
                self.turns[p.index()].push_back((self.asked, i as u32, kind));
                self.waiting.insert(p);
                self.asked += 1;
            }
        }
        true
    }

    /// Returns the number of messages that receiver `i` has received completely.
    pub(crate) fn messages(&self, i: usize) -> u64 {
        self.receivers[i].messages()
    }

    /// Returns true if a queued entry may be sent now.
    #[inline]
    pub(crate) const fn ready(&self, paused: PrioritySet) -> bool {
        self.waiting.0 & !paused.0 != 0
    }

    /// Returns true if nothing is queued.
    pub(crate) const fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Sends the next entry among priorities that are not paused: `give` receives the whole frame
    /// and its length and returns true if it accepted them. Requires [`Self::ready`].
    #[inline]
    pub(crate) fn next(
        &mut self,
        paused: PrioritySet,
        give: impl FnOnce(&[u8], u32) -> bool,
    ) -> Turn {
        let free = PrioritySet(self.waiting.0 & !paused.0);
        let front = |p: &Priority| self.turns[p.index()][0].0;
        let p = free.iter().min_by_key(front).expect("somebody is waiting");
        let ring = &mut self.turns[p.index()];
        let (_, i, kind) = ring[0];
        let turn = self.receivers[i as usize].answer(kind, give);
        if turn == Turn::NoMemory {
            return turn;
        }
        ring.pop_front();
        if let Turn::Sent { more: true, .. } = turn {
            ring.push_back((self.asked, i, kind));
            self.asked += 1;
        }
        if ring.is_empty() {
            self.waiting.remove(p);
        }
        turn
    }

    /// Iterates over the receivers' counters, in the order of the plans.
    pub(crate) fn counters(&self) -> impl Iterator<Item = ReceiverCounters> {
        self.receivers.iter().map(Receiver::counters)
    }
}
