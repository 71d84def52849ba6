//! The flows of one station, ordered by the time at which their next frame is due.

mod flow;
mod lanes;
mod open_loop;

pub use open_loop::SourceCounters;

use super::histogram::Spares;
use super::latency::Latency;
use super::plan::stream::Path;
use super::plan::{FlowId, PlanError, StationPlan, TransportPlan};
use super::stream::{Run, Stream, StreamCounters};
use super::transport::Completion;
use super::transport::sender::{Answer, Sender, SenderCounters};
use congestion::qcn::QuantizedFeedback;
use contracts::frame::Burst;
use contracts::port::Source;
use flow::{Flow, Kind, OnOff, Points};
use ground::time::{Duration, Instant};
use ground::units::{BitsPerSec, PRIORITIES, Priority, PrioritySet};
use lanes::{CONTROL, Lane, Order};
use open_loop::OpenLoop;
use schedule::{Line, Shaper};

/// All flows of a station. Each priority has a separate order, so a paused one costs nothing.
#[derive(Debug)]
pub(super) struct Sources {
    /// The plan's `flows`, then its `senders`, then its streams.
    flows: Vec<Flow>,
    /// Streams by number, with their index in `flows`.
    streams: Vec<(FlowId, u32)>,
    /// Number of the plan's `flows`.
    open: usize,
    lanes: [Lane; PRIORITIES + 1],
    /// Priorities that have flows.
    used: PrioritySet,
    /// By flow, streams excluded: a time no later than its deadline. A postponed deadline is
    /// detected when the old one expires, since most are postponed by every acknowledgement and few
    /// expire.
    timers: Order,
    /// Number of flows in `timers`.
    timed: usize,
    points: Points,
    /// No flow ends before this time.
    first_stop: Instant,
    backlog: Duration,
    spares: Spares,
}

impl Sources {
    /// Prepares the flows of a validated plan on its link, on a port that pads frames shorter than
    /// `frame_min`.
    ///
    /// # Errors
    /// As [`crate::FlowPlan::interval`].
    pub(super) fn new(
        plan: &StationPlan,
        line: &Line,
        frame_min: u32,
        spares: &Spares,
    ) -> Result<Self, PlanError> {
        // Streams have no timers and stand behind all that have.
        let timed = plan.flows.len() + plan.senders.len();
        let points = Points { plan: plan.reactions.qcn, mac: plan.mac };
        let mut kinds = Vec::with_capacity(timed);
        for flow in &plan.flows {
            let point = points.of(flow.id, line.rate());
            let kind = Kind::OpenLoop(Box::new(OpenLoop::new(flow, line, point)?));
            kinds.push((flow.priority.index(), kind));
        }
        for sender in &plan.senders {
            let point = points.of(sender.id, line.rate());
            let kind = Kind::Sender(Box::new(Sender::new(sender, line.rate(), point, spares)));
            kinds.push((sender.priority.index(), kind));
        }
        for stream in &plan.tester.streams {
            let lane = match stream.path {
                Path::Data(priority) => priority.index(),
                Path::Control => CONTROL,
            };
            let stream = Stream::new(stream, line, frame_min, spares);
            kinds.push((lane, Kind::Stream(Box::new(stream))));
        }
        // A paused priority is skipped as a whole, so each has an order of its own.
        let mut members: [Vec<u32>; PRIORITIES + 1] = Default::default();
        let mut flows = Vec::with_capacity(kinds.len());
        for (i, (lane, kind)) in kinds.into_iter().enumerate() {
            let (place, held) = (members[lane].len(), Instant::ZERO);
            flows.push(Flow { kind, lane, place, held, on_off: None });
            members[lane].push(i as u32);
        }
        set_periods(&mut flows, plan);
        let used = Priority::ALL.into_iter().filter(|p| !members[p.index()].is_empty()).collect();
        let lanes = members.map(|flows| Lane { order: Order::new(flows.len()), flows });
        let timers = Order::new(timed);
        let streams = (timed as u32..).zip(&plan.tester.streams).map(|(i, s)| (s.id, i));
        let mut streams: Vec<_> = streams.collect();
        // By number, for binary search: there may be thousands.
        streams.sort_unstable();
        let (open, first_stop, backlog) = (plan.flows.len(), Instant::ZERO, plan.backlog);
        let spares = spares.clone();
        let mut sources = Self {
            flows,
            streams,
            open,
            lanes,
            used,
            timers,
            timed,
            points,
            first_stop,
            backlog,
            spares,
        };
        (0..sources.flows.len()).for_each(|i| sources.settle(i));
        // Finds the first stop time, and ends flows that stop before they start.
        sources.expire(Instant::ZERO);
        Ok(sources)
    }

