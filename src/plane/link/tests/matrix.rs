//! The matrix of headroom measurements: each wrong peer by each method, formula, statistic and source of times. The
//! measurement fails, or its stated uncertainty holds the true delay. A right peer is measured right in the same cells.

use super::*;
use ::headroom::Formula;
use wire::headroom::{Message, Repr, Response};
use wire::ptp::{self, Body, Correction};

/// Delays of the line there and back, which differ.
const WAYS: [Duration; 2] = [Duration::from_nanos(2_500), Duration::from_nanos(700)];

/// Time that the peer takes for a response, by its stamps.
const HOLDS: Duration = Duration::from_nanos(5_000);

/// What a protected request takes longer.
const SHIM: Duration = Duration::from_nanos(130);

/// Error of a shim: the neighbours of a request are rounded.
const STEP: Duration = Duration::from_nanos(2);

const END: Instant = Instant::from_picos(40_000_000_000_000);

/// A frame on the line, with its arrival.
type Flight = (Instant, Vec<u8>);

/// A peer: what becomes of the frame that a right one sends as its n-th answer.
struct Peer {
    name: &'static str,
    /// True if the measurement must succeed and be right to the stamps' own uncertainty.
    is_right: bool,
    answer: fn(u32, Flight) -> Vec<Flight>,
}

const fn right(name: &'static str, answer: fn(u32, Flight) -> Vec<Flight>) -> Peer {
    Peer { name, is_right: true, answer }
}

const fn wrong(name: &'static str, answer: fn(u32, Flight) -> Vec<Flight>) -> Peer {
    Peer { name, is_right: false, answer }
}

const PEERS: &[Peer] = &[
    right("right", |_, flight| vec![flight]),
    right("answers twice", |_, (at, frame)| vec![(at, frame.clone()), (at + HOLDS, frame)]),
    right("loses every fifth answer", |n, flight| if n % 5 == 4 { vec![] } else { vec![flight] }),
    wrong("never answers", |_, _| vec![]),
    wrong("loses 99 of 100 answers", |n, flight| if n % 100 == 0 { vec![flight] } else { vec![] }),
    wrong("answers after seconds", |_, (at, frame)| vec![(at + Duration::from_secs(3), frame)]),
    wrong("answers another sequence number", |_, flight| {
        vec![changed(flight, |r| r.psn = r.psn.wrapping_add(1), |m| m.sequence += 1)]
    }),
    wrong("returns another request's time", |_, flight| {
        vec![changed(flight, |r| r.t1 += 1_000, |m| requesting(m, 9))]
    }),
    wrong("answers before it received", |_, flight| {
        vec![changed(
            flight,
            |r| r.t3 = r.t2.wrapping_sub(9_000_000),
            |m| m.correction = ps(-9_000_000),
        )]
    }),
    wrong("states a turnaround above the round trip", |_, flight| {
        vec![changed(flight, |r| r.t3 += 90_000_000, |m| add(m, 90_000_000))]
    }),
    wrong("waits before some answers leave", |n, (at, frame)| {
        vec![(at + Duration::from_nanos(u64::from(n * 7 % 5) * 400), frame)]
    }),
    wrong("stamps some answers late", |n, flight| {
        let late = if n % 4 == 1 { 1_000_000 } else { 0 };
        vec![changed(flight, |r| r.t3 += late, |m| add(m, late as i64))]
    }),
    wrong("stamps some answers early", |n, flight| {
        let early = if n % 4 == 1 { 1_000_000 } else { 0 };
        vec![changed(flight, |r| r.t3 -= early, |m| add(m, -(early as i64)))]
    }),
    wrong("has a clock that jumps by seconds", |n, flight| {
        let jump = if n % 4 == 1 { 2_000_000_000_000 } else { 0 };
        vec![changed(flight, |r| r.t3 += jump, |m| add(m, jump as i64))]
    }),
    wrong("sends its Follow_Ups to nobody, and no responses", |_, (at, frame)| {
        let is_follow_up = |frame: &[u8]| {
            ptp::Repr::parse(frame)
                .is_ok_and(|repr| matches!(repr.message.body, Body::PdelayRespFollowUp { .. }))
        };
        let is_request = frame[12..14] == EtherType::CIM.0.to_be_bytes();
        if is_request || is_follow_up(&frame) { vec![] } else { vec![(at, frame)] }
    }),
    wrong("is a second one beside the right one, and is later", |_, (at, mut frame)| {
        let first = (at, frame.clone());
        // Its own address, also in the port identity of PTP.
        frame[11] ^= 0x40;
        if let Ok(mut repr) = ptp::Repr::parse(&frame) {
            repr.message.source = ptp::PortIdentity::of(mac(77));
            repr.emit(&mut frame).unwrap();
        }
        vec![first, (at + Duration::from_micros(20), frame)]
    }),
    wrong("cuts its answers", |_, (at, frame)| vec![(at, frame[..30].to_vec())]),
];

