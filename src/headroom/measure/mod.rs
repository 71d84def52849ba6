//! The request/response measurement of a link's round trip (P802.1Qdt proposals; Qdt, S4).
//!
//! A [`Measurer`] is one port's part in it: it answers the peer's requests, and when told to measure
//! it sends requests of its own until it has `rounds` round trips. Nothing is waited for: the next
//! request leaves when `spacing_max` has passed since the last, or rides on a response as soon as
//! `spacing_min` has. When `requests_max` requests have left and `spacing_max` has passed once more
//! without enough responses, the measurement has failed, so it never takes longer than
//! `requests_max` times `spacing_max`.
//!
//! The contract with its caller:
//! - [`Measurer::on_message`] with every message received, and when its last bit had passed the MAC;
//!   then, while [`Measurer::is_due`], [`Measurer::take`] with the time at which what it gives
//!   passes to the MAC. If that cannot be sent it counts as lost on the way.
//! - [`Measurer::next_deadline`] says when to look again if nothing arrives. Looking more often
//!   changes nothing. Looking late makes requests late and nothing else.
//! - [`Measurer::start`] when the link comes up, when something about it changes, and whenever
//!   somebody wants a new measurement; [`Measurer::stop`] when the link goes down.
//!
//! `now` only runs the timers; times of messages are stamps of the port's clock, which may be
//! another. Only differences between two stamps of one clock are used. Nothing is allocated.

mod counters;
mod plan;
mod sent;

pub use counters::{Counters, RoundTrips};
pub use plan::{InitiatePlan, MeasurePlan};

use arrayvec::ArrayVec;

use sent::{Sent, Verdict};

use crate::time::{Duration, Instant};
use crate::wire::headroom::{Message, Request, Response};

/// The most requests of the peer that wait for an answer. A peer sends them `spacing_min` apart,
/// so one that fills this queue is not measuring.
const WAITING_MAX: usize = 8;

/// What a measurement came to. The figures are in [`Measurer::round_trips`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// It has all its round trips.
    Done,
    /// All requests were used up before.
    Failed {
        /// Round trips that it got.
        rounds: u16,
        /// Requests that it sent.
        requests: u16,
    },
}

/// What a port's measurement is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// The link is down.
    Stopped,
    /// It answers at most.
    Idle,
    /// It measures.
    Running {
        /// Round trips so far (n of the proposal).
        rounds: u16,
        /// Requests so far (i of the proposal).
        requests: u16,
    },
}

/// A request of the peer that waits for its answer.
#[derive(Clone, Copy)]
struct Waiting {
    request: Request,
    /// When it was received, in the unit of the dialect.
    t2: u64,
    since: Instant,
}

/// A measurement that runs.
#[derive(Clone, Copy)]
struct Running {
    rounds: u16,
    requests: u16,
    /// When the request timer was set to 0, or nothing before the first request.
    last: Option<Instant>,
    since: Instant,
}

impl Running {
    /// When the request timer reaches `spacing`; the first request waits for nothing.
    fn reaches(&self, spacing: Duration) -> Instant {
        self.last.map_or(self.since, |last| last.saturating_add(spacing))
    }
}

/// The measurement of one port.
#[derive(Clone)]
pub struct Measurer {
    plan: MeasurePlan,
    up: bool,
    waiting: ArrayVec<Waiting, WAITING_MAX>,
    running: Option<Running>,
    /// When the next measurement begins by itself.
    again: Instant,
    sent: Sent,
    current: RoundTrips,
    last: Option<RoundTrips>,
    event: Option<Event>,
    counters: Counters,
}

impl Measurer {
    /// A measurement as planned that has not begun, on a link that is up.
    ///
    /// # Panics
    /// If the plan has a number out of the range that its field states.
    #[must_use]
    pub fn new(plan: &MeasurePlan) -> Self {
        if let Some(p) = &plan.initiate {
            assert!((1..=256).contains(&p.rounds), "{} rounds", p.rounds);
            assert!((p.rounds..=256).contains(&p.requests_max), "{} requests", p.requests_max);
            assert!(p.spacing_max >= p.spacing_min, "the most is less than the least");
            assert!(p.spacing_max > Duration::ZERO, "requests without end at once");
        }
        Self {
            plan: plan.clone(),
            up: true,
            waiting: ArrayVec::new(),
            running: None,
            again: Instant::NEVER,
            sent: Sent::new(),
            current: RoundTrips::default(),
            last: None,
            event: None,
            counters: Counters::default(),
        }
    }

    /// Begins a measurement, instead of one that may be running; its first request is due at `now`.
    /// A port that does not initiate only begins to answer.
    pub fn start(&mut self, now: Instant) {
        self.up = true;
        self.abandon();
        if self.plan.initiate.is_some() {
            self.counters.started += 1;
            self.running = Some(Running { rounds: 0, requests: 0, last: None, since: now });
        }
    }

    /// The link is up: requests are answered from now on. Nothing else begins.
    pub const fn listen(&mut self) {
        self.up = true;
    }

    /// Ends everything: the link is down. What was measured of it stays readable.
    pub fn stop(&mut self) {
        self.abandon();
        self.waiting.clear();
        self.up = false;
    }

    /// Takes in a message whose last bit had come out of the MAC at `t_rx`.
    pub fn on_message(&mut self, now: Instant, message: &Message, t_rx: Instant) {
        if !self.up {
            self.counters.while_down += 1;
            return;
        }
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
        if self.waiting.try_push(Waiting { request, t2, since: now }).is_err() {
            self.counters.requests_refused += 1;
        }
    }

