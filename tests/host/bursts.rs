//! Bursts that a station receives in stages: counted as their frames would be one by one.

use proptest::prelude::*;

use crate::common::{MemFrame, MemPort};
use sluice::host::plan::stream::MeterPlan;
use sluice::host::probe::Probe;
use sluice::host::{FlowId, Station, StationPlan};
use sluice::pfc::FlowControl;
use sluice::time::{Duration, Instant};
use sluice::units::{BitsPerSec, Mac, Priority, PrioritySet, Quanta};
use sluice::wire::{mac_control, pfc};

const HOST: Mac = Mac([2, 0, 0, 0, 0, 1]);
const PEER: Mac = Mac([2, 0, 0, 0, 0, 2]);
const FLOWS: u32 = 4;

/// A received frame.
#[derive(Clone, Debug)]
enum Arrival {
    /// Of a flow, which may be unknown; `late` in hundreds of nanoseconds.
    Data {
        flow: u32,
        sequence: u64,
        late: u64,
        run: u8,
        ecn: u8,
        foreign: bool,
        size: usize,
    },
    Pause {
        quanta: u16,
    },
    Noise(Vec<u8>),
}

fn arrival() -> impl Strategy<Value = Arrival> {
    let data = (0..=FLOWS, 0_u64..40, 0_u64..4, 0_u8..20, 0_u8..4, 0_u8..20, 60_usize..90);
    prop_oneof![
        12 => data.prop_map(|(flow, sequence, late, run, ecn, foreign, size)| Arrival::Data {
            flow, sequence, late, run: u8::from(run == 0), ecn, foreign: foreign == 0, size,
        }),
        1 => (0_u16..2_000).prop_map(|quanta| Arrival::Pause { quanta }),
        1 => prop::collection::vec(any::<u8>(), 0..80).prop_map(Arrival::Noise),
    ]
}

impl Arrival {
    fn octets(&self, now: Instant) -> Vec<u8> {
        let (flow, sequence, late, run, ecn, foreign, size) = match *self {
            Self::Data { flow, sequence, late, run, ecn, foreign, size } => {
                (flow, sequence, late, run, ecn, foreign, size)
            }
            Self::Pause { quanta } => {
                let mut repr = pfc::Repr::new(PEER);
                repr.set(Priority::ALL[3], Quanta(quanta));
                let mut octets = vec![0; mac_control::FRAME_LEN];
                mac_control::Repr::Pfc(repr).emit(&mut octets).unwrap();
                return octets;
            }
            Self::Noise(ref octets) => return octets.clone(),
        };
        let dst = if foreign { PEER } else { HOST };
        let mut octets = [&dst.0[..], &PEER.0, &[8, 0]].concat();
        octets.extend([0x45, ecn, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        octets.extend([0xc0, 1, 0x13, 0x88, 0, 26, 0, 0]);
        // One of the times is ahead of the station's clock.
        let sent = now + Duration::from_nanos(100);
        let sent = sent.saturating_sub(Duration::from_nanos(100 * late));
        octets.extend(Probe::new(FlowId(flow), sequence, sent).in_run(run).octets());
        octets.resize(size.max(octets.len()), 0);
        octets
    }
}

fn plan(meter: bool) -> StationPlan {
    let expects: Vec<_> = (0..FLOWS).map(FlowId).collect();
    let streams = expects.iter().map(|id| (*id, Priority::ALL[3])).collect();
    let all = PrioritySet::ALL;
    let mut plan = StationPlan {
        flow_control: FlowControl::Pfc { send: all, obey: all },
        expects,
        ..StationPlan::new("sink", HOST, BitsPerSec::gbps(100))
    };
    plan.tester.meter = meter.then(|| MeterPlan { streams, control: vec![] });
    plan
}

proptest! {
    #[test]
    fn a_burst_is_counted_as_its_frames_one_by_one(
        bursts in prop::collection::vec(prop::collection::vec((arrival(), 1_usize..5), 1..40), 1..8),
        meter: bool,
    ) {
        let sides = [(); 2].map(|()| {
            let (near, far) = MemPort::pair(1024);
            (Station::new(&plan(meter), near).unwrap(), far)
        });
        let [(mut together, mut far), (mut apart, mut from)] = sides;
        let mut now = Instant::from_picos(1_000_000_000);
        for burst in bursts {
            for (arrival, times) in burst {
                for n in 0..times as u64 {
                    let arrival = match arrival.clone() {
                        // Neighbours of one flow with one time, as a generator sends them.
                        Arrival::Data { flow, sequence, late, run, ecn, foreign, size } => {
                            let sequence = sequence + n;
                            Arrival::Data { flow, sequence, late, run, ecn, foreign, size }
                        }
                        other => other,
                    };
                    far.give(MemFrame::new(&arrival.octets(now)));
                    from.give(MemFrame::new(&arrival.octets(now)));
                    apart.poll(now);
                }
            }
            together.poll(now);
            now += Duration::from_nanos(700);
        }
        let told = |station: &Station<MemPort>| format!("{:?}", station.snapshot(now));
        prop_assert_eq!(told(&together), told(&apart));
    }
}
