//! The path of a frame allocates nothing: counted by an allocator, with ports in memory, while the
//! switch floods, learns, drops, marks, pauses and is paused, while stations send, answer and
//! repeat, and while a traffic generator makes streams of every kind.

use sluice::congestion::qcn::PointPlan;
use sluice::congestion::{DcqcnPlan, Detect, LimitPlan};
use sluice::discovery::{
    DcbxPfcPlan, DcbxPlan, Device, LldpPlan, PfcForm, SourceFlowControl, TopologyPlan,
};
use sluice::frame::{Burst, Frame};
use sluice::headroom::measure::{InitiatePlan, MeasurePlan};
use sluice::headroom::peer_delay::PeerDelayPlan;
use sluice::host::plan::stream::{
    self as pace, Checksum, Covered, Edit, LengthField, Limit, Pace, Path, Payload, Sizes,
    StreamPlan, TemplatePlan, Values,
};
use sluice::host::{
    Demand, FlowId, Message, PausePlan, Rate, Recovery, RocePlan, SinkCounters, Station,
    StationPlan, TcpPlan, TesterPlan, Transport, TransportPlan,
};
use sluice::link::AgentsPlan;
use sluice::port::Port;
use sluice::runtime::{LossWatch, Mesh, mesh};
use sluice::switch::{FastCnpPlan, QuantizedPlan, QueuePairs, SourceQp, Switch, SwitchPlan};
use sluice::time::{Duration, Instant};
use sluice::units::{BitsPerSec, Bytes, Dscp, Mac, PortId, Priority, PrioritySet, Quanta};
use sluice::wire::headroom::Dialect;
use sluice::wire::ip;
use sluice::wire::roce::U24;
use sluice::wire::{mac_control, pfc};
use sluice::world::World;

use crate::link;
use crate::memory::{self, MemFrame, MemPort};
use crate::overload::Overload;
use crate::plan::{self, Pipeline};
use crate::probed;

/// Duration of a burst of 32 minimal frames at 100 Gb/s.
const STEP: Duration = Duration::from_nanos(32 * 672 / 100);

struct Memory;

impl World for Memory {
    type Frame = MemFrame;
    type Port = MemPort;
    type Events = LossWatch;
    type Handoff = Mesh<MemFrame>;
}

/// A switch whose hosts make frames in memory.
type Loaded = Overload<Memory, fn(&[u8]) -> Option<MemFrame>>;

/// Overloads a switch with this plan for a number of steps; nothing may allocate.
fn overload(plan: &SwitchPlan, steps: usize) -> (Loaded, Instant) {
    memory::stock(16_384);
    let (ports, hosts): (Vec<_>, Vec<_>) = (0..3)
        .map(|n| {
            let (port, host) = MemPort::pair(256);
            ((PortId::new(n).unwrap(), port), host)
        })
        .unzip();
    let end = mesh(&[0; 3], 1, 1).pop().unwrap();
    let switch = Switch::<Memory>::new(plan, ports, end, LossWatch::new(plan)).unwrap();
    let make: fn(&[u8]) -> Option<MemFrame> = MemFrame::new;
    let mut load = Overload::new(switch, hosts.try_into().ok().unwrap(), make);
    let mut now = Instant::ZERO;
    // Even the first frames do not allocate: a switch has all its memory when it is built.
    let counted = allocation_counter::measure(|| {
        for _ in 0..steps {
            now += STEP;
            load.step(now);
        }
    });
    assert_eq!((counted.count_total, counted.count_current), (0, 0), "{counted:?}");
    (load, now)
}

#[test]
fn no_frame_costs_an_allocation() {
    let (mut load, now) = overload(&plan::plan(3, Pipeline::Lossless, 1), 8 * 1_024);
    load.check(now);
    let control = allocation_counter::measure(|| drop(std::hint::black_box(vec![0_u8; 100])));
    assert_eq!(control.count_total, 1, "the counter counts");
}

