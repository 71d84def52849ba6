//! The requests that were sent, by number, and what a response to them is worth.
//!
//! Sequence numbers have eight bits and go on from one measurement to the next, so the last 256
//! requests are remembered, with the exact time at which each left. No response counts for another
//! request than its own: it must have the number and the time of one that still waits.

use crate::time::{Duration, Instant};
use crate::wire::headroom::{Dialect, Response};

/// Two clocks disagree about a span by one part in so many at most: 802.3 allows each 100 ppm.
const DRIFT: u64 = 5_000;

/// How it stands with a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Never sent.
    Unused,
    /// It waits for its response.
    Waiting,
    /// It has had its response.
    Answered,
    /// It waited when its measurement ended.
    Abandoned,
}

#[derive(Clone, Copy)]
struct Request {
    state: State,
    t1: Instant,
}

/// What a response is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    /// The first to a request that waits: a round trip, and the time in the responder.
    Sample { round_trip: Duration, turnaround: Duration, reordered: bool },
    /// To a request that has had one.
    Duplicate,
    /// To a request whose measurement has ended.
    Abandoned,
    /// To a number that was never sent.
    Unknown,
    /// To a request of that number, but sent at another time.
    Mismatched,
    /// With times that cannot be.
    Impossible,
}

/// The last 256 requests.
#[derive(Clone)]
pub(super) struct Sent {
    requests: [Request; 256],
    /// The number of the next request.
    next: u8,
    /// The number of the latest request that has had a response.
    newest: Option<u8>,
}

impl Sent {
    pub(super) const fn new() -> Self {
        let unused = Request { state: State::Unused, t1: Instant::ZERO };
        Self { requests: [unused; 256], next: 0, newest: None }
    }

    /// A request leaves at `t1`. Its number is free again if 256 have been sent since.
    pub(super) fn send(&mut self, t1: Instant) -> u8 {
        let psn = self.next;
        self.requests[usize::from(psn)] = Request { state: State::Waiting, t1 };
        if self.newest == Some(psn) {
            self.newest = None;
        }
        self.next = psn.wrapping_add(1);
        psn
    }

    /// No response to what waits counts any more.
    pub(super) fn abandon(&mut self) {
        for request in &mut self.requests {
            if request.state == State::Waiting {
                request.state = State::Abandoned;
            }
        }
        self.newest = None;
    }

    /// Judges a response that was received at `t4`.
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
        let Some((round_trip, turnaround)) = round_trip(dialect, request.t1, response, t4) else {
            return Verdict::Impossible;
        };
        self.requests[usize::from(response.psn)].state = State::Answered;
        // How far back a number lies is counted from the next one, across the wrap.
        let age = |psn: u8| self.next.wrapping_sub(psn).wrapping_sub(1);
        let reordered = self.newest.is_some_and(|newest| age(response.psn) > age(newest));
        if !reordered {
            self.newest = Some(response.psn);
        }
        Verdict::Sample { round_trip, turnaround, reordered }
    }
}

/// The round trip and the time in the responder, if the four times can be.
///
/// The responder's clock is another: where a link is so short that all the time goes by in the
/// responder, its figure may be the longer one by the drift of both clocks and the unit of the
/// times. The round trip is zero then.
fn round_trip(
    dialect: Dialect,
    t1: Instant,
    response: &Response,
    t4: Instant,
) -> Option<(Duration, Duration)> {
    // Modulo 2^64, as stamps are. A response from before its request is one that took too long.
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