    /// Returns the earliest due time among the priorities that are not paused, and its priority.
    /// Ties go to the lower priority number, then to the flow planned first.
    #[inline]
    pub(super) fn first(&self, paused: PrioritySet) -> Option<(Instant, Priority)> {
        let mut first: Option<(Instant, Priority)> = None;
        for p in PrioritySet(self.used.0 & !paused.0).iter() {
            let due = self.lanes[p.index()].order.first().0;
            // Not `<=`: of equal times the lower priority number goes first, in every world.
            if due < first.map_or(Instant::NEVER, |(t, _)| t) {
                first = Some((due, p));
            }
        }
        first
    }

    /// Returns the due time of the next frame of the control path.
    #[inline]
    pub(super) fn first_control(&self) -> Instant {
        self.lanes[CONTROL].order.first().0
    }

    /// Returns true if a stream is on the control path.
    pub(super) fn has_control(&self) -> bool {
        !self.lanes[CONTROL].flows.is_empty()
    }

    /// Makes the next frame of the first flow of priority `p`: `give` receives its first bytes and
    /// its length and returns true if it accepted them. The flow then advances to its next frame.
    /// The frame starts on the line at `start`.
    #[inline]
    pub(super) fn send(
        &mut self,
        now: Instant,
        start: Instant,
        p: Priority,
        give: impl FnOnce(&[u8], u32) -> bool,
    ) -> bool {
        self.send_of(p.index(), now, start, give)
    }

    /// Makes the next frame of the control path, as [`Self::send`].
    pub(super) fn send_control(
        &mut self,
        now: Instant,
        start: Instant,
        give: impl FnOnce(&[u8], u32) -> bool,
    ) -> bool {
        self.send_of(CONTROL, now, start, give)
    }