    fn on_response(&mut self, now: Instant, response: &Response, t_rx: Instant) {
        self.counters.responses_received += 1;
        let verdict = self.sent.judge(self.plan.dialect, response, t_rx);
        let count = match verdict {
            Verdict::Sample { round_trip, turnaround, reordered } => {
                if self.running.is_some() {
                    self.counters.reordered += u64::from(reordered);
                    self.add(now, round_trip, turnaround);
                    &mut self.counters.round_trips
                } else {
                    &mut self.counters.redundant
                }
            }
            Verdict::Duplicate => &mut self.counters.duplicate,
            Verdict::Abandoned => &mut self.counters.late,
            Verdict::Unknown => &mut self.counters.unknown,
            Verdict::Mismatched => &mut self.counters.mismatched,
            Verdict::Impossible => &mut self.counters.impossible,
        };
        *count += 1;
    }

    /// One more round trip: n = n + 1.
    fn add(&mut self, now: Instant, round_trip: Duration, turnaround: Duration) {
        let (Some(running), Some(plan)) = (&mut self.running, &self.plan.initiate) else {
            unreachable!("a round trip of a measurement that does not run");
        };
        self.current.round_trip.add(round_trip);
        self.current.turnaround.add(turnaround);
        running.rounds += 1;
        if running.rounds == plan.rounds {
            self.counters.done += 1;
            self.current.round_trip.finish();
            self.current.turnaround.finish();
            self.last = Some(core::mem::take(&mut self.current));
            self.end(now, Event::Done);
        }
    }

    fn end(&mut self, now: Instant, event: Event) {
        self.running = None;
        self.event = Some(event);
        let period = self.plan.initiate.and_then(|p| p.period);
        self.again = period.map_or(Instant::NEVER, |p| now.saturating_add(p));
    }

    /// Forgets a measurement that may be running, and responses that are under way.
    fn abandon(&mut self) {
        self.sent.abandon();
        self.running = None;
        self.again = Instant::NEVER;
        self.current = RoundTrips::default();
    }

    /// Does what time alone brings about: a measurement that has failed, the next one of a period.
    /// Both happen at their own time, whenever they are noticed.
    fn advance(&mut self, now: Instant) {
        if let (Some(running), Some(plan)) = (self.running, self.plan.initiate) {
            let at = running.reaches(plan.spacing_max);
            if running.requests == plan.requests_max && now >= at {
                let Running { rounds, requests, .. } = running;
                self.counters.failed += 1;
                self.abandon();
                self.end(at, Event::Failed { rounds, requests });
            }
        }
        if now >= self.again {
            self.start(self.again);
        }
    }

    /// Whether there is anything to do at `now`: something to send, or a measurement to give up,
    /// for which [`Measurer::take`] gives nothing.
    #[must_use]
    pub fn is_due(&self, now: Instant) -> bool {
        now >= self.next_deadline()
    }

    /// What is to be sent now, if anything; it passes to the MAC at `t_tx`.
    pub fn take(&mut self, now: Instant, t_tx: Instant) -> Option<Message> {
        self.advance(now);
        let own = self.may_request(now, !self.waiting.is_empty());
        let answer = (!self.waiting.is_empty()).then(|| self.waiting.remove(0));
        let response = answer.map(|Waiting { request: Request { t1, psn }, t2, .. }| {
            self.counters.responses_sent += 1;
            Response { t1, t2, t3: self.plan.dialect.stamp(t_tx), psn }
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

    /// Whether a request may leave now, alone or on a response.
    fn may_request(&self, now: Instant, on_response: bool) -> bool {
        let (Some(running), Some(plan)) = (&self.running, &self.plan.initiate) else {
            return false;
        };
        let spacing = match (on_response, plan.piggyback) {
            (true, true) => plan.spacing_min,
            (true, false) => return false,
            (false, _) => plan.spacing_max,
        };
        running.requests < plan.requests_max && now >= running.reaches(spacing)
    }

    /// Sends req(i + 1) and sets the request timer to 0.
    fn request(&mut self, now: Instant, t_tx: Instant) -> Request {
        let running = self.running.as_mut().expect("requests are of a running measurement");
        running.requests += 1;
        running.last = Some(now);
        self.counters.requests_sent += 1;
        Request { t1: self.plan.dialect.stamp(t_tx), psn: self.sent.send(t_tx) }
    }

    /// When there is something to do: in the past where something waits to be sent.
    #[must_use]
    pub fn next_deadline(&self) -> Instant {
        let answer = self.waiting.first().map_or(Instant::NEVER, |w| w.since);
        let own = match (&self.running, &self.plan.initiate) {
            (Some(running), Some(plan)) => running.reaches(plan.spacing_max),
            _ => self.again,
        };
        answer.min(own)
    }

    /// What the last measurement came to, once.
    pub fn next_event(&mut self) -> Option<Event> {
        self.event.take()
    }

    /// What it is doing.
    #[must_use]
    pub fn state(&self) -> State {
        match &self.running {
            _ if !self.up => State::Stopped,
            None => State::Idle,
            Some(r) => State::Running { rounds: r.rounds, requests: r.requests },
        }
    }

    /// The last measurement that got all its round trips.
    #[must_use]
    pub fn round_trips(&self) -> Option<&RoundTrips> {
        self.last.as_ref()
    }

    /// What happened to messages.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }
}

#[cfg(test)]
mod tests;
