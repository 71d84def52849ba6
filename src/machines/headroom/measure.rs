//! The request/response measurement of a link's round trip (P802.1Qdt proposals; Qdt, S4).
//!
//! A [`Measurer`] is the state of one port: it answers the peer's requests, and during a
//! measurement it sends requests until it has `rounds` round trips. It does not wait for responses:
//! the next request leaves when `spacing_max` has passed since the last, or piggybacked on a
//! response as soon as `spacing_min` has. When `requests_max` requests have left and `spacing_max`
//! has passed once more without enough responses, the measurement has failed. It also fails when
//! `requests_max` times `spacing_max` have passed since the first, however late the calls were.
//!
//! The contract with its caller:
//! - [`Measurer::on_message`] with every received message and the time at which its last bit passed
//!   the MAC; then, while [`Measurer::is_due`], [`Measurer::take`] with the time at which the
//!   returned message passes to the MAC. A message that cannot be sent counts as lost in transit.
//! - [`Measurer::next_deadline`] is the time of the next call if no message arrives. Earlier calls
//!   change nothing. Late calls delay requests; the next ones follow in less than `spacing_max`,
//!   down to `spacing_min`, until that is made up for.
//! - [`Measurer::start`] when the link comes up, when its properties change, and to repeat the
//!   measurement; [`Measurer::stop`] when the link goes down.
//!
//! `now` only drives the timers; times of messages are timestamps of the port's clock, which may be
//! another. Only differences between two timestamps of one clock are used. Nothing is allocated.

mod plan;
mod sent;

pub use plan::{Counters, InitiatePlan, MeasurePlan, RoundTrips};

use sent::{Queue, Sent, ShimMeter, Verdict};

use crate::Samples;
use ground::memory::fetch;
use ground::time::{Duration, Instant};
use wire::headroom::{Adjustment, Message, Request, Response, is_protected};

/// Maximum number of the peer's requests that wait for a response. A peer sends them `spacing_min`
/// apart, so one that fills this queue is not measuring.
const WAITING_MAX: usize = 8;

/// Result of a measurement of round trips or of the peer delay. The figures are in [`Measurer::round_trips`] and in
/// [`PeerDelay::estimate`](super::peer_delay::PeerDelay::estimate).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// All rounds were answered.
    Done,
    /// The last request has expired, or the time for all requests has passed (M times T of the proposal).
    Failed {
        /// Rounds answered.
        rounds: u16,
        /// Requests sent.
        requests: u32,
    },
}

/// State of a port's measurement of round trips or of the peer delay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// The link is down.
    Stopped,
    /// No measurement is running, and none has failed; requests may be answered.
    Idle,
    /// The last measurement failed.
    Failed,
    /// A measurement is running.
    Running {
        /// Answered rounds so far (n of the proposal).
        rounds: u16,
        /// Requests so far (i of the proposal).
        requests: u32,
    },
}

/// A request of the peer that waits for its response.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    request: Request,
    /// Time of reception, in the unit of the dialect.
    t2: u64,
    since: Instant,
}

/// A running measurement.
#[derive(Clone, Copy)]
struct Running {
    /// Round trips; where protected requests alternate with plain ones, those of plain ones.
    rounds: u16,
    requests: u16,
    /// Round trips whose t1 is a time of software.
    t1_by_software: u16,
    /// Time at which the last request left; until the first, that of the start.
    last: Instant,
    /// Time at which the next request leaves, if none does before.
    due: Instant,
    /// Time at which the first request left.
    began: Instant,
    /// Largest compensation in the responses.
    compensation: Option<Adjustment>,
}

impl Running {
    const fn from(now: Instant) -> Self {
        let (rounds, requests, t1_by_software) = (0, 0, 0);
        Self {
            rounds,
            requests,
            t1_by_software,
            last: now,
            due: now,
            began: now,
            compensation: None,
        }
    }

    /// Records a request that leaves at `now`. One that leaves late because of a late poll
    /// does not make the next ones later than their spacing permits.
    fn request(&mut self, now: Instant, plan: &InitiatePlan) {
        if self.requests == 0 {
            (self.began, self.due) = (now, now);
        }
        self.requests += 1;
        self.last = now;
        let in_time = self.due.min(now).saturating_add(plan.spacing_max);
        self.due = in_time.max(now.saturating_add(plan.spacing_min));
    }

