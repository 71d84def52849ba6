//! Fast notifications: the switch answers frames of congesting RoCEv2 flows with a notification
//! (CNP) itself, half a round trip before their destination could.
//!
//! A RoCEv2 packet names the queue pair of its destination only, and a CNP has to name that of the
//! source. [`FastCnp::on_answer`] learns it from packets in the opposite direction that name it:
//! acknowledgements and the destination's CNPs, whose UDP source port is that of the flow. Data in
//! the opposite direction is not used: it may have the same port and names a queue pair that
//! receives. If several queue pairs share addresses and port, none is selected. Configured pairs
//! take precedence.
//!
//! Uses no timers and does not allocate after `new`. Every selected frame that is not answered is
//! counted by its reason.

use core::net::IpAddr;

use super::detect::{Detect, Queue};
use super::flow_key::FlowKey;
use super::streams::{CreateMask, Place, Stream, StreamPlan, StreamTable};
use super::{Limit, LimitPlan};
use ground::counters;
use ground::rand::Rng;
use ground::time::{Duration, Instant};
use ground::units::{Bytes, PortId, TrafficClass};
use wire::flow::FiveTuple;
use wire::roce::U24;

/// Lifetime of a learnt queue pair without another packet that names it. Our choice: long against
/// pauses between messages, short against the reuse of queue pairs.
const LEARNT_LIFE: Duration = Duration::from_secs(10);

/// Flows are identified by the 5-tuple alone, whichever queues they congest.
const ANY: Queue = Queue { port: PortId::MIN, class: TrafficClass::MIN };

/// Configuration of [`FastCnp`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CnpPlan {
    /// Minimum time between two notifications about one flow.
    pub spacing: Duration,
    /// Limit of notifications about all flows together.
    pub budget: LimitPlan,
    /// Maximum number of flows in each table: notified flows, and learnt queue pairs. 1 to
    /// [`STREAMS_MAX`](super::streams::STREAMS_MAX).
    pub flows: usize,
    /// Seed of the tables' hash and of the AQM's random selection.
    pub seed: u64,
    /// Configured connections: address and queue pair of the destination, queue pair of the source.
    pub pairs: Vec<(IpAddr, U24, U24)>,
}

counters! {
    /// RoCEv2 frames selected to be answered with a notification, by result.
    FastCnpCounters {
        /// Notifications sent.
        sent = "fast_cnp_sent",
        /// Frames too soon after the last notification about the flow.
        too_soon = "fast_cnp_too_soon",
        /// Frames over the limit of all flows together.
        over_budget = "fast_cnp_over_budget",
        /// Frames whose source's queue pair is neither configured nor learnt.
        not_learnt = "fast_cnp_not_learnt",
        /// Frames for which several queue pairs were learnt under the same addresses and port.
        ambiguous = "fast_cnp_ambiguous",
        /// Frames of flows that the full table has no entry for.
        no_room = "fast_cnp_no_room",
        /// Notifications not sent for lack of memory.
        unsent = "fast_cnp_unsent",
        /// Queue pairs learnt.
        learnt = "fast_cnp_learnt",
        /// Queue pairs not learnt because the table is full.
        unlearnt = "fast_cnp_unlearnt",
    }
}

/// A learnt queue pair.
#[derive(Clone, Copy, Debug)]
struct Source {
    qp: U24,
    /// True if another queue pair uses the same addresses and port.
    several: bool,
}

/// Fast notification for all ports of one worker.
pub struct FastCnp {
    spacing: Duration,
    detect: Box<[Option<Detect>]>,
    /// Sorted by destination and its queue pair.
    pairs: Box<[(IpAddr, U24, U24)]>,
    learnt: StreamTable<Source>,
    /// Time of the last notification to each flow's source.
    notified: StreamTable<Instant>,
    budget: Limit,
    budget_plan: LimitPlan,
    rng: Rng,
    counters: FastCnpCounters,
}

/// Returns the lifetime of an entry: twice the spacing, because not every access is recorded.
fn remembered(spacing: Duration) -> Duration {
    // Not zero, which would be the end of an entry at once.
    spacing.saturating_mul(2).max(Duration::from_picos(1))
}

impl FastCnp {
    /// Creates an instance for `ports` ports that detects congestion on no queue.
    ///
    /// # Panics
    /// If a number of the plan is out of its range.
    #[must_use]
    pub fn new(plan: &CnpPlan, ports: u16) -> Self {
        let mut pairs = plan.pairs.clone();
        // For the binary search in `source`.
        pairs.sort_unstable();
        let table = |life| StreamPlan { capacity: plan.flows, life, seed: plan.seed };
        Self {
            spacing: plan.spacing,
            detect: vec![None; usize::from(ports) * 8].into_boxed_slice(),
            pairs: pairs.into_boxed_slice(),
            learnt: StreamTable::new(table(LEARNT_LIFE)),
            notified: StreamTable::new(table(remembered(plan.spacing))),
            budget: Limit::new(plan.budget),
            budget_plan: plan.budget,
            rng: Rng::new(plan.seed),
            counters: FastCnpCounters::default(),
        }
    }

