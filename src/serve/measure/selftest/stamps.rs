//! Steps about time: the device's stamps, their jitter at rest, and the round trip of the link.

use std::sync::atomic::AtomicBool;
use std::time::{Duration as StdDuration, Instant as StdInstant};

use contracts::frame::Burst;
use contracts::port::{Port, StampSource};
use dpdk::{Eal, PortOptions};
use ground::time::{Duration, Instant};
use ground::units::{BitsPerSec, Mac};
use headroom::Samples;
use headroom::measure::InitiatePlan;
use headroom::peer_delay::PeerDelayPlan;
use link::Method;
use tester::plan::Place;

use super::bench::Pair;
use super::judge::{self, StampTry};
use super::report::Line;
use super::{Context, options};
use crate::outcome::nanos;
use crate::{Inputs, Job, RateFrom};

/// Frames of each kind that are to be stamped.
const FRAMES: u64 = 16;

/// Frames of the measurement of jitter.
const SAMPLES: usize = 200;

/// Time for a stamp, or a single frame, to arrive.
const PATIENCE: StdDuration = StdDuration::from_millis(20);

/// Largest difference of a true stamp from the time of its burst.
const FAR: Duration = Duration::from_millis(50);

/// EtherTypes and first bytes of frames that are to be stamped: drivers may stamp PTP alone, and some
/// of its messages alone.
const KINDS: [Kind; 4] = [
    Kind { name: "PTP Pdelay_Req", ethertype: [0x88, 0xf7], starts: [0x02, 0x02] },
    Kind { name: "PTP Sync", ethertype: [0x88, 0xf7], starts: [0x00, 0x02] },
    Kind { name: "round trip (0x88b5)", ethertype: [0x88, 0xb5], starts: [0, 0] },
    Kind { name: "LLDP", ethertype: [0x88, 0xcc], starts: [0, 0] },
];

/// Number of kinds that are PTP.
const PTP: usize = 2;

/// Kind of a frame.
#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    ethertype: [u8; 2],
    starts: [u8; 2],
}

/// Options that ask for the device's stamps.
fn stamping(context: &Context<'_>) -> PortOptions {
    let clock = context.bench.clock;
    PortOptions { rx_stamps: Some(clock), tx_stamps: Some(clock), ..options(clock) }
}

/// Stamps in both directions, and their jitter.
pub(super) fn stamps(context: &mut Context<'_>) -> Vec<Line> {
    let asked = stamping(context);
    let mut pair = match context.bench.start(&asked, &asked) {
        Ok(pair) => pair,
        Err(refused) => {
            let why = format!("the port does not start with stamps: {}", refused.why);
            return ["rx_stamps", "tx_stamps", "jitter"]
                .map(|check| Line::unknown(check, None, None, why.clone()))
                .into();
        }
    };
    let offered =
        |said: &Option<Result<(), String>>| said.clone().unwrap_or(Err("not asked".into()));
    let all = offered(&pair.port.info().rx_stamps);
    let ptp = offered(&pair.port.info().tx_stamps);
    // The PTP clock of a device stamps received messages of PTP, too.
    let (rx, kinds) = match (&all, &ptp) {
        (Err(_), Ok(())) => (Ok("messages of PTP".to_owned()), &KINDS[..PTP]),
        _ => (all.map(|()| "all frames".to_owned()), &KINDS[..]),
    };
    let tx = ptp.map(|()| "on request, by the PTP clock".to_owned());
    let lines = vec![received(&mut pair, rx, kinds), sent(&mut pair, tx), jitter(&mut pair)];
    context.bench.give_back(pair);
    lines
}

/// A frame of this kind to any PTP port of the link.
fn frame(kind: Kind, n: u8) -> [u8; 60] {
    let mut octets = [0; 60];
    octets[..6].copy_from_slice(&[0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e]);
    octets[6..12].copy_from_slice(&Mac([0x02, 0x51, 0x64, 0x74, 3, n]).0);
    octets[12..14].copy_from_slice(&kind.ethertype);
    octets[14..16].copy_from_slice(&kind.starts);
    octets
}