    /// Returns the time at which the measurement fails: when the timer of the last request has
    /// expired, and M times T (`requests_max` times `spacing_max`) after the first at the latest.
    #[inline]
    fn ends(&self, plan: &InitiatePlan) -> Instant {
        if self.requests == 0 {
            return Instant::NEVER;
        }
        let most = plan.spacing_max.saturating_mul(plan.requests_max.into());
        let end = self.began.saturating_add(most);
        if self.requests < plan.requests_max { end } else { end.min(self.due) }
    }
}

/// Measurement of one port.
///
/// Data frames drive the state out of the near caches between two messages, so what a message needs is in
/// neighbouring cache lines, in this order, and one request behind them; the rest follows.
#[derive(Clone)]
#[repr(C, align(64))]
pub struct Measurer {
    up: bool,
    /// True if a measurement has started since this was last asked.
    begun: bool,
    event: Option<Event>,
    /// True after a measurement that failed, until the next begins.
    failed: bool,
    running: Option<Running>,
    /// Start of the next periodic measurement.
    again: Instant,
    waiting: Queue<Waiting, { WAITING_MAX - 1 }>,
    plan: MeasurePlan,
    counters: Counters,
    sent: Sent,
    shims: ShimMeter,
    /// Delays of MACsec in the running measurement.
    shim_delays: Samples,
    last: Option<RoundTrips>,
}

impl Measurer {
    /// Creates an idle measurement on a link that is up.
    ///
    /// # Panics
    /// If the plan has a number out of the range that its field states.
    #[must_use]
    pub fn new(plan: &MeasurePlan) -> Self {
        plan.initiate.iter().for_each(InitiatePlan::assert_sound);
        Self {
            up: true,
            begun: false,
            event: None,
            failed: false,
            running: None,
            again: Instant::NEVER,
            waiting: Queue::new(),
            plan: plan.clone(),
            counters: Counters::default(),
            sent: Sent::new(),
            shims: ShimMeter::default(),
            shim_delays: Samples::default(),
            last: None,
        }
    }

    /// Starts a measurement, abandoning a running one; its first request is due at `now`. A port
    /// that does not initiate only starts to respond.
    pub fn start(&mut self, now: Instant) {
        self.up = true;
        // Responses that are still to come were sent over the link as it was.
        self.abandon();
        if self.plan.initiate.is_some() {
            self.counters.started += 1;
            self.begun = true;
            self.failed = false;
            self.running = Some(Running::from(now));
        }
    }

    /// Changes the parameters of this port's measurements. A running measurement starts again with
    /// them; after the last one, the time to the next is the new period from `now` on. A port that
    /// initiates none stays so.
    ///
    /// # Panics
    /// As [`Measurer::new`].
    pub fn set_initiate(&mut self, now: Instant, new: InitiatePlan) {
        new.assert_sound();
        let Some(plan) = self.plan.initiate.as_mut().filter(|plan| **plan != new) else { return };
        let old = core::mem::replace(plan, new);
        // The round trips so far were made with the old parameters.
        if self.running.is_some() {
            self.start(now);
        } else if old.period != new.period && self.up {
            self.again = new.period.map_or(Instant::NEVER, |period| now.saturating_add(period));
        }
    }

    /// Handles link up: requests are answered from now on. No measurement starts.
    pub const fn listen(&mut self) {
        self.up = true;
    }

    /// Handles link down: abandons a running measurement. Previous results stay readable.
    pub fn stop(&mut self) {
        self.abandon();
        self.waiting.clear();
        self.up = false;
    }

    /// Handles a message whose last bit left the MAC at `t_rx`.
    pub fn on_message(&mut self, now: Instant, message: &Message, t_rx: Instant) {
        if !self.up {
            self.counters.while_down += 1;
            return;
        }
        // A measurement whose time is over by now must not count this response.
        self.advance(now);
        if let Some(response) = message.response() {
            self.on_response(now, &response, t_rx);
        }
        if let Some(request) = message.request() {
            self.on_request(now, request, t_rx);
        }
    }

    fn on_request(&mut self, now: Instant, request: Request, t_rx: Instant) {
        self.counters.requests_received += 1;
        if !self.plan.respond {
            self.counters.requests_unanswered += 1;
            return;
        }
        let t2 = self.plan.dialect.stamp(t_rx);
        if !self.waiting.push(Waiting { request, t2, since: now }) {
            self.counters.requests_refused += 1;
        }
    }

