//! Sent requests by number, and validation of the responses to them.
//!
//! Sequence numbers have eight bits and continue from one measurement to the next, so the last 256
//! requests are stored, with their exact transmit times. A response is accepted only for its own
//! request: it must have the number and the time of an outstanding one.

use ground::time::{Duration, Instant};
use wire::headroom::{Dialect, Response};

/// Maximum relative drift of two clocks, as a divisor of a span: 802.3 allows each 100 ppm.
const DRIFT: u64 = 5_000;

/// State of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Never sent.
    Unused,
    /// Outstanding.
    Waiting,
    /// Answered.
    Answered,
    /// Outstanding when its measurement ended.
    Abandoned,
}

#[derive(Clone, Copy)]
struct Request {
    state: State,
    /// Transmit time that the request carries.
    t1: Instant,
    /// Transmit time by the device's timestamp, if it is known.
    left: Option<Instant>,
}

/// Classification of a response.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    /// The first response to an outstanding request: a round trip and its turnaround.
    Sample {
        round_trip: Duration,
        turnaround: Duration,
        elapsed: Duration,
        reordered: bool,
        /// True if t1 is the device's timestamp.
        by_device: bool,
    },
    /// A response to an answered request.
    Duplicate,
    /// A response to a request whose measurement has ended.
    Abandoned,
    /// A response with a number that was never sent.
    Unknown,
    /// A response whose number matches, but whose transmit time does not.
    Mismatched,
    /// A response with impossible times.
    Impossible,
}

/// The last 256 requests.
#[derive(Clone)]
pub(super) struct Sent {
    requests: [Request; 256],
    /// Sequence number of the next request.
    next: u8,
    /// Sequence number of the latest answered request.
    newest: Option<u8>,
}

impl Sent {
    pub(super) const fn new() -> Self {
        let unused = Request { state: State::Unused, t1: Instant::ZERO, left: None };
        Self { requests: [unused; 256], next: 0, newest: None }
    }

    /// Records a request that leaves at `t1` and returns its number, which replaces the request 256
    /// before.
    pub(super) fn send(&mut self, t1: Instant) -> u8 {
        let psn = self.next;
        self.requests[usize::from(psn)] = Request { state: State::Waiting, t1, left: None };
        if self.newest == Some(psn) {
            self.newest = None;
        }
        self.next = psn.wrapping_add(1);
        psn
    }

    /// Returns the number of the last request.
    pub(super) const fn last(&self) -> u8 {
        self.next.wrapping_sub(1)
    }

    /// Records the device's timestamp of a request; it is that of the last one with this number.
    pub(super) fn left(&mut self, psn: u8, at: Instant) {
        self.requests[usize::from(psn)].left = Some(at);
    }

    /// Abandons all outstanding requests.
    pub(super) fn abandon(&mut self) {
        for request in &mut self.requests {
            if request.state == State::Waiting {
                request.state = State::Abandoned;
            }
        }
        self.newest = None;
    }

    /// Classifies a response that was received at `t4`.
    pub(super) fn judge(&mut self, dialect: Dialect, response: &Response, t4: Instant) -> Verdict {
        let request = self.requests[usize::from(response.psn)];
        if request.state == State::Unused {
            return Verdict::Unknown;
        }
        if response.t1 != dialect.stamp(request.t1) {
            return Verdict::Mismatched;
        }
        match request.state {
            State::Answered => return Verdict::Duplicate,
            State::Abandoned => return Verdict::Abandoned,
            State::Unused | State::Waiting => {}
        }
        let t1 = request.left.unwrap_or(request.t1);
        let Some((round_trip, turnaround)) = round_trip(dialect, t1, response, t4) else {
            return Verdict::Impossible;
        };
        let elapsed = t4.since(t1);
        self.requests[usize::from(response.psn)].state = State::Answered;
        // The age of a number is counted from the next one, across the wrap.
        let age = |psn: u8| self.next.wrapping_sub(psn).wrapping_sub(1);
        let reordered = self.newest.is_some_and(|newest| age(response.psn) > age(newest));
        if !reordered {
            self.newest = Some(response.psn);
        }
        let by_device = request.left.is_some();
        Verdict::Sample { round_trip, turnaround, elapsed, reordered, by_device }
    }
}

/// Returns the round trip and the turnaround, if the four times are possible.
///
/// The responder has another clock: on a link so short that all the time is spent in the responder,
/// its turnaround may exceed the round trip by the drift of both clocks and the resolution of the
/// times. The round trip is zero then.
fn round_trip(
    dialect: Dialect,
    t1: Instant,
    response: &Response,
    t4: Instant,
) -> Option<(Duration, Duration)> {
    // Modulo 2^64, as timestamps are. A response from before its request appears as one that took
    // too long.
    let turnaround = dialect.span(response.t3.wrapping_sub(response.t2));
    if t4 < t1 {
        return None;
    }
    let whole = t4.since(t1);
    let slack = whole.as_picos().div_ceil(DRIFT) + dialect.resolution().as_picos();
    if turnaround.as_picos() > whole.as_picos().saturating_add(slack) {
        return None;
    }
    let round_trip = whole.as_picos().saturating_sub(turnaround.as_picos());
    Some((Duration::from_picos(round_trip), turnaround))
}
