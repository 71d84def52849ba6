//! Which congesting RoCEv2 frames a switch answers with a notification (CNP) of its own, half a round
//! trip before their destination could, and to which queue pair.
//!
//! A RoCEv2 packet names the queue pair of its destination alone, and a CNP has to name that of the
//! source. [`FastCnp::on_answer`] learns it from what goes the other way and names it: acknowledgements
//! and the destination's own notifications, whose UDP source port is that of the flow. Never from data
//! the other way, which may have the same port and names a queue pair that receives. Where several queue
//! pairs share addresses and port nothing is guessed. What is configured goes first.
//!
//! No timers, nothing allocated after `new`, and every frame that is picked and not answered is counted
//! by its reason.

use core::net::IpAddr;

use super::detect::{Detect, Queue};
use super::ecn::Dice;
use super::flow_key::FlowKey;
use super::limit::{Limit, LimitPlan};
use super::streams::{CreateMask, Place, Stream, StreamPlan, StreamTable};
use crate::time::{Duration, Instant};
use crate::units::{Bytes, PortId, TrafficClass};
use crate::wire::flow::FiveTuple;
use crate::wire::roce::U24;

/// How long a queue pair is believed without another packet that names it. Ours: long against pauses
/// between messages, short against queue pairs that are made anew.
const LEARNT_LIFE: Duration = Duration::from_secs(10);

/// Flows are told apart by themselves here, whichever queues they congest.
const ANY: Queue = Queue { port: PortId::MIN, class: TrafficClass::MIN };

/// What the machine is told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CnpPlan {
    /// The least time between two notifications about one flow.
    pub spacing: Duration,
    /// Notifications about all flows together.
    pub budget: LimitPlan,
    /// The most flows that are kept in mind, and the most whose queue pair is. 1 to
    /// [`STREAMS_MAX`](super::streams::STREAMS_MAX).
    pub flows: usize,
    /// What decides where flows fall in the tables, and which frames an AQM's curve picks.
    pub seed: u64,
    /// Known connections: address and queue pair of the destination, queue pair of the source.
    pub pairs: Vec<(IpAddr, U24, U24)>,
}

/// What became of frames that were picked, each under the first that applies; and of what was learnt.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct CnpCounters {
    /// Answered.
    pub answered: u64,
    /// The queue pair of the source is neither configured nor learnt.
    pub not_learnt: u64,
    /// Several were learnt under the same addresses and port.
    pub ambiguous: u64,
    /// The last notification about the flow was not long enough ago.
    pub too_soon: u64,
    /// There is no room for the flow.
    pub no_room: u64,
    /// The notifications of all flows together are used up for now.
    pub over_budget: u64,
    /// Queue pairs learnt.
    pub learnt: u64,
    /// Queue pairs not learnt for want of room.
    pub unlearnt: u64,
}

/// A queue pair that was learnt.
#[derive(Clone, Copy, Debug)]
struct Source {
    qp: U24,
    /// Whether there was another one under the same addresses and port.
    several: bool,
}

/// The machine, for all ports of one worker.
pub struct FastCnp {
    spacing: Duration,
    detect: Box<[Option<Detect>]>,
    /// Sorted by destination and its queue pair.
    pairs: Box<[(IpAddr, U24, U24)]>,
    learnt: StreamTable<Source>,
    /// When each flow's source was notified last.
    notified: StreamTable<Instant>,
    budget: Limit,
    budget_plan: LimitPlan,
    dice: Dice,
    counters: CnpCounters,
}

/// How long a flow is remembered: twice its spacing, because touching is not noted every time.
fn remembered(spacing: Duration) -> Duration {
    spacing.saturating_mul(2).max(Duration::from_picos(1))
}

impl FastCnp {
    /// A machine for `ports` ports that looks at no queue yet.
    ///
    /// # Panics
    /// If a number of the plan is out of its range.
    #[must_use]
    pub fn new(plan: &CnpPlan, ports: u16) -> Self {
        let mut pairs = plan.pairs.clone();
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
            dice: Dice::new(plan.seed),
            counters: CnpCounters::default(),
        }
    }

    /// Another spacing and another budget, for flows that are known as well.
    ///
    /// # Panics
    /// If the budget lets nothing pass.
    pub fn set_limits(&mut self, spacing: Duration, budget: LimitPlan) {
        self.spacing = spacing;
        self.notified.set_life(remembered(spacing));
        if budget != self.budget_plan {
            (self.budget, self.budget_plan) = (Limit::new(budget), budget);
        }
    }

    /// Which frames of a queue are answered.
    pub fn set_detect(&mut self, queue: Queue, detect: Option<Detect>) {
        self.detect[queue.index()] = detect;
    }

    /// The length up to which nothing of a queue is picked; the longest there is where nobody looks.
    #[must_use]
    pub fn floor(&self, queue: Queue) -> Bytes {
        self.detect[queue.index()].map_or(Bytes(u64::MAX), |detect| detect.floor())
    }

    /// What happened.
    #[must_use]
    pub const fn counters(&self) -> CnpCounters {
        self.counters
    }

    /// Whether a frame that met a queue of `length` is one to answer.
    pub fn picks(&mut self, queue: Queue, length: Bytes) -> bool {
        self.detect[queue.index()].is_some_and(|detect| detect.picks(length, &mut self.dice))
    }

    /// A frame of `flow` to the queue pair `destination` was picked: the queue pair that is to be
    /// notified, if one is.
    pub fn on_picked(&mut self, now: Instant, flow: &FiveTuple, destination: U24) -> Option<U24> {
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
            // What was inserted for nothing must not count as a notification.
            if found.is_none() {
                self.notified.remove(place);
            }
            return None;
        }
        self.notified.get_mut(place).state = now;
        self.notified.touch(now, place);
        self.counters.answered += 1;
        Some(source)
    }

    /// A packet went from the destination of `flow` to its source, and names its queue pair.
    pub fn on_answer(&mut self, now: Instant, flow: &FiveTuple, qp: U24) {
        let key = FlowKey::Ip(*flow);
        if let Some(place) = self.learnt.find(ANY, &key) {
            if !self.learnt.is_over(now, place) {
                self.learnt.touch(now, place);
                let source = &mut self.learnt.get_mut(place).state;
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

    /// The queue pair of a flow's source.
    fn source(&mut self, now: Instant, flow: &FiveTuple, destination: U24) -> Option<U24> {
        let configured =
            self.pairs.binary_search_by_key(&(flow.dst, destination), |(ip, qp, _)| (*ip, *qp));
        if let Ok(at) = configured {
            return Some(self.pairs[at].2);
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
