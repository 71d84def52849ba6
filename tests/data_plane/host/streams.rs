//! Streams of a traffic generator in virtual time: the times of their frames, and their order.

use proptest::prelude::*;
use sluice::frame::Frame;
use sluice::host::plan::stream::{
    Burst, Checksum, Covered, Edit, MeterPlan, Path, Sizes, StreamPlan, TemplatePlan, Values,
};
use sluice::host::probe::PROBE_ETHERTYPE;
use sluice::host::{
    FlowId, PlanError, Rate, Recording, Station, StationPlan, StationSnapshot, StreamState,
    TesterPlan,
};
use sluice::time::{Duration, Instant};
use sluice::units::{Bytes, Quanta};
use sluice::wire::{mac_control, pfc};

use crate::bench::{Bench, HOST, LINE, LINK, PEER, obeying, priority, probe, stream};
use crate::mem_port::{MemFrame, MemPort};

/// Start of the streams in all tests.
const EPOCH: Instant = Instant::from_picos(1_000_000);

fn data(id: u32, p: u8, size: u32, rate: Rate) -> StreamPlan {
    let ethertype = PROBE_ETHERTYPE.0.to_be_bytes();
    let headers = [&PEER.0[..], &HOST.0, &ethertype].concat();
    StreamPlan { path: Path::Data(priority(p)), ..stream(id, headers, 14, size, rate) }
}

/// Pauses of priority 3 on the control path.
fn storm(id: u32, rate: Rate) -> StreamPlan {
    let mut repr = pfc::Repr::new(HOST);
    repr.set(priority(3), Quanta(0xffff));
    let mut headers = vec![0; mac_control::FRAME_LEN];
    mac_control::Repr::Pfc(repr).emit(&mut headers).unwrap();
    let mut plan = data(id, 0, 64, rate);
    plan.path = Path::Control;
    plan.template.headers = headers;
    plan.template.probe_at = None;
    plan
}

fn plan(streams: Vec<StreamPlan>) -> StationPlan {
    StationPlan { tester: TesterPlan { streams, ..TesterPlan::default() }, ..obeying(&[3]) }
}

impl Bench {
    /// With all streams started.
    fn started(plan: &StationPlan) -> Self {
        Self::started_at(plan, EPOCH)
    }

    fn started_at(plan: &StationPlan, epoch: Instant) -> Self {
        let mut bench = Self::new(plan);
        let ids: Vec<_> = plan.tester.streams.iter().map(|s| s.id).collect();
        bench.host.start_streams(epoch, &ids);
        bench
    }

    /// Times of the frames of stream `id`, in picoseconds from the epoch.
    fn since_epoch(&self, id: u32) -> Vec<u64> {
        self.times(id).iter().map(|t| t.since(EPOCH).as_picos()).collect()
    }

    /// Times of the frames of the control path.
    fn pauses(&self) -> Vec<u64> {
        let times = self.sent.iter().filter(|(_, f)| f.head()[12..14] == [0x88, 0x08]);
        times.map(|(t, _)| t.since(EPOCH).as_picos()).collect()
    }

    fn snapshot(&self) -> StationSnapshot {
        self.host.snapshot(self.now)
    }
}

#[test]
fn frames_of_another_run_are_counted_apart() {
    for (run, counted, apart) in [(7, 3, 0), (8, 0, 3), (6, 0, 3)] {
        let mut stream = data(1, 3, 64, Rate::Frames(500_000));
        (stream.limit.frames, stream.template.run) = (Some(3), run);
        let mut sender = Bench::started(&plan(vec![stream]));
        sender.run_to(after(10_000_000));
        let meter =
            Some(MeterPlan { streams: vec![(FlowId(1), priority(3))], ..MeterPlan::default() });
        let mut receiver = Bench::new(&StationPlan {
            expects: vec![FlowId(1)],
            tester: TesterPlan { run: 7, meter, ..TesterPlan::default() },
            ..StationPlan::new("receiver", PEER, LINK)
        });
        sender.sent.into_iter().for_each(|(_, frame)| receiver.far.give(frame));
        receiver.settle();
        let seen = receiver.snapshot();
        let (frames, counters) = (seen.sink(FlowId(1)).unwrap().frames, &seen.counters);
        assert_eq!((frames, counters.other_runs, counters.unexpected), (counted, apart, 0));
    }
}

