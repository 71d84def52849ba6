//! Stations in virtual time: accuracy of their pace, pauses and counts.

use proptest::prelude::*;
use sluice::frame::{BURST, Frame, LINE_OVERHEAD_BYTES};
use sluice::host::plan::stream::MeterPlan;
use sluice::host::{
    COMMITTED_MAX, Demand, FlowId, FlowPlan, Headers, PausePlan, PlanError, Rate, Station,
    StationPlan, Tag, Udp,
};
use sluice::pfc::FlowControl;
use sluice::time::{Duration, Instant};
use sluice::units::{BitsPerSec, Bytes, Dscp, Mac, Pcp, PrioritySet, Quanta, Vid};
use sluice::wire::ip::{self, Ecn};
use sluice::wire::{mac_control, pause, pfc, udp, vlan};

use crate::bench::{self, Bench, HOST, LINE, LINK, PEER, obeying, priority, probe};
use crate::mem_port::{MemFrame, MemPort};

fn flow(id: u32, p: u8, size: u32, rate: Rate) -> FlowPlan {
    let tag = Some(Tag { vid: None, pcp: Pcp::new(p).unwrap() });
    FlowPlan { tag, priority: priority(p), size, rate, ..bench::flow(id, Headers::Ethernet) }
}

fn plan(flows: Vec<FlowPlan>) -> StationPlan {
    StationPlan { flows, ..obeying(&[3, 4]) }
}

/// Time of a frame of `size` bytes on the link.
fn on_line(size: u32) -> Duration {
    LINK.time_for(Bytes(u64::from(size + LINE_OVERHEAD_BYTES)))
}

fn at(ps: u64) -> Instant {
    Instant::from_picos(ps.into())
}

