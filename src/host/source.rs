//! The flows of one station, in the order in which their frames are due.

use super::order::Order;
use super::plan::{FlowId, FlowPlan, PlanError, StationPlan};
use super::template::Template;
use super::transport::sender::{Answer, Sender, SenderCounters};
use crate::schedule::Line;
use crate::time::{Duration, Instant};
use crate::units::{PRIORITIES, Priority, PrioritySet};

/// What was sent of one flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SourceCounters {
    /// The flow.
    pub id: FlowId,
    /// The priority that pauses it.
    pub priority: Priority,
    /// Frames given to the port.
    pub frames: u64,
    /// Their octets, FCS included.
    pub bytes: u64,
    /// Times that a frame was due and there was no memory for it. The frame is sent later, if the
    /// backlog allows.
    pub dry: u64,
}

/// A flow that nobody answers.
#[derive(Debug)]
struct OpenLoop {
    counters: SourceCounters,
    template: Template,
    plan: FlowPlan,
    interval: Duration,
    stop: Instant,
    /// When the next frame is due.
    due: Instant,
    /// Frames still to be sent.
    left: u64,
}

#[derive(Debug)]
enum Kind {
    OpenLoop(Box<OpenLoop>),
    Sender(Box<Sender>),
}

#[derive(Debug)]
struct Flow {
    kind: Kind,
    priority: Priority,
    /// Its place among the flows of its priority.
    place: usize,
}

/// The flows of one priority.
#[derive(Debug)]
struct Lane {
    order: Order,
    flows: Vec<u32>,
}

/// All flows of a station. Each priority has an order of its own, so that a paused one costs
/// nothing.
#[derive(Debug)]
pub(super) struct Sources {
    /// Those of the plan's `flows`, then its `senders`.
    flows: Vec<Flow>,
    /// How many of them nobody answers.
    open: usize,
    lanes: [Lane; PRIORITIES],
    /// The priorities that have flows.
    used: PrioritySet,
    /// By sender: no later than its deadline. A deadline that moves away is found out when the
    /// earlier one comes, since most do with every answer and few ever come.
    timers: Order,
    /// No flow ends before this.
    first_stop: Instant,
    backlog: Duration,
}

impl Sources {
    /// Prepares the flows of a checked plan on its link.
    ///
    /// # Errors
    /// As [`FlowPlan::interval`].
    pub(super) fn new(plan: &StationPlan, line: &Line) -> Result<Self, PlanError> {
        let mut kinds = Vec::with_capacity(plan.flows.len() + plan.senders.len());
        for flow in &plan.flows {
            kinds.push((flow.priority, Kind::OpenLoop(Box::new(OpenLoop::new(flow, line)?))));
        }
        for sender in &plan.senders {
            let kind = Kind::Sender(Box::new(Sender::new(sender, line.rate())));
            kinds.push((sender.priority, kind));
        }
        let mut members: [Vec<u32>; PRIORITIES] = Default::default();
        let mut flows = Vec::with_capacity(kinds.len());
        for (i, (priority, kind)) in kinds.into_iter().enumerate() {
            let lane = &mut members[priority.index()];
            flows.push(Flow { kind, priority, place: lane.len() });
            lane.push(i as u32);
        }
        let used = flows.iter().map(|f| f.priority).collect();
        let lanes = members.map(|flows| Lane { order: Order::new(flows.len()), flows });
        let timers = Order::new(plan.senders.len());
        let (open, first_stop, backlog) = (plan.flows.len(), Instant::ZERO, plan.backlog);
        let mut sources = Self { flows, open, lanes, used, timers, first_stop, backlog };
        (0..sources.flows.len()).for_each(|i| sources.settle(i));
        sources.expire(Instant::ZERO);
        Ok(sources)
    }

    /// The flow whose frame is due first among those that are not paused, and when. Ties go to
    /// the lower priority number, then to the flow that was planned first.
    #[inline]
    pub(super) fn first(&self, paused: PrioritySet) -> Option<(Instant, Priority)> {
        let mut first: Option<(Instant, Priority)> = None;
        for p in PrioritySet(self.used.0 & !paused.0).iter() {
            let due = self.lanes[p.index()].order.first().0;
            if due < first.map_or(Instant::NEVER, |(t, _)| t) {
                first = Some((due, p));
            }
        }
        first
    }

    /// Makes the next frame of the flow that leads priority `p`: `give` gets its first octets and
    /// its length and says whether it took them. If so the flow moves on to its next frame.
    #[inline]
    pub(super) fn send(
        &mut self,
        now: Instant,
        p: Priority,
        give: impl FnOnce(&[u8], u32) -> bool,
    ) -> bool {
        let lane = &self.lanes[p.index()];
        let i = lane.flows[lane.order.first().1] as usize;
        let sent = match &mut self.flows[i].kind {
            Kind::OpenLoop(flow) => flow.send(now, self.backlog, give),
            Kind::Sender(sender) => sender.send(now, self.backlog, give),
        };
        if sent {
            self.settle(i);
        }
        sent
    }

    /// An answer to sender `n` came in. False for one that it cannot get.
    #[inline]
    pub(super) fn on_answer(&mut self, now: Instant, n: usize, answer: &Answer) -> bool {
        let i = self.open + n;
        let Kind::Sender(sender) = &mut self.flows[i].kind else {
            unreachable!("senders follow the flows that nobody answers");
        };
        let taken = sender.on_answer(now, answer);
        self.settle(i);
        taken
    }