fn on_line(size: u32) -> u64 {
    LINK.time_for(Bytes(u64::from(size + 20))).as_picos()
}

fn after(ps: u64) -> Instant {
    EPOCH + Duration::from_picos(ps)
}

proptest! {
    #[test]
    fn frames_leave_at_their_pace_to_the_picosecond(
        size in 64_u32..2000, n in 1_u64..600_000, delay in 0_u64..1_000_000, frames in 1_u64..60
    ) {
        let mut s = data(1, 3, size, Rate::Frames(n));
        (s.limit.frames, s.delay) = (Some(frames), Duration::from_picos(delay));
        let mut bench = Bench::started(&plan(vec![s]));
        bench.run_to(Instant::ZERO + Duration::from_secs(100));
        // The carried remainder: never more than a picosecond behind the exact time.
        let exact = |i: u64| delay + (u128::from(i) * 1_000_000_000_000 / u128::from(n)) as u64;
        prop_assert_eq!(bench.since_epoch(1), (0..frames).map(exact).collect::<Vec<_>>());
        let snapshot = bench.snapshot();
        let c = snapshot.stream(FlowId(1)).unwrap();
        prop_assert_eq!((c.frames, c.bytes, c.dry), (frames, frames * u64::from(size), 0));
        prop_assert_eq!(c.state, StreamState::Done);
        prop_assert!(bench.host.is_done());
        prop_assert_eq!(c.first_sent, Some(after(delay)));
        prop_assert_eq!(c.last_sent, Some(after(exact(frames - 1))));
        prop_assert_eq!(c.gaps.count(), frames - 1);
        if frames > 1 {
            let interval = 1_000_000_000_000 / n;
            prop_assert!((interval..=interval + 1).contains(&c.gaps.min().as_picos()));
            prop_assert!((interval..=interval + 1).contains(&c.gaps.max().as_picos()));
        }
    }

    #[test]
    fn polling_more_often_changes_nothing(
        extra in prop::collection::vec(0_u64..6_000_000, 0..60),
        pause_at in 1_000_000_u64..4_000_000, quanta in 0_u16..40,
        waits in 1_000_000_u64..4_000_000, wait in 1_u64..500_000, before in 0_u64..6_000_000,
    ) {
        let mut mixed = data(2, 0, 0, Rate::LineShare(400_000));
        mixed.sizes = Sizes::Weighted(vec![(64, 3.0), (300, 2.0), (900, 1.0)]);
        let mut bursts = data(3, 5, 200, LINE);
        bursts.pace.burst = Some(Burst { frames: 4, gap: Duration::from_picos(777_777) });
        bursts.limit.time = Some(Duration::from_picos(3_000_000));
        let mut plan =
            plan(vec![data(1, 3, 700, Rate::LineShare(300_000)), mixed, bursts, storm(4, Rate::Frames(900_000))]);
        plan.backlog = Duration::from_picos(400_000);
        let run = |begin: Instant, polls: &[u64]| {
            let after = |ps: u64| begin + Duration::from_picos(ps);
            let mut bench = Bench::started_at(&plan, after(1_000_000));
            bench.now = begin;
            let mut stops: Vec<_> = polls.iter().map(|ps| (after(*ps), 0)).collect();
            stops.extend([(after(pause_at), 1), (after(waits), 2), (after(waits + wait), 3)]);
            stops.push((after(6_000_000), 0));
            stops.sort_unstable();
            for (stop, what) in stops {
                // External actions happen before the poll at their time.
                let before = stop.saturating_sub(Duration::from_picos(1));
                bench.run_to(before.max(bench.now));
                bench.now = bench.now.max(stop);
                match what {
                    1 => bench.pfc(3, quanta),
                    2 => bench.host.pause_streams(stop, &[FlowId(2), FlowId(4)]),
                    3 => bench.host.resume_streams(stop, &[FlowId(2), FlowId(4)]),
                    _ => {}
                }
                bench.run_to(bench.now);
            }
            let streams = bench.snapshot().streams;
            let states: Vec<_> = streams.iter().map(|s| (s.state, s.gaps.mean(), s.gaps.max())).collect();
            let sent = bench.sent.into_iter().map(|(t, frame)| (t.since(begin), frame));
            (sent.collect::<Vec<_>>(), states)
        };
        let needed = run(Instant::ZERO, &[]);
        prop_assert!(needed.0.len() > 20, "the run means something: {} frames", needed.0.len());
        prop_assert_eq!(run(Instant::ZERO, &extra), needed);
        // Across 2^64 ps, where instants no longer fit into one word, as across 2^48 ps, the
        // modulus of the times of sending in frames.
        let across = |end: u128| run(Instant::from_picos(end).saturating_sub(Duration::from_picos(before)), &[]);
        prop_assert_eq!(across(1 << 64), across(1 << 48));
    }

    #[test]
    fn frames_made_together_are_those_made_one_by_one(
        gaps in prop::collection::vec(1_u64..9_000_000, 1..40), rate in 1_000_u64..12_000_000,
        burst in 0_u64..20_000, backlog in 0_u64..20_000_000, size in 160_u32..190,
        fields in 0_usize..3, sums in 0_usize..3, frames in 1_u64..400, pool in 1_usize..500,
        other in any::<bool>(),
    ) {
        let mut s = data(1, 3, size, Rate::Frames(rate.min(LINK.get() / 8 / u64::from(size + 20))));
        s.limit.frames = Some(frames);
        s.template.headers.resize(136, 9);
        s.template.probe_at = Some(136 - 18 * 6);
        let edit = |at, skip, bits, values| Edit { at, skip, bits, values };
        s.template.edits = vec![
            edit(13, 3, 27, Values::Increment { start: 5, step: 77, count: 9 }),
            edit(18, 0, 16, Values::Random { min: 0, max: 300, count: 9, seed: 2 }),
        ];
        s.template.edits.truncate(fields);
        let over = [Covered::Header(0, 24), Covered::Payload4 { ip: 0, from: 24, udp: true }];
        let sum = |(at, over)| Checksum { at, over, bad: false };
        s.template.checksums = [22, 26].into_iter().zip(over).take(sums).map(sum).collect();
        // A field that never changes and cannot be changed in a burst: frames are made one by one.
        let mut single = s.clone();
        single.template.edits.push(edit(131, 0, 8, Values::List(vec![9])));
        let run = |s: &StreamPlan| {
            let mut streams = vec![s.clone()];
            if other {
                streams.push(data(2, 0, 100, Rate::Frames(200_000)));
            }
            let mut plan = plan(streams);
            plan.backlog = Duration::from_picos(backlog);
            plan.shaper_burst = Bytes(burst);
            let mut bench = Bench::started(&plan);
            bench.host.port_mut().pool = pool;
            for gap in &gaps {
                bench.now += Duration::from_picos(*gap);
                bench.settle();
            }
            bench.host.port_mut().pool = usize::MAX;
            bench.run_to(bench.now + Duration::from_micros(30));
            let c = bench.snapshot().streams[0].clone();
            let gaps = (c.gaps.count(), c.gaps.min(), c.gaps.max(), c.gaps.mean());
            (bench.sent, (c.frames, c.bytes, c.state, c.first_sent, c.last_sent), gaps)
        };
        let (one, many) = (run(&single), run(&s));
        prop_assert_eq!(many.0.len(), one.0.len());
        for (n, (many, one)) in many.0.iter().zip(&one.0).enumerate() {
            prop_assert_eq!(many, one, "frame {}", n);
        }
        prop_assert_eq!((many.1, many.2), (one.1, one.2));
    }

    #[test]
    fn no_data_holds_the_control_path_up_by_more_than_a_frame(
        size in 64_u32..1500, pps in 1_000_u64..2_000_000, drained in 0_usize..3,
    ) {
        // Data takes all of the line, and the port refuses more than a few frames ahead.
        let mut plan = plan(vec![data(1, 3, size, LINE), storm(9, Rate::Frames(pps))]);
        plan.backlog = Duration::from_millis(1);
        plan.shaper_burst = Bytes(50_000);
        let mut bench = Bench::started(&plan);
        bench.host.port_mut().capacity = 3;
        let (mut waits, mut sent) = (0, 0);
        for step in 0..400_u64 {
            bench.now = after(step * 500_000);
            bench.host.poll(bench.now);
            let mut inbox = sluice::frame::Burst::new();
            sluice::port::Port::rx_burst(&mut bench.far, &mut inbox);
            // Frames that the port took in this poll: pauses are ahead of all data.
            let kinds: Vec<bool> = inbox.iter().map(|f| probe(f).is_none()).collect();
            prop_assert!(kinds.windows(2).all(|w| w[0] >= w[1]), "{kinds:?}");
            sent += kinds.iter().filter(|k| **k).count() as u64;
            let due = step * 500_000 * pps / 1_000_000_000_000 + 1;
            waits = waits.max(due.saturating_sub(sent));
            bench.host.port_mut().capacity = 3 + drained;
        }
        // A frame may be on the line, and its end lie between two polls.
        let most = (500_000 + on_line(size)) * pps / 1_000_000_000_000 + 1;
        prop_assert!(waits <= most, "{waits} wait, {most} may");
    }
}

