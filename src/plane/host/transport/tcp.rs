//! TCP-like flows: lossy background traffic with congestion control. The sender has the congestion window
//! of TCP NewReno (RFC 5681, 6582, 6298); the receiver acknowledges each segment at once.

use crate::histogram::Spares;
use crate::plan::{IN_FLIGHT_MAX, TcpPlan, TransportPlan};
use crate::transport::Bits;
use crate::transport::cut::{Completed, Cut, Place};
use ground::time::{Duration, Instant};

/// Duplicate acknowledgements that indicate a loss (RFC 5681 3.2).
const DUPLICATES: u32 = 3;

/// Maximum doublings of a timeout. A choice; RFC 6298 2.5 allows any bound above 60 s.
const BACKOFF_MAX: u32 = 6;

/// The next segment of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Segment {
    place: Place,
    /// Number of its first byte.
    pub(crate) sequence: u64,
    /// Bytes of payload.
    pub(crate) payload: u32,
    /// True if it ends its message.
    pub(crate) last: bool,
    /// True for a retransmission.
    pub(crate) repeated: bool,
}

/// A place in the flow, and the number of its first byte.
#[derive(Clone, Copy, Debug)]
struct Mark {
    place: Place,
    octet: u64,
}

/// Round-trip time estimate (RFC 6298), measured by one segment at a time.
#[derive(Clone, Debug)]
struct RoundTrip {
    smoothed: Option<Duration>,
    variation: Duration,
    least: Duration,
    doubled: u32,
    /// The measuring segment: the byte after it, and its sending time.
    probe: Option<(u64, Instant)>,
}

/// The sending end of a flow, without its frames and its pace.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    cut: Cut,
    total: u64,
    /// Receive window in bytes.
    room: u64,
    una: Mark,
    next: Mark,
    /// Highest byte sent plus one.
    high: u64,
    /// Congestion window in bytes.
    window: u64,
    threshold: u64,
    duplicates: u32,
    /// Byte whose acknowledgement ends the current recovery.
    recovery: Option<u64>,
    /// Losses below this byte were already handled.
    recovered: Option<u64>,
    /// True if the first unacknowledged segment must be retransmitted now.
    resend: bool,
    trip: RoundTrip,
    /// Time for [`Self::on_timeout`]; NEVER while everything is acknowledged.
    pub(crate) timer: Instant,
    pub(crate) completions: Completed,
}

impl Sender {
    pub(crate) fn new(plan: &TransportPlan, tcp: &TcpPlan, spares: &Spares) -> Self {
        let cut = Cut::new(plan);
        let segment = u64::from(cut.full());
        let start = Mark { place: cut.place(0), octet: 0 };
        // The bits for early segments cover so many.
        let most = IN_FLIGHT_MAX * segment;
        Self {
            total: cut.total(),
            room: tcp.window.map_or(most, |w| w.0).min(most),
            una: start,
            next: start,
            high: 0,
            window: segment * u64::from(tcp.initial_window),
            threshold: u64::MAX,
            duplicates: 0,
            recovery: None,
            recovered: None,
            resend: false,
            trip: RoundTrip::new(tcp.timeout_min),
            timer: Instant::NEVER,
            completions: Completed::new(&cut, plan.work.log, spares),
            cut,
        }
    }

    /// Returns the time at which the next segment may be sent, pace aside; NEVER before an
    /// acknowledgement or a timeout.
    #[inline]
    pub(crate) fn ready_at(&self) -> Instant {
        if self.resend {
            return Instant::ZERO;
        }
        let Place { index, message, within } = self.next.place;
        let flight = self.next.octet - self.una.octet;
        let payload = u64::from(self.cut.payload(self.next.place));
        if index >= self.total || flight + payload > self.window.min(self.room) {
            return Instant::NEVER;
        }
        if within == 0 { self.cut.due(message) } else { Instant::ZERO }
    }

    /// Returns the next segment. Requires that [`Self::ready_at`] has come.
    #[inline]
    pub(crate) fn next(&self) -> Segment {
        let Mark { place, octet } = if self.resend { self.una } else { self.next };
        Segment {
            place,
            sequence: octet,
            payload: self.cut.payload(place),
            last: self.cut.is_last(place),
            repeated: octet < self.high,
        }
    }

