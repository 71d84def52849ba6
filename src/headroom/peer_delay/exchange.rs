//! One exchange as the requester sees it: a request, its response, and the Follow_Up if there is to
//! be one. The two answers may come in either order.

use crate::time::{Duration, Instant};
use crate::wire::ptp::{Body, Correction, Message, PortIdentity, Timestamp};

/// Two clocks disagree about a span by one part in so many at most: PTP's allow for 100 ppm each.
const DRIFT: i128 = 5_000;
/// What rounding of times and corrections may come to, in picoseconds: responders without
/// corrections cut both their times to nanoseconds.
const ROUNDING_PS: i128 = 1_000;

/// What an answer came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    /// The other answer is not there yet.
    Waits,
    /// This one was.
    Duplicate,
    /// It is from another port than the answer before.
    OtherResponder,
    /// The times cannot be.
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

/// One exchange.
#[derive(Clone, Copy)]
pub(super) struct Exchange {
    sequence: u16,
    t1: Instant,
    responder: Option<PortIdentity>,
    response: Option<Response>,
    follow_up: Option<FollowUp>,
    complete: bool,
}

impl Exchange {
    /// A request that leaves at `t1`.
    pub(super) const fn new(sequence: u16, t1: Instant) -> Self {
        let (responder, response, follow_up) = (None, None, None);
        Self { sequence, t1, responder, response, follow_up, complete: false }
    }

    /// Whether `sequence` is its own.
    pub(super) const fn is(&self, sequence: u16) -> bool {
        self.sequence == sequence
    }

    /// Whether no response has come.
    pub(super) const fn is_unanswered(&self) -> bool {
        self.response.is_none()
    }

    /// Whether it has given a delay.
    pub(super) const fn is_complete(&self) -> bool {
        self.complete
    }

    /// Takes in an answer that was received at `t4`.
    pub(super) fn take(&mut self, message: &Message, t4: Instant) -> Outcome {
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
            (Some(r), _) if !r.two_step => Some(r.correction.picos()),
            (Some(r), Some(f)) => two_steps(&r, &f),
            _ => return Outcome::Waits,
        };
        let Some(delay) = turnaround.and_then(|turnaround| self.delay(turnaround)) else {
            // If it was forged, the true answers may still come.
            *self = Self::new(self.sequence, self.t1);
            return Outcome::Impossible;
        };
        if core::mem::replace(&mut self.complete, true) {
            // A Follow_Up behind the response of a responder of one step.
            return Outcome::Duplicate;
        }
        Outcome::Delay(delay)
    }

    /// `((t4 - t1) - turnaround) / 2` (1588 11.4.2 d), if that can be.
    fn delay(&self, turnaround: i128) -> Option<Duration> {
        let t4 = self.response?.t4;
        if t4 < self.t1 || turnaround < -ROUNDING_PS {
            return None;
        }
        let whole = i128::from(t4.since(self.t1).as_picos());
        let both_ways = whole - turnaround;
        if both_ways < -(whole / DRIFT + ROUNDING_PS) {
            return None;
        }
        u64::try_from(both_ways.max(0) / 2).ok().map(Duration::from_picos)
    }
}

/// From the receipt of the request to the origin of the response, with both corrections.
fn two_steps(response: &Response, follow_up: &FollowUp) -> Option<i128> {
    let corrections = response.correction.picos() + follow_up.correction.picos();
    Some(follow_up.origin.picos()? - response.receipt.picos()? + corrections)
}