#[test]
fn the_control_path_waits_for_one_frame_on_the_line_and_for_no_pause() {
    let plan = plan(vec![data(1, 3, 1500, LINE), storm(9, Rate::Frames(500_000))]);
    let mut bench = Bench::started(&plan);
    bench.run_to(after(50_000_000));
    bench.pfc(3, 0xffff);
    bench.run_to(after(100_000_000));
    let pauses = bench.pauses();
    assert_eq!(pauses.len(), 51);
    for (n, t) in pauses.iter().enumerate() {
        let due = n as u64 * 2_000_000;
        assert!(*t >= due && *t < due + on_line(1500), "pause {n} at {t}");
    }
    assert!(bench.since_epoch(1).iter().all(|t| *t <= 50_000_000), "data obeys");
    let c = bench.snapshot();
    assert_eq!((c.counters.pauses_sent, c.counters.priorities[3].sent), (51, 51));
    assert_eq!(c.stream(FlowId(9)).unwrap().frames, 51);
}

#[test]
fn bursts_have_exactly_their_gaps_from_the_end_of_the_last_frame() {
    let mut s = data(1, 3, 200, LINE);
    s.pace.burst = Some(Burst { frames: 3, gap: Duration::from_picos(1_000_001) });
    s.limit.frames = Some(8);
    let mut bench = Bench::started(&plan(vec![s]));
    bench.run_to(after(100_000_000));
    let frame = on_line(200);
    // Preamble and frame, without the gap after it, which is part of the burst's gap.
    let end = LINK.time_for(Bytes(208)).as_picos();
    let cycle = 2 * frame + end + 1_000_001;
    let want: Vec<_> = (0..8).map(|n| n / 3 * cycle + n % 3 * frame).collect();
    assert_eq!(bench.since_epoch(1), want);
}

