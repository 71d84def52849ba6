//! The flows of one station, in the order in which their frames are due.

mod open_loop;

pub use open_loop::SourceCounters;

use open_loop::OpenLoop;

use super::histogram::Spares;
use super::order::Order;
use super::plan::stream::Path;
use super::plan::{FlowId, PlanError, StationPlan, TransportPlan};
use super::sink::Latency;
use super::stream::{Run, Stream, StreamCounters};
use super::transport::sender::{Answer, Sender, SenderCounters};
use crate::congestion::qcn::{QuantizedFeedback, ReactionPlan, ReactionPoint};
use crate::frame::Burst;
use crate::port::Source;
use crate::schedule::{Line, Shaper};
use crate::time::{Duration, Instant};
use crate::units::{BitsPerSec, Mac, PRIORITIES, Priority, PrioritySet};

#[derive(Debug)]
enum Kind {
    OpenLoop(Box<OpenLoop>),
    Sender(Box<Sender>),
    Stream(Box<Stream>),
}

#[derive(Debug)]
struct Flow {
    kind: Kind,
    /// The lane that it is in.
    lane: usize,
    /// Its place among the flows there.
    place: usize,
    /// Nothing of it is due before: until when messages have paused it, past or not.
    held: Instant,
}

/// What makes reaction points for the flows of a station.
#[derive(Clone, Copy, Debug)]
struct Points {
    plan: Option<ReactionPlan>,
    mac: Mac,
}

impl Points {
    /// The reaction point of a flow, if any has one. It draws what no other flow's does.
    fn of(&self, id: FlowId, line: BitsPerSec) -> Option<ReactionPoint> {
        let seed = self.mac.to_u64() << 16 ^ u64::from(id.0);
        self.plan.map(|plan| ReactionPoint::new(plan, line, seed))
    }
}

/// The lane of the streams on the control path; those of data have their priority's number.
const CONTROL: usize = PRIORITIES;

/// The flows of one priority, or of the control path.
#[derive(Debug)]
struct Lane {
    order: Order,
    flows: Vec<u32>,
}

/// All flows of a station. Each priority has an order of its own, so that a paused one costs
/// nothing.
#[derive(Debug)]
pub(super) struct Sources {
    /// Those of the plan's `flows`, then its `senders`, then its streams.
    flows: Vec<Flow>,
    /// The streams by number, with their places in `flows`.
    streams: Vec<(FlowId, u32)>,
    /// How many of them are of the first kind.
    open: usize,
    lanes: [Lane; PRIORITIES + 1],
    /// The priorities that have flows.
    used: PrioritySet,
    /// By flow, of those that are no streams: no later than its deadline. A deadline that moves away
    /// is found out when the earlier one comes, since most do with every answer and few ever come.
    timers: Order,
    /// How many those are.
    timed: usize,
    points: Points,
    /// No flow ends before this.
    first_stop: Instant,
    backlog: Duration,
}

