//! Stations that obey source flow control messages, in virtual time: the flows that stop, for how
//! long, and those that continue.

mod transports;

use proptest::prelude::*;
use sluice::congestion::proxy::Senders;
use sluice::congestion::{SourceMap, Trusted};
use sluice::frame::LINE_OVERHEAD_BYTES;
use sluice::host::plan::stream::{Edit, StreamPlan, Values};
use sluice::host::{
    COMMITTED_MAX, FlowId, FlowPlan, InNetwork, PATH_SPACING, PlanError, Rate, ReactionsPlan,
    RocePlan, SfcPause, SfcReaction, SfcmCounters, StationPlan, TcpPlan, TesterPlan, Transport,
    TransportPlan,
};
use sluice::time::{Duration, Instant, Total};
use sluice::units::{Bytes, Dscp, Mac, Priority};
use sluice::wire::flow::FiveTuple;
use sluice::wire::ip::Protocol;
use sluice::wire::roce::U24;
use sluice::wire::sfcm::Locator;
use sluice::wire::sfcm::{Form, PORT_DEFAULT};
use sluice::wire::{EtherType, msdu};

use crate::bench::{self, Bench, HOST, LINK, PEER, obeying, priority};
use crate::mem_port::MemFrame;
use crate::messages::{Message, frame, udp};

/// The longest pause of a message here.
const LONGEST: Duration = Duration::from_micros(500);

fn at(us: u64) -> Instant {
    Instant::ZERO + us_(us)
}

const fn us_(us: u64) -> Duration {
    Duration::from_micros(us)
}

fn tuple(id: u32, v6: bool) -> FiveTuple {
    let (src, dst) = if v6 { ("fd00::1", "fd00::2") } else { ("10.0.0.1", "10.0.0.2") };
    udp(src, 1_000 + id as u16, dst, 2_000)
}

/// A fifth of the link.
const FIFTH: Rate = Rate::LineShare(200_000);

/// A flow of a fifth of the link.
fn flow(id: u32, p: u8, v6: bool) -> FlowPlan {
    let FiveTuple { src_port, dst_port, .. } = tuple(id, v6);
    let headers = bench::udp(v6, src_port, dst_port);
    FlowPlan { priority: priority(p), rate: FIFTH, ..bench::flow(id, headers) }
}

fn plan(pause: SfcPause, flows: Vec<FlowPlan>) -> StationPlan {
    let sfc = SfcReaction { pause, longest: LONGEST, ..SfcReaction::default() };
    StationPlan {
        flows,
        reactions: ReactionsPlan { sfc: Some(sfc), qcn: None },
        ..obeying(&[3, 4])
    }
}

impl Bench {
    fn message(&mut self, octets: &[u8]) {
        self.far.give(MemFrame::new(octets));
    }

    fn sfcm(&self) -> SfcmCounters {
        self.host.reactions_at(self.now).unwrap().sfcm.unwrap()
    }

    /// True if flow `id` sent anything after `from` and before `to`, both in microseconds.
    fn sends(&self, id: u32, from: u64, to: u64) -> bool {
        self.times(id).iter().any(|t| *t > at(from) && *t < at(to))
    }
}

/// Time of a frame of `size` bytes on the link.
fn on_line(size: u32) -> Duration {
    LINK.time_for(Bytes(u64::from(size + LINE_OVERHEAD_BYTES)))
}