#[test]
fn a_mix_of_sizes_keeps_its_rate_though_long_frames_take_their_time() {
    let mut s = data(1, 3, 0, Rate::Frames(1_800_000));
    s.sizes = Sizes::Weighted(vec![(64, 7.0), (570, 4.0), (1518, 1.0)]);
    let mut bench = Bench::started(&plan(vec![s]));
    bench.run_to(after(10_000_000_000));
    let n = bench.since_epoch(1).len();
    assert!((17_995..=18_001).contains(&n), "{n}");
}

#[test]
fn a_time_limit_ends_a_stream_even_while_it_is_paused_by_the_peer() {
    let mut s = data(1, 3, 1000, LINE);
    s.limit.time = Some(Duration::from_micros(10));
    let mut plan = plan(vec![s]);
    plan.backlog = Duration::from_secs(1);
    let mut bench = Bench::started(&plan);
    bench.run_to(after(5_000_000));
    bench.pfc(3, 0xffff);
    bench.run_to(after(9_999_999));
    assert_eq!(bench.snapshot().streams[0].state, StreamState::Started);
    bench.now = after(10_000_000);
    assert_eq!(bench.snapshot().streams[0].state, StreamState::Done);
    bench.run_to(after(5_000_000_000));
    assert!(bench.since_epoch(1).iter().all(|t| *t <= 5_000_000));
    assert!(bench.host.is_done());
}