proptest! {
    #[test]
    fn frames_leave_at_their_pace_to_the_picosecond(
        size in 64_u32..9000, ppm in 1_000_u32..=1_000_000, frames in 2_u64..50
    ) {
        let mut f = flow(1, 3, size, Rate::LineShare(ppm));
        f.frames = Some(frames);
        let mut bench = Bench::new(&plan(vec![f]));
        bench.run_to(Instant::ZERO + Duration::from_secs(1));
        let times = bench.times(1);
        let interval = (u128::from(on_line(size).as_picos()) * 1_000_000).div_ceil(ppm.into());
        let expected: Vec<_> = (0..frames).map(|n| at(n * interval as u64)).collect();
        prop_assert_eq!(times, expected);
        prop_assert!(bench.host.is_done());
        let sequence: Vec<_> = bench.sent.iter().map(|(_, f)| probe(f).unwrap().sequence).collect();
        prop_assert_eq!(sequence, (0..frames).collect::<Vec<_>>());
    }

    #[test]
    fn polling_more_often_changes_nothing(
        extra in prop::collection::vec(0_u64..3_000_000, 0..60),
        pause_at in 0_u64..2_000_000, quanta in 0_u16..40, delay in 0_u16..20,
    ) {
        let flows = vec![
            flow(1, 3, 700, Rate::LineShare(500_000)),
            flow(2, 0, 200, Rate::LineShare(300_000)),
        ];
        let run = |polls: &[u64]| {
            let mut plan = plan(flows.clone());
            plan.tester.pause_delay = Quanta(delay);
            plan.tester.meter = Some(MeterPlan::default());
            let mut bench = Bench::new(&plan);
            let end = 3_000_000;
            bench.run_with(polls, [(pause_at, quanta)], end, |bench, quanta| bench.pfc(3, quanta));
            let end = bench.host.snapshot(at(end));
            (bench.sent, end.counters, end.meter)
        };
        prop_assert_eq!(run(&extra), run(&[]));
    }

    #[test]
    fn the_link_is_never_overdriven_however_late_polls_come(
        gaps in prop::collection::vec(0_u64..40_000_000, 1..80), burst in 0_u64..20_000,
        size in 64_u32..1500,
    ) {
        let mut plan = plan(vec![flow(1, 3, size, LINE), flow(2, 0, size, LINE)]);
        plan.shaper_burst = Bytes(burst);
        plan.backlog = Duration::from_millis(1);
        let mut bench = Bench::new(&plan);
        for gap in gaps {
            bench.now += Duration::from_picos(gap);
            bench.settle();
        }
        // From any frame on, the frames up to any later one fit into the time between them, one
        // frame that may just have started, and the allowance.
        let (line, slack) = (on_line(size), LINK.time_for(Bytes(burst)));
        for (i, (from, _)) in bench.sent.iter().enumerate() {
            for (n, (to, _)) in bench.sent[i..].iter().enumerate() {
                let taken = line.saturating_mul(n as u64);
                prop_assert!(taken <= to.since(*from) + slack, "{n} frames from {from:?}");
            }
        }
    }

    #[test]
    fn a_pause_stops_for_exactly_its_quanta(
        quanta in 1_u16..2000, at_ps in 0_u64..5_000_000, size in 64_u32..1500
    ) {
        let mut bench = Bench::new(&plan(vec![flow(1, 3, size, LINE)]));
        bench.run_to(at(at_ps));
        bench.pfc(3, quanta);
        bench.run_to(at(at_ps) + Duration::from_millis(1));
        let paused = Quanta(quanta).at(LINK);
        let times = bench.times(1);
        let before = *times.iter().rfind(|t| **t <= at(at_ps)).unwrap();
        let after = *times.iter().find(|t| **t > at(at_ps)).unwrap();
        // The frame on the line completes; the next starts with the end of the pause.
        prop_assert_eq!(after, (at(at_ps) + paused).max(before + on_line(size)));
        let c = bench.host.snapshot(bench.now).counters.priorities[3];
        prop_assert_eq!((c.received, c.obeyed, c.transitions), (1, 1, 1));
        prop_assert_eq!(c.paused, paused);
    }

    #[test]
    fn after_a_pause_no_more_leaves_than_is_committed(
        gaps in prop::collection::vec(0_u64..2_000_000, 1..40), ring in 1_usize..64,
        drained in prop::collection::vec(0_usize..40, 1..40), pause_after in 0_usize..40,
    ) {
        let mut plan = plan(vec![flow(1, 3, 64, LINE)]);
        plan.shaper_burst = Bytes(100_000);
        plan.backlog = Duration::from_millis(1);
        let mut bench = Bench::new(&plan);
        bench.far.capacity = ring;
        bench.host.port_mut().capacity = ring;
        let mut left_after = 0;
        let mut peer = bench.far.clone();
        for (i, gap) in gaps.iter().enumerate() {
            bench.now += Duration::from_picos(*gap);
            if i == pause_after {
                bench.pfc(3, u16::MAX);
            }
            bench.host.poll(bench.now);
            let mut inbox = sluice::frame::Burst::new();
            for _ in 0..drained[i % drained.len()].div_ceil(BURST) {
                sluice::port::Port::rx_burst(&mut peer, &mut inbox);
                for frame in inbox.drain(..) {
                    left_after += usize::from(i > pause_after && probe(&frame).is_some());
                }
            }
        }
        // Frames in the cable, and frames being processed.
        prop_assert!(left_after <= ring + COMMITTED_MAX, "{left_after}");
    }
}

#[test]
fn zero_resumes_at_once_and_others_are_not_touched() {
    let flows =
        (0..3).zip([0, 3, 4]).map(|(i, p)| flow(i, p, 1000, Rate::LineShare(200_000))).collect();
    let mut bench = Bench::new(&plan(flows));
    bench.run_to(at(10_000_000));
    bench.pfc(3, 65_535);
    bench.pfc(0, 65_535); // Priority 0 is not obeyed.
    bench.run_to(at(100_000_000));
    bench.pfc(3, 0);
    bench.run_to(at(200_000_000));
    let between = |id, from: u128, to: u128| {
        bench.times(id).iter().filter(|t| (from..to).contains(&t.as_picos())).count()
    };
    // A frame every 4.08 us.
    assert_eq!(between(1, 10_000_001, 100_000_000), 0);
    let first = *bench.times(1).iter().find(|t| t.as_picos() > 10_000_000).unwrap();
    // The others may have a frame on the line.
    assert!(first >= at(100_000_000) && first.since(at(100_000_000)) < on_line(1000), "{first:?}");
    for id in [0, 2] {
        assert!((21..=23).contains(&between(id, 10_000_001, 100_000_000)), "flow {id}");
    }
    let c = bench.host.snapshot(bench.now).counters;
    assert_eq!((c.priorities[0].received, c.priorities[0].obeyed), (1, 0));
    assert_eq!((c.priorities[3].received, c.priorities[3].obeyed), (2, 2));
    assert_eq!(c.priorities[3].paused, Duration::from_micros(90));
    assert_eq!(c.priorities[4], Default::default());
}

