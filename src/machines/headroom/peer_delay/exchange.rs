//! One exchange as seen by the requester: a request, its response, and the Follow_Up, if any. The
//! two answers may arrive in either order.

use ground::time::{Duration, Instant};
use wire::ptp::{Body, Correction, Message, PortIdentity, Timestamp};

/// Maximum relative drift of two clocks, as a divisor of a span: PTP allows 100 ppm each.
const DRIFT: i128 = 5_000;
/// Maximum rounding error of times and corrections, in picoseconds: responders without corrections
/// truncate both times to nanoseconds.
const ROUNDING_PS: i128 = 1_000;

/// Result of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    /// The other answer is missing.
    Waits,
    /// This answer was already received.
    Duplicate,
    /// It is from another port than the previous answer.
    OtherResponder,
    /// The times are impossible.
    Impossible,
    /// The exchange is complete, with this mean path delay.
    Delay(Duration),
}

/// A Pdelay_Resp.
#[derive(Clone, Copy)]
struct Response {
    two_step: bool,
    receipt: Timestamp,
    correction: Correction,
    t4: Instant,
}

/// A Pdelay_Resp_Follow_Up.
#[derive(Clone, Copy)]
struct FollowUp {
    origin: Timestamp,
    correction: Correction,
}

/// State of one exchange of peer delay messages.
#[derive(Clone, Copy)]
pub(super) struct Exchange {
    sequence: u16,
    t1: Instant,
    /// True if t1 is the device's timestamp.
    by_device: bool,
    responder: Option<PortIdentity>,
    response: Option<Response>,
    follow_up: Option<FollowUp>,
    complete: bool,
}

impl Exchange {
    /// Creates an exchange whose request leaves at `t1`.
    pub(super) const fn new(sequence: u16, t1: Instant) -> Self {
        let (responder, response, follow_up) = (None, None, None);
        Self { sequence, t1, by_device: false, responder, response, follow_up, complete: false }
    }

    /// Returns true if `sequence` is that of this exchange.
    pub(super) const fn is(&self, sequence: u16) -> bool {
        self.sequence == sequence
    }

    /// Sets the time at which the request left to the device's timestamp. Has no effect on a response that was
    /// received before.
    pub(super) fn left(&mut self, time: Instant) {
        if self.response.is_none() {
            (self.t1, self.by_device) = (time, true);
        }
    }

    /// Returns true if t1 is the device's timestamp.
    pub(super) const fn is_by_device(&self) -> bool {
        self.by_device
    }

    /// Returns true if no response was received.
    pub(super) const fn is_unanswered(&self) -> bool {
        self.response.is_none()
    }

    /// Returns true if the exchange gave a delay.
    pub(super) const fn is_complete(&self) -> bool {
        self.complete
    }

    /// Handles an answer that was received at `t4`.
    pub(super) fn take(&mut self, message: &Message, t4: Instant) -> Outcome {
        // The answers of two responders would mix two delays.
        if *self.responder.get_or_insert(message.source) != message.source {
            return Outcome::OtherResponder;
        }
        let Message { two_step, correction, .. } = *message;
        match message.body {
            Body::PdelayResp { .. } if self.response.is_some() => return Outcome::Duplicate,
            Body::PdelayResp { receipt, .. } => {
                self.response = Some(Response { two_step, receipt, correction, t4 });
            }
            Body::PdelayRespFollowUp { .. } if self.follow_up.is_some() => {
                return Outcome::Duplicate;
            }
            Body::PdelayRespFollowUp { origin, .. } => {
                self.follow_up = Some(FollowUp { origin, correction });
            }
            Body::PdelayReq | Body::Other(_) => unreachable!("no answer"),
        }
        let turnaround = match (self.response, self.follow_up) {
            // A one-step responder has put its turnaround into the correction.
            (Some(r), _) if !r.two_step => Some(r.correction.picos()),
            (Some(r), Some(f)) => two_steps(&r, &f),
            _ => return Outcome::Waits,
        };
        let Some(delay) = turnaround.and_then(|turnaround| self.delay(turnaround)) else {
            // If it was forged, the true answers may still arrive.
            *self = Self { by_device: self.by_device, ..Self::new(self.sequence, self.t1) };
            return Outcome::Impossible;
        };
        if core::mem::replace(&mut self.complete, true) {
            // A Follow_Up after the response of a one-step responder.
            return Outcome::Duplicate;
        }
        Outcome::Delay(delay)
    }

    /// Returns `((t4 - t1) - turnaround) / 2` (1588 11.4.2 d), if possible.
    fn delay(&self, turnaround: i128) -> Option<Duration> {
        let t4 = self.response?.t4;
        // Times may be rounded, and no more: a response does not precede its request.
        if t4 < self.t1 || turnaround < -ROUNDING_PS {
            return None;
        }
        let whole = i128::from(t4.since(self.t1).as_picos());
        let both_ways = whole - turnaround;
        // On a short link the turnaround, by the responder's clock, may exceed the whole by the drift of the clocks.
        if both_ways < -(whole / DRIFT + ROUNDING_PS) {
            return None;
        }
        u64::try_from(both_ways.max(0) / 2).ok().map(Duration::from_picos)
    }
}

/// Returns the time from the receipt of the request to the origin of the response, with both
/// corrections.
fn two_steps(response: &Response, follow_up: &FollowUp) -> Option<i128> {
    let corrections = response.correction.picos() + follow_up.correction.picos();
    Some(follow_up.origin.picos()? - response.receipt.picos()? + corrections)
}