#[test]
fn streams_start_stop_wait_and_go_on_as_they_are_told() {
    let mut limited = data(2, 0, 64, Rate::Frames(1_000_000));
    limited.limit.time = Some(Duration::from_micros(10));
    let mut bench = Bench::new(&plan(vec![data(1, 3, 64, Rate::Frames(1_000_000)), limited]));
    bench.run_to(EPOCH);
    assert!(bench.sent.is_empty() && bench.host.is_done(), "nothing before it is started");
    bench.host.start_streams(EPOCH, &[FlowId(1), FlowId(2), FlowId(77)]);
    bench.run_to(after(3_500_000));
    bench.host.pause_streams(bench.now, &[FlowId(2)]);
    bench.run_to(after(5_200_000));
    assert_eq!(bench.snapshot().streams[1].state, StreamState::Paused);
    bench.host.resume_streams(bench.now, &[FlowId(1), FlowId(2)]);
    bench.host.stop_streams(&[FlowId(1)]);
    bench.run_to(after(30_000_000));
    // Of two that are due at once, that of the lower priority goes first, while there are two.
    assert_eq!(
        bench.since_epoch(1).iter().map(|t| t / 1000).collect::<Vec<_>>(),
        [67, 1067, 2067, 3067, 4000, 5000]
    );
    // 1.7 us later from the fourth on, and one microsecond apart to the tenth; two may be due at
    // once.
    let late = bench.since_epoch(2);
    assert_eq!(late.len(), 10);
    assert!(late[4..].iter().zip(5..).all(|(t, n)| t - (n * 1_000_000 + 700_000) < on_line(64)));
    let snapshot = bench.snapshot();
    let states: Vec<_> = snapshot.streams.iter().map(|s| s.state).collect();
    assert_eq!(states, [StreamState::Stopped, StreamState::Done]);
    // Once more: counted from zero, numbered as before.
    bench.sent.clear();
    bench.host.start_streams(after(40_000_000), &[FlowId(2)]);
    bench.run_to(after(80_000_000));
    assert_eq!(bench.snapshot().streams[1].frames, 10);
    let numbers: Vec<_> = bench.sent.iter().map(|(_, f)| probe(f).unwrap().sequence).collect();
    assert_eq!(numbers, (10..20).collect::<Vec<_>>());
    assert_eq!(bench.since_epoch(2)[0], 40_000_000);
}

#[test]
fn a_dry_pool_delays_frames_and_changes_none() {
    let mut s = data(1, 3, 0, LINE);
    s.sizes = Sizes::Random { min: 64, max: 200 };
    s.template.edits.push(Edit {
        at: 6,
        skip: 4,
        bits: 40,
        values: Values::Random { min: 0, max: 1 << 39, count: 40, seed: 3 },
    });
    s.limit.frames = Some(100);
    let run = |pool: usize| {
        let mut plan = plan(vec![s.clone()]);
        plan.backlog = Duration::from_millis(1);
        let mut bench = Bench::started(&plan);
        bench.host.port_mut().pool = pool;
        bench.run_to(after(20_000_000));
        bench.host.port_mut().pool = usize::MAX;
        bench.run_to(after(900_000_000));
        let dry = bench.snapshot().streams[0].dry;
        let octets = |f: &MemFrame| (f.head()[..26].to_vec(), f.wire_len());
        (bench.sent.iter().map(|(_, f)| octets(f)).collect::<Vec<_>>(), dry)
    };
    let (whole, none) = run(usize::MAX);
    let (late, dry) = run(33);
    assert_eq!((whole.len(), none), (100, 0));
    assert!(whole == late && dry > 0, "{dry}");
}

#[test]
fn short_frames_are_filled_up_unless_the_port_sends_them_as_they_are() {
    let mut s = data(1, 3, 20, Rate::Frames(1_000));
    s.template.probe_at = None;
    s.limit.frames = Some(1);
    let run = |frame_min| {
        let (mut near, mut far) = MemPort::pair(8);
        near.frame_min = frame_min;
        let mut host = Station::new(&plan(vec![s.clone()]), near).unwrap();
        host.start_streams(Instant::ZERO, &[FlowId(1)]);
        host.poll(Instant::ZERO);
        (far.take()[0].head().to_vec(), host.snapshot(Instant::ZERO).streams[0].bytes)
    };
    let ((filled, 64), (whole, 20)) = (run(64), run(18)) else { panic!("{:?}", run(18)) };
    assert_eq!((filled.len(), whole.len()), (60, 16));
    assert_eq!((&filled[..16], &filled[16..]), (&whole[..], &[0; 44][..]));
}