proptest! {
    #[test]
    fn a_flow_stops_for_exactly_the_time_of_the_message_and_no_other_does(
        nanos in 1_u64..600_000, start in 0_u64..5_000_000, v6: bool, tags in 0_usize..3,
        encapsulated: bool,
    ) {
        let mut flows = vec![flow(1, 3, v6), flow(2, 3, v6)];
        flows[0].rate = Rate::LineShare(500_000);
        let mut bench = Bench::new(&plan(SfcPause::Flow, flows));
        bench.run_to(Instant::from_picos(start.into()));
        let from = bench.now;
        let mut message = Message::about(tuple(1, v6), 3, Duration::from_nanos(nanos));
        let sent = bench.sent[0].1.clone();
        let head = sluice::frame::Frame::head(&sent);
        let mut room = [0; 64];
        if encapsulated {
            message.form = Form::Encapsulated(msdu::bounded(msdu::of_frame(head).unwrap().1, 64, &mut room));
        }
        bench.message(&message.frame(HOST, &[0xe005, 0x0006][..tags]));
        bench.run_to(from + us_(1_000));
        let until = from + Duration::from_nanos(nanos).min(LONGEST);
        let times = bench.times(1);
        let before = *times.iter().rfind(|t| **t <= from).unwrap();
        let after = *times.iter().find(|t| **t > from).unwrap();
        // The other flow may have a frame on the line at that time.
        let due = until.max(before + on_line(1_000).saturating_mul(2));
        prop_assert!(after >= due && after <= due + on_line(1_000), "{after:?} {due:?}");
        let others = bench.times(2);
        let gaps = others.windows(2).map(|w| w[1].since(w[0])).max().unwrap();
        prop_assert!(gaps <= on_line(1_000).saturating_mul(6), "{gaps}");
        let c = bench.sfcm();
        prop_assert_eq!((c.received, c.paused, c.time), (1, 1, until.total_since(from)));
        prop_assert_eq!(c.cut_to_longest, u64::from(Duration::from_nanos(nanos) > LONGEST));
        prop_assert_eq!(bench.host.counters_at(bench.now).priorities[3].transitions, 0);
        prop_assert_eq!(bench.host.counters().unexpected, 0);
    }

    #[test]
    fn polling_more_often_changes_nothing(
        extra in prop::collection::vec(0_u64..400_000_000, 0..60), by_flow: bool,
        messages in prop::collection::vec((0_u64..300_000_000, 0_u32..4, 0_u64..80_000), 0..12),
    ) {
        let pause = if by_flow { SfcPause::Flow } else { SfcPause::Priority };
        let run = |polls: &[u64]| {
            let flows = vec![flow(1, 3, false), flow(2, 3, true), flow(3, 4, false)];
            let mut bench = Bench::new(&plan(pause, flows));
            let given = messages.iter().map(|(ps, id, ns)| (*ps, (*id, *ns)));
            bench.run_with(polls, given, 400_000_000, |bench, (id, nanos)| {
                let flow = tuple(id, id == 2);
                let p = if id == 3 { 4 } else { 3 };
                let pause = Duration::from_nanos(nanos.saturating_sub(5_000));
                bench.message(&Message::about(flow, p, pause).frame(HOST, &[]));
            });
            (bench.sfcm(), bench.host.snapshot(bench.now).counters, bench.sent)
        };
        prop_assert_eq!(run(&extra), run(&[]));
    }

    #[test]
    fn after_a_message_no_more_leaves_than_is_committed(
        gaps in prop::collection::vec(0_u64..2_000_000, 1..40), ring in 1_usize..64,
        drained in prop::collection::vec(any::<bool>(), 1..40), after in 0_usize..40,
    ) {
        let mut one = flow(1, 3, false);
        (one.size, one.rate) = (64, Rate::LineShare(1_000_000));
        let mut plan = plan(SfcPause::Flow, vec![one]);
        plan.shaper_burst = Bytes(100_000);
        plan.backlog = Duration::from_millis(1);
        let mut bench = Bench::new(&plan);
        bench.far.capacity = ring;
        bench.host.port_mut().capacity = ring;
        let mut left = 0;
        for (i, gap) in gaps.iter().enumerate() {
            bench.now += Duration::from_picos(*gap);
            if i == after {
                bench.message(&Message::about(tuple(1, false), 3, LONGEST).frame(HOST, &[]));
            }
            bench.host.poll(bench.now);
            if drained[i % drained.len()] {
                let taken = bench.far.take().len();
                left += if i > after { taken } else { 0 };
            }
        }
        // Frames in the cable, and frames being processed.
        prop_assert!(left <= ring + COMMITTED_MAX, "{left}");
    }

    #[test]
    fn no_change_of_a_message_pauses_for_longer_than_the_plan_allows(
        changes in prop::collection::vec((0_usize..100, any::<u8>()), 0..6), cut in 0_usize..100,
        by_flow: bool, v6: bool, sum_right: bool,
    ) {
        let pause = if by_flow { SfcPause::Flow } else { SfcPause::Priority };
        let mut bench = Bench::new(&plan(pause, vec![flow(1, 3, v6), flow(2, 3, v6)]));
        bench.run_to(at(10));
        let mut octets = Message::about(tuple(1, v6), 3, us_(20)).frame(HOST, &[]);
        for (at, octet) in changes {
            if let Some(o) = octets.get_mut(at) {
                *o = octet;
            }
        }
        octets.truncate(octets.len() - cut.min(octets.len()) / 2);
        if sum_right && !v6 && octets.len() > 42 {
            // Without a checksum changes of the message itself are not detected.
            octets[40..42].fill(0);
        }
        bench.message(&octets);
        bench.run_to(at(1_500));
        let c = bench.sfcm();
        let judged = [
            c.paused, c.resumed, c.redundant, c.malformed, c.about_itself, c.sender, c.other_host,
            c.foreign_flow, c.no_flow_of_priority,
        ];
        prop_assert_eq!(c.received, judged.iter().sum::<u64>());
        let all = bench.host.counters();
        let others = all.unexpected + all.foreign + all.malformed + all.pauses_received;
        prop_assert_eq!(c.received + others, 1);
        prop_assert!(c.time <= LONGEST && bench.sends(1, 10 + 500, 10 + 520));
    }
}