    fn on_response(&mut self, now: Instant, response: &Response, t_rx: Instant) {
        self.counters.responses_received += 1;
        let verdict = self.sent.judge(self.plan.dialect, response, t_rx);
        let count = match verdict {
            Verdict::Sample { reordered, by_device } if self.running.is_some() => {
                self.counters.reordered += u64::from(reordered);
                self.add(now, response, by_device);
                &mut self.counters.round_trips
            }
            // Requests were outstanding when the last round trip came.
            Verdict::Sample { .. } => &mut self.counters.redundant,
            Verdict::Duplicate => &mut self.counters.duplicate,
            Verdict::Abandoned => &mut self.counters.late,
            Verdict::Unknown => &mut self.counters.unknown,
            Verdict::Mismatched => &mut self.counters.mismatched,
            Verdict::Impossible => &mut self.counters.impossible,
        };
        *count += 1;
    }

    /// Counts a round trip, which is stored with its request: n = n + 1.
    fn add(&mut self, now: Instant, response: &Response, by_device: bool) {
        let (Some(running), Some(plan)) = (&mut self.running, &self.plan.initiate) else {
            unreachable!("a round trip of a measurement that does not run");
        };
        // The largest, because headroom must suffice for the slowest reaction.
        running.compensation = response.compensation.max(running.compensation);
        if plan.shims {
            self.shims.on_response(self.plan.dialect, response, &mut self.shim_delays);
        }
        // Where protected requests measure MACsec, the plain ones alone are round trips.
        if !(plan.shims && is_protected(response.psn)) {
            running.rounds += 1;
            running.t1_by_software += u16::from(!by_device);
        }
        if running.rounds >= plan.rounds {
            let (running, shims) = (*running, plan.shims);
            self.finish(&running, shims);
            self.end(now, Event::Done);
        }
    }

    /// Stores the result of the running measurement.
    #[cold]
    fn finish(&mut self, running: &Running, shims: bool) {
        self.counters.done += 1;
        let last = self.last.get_or_insert_default();
        let plain = self.sent.answered(running.requests);
        let plain = plain.filter(|(psn, _)| !(shims && is_protected(*psn)));
        last.trips.clear();
        last.trips.extend(plain.map(|(_, trip)| trip));
        assert_eq!(last.count(), usize::from(running.rounds), "each is stored with its request");
        last.t1_by_software = running.t1_by_software;
        last.compensation = running.compensation;
        last.shims.clear();
        if shims {
            last.shims.clone_from(&self.shim_delays);
            last.shims.finish();
        }
    }

    fn end(&mut self, now: Instant, event: Event) {
        self.running = None;
        self.failed = event != Event::Done;
        self.event = Some(event);
        let period = self.plan.initiate.and_then(|p| p.period);
        // From the end of this measurement, however long it took.
        self.again = period.map_or(Instant::NEVER, |p| now.saturating_add(p));
    }

    /// Abandons a running measurement and its outstanding responses.
    fn abandon(&mut self) {
        self.sent.abandon();
        self.running = None;
        self.again = Instant::NEVER;
        if self.plan.initiate.is_some_and(|plan| plan.shims) {
            self.shims = ShimMeter::default();
            self.shim_delays.clear();
        }
    }

    /// Handles expired timers: a failed measurement, the start of the next periodic one. Both take
    /// effect at their deadline, however late the call.
    fn advance(&mut self, now: Instant) {
        if let (Some(running), Some(plan)) = (&self.running, &self.plan.initiate) {
            let deadline = running.ends(plan);
            if now >= deadline {
                let Running { rounds, requests, .. } = *running;
                self.counters.failed += 1;
                self.abandon();
                self.end(deadline, Event::Failed { rounds, requests: requests.into() });
            }
        }
        if now >= self.again {
            self.start(self.again);
        }
    }

    /// Returns true if an action is due at `now`: a message to send, or a measurement to abandon,
    /// for which [`Measurer::take`] returns `None`.
    #[must_use]
    pub fn is_due(&self, now: Instant) -> bool {
        now >= self.next_deadline()
    }