    /// Records that the segment of [`Self::next`] was sent.
    #[inline]
    pub(crate) fn on_sent(&mut self, now: Instant, segment: &Segment) {
        let end = segment.sequence + u64::from(segment.payload);
        if segment.repeated {
            self.trip.probe = None; // Karn: the acknowledgement would be ambiguous.
        } else if self.trip.probe.is_none() {
            self.trip.probe = Some((end, now));
        }
        self.resend = false;
        // After a timeout a retransmission of the first segment is also the next one.
        if segment.place == self.next.place {
            self.next = Mark { place: self.cut.after(segment.place), octet: end };
        }
        self.high = self.high.max(end);
        if self.timer == Instant::NEVER {
            self.timer = now.saturating_add(self.trip.timeout());
        }
    }

    /// Processes an acknowledgement of everything before this byte, given by its low 32 bits.
    pub(crate) fn on_ack(&mut self, now: Instant, acknowledgement: u32) {
        let ahead = u64::from(acknowledgement.wrapping_sub(self.una.octet as u32));
        let upto = self.una.octet + ahead;
        if ahead == 0 {
            // With nothing in flight an equal number is no sign of a loss.
            if self.high > self.una.octet {
                self.on_duplicate();
            }
        } else if upto <= self.high {
            self.on_progress(now, upto);
        } // Else it is old or invalid.
    }

    fn on_duplicate(&mut self) {
        let segment = u64::from(self.cut.full());
        self.duplicates += 1;
        if self.recovery.is_some() {
            // A segment has left the network (RFC 5681 3.2, step 4).
            self.window += segment;
        } else if self.duplicates == DUPLICATES
            // Duplicates of a window that was repaired already are late, not a second loss (RFC 6582 3.2).
            && self.recovered.is_none_or(|octet| self.una.octet > octet)
        {
            self.threshold = self.halved();
            self.window = self.threshold + u64::from(DUPLICATES) * segment;
            self.recovery = Some(self.high);
            self.recovered = Some(self.high);
            self.resend = true;
        }
    }

    fn on_progress(&mut self, now: Instant, upto: u64) {
        let segment = u64::from(self.cut.full());
        let acked = upto - self.una.octet;
        while self.una.octet < upto {
            // Segment by segment, as the last one of a message is shorter.
            self.una.octet += u64::from(self.cut.payload(self.una.place));
            self.una.place = self.cut.after(self.una.place);
        }
        if self.next.octet < self.una.octet {
            self.next = self.una;
        }
        self.duplicates = 0;
        self.trip.on_ack(now, upto);
        match self.recovery {
            // Slow start, then congestion avoidance: one segment per window (RFC 5681 3.1).
            None if self.window < self.threshold => self.window += acked.min(segment),
            None => self.window += (segment * segment / self.window).max(1),
            Some(end) if upto >= end => {
                self.recovery = None;
                self.window = self.threshold;
            }
            Some(_) => {
                // Another segment of the same window is missing (RFC 6582 3.2, step 3).
                self.resend = true;
                self.window = self.window.saturating_sub(acked).max(segment);
                if acked >= segment {
                    self.window += segment;
                }
            }
        }
        // A larger window has no effect, and would overflow eventually.
        self.window = self.window.min(self.room);
        self.completions.advance(&self.cut, now, self.una.place.index);
        let flying = self.una.octet < self.high;
        self.timer = if flying { now.saturating_add(self.trip.timeout()) } else { Instant::NEVER };
    }

    /// Handles the timer: once it has expired, the sender restarts with one segment. Returns true
    /// if it had.
    pub(crate) fn on_timeout(&mut self, now: Instant) -> bool {
        if now < self.timer {
            return false;
        }
        // Not for a second timeout of the same segment (RFC 5681 3.1).
        if self.trip.doubled == 0 {
            self.threshold = self.halved();
        }
        self.window = self.cut.full().into();
        self.next = self.una;
        (self.duplicates, self.recovery, self.resend) = (0, None, false);
        self.recovered = Some(self.high);
        self.trip.on_timeout();
        self.timer = now.saturating_add(self.trip.timeout());
        true
    }

    /// Makes the first `upto` messages due now, if they wait for another flow.
    pub(crate) fn release(&mut self, now: Instant, upto: u64) {
        self.cut.release(now, upto);
    }

    /// Returns true if everything is acknowledged.
    pub(crate) const fn is_done(&self) -> bool {
        self.una.place.index == self.total
    }

    /// Returns the acknowledged bytes of messages.
    pub(crate) fn acknowledged(&self) -> u64 {
        self.cut.delivered_by(self.una.place.index)
    }

    /// Returns the congestion window in bytes.
    pub(crate) const fn window(&self) -> u64 {
        self.window
    }

