//! Sent requests by number, and validation of the responses to them.
//!
//! Sequence numbers have eight bits and continue from one measurement to the next, so the last 256
//! requests are stored, with their exact transmit times and then their round trips. A response is
//! accepted only for its own request: it must have the number and the time of an outstanding one.

use ground::memory::fetch_item;
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
}

/// A sent request, in half a cache line: of each message one is read or written.
#[derive(Clone, Copy)]
#[repr(align(32))]
struct Request {
    /// Transmit time that the request carries, in the unit of the dialect.
    t1: u64,
    /// Outstanding: the two words of the exact transmit time, which is the device's timestamp if it is
    /// known. Answered: the time to the response, and the turnaround in it, in picoseconds.
    times: [u64; 2],
    /// Measurement that it is part of.
    measurement: u32,
    state: State,
    /// True if the transmit time is the device's timestamp.
    by_device: bool,
}

const _: () = assert!(size_of::<Request>() == 32, "a message reads one cache line");

impl Request {
    const UNUSED: Self =
        Self { t1: 0, times: [0; 2], measurement: 0, state: State::Unused, by_device: false };

    /// Returns the exact transmit time of an outstanding request.
    const fn left(&self) -> Instant {
        let [high, low] = self.times;
        Instant::from_picos((high as u128) << 64 | low as u128)
    }

    const fn set_left(&mut self, at: Instant) {
        let picos = at.as_picos();
        self.times = [(picos >> 64) as u64, picos as u64];
    }
}

/// Classification of a response.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    /// The first response to an outstanding request: a round trip.
    Sample {
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

/// A round trip.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Trip {
    /// From the request to its response.
    pub(super) elapsed: Duration,
    /// Part of it in the responder.
    pub(super) turnaround: Duration,
}

/// The last 256 requests. Small fields precede the requests, so that they share a cache line with what is
/// before them.
#[derive(Clone)]
#[repr(C)]
pub(super) struct Sent {
    /// Sequence number of the next request.
    next: u8,
    /// Sequence number of the latest answered request.
    newest: Option<u8>,
    /// Number of the measurement. Outstanding requests of others are abandoned.
    measurement: u32,
    requests: [Request; 256],
}

impl Sent {
    pub(super) const fn new() -> Self {
        Self { next: 0, newest: None, measurement: 0, requests: [Request::UNUSED; 256] }
    }

    /// Records a request that leaves at `at`, which it states as `t1`, and returns its number. It replaces
    /// the request 256 before.
    pub(super) fn send(&mut self, at: Instant, t1: u64) -> u8 {
        let psn = self.next;
        let request = &mut self.requests[usize::from(psn)];
        let measurement = self.measurement;
        *request = Request { t1, measurement, state: State::Waiting, ..Request::UNUSED };
        request.set_left(at);
        if self.newest == Some(psn) {
            self.newest = None;
        }
        self.next = psn.wrapping_add(1);
        psn
    }

    /// Records the device's timestamp of the last request.
    pub(super) fn left(&mut self, at: Instant) {
        let request = &mut self.requests[usize::from(self.next.wrapping_sub(1))];
        // That of one that was answered comes too late.
        if request.state == State::Waiting {
            request.set_left(at);
            request.by_device = true;
        }
    }

    /// Brings the last request into the caches, which is most often the one that is answered next.
    #[inline]
    pub(super) fn fetch(&self) {
        fetch_item(&self.requests, usize::from(self.next.wrapping_sub(1)));
    }

    /// Abandons all outstanding requests.
    pub(super) const fn abandon(&mut self) {
        self.measurement = self.measurement.wrapping_add(1);
        self.newest = None;
    }

    /// Classifies a response that was received at `t4`.
    pub(super) fn judge(&mut self, dialect: Dialect, response: &Response, t4: Instant) -> Verdict {
        let request = &mut self.requests[usize::from(response.psn)];
        if request.state == State::Unused {
            return Verdict::Unknown;
        }
        if response.t1 != request.t1 {
            return Verdict::Mismatched;
        }
        match request.state {
            State::Answered => return Verdict::Duplicate,
            State::Waiting if request.measurement != self.measurement => return Verdict::Abandoned,
            State::Unused | State::Waiting => {}
        }
        let Some(trip) = trip(dialect, request.left(), response, t4) else {
            return Verdict::Impossible;
        };
        request.state = State::Answered;
        request.times = [trip.elapsed.as_picos(), trip.turnaround.as_picos()];
        let by_device = request.by_device;
        // The age of a number is counted from the next one, across the wrap.
        let age = |psn: u8| self.next.wrapping_sub(psn).wrapping_sub(1);
        let reordered = self.newest.is_some_and(|newest| age(response.psn) > age(newest));
        if !reordered {
            self.newest = Some(response.psn);
        }
        Verdict::Sample { reordered, by_device }
    }

    /// Returns number and round trip of each answered request among the last `count`, which are those of the
    /// measurement.
    pub(super) fn answered(&self, count: u16) -> impl Iterator<Item = (u8, Trip)> + '_ {
        let numbers = (1..=count).rev().map(|back| self.next.wrapping_sub(back as u8));
        numbers.filter_map(|psn| {
            let Request { times: [elapsed, turnaround], state, .. } =
                self.requests[usize::from(psn)];
            let [elapsed, turnaround] = [elapsed, turnaround].map(Duration::from_picos);
            (state == State::Answered).then_some((psn, Trip { elapsed, turnaround }))
        })
    }
}

/// Returns the round trip, if the four times are possible.
///
/// The responder has another clock: on a link so short that all the time is spent in the responder,
/// its turnaround may exceed the round trip by the drift of both clocks and the resolution of the
/// times.
fn trip(dialect: Dialect, t1: Instant, response: &Response, t4: Instant) -> Option<Trip> {
    // Modulo 2^64, as timestamps are. A response from before its request appears as one that took
    // too long.
    let turnaround = dialect.span(response.t3.wrapping_sub(response.t2));
    if t4 < t1 {
        return None;
    }
    let elapsed = t4.since(t1);
    let slack = elapsed.as_picos().div_ceil(DRIFT) + dialect.resolution().as_picos();
    let possible = turnaround.as_picos() <= elapsed.as_picos().saturating_add(slack);
    possible.then_some(Trip { elapsed, turnaround })
}