#[test]
fn a_new_time_replaces_what_is_left() {
    let mut bench = Bench::new(&plan(vec![flow(1, 3, 64, LINE)]));
    bench.run_to(at(1_000_000));
    bench.pfc(3, 1000);
    bench.run_to(at(2_000_000));
    bench.pfc(3, 10);
    bench.run_to(at(9_000_000));
    let first = *bench.times(1).iter().find(|t| **t > at(1_000_000)).unwrap();
    assert_eq!(first, at(2_000_000) + Quanta(10).at(LINK));
}

#[test]
fn a_station_on_pause_stops_all_and_ignores_pfc() {
    let mut plan = plan(vec![flow(1, 3, 64, LINE), flow(2, 0, 64, LINE)]);
    plan.flow_control = FlowControl::Pause { send: false, obey: true };
    let mut bench = Bench::new(&plan);
    bench.pfc(3, 65_535);
    bench.run_to(at(1_000_000));
    assert!(bench.times(1).len() > 5);
    let repr = pause::Repr { dst: HOST, src: PEER, time: Quanta(100) };
    bench.control(mac_control::Repr::Pause(repr));
    bench.sent.clear();
    bench.run_to(at(6_000_000));
    assert!(bench.sent.iter().all(|(t, _)| *t <= at(1_000_000)), "{:?}", bench.sent);
    bench.run_to(at(7_000_000));
    assert!(!bench.times(1).is_empty() && !bench.times(2).is_empty());
}

#[test]
fn flows_share_a_full_link_by_their_rates_and_catch_up_within_the_backlog() {
    let flows =
        vec![flow(1, 3, 1000, Rate::LineShare(800_000)), flow(2, 0, 500, Rate::LineShare(200_000))];
    let mut plan = plan(flows);
    plan.backlog = Duration::from_micros(20);
    let mut bench = Bench::new(&plan);
    bench.run_to(Instant::ZERO + Duration::from_millis(10));
    // 10 ms at 10 Gb/s are 12.5 MB.
    let octets = |id, size: u64| bench.times(id).len() as u64 * (size + 20);
    assert!(octets(1, 1000).abs_diff(10_000_000) < 5_000, "{}", octets(1, 1000));
    assert!(octets(2, 500).abs_diff(2_500_000) < 5_000, "{}", octets(2, 500));
}

#[test]
fn a_full_ring_and_a_dry_pool_delay_frames_and_lose_none() {
    let mut f = flow(1, 3, 200, LINE);
    f.frames = Some(500);
    let mut plan = plan(vec![f]);
    plan.backlog = Duration::from_millis(1);
    let mut bench = Bench::new(&plan);
    bench.host.port_mut().capacity = 0;
    bench.run_to(at(50_000_000));
    assert!(bench.sent.is_empty() && !bench.host.is_done());
    bench.host.port_mut().capacity = 64;
    bench.host.port_mut().pool = 100;
    bench.run_to(at(150_000_000));
    bench.host.port_mut().pool = usize::MAX;
    bench.run_to(at(900_000_000));
    let sequence: Vec<_> = bench.sent.iter().map(|(_, f)| probe(f).unwrap().sequence).collect();
    assert_eq!(sequence, (0..500).collect::<Vec<_>>());
    assert!(bench.host.is_done());
    let source = bench.host.snapshot(bench.now).sources[0];
    assert_eq!((source.frames, source.bytes), (500, 100_000));
    assert!(source.dry > 0);
}