#[test]
fn what_is_done_about_congestion_costs_no_allocation() {
    let mut plan = plan::congested(plan::plan(3, Pipeline::Lossless, 1), Bytes(1_000));
    let detect = [Some(Detect::Length(Bytes(1_000))); 8];
    let pairs = (0..255).map(|n| QueuePairs {
        destination: [10, 0, 2, n].into(),
        destination_qp: U24::default(),
        source_qp: U24::wrapping(n.into()),
    });
    plan.congestion.fast_cnp = Some(FastCnpPlan {
        detect: vec![detect; 3],
        spacing: Duration::from_micros(1),
        budget: LimitPlan { interval: Duration::ZERO, burst: 1 },
        flows: 64,
        source_qp: SourceQp::Configured(pairs.collect()),
        priority: Priority::ALL[6],
        dscp: Some(Dscp::MIN),
    });
    let point =
        PointPlan { set_point: Bytes(2_000), sample_base: Bytes(10_000), ..PointPlan::standard() };
    plan.congestion.qcn = Some(QuantizedPlan {
        points: vec![[Some(point); 8]; 3],
        transmit_priority: Priority::ALL[6],
        msdu_octets: 64,
    });
    let (mut load, now) = overload(&plan, 4 * 1_024);
    let counted = load.snapshot(now).congestion.unwrap();
    let sfc = counted.sfc.unwrap().counters;
    // Most find no place in a full queue.
    assert!(sfc.transmitted_sfcms > 0 && sfc.transmitted_sfcms + sfc.lost > 100, "{sfc:?}");
    let granted: u64 = counted.proxy.unwrap().ports.iter().map(|port| port.accepted).sum();
    let (cnp, qcn) = (counted.fast_cnp.unwrap(), counted.qcn.unwrap().total());
    assert!(granted > 0 && qcn.transmitted_cnms > 0, "{granted} {cnp:?} {qcn:?}");
}

/// A flow of stations 1 and 2, of frames of 200 bytes.
fn answered(id: u32, kind: Transport) -> TransportPlan {
    let message = Some(Message { bytes: 1_000, count: u64::MAX, every: Duration::ZERO });
    let (priority, dscp, size) = (Priority::MIN, Dscp::MIN, 200);
    TransportPlan { tag: None, priority, dscp, size, message, ..link::flow(id, kind) }
}

fn station(n: u8, senders: &[TransportPlan], receivers: &[TransportPlan]) -> StationPlan {
    StationPlan {
        senders: senders.to_vec(),
        receivers: receivers.to_vec(),
        ..StationPlan::new("host", Mac([2, 0, 0, 0, 0, n]), BitsPerSec::gbps(100))
    }
}

#[test]
fn no_answer_costs_an_allocation_either() {
    memory::stock(16_384);
    let qp = |n| U24::new(n).unwrap();
    let dcqcn = RocePlan { dcqcn: Some(DcqcnPlan::ns3()), ..RocePlan::new(qp(1), qp(1)) };
    let selective = RocePlan { recovery: Recovery::SelectiveRepeat, ..RocePlan::new(qp(2), qp(2)) };
    let timeout_min = Duration::from_micros(20);
    let tcp = TcpPlan { timeout_min, ..TcpPlan::new(1_000, 9) };
    let flows = [Transport::Roce(dcqcn), Transport::Roce(selective), Transport::TcpLike(tcp)];
    let flows: Vec<_> = (0..).zip(flows).map(|(n, kind)| answered(n, kind)).collect();
    let (here, mut out) = MemPort::pair(256);
    let (mut back, there) = MemPort::pair(256);
    let mut sender = Station::new(&station(1, &flows, &[]), here).unwrap();
    let mut receiver = Station::new(&station(2, &[], &flows), there).unwrap();
    // As the owners of stations on real ports do.
    sender.spares().fill();
    receiver.spares().fill();
    let (mut now, mut n, mut burst) = (Instant::ZERO, 0_u32, Burst::new());
    let counted = allocation_counter::measure(|| {
        for _ in 0..200_000 {
            now += Duration::from_nanos(18);
            sender.poll(now);
            receiver.poll(now);
            // The wire between them loses and marks some.
            out.rx_burst(&mut burst);
            burst.retain(|frame| {
                n += 1;
                if n % 97 == 0 {
                    ip::mark_ce_in_frame(frame.head_mut());
                }
                n % 301 != 0
            });
            back.tx_burst(&mut burst);
            back.rx_burst(&mut burst);
            out.tx_burst(&mut burst);
            assert!(burst.is_empty(), "the wires hold what is on them");
        }
    });
    assert_eq!((counted.count_total, counted.count_current), (0, 0), "{counted:?}");
    let (sent, got) = (sender.snapshot(now), receiver.snapshot(now));
    for (s, r) in sent.senders.iter().zip(&got.receivers) {
        assert!(s.retransmitted > 10 && s.acknowledged > 100_000, "{s:?}");
        assert!(s.completions.messages > 100 && r.messages >= s.completions.messages, "{r:?}");
    }
    assert!(got.receivers[0].cnps > 10 && got.receivers[1].naks > 10, "{:?}", got.receivers);
}