#[test]
fn a_message_laid_out_by_hand_pauses_its_flow() {
    let octets = "020000000001 020000000002 0800 \
                  45c00034 00004000 401125f7 0a000002 0a000001 e4fee4fe 00203a7f \
                  00 43 68 00 00004e20 000e 0a000001 0a000002 11 00 03e9 07d0";
    let octets: String = octets.split_whitespace().collect();
    let octets: Vec<_> = (0..octets.len() / 2)
        .map(|n| u8::from_str_radix(&octets[2 * n..2 * n + 2], 16).unwrap())
        .collect();
    let mut bench = Bench::new(&plan(SfcPause::Flow, vec![flow(1, 3, false)]));
    bench.run_to(at(10));
    // The checksum is that of destination port 2001.
    bench.message(&octets);
    bench.settle();
    assert_eq!((bench.sfcm().malformed, bench.sfcm().paused), (1, 0));
    let mut right = octets.clone();
    right[41] += 1;
    bench.message(&right);
    bench.run_to(at(100));
    assert_eq!((bench.sfcm().paused, bench.sfcm().time), (1, us_(20).into()));
    assert!(!bench.sends(1, 10, 30) && bench.sends(1, 29, 32));
}

#[test]
fn all_flows_of_a_priority_stop_together_and_go_on_at_the_later_of_both_kinds_of_pauses() {
    let flows = vec![flow(1, 3, false), flow(2, 3, true), flow(3, 4, false)];
    let mut bench = Bench::new(&plan(SfcPause::Priority, flows));
    bench.run_to(at(100));
    bench.message(&Message::about(tuple(9, false), 3, us_(50)).frame(HOST, &[]));
    // 977 quanta are 50.02 us here, but from 20 us later on.
    bench.run_to(at(120));
    bench.pfc(3, 977);
    bench.run_to(at(160));
    assert!(bench.sends(3, 150, 160) && !bench.sends(1, 101, 160) && !bench.sends(2, 101, 160));
    // A resume ends the pause, and the message's time has passed.
    bench.pfc(3, 0);
    bench.run_to(at(200));
    assert!(bench.sends(1, 159, 163) && bench.sends(2, 159, 165));
    // A resume does not end the message's effect.
    bench.message(&Message::about(tuple(1, false), 3, us_(50)).frame(HOST, &[]));
    bench.pfc(3, 0);
    bench.run_to(at(300));
    assert!(!bench.sends(1, 201, 250) && bench.sends(1, 249, 255));
    let c = bench.host.snapshot(bench.now);
    assert_eq!(c.counters.priorities[3].paused, us_(40));
    assert_eq!((c.counters.priorities[3].received, c.counters.priorities[3].transitions), (3, 1));
    assert_eq!(
        (c.reactions.unwrap().sfcm.unwrap().paused, c.reactions.unwrap().sfcm.unwrap().time),
        (2, us_(100).into())
    );
}