impl Sources {
    /// Prepares the flows of a checked plan on its link, on a port that lengthens frames shorter
    /// than `frame_min`.
    ///
    /// # Errors
    /// As [`crate::host::FlowPlan::interval`].
    pub(super) fn new(
        plan: &StationPlan,
        line: &Line,
        frame_min: u32,
        spares: &Spares,
    ) -> Result<Self, PlanError> {
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
            let kind = Kind::Sender(Box::new(Sender::new(sender, line.rate(), point)));
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
        let mut members: [Vec<u32>; PRIORITIES + 1] = Default::default();
        let mut flows = Vec::with_capacity(kinds.len());
        for (i, (lane, kind)) in kinds.into_iter().enumerate() {
            flows.push(Flow { kind, lane, place: members[lane].len(), held: Instant::ZERO });
            members[lane].push(i as u32);
        }
        let used = Priority::ALL.into_iter().filter(|p| !members[p.index()].is_empty()).collect();
        let lanes = members.map(|flows| Lane { order: Order::new(flows.len()), flows });
        let timers = Order::new(timed);
        let streams = (timed as u32..).zip(&plan.tester.streams).map(|(i, s)| (s.id, i));
        let mut streams: Vec<_> = streams.collect();
        streams.sort_unstable();
        let (open, first_stop, backlog) = (plan.flows.len(), Instant::ZERO, plan.backlog);
        let mut sources =
            Self { flows, streams, open, lanes, used, timers, timed, points, first_stop, backlog };
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

    /// When the next frame of the control path is due.
    #[inline]
    pub(super) fn first_control(&self) -> Instant {
        self.lanes[CONTROL].order.first().0
    }

    /// Whether any stream is on the control path.
    pub(super) fn has_control(&self) -> bool {
        !self.lanes[CONTROL].flows.is_empty()
    }

    /// Makes the next frame of the flow that leads priority `p`: `give` gets its first octets and
    /// its length and says whether it took them. If so the flow moves on to its next frame. The
    /// frame starts on the line at `start`.
    #[inline]
    pub(super) fn send(
        &mut self,
        (now, start): (Instant, Instant),
        p: Priority,
        give: impl FnOnce(&[u8], u32) -> bool,
    ) -> bool {
        self.send_of(p.index(), now, start, give)
    }

    /// Makes the next frame of the control path, as [`Self::send`].
    pub(super) fn send_control(
        &mut self,
        (now, start): (Instant, Instant),
        give: impl FnOnce(&[u8], u32) -> bool,
    ) -> bool {
        self.send_of(CONTROL, now, start, give)
    }

    /// Makes several frames of the flow that leads priority `p`, if it leads all that are not
    /// `paused` for so long, behind those in `hand`. It makes `most` at most, and no more than fit
    /// `shaper`'s line. Nothing if frames have to be made one by one.
    #[inline]
    pub(super) fn run<P: Source>(
        &mut self,
        now: Instant,
        (p, paused): (Priority, PrioritySet),
        (most, shaper): (usize, &Shaper),
        port: &mut P,
        hand: &mut Burst<P::Frame>,
    ) -> Option<Run> {
        let lane = &self.lanes[p.index()];
        let i = lane.flows[lane.order.first().1] as usize;
        let Kind::Stream(stream) = &mut self.flows[i].kind else { return None };
        let mut until = lane.order.second();
        for other in PrioritySet(self.used.0 & !paused.0).iter().filter(|other| *other != p) {
            until = until.min(self.lanes[other.index()].order.first().0);
        }
        let run = stream.run(now, until, (most, shaper), self.backlog, port, hand)?;
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

    /// Until when flow `i`, of those of the plan's `flows`, `senders` and streams in that order, was
    /// paused by messages; a time that has passed for one that is not.
    pub(super) fn held(&self, i: usize) -> Instant {
        self.flows[i].held
    }

    /// Flow `i` sends nothing before `until`. Frames that are made leave.
    pub(super) fn hold(&mut self, i: usize, until: Instant) {
        self.flows[i].held = until;
        self.settle(i);
    }

    /// For how long flows are still paused by messages, summed over them.
    pub(super) fn left_held(&self, now: Instant) -> Duration {
        let left = |flow: &Flow| flow.held.since(now);
        self.flows.iter().map(left).fold(Duration::ZERO, |sum, left| sum + left)
    }

    /// Feedback about flow `i` came in. False for one without a reaction point.
    pub(super) fn on_cnm(&mut self, now: Instant, i: usize, feedback: QuantizedFeedback) -> bool {
        let slowed = match &mut self.flows[i].kind {
            Kind::OpenLoop(flow) => flow.on_cnm(now, feedback),
            Kind::Sender(sender) => sender.on_cnm(now, feedback),
            Kind::Stream(_) => false,
        };
        self.settle(i);
        slowed
    }

    /// The sender of a flow begins anew, as planned, on a link of `line`. Whether it is there. A pause
    /// goes on: what it waits for is a queue elsewhere.
    pub(super) fn restart_sender(&mut self, plan: &TransportPlan, line: BitsPerSec) -> bool {
        let Some(i) = self.sender(plan.id) else { return false };
        let point = self.points.of(plan.id, line);
        self.flows[i].kind = Kind::Sender(Box::new(Sender::new(plan, line, point)));
        // Its end is looked at in the next poll.
        self.first_stop = Instant::ZERO;
        self.settle(i);
        true
    }

    /// Ends the sender of a flow, if it is there.
    pub(super) fn end_sender(&mut self, id: FlowId) {
        if let Some(i) = self.sender(id) {
            self.flows[i].end();
            self.settle(i);
        }
    }

    /// The place of the sender of a flow.
    fn sender(&self, id: FlowId) -> Option<usize> {
        let is = |flow: &Flow| matches!(&flow.kind, Kind::Sender(s) if s.counters().id == id);
        self.flows.iter().position(is)
    }

    /// Ends the flows whose time is over, whether they have sent all that was due or not, and
    /// sees to the timeouts that have come.
    #[inline]
    pub(super) fn expire(&mut self, now: Instant) {
        if now >= self.first_stop {
            self.end_those_that_stop(now);
        }
        while self.timers.first().0 <= now {
            let i = self.timers.first().1;
            let flow = &mut self.flows[i];
            flow.on_timeout(now);
            self.timers.set(i, flow.deadline());
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
                Kind::Stream(stream) => stream.set_line(line),
            }
            self.settle(i);
        }
    }

    /// Whether no flow has anything more to send, as of the last poll.
    pub(super) fn is_done(&self) -> bool {
        self.flows.iter().all(|f| match &f.kind {
            Kind::OpenLoop(flow) => flow.next_at() == Instant::NEVER,
            Kind::Sender(sender) => sender.is_done(),
            Kind::Stream(stream) => stream.is_done(),
        })
    }

    /// What was sent of the flows that nobody answers, in the order of the plan.
    pub(super) fn counters(&self) -> impl Iterator<Item = SourceCounters> {
        self.flows.iter().filter_map(|f| match &f.kind {
            Kind::OpenLoop(flow) => Some(flow.counters()),
            Kind::Sender(_) | Kind::Stream(_) => None,
        })
    }

    /// What the senders did and saw, in the order of the plan.
    pub(super) fn senders(&self) -> impl Iterator<Item = SenderCounters> {
        self.flows.iter().filter_map(|f| match &f.kind {
            Kind::Sender(sender) => Some(sender.counters()),
            Kind::OpenLoop(_) | Kind::Stream(_) => None,
        })
    }

    /// How long the messages of each sender took, in the order of the plan; nothing where a sender
    /// has one message at most.
    pub(super) fn completion_times(&self) -> impl Iterator<Item = Option<&Latency>> {
        self.flows.iter().filter_map(|f| match &f.kind {
            Kind::Sender(sender) => Some(sender.completion_times()),
            Kind::OpenLoop(_) | Kind::Stream(_) => None,
        })
    }

    /// A stream, if it is here.
    pub(super) fn stream(&self, id: FlowId) -> Option<&StreamCounters> {
        let i = self.streams.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        match &self.flows[self.streams[i].1 as usize].kind {
            Kind::Stream(stream) => Some(stream.counters()),
            Kind::OpenLoop(_) | Kind::Sender(_) => None,
        }
    }

    /// The streams, in the order of the plan.
    pub(super) fn streams(&self) -> impl Iterator<Item = &StreamCounters> {
        self.flows.iter().filter_map(|f| match &f.kind {
            Kind::Stream(stream) => Some(stream.counters()),
            Kind::OpenLoop(_) | Kind::Sender(_) => None,
        })
    }

    /// As [`Self::streams`], as they are at `now`.
    pub(super) fn streams_at(&self, now: Instant) -> impl Iterator<Item = StreamCounters> {
        self.flows.iter().filter_map(move |f| match &f.kind {
            Kind::Stream(stream) => Some(stream.counters_at(now)),
            Kind::OpenLoop(_) | Kind::Sender(_) => None,
        })
    }

    /// Does something to those of the streams `which` that are here.
    pub(super) fn tell_streams(&mut self, which: &[FlowId], tell: impl Fn(&mut Stream)) {
        for id in which {
            let Ok(n) = self.streams.binary_search_by_key(id, |(id, _)| *id) else { continue };
            let i = self.streams[n].1 as usize;
            if let Kind::Stream(stream) = &mut self.flows[i].kind {
                tell(stream);
                self.settle(i);
            }
        }
        // They may end earlier now than all did before.
        self.first_stop = Instant::ZERO;
    }

    /// Takes flow `i`'s new times into the orders.
    #[inline]
    fn settle(&mut self, i: usize) {
        let flow = &self.flows[i];
        if i < self.timed {
            let deadline = flow.deadline();
            if deadline < self.timers.time(i) {
                self.timers.set(i, deadline);
            }
        }
        let next = match &flow.kind {
            Kind::OpenLoop(flow) => flow.next_at(),
            Kind::Sender(sender) => sender.next_at(),
            Kind::Stream(stream) => stream.next_at(),
        };
        self.lanes[flow.lane].order.set(flow.place, next.max(flow.held));
    }

    fn end_those_that_stop(&mut self, now: Instant) {
        self.first_stop = Instant::NEVER;
        for i in 0..self.flows.len() {
            let stop = self.flows[i].stop();
            if stop > now {
                self.first_stop = self.first_stop.min(stop);
            } else {
                self.flows[i].time_is_over(now);
                self.settle(i);
            }
        }
    }
}

impl Flow {
    /// Nothing more is sent of it.
    fn end(&mut self) {
        match &mut self.kind {
            Kind::OpenLoop(flow) => flow.end(),
            Kind::Sender(sender) => sender.end(),
            Kind::Stream(stream) => stream.stop(),
        }
    }

    /// As [`Self::end`], because its time is over.
    fn time_is_over(&mut self, now: Instant) {
        match &mut self.kind {
            Kind::Stream(stream) => stream.end_if_over(now),
            Kind::OpenLoop(_) | Kind::Sender(_) => self.end(),
        }
    }

    /// When [`Self::on_timeout`] is due.
    #[inline]
    fn deadline(&self) -> Instant {
        match &self.kind {
            Kind::OpenLoop(flow) => flow.deadline(),
            Kind::Sender(sender) => sender.deadline(),
            Kind::Stream(_) => Instant::NEVER,
        }
    }

    /// Time has come to the deadline, or not yet.
    fn on_timeout(&mut self, now: Instant) {
        match &mut self.kind {
            Kind::OpenLoop(flow) => flow.on_timeout(now),
            Kind::Sender(sender) => sender.on_timeout(now),
            Kind::Stream(_) => {}
        }
    }

    fn stop(&self) -> Instant {
        match &self.kind {
            Kind::OpenLoop(flow) => flow.stop(),
            Kind::Sender(sender) => sender.stop(),
            Kind::Stream(stream) => stream.stops_at(),
        }
    }
}
