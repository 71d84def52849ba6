use super::*;
use ground::time::Duration;
use wire::headroom::{
    Compensation, Dialect, KindCodes, LengthField, PduLength, Piggyback, TimeUnit,
};

const PLAN: InitiatePlan = InitiatePlan { rounds: 4, requests_max: 8, ..InitiatePlan::DEFAULT };
/// t and T of the plan.
const LEAST: Duration = PLAN.spacing_min;
const MOST: Duration = PLAN.spacing_max;
/// Resolution of a picosecond, so that nothing is truncated.
const EXACT: Dialect = Dialect {
    kind: KindCodes::Flags,
    length: LengthField::Whole,
    unit: TimeUnit::Picoseconds,
    piggyback: Piggyback::Request,
    pdu: PduLength::NONE,
    compensation: Compensation::Absent,
};

fn measurer(plan: InitiatePlan) -> Measurer {
    Measurer::new(&MeasurePlan {
        respond: true,
        initiate: Some(plan),
        dialect: EXACT,
        compensation: None,
    })
}

fn ns(n: u64) -> Instant {
    Instant::from_picos((n * 1_000).into())
}

/// Returns the request that leaves at `at`, if any.
fn request(m: &mut Measurer, at: Instant) -> Option<Request> {
    m.take(at, at).and_then(|message| message.request())
}

/// Returns the answer to `request` of a responder with the given turnaround and an independent
/// clock.
fn answer(request: Request, turnaround: Duration) -> Message {
    let t2 = 77_000_000;
    let Request { t1, psn } = request;
    Message::Response(Response { t1, t2, t3: t2 + turnaround.as_picos(), psn, compensation: None })
}

/// A request of the peer.
fn asks(psn: u8) -> Message {
    Message::Request(Request { t1: 1_000 + u64::from(psn), psn })
}

/// Sends a request and answers it `round_trip` later.
fn round(m: &mut Measurer, at: Instant, round_trip: Duration) {
    let request = request(m, at).expect("a request is due");
    let t4 = at + round_trip;
    m.on_message(t4, &answer(request, Duration::ZERO), t4);
}

mod mechanism;
mod network;
mod responses;