const fn ps(picos: i64) -> Correction {
    Correction::of_picos(picos)
}

/// Adds to the time at which a response of two steps left.
fn add(message: &mut ptp::Message, picos: i64) {
    if matches!(message.body, Body::PdelayRespFollowUp { .. }) {
        message.correction = Correction(message.correction.0 + (picos << 16) / 1_000);
    }
}

fn requesting(message: &mut ptp::Message, n: u8) {
    if let Body::PdelayResp { requesting, .. } | Body::PdelayRespFollowUp { requesting, .. } =
        &mut message.body
    {
        *requesting = ptp::PortIdentity::of(mac(n));
    }
}

/// Changes a response of either method.
fn changed(
    (at, mut frame): Flight,
    response: impl Fn(&mut Response),
    answer: impl Fn(&mut ptp::Message),
) -> Flight {
    let dialect = measuring(false).dialect;
    if let Ok(mut repr) = Repr::parse(&frame, &dialect) {
        if let Message::Response(own) | Message::Both { response: own, .. } = &mut repr.message {
            response(own);
        }
        repr.emit(&mut frame, &dialect).unwrap();
    } else if let Ok(mut repr) = ptp::Repr::parse(&frame) {
        if repr.message.body != Body::PdelayReq {
            answer(&mut repr.message);
        }
        repr.emit(&mut frame).unwrap();
    }
    (at, frame)
}

/// A way to measure.
#[derive(Clone, Copy, Debug)]
struct Column {
    methods: Preference,
    formula: Formula,
    statistic: Statistic,
    /// True if MACsec protects every second request.
    shims: bool,
    stamps: Stamps,
}

fn columns() -> Vec<Column> {
    let methods = [
        Preference::only(Method::RoundTrip),
        Preference::only(Method::PeerDelay),
        Preference::AUTO,
        Preference::PTP_FIRST,
    ];
    let software =
        Stamps { source: StampSource::Software, uncertainty: Duration::from_nanos(50), ..STAMPS };
    let mut all = Vec::new();
    for methods in methods {
        for formula in [Formula::Full, Formula::Short] {
            for statistic in [Statistic::Max, Statistic::Mean, Statistic::Percentile(50)] {
                for (shims, stamps) in [(false, STAMPS), (true, STAMPS), (false, software)] {
                    all.push(Column { methods, formula, statistic, shims, stamps });
                }
            }
        }
    }
    all
}

