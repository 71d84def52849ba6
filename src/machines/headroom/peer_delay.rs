//! The peer delay mechanism of PTP (IEEE 1588-2019 11.4), for the medium's part of the headroom.
//!
//! A [`PeerDelay`] is the state of one port. As a requester it sends a request per interval and
//! collects the mean path delay of `rounds` answered exchanges, with two-step and one-step
//! responders; then it starts again. As a responder it answers in two steps: the Follow_Up carries
//! the time at which the response left.
//!
//! The contract with its caller is that of the request/response measurement: every message received
//! goes to [`PeerDelay::on_message`], and while [`PeerDelay::is_due`], the message that
//! [`PeerDelay::take`] returns is sent to [`wire::ptp::DESTINATION`]. `t_rx` and `t_tx` are
//! timestamps of the port's clock, `now` drives the timers. Nothing is allocated, and extra calls
//! change nothing.

mod exchange;

use arrayvec::ArrayVec;
use exchange::{Exchange, Outcome};

pub use super::measure::{Event, State};
use super::{SAMPLES_MAX, Samples};
use ground::counters;
use ground::time::{Duration, Instant};
use ground::units::Mac;
use wire::ptp::{Body, Correction, Message, PortIdentity, Timestamp};

/// Maximum number of the peer's requests that wait for a response or its Follow_Up.
const WAITING_MAX: usize = 8;

/// Maximum number of requests per round, after which a set of exchanges has failed. The standard
/// repeats requests forever, but callers need a definite failure.
const REQUESTS_PER_ROUND: u32 = 2;

/// A request of the peer and the state of its response.
#[derive(Clone, Copy)]
struct Waiting {
    request: Message,
    /// Time of reception of the request.
    t2: Instant,
    /// Transmit time of the response, if it has left.
    t3: Option<Instant>,
    /// True while a better transmit time is awaited, for which the Follow_Up waits.
    awaits: bool,
    since: Instant,
}

/// Peer delay mechanism of one port.
#[derive(Clone)]
pub struct PeerDelay {
    plan: PeerDelayPlan,
    identity: PortIdentity,
    up: bool,
    waiting: ArrayVec<Waiting, WAITING_MAX>,
    /// Time of the next request.
    next: Instant,
    sequence: u16,
    exchange: Option<Exchange>,
    requests: u32,
    current: Samples,
    /// Exchanges of the current set and of the last one whose t1 is a time of software, and not the device's
    /// timestamp.
    by_software: [u16; 2],
    last: Option<Samples>,
    event: Option<Event>,
    /// True if the last set failed.
    failed: bool,
    counters: Counters,
}

impl PeerDelay {
    /// Creates a port with address `mac` on a link that is up. It responds, and sends requests once
    /// started.
    ///
    /// # Panics
    /// If the plan has a number out of the range that its field states.
    #[must_use]
    pub fn new(plan: &PeerDelayPlan, mac: Mac) -> Self {
        assert!((1..=SAMPLES_MAX).contains(&usize::from(plan.rounds)), "{} rounds", plan.rounds);
        assert!(plan.major_sdo_id < 16, "an sdoId of {}", plan.major_sdo_id);
        assert!(plan.interval != Some(Duration::ZERO), "requests without end at once");
        Self {
            plan: *plan,
            identity: PortIdentity::of(mac),
            up: true,
            waiting: ArrayVec::new(),
            next: Instant::NEVER,
            sequence: 0,
            exchange: None,
            requests: 0,
            current: Samples::default(),
            by_software: [0; 2],
            last: None,
            event: None,
            failed: false,
            counters: Counters::default(),
        }
    }

    /// Starts again: the link is up, or its results are out of date. The first request is due at
    /// `now`.
    pub fn start(&mut self, now: Instant) {
        self.up = true;
        self.failed = false;
        self.begin();
        self.next = if self.plan.interval.is_some() { now } else { Instant::NEVER };
    }

    /// Handles link down. Previous results stay readable.
    pub fn stop(&mut self) {
        self.begin();
        self.waiting.clear();
        self.next = Instant::NEVER;
        self.up = false;
    }

    /// Starts a set of exchanges.
    fn begin(&mut self) {
        self.exchange = None;
        self.requests = 0;
        self.current.clear();
        self.by_software[0] = 0;
    }

    /// Handles a message whose last bit left the MAC at `t_rx`.
    pub fn on_message(&mut self, now: Instant, message: &Message, t_rx: Instant) {
        let counters = &mut self.counters;
        let others = if !self.up || message.source == self.identity {
            Some(&mut counters.ignored)
        } else if message.major_sdo_id != self.plan.major_sdo_id {
            // Nodes of IEEE 1588 (0) and of IEEE 802.1AS (1) do not answer each other.
            Some(match message.major_sdo_id {
                0 => &mut counters.messages_of_1588,
                1 => &mut counters.messages_of_802_1as,
                _ => &mut counters.ignored,
            })
        } else {
            (message.domain != self.plan.domain).then_some(&mut counters.other_domain)
        };
        if let Some(count) = others {
            *count += 1;
            return;
        }
        match message.body {
            Body::PdelayReq => self.on_request(now, message, t_rx),
            Body::PdelayResp { requesting, .. } | Body::PdelayRespFollowUp { requesting, .. } => {
                self.on_answer(message, requesting, t_rx);
            }
            Body::Other(_) => self.counters.ignored += 1,
        }
    }

