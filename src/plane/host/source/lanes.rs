//! Lanes of a station's flows, one for each priority and one for the control path: a priority queue over a
//! fixed number of flows, each with a due time that may change at any time.
//!
//! The `fetch` functions, for drivers that know when a station sends, bring the memory of the flows that send
//! next into the caches, each what the one before leads to.

use super::Sources;
use super::flow::Kind;
use ground::memory::fetch;
use ground::time::Instant;
use ground::units::PRIORITIES;

/// Lane of the streams on the control path; data lanes have their priority's number.
pub(super) const CONTROL: usize = PRIORITIES;

/// The flows of one priority, or of the control path.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) order: Order,
    pub(super) flows: Vec<u32>,
}

/// A tournament tree: each pair of neighbours has a winner, each pair of winners too, and so on up
/// to the root. A new deadline costs one comparison per level, reading the first costs nothing.
#[derive(Clone, Debug)]
pub(super) struct Order {
    /// Deadlines, padded with NEVER to a power of two.
    times: Vec<Instant>,
    /// Node 1 is the root, nodes 2n and 2n + 1 are the children of n; the leaves are the last
    /// `times.len()`.
    winners: Vec<u32>,
}

impl Order {
    /// Creates `n` items that are never due.
    pub(super) fn new(n: usize) -> Self {
        // Complete, so that parents and children are found by arithmetic.
        let size = n.next_power_of_two();
        let mut winners = vec![0; 2 * size];
        for node in (1..2 * size).rev() {
            winners[node] = if node < size { winners[2 * node] } else { (node - size) as u32 };
        }
        Self { times: vec![Instant::NEVER; size], winners }
    }

    /// Brings the first items into the caches.
    #[inline]
    pub(super) fn fetch(&self) {
        self.times.first().into_iter().for_each(fetch);
        self.winners.first().into_iter().for_each(fetch);
    }

    /// Returns the earliest deadline and its item; ties go to the lower number.
    #[inline]
    pub(super) fn first(&self) -> (Instant, usize) {
        let first = self.winners[1] as usize;
        (self.times[first], first)
    }

    /// Returns the second earliest deadline.
    #[inline]
    pub(super) fn second(&self) -> Instant {
        let mut node = self.times.len() + self.winners[1] as usize;
        let mut second = Instant::NEVER;
        // The runner-up has lost against the winner directly.
        while node > 1 {
            second = second.min(self.times[self.winners[node ^ 1] as usize]);
            node /= 2;
        }
        second
    }

    /// Returns the deadline of `i`.
    #[inline]
    pub(super) fn time(&self, i: usize) -> Instant {
        self.times[i]
    }

    /// Sets the deadline of `i`.
    #[inline]
    pub(super) fn set(&mut self, i: usize, time: Instant) {
        // Most frames of other flows leave a deadline as it is.
        if self.times[i] == time {
            return;
        }
        self.times[i] = time;
        // Each match on the way to the root is played again; the others are unchanged.
        let mut node = (self.times.len() + i) / 2;
        while node > 0 {
            let (left, right) = (self.winners[2 * node], self.winners[2 * node + 1]);
            // The left one wins a tie: it is the flow that was planned first.
            let later = self.times[right as usize] < self.times[left as usize];
            self.winners[node] = if later { right } else { left };
            node /= 2;
        }
    }
}

impl Sources {
    /// Brings its lanes into the caches.
    pub(crate) fn fetch(&self) {
        fetch(&self.flows);
        fetch(&self.open);
        fetch(&self.used);
        fetch(&self.timers);
        fetch(&self.timed);
        fetch(&self.first_stop);
        fetch(&self.backlog);
        fetch(&self.lanes[CONTROL]);
        for lane in &self.lanes {
            fetch(lane);
        }
    }

    /// Brings the orders of its lanes into the caches.
    pub(crate) fn fetch_lanes(&self) {
        for p in self.used.iter() {
            let lane = &self.lanes[p.index()];
            lane.order.fetch();
            lane.flows.first().into_iter().for_each(fetch);
        }
        self.lanes[CONTROL].order.fetch();
        self.timers.fetch();
        self.flows.first().into_iter().for_each(fetch);
    }

    /// Brings the flows that send next into the caches.
    pub(crate) fn fetch_flows(&self) {
        for p in self.used.iter() {
            let lane = &self.lanes[p.index()];
            let Some(i) = lane.flows.get(lane.order.first().1) else { continue };
            let flow = &self.flows[*i as usize];
            fetch(flow);
            match &flow.kind {
                Kind::OpenLoop(flow) => flow.fetch(),
                Kind::Sender(sender) => sender.fetch(),
                Kind::Stream(_) => {}
            }
        }
    }

    /// Brings the frames that they send next into the caches.
    pub(crate) fn fetch_heads(&self) {
        for p in self.used.iter() {
            let lane = &self.lanes[p.index()];
            let Some(i) = lane.flows.get(lane.order.first().1) else { continue };
            if let Kind::OpenLoop(flow) = &self.flows[*i as usize].kind {
                flow.fetch_head();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_first_is_always_the_earliest_and_of_those_the_lowest(
            n in 1_usize..40, changes in prop::collection::vec((0_usize..40, 0_u64..20), 1..200)
        ) {
            let mut order = Order::new(n);
            let mut model = vec![Instant::NEVER; n];
            for (i, time) in changes {
                let (i, time) = (i % n, Instant::from_picos(time.into()));
                let time = if time == Instant::ZERO { Instant::NEVER } else { time };
                order.set(i, time);
                model[i] = time;
                let want = model.iter().enumerate().map(|(i, t)| (*t, i)).min().unwrap();
                prop_assert_eq!(order.first(), want);
                let others = model.iter().enumerate().filter(|(i, _)| *i != want.1);
                let second = others.map(|(_, t)| *t).min().unwrap_or(Instant::NEVER);
                prop_assert_eq!(order.second(), second);
                prop_assert_eq!(order.time(i), time);
            }
        }
    }
}