#[test]
fn a_later_message_never_shortens_a_pause_and_one_of_no_time_ends_it() {
    for pause in [SfcPause::Flow, SfcPause::Priority] {
        let mut bench = Bench::new(&plan(pause, vec![flow(1, 3, false)]));
        let tell = |bench: &mut Bench, us| {
            bench.message(&Message::about(tuple(1, false), 3, us_(us)).frame(HOST, &[]));
            bench.settle();
        };
        bench.run_to(at(100));
        tell(&mut bench, 0);
        tell(&mut bench, 100);
        bench.run_to(at(150));
        tell(&mut bench, 10);
        tell(&mut bench, 50);
        assert_eq!((bench.sfcm().redundant, bench.sfcm().time), (3, us_(50).into()));
        bench.run_to(at(190));
        tell(&mut bench, 60);
        bench.run_to(at(220));
        assert!(!bench.sends(1, 101, 220), "{pause:?}");
        tell(&mut bench, 0);
        bench.run_to(at(300));
        assert!(bench.sends(1, 219, 225), "{pause:?}");
        let c = bench.sfcm();
        assert_eq!((c.received, c.paused, c.resumed, c.redundant), (6, 2, 1, 3));
        assert_eq!(c.time, us_(120));
    }
}

#[test]
fn a_message_of_no_time_ends_the_pause_of_a_priority_for_its_flow_alone() {
    let flows = vec![flow(1, 3, false), flow(2, 3, false)];
    let mut bench = Bench::new(&plan(SfcPause::Priority, flows));
    let tell = |bench: &mut Bench, n, us| {
        bench.message(&Message::about(tuple(n, false), 3, us_(us)).frame(HOST, &[]));
        bench.settle();
    };
    bench.run_to(at(100));
    tell(&mut bench, 1, 100);
    tell(&mut bench, 2, 50);
    bench.run_to(at(120));
    tell(&mut bench, 1, 0);
    bench.run_to(at(300));
    assert!(!bench.sends(1, 101, 150) && bench.sends(1, 149, 155));
    let c = bench.sfcm();
    assert_eq!((c.paused, c.resumed, c.redundant), (1, 1, 1));
    assert_eq!(c.time, us_(50));
}

#[test]
fn messages_that_are_not_to_be_obeyed_are_counted_by_why() {
    let mut plan = plan(SfcPause::Priority, vec![flow(1, 3, false), flow(2, 4, true)]);
    let sfc = plan.reactions.sfc.as_mut().unwrap();
    sfc.senders = Senders::Only(vec!["10.0.0.0/24".parse().unwrap(), "fd00::/16".parse().unwrap()]);
    let mut by_flow = plan.clone();
    by_flow.reactions.sfc.as_mut().unwrap().pause = SfcPause::Flow;
    let good = Message::about(tuple(1, false), 3, us_(10));
    let counted = |plan: &StationPlan, octets: &[u8]| {
        let mut bench = Bench::new(plan);
        bench.run_to(at(10));
        bench.message(octets);
        bench.run_to(at(20));
        let (c, all) = (bench.sfcm(), bench.host.counters());
        assert_eq!((c.time, c.paused), (Total::ZERO, 0));
        assert!(bench.sends(1, 10, 20));
        (c, all.foreign, all.unexpected)
    };
    let one = SfcmCounters { received: 1, ..SfcmCounters::default() };
    for plan in [&plan, &by_flow] {
        let from = Message { from: "10.0.1.2".parse().unwrap(), ..good };
        let c = counted(plan, &from.frame(HOST, &[]));
        assert_eq!(c, (SfcmCounters { sender: 1, ..one }, 0, 0));
        let other = Message::about(udp("10.0.0.9", 1_001, "10.0.0.2", 2_000), 3, us_(10));
        let c = counted(plan, &other.frame(HOST, &[]));
        assert_eq!(c, (SfcmCounters { other_host: 1, ..one }, 0, 0));
        // A message about itself: written as one about another port, then changed.
        let mut itself = good.frame(HOST, &[]);
        itself[40..42].fill(0);
        let port = itself.len() - 2;
        itself[port..].copy_from_slice(&PORT_DEFAULT.to_be_bytes());
        assert_eq!(counted(plan, &itself), (SfcmCounters { about_itself: 1, ..one }, 0, 0));
        // With other addresses, to a group or to another port it is not a message to this station.
        let none = SfcmCounters::default();
        let away = Mac([2, 0, 0, 0, 0, 9]);
        assert_eq!(counted(plan, &good.frame(away, &[])), (none, 1, 0));
        assert_eq!(counted(plan, &good.frame(Mac::BROADCAST, &[])), (none, 0, 1));
        let port = Message { port: PORT_DEFAULT + 1, ..good };
        assert_eq!(counted(plan, &port.frame(HOST, &[])), (none, 0, 1));
        // Every truncation: from its ports on it is recognised as a message.
        let packet = good.packet();
        for n in 0..packet.len() {
            let mut octets = frame(HOST, &[], EtherType::IPV4, &[]);
            octets.truncate(14);
            octets.extend(&packet[..n]);
            let known =
                if n < 24 { (none, 0, 1) } else { (SfcmCounters { malformed: 1, ..one }, 0, 0) };
            assert_eq!(counted(plan, &octets), known, "{n}");
        }
    }
    let foreign = Message::about(tuple(7, false), 3, us_(10)).frame(HOST, &[]);
    assert_eq!(counted(&by_flow, &foreign).0, SfcmCounters { foreign_flow: 1, ..one });
    let silent = Message { priority: priority(6), ..good }.frame(HOST, &[]);
    assert_eq!(counted(&plan, &silent).0, SfcmCounters { no_flow_of_priority: 1, ..one });
}

