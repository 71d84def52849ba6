//! Finds out which reading of the measurement message a peer uses, from its first messages.
//!
//! Every combination of readings is a candidate. A message that does not parse by a candidate, or
//! that says something impossible by it, refutes the candidate; what all remaining candidates have
//! in common is known. Messages of both ends may be given: a response then also tells by the
//! request that it returns. Nothing is assumed of the clocks but that they run at about the same
//! rate.

use std::collections::VecDeque;

use ground::time::{Duration, Instant};
use ground::units::Mac;
use wire::WireError;
use wire::headroom::{
    Compensation, Dialect, KindCodes, LengthField, Message, PduLength, Piggyback, Repr, TimeUnit,
};

/// Bytes of a frame before its PDU.
const BEFORE_PDU: usize = 15;

/// Requests that are remembered, to recognize which of two in a message is returned: as many as
/// sequence numbers.
const REQUESTS: usize = 256;

/// Ratio by which a span of a peer's clock may differ from ours, either way, to have the unit: units
/// are a thousandfold apart, so it is less than the root of that.
const UNIT_RATIO: f64 = 30.0;

/// A span between two messages of a peer that is long enough to tell the unit of its clock, however
/// late the messages were found.
const SPAN_MIN: Duration = Duration::from_millis(1);

/// A reading of all parts, and the state of the peer's clock by it.
#[derive(Clone, Debug)]
struct Candidate {
    dialect: Dialect,
    /// First time of the peer's clock by this reading, and the time of its message.
    clock: Option<(u64, Instant)>,
}

/// Result for one part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reading<T> {
    /// The messages do not fit any reading.
    None,
    /// All messages fit this reading alone.
    Known(T),
    /// Messages so far fit several readings, of which this is Sluice's default.
    Open(T),
}

/// Readings of a peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Readings {
    /// Encoding of the kind.
    pub kind: Reading<KindCodes>,
    /// Extent of the length field.
    pub length: Reading<LengthField>,
    /// Unit of times.
    pub unit: Reading<TimeUnit>,
    /// Piggybacked message.
    pub piggyback: Reading<Piggyback>,
    /// Compensation in responses.
    pub compensation: Reading<Compensation>,
    /// Padding of PDUs; `None` before the first message.
    pub pdu: Option<PduLength>,
}

/// Observer of the messages of a link.
#[derive(Clone, Debug)]
pub struct Identifier {
    peer: Mac,
    candidates: Vec<Candidate>,
    pdu: Option<PduLength>,
    /// t1 and PSN of the latest requests of the other end, by each reading of it.
    requests: VecDeque<(u64, u8)>,
    messages: u64,
    /// Messages of the peer that no candidate could read.
    unreadable: u64,
}

impl Identifier {
    /// Creates an observer of the messages of `peer`.
    #[must_use]
    pub fn new(peer: Mac) -> Self {
        let mut candidates = vec![];
        // Each default comes first: of several that fit, the first candidate is preferred.
        for kind in [KindCodes::Flags, KindCodes::Numbers] {
            for length in [LengthField::Whole, LengthField::Rest, LengthField::Fields] {
                for unit in [TimeUnit::Nanoseconds, TimeUnit::Picoseconds] {
                    for piggyback in [Piggyback::Request, Piggyback::Response] {
                        for compensation in [Compensation::Absent, Compensation::InResponse] {
                            let pdu = PduLength::NONE;
                            let dialect =
                                Dialect { kind, length, unit, piggyback, pdu, compensation };
                            candidates.push(Candidate { dialect, clock: None });
                        }
                    }
                }
            }
        }
        let requests = VecDeque::new();
        Self { peer, candidates, pdu: None, requests, messages: 0, unreadable: 0 }
    }

    /// Returns the number of the peer's messages, and of those that fit no reading.
    #[must_use]
    pub const fn messages(&self) -> (u64, u64) {
        (self.messages, self.unreadable)
    }

    /// Returns the address of the peer.
    #[must_use]
    pub const fn peer(&self) -> Mac {
        self.peer
    }

    /// Observes a frame of the link at `time`: its first bytes (64 suffice), and its length without
    /// FCS. Frames of other protocols are ignored.
    pub fn observe(&mut self, time: Instant, frame: &[u8], len: usize) {
        let Some(src) = source(frame) else { return };
        if src == self.peer {
            self.on_message(time, frame, padding(len));
        } else {
            self.on_other_end(frame, padding(len));
        }
    }

    /// Handles a message of the peer: candidates that it refutes are removed, unless it refutes all
    /// of them.
    fn on_message(&mut self, time: Instant, frame: &[u8], pdu: PduLength) {
        self.messages += 1;
        let left: Vec<_> = self
            .candidates
            .iter()
            .filter_map(|candidate| candidate.after(time, frame, pdu, &self.requests))
            .collect();
        // A message that refutes every reading is damaged or forged; what was known stays.
        if left.is_empty() {
            self.unreadable += 1;
            return;
        }
        self.pdu = Some(pdu);
        self.candidates = left;
    }