/// Link protocols with all TLVs.
fn agents(mac: Mac) -> AgentsPlan {
    let pfc = DcbxPfcPlan {
        willing: true,
        macsec_bound: false,
        capability: 8,
        enable: PrioritySet::of(Priority::ALL[3]),
        form: PfcForm::Proposed { round_trip: true, ptp: true, macsec: false },
    };
    let initiate = InitiatePlan {
        spacing_min: Duration::from_micros(2),
        spacing_max: Duration::from_micros(9),
        period: Some(Duration::from_micros(50)),
        ..InitiatePlan::DEFAULT
    };
    let lldp = LldpPlan {
        interval: Duration::from_micros(700),
        fast_interval: Duration::from_micros(300),
        ..LldpPlan::new(mac, mac, "port")
    };
    AgentsPlan {
        mac,
        rate: BitsPerSec::gbps(100),
        lldp: Some(lldp),
        dcbx: Some(DcbxPlan {
            pfc: Some(pfc),
            internal_delay: Some(Duration::from_nanos(700)),
            topology: Some(TopologyPlan::Recognized(Device::EndStation)),
            sfc: Some(SourceFlowControl {
                point: false,
                proxy: false,
                by_flow: true,
                by_priority: false,
                udp_port: 58_622,
            }),
            ..DcbxPlan::new(mac)
        }),
        measure: Some(MeasurePlan {
            respond: true,
            initiate: Some(initiate),
            dialect: Dialect::default(),
            compensation: None,
        }),
        peer_delay: Some(PeerDelayPlan {
            interval: Some(Duration::from_micros(13)),
            ..PeerDelayPlan::DEFAULT
        }),
        auto: None,
    }
}

#[test]
fn no_measurement_and_no_discovery_costs_an_allocation() {
    memory::stock(1_024);
    let mut plan = plan::plan(1, Pipeline::Lossless, 1);
    plan.ports[0].agents = Some(agents(plan.ports[0].mac));
    let mut host = station(7, &[], &[]);
    host.agents = Some(agents(host.mac));
    let (near, mut out) = MemPort::pair(256);
    let (mut back, far) = MemPort::pair(256);
    let end = mesh(&[0], 1, 1).pop().unwrap();
    let ports = vec![(PortId::MIN, near)];
    let mut switch = Switch::<Memory>::new(&plan, ports, end, LossWatch::new(&plan)).unwrap();
    let mut host = Station::new(&host, far).unwrap();
    host.spares().fill();
    let (mut now, mut burst, mut news) = (Instant::ZERO, Burst::new(), 0);
    let counted = allocation_counter::measure(|| {
        for _ in 0..200_000 {
            now += Duration::from_nanos(700);
            switch.poll(now);
            host.poll(now);
            out.rx_burst(&mut burst);
            back.tx_burst(&mut burst);
            back.rx_burst(&mut burst);
            out.tx_burst(&mut burst);
            while switch.next_news().is_some() || host.agents_mut().unwrap().next_news().is_some() {
                news += 1;
            }
        }
    });
    assert_eq!((counted.count_total, counted.count_current), (0, 0), "{counted:?}");
    let snapshot = switch.agents(PortId::MIN).unwrap().snapshot(now);
    assert!(news > 100 && snapshot.neighbours.len() == 1, "{news} {snapshot:?}");
    let measured = snapshot.measure.unwrap();
    let rounds = measured.found.map(|found| found.rounds);
    assert!(measured.counters.round_trips > 1_000 && rounds == Some(100), "{measured:?}");
    assert!(snapshot.path_delay.unwrap().found.is_some() && snapshot.resolved.is_some());
}

/// A stream of every kind of length and field, of `rate` frames per second.
fn stream(id: u32, path: Path, sizes: Sizes, rate: u64) -> StreamPlan {
    let headers = [[2_u8; 12].as_slice(), &[0x88, 0xb5], &[0; 26]].concat();
    let edit = |at, bits, values| Edit { at, skip: 3, bits, values };
    let over = Covered::Payload4 { ip: 14, from: 34, udp: true };
    StreamPlan {
        id: FlowId(id),
        path,
        template: TemplatePlan {
            headers,
            payload: Payload::IncrementByte,
            edits: vec![
                edit(0, 11, Values::List(vec![1, 2, 3])),
                edit(3, 17, Values::Increment { start: 5, step: 3, count: 10 }),
                edit(16, 128, Values::Random { min: 0, max: u128::MAX, count: 7, seed: 1 }),
            ],
            lengths: vec![LengthField { at: 14, from: 14 }],
            checksums: vec![Checksum { at: 36, over, bad: false }],
            probe_at: Some(40),
            run: 0,
        },
        recording: None,
        sizes,
        pace: Pace { rate: Rate::Frames(rate), gap: 12, burst: None },
        limit: Limit::default(),
        delay: Duration::ZERO,
        seed: 1,
    }
}