#[test]
fn a_message_pauses_the_priority_of_its_dscp_by_the_maps_of_the_hosts_port() {
    let mut plan = plan(SfcPause::Priority, vec![flow(1, 3, false), flow(2, 4, false)]);
    let af31 = Dscp::new(26).unwrap();
    let mut map =
        SourceMap { trusted: Trusted::PcpOrDscp, pcp: Priority::ALL, dscp: [Priority::MIN; 64] };
    map.dscp[af31.index()] = priority(4);
    plan.reactions.sfc.as_mut().unwrap().map = Some(map);
    let named = Message { dscp: af31, ..Message::about(tuple(1, false), 3, us_(100)) };
    for (frame, paused, other, disagreed) in [
        (named.frame(HOST, &[]), 2, 1, 1),
        // Behind a tag the PCP decides, and it agrees.
        (named.frame(HOST, &[0x6000]), 1, 2, 0),
        // A DSCP whose priority the host does not use is not that of its frames.
        (Message { dscp: Dscp::MIN, ..named }.frame(HOST, &[]), 1, 2, 0),
    ] {
        let mut bench = Bench::new(&plan);
        bench.run_to(at(10));
        bench.message(&frame);
        bench.run_to(at(100));
        assert!(!bench.sends(paused, 12, 100) && bench.sends(other, 12, 100));
        let default = SfcmCounters::default();
        let one = SfcmCounters { received: 1, paused: 1, incast: 1, disagreed, ..default };
        assert_eq!(SfcmCounters { time: Total::ZERO, requested: Total::ZERO, ..bench.sfcm() }, one);
    }
}

#[test]
fn a_pause_ends_with_the_entry_of_its_flow() {
    for pause in [SfcPause::Flow, SfcPause::Priority] {
        let mut plan = plan(pause, vec![flow(1, 3, false)]);
        plan.reactions.sfc.as_mut().unwrap().max_flow_life = us_(150);
        let mut bench = Bench::new(&plan);
        let message = Message::about(tuple(1, false), 3, us_(100)).frame(HOST, &[]);
        for start in [10, 90] {
            bench.run_to(at(start));
            bench.message(&message);
        }
        // The entry of 10 us ends at 160 us, before the second pause would.
        bench.run_to(at(165));
        assert!(!bench.sends(1, 12, 159) && bench.sends(1, 159, 165), "{pause:?}");
        assert_eq!((bench.sfcm().paused, bench.sfcm().cut_to_life), (2, 1));
        // The next message makes another entry, of full length.
        bench.message(&message);
        bench.run_to(at(300));
        assert!(!bench.sends(1, 168, 264) && bench.sends(1, 264, 300), "{pause:?}");
    }
}