impl Column {
    /// Measures a link to a peer, and returns all results.
    fn run(&self, peer: &Peer) -> Vec<Found> {
        let ptp = |mut plan: AgentsPlan| {
            let interval = Some(Duration::from_millis(10));
            plan.peer_delay = Some(PeerDelayPlan { interval, ..PeerDelayPlan::DEFAULT });
            plan
        };
        let mut a = ptp(plan(1, true));
        let &Self { methods, formula, statistic, .. } = self;
        a.auto = Some(AutoPlan { methods, formula, statistic, ..auto(methods.first()) });
        let initiate = a.measure.as_mut().unwrap().initiate.as_mut().unwrap();
        initiate.shims = self.shims;
        let mut b = ptp(plan(2, false));
        b.peer_delay.as_mut().unwrap().interval = None;
        let mut ends = [PortAgents::new(&a, self.stamps), PortAgents::new(&b, STAMPS)];
        let (mut line, mut answers): (Vec<(Instant, usize, Vec<u8>)>, u32) = (Vec::new(), 0);
        let (mut now, mut found, mut failed) = (Instant::ZERO, Vec::new(), 0);
        // Measurements repeat, and failed ones are tried again.
        while now <= END && found.len() < 2 && failed < 2 {
            line.sort_by_key(|(at, ..)| *at);
            while line.first().is_some_and(|(at, ..)| *at <= now) {
                let (at, to, frame) = line.remove(0);
                ends[to].on_frame(at, at, &frame);
            }
            for from in 0..2 {
                let mut octets = [0; FRAME_MAX];
                while ends[from].is_due(now) {
                    // The peer's stamps have its turnaround in them.
                    let leaves = if from == 1 { now + HOLDS } else { now };
                    let Some(len) = ends[from].take(now, leaves, &mut octets) else { continue };
                    let bits = RATE.time_for(Bytes(8 + len as u64 + 4));
                    let at = leaves + bits + WAYS[from];
                    let frame = octets[..len].to_vec();
                    if from == 0 {
                        let protected = self.shims && self.is_protected(&frame);
                        line.push((if protected { at + SHIM } else { at }, 1, frame));
                        continue;
                    }
                    let flights = (peer.answer)(answers, (at, frame));
                    line.extend(flights.into_iter().map(|(at, frame)| (at, 0, frame)));
                    answers += 1;
                }
            }
            for end in &mut ends {
                while let Some(news) = end.next_news() {
                    match news {
                        News::Found(one) => found.push(one),
                        News::Failed(_) => failed += 1,
                        _ => {}
                    }
                }
            }
            let next = line.iter().map(|(at, ..)| *at).min().unwrap_or(Instant::NEVER);
            let next = ends.iter().fold(next, |at, end| at.min(end.next_deadline()));
            if next == Instant::NEVER {
                break;
            }
            now = next.max(now);
        }
        found
    }

    fn is_protected(&self, frame: &[u8]) -> bool {
        let repr = Repr::parse(frame, &measuring(false).dialect);
        let request = repr.ok().and_then(|repr| repr.message.request());
        request.is_some_and(|request| wire::headroom::is_protected(request.psn))
    }

    /// Returns the true delay.
    fn truth(&self, method: Method) -> Duration {
        let both = WAYS[0] + WAYS[1];
        match (method, self.formula) {
            (Method::PeerDelay, _) => both.div(2),
            (Method::RoundTrip, Formula::Full) => both,
            // A response is stamped with the end of its frame: 60 bytes, FCS and preamble.
            (Method::RoundTrip, Formula::Short) => both + HOLDS + RATE.time_for(Bytes(72)),
        }
    }

    /// Returns what is wrong about the results of a peer.
    fn judge(&self, peer: &Peer, found: &[Found]) -> Option<String> {
        if peer.is_right && found.is_empty() {
            return Some("nothing is measured".to_owned());
        }
        found.iter().find_map(|one| {
            let off = |a: Duration, b: Duration| a.as_picos().abs_diff(b.as_picos());
            let truth = self.truth(one.method);
            // PTP's times are whole nanoseconds, and its mean is rounded.
            let step = if one.method == Method::PeerDelay { 1_000 } else { 0 };
            if off(one.chosen, truth) > one.uncertainty.as_picos() + step {
                let (chosen, uncertainty) = (one.chosen, one.uncertainty);
                return Some(format!("{chosen} of {truth}, either way {uncertainty}"));
            }
            let own = self.stamps.uncertainty + Duration::from_nanos(10);
            if peer.is_right && one.uncertainty > own {
                return Some(format!("either way {}", one.uncertainty));
            }
            let shim = one.shims.filter(|_| self.shims && peer.is_right);
            let shim = shim.filter(|shim| off(*shim, SHIM) > STEP.as_picos());
            shim.map(|shim| format!("a shim of {shim}"))
        })
    }
}

#[test]
fn a_wrong_peer_fails_or_the_uncertainty_holds_the_true_delay() {
    let columns = columns();
    let (mut measured, mut failed, mut wrong) = (0, 0, Vec::new());
    for column in &columns {
        for peer in PEERS {
            let found = column.run(peer);
            match found.is_empty() {
                true => failed += 1,
                false => measured += 1,
            }
            let what = column.judge(peer, &found);
            wrong.extend(what.map(|what| format!("{}: {what}: {column:?}", peer.name)));
        }
    }
    println!("{measured} cells measured, {failed} failed");
    assert!(wrong.is_empty(), "{} cells: {wrong:#?}", wrong.len());
    assert!(failed > columns.len() && measured > columns.len(), "{measured} {failed}");
}