#[test]
fn flows_end_at_their_time_even_while_paused() {
    let mut f = flow(1, 3, 1000, LINE);
    (f.start, f.stop) = (at(2_000_000), at(8_000_000));
    let mut plan = plan(vec![f]);
    plan.backlog = Duration::from_secs(1);
    let mut bench = Bench::new(&plan);
    bench.run_to(at(5_000_000));
    assert_eq!(bench.times(1).first(), Some(&at(2_000_000)));
    bench.pfc(3, 1000);
    bench.run_to(at(9_000_000));
    assert!(bench.host.is_done());
    bench.run_to(at(100_000_000));
    assert!(bench.times(1).iter().all(|t| *t <= at(5_000_000)));
}

#[test]
fn a_stopped_station_still_sends_what_the_port_had_refused() {
    let mut plan = plan(vec![flow(1, 3, 64, LINE)]);
    plan.shaper_burst = Bytes(1_000);
    let mut bench = Bench::new(&plan);
    bench.host.port_mut().capacity = 0;
    bench.run_to(at(1_000_000));
    bench.host.stop();
    assert!(!bench.host.is_done());
    bench.host.port_mut().capacity = 64;
    bench.run_to(at(2_000_000));
    assert!(bench.host.is_done());
    let made = bench.host.snapshot(bench.now).sources[0].frames;
    assert!(made > 0 && bench.times(1).len() as u64 == made, "{made}");
}

#[test]
fn what_one_station_sends_the_other_counts_once_with_its_latency() {
    let v4 = Udp {
        src: [10, 0, 0, 1].into(),
        dst: [10, 0, 0, 2].into(),
        src_port: 1000,
        dst_port: 4791,
        dscp: Dscp::new(26).unwrap(),
        ecn: Ecn::Ect0,
    };
    let v6 = Udp {
        src: "fd00::1".parse().unwrap(),
        dst: "fd00::2".parse().unwrap(),
        src_port: 1000,
        dst_port: 4791,
        dscp: Dscp::new(26).unwrap(),
        ecn: Ecn::Ect0,
    };
    let mut flows = vec![
        flow(7, 3, 300, Rate::Frames(100_000)),
        flow(300, 4, 1500, Rate::FrameBits(BitsPerSec::gbps(1))),
        flow(9, 0, 64, Rate::LineShare(1_000)),
    ];
    flows[0].headers = Headers::Udp4(v4);
    flows[0].tag = None;
    flows[1].headers = Headers::Udp6(v6);
    flows[1].tag = Some(Tag { vid: Vid::new(100), pcp: Pcp::new(4).unwrap() });
    let mut sender = plan(flows);
    // A frame that finds the link busy is late and does not delay those behind it.
    sender.backlog = Duration::from_micros(5);
    let mut bench = Bench::new(&sender);
    bench.run_to(Instant::ZERO + Duration::from_millis(1));

    let mut sink_plan = plan(vec![]);
    (sink_plan.mac, sink_plan.expects) = (PEER, [7, 300].map(FlowId).into());
    let (near, mut far) = MemPort::pair(1 << 20);
    let mut sink = Station::new(&sink_plan, near).unwrap();
    let delay = Duration::from_nanos(1234);
    for (t, frame) in &bench.sent {
        check_checksums(frame);
        far.give(frame.clone());
        sink.poll(*t + delay);
    }
    let now = bench.now + delay;
    let (sent, got) = (bench.host.snapshot(now), sink.snapshot(now));
    // 100 in a millisecond, and 1500 bytes at 1 Gb/s every 12 us; the one at 0 counts as well.
    assert_eq!([sent.sources[0].frames, sent.sources[1].frames], [101, 84]);
    for source in &sent.sources[..2] {
        let s = got.sink(source.id).unwrap();
        assert_eq!((s.frames, s.bytes), (source.frames, source.bytes));
        assert_eq!((s.duplicates, s.reordered, s.ce_marked, s.ahead), (0, 0, 0, 0));
        assert_eq!((s.latency.min(), s.latency.max()), (delay, delay));
        assert_eq!(s.latency.count(), s.frames);
    }
    assert_eq!(got.counters.unexpected, sent.sources[2].frames);
    assert_eq!(got.counters.foreign, 0);
}