    /// Makes several frames of the first flow of priority `p`, while it precedes all flows not in
    /// `paused`, behind those in `hand`: at most `most`, and no more than fit `shaper`'s line.
    /// `None` if frames have to be made one by one.
    #[allow(
        clippy::too_many_arguments,
        reason = "plain values in registers, on the path of a frame"
    )]
    #[inline]
    pub(super) fn run<P: Source>(
        &mut self,
        now: Instant,
        p: Priority,
        paused: PrioritySet,
        most: usize,
        shaper: &Shaper,
        port: &mut P,
        hand: &mut Burst<P::Frame>,
    ) -> Option<Run> {
        let lane = &self.lanes[p.index()];
        let i = lane.flows[lane.order.first().1] as usize;
        let Kind::Stream(stream) = &mut self.flows[i].kind else { return None };
        // The run ends where another flow would be first, in its own lane or in another.
        let mut until = lane.order.second();
        for other in PrioritySet(self.used.0 & !paused.0).iter().filter(|other| *other != p) {
            until = until.min(self.lanes[other.index()].order.first().0);
        }
        let run = stream.run(now, until, most, shaper, self.backlog, port, hand)?;
        self.settle(i);
        Some(run)
    }

    #[inline]
    fn send_of(
        &mut self,
        lane: usize,
        now: Instant,
        start: Instant,
        give: impl FnOnce(&[u8], u32) -> bool,
    ) -> bool {
        let lane = &self.lanes[lane];
        let i = lane.flows[lane.order.first().1] as usize;
        let sent = match &mut self.flows[i].kind {
            Kind::OpenLoop(flow) => flow.send(now, self.backlog, give),
            Kind::Sender(sender) => sender.send(now, self.backlog, give),
            Kind::Stream(stream) => stream.send(now, start, self.backlog, give),
        };
        if sent {
            self.settle(i);
        }
        sent
    }

    /// Processes an acknowledgement to sender `n`. Returns false for an invalid one.
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

    /// Makes the first `upto` messages of sender `n` due now, if they wait for another flow.
    pub(super) fn release(&mut self, now: Instant, n: usize, upto: u64) {
        let i = self.open + n;
        if let Kind::Sender(sender) = &mut self.flows[i].kind {
            sender.release(now, upto);
            self.settle(i);
        }
    }

    /// Returns the end of flow `i`'s last pause by messages, which may be in the past. Flows are
    /// numbered by the plan's `flows`, `senders` and streams.
    pub(super) fn held(&self, i: usize) -> Instant {
        self.flows[i].held
    }

    /// Pauses flow `i` until `until`. Frames already made are sent.
    pub(super) fn hold(&mut self, i: usize, until: Instant) {
        self.flows[i].held = until;
        self.settle(i);
    }

    /// Gives flow `i` another UDP source port and returns it; `None` if it is not a RoCEv2 flow.
    pub(super) fn reroute(&mut self, i: usize) -> Option<u16> {
        match &mut self.flows[i].kind {
            Kind::Sender(sender) => sender.reroute(),
            Kind::OpenLoop(_) | Kind::Stream(_) => None,
        }
    }

    /// Returns the remaining time of pauses by messages, summed over the flows.
    pub(super) fn left_held(&self, now: Instant) -> Duration {
        let left = |flow: &Flow| flow.held.since(now);
        self.flows.iter().map(left).fold(Duration::ZERO, |sum, left| sum + left)
    }

    /// Processes feedback about flow `i`. Returns false for a flow without a reaction point.
    pub(super) fn on_cnm(&mut self, now: Instant, i: usize, feedback: QuantizedFeedback) -> bool {
        let slowed = match &mut self.flows[i].kind {
            Kind::OpenLoop(flow) => flow.on_cnm(now, feedback),
            Kind::Sender(sender) => sender.on_cnm(now, feedback),
            Kind::Stream(_) => false,
        };
        self.settle(i);
        slowed
    }

    /// Restarts the sender of a flow, as planned, on a link of `line`; returns false if it is not
    /// here. A pause continues: it is about a queue elsewhere.
    pub(super) fn restart_sender(&mut self, plan: &TransportPlan, line: BitsPerSec) -> bool {
        let Some(i) = self.sender(plan.id) else { return false };
        let point = self.points.of(plan.id, line);
        self.flows[i].kind = Kind::Sender(Box::new(Sender::new(plan, line, point, &self.spares)));
        // Its end is evaluated in the next poll.
        self.first_stop = Instant::ZERO;
        self.settle(i);
        true
    }

    /// Ends the sender of a flow, if it is here.
    pub(super) fn end_sender(&mut self, id: FlowId) {
        if let Some(i) = self.sender(id) {
            self.flows[i].end();
            self.settle(i);
        }
    }

    /// Returns the index of the sender of a flow.
    fn sender(&self, id: FlowId) -> Option<usize> {
        // A search, as connections are restarted between polls and seldom.
        let is = |flow: &Flow| matches!(&flow.kind, Kind::Sender(s) if s.counters().id == id);
        self.flows.iter().position(is)
    }

    /// Ends the flows whose stop time has come, whether they have sent everything or not, and
    /// handles expired timeouts.
    #[inline]
    pub(super) fn expire(&mut self, now: Instant) {
        if now >= self.first_stop {
            self.end_those_that_stop(now);
        }
        while self.timers.first().0 <= now {
            let i = self.timers.first().1;
            let flow = &mut self.flows[i];
            flow.on_timeout(now);
            // The deadline may have been postponed by acknowledgements since it was entered.
            self.timers.set(i, flow.deadline());
            self.settle(i);
        }
    }

    /// Returns a lower bound of the next timeout.
    #[inline]
    pub(super) fn next_timeout(&self) -> Instant {
        self.timers.first().0
    }

    /// Returns the time before which no flow ends by its stop time.
    pub(super) fn next_stop(&self) -> Instant {
        self.first_stop
    }

    /// Ends all flows.
    pub(super) fn stop(&mut self) {
        for flow in &mut self.flows {
            flow.end();
        }
        (0..self.flows.len()).for_each(|i| self.settle(i));
    }

    /// Sets another link rate. Flows with a share of the link get that share of the new rate; one
    /// with a higher rate than the link gets all of it.
    pub(super) fn set_line(&mut self, line: &Line) {
        for i in 0..self.flows.len() {
            match &mut self.flows[i].kind {
                Kind::OpenLoop(flow) => flow.set_line(line),
                Kind::Sender(sender) => sender.set_line(line.rate()),
                Kind::Stream(stream) => stream.set_line(line),
            }
            self.settle(i);
        }
    }

    /// Returns true if no flow has anything left to send, as of the last poll.
    pub(super) fn is_done(&self) -> bool {
        self.flows.iter().all(|f| match &f.kind {
            Kind::OpenLoop(flow) => flow.next_at() == Instant::NEVER,
            Kind::Sender(sender) => sender.is_done(),
            Kind::Stream(stream) => stream.is_done(),
        })
    }

    /// Iterates over the counters of unacknowledged flows, in the order of the plan.
    pub(super) fn counters(&self) -> impl Iterator<Item = SourceCounters> {
        self.flows.iter().filter_map(|f| match &f.kind {
            Kind::OpenLoop(flow) => Some(flow.counters()),
            Kind::Sender(_) | Kind::Stream(_) => None,
        })
    }

    /// Iterates over the counters of the senders, in the order of the plan.
    pub(super) fn senders(&self) -> impl Iterator<Item = SenderCounters> {
        self.flows.iter().filter_map(|f| match &f.kind {
            Kind::Sender(sender) => Some(sender.counters()),
            Kind::OpenLoop(_) | Kind::Stream(_) => None,
        })
    }

    /// Iterates over the message completion times of the senders, in the order of the plan; `None`
    /// for a sender with at most one message.
    pub(super) fn completion_times(&self) -> impl Iterator<Item = Option<&Latency>> {
        self.flows.iter().filter_map(|f| match &f.kind {
            Kind::Sender(sender) => Some(sender.completion_times()),
            Kind::OpenLoop(_) | Kind::Stream(_) => None,
        })
    }

    /// Iterates over the first completed messages of the senders, in the order of the plan.
    pub(super) fn logs(&self) -> impl Iterator<Item = &[Completion]> {
        self.flows.iter().filter_map(|f| match &f.kind {
            Kind::Sender(sender) => Some(sender.log()),
            Kind::OpenLoop(_) | Kind::Stream(_) => None,
        })
    }

    /// Returns the counters of a stream, if it is here.
    pub(super) fn stream(&self, id: FlowId) -> Option<&StreamCounters> {
        let i = self.streams.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        match &self.flows[self.streams[i].1 as usize].kind {
            Kind::Stream(stream) => Some(stream.counters()),
            Kind::OpenLoop(_) | Kind::Sender(_) => None,
        }
    }

    /// Iterates over the counters of the streams, in the order of the plan.
    pub(super) fn streams(&self) -> impl Iterator<Item = &StreamCounters> {
        self.flows.iter().filter_map(|f| match &f.kind {
            Kind::Stream(stream) => Some(stream.counters()),
            Kind::OpenLoop(_) | Kind::Sender(_) => None,
        })
    }

    /// As [`Self::streams`], at `now`.
    pub(super) fn streams_at(&self, now: Instant) -> impl Iterator<Item = StreamCounters> {
        self.flows.iter().filter_map(move |f| match &f.kind {
            Kind::Stream(stream) => Some(stream.counters_at(now)),
            Kind::OpenLoop(_) | Kind::Sender(_) => None,
        })
    }

    /// Applies a function to those of the streams `which` that are here.
    pub(super) fn tell_streams(&mut self, which: &[FlowId], tell: impl Fn(&mut Stream)) {
        for id in which {
            let Ok(n) = self.streams.binary_search_by_key(id, |(id, _)| *id) else { continue };
            let i = self.streams[n].1 as usize;
            if let Kind::Stream(stream) = &mut self.flows[i].kind {
                tell(stream);
                self.settle(i);
            }
        }
        // They may end earlier than all flows did before.
        self.first_stop = Instant::ZERO;
    }

    /// Updates the orders with flow `i`'s new times.
    #[inline]
    fn settle(&mut self, i: usize) {
        let flow = &mut self.flows[i];
        if let Some(on_off) = &mut flow.on_off {
            let next = flow.kind.next_at();
            // A frame that is due in an OFF period waits for the next ON period.
            let at = on_off.first_on(next);
            if at > next {
                flow.kind.defer(at);
            }
        }
        if i < self.timed {
            let deadline = flow.deadline();
            // An earlier deadline counts at once. A later one is found when the old one expires.
            if deadline < self.timers.time(i) {
                self.timers.set(i, deadline);
            }
        }
        let next = flow.kind.next_at();
        // A pause by a message delays the flow alone, unlike one of its priority.
        self.lanes[flow.lane].order.set(flow.place, next.max(flow.held));
    }

    fn end_those_that_stop(&mut self, now: Instant) {
        self.first_stop = Instant::NEVER;
        for i in 0..self.flows.len() {
            let stop = self.flows[i].stop();
            if stop > now {
                // Found anew, so that polls before that time need not ask each flow.
                self.first_stop = self.first_stop.min(stop);
            } else {
                self.flows[i].time_is_over(now);
                self.settle(i);
            }
        }
    }
}

/// Gives the flows of a plan the periods in which they send.
fn set_periods(flows: &mut [Flow], plan: &StationPlan) {
    for on_off in &plan.on_off {
        // Periods begin with the flow, in the order of `flows`, then `senders`.
        let start = |i: usize| match i.checked_sub(plan.flows.len()) {
            None => plan.flows[i].start,
            Some(n) => plan.senders[n].start,
        };
        let ids = plan.flows.iter().map(|f| f.id).chain(plan.senders.iter().map(|t| t.id));
        if let Some(i) = ids.into_iter().position(|id| id == on_off.flow) {
            flows[i].on_off = Some(Box::new(OnOff::new(on_off, start(i))));
        }
    }
}