    /// Sets spacing and budget, also for known flows.
    ///
    /// # Panics
    /// If the budget lets no message pass.
    pub fn set_limits(&mut self, spacing: Duration, budget: LimitPlan) {
        self.spacing = spacing;
        self.notified.set_life(remembered(spacing));
        // An unchanged limit keeps its state: a new one would grant another burst.
        if budget != self.budget_plan {
            (self.budget, self.budget_plan) = (Limit::new(budget), budget);
        }
    }

    /// Sets the detection of congesting frames for a queue; `None` disables it.
    pub fn set_detect(&mut self, queue: Queue, detect: Option<Detect>) {
        self.detect[queue.index()] = detect;
    }

    /// Returns the length up to which no frame of a queue is selected; the maximum without
    /// detection.
    #[must_use]
    pub fn floor(&self, queue: Queue) -> Bytes {
        self.detect[queue.index()].map_or(Bytes(u64::MAX), |detect| detect.floor())
    }

    /// Returns the counters.
    #[must_use]
    pub const fn counters(&self) -> FastCnpCounters {
        self.counters
    }

    /// Returns true if a frame that found a queue of `length` is to be answered.
    pub fn picks(&mut self, queue: Queue, length: Bytes) -> bool {
        self.detect[queue.index()].is_some_and(|detect| detect.picks(length, &mut self.rng))
    }

    /// Handles a selected frame of `flow` to the queue pair `destination`. Returns the queue pair
    /// to be notified, if any.
    pub fn on_picked(&mut self, now: Instant, flow: &FiveTuple, destination: U24) -> Option<U24> {
        // First: without the source's queue pair there is nothing to send, and the reason is counted there.
        let source = self.source(now, flow, destination)?;
        let key = FlowKey::Ip(*flow);
        let found = self.notified.find(ANY, &key);
        let last = found.map(|place| self.notified.get(place).state);
        if last.is_some_and(|last| now.since(last) < self.spacing) {
            self.counters.too_soon += 1;
            return None;
        }
        let place = found.or_else(|| self.insert(now, key));
        let Some(place) = place else {
            self.counters.no_room += 1;
            return None;
        };
        if !self.budget.pass(now) {
            self.counters.over_budget += 1;
            // An entry inserted without a notification must not count as one.
            if found.is_none() {
                self.notified.remove(place);
            }
            return None;
        }
        self.notified.get_mut(place).state = now;
        self.notified.touch(now, place);
        self.counters.sent += 1;
        Some(source)
    }

    /// Learns `qp`, named by a packet from the destination of `flow` to its source.
    pub fn on_answer(&mut self, now: Instant, flow: &FiveTuple, qp: U24) {
        let key = FlowKey::Ip(*flow);
        if let Some(place) = self.learnt.find(ANY, &key) {
            if !self.learnt.is_over(now, place) {
                self.learnt.touch(now, place);
                let source = &mut self.learnt.get_mut(place).state;
                // Never cleared during the entry's life: a notification would sometimes reach the wrong queue pair.
                source.several |= source.qp != qp;
                return;
            }
            self.learnt.remove(place);
        }
        let state = Source { qp, several: false };
        match self.learnt.insert(now, stream(now, key, state), |_| true) {
            Ok(_) => self.counters.learnt += 1,
            Err(_) => self.counters.unlearnt += 1,
        }
    }

    /// Returns the queue pair of a flow's source.
    fn source(&mut self, now: Instant, flow: &FiveTuple, destination: U24) -> Option<U24> {
        let configured =
            self.pairs.binary_search_by_key(&(flow.dst, destination), |(ip, qp, _)| (*ip, *qp));
        if let Ok(index) = configured {
            return Some(self.pairs[index].2);
        }
        let found = self.learnt.find(ANY, &FlowKey::Ip(*flow));
        let Some(place) = found.filter(|place| !self.learnt.is_over(now, *place)) else {
            self.counters.not_learnt += 1;
            return None;
        };
        let Source { qp, several } = self.learnt.get(place).state;
        self.counters.ambiguous += u64::from(several);
        (!several).then_some(qp)
    }

    fn insert(&mut self, now: Instant, key: FlowKey) -> Option<Place> {
        self.notified.insert(now, stream(now, key, now), |_| true).ok()
    }
}

fn stream<T>(now: Instant, key: FlowKey, state: T) -> Stream<T> {
    Stream { key, queue: ANY, created: now, mask: CreateMask::LOCAL, messages: 0, state }
}

#[cfg(test)]
mod tests;