#[test]
fn a_station_that_obeys_none_counts_messages_as_unexpected() {
    let mut plan = plan(SfcPause::Flow, vec![flow(1, 3, false)]);
    plan.reactions = ReactionsPlan::default();
    let mut bench = Bench::new(&plan);
    bench.run_to(at(10));
    bench.message(&Message::about(tuple(1, false), 3, us_(100)).frame(HOST, &[]));
    bench.run_to(at(20));
    assert!(bench.sends(1, 10, 20) && bench.host.reactions_at(bench.now).is_none());
    assert_eq!(bench.host.counters().unexpected, 1);
}

/// A stream of a fifth of the link whose destination port is the one of `tuple`.
fn stream(id: u32, src: Mac) -> StreamPlan {
    let FiveTuple { src_port, dst_port, .. } = tuple(id, false);
    let mut headers = [PEER.0, src.0].concat();
    headers.extend([8, 0, 0x45, 0, 3, 0xd4, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    headers.extend([src_port.to_be_bytes(), dst_port.to_be_bytes(), [3, 0xc0], [0, 0]].concat());
    bench::stream(id, headers, 42, 1_000, FIFTH)
}

#[test]
fn streams_are_paused_as_long_as_all_their_frames_are_of_one_flow() {
    // An interface of a generator has a separate address.
    let own = Mac([2, 0, 0, 0, 0, 7]);
    let mut swept = stream(2, HOST);
    let ports = Values::Increment { start: 1_002, step: 1, count: 9 };
    swept.template.edits = vec![Edit { at: 34, skip: 0, bits: 16, values: ports }];
    let mut marked = stream(3, HOST);
    let marks = Values::List(vec![0, 8, 16]);
    marked.template.edits = vec![Edit { at: 15, skip: 0, bits: 6, values: marks }];
    let mut plan = plan(SfcPause::Flow, vec![]);
    plan.tester = TesterPlan {
        streams: vec![stream(1, own), swept, marked],
        start: Some(Instant::ZERO),
        ..TesterPlan::default()
    };
    let mut bench = Bench::new(&plan);
    bench.run_to(at(100));
    for id in 1..=3 {
        let mac = if id == 1 { own } else { HOST };
        bench.message(&Message::about(tuple(id, false), 3, us_(50)).frame(mac, &[]));
    }
    bench.run_to(at(200));
    let sends = |bench: &Bench, from, to| [1, 2, 3].map(|id| bench.sends(id, from, to));
    assert_eq!(sends(&bench, 101, 150), [false, true, false]);
    assert_eq!(sends(&bench, 149, 160), [true; 3]);
    assert_eq!((bench.sfcm().paused, bench.sfcm().foreign_flow), (2, 1));
    // A changed stream is identified by its new fields.
    let changed = StreamPlan { id: FlowId(1), ..stream(5, own) };
    bench.host.set_stream(&changed).unwrap();
    for id in [1, 5] {
        bench.message(&Message::about(tuple(id, false), 3, us_(50)).frame(own, &[]));
    }
    bench.run_to(at(300));
    assert_eq!(sends(&bench, 201, 250), [false, true, true]);
    assert_eq!((bench.sfcm().paused, bench.sfcm().foreign_flow), (3, 2));
}

#[test]
fn a_link_that_goes_down_ends_no_pause_of_a_message() {
    for pause in [SfcPause::Flow, SfcPause::Priority] {
        let mut bench = Bench::new(&plan(pause, vec![flow(1, 3, false)]));
        bench.run_to(at(10));
        bench.message(&Message::about(tuple(1, false), 3, us_(100)).frame(HOST, &[]));
        bench.settle();
        bench.host.set_link(bench.now, false, None);
        bench.run_to(at(50));
        bench.host.set_link(bench.now, true, None);
        bench.run_to(at(150));
        assert!(!bench.sends(1, 11, 110) && bench.sends(1, 109, 115), "{pause:?}");
    }
}

#[test]
fn plans_that_nothing_could_obey_are_refused() {
    let good = plan(SfcPause::Flow, vec![]);
    let refused = |change: &dyn Fn(&mut SfcReaction)| {
        let mut plan = good.clone();
        change(plan.reactions.sfc.as_mut().unwrap());
        plan.check().unwrap_err()
    };
    assert_eq!(good.check(), Ok(()));
    assert_eq!(refused(&|sfc| sfc.udp_port = 4791), PlanError::SfcPort(4791));
    assert_eq!(refused(&|sfc| sfc.longest = Duration::ZERO), PlanError::SfcPause);
}
