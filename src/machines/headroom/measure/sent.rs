//! Sent requests by number, and validation of the responses to them; the short queue of requests that wait
//! for a response; and the delay of MACsec between protected and plain requests.
//!
//! Sequence numbers have eight bits and continue from one measurement to the next, so the last 256
//! requests are stored, with their exact transmit times and then their round trips. A response is
//! accepted only for its own request: it must have the number and the time of an outstanding one.

use arrayvec::ArrayVec;

use crate::Samples;
use ground::memory::fetch_item;
use ground::time::{Duration, Instant};
use wire::headroom::{Dialect, Response, is_protected};

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

    const fn set_left(&mut self, time: Instant) {
        let picos = time.as_picos();
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

    /// Records a request that leaves at `time`, which it states as `t1`, and returns its number. It replaces
    /// the request 256 before.
    pub(super) fn send(&mut self, time: Instant, t1: u64) -> u8 {
        let psn = self.next;
        let request = &mut self.requests[usize::from(psn)];
        let measurement = self.measurement;
        *request = Request { t1, measurement, state: State::Waiting, ..Request::UNUSED };
        request.set_left(time);
        // The number is used anew, and its request is not answered.
        if self.newest == Some(psn) {
            self.newest = None;
        }
        self.next = psn.wrapping_add(1);
        psn
    }

    /// Records the device's timestamp of the last request.
    pub(super) fn left(&mut self, time: Instant) {
        let request = &mut self.requests[usize::from(self.next.wrapping_sub(1))];
        // That of one that was answered comes too late.
        if request.state == State::Waiting {
            request.set_left(time);
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
        // A response returns t1 (S4). It tells the requests apart that have had the same number.
        if response.t1 != request.t1 {
            return Verdict::Mismatched;
        }
        match request.state {
            State::Answered => return Verdict::Duplicate,
            // The link may have changed since, so its delay is not that of this measurement.
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
        // 256 as a byte is 0, which is the number of the oldest request.
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

/// A short queue of at most `MORE + 1` items, whose first is stored apart, beside what its owner needs
/// anyway: most often there is no other.
#[derive(Clone, Debug)]
pub(super) struct Queue<T, const MORE: usize> {
    first: Option<T>,
    /// Number of items behind the first.
    others: u8,
    more: Box<ArrayVec<T, MORE>>,
}

impl<T, const MORE: usize> Queue<T, MORE> {
    /// Creates an empty queue, with all memory that it ever needs.
    pub(super) fn new() -> Self {
        const { assert!(MORE <= u8::MAX as usize) }
        Self { first: None, others: 0, more: Box::default() }
    }

    /// Returns the oldest item.
    #[inline]
    pub(super) const fn first(&self) -> Option<&T> {
        self.first.as_ref()
    }

    #[inline]
    pub(super) const fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// Adds an item; returns false if there is no room for it.
    #[inline]
    pub(super) fn push(&mut self, item: T) -> bool {
        if self.first.is_none() {
            self.first = Some(item);
            return true;
        }
        let has_room = self.more.try_push(item).is_ok();
        self.others += u8::from(has_room);
        has_room
    }

    /// Removes the oldest item.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<T> {
        let oldest = self.first.take();
        if self.others > 0 {
            // At most seven items move, and most often there is none.
            self.first = Some(self.more.remove(0));
            self.others -= 1;
        }
        oldest
    }

    pub(super) fn clear(&mut self) {
        self.first = None;
        self.others = 0;
        self.more.clear();
    }
}

/// A request that was answered.
#[derive(Clone, Copy)]
struct Crossing {
    psn: u8,
    t1: u64,
    /// `t2 - t1`, modulo 2^64.
    offset: u64,
}

/// Delay of MACsec that a protected request meets and a plain one does not, where only PFC is protected:
/// the transmit layer of the requester, and the receive layer of the responder, which are those that a
/// protected PFC frame meets.
///
/// Requests of odd number are protected ([`is_protected`]), and the others plain. t1 and t2 are of two
/// clocks that differ, and drift. So `t2 - t1` of a protected request is compared with that of the plain
/// ones before and after it, interpolated to its t1: a constant difference and a linear drift of the
/// clocks cancel.
///
/// It has the requests whose neighbours are still missing.
#[derive(Clone, Copy, Default)]
pub(super) struct ShimMeter {
    /// The last plain request, and the protected one after it.
    plain: Option<Crossing>,
    protected: Option<Crossing>,
}

impl ShimMeter {
    /// Records an answered request, and adds the delay of a protected one between two plain ones.
    pub(super) fn on_response(
        &mut self,
        dialect: Dialect,
        response: &Response,
        delays: &mut Samples,
    ) {
        let Response { t1, t2, psn, .. } = *response;
        let this = Crossing { psn, t1, offset: t2.wrapping_sub(t1) };
        // With a number missing between them the neighbours are too far apart to interpolate.
        let follows =
            |before: Option<Crossing>| before.filter(|before| before.psn.wrapping_add(1) == psn);
        if is_protected(psn) {
            self.protected = follows(self.plain).map(|_| this);
            return;
        }
        if let (Some(before), Some(middle)) = (self.plain, follows(self.protected)) {
            delays.add(dialect.span(delay(before, middle, this)));
        }
        (self.plain, self.protected) = (Some(this), None);
    }
}

/// Returns by how much `middle` took longer than requests of `before` and `after`; 0 if it did not.
fn delay(before: Crossing, middle: Crossing, after: Crossing) -> u64 {
    // Differences of the two clocks may be negative: modulo 2^64, and read as signed.
    let since = |time: u64, from: u64| i128::from(time.wrapping_sub(from) as i64);
    let drift = since(after.offset, before.offset);
    let (part, whole) = (since(middle.t1, before.t1), since(after.t1, before.t1).max(1));
    let delay = since(middle.offset, before.offset) - drift * part / whole;
    u64::try_from(delay).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ground::time::Duration;
    use proptest::prelude::*;
    use std::collections::VecDeque;
    use wire::headroom::TimeUnit;

    proptest! {
        /// Compared with a queue of the standard library.
        #[test]
        fn items_leave_in_order(pushes in prop::collection::vec(any::<bool>(), 0..60)) {
            let (mut queue, mut model) = (Queue::<usize, 3>::new(), VecDeque::new());
            for (n, push) in pushes.into_iter().enumerate() {
                if push {
                    prop_assert_eq!(queue.push(n), model.len() < 4);
                    if model.len() < 4 {
                        model.push_back(n);
                    }
                } else {
                    prop_assert_eq!(queue.pop(), model.pop_front());
                }
                prop_assert_eq!((queue.first(), queue.is_empty()), (model.front(), model.is_empty()));
            }
            queue.clear();
            prop_assert_eq!(queue.pop(), None);
        }
    }

    fn ps() -> Dialect {
        Dialect { unit: TimeUnit::Picoseconds, ..Dialect::default() }
    }

    /// Responses to requests 400 us apart over 500 ns of cable. The peer's clock is `ahead` and fast by
    /// 100 ppm, and protected requests take `shim` longer.
    fn measured(numbers: &[u8], ahead: u64, shim: u64) -> Samples {
        let (mut meter, mut delays) = (ShimMeter::default(), Samples::default());
        for (n, psn) in numbers.iter().enumerate() {
            let t1 = 7_000_000_000 + n as u64 * 400_000_000;
            let arrival = t1 + 500_000 + if is_protected(*psn) { shim } else { 0 };
            let t2 = arrival.wrapping_add(arrival / 10_000).wrapping_add(ahead);
            let response = Response { t1, t2, t3: t2, psn: *psn, compensation: None };
            meter.on_response(ps(), &response, &mut delays);
        }
        delays.finish();
        delays
    }

    #[test]
    fn drifting_clocks_do_not_hide_a_delay_of_nanoseconds() {
        for ahead in [0, 1 << 63, u64::MAX - 3_000_000_000] {
            let found = measured(&[254, 255, 0, 1, 2, 3, 4], ahead, 130_000);
            assert_eq!(found.count(), 3);
            // Its time on the other clock is longer by 13 ps.
            let bounds = [found.min(), found.max()].map(Duration::as_picos);
            assert!(bounds.iter().all(|ps| (130_012..=130_015).contains(ps)), "{bounds:?}");
        }
        assert_eq!(measured(&[0, 1, 2], 5, 0).max().as_picos() / 10, 0);
    }

    #[test]
    fn a_protected_request_counts_only_between_its_two_neighbours() {
        // One neighbour is lost, or came in another order.
        for numbers in [&[1, 2, 3][..], &[0, 1, 4], &[0, 3, 4], &[2, 1, 2], &[0, 1], &[1, 1, 1]] {
            assert_eq!(measured(numbers, 0, 9_000).count(), 0, "{numbers:?}");
        }
        assert_eq!(measured(&[0, 2, 3, 4, 6, 8, 9, 10], 0, 9_000).count(), 2);
    }
}