fn received(pair: &mut Pair, offered: Result<String, String>, kinds: &[Kind]) -> Line {
    let mut tried = StampTry { offered, frames: Vec::new(), wrong: 0 };
    if tried.offered.is_ok() {
        for kind in kinds {
            let (mut all, mut with) = (0, 0);
            for n in 0..FRAMES {
                let Some(seen) = one_way(pair, &frame(*kind, n as u8)) else { continue };
                all += 1;
                if let Some(stamp) = seen.stamp {
                    with += 1;
                    tried.wrong += u64::from(is_far(stamp, seen.found));
                }
            }
            tried.frames.push((kind.name, all, with));
        }
    }
    judge::stamped("rx_stamps", &tried)
}

fn is_far(a: Instant, b: Instant) -> bool {
    a.as_picos().abs_diff(b.as_picos()) > FAR.as_picos().into()
}

/// Asks for stamps of sent frames. A stamp that is not read must not keep the next one from coming.
fn sent(pair: &mut Pair, offered: Result<String, String>) -> Line {
    let mut tried = StampTry { offered, frames: Vec::new(), wrong: 0 };
    if tried.offered.is_ok() {
        for kind in KINDS {
            let with =
                (0..FRAMES).filter(|n| send_stamped(pair, kind, *n as u8, true, &mut tried.wrong));
            let with = with.count() as u64;
            tried.frames.push((kind.name, FRAMES, with));
        }
        let (kind, mut with) = (KINDS[0], 0);
        for n in 0..FRAMES {
            send_stamped(pair, kind, n as u8, false, &mut tried.wrong);
            std::thread::sleep(StdDuration::from_millis(2));
            with += u64::from(send_stamped(pair, kind, n as u8, true, &mut tried.wrong));
        }
        tried.frames.push(("after an unread stamp", FRAMES, with));
        pair.settle();
    }
    judge::stamped("tx_stamps", &tried)
}

/// Sends a frame with a request for its stamp; true if the stamp was read.
fn send_stamped(pair: &mut Pair, kind: Kind, n: u8, reads: bool, wrong: &mut u64) -> bool {
    pair.port.refresh_clock();
    let Some(mut frame) = pair.port.control_frame(&frame(kind, n)) else { return false };
    if !pair.port.stamp_when_sent(&mut frame) {
        return false;
    }
    let handed_over = pair.port.clock(Instant::ZERO);
    let mut burst: Burst<_> = [frame].into_iter().collect();
    pair.port.tx_burst(&mut burst);
    let started = StdInstant::now();
    let mut found = Burst::new();
    // A device has one stamp of a sent frame: it is read before the next request.
    while reads && started.elapsed() < PATIENCE {
        if let Some(stamp) = pair.port.sent_stamp() {
            *wrong += u64::from(is_far(stamp, handed_over));
            return true;
        }
        if let Some(peer) = &mut pair.peer {
            peer.rx_burst(&mut found);
            found.clear();
        }
    }
    false
}

/// A frame that went from the peer to the port.
struct OneWay {
    /// Time at which it was handed over.
    sent: Instant,
    /// Time after the burst that found it.
    found: Instant,
    /// The device's stamp of its arrival.
    stamp: Option<Instant>,
}

/// Sends one frame to the port and waits for it; `None` if it does not come, or without a peer.
fn one_way(pair: &mut Pair, octets: &[u8]) -> Option<OneWay> {
    let (port, peer) = (&mut pair.port, pair.peer.as_mut()?);
    port.refresh_clock();
    let mut burst: Burst<_> = peer.control_frame(octets).into_iter().collect();
    let mut found = Burst::new();
    // Before the hand-over, so that the way is never measured too short.
    let sent = port.clock(Instant::ZERO);
    let started = StdInstant::now();
    while started.elapsed() < PATIENCE {
        if !burst.is_empty() {
            peer.tx_burst(&mut burst);
        }
        port.rx_burst(&mut found);
        // After the burst, for the same reason.
        let now = port.clock(Instant::ZERO);
        for frame in found.drain(..) {
            // Frames of others are dropped: they say nothing about this one.
            if octets.starts_with(contracts::frame::Frame::head(&frame)) {
                return Some(OneWay { sent, found: now, stamp: port.rx_stamp(&frame) });
            }
        }
    }
    None
}