/// IPv4 header and UDP checksums by RFC 791, 768 and 8200.
fn check_checksums(frame: &MemFrame) {
    let walk = vlan::walk(frame.head()).unwrap();
    let Ok(packet) = ip::View::new(walk.ethertype, &frame.head()[walk.l3..]) else { return };
    if let ip::View::V4(v) = packet {
        assert!(v.checksum_ok());
    }
    let datagram = udp::View::new(packet.upper().unwrap().payload).unwrap();
    assert_ne!(datagram.checksum(), 0);
    assert_eq!(datagram.checksum_ok(packet.src(), packet.dst()), Ok(true));
}

#[test]
fn what_is_no_flows_frame_is_counted_by_what_it_is() {
    let mut bench = Bench::new(&plan(vec![]));
    let octets =
        |dst: Mac, ethertype: [u8; 2]| [&dst.0[..], &PEER.0, &ethertype, &[0; 46]].concat();
    bench.far.give(MemFrame::new(&octets(PEER, [0x08, 0x00])));
    bench.far.give(MemFrame::new(&octets(HOST, [0x08, 0x00])));
    bench.far.give(MemFrame::new(&octets(Mac::BROADCAST, [0x08, 0x06])));
    bench.far.give(MemFrame::new(&octets(HOST, [0x88, 0x08])));
    bench.far.give(MemFrame::new(&[2; 5]));
    bench.settle();
    let c = bench.host.snapshot(bench.now).counters;
    assert_eq!((c.rx_frames, c.foreign, c.unexpected, c.malformed), (5, 1, 3, 1));
    assert_eq!(c.pauses_received, 0);
}

#[test]
fn planned_pauses_go_out_on_time_and_ahead_of_data() {
    let mut plan = plan(vec![flow(1, 3, 1500, LINE)]);
    plan.pauses.push(PausePlan {
        ask: Demand::pfc(PrioritySet::of(priority(4)), Quanta(77)),
        start: at(3_000_000),
        every: Duration::from_micros(5),
        frames: 3,
    });
    let mut bench = Bench::new(&plan);
    bench.run_to(at(30_000_000));
    let pauses: Vec<_> = bench
        .sent
        .iter()
        .filter_map(|(t, f)| Some((*t, pfc::Repr::parse(f.head()).ok()?)))
        .collect();
    assert_eq!(pauses.len(), 3);
    for (n, (t, repr)) in pauses.iter().enumerate() {
        let due = at(3_000_000 + n as u64 * 5_000_000);
        // Each waits at most for the frame on the line.
        assert!(*t >= due && t.since(due) < on_line(1500), "{t:?}");
        assert_eq!((repr.src, repr.time(priority(4))), (HOST, Some(Quanta(77))));
        assert_eq!(repr.time(priority(3)), None);
    }
    assert_eq!(bench.host.snapshot(bench.now).counters.priorities[4].sent, 3);
}

#[test]
fn plans_that_cannot_be_run_are_refused() {
    let refused = |change: fn(&mut FlowPlan)| {
        let mut f = flow(5, 3, 100, LINE);
        change(&mut f);
        plan(vec![f]).check().unwrap_err()
    };
    let short = PlanError::Short { flow: 5, size: 63, min: 64 };
    assert_eq!(refused(|f| f.size = 63), short);
    assert_eq!(refused(|f| f.size = 16_385), PlanError::Long { flow: 5, size: 16_385 });
    assert_eq!(refused(|f| f.rate = Rate::LineShare(0)), PlanError::Rate(5));
    assert_eq!(refused(|f| f.rate = Rate::LineShare(1_000_001)), PlanError::Rate(5));
    assert_eq!(refused(|f| f.rate = Rate::Frames(0)), PlanError::Rate(5));
    assert_eq!(refused(|f| f.rate = Rate::FrameBits(LINK)), PlanError::Rate(5));
    assert_eq!(refused(|f| f.id = FlowId(65_536)), PlanError::FlowId(65_536));
    let twice = plan(vec![flow(5, 3, 100, LINE), flow(5, 0, 100, LINE)]);
    assert_eq!(twice.check(), Err(PlanError::Twice(5)));
}