    fn on_request(&mut self, now: Instant, request: &Message, t_rx: Instant) {
        self.counters.requests_received += 1;
        if !self.plan.respond {
            self.counters.requests_unanswered += 1;
            return;
        }
        // All of the request is kept: its answers return source, sequence and correction.
        let waiting = Waiting { request: *request, t2: t_rx, t3: None, awaits: false, since: now };
        if self.waiting.try_push(waiting).is_err() {
            self.counters.requests_refused += 1;
        }
    }

    fn on_answer(&mut self, message: &Message, requesting: PortIdentity, t_rx: Instant) {
        self.counters.answers_received += 1;
        if requesting != self.identity {
            self.counters.for_others += 1;
            return;
        }
        // Exchanges of earlier requests have been given up.
        let Some(exchange) = self.exchange.as_mut().filter(|e| e.is(message.sequence)) else {
            self.counters.late += 1;
            return;
        };
        match exchange.take(message, t_rx) {
            Outcome::Waits => {}
            Outcome::Duplicate => self.counters.duplicate += 1,
            Outcome::OtherResponder => self.counters.other_responder += 1,
            Outcome::Impossible => self.counters.impossible += 1,
            Outcome::Delay(delay) => {
                self.by_software[0] += u16::from(!exchange.is_by_device());
                self.add(delay);
            }
        }
    }

    fn add(&mut self, delay: Duration) {
        self.counters.exchanges += 1;
        self.current.add(delay);
        if self.current.count() == usize::from(self.plan.rounds) {
            self.counters.done += 1;
            self.current.finish();
            self.last = Some(self.current.clone());
            // The count of the completed set is read after the next one has begun.
            self.by_software = [0, self.by_software[0]];
            self.failed = false;
            self.event = Some(Event::Done);
            self.current.clear();
            self.requests = 0;
        }
    }

    /// Returns true if an action is due at `now`.
    #[must_use]
    pub fn is_due(&self, now: Instant) -> bool {
        now >= self.next_deadline()
    }

    /// Returns the message to send now, if any; it passes to the MAC at `t_tx`. Responses come
    /// first, to leave as soon as possible, then Follow_Ups, then a request.
    pub fn take(&mut self, now: Instant, t_tx: Instant) -> Option<Message> {
        if let Some(waiting) = self.waiting.iter_mut().find(|w| w.t3.is_none()) {
            waiting.t3 = Some(t_tx);
            let (request, t2) = (waiting.request, waiting.t2);
            self.counters.responses_sent += 1;
            return Some(self.response(&request, t2));
        }
        // Those that wait for their time do not hold the others.
        let ready = self.waiting.iter().position(|w| !w.awaits);
        if let Some(waiting) = ready.and_then(|slot| self.waiting.pop_at(slot)) {
            let t3 = waiting.t3.expect("all responses have left");
            self.counters.follow_ups_sent += 1;
            return Some(self.follow_up(&waiting.request, t3));
        }
        if now < self.next {
            return None;
        }
        let interval = self.plan.interval.expect("only a port that asks has a next request");
        // One exchange at a time: the next request ends the wait for the answers to the last.
        self.give_up();
        self.next = now.saturating_add(interval);
        self.sequence = self.sequence.wrapping_add(1);
        self.requests += 1;
        self.counters.requests_sent += 1;
        self.exchange = Some(Exchange::new(self.sequence, t_tx));
        Some(self.message(self.sequence, false, Correction::default(), Body::PdelayReq))
    }

    /// Abandons the outstanding request; the set may fail as a result.
    fn give_up(&mut self) {
        match self.exchange.take() {
            Some(e) if e.is_unanswered() => self.counters.lost += 1,
            Some(e) if !e.is_complete() => self.counters.follow_ups_lost += 1,
            _ => {}
        }
        if self.requests >= u32::from(self.plan.rounds) * REQUESTS_PER_ROUND {
            let rounds = self.current.count() as u16;
            self.event = Some(Event::Failed { rounds, requests: self.requests });
            self.counters.failed += 1;
            self.failed = true;
            self.begin();
        }
    }

    /// Builds a response. Times are whole nanoseconds; the rest of t2 is subtracted by the
    /// response's correction and the rest of t3 added by the Follow_Up's (1588 11.4.2 c, the second
    /// way of two steps).
    fn response(&self, request: &Message, t2: Instant) -> Message {
        let (receipt, left) = Timestamp::split(t2);
        let body = Body::PdelayResp { receipt, requesting: request.source };
        self.message(request.sequence, true, left.negative(), body)
    }

    fn follow_up(&self, request: &Message, t3: Instant) -> Message {
        let (origin, left) = Timestamp::split(t3);
        let body = Body::PdelayRespFollowUp { origin, requesting: request.source };
        // The correction of the request is returned here, in the second of the two steps.
        self.message(request.sequence, false, left.plus(request.correction), body)
    }

