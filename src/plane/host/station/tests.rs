//! Reception against a slow exact model: frames of several flows with loss, reordering, duplicates and
//! resets, between frames of other kinds.

use std::collections::HashSet;

use hdrhistogram::Histogram;
use proptest::prelude::*;

use super::Station;
use crate::plan::stream::MeterPlan;
use crate::plan::{FlowId, StationPlan};
use crate::probe::{MODULUS, Probe};
use crate::sink::WINDOW;
use contracts::frame::Burst;
use contracts::memory::MemFrame;
use contracts::memory::ring_pair;
use contracts::port::Port;
use ground::time::{Duration, Instant};
use ground::units::{BitsPerSec, Mac, Priority};

const FLOWS: u32 = 5;

/// Maximum of a histogram in nanoseconds.
const NS_MAX: u64 = 100_000_000_000;

/// A frame that arrives, described against the state of its flow.
#[derive(Clone, Debug)]
enum Kind {
    /// The next frame of the flow.
    Next,
    /// One so many numbers ahead.
    Skip(u64),
    /// One so many numbers behind the newest.
    Late(u64),
    /// The flow with this number plus [`FLOWS`], which the station does not expect.
    OtherFlow,
    /// The next frame of the flow, of another run.
    OtherRun,
    /// A frame without a probe.
    NoProbe,
}

#[derive(Clone, Debug)]
struct Arriving {
    flow: u32,
    kind: Kind,
    /// Time since it was sent in picoseconds; negative if its stamp is ahead.
    age: i64,
    v6: bool,
    tagged: bool,
    ce: bool,
    payload: usize,
}

/// All that a sink counts, by memory of every number and latency.
#[derive(Default)]
struct Model {
    seen: HashSet<u64>,
    next: u64,
    floor: u64,
    frames: u64,
    bytes: u64,
    ce_marked: u64,
    ahead: u64,
    /// Duplicates, reordered, stale, old.
    order: [u64; 4],
    first_sent: Option<Instant>,
    arrivals: Option<(Instant, Instant)>,
    ages: Vec<u64>,
}

impl Model {
    fn take(&mut self, now: Instant, sequence: u64, of: &Arriving, wire_len: u32) {
        let [duplicates, reordered, stale, old] = &mut self.order;
        if sequence >= self.next {
            self.next = sequence + 1;
        } else if sequence < self.floor {
            *old += 1;
            return;
        } else if self.next - sequence > WINDOW {
            *reordered += 1;
            *stale += 1;
        } else if self.seen.contains(&sequence) {
            *duplicates += 1;
            return;
        } else {
            *reordered += 1;
        }
        self.seen.insert(sequence);
        self.frames += 1;
        self.bytes += u64::from(wire_len);
        self.ce_marked += u64::from(of.ce);
        let sent = now.as_picos().checked_add_signed(-i128::from(of.age)).unwrap();
        match u64::try_from(of.age) {
            Ok(age) => self.ages.push(age),
            Err(_) => self.ahead += 1,
        }
        let sent = Instant::from_picos(sent);
        self.first_sent = Some(self.first_sent.map_or(sent, |first| first.min(sent)));
        self.arrivals = Some((self.arrivals.map_or(now, |(first, _)| first), now));
    }

    fn clear(&mut self) {
        let (seen, next) = (core::mem::take(&mut self.seen), self.next);
        *self = Self { seen, next, floor: next, ..Self::default() };
    }
}