    /// Returns half of the bytes in flight, at least two segments (RFC 5681, equation 4).
    fn halved(&self) -> u64 {
        ((self.high - self.una.octet) / 2).max(2 * u64::from(self.cut.full()))
    }
}

impl RoundTrip {
    const fn new(least: Duration) -> Self {
        Self { smoothed: None, variation: Duration::ZERO, least, doubled: 0, probe: None }
    }

    /// Returns the retransmission timeout. Before the first measurement it is the minimum; RFC 6298
    /// also uses one second for both.
    fn timeout(&self) -> Duration {
        // SRTT + 4 RTTVAR, with a clock granularity of a nanosecond (RFC 6298 2).
        let measured = self.smoothed.map_or(self.least, |s| {
            s + self.variation.saturating_mul(4).max(Duration::from_nanos(1))
        });
        measured.max(self.least).saturating_mul(1 << self.doubled)
    }

    fn on_timeout(&mut self) {
        self.probe = None;
        self.doubled = (self.doubled + 1).min(BACKOFF_MAX);
    }

    /// Records that everything before `upto` is acknowledged.
    fn on_ack(&mut self, now: Instant, upto: u64) {
        self.doubled = 0;
        let Some((_, sent)) = self.probe.filter(|(end, _)| *end <= upto) else { return };
        self.probe = None;
        let sample = now.since(sent);
        let Some(smoothed) = self.smoothed else {
            // The first sample (RFC 6298 2.2); later ones by 1/8 and 1/4 (2.3).
            (self.smoothed, self.variation) = (Some(sample), sample.div(2));
            return;
        };
        let off = if smoothed > sample { smoothed - sample } else { sample - smoothed };
        self.variation = self.variation.saturating_mul(3).div(4) + off.div(4);
        self.smoothed = Some(smoothed.saturating_mul(7).div(8) + sample.div(8));
    }
}

/// The receiving end of a flow, without its frames.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    cut: Cut,
    /// Next expected segment, and the number of its first byte.
    expected: Place,
    octet: u64,
    /// Segments received after a gap.
    early: Bits,
    /// Number of those.
    waiting: u64,
    /// Number of segments received before, and of those received after a gap.
    pub(crate) duplicates: u64,
    pub(crate) out_of_order: u64,
}

impl Receiver {
    pub(crate) fn new(plan: &TransportPlan) -> Self {
        let cut = Cut::new(plan);
        Self {
            expected: cut.place(0),
            octet: 0,
            early: Bits::new(),
            waiting: 0,
            duplicates: 0,
            out_of_order: 0,
            cut,
        }
    }

    /// Processes a segment. Returns true if more has arrived in order than before; else its
    /// acknowledgement is a duplicate.
    #[inline]
    pub(crate) fn on_data(&mut self, sequence: u32) -> bool {
        // Modulo 2^32: less than half ahead is new, the rest is old.
        match sequence.wrapping_sub(self.octet as u32) {
            0 => {
                self.step();
                while self.waiting > 0 && self.early.take(self.expected.index) {
                    self.waiting -= 1;
                    self.step();
                }
                true
            }
            ahead if ahead < 1 << 31 => {
                let index = self.cut.starting_at(self.octet + u64::from(ahead));
                let near = index.filter(|i| *i < self.expected.index + IN_FLIGHT_MAX);
                match near.map(|index| self.early.put(index)) {
                    Some(true) => {
                        self.waiting += 1;
                        self.out_of_order += 1;
                    }
                    Some(false) => self.duplicates += 1,
                    None => {} // No segment of this flow starts there.
                }
                false
            }
            _ => {
                self.duplicates += 1;
                false
            }
        }
    }

    #[inline]
    fn step(&mut self) {
        self.octet += u64::from(self.cut.payload(self.expected));
        self.expected = self.cut.after(self.expected);
    }

    /// Returns the number of the next expected byte.
    #[inline]
    pub(crate) const fn acknowledgement(&self) -> u32 {
        self.octet as u32
    }

    /// Returns true if all messages have arrived.
    pub(crate) fn is_complete(&self) -> bool {
        self.expected.index == self.cut.total()
    }

    /// Returns the bytes of messages received in order.
    pub(crate) fn delivered(&self) -> u64 {
        self.cut.delivered_by(self.expected.index)
    }

    /// Returns the number of messages received completely.
    pub(crate) const fn messages(&self) -> u64 {
        self.expected.message
    }
}