    /// Ends the flows whose time is over, whether they have sent all that was due or not, and
    /// sees to the timeouts that have come.
    #[inline]
    pub(super) fn expire(&mut self, now: Instant) {
        if now >= self.first_stop {
            self.end_those_that_stop(now);
        }
        while self.timers.first().0 <= now {
            let n = self.timers.first().1;
            let i = self.open + n;
            if let Kind::Sender(sender) = &mut self.flows[i].kind {
                sender.on_timeout(now);
                let deadline = sender.deadline();
                self.timers.set(n, deadline);
            }
            self.settle(i);
        }
    }

    /// The first moment at which a timeout may have come.
    #[inline]
    pub(super) fn next_timeout(&self) -> Instant {
        self.timers.first().0
    }

    /// Ends all flows.
    pub(super) fn stop(&mut self) {
        for flow in &mut self.flows {
            flow.end();
        }
        (0..self.flows.len()).for_each(|i| self.settle(i));
    }

    /// The link has another rate. Flows that are a share of it are now a share of that; one that
    /// asks for more than there is gets all of it.
    pub(super) fn set_line(&mut self, line: &Line) {
        for i in 0..self.flows.len() {
            match &mut self.flows[i].kind {
                Kind::OpenLoop(flow) => flow.set_line(line),
                Kind::Sender(sender) => sender.set_line(line.rate()),
            }
            self.settle(i);
        }
    }

    /// Whether no flow has anything more to send, as of the last poll.
    pub(super) fn is_done(&self) -> bool {
        self.flows.iter().all(|f| match &f.kind {
            Kind::OpenLoop(flow) => flow.next_at() == Instant::NEVER,
            Kind::Sender(sender) => sender.is_done(),
        })
    }

    /// What was sent of the flows that nobody answers, in the order of the plan.
    pub(super) fn counters(&self) -> impl Iterator<Item = SourceCounters> {
        self.flows.iter().filter_map(|f| match &f.kind {
            Kind::OpenLoop(flow) => Some(flow.counters),
            Kind::Sender(_) => None,
        })
    }

    /// What the senders did and saw, in the order of the plan.
    pub(super) fn senders(&self) -> impl Iterator<Item = SenderCounters> {
        self.flows.iter().filter_map(|f| match &f.kind {
            Kind::OpenLoop(_) => None,
            Kind::Sender(sender) => Some(sender.counters()),
        })
    }

    /// Takes flow `i`'s new times into the orders.
    #[inline]
    fn settle(&mut self, i: usize) {
        let flow = &self.flows[i];
        let next = match &flow.kind {
            Kind::OpenLoop(flow) => flow.next_at(),
            Kind::Sender(sender) => {
                let (n, deadline) = (i - self.open, sender.deadline());
                if deadline < self.timers.time(n) {
                    self.timers.set(n, deadline);
                }
                sender.next_at()
            }
        };
        self.lanes[flow.priority.index()].order.set(flow.place, next);
    }

    fn end_those_that_stop(&mut self, now: Instant) {
        self.first_stop = Instant::NEVER;
        for i in 0..self.flows.len() {
            let stop = self.flows[i].stop();
            if stop > now {
                self.first_stop = self.first_stop.min(stop);
            } else {
                self.flows[i].end();
                self.settle(i);
            }
        }
    }
}

impl Flow {
    /// Nothing more is sent of it.
    fn end(&mut self) {
        match &mut self.kind {
            Kind::OpenLoop(flow) => flow.left = 0,
            Kind::Sender(sender) => sender.end(),
        }
    }

    const fn stop(&self) -> Instant {
        match &self.kind {
            Kind::OpenLoop(flow) => flow.stop,
            Kind::Sender(sender) => sender.stop(),
        }
    }
}

impl OpenLoop {
    fn new(plan: &FlowPlan, line: &Line) -> Result<Self, PlanError> {
        Ok(Self {
            counters: SourceCounters {
                id: plan.id,
                priority: plan.priority,
                frames: 0,
                bytes: 0,
                dry: 0,
            },
            template: Template::new(plan),
            interval: plan.interval(line)?,
            stop: plan.stop,
            due: plan.start,
            left: plan.frames.unwrap_or(u64::MAX),
            plan: plan.clone(),
        })
    }

    /// When the next frame is due; NEVER when there is none.
    #[inline]
    fn next_at(&self) -> Instant {
        if self.left > 0 && self.due < self.stop { self.due } else { Instant::NEVER }
    }

    #[inline]
    fn send(
        &mut self,
        now: Instant,
        backlog: Duration,
        give: impl FnOnce(&[u8], u32) -> bool,
    ) -> bool {
        let wire_len = self.template.wire_len();
        if !give(self.template.stamp(self.counters.frames, now), wire_len) {
            self.counters.dry += 1;
            return false;
        }
        self.counters.frames += 1;
        self.counters.bytes += u64::from(wire_len);
        self.left -= 1;
        self.due = self.due.max(now.saturating_sub(backlog)).saturating_add(self.interval);
        true
    }

    fn set_line(&mut self, line: &Line) {
        let full = line.time_for(self.plan.size);
        self.interval = self.plan.interval(line).unwrap_or(full);
    }
}