#[test]
fn no_stream_costs_an_allocation() {
    memory::stock(1_024);
    let data = Path::Data(Priority::MIN);
    let mut bursts = stream(3, data, Sizes::Fixed(100), 5_000_000);
    bursts.pace.burst = Some(pace::Burst { frames: 5, gap: Duration::from_nanos(3_000) });
    let streams = vec![
        stream(1, data, Sizes::Random { min: 64, max: 200 }, 5_000_000),
        stream(2, data, Sizes::Weighted(vec![(64, 1.0), (250, 2.0)]), 5_000_000),
        bursts,
        stream(4, Path::Control, Sizes::Fixed(64), 1_000_000),
        stream(5, data, Sizes::Fixed(64), 20_000_000),
    ];
    let ids: Vec<_> = streams.iter().map(|s| s.id).collect();
    let plan = StationPlan {
        tester: TesterPlan { streams, ..TesterPlan::default() },
        shaper_burst: Bytes(4_000),
        backlog: Duration::from_micros(10),
        ..station(1, &[], &[])
    };
    let (here, mut there) = MemPort::pair(256);
    let mut sender = Station::new(&plan, here).unwrap();
    sender.spares().fill();
    let (mut now, mut burst) = (Instant::ZERO, Burst::new());
    let counted = allocation_counter::measure(|| {
        for step in 0..100_000 {
            if step % 10_000 == 0 {
                sender.start_streams(now, &ids);
            }
            now += Duration::from_nanos(150);
            sender.poll(now);
            there.rx_burst(&mut burst);
            burst.clear();
        }
    });
    assert_eq!((counted.count_total, counted.count_current), (0, 0), "{counted:?}");
    let sent = sender.snapshot(now);
    assert!(sent.streams.iter().all(|s| s.frames > 300), "{:?}", sent.streams);
}

#[test]
fn no_arrival_costs_an_allocation_in_order_or_not() {
    const FLOWS: usize = 16;
    memory::stock(1_024);
    let (near, mut far) = MemPort::pair(256);
    let mut plan = probed::sink(FLOWS as u32);
    plan.pauses.push(PausePlan {
        ask: Demand::pfc(PrioritySet::ALL, Quanta(100)),
        start: Instant::ZERO,
        every: Duration::from_micros(3),
        frames: u64::MAX,
    });
    let mut station = Station::new(&plan, near).unwrap();
    station.spares().fill();
    let mut pause = [0; mac_control::FRAME_LEN];
    let mut repr = pfc::Repr::new(Mac([2, 0, 0, 0, 0, 9]));
    repr.set(Priority::ALL[3], Quanta(50));
    mac_control::Repr::Pfc(repr).emit(&mut pause).unwrap();
    let mut frames: Vec<_> = (0..FLOWS as u32).map(probed::frame).collect();
    let (mut numbers, mut skipped) = ([0; FLOWS], [0; FLOWS]);
    let (mut now, mut burst) = (Instant::ZERO, Burst::new());
    let counted = allocation_counter::measure(|| {
        for n in 0..200_000_usize {
            let flow = n % FLOWS;
            // Some arrive twice, some late and some never.
            let sequence = match n % 301 {
                7 => numbers[flow],
                8 => skipped[flow],
                _ => numbers[flow] + 1,
            };
            numbers[flow] = numbers[flow].max(sequence);
            probed::stamp(&mut frames[flow], flow as u32, sequence, now);
            let mut octets = &frames[flow][..];
            if n % 53 == 0 {
                (octets, skipped[flow]) = (&pause, sequence);
            }
            burst.push(MemFrame::new(octets).expect("in stock"));
            if burst.is_full() {
                far.tx_burst(&mut burst);
                now += STEP;
                station.poll(now);
                far.rx_burst(&mut burst);
                burst.clear();
            }
            if n == 100_000 {
                station.clear_streams(&[FlowId(0)]);
            }
        }
    });
    assert_eq!((counted.count_total, counted.count_current), (0, 0), "{counted:?}");
    let snapshot = station.snapshot(now);
    let sum = |of: fn(&SinkCounters) -> u64| snapshot.sinks.iter().map(of).sum::<u64>();
    assert!(sum(|s| s.frames) > 180_000 && sum(|s| s.duplicates) > 300, "{snapshot:?}");
    assert!(sum(|s| s.reordered) > 5, "{snapshot:?}");
    let meter = snapshot.meter.unwrap();
    assert!(meter.received[3].pauses > 1_000 && meter.sent[3].pauses > 100, "{meter:?}");
}