/// Times of single frames on an idle link.
fn jitter(pair: &mut Pair) -> Line {
    const CHECK: &str = "jitter";
    if pair.peer.is_none() {
        return Line::not_tried(CHECK, None, "needs a peer");
    }
    let stamps = pair.port.stamps();
    let mut samples = Samples::default();
    for n in 0..SAMPLES {
        if let Some(seen) = one_way(pair, &frame(KINDS[PTP], n as u8)) {
            // A stamp may be before the hand-over, by its uncertainty.
            let arrived = seen.stamp.unwrap_or(seen.found).as_picos();
            let took = arrived.saturating_sub(seen.sent.as_picos());
            samples.add(Duration::from_picos(u64::try_from(took).unwrap_or(u64::MAX)));
        }
    }
    let source = match stamps.source {
        StampSource::Nic => "the NIC's clock",
        StampSource::Software => "software: the processor's counter",
        StampSource::Poll | StampSource::Exact => "the poll",
    };
    let claimed = Some(format!(
        "stamps by {source}, resolution {}, uncertainty {}",
        ::text::delay(stamps.resolution.as_nanos_f64()),
        ::text::delay(stamps.uncertainty.as_nanos_f64())
    ));
    let arrived = samples.count();
    if arrived == 0 {
        return judge::at_rest(CHECK, claimed, arrived, SAMPLES, String::new());
    }
    samples.finish();
    let one_way = nanos(&samples);
    let tried = format!("{arrived} single frames: {}", judge::spread(&one_way));
    judge::at_rest(CHECK, claimed, arrived, SAMPLES, tried)
        .value("resolution_ns", stamps.resolution.as_nanos_f64())
        .value("uncertainty_ns", stamps.uncertainty.as_nanos_f64())
        .value("one_way_min_ns", one_way.min)
        .value("one_way_p50_ns", one_way.p50)
        .value("one_way_p99_ns", one_way.p99)
        .value("one_way_max_ns", one_way.max)
}

/// The round trip by both methods.
pub(super) fn round_trips(context: &mut Context<'_>, stop: &AtomicBool) -> Vec<Line> {
    let methods =
        [("round_trip", Method::RoundTrip, 100), ("round_trip_ptp", Method::PeerDelay, 16)];
    if !context.bench.has_peer() {
        return methods.map(|(check, ..)| Line::not_tried(check, None, "needs a peer")).into();
    }
    // The measurement opens the ports itself, and a device is open once.
    context.bench.close();
    let mut lines = Vec::new();
    for (check, method, rounds) in methods {
        let places = context.bench.places();
        let inputs = inputs(context.rate(), context.link_rate, method, rounds);
        lines.push(measure(check, context.eal, &places, &inputs, stop));
    }
    lines
}

fn measure(check: &str, eal: &Eal, places: &[Place], inputs: &Inputs, stop: &AtomicBool) -> Line {
    let job = Job { count: 1, period: Duration::ZERO, duration: None };
    let outcome = crate::open(eal, places)
        .and_then(|opened| crate::run(eal, inputs, job, opened, stop, |_| {}));
    let outcome = match outcome {
        Ok(outcome) => outcome,
        // No verdict on the port: the failure may be one of the way to open it.
        Err(error) => return Line::unknown(check, None, None, format!("{error:#}")),
    };
    let why = outcome.failure.clone().or(outcome.disturbance.clone());
    let Some(m) = outcome.measurements.first() else {
        return judge::round_trip(check, outcome.verdict, None, why);
    };
    let d = &m.delay_ns;
    let what = if outcome.method == "ptp" { "mean path delay" } else { "round trip" };
    let tried = format!(
        "{} rounds, {what}: {}; either way {}; t1 {}, t2 {}, t3 {}, t4 {}",
        m.rounds,
        judge::spread(d),
        ::text::delay(m.uncertainty_ns),
        m.sources.t1,
        m.sources.t2,
        m.sources.t3,
        m.sources.t4,
    );
    judge::round_trip(check, outcome.verdict, Some(tried), why)
        .value("min_ns", d.min)
        .value("p50_ns", d.p50)
        .value("p99_ns", d.p99)
        .value("max_ns", d.max)
        .value("uncertainty_ns", m.uncertainty_ns)
}

fn inputs(rate: BitsPerSec, link_rate: Option<u64>, method: Method, rounds: u16) -> Inputs {
    let rate_from = if link_rate.is_some() { RateFrom::Line } else { RateFrom::Assumed };
    Inputs {
        // Given, so that no advertisement of the peer is waited for.
        peer_internal: Some(Duration::ZERO),
        measure: InitiatePlan { rounds, ..InitiatePlan::DEFAULT },
        ptp: PeerDelayPlan {
            interval: Some(Duration::from_millis(10)),
            rounds,
            ..PeerDelayPlan::DEFAULT
        },
        ..Inputs::usual(rate, rate_from, method)
    }
}