    /// Remembers the requests of the other end, by any reading.
    fn on_other_end(&mut self, frame: &[u8], pdu: PduLength) {
        // All readings: those that the peer's messages refute may still be the other end's.
        for candidate in Self::new(self.peer).candidates {
            let dialect = Dialect { pdu, ..candidate.dialect };
            let Ok(Repr { message, .. }) = Repr::parse(frame, &dialect) else { continue };
            let Some(request) = message.request().filter(|_| is_plausible(&message, frame)) else {
                continue;
            };
            let this = (request.t1, request.psn);
            if self.requests.contains(&this) {
                continue;
            }
            if self.requests.len() == REQUESTS {
                self.requests.pop_front();
            }
            self.requests.push_back(this);
        }
    }

    /// Returns what is known of the peer's readings.
    #[must_use]
    pub fn readings(&self) -> Readings {
        let any_read = self.messages > self.unreadable;
        Readings {
            kind: self.common(any_read, |d| d.kind),
            length: self.common(any_read, |d| d.length),
            unit: self.common(any_read, |d| d.unit),
            piggyback: self.common(any_read, |d| d.piggyback),
            compensation: self.common(any_read, |d| d.compensation),
            pdu: self.pdu,
        }
    }

    /// Returns the dialect to use with the peer: what is known of it, and defaults for the rest.
    #[must_use]
    pub fn dialect(&self) -> Option<Dialect> {
        let pdu = self.pdu?;
        self.candidates.first().map(|candidate| Dialect { pdu, ..candidate.dialect })
    }

    /// Candidates are in the order of preference, defaults first.
    fn common<T: Copy + PartialEq>(
        &self,
        any_read: bool,
        part: impl Fn(&Dialect) -> T,
    ) -> Reading<T> {
        let Some(first) = self.candidates.first().map(|c| part(&c.dialect)) else {
            return Reading::None;
        };
        let same = self.candidates.iter().all(|c| part(&c.dialect) == first);
        match (any_read, same) {
            // There were messages, and none could be read.
            (false, _) if self.messages > 0 => Reading::None,
            (true, true) => Reading::Known(first),
            _ => Reading::Open(first),
        }
    }
}

impl Candidate {
    /// Returns the candidate after a message of the peer, or `None` if the message refutes it.
    fn after(
        &self,
        time: Instant,
        frame: &[u8],
        pdu: PduLength,
        requests: &VecDeque<(u64, u8)>,
    ) -> Option<Self> {
        let dialect = Dialect { pdu, ..self.dialect };
        let message = Repr::parse(frame, &dialect).ok()?.message;
        if !is_plausible(&message, frame) {
            return None;
        }
        // Padding is zero, so what stands in it is a field.
        let more = frame.get(59..63).is_some_and(|octets| octets != [0; 4]);
        if dialect.compensation == Compensation::Absent && more && message.response().is_some() {
            return None;
        }
        if let (Message::Both { response, request }, false) = (message, requests.is_empty()) {
            let returns = |t1, psn| requests.contains(&(t1, psn));
            // A reading by which only the peer's own request is returned is the wrong one.
            if !returns(response.t1, response.psn) && returns(request.t1, request.psn) {
                return None;
            }
        }
        // Times of the peer's own clock: t1 of its requests, t3 of its responses.
        let own = match message {
            Message::Request(request) | Message::Both { request, .. } => request.t1,
            Message::Response(response) => response.t3,
        };
        let (first, then) = self.clock.unwrap_or((own, time));
        if time.saturating_sub(SPAN_MIN) >= then
            && !has_unit(dialect, own.wrapping_sub(first), time.since(then))
        {
            return None;
        }
        Some(Self { dialect: self.dialect, clock: Some((first, then)) })
    }
}

/// Returns true if `units` of the dialect may be `real` time.
fn has_unit(dialect: Dialect, units: u64, real: Duration) -> bool {
    let by_message = units as f64 * dialect.resolution().as_picos() as f64;
    // The units are a thousandfold apart, so a rough comparison suffices, and clocks need not agree.
    let ratio = by_message / real.as_picos() as f64;
    (1.0 / UNIT_RATIO..UNIT_RATIO).contains(&ratio)
}

/// Returns true if the fields of a message agree with its kind: a request has no times but its own,
/// and a response has those of its responder.
fn is_plausible(message: &Message, frame: &[u8]) -> bool {
    // t2 and t3 of S4's layout. A responder's clock does not stand at zero.
    let times = frame.get(25..41).is_some_and(|t2_t3| t2_t3.iter().any(|octet| *octet != 0));
    match message {
        Message::Request(_) => !times,
        Message::Response(_) | Message::Both { .. } => times,
    }
}

/// Returns the source of a measurement message.
#[must_use]
pub fn source(frame: &[u8]) -> Option<Mac> {
    // The address, the EtherType and the subtype are the same in all readings; only the version may
    // differ from ours.
    let candidate = Repr::parse(frame, &Dialect::default());
    let of_protocol = !matches!(candidate, Err(WireError::BadEthertype | WireError::Truncated));
    let subtype = *frame.get(14)? & 0xf;
    let src: [u8; 6] = *frame.get(6..12)?.first_chunk()?;
    (of_protocol && subtype == 1).then_some(Mac(src))
}

/// Returns the padding of the PDU in a frame of `len` bytes without FCS. Shorter PDUs than those of
/// the table are padded by Ethernet alone.
fn padding(len: usize) -> PduLength {
    let pdu = u16::try_from(len.saturating_sub(BEFORE_PDU)).ok();
    pdu.and_then(PduLength::padded).unwrap_or_default()
}

#[cfg(test)]
mod tests;