    fn message(
        &self,
        sequence: u16,
        two_step: bool,
        correction: Correction,
        body: Body,
    ) -> Message {
        Message {
            major_sdo_id: self.plan.major_sdo_id,
            minor_sdo_id: 0,
            domain: self.plan.domain,
            two_step,
            correction,
            source: self.identity,
            sequence,
            body,
        }
    }

    /// Returns the time of the next action; in the past if a message is due.
    #[must_use]
    pub fn next_deadline(&self) -> Instant {
        // A response whose time the device has yet to tell is not due.
        let ready = self.waiting.iter().find(|w| !w.awaits);
        ready.map_or(self.next, |w| w.since.min(self.next))
    }

    /// Records that the device timestamps the last response: its Follow_Up waits for [`Self::response_left`].
    pub fn await_stamp(&mut self) {
        // Responses leave in their order.
        if let Some(waiting) = self.waiting.iter_mut().rfind(|w| w.t3.is_some()) {
            waiting.awaits = true;
        }
    }

    /// Records the device's timestamp of that response; with `None` the time of its hand-over stays.
    pub fn response_left(&mut self, time: Option<Instant>) {
        // The link may have gone down meanwhile.
        if let Some(waiting) = self.waiting.iter_mut().find(|w| w.awaits) {
            waiting.awaits = false;
            waiting.t3 = time.or(waiting.t3);
        }
    }

    /// Sets the time at which the device sent the last request. Call it before the answer is handed over.
    pub fn request_left(&mut self, time: Instant) {
        if let Some(exchange) = &mut self.exchange {
            exchange.left(time);
        }
    }

    /// Returns the number of exchanges of the last completed set whose t1 is a time of software.
    #[must_use]
    pub const fn t1_by_software(&self) -> u16 {
        self.by_software[1]
    }

    /// Returns the state of the requests.
    #[must_use]
    pub fn state(&self) -> State {
        match self.next {
            _ if !self.up => State::Stopped,
            Instant::NEVER => State::Idle,
            _ if self.failed => State::Failed,
            _ => State::Running { rounds: self.current.count() as u16, requests: self.requests },
        }
    }

    /// Returns the result of the last set of exchanges, once.
    pub fn next_event(&mut self) -> Option<Event> {
        self.event.take()
    }

    /// Returns the mean path delays of the last completed set: one way, assuming a symmetric path.
    #[must_use]
    pub fn estimate(&self) -> Option<&Samples> {
        self.last.as_ref()
    }

    /// Returns the counters of messages.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }
}

/// Peer delay mechanism of one port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PeerDelayPlan {
    /// Interval between requests; `None` to respond only.
    pub interval: Option<Duration>,
    /// True if requests of the peer are answered (with a Follow_Up, in two steps).
    pub respond: bool,
    /// PTP domain, 0 to 239.
    pub domain: u8,
    /// Upper four bits of the first octet: 0 for IEEE 1588, 1 for IEEE 802.1AS.
    pub major_sdo_id: u8,
    /// Exchanges per set, 1 to 256.
    pub rounds: u16,
}

impl PeerDelayPlan {
    /// A request per second in domain 0 of IEEE 1588, sets of eight exchanges, responding enabled.
    pub const DEFAULT: Self = Self {
        interval: Some(Duration::from_secs(1)),
        respond: true,
        domain: 0,
        major_sdo_id: 0,
        rounds: 8,
    };
}

counters! {
    /// Counters of messages, each counted under the first that applies.
    Counters {
        /// Requests sent.
        requests_sent,
        /// Responses sent.
        responses_sent,
        /// Follow_Ups sent.
        follow_ups_sent,
        /// Requests received.
        requests_received,
        /// Requests not answered because responding is disabled.
        requests_unanswered,
        /// Requests not answered because the queue was full.
        requests_refused,
        /// Other PTP messages, those of unknown profiles, the port's own, and messages received while
        /// the link was down.
        ignored,
        /// Messages of another domain.
        other_domain,
        /// Messages of IEEE 802.1AS (`majorSdoId` 1) at a port that speaks another profile.
        messages_of_802_1as,
        /// Messages of IEEE 1588 (`majorSdoId` 0) at a port that speaks another profile.
        messages_of_1588,
        /// Responses and Follow_Ups received.
        answers_received,
        /// Responses and Follow_Ups to requests of other ports.
        for_others,
        /// Responses and Follow_Ups to another request than the last.
        late,
        /// Duplicate responses and Follow_Ups.
        duplicate,
        /// Responses and Follow_Ups from another port than the first that answered.
        other_responder,
        /// Responses and Follow_Ups with impossible times.
        impossible,
        /// Exchanges that gave a delay.
        exchanges,
        /// Requests without a response.
        lost,
        /// Requests with a response but without the announced Follow_Up.
        follow_ups_lost,
        /// Sets of exchanges completed.
        done,
        /// Sets of exchanges failed.
        failed,
    }
}

#[cfg(test)]
mod tests;