/// The frame: Ethernet, IP and UDP, and a probe if it has one.
fn octets(of: &Arriving, probe: Option<Probe>) -> Vec<u8> {
    let datagram = (8 + 18 + of.payload) as u16;
    let mut f = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
    if of.tagged {
        f.extend([0x81, 0, 0x60, 7]);
    }
    let ecn = if of.ce { 3 } else { 2 };
    if of.v6 {
        f.extend([0x86, 0xdd, 0x60, ecn << 4, 0, 0]);
        f.extend(datagram.to_be_bytes());
        f.extend([17, 64]);
        f.extend([0xfd; 32]);
    } else {
        f.extend([8, 0, 0x45, ecn]);
        f.extend((20 + datagram).to_be_bytes());
        f.extend([0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    }
    f.extend([0xc0, 1, 0x13, 0x88]);
    f.extend(datagram.to_be_bytes());
    f.extend([0, 0]);
    f.extend(probe.map_or([0; 18], |probe| probe.octets()));
    f.resize(f.len() + of.payload, 0);
    f
}

fn arriving() -> impl Strategy<Value = Arriving> {
    let kind = prop_oneof![
        20 => Just(Kind::Next),
        2 => (1_u64..70).prop_map(Kind::Skip),
        1 => (1..3 * WINDOW).prop_map(Kind::Skip),
        3 => (0_u64..70).prop_map(Kind::Late),
        1 => (0..2 * WINDOW).prop_map(Kind::Late),
        1 => Just(Kind::OtherFlow),
        1 => Just(Kind::OtherRun),
        1 => Just(Kind::NoProbe),
    ];
    let age = prop_oneof![
        10 => 2_000_000_i64..2_300_000,
        2 => 0_i64..5_000,
        2 => 0_i64..MODULUS as i64 / 2,
        1 => -1_000_000_i64..0,
    ];
    (0..FLOWS, kind, age, any::<[bool; 3]>(), 0_usize..300).prop_map(
        |(flow, kind, age, [v6, tagged, ce], payload)| Arriving {
            flow,
            kind,
            age,
            v6,
            tagged,
            ce,
            payload,
        },
    )
}

/// Polls: the time since the one before, the frames that arrive in it, and a flow that is reset
/// afterwards.
fn polls() -> impl Strategy<Value = Vec<(u64, Vec<Arriving>, Option<u32>)>> {
    let frames = prop::collection::vec(arriving(), 0..70);
    let reset = prop::option::weighted(0.1, 0..FLOWS);
    prop::collection::vec((1_u64..1 << 40, frames, reset), 1..30)
}

proptest! {
    #[test]
    fn a_station_counts_as_an_exact_model_does(
        polls in polls(), metered: bool,
        // The second is shortly before a 64-bit number of picoseconds is full.
        start in prop_oneof![Just(1_u128 << 50), Just(u128::from(u64::MAX) - (1 << 42))],
    ) {
        let mut plan = StationPlan::new("sink", Mac([2, 0, 0, 0, 0, 1]), BitsPerSec::gbps(100));
        plan.expects = (0..FLOWS).map(FlowId).collect();
        if metered {
            let streams = plan.expects.iter().map(|id| (*id, Priority::ALL[3])).collect();
            plan.tester.meter = Some(MeterPlan { streams, ..MeterPlan::default() });
        }
        let (near, mut far) = ring_pair(1_000);
        let mut station = Station::new(&plan, near).unwrap();
        let mut models: Vec<_> = (0..FLOWS).map(|_| Model::default()).collect();
        let (mut frames, mut bytes, mut other_runs, mut others) = (0_u64, 0, 0, 0);
        let mut now = Instant::from_picos(start);
        for (step, arriving, reset) in polls {
            now += Duration::from_picos(step);
            let mut out = Burst::new();
            for of in &arriving {
                let model = &mut models[of.flow as usize];
                let sequence = match of.kind {
                    Kind::Skip(n) => model.next + n,
                    Kind::Late(n) => model.next.saturating_sub(n + 1),
                    _ => model.next,
                };
                let mut flow = of.flow;
                let sent = now.as_picos().checked_add_signed(-i128::from(of.age)).unwrap();
                flow += if matches!(of.kind, Kind::OtherFlow) { FLOWS } else { 0 };
                let mut probe = Probe::new(FlowId(flow), sequence, Instant::from_picos(sent));
                probe.run = u8::from(matches!(of.kind, Kind::OtherRun));
                let probe = Some(probe).filter(|_| !matches!(of.kind, Kind::NoProbe));
                let frame = octets(of, probe);
                let wire_len = frame.len() as u32 + 4;
                (frames, bytes) = (frames + 1, bytes + u64::from(wire_len));
                match of.kind {
                    Kind::OtherFlow | Kind::NoProbe => others += 1,
                    Kind::OtherRun => other_runs += 1,
                    _ => model.take(now, sequence, of, wire_len),
                }
                out.push(MemFrame::new(&frame));
                if out.is_full() {
                    far.tx_burst(&mut out);
                }
            }
            far.tx_burst(&mut out);
            station.poll(now);
            if let Some(flow) = reset {
                station.clear_streams(&[FlowId(flow)]);
                models[flow as usize].clear();
            }
        }
        let c = station.counters();
        prop_assert_eq!((c.rx_frames, c.rx_bytes), (frames, bytes));
        prop_assert_eq!((c.other_runs, c.unexpected + c.foreign), (other_runs, others));
        for (sink, model) in station.sinks().zip(&models) {
            let order = [sink.duplicates, sink.reordered, sink.stale, sink.old];
            prop_assert_eq!((sink.frames, sink.bytes, order), (model.frames, model.bytes, model.order));
            prop_assert_eq!((sink.ce_marked, sink.ahead), (model.ce_marked, model.ahead));
            let arrivals = sink.first_arrival.zip(sink.last_arrival);
            prop_assert_eq!((sink.first_sent, arrivals), (model.first_sent, model.arrivals));
            let (latency, ages) = (&sink.latency, &model.ages);
            let mut exact = Histogram::<u64>::new_with_bounds(1, NS_MAX, 3).unwrap();
            for age in ages {
                exact.saturating_record(((age + 500) / 1_000).min(NS_MAX));
            }
            prop_assert_eq!(latency.histogram(), exact);
            prop_assert_eq!(latency.count(), ages.len() as u64);
            let ends = (ages.iter().min().copied(), ages.iter().max().copied());
            let ends = (ends.0.unwrap_or(0), ends.1.unwrap_or(0));
            prop_assert_eq!((latency.min().as_picos(), latency.max().as_picos()), ends);
            let sum: u128 = ages.iter().map(|age| u128::from(*age)).sum();
            let mean = sum / ages.len().max(1) as u128;
            prop_assert_eq!(u128::from(latency.mean().as_picos()), mean);
        }
    }
}