#[test]
fn what_is_sent_is_counted_once_at_the_sink() {
    let mut sender = plan(vec![data(1, 3, 64, LINE), data(2, 0, 1500, Rate::Frames(100_000))]);
    sender.backlog = Duration::from_micros(5);
    let mut bench = Bench::started(&sender);
    bench.run_to(after(100_000_000));
    let mut sink_plan = plan(vec![]);
    (sink_plan.mac, sink_plan.expects) = (PEER, [1, 2].map(FlowId).into());
    let (near, mut far) = MemPort::pair(1 << 20);
    let mut sink = Station::new(&sink_plan, near).unwrap();
    for (t, frame) in &bench.sent {
        far.give(frame.clone());
        sink.poll(*t + Duration::from_nanos(99));
    }
    let (sent, got) = (bench.snapshot(), sink.snapshot(bench.now));
    for c in &sent.streams {
        let s = got.sink(c.id).unwrap();
        assert_eq!((s.frames, s.bytes, s.duplicates), (c.frames, c.bytes, 0));
        assert_eq!(s.latency.min(), Duration::from_nanos(99));
    }
}

#[test]
fn a_stream_with_the_number_of_another_is_refused() {
    let twice = plan(vec![data(1, 3, 64, LINE), data(1, 0, 64, LINE)]);
    assert_eq!(twice.check(), Err(PlanError::Twice(1)));
    let mut wrong = plan(vec![data(1, 3, 31, LINE)]);
    let why = "31 octets are too few, headers, probe and FCS take 36".into();
    assert_eq!(wrong.check(), Err(PlanError::Stream { flow: 1, field: "sizes", why }));
    wrong.tester.streams.clear();
    assert_eq!(wrong.check(), Ok(()));
}

/// A stream of three frames, recorded 3 us and 5 us apart, the last of which was truncated.
fn recorded(timed: bool) -> StreamPlan {
    let frame = |us: u64, octet: u8, kept: usize, len: u32| {
        (Instant::ZERO + Duration::from_micros(us), vec![octet; kept], len)
    };
    let frames = [frame(9, 1, 60, 60), frame(12, 2, 200, 200), frame(17, 3, 100, 1_000)];
    let recording = Recording::new(frames, timed).unwrap();
    let mut plan = data(5, 3, 64, Rate::Frames(1_000_000));
    plan.template = TemplatePlan::default();
    plan.sizes = recording.sizes();
    plan.recording = Some(recording);
    plan
}

#[test]
fn a_recording_is_sent_as_it_was_and_when_it_was() {
    let whole = |octet: u8, kept: usize, len: usize| {
        let mut frame = vec![octet; kept];
        frame.resize(len, 0);
        frame
    };
    let once = [whole(1, 60, 60), whole(2, 200, 200), whole(3, 100, 1_000)];
    for (timed, micros) in [(true, [0, 3, 8, 12, 15, 20, 24]), (false, [0, 1, 2, 3, 4, 5, 6])] {
        let mut stream = recorded(timed);
        stream.limit.frames = Some(7);
        let ids = [stream.id];
        let mut bench = Bench::started(&plan(vec![stream]));
        bench.run_to(EPOCH + Duration::from_micros(100));
        let want = micros.map(|us| EPOCH + Duration::from_micros(us));
        let times: Vec<_> = bench.sent.iter().map(|(at, _)| *at).collect();
        assert_eq!(times, want, "timed {timed}");
        for ((_, frame), want) in bench.sent.iter().zip(once.iter().cycle()) {
            assert_eq!(frame.head(), want);
        }
        let counters = bench.host.streams().next().unwrap();
        assert_eq!((counters.state, counters.frames), (StreamState::Done, 7));
        // After a restart it begins with its first frame.
        bench.sent.clear();
        bench.host.start_streams(bench.now, &ids);
        bench.run_to(EPOCH + Duration::from_micros(101));
        assert_eq!(bench.sent[0].1.head(), once[0]);
    }
}

#[test]
fn a_recording_obeys_pauses_and_has_no_template() {
    let mut bench = Bench::started(&plan(vec![recorded(true)]));
    bench.pfc(3, 0xffff);
    bench.run_to(EPOCH + Duration::from_micros(50));
    assert!(bench.sent.is_empty());
    bench.pfc(3, 0);
    bench.run_to(EPOCH + Duration::from_micros(100));
    assert!(!bench.sent.is_empty());
    let mut both = recorded(true);
    both.template.headers = vec![0; 20];
    let refused = plan(vec![both]).check().unwrap_err();
    assert!(matches!(refused, PlanError::Stream { field: "template", .. }), "{refused}");
}