    /// Returns the message to send now, if any; it passes to the MAC at `t_tx`.
    pub fn take(&mut self, now: Instant, t_tx: Instant) -> Option<Message> {
        self.advance(now);
        // Before the response is taken: whether there is one decides when a request may leave.
        let own = self.may_request(now, !self.waiting.is_empty());
        let response =
            self.waiting.pop().map(|Waiting { request: Request { t1, psn }, t2, .. }| {
                self.counters.responses_sent += 1;
                // The time until it passes to the MAC is turnaround, which the peer subtracts.
                let t3 = self.plan.dialect.stamp(t_tx);
                Response { t1, t2, t3, psn, compensation: self.plan.compensation }
            });
        let request = own.then(|| self.request(now, t_tx));
        match (response, request) {
            (None, None) => None,
            (None, Some(request)) => Some(Message::Request(request)),
            (Some(response), None) => Some(Message::Response(response)),
            (Some(response), Some(request)) => {
                self.counters.piggybacked += 1;
                Some(Message::Both { response, request })
            }
        }
    }

    /// Returns true if a request may leave now, alone or on a response.
    fn may_request(&self, now: Instant, on_response: bool) -> bool {
        let (Some(running), Some(plan)) = (&self.running, &self.plan.initiate) else {
            return false;
        };
        let due = match (on_response, plan.piggyback) {
            // S4: from t after the last request on, the next one rides on a response.
            (true, true) if !plan.shims && running.requests > 0 => {
                running.last.saturating_add(plan.spacing_min)
            }
            (true, true) if !plan.shims => running.due,
            // A frame has one number, and the number says whether MACsec protects it, so requests go alone.
            (true, _) => return false,
            (false, _) => running.due,
        };
        running.requests < plan.requests_max && now >= due
    }

    /// Sends req(i + 1) and resets the request timer.
    fn request(&mut self, now: Instant, t_tx: Instant) -> Request {
        let (Some(running), Some(plan)) = (&mut self.running, &self.plan.initiate) else {
            unreachable!("a request of a measurement that does not run");
        };
        running.request(now, plan);
        self.counters.requests_sent += 1;
        let t1 = self.plan.dialect.stamp(t_tx);
        Request { t1, psn: self.sent.send(t_tx, t1) }
    }

    /// Records the device's timestamp of the last request, its t1. To be called before its response is
    /// handled.
    pub fn left(&mut self, time: Instant) {
        self.sent.left(time);
    }

    /// Returns the time of the next action; in the past if a message is due.
    #[must_use]
    pub fn next_deadline(&self) -> Instant {
        let answer = self.waiting.first().map_or(Instant::NEVER, |waiting| waiting.since);
        let own = match (&self.running, &self.plan.initiate) {
            (Some(running), Some(plan)) => running.ends(plan).min(running.due),
            _ => self.again,
        };
        answer.min(own)
    }

    /// Returns the result of the last measurement, once.
    #[inline]
    pub fn next_event(&mut self) -> Option<Event> {
        self.event.take()
    }

    /// Returns true if a measurement has started since the last call.
    #[inline]
    pub fn has_begun(&mut self) -> bool {
        core::mem::take(&mut self.begun)
    }

    /// Returns the state of the measurement.
    #[must_use]
    pub fn state(&self) -> State {
        match &self.running {
            _ if !self.up => State::Stopped,
            None if self.failed => State::Failed,
            None => State::Idle,
            Some(r) => State::Running { rounds: r.rounds, requests: r.requests.into() },
        }
    }

    /// Returns the number of requests after which a measurement gives up, if this end initiates any.
    #[must_use]
    pub fn requests_max(&self) -> Option<u16> {
        self.plan.initiate.map(|plan| plan.requests_max)
    }

    /// Returns the time from the end of a measurement to the next one, if they repeat.
    #[must_use]
    pub fn period(&self) -> Option<Duration> {
        self.plan.initiate?.period
    }

    /// Returns true while a measurement runs.
    #[must_use]
    pub const fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Returns the last completed measurement.
    #[must_use]
    pub fn round_trips(&self) -> Option<&RoundTrips> {
        self.last.as_ref()
    }

    /// Brings the cache lines that most messages need into the caches.
    #[inline]
    pub fn fetch(&self) {
        fetch(&self.up);
        fetch(&self.waiting);
        fetch(&self.plan);
        fetch(&self.counters.requests_sent);
        fetch(&self.counters.responses_received);
        fetch(&self.counters.round_trips);
        self.sent.fetch();
    }

    /// Returns the counters of messages.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }
}

#[cfg(test)]
mod tests;
