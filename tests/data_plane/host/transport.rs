//! Stations that answer each other: the content of their frames, and the times.

use self::link::*;
use proptest::prelude::*;
use sluice::congestion::DcqcnPlan;
use sluice::frame::Frame;
use sluice::host::probe::PROBE_LEN;
use sluice::host::{
    FlowId, FlowPlan, Headers, Marking, Message, Operation, PlanError, Rate, Recovery, RocePlan,
    Station, Transport, TransportPlan,
};
use sluice::schedule::{Line, LinePlan};
use sluice::time::{Duration, Instant};
use sluice::units::{BitsPerSec, Bytes, Dscp, Vid};
use sluice::wire::ip::{self, Ecn};
use sluice::wire::roce::{Opcode, U24};
use sluice::wire::{EtherType, aeth, cnp, icrc, ipv4, reth, segment, vlan};

use crate::mem_port::MemFrame;
use crate::{bench, link};

#[test]
fn a_message_takes_its_frames_and_a_round_trip() {
    for bytes in [1, PROBE_LEN as u64, 1000, 1001, 250_000] {
        let mut f = roce_flow(1);
        f.message = Some(Message::once(bytes));
        let (size, overhead) = (f.size, f.overhead());
        let mut world = World::of(&[f]);
        world.run_to(at(10_000));
        let full = bytes.div_ceil(1000) - 1;
        // The last frame holds a probe at least, and is padded to a multiple of four.
        let tail = (bytes - full * 1000).max(PROBE_LEN as u64).next_multiple_of(4) as u32;
        let there = on_line(size).saturating_mul(full) + on_line(overhead + tail) + DELAY;
        let ack = world.with_opcode(B, Opcode::RC_ACKNOWLEDGE).pop().unwrap();
        let back = on_line(ack.1.len() as u32 + 4) + DELAY;
        let [a, b] = world.snapshots();
        let (s, r) = (&a.senders[0], &b.receivers[0]);
        assert_eq!(s.completions.fct, Some(there + back), "{bytes}");
        assert_eq!((s.frames, s.acknowledged, r.delivered), (full + 1, bytes, bytes));
        assert_eq!((s.retransmitted, s.timeouts, s.acks, r.acks), (0, 0, full + 1, full + 1));
        assert_eq!((r.messages, s.done, b.sinks[0].frames), (1, true, full + 1));
        assert!(world.hosts.iter().all(Station::is_done));
        let sink = &b.sinks[0];
        let took = sink.last_arrival.unwrap().since(sink.first_sent.unwrap());
        assert_eq!(took, there);
        assert_eq!((a.counters.unexpected, b.counters.unexpected), (0, 0));
    }
}

#[test]
fn frames_are_what_the_standards_say_octet_for_octet() {
    let mut kind = roce(1);
    (kind.src_port, kind.first_psn) = (0xd001, U24::new(0xff_ffff).unwrap());
    let mut f = flow(1, Transport::Roce(kind));
    f.message = Some(Message::once(2_030));
    let mut world = World::of(&[f]);
    world.fate = Box::new(|n, f| {
        let second = bth(f.head()).is_some_and(|b| b.opcode == Opcode::RC_SEND_MIDDLE);
        if n == A && second {
            ip::mark_ce_in_frame(f.head_mut());
        }
        true
    });
    world.run_to(at(40));
    let first = &world.with_opcode(A, Opcode::RC_SEND_FIRST)[0].1;
    let want = "020000000002 020000000001 8100 6064 0800 \
                456a0414 00004000 4011 226d 0a000001 0a000002 d001 12b7 0400 0000 \
                0000ffff 00000201 00ffffff 534c5549 0001 000000000000 000000000000";
    assert_eq!(hex(&first[..76]), want.replace(' ', ""));
    let last = &world.with_opcode(A, Opcode::RC_SEND_LAST)[0].1;
    // 30 bytes of payload and two of padding: the whole frame is short enough for its ICRC.
    assert_eq!((last.len(), bth(last).unwrap().pad_count), (18 + 20 + 8 + 12 + 32 + 4, 2));
    assert_eq!(icrc::verify(&last[18..]), Ok(()));
    let acks = world.with_opcode(B, Opcode::RC_ACKNOWLEDGE);
    let want = "020000000001 020000000002 8100 6064 0800 \
                456a0030 00004000 4011 2651 0a000002 0a000001 d001 12b7 001c 0000 \
                1100ffff 00000101 00ffffff 1f000000";
    assert_eq!(hex(&acks[0].1[..62]), want.replace(' ', ""));
    for (n, (_, ack)) in acks.iter().enumerate() {
        assert_eq!((ack.len(), icrc::verify(&ack[18..])), (66, Ok(())));
        let (b, a) = (bth(ack).unwrap(), aeth::Repr::parse(&datagram(ack).unwrap()[12..]).unwrap());
        assert_eq!(b.psn.get(), (0xff_ffff + n as u32) & 0xff_ffff);
        assert_eq!(
            a,
            aeth::Repr { syndrome: aeth::Syndrome::ACK, msn: U24::wrapping(n as u64 / 2) }
        );
    }
    let notice = &world.with_opcode(B, Opcode::CNP)[0].1;
    let repr = cnp::Repr::parse(EtherType::IPV4, &notice[18..]).unwrap();
    assert_eq!((repr.dest_qp.get(), repr.dscp.get(), repr.ecn), (0x101, 48, Ecn::Ect0));
    assert_eq!(vlan::walk(notice).unwrap().outer.unwrap().pcp.get(), 6);
    assert_eq!(world.snapshots()[A].senders[0].cnps, 1);
}

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|o| format!("{o:02x}")).collect()
}

#[test]
fn a_lost_packet_is_refused_by_its_number_and_repeated() {
    for recovery in [Recovery::GoBackN, Recovery::SelectiveRepeat] {
        let kind = RocePlan { recovery, ..roce(1) };
        let mut f = flow(1, Transport::Roce(kind));
        f.message = Some(Message::once(20_000));
        let mut world = World::of(&[f]);
        let mut lost = false;
        world.fate = Box::new(move |n, f| {
            let fifth = bth(f.head()).is_some_and(|b| b.psn.get() == 5);
            let goes_on = n == B || !fifth || lost;
            lost |= !goes_on;
            goes_on
        });
        world.run_to(at(1_000));
        let answers = world.with_opcode(B, Opcode::RC_ACKNOWLEDGE);
        let read = |(_, f): &(Instant, Vec<u8>)| {
            (bth(f).unwrap().psn.get(), aeth::Repr::parse(&datagram(f).unwrap()[12..]).unwrap())
        };
        let naks: Vec<_> =
            answers.iter().map(read).filter(|(_, a)| a.syndrome != aeth::Syndrome::ACK).collect();
        // The architecture's NAK counts messages; selective repeat states the end of the gap.
        let msn = if recovery == Recovery::GoBackN { 0 } else { 6 };
        let nak = aeth::Repr { syndrome: aeth::Syndrome::SEQUENCE_ERROR, msn: U24::wrapping(msn) };
        assert_eq!(naks, [(5, nak)]);
        let [a, b] = world.snapshots();
        let (s, r) = (&a.senders[0], &b.receivers[0]);
        assert_eq!((s.naks, r.naks, s.timeouts, r.delivered), (1, 1, 0, 20_000));
        // Sent, lost, arrived: frames have no other fate.
        assert_eq!(s.frames, b.sinks[0].frames + 1);
        let repeated = if recovery == Recovery::GoBackN { r.out_of_order + 1 } else { 1 };
        assert_eq!((s.retransmitted, s.frames), (repeated, 20 + repeated));
    }
}

#[test]
fn an_rdma_write_says_where_it_goes_in_its_first_frame() {
    let kind = RocePlan { operation: Operation::Write, ..roce(1) };
    let mut f = flow(1, Transport::Roce(kind));
    f.message = Some(Message { bytes: 2_500, count: 2, every: Duration::ZERO });
    let size = f.size as usize - 4;
    let mut world = World::of(&[f]);
    world.run_to(at(100));
    let lens =
        |opcode| -> Vec<_> { world.with_opcode(A, opcode).iter().map(|(_, f)| f.len()).collect() };
    assert_eq!(lens(Opcode::RC_WRITE_FIRST), [size + 16; 2]);
    assert_eq!(lens(Opcode::RC_WRITE_MIDDLE), [size; 2]);
    assert_eq!(lens(Opcode::RC_WRITE_LAST), [size - 500; 2]);
    let first = &world.with_opcode(A, Opcode::RC_WRITE_FIRST)[1].1;
    assert_eq!(reth::Repr::parse(&datagram(first).unwrap()[12..]).unwrap().dma_len, 2_500);
    let [a, b] = world.snapshots();
    assert_eq!((b.receivers[0].messages, b.sinks[0].frames), (2, 6));
    assert_eq!((a.senders[0].completions.messages, b.counters.unexpected), (2, 0));
}

#[test]
fn marks_slow_a_flow_down_by_at_most_one_notification_per_interval() {
    let kind = RocePlan { dcqcn: Some(DcqcnPlan::sigcomm15()), ..roce(1) };
    let mut world = World::of(&[flow(1, Transport::Roce(kind))]);
    world.fate = Box::new(|n, f| {
        if n == A {
            ip::mark_ce_in_frame(f.head_mut());
        }
        true
    });
    world.run_to(at(1_000));
    let cnps = world.with_opcode(B, Opcode::CNP);
    assert!(cnps.windows(2).all(|w| w[1].0.since(w[0].0) >= Duration::from_micros(50)));
    let [a, b] = world.snapshots();
    let (s, r) = (&a.senders[0], &b.receivers[0]);
    assert_eq!((cnps.len() as u64, r.cnps), (r.cnps, s.cnps));
    assert!((10..=20).contains(&r.cnps), "{}", r.cnps);
    // Halved with each notification, down to the least rate.
    assert_eq!(s.rate, BitsPerSec::new(100_000_000).unwrap());
    let sent: Vec<_> =
        world.sent.iter().filter(|(_, n, f)| *n == A && bth(f.head()).is_some()).collect();
    let last = sent[sent.len() - 1].0.since(sent[sent.len() - 2].0);
    let at_rate = s.rate.time_for(Bytes(1066));
    assert!(last >= at_rate.div(2) && last <= at_rate, "{last} of {at_rate}");
}

#[test]
fn flows_without_a_bound_take_turns_and_one_that_waits_stops_nobody() {
    let mut flows: Vec<_> = (1..=4).map(roce_flow).collect();
    // The third waits for its pace most of the time, the fourth for its window.
    flows[2].rate = Some(BitsPerSec::gbps(1));
    let window = RocePlan { window: Some(Bytes(1_000)), ..roce(4) };
    flows[3].kind = Transport::Roce(window);
    let mut plans = [station(A, &flows, &[]), station(B, &[], &flows)];
    plans[A].backlog = Duration::from_micros(5);
    let mut world = World::new(plans);
    world.run_to(at(10_000));
    let [a, _] = world.snapshots();
    let sent = |n: usize| a.senders[n].bytes * 8 / 10_000;
    // A window of one frame per round trip: 3.6 us or so.
    assert!(a.senders[0].frames.abs_diff(a.senders[1].frames) <= 1);
    // Megabits per second.
    assert!((990..=1_000).contains(&sent(2)), "{}", sent(2));
    assert!(a.senders[3].frames > 2_000, "{}", a.senders[3].frames);
    let total: u64 = a.senders.iter().map(|s| s.frames).sum();
    assert_eq!(total, 10_000_000_000 / on_line(1066).as_picos() + 1, "the link is never idle");
}

#[test]
fn a_pause_stops_data_and_acknowledgements_of_its_priority_and_no_notification() {
    let mut f = roce_flow(1);
    f.message = Some(Message::once(100_000));
    let mut world = World::of(&[f]);
    world.fate = Box::new(|n, f| {
        if n == A {
            ip::mark_ce_in_frame(f.head_mut());
        }
        true
    });
    world.pfc(B, 3, 65_535);
    world.run_to(at(500));
    // All data has arrived, its notifications were sent, and nothing was acknowledged.
    let [a, b] = world.snapshots();
    assert_eq!((b.receivers[0].delivered, b.receivers[0].acks), (100_000, 0));
    assert_eq!(b.receivers[0].cnps, a.senders[0].cnps);
    assert!(a.senders[0].cnps > 0);
    world.pfc(B, 3, 0);
    world.run_to(at(510));
    // One acknowledgement for all.
    let [a, b] = world.snapshots();
    assert_eq!((b.receivers[0].acks, a.senders[0].acknowledged), (1, 100_000));
    // Data stops at the sender.
    let mut world = World::of(&[roce_flow(1)]);
    world.run_to(at(10));
    world.pfc(A, 3, 1_000);
    world.run_to(at(30));
    let late = |(t, n, _): &&(Instant, usize, MemFrame)| *n == A && *t > at(10);
    assert_eq!(world.sent.iter().filter(late).count(), 0);
    world.run_to(at(100));
    assert!(world.sent.iter().filter(late).count() > 0);
}

#[test]
fn acknowledgements_may_have_a_priority_of_their_own() {
    let ack = Some(Marking { priority: priority(5), dscp: Dscp::new(40).unwrap() });
    let mut world = World::of(&[flow(1, Transport::Roce(RocePlan { ack, ..roce(1) }))]);
    world.pfc(B, 3, 65_535);
    world.run_to(at(20));
    let acks = world.with_opcode(B, Opcode::RC_ACKNOWLEDGE);
    let walk = vlan::walk(&acks[0].1).unwrap();
    let outer = walk.outer.unwrap();
    assert_eq!((outer.pcp.get(), outer.vid), (5, Vid::new(100)));
    assert_eq!(ipv4::View::new(&acks[0].1[walk.l3..]).unwrap().dscp().get(), 40);
}

#[test]
fn a_link_that_goes_down_takes_what_is_in_hand_and_a_timeout_repeats_it() {
    let mut f = roce_flow(1);
    f.message = Some(Message::once(100_000));
    let size = f.size;
    let mut world = World::of(&[f]);
    world.run_to(at(20));
    world.hosts[A].port_mut().capacity = 0;
    world.run_to(at(30));
    world.pfc(A, 3, 65_535);
    world.run_to(at(31));
    world.hosts[A].set_link(world.now, false, None);
    world.hosts[A].port_mut().capacity = 64;
    let before = world.sent.len();
    world.run_to(at(500));
    assert_eq!(world.hosts[A].counters().flushed, 1);
    assert!(world.sent[before..].iter().all(|(_, n, _)| *n == B), "nothing leaves");
    // It comes up slower, and not paused.
    world.hosts[A].set_link(world.now, true, Some(BitsPerSec::gbps(1)));
    world.run_to(at(10_000));
    let [a, b] = world.snapshots();
    assert_eq!((b.receivers[0].delivered, a.senders[0].done), (100_000, true));
    assert_eq!(a.senders[0].rate, BitsPerSec::gbps(1));
    let times: Vec<_> =
        world.sent.iter().filter(|(t, n, _)| *n == A && *t > at(500)).map(|(t, ..)| *t).collect();
    let slow = Line::new(BitsPerSec::gbps(1), LinePlan::ETHERNET).time_for(size);
    assert!(times.windows(2).all(|w| w[1].since(w[0]) >= slow), "{times:?}");
}

#[test]
fn segments_and_their_acknowledgements_have_the_right_checksums() {
    let mut f = tcp_flow(1);
    f.message = Some(Message { bytes: 10_300, count: 3, every: Duration::from_micros(7) });
    let mut world = World::of(&[f]);
    world.run_to(at(1_000));
    let mut sequence = 0;
    for (_, n, frame) in &world.sent {
        let walk = vlan::walk(frame.head()).unwrap();
        let packet = ipv4::View::new(&frame.head()[walk.l3..]).unwrap();
        assert!(packet.checksum_ok());
        let tcp = segment::View::new(packet.payload()).unwrap();
        assert!(tcp.checksum_ok(packet.src().into(), packet.dst().into()));
        if *n == A {
            assert_eq!(tcp.sequence(), sequence);
            sequence += tcp.payload().len() as u32;
            let pushes = tcp.flags() & segment::flag::PUSH != 0;
            assert_eq!(pushes, sequence % 10_300 == 0);
        } else {
            assert_eq!(frame.wire_len(), 64);
        }
    }
    let [a, b] = world.snapshots();
    assert_eq!((sequence, b.receivers[0].delivered, b.receivers[0].messages), (30_900, 30_900, 3));
    assert_eq!((a.senders[0].completions.messages, a.senders[0].retransmitted), (3, 0));
}

#[test]
fn a_flow_ends_at_its_time_and_its_station_with_it() {
    let mut f = roce_flow(1);
    (f.start, f.stop) = (at(5), at(20));
    let mut world = World::of(&[f]);
    world.fate = Box::new(|n, _| n == A); // Nothing is ever acknowledged.
    world.run_to(at(5_000));
    let times: Vec<_> = world.sent.iter().filter(|(_, n, _)| *n == A).map(|(t, ..)| *t).collect();
    assert_eq!(times.first(), Some(&at(5)));
    assert!(times.iter().all(|t| *t < at(20)));
    let [a, _] = world.snapshots();
    assert!(a.senders[0].done && a.senders[0].timeouts == 0 && world.hosts[A].is_done());
    let mut world = World::of(&[roce_flow(1), tcp_flow(2)]);
    world.run_to(at(50));
    world.hosts[A].stop();
    world.run_to(at(5_000));
    assert!(world.hosts[A].is_done() && world.sent.iter().all(|(t, ..)| *t < at(60)));
}

#[test]
fn plans_that_cannot_be_run_are_refused() {
    let refused = |change: fn(&mut TransportPlan)| {
        let mut f = roce_flow(5);
        change(&mut f);
        station(A, &[f], &[]).check().unwrap_err()
    };
    fn kind(f: &mut TransportPlan) -> &mut RocePlan {
        match &mut f.kind {
            Transport::Roce(roce) => roce,
            Transport::TcpLike(_) => unreachable!(),
        }
    }
    let short = PlanError::Short { flow: 5, size: 83, min: 84 };
    assert_eq!(refused(|f| f.size = 83), short);
    assert_eq!(refused(|f| f.size = 16_385), PlanError::Long { flow: 5, size: 16_385 });
    assert_eq!(refused(|f| f.message = Some(Message::once(0))), PlanError::Message(5));
    assert_eq!(refused(|f| kind(f).window = Some(Bytes(999))), PlanError::Window(5));
    assert_eq!(refused(|f| kind(f).ack_every = 0), PlanError::Window(5));
    assert_eq!(refused(|f| kind(f).timeout = Duration::ZERO), PlanError::Timeout(5));
    assert_eq!(refused(|f| f.src = mac(7)), PlanError::NotHere(5));
    let bad = DcqcnPlan { gain: 0, ..DcqcnPlan::ns3() };
    let mut f = roce_flow(5);
    kind(&mut f).dcqcn = Some(bad);
    assert_eq!(station(A, &[f], &[]).check(), Err(PlanError::Dcqcn(5)));
    let mut twin = roce_flow(6);
    kind(&mut twin).src_qp = roce(5).src_qp;
    let twins = station(A, &[roce_flow(5), twin], &[]);
    assert_eq!(twins.check(), Err(PlanError::SameEnd(5, 6)));
    let twice = station(A, &[roce_flow(5), tcp_flow(5)], &[]);
    assert_eq!(twice.check(), Err(PlanError::Twice(5)));
}

/// A background flow without answers, whose frames all have the same length.
fn open_loop(id: u32) -> FlowPlan {
    let rate = Rate::LineShare(200_000);
    FlowPlan { priority: priority(0), size: 300, rate, ..bench::flow(id, Headers::Ethernet) }
}

/// All features of a station at once, in both directions, on a link that loses and marks.
fn busy(seed: u64) -> World {
    busy_from(Instant::ZERO, seed)
}

/// The same with flows and a world that start at `begin`.
fn busy_from(begin: Instant, seed: u64) -> World {
    let dcqcn =
        RocePlan { dcqcn: Some(DcqcnPlan::ns3()), timeout: Duration::from_micros(80), ..roce(1) };
    let selective = RocePlan { recovery: Recovery::SelectiveRepeat, ack_every: 3, ..roce(2) };
    let mut there =
        vec![flow(1, Transport::Roce(dcqcn)), flow(2, Transport::Roce(selective)), tcp_flow(3)];
    there[1].message = Some(Message { bytes: 3_333, count: 9, every: Duration::from_micros(11) });
    (there[2].priority, there[2].rate) = (priority(0), Some(BitsPerSec::gbps(3)));
    let back = vec![reversed(roce_flow(11)), reversed(tcp_flow(12))];
    let mut plans = [station(A, &there, &back), station(B, &back, &there)];
    plans[A].flows.push(open_loop(20));
    plans[B].expects.push(FlowId(20));
    for plan in &mut plans {
        plan.senders.iter_mut().chain(&mut plan.receivers).for_each(|flow| flow.start = begin);
        plan.flows.iter_mut().for_each(|flow| flow.start = begin);
    }
    let mut world = World::new(plans);
    world.now = begin;
    let mut rng = sluice::rand::Rng::new(seed);
    world.fate = Box::new(move |_, frame| {
        let roll = rng.next_u16() % 100;
        if roll > 90 {
            ip::mark_ce_in_frame(frame.head_mut());
        }
        roll > 2
    });
    world
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn polling_more_often_changes_nothing(
        seed in any::<u64>(), extra in prop::collection::vec(0_u64..300_000_000, 1..80),
        pauses in prop::collection::vec((0_u64..300, 0_usize..2, 0_u16..200), 0..8),
    ) {
        let run = |extra: &[u64]| {
            let mut world = busy(seed);
            let pauses: Vec<_> = pauses.iter().map(|(us, n, quanta)| (at(*us), *n, *quanta)).collect();
            let mut stops: Vec<_> = extra.iter().map(|ps| Instant::from_picos((*ps).into())).collect();
            stops.extend(pauses.iter().map(|(t, ..)| *t));
            stops.push(at(300));
            stops.sort_unstable();
            for stop in stops {
                world.run_to(stop);
                // A pause follows all other frames of its time.
                for (_, n, quanta) in pauses.iter().filter(|(t, ..)| *t == stop) {
                    world.pfc(*n, 3, *quanta);
                }
            }
            world.run_to(at(300));
            world.sent
        };
        prop_assert_eq!(run(&extra), run(&[]));
    }

    /// Most polls look at data alone: it is the same if each looks at everything.
    #[test]
    fn polls_of_data_alone_change_nothing(
        seed in any::<u64>(), extra in prop::collection::vec(0_u64..300_000_000, 0..20),
        pauses in prop::collection::vec((0_u64..300, 0_usize..2, 0_u16..200), 0..8),
    ) {
        let run = |whole_polls: bool| {
            let mut world = busy(seed);
            world.whole_polls = whole_polls;
            let mut stops: Vec<_> = extra.iter().map(|ps| Instant::from_picos((*ps).into())).collect();
            stops.extend(pauses.iter().map(|(us, ..)| at(*us)));
            stops.sort_unstable();
            for stop in stops {
                world.run_to(stop);
                for (_, n, quanta) in pauses.iter().filter(|(us, ..)| at(*us) == stop) {
                    world.pfc(*n, 3, *quanta);
                }
            }
            world.run_to(at(400));
            let counters = world.snapshots().map(|snapshot| format!("{snapshot:?}"));
            (world.sent, counters)
        };
        prop_assert_eq!(run(false), run(true));
    }

    /// A run across 2^64 ps, where instants no longer fit into one word, equals one across 2^48 ps,
    /// including the times in the frames, which are modulo 2^48.
    #[test]
    fn uptime_changes_nothing(
        seed in any::<u64>(), before_us in 0_u64..=1_000,
        pauses in prop::collection::vec((0_u64..900, 0_usize..2, 0_u16..200), 0..8),
    ) {
        let run = |end: u128| {
            let begin = Instant::from_picos(end).saturating_sub(Duration::from_micros(before_us));
            let after = |us: u64| begin + Duration::from_micros(us);
            let mut world = busy_from(begin, seed);
            let mut pauses = pauses.clone();
            pauses.sort_unstable();
            for (us, n, quanta) in pauses {
                world.run_to(after(us));
                world.pfc(n, 3, quanta);
            }
            world.run_to(after(1_200));
            let counters = world.snapshots().map(|snapshot| {
                let senders: Vec<_> = snapshot.senders.iter().map(|s| {
                    (s.frames, s.acknowledged, s.retransmitted, s.timeouts, s.cnps, s.completions)
                }).collect();
                let latency: Vec<_> =
                    snapshot.sinks.iter().map(|s| (s.frames, s.latency.min(), s.latency.max())).collect();
                let paused = snapshot.counters.priorities.map(|p| (p.paused, p.transitions));
                (senders, latency, paused)
            });
            let sent: Vec<_> =
                world.sent.into_iter().map(|(t, n, frame)| (t.since(begin), n, frame)).collect();
            (sent, counters)
        };
        let (early, counters) = run(1 << 48);
        prop_assert!(early.len() > 500, "the run means something: {} frames", early.len());
        let (late, late_counters) = run(1 << 64);
        prop_assert_eq!(late, early);
        prop_assert_eq!(late_counters, counters);
    }

    #[test]
    fn every_frame_is_received_or_lost_and_no_octet_is_delivered_that_was_not_sent(
        seed in any::<u64>()
    ) {
        let mut world = busy(seed);
        world.run_to(at(2_000));
        for n in [A, B] {
            world.hosts[n].stop();
        }
        world.run_to(at(4_000));
        let snapshots = world.snapshots();
        for (n, here) in snapshots.iter().enumerate() {
            let peer = &snapshots[1 - n];
            for s in &here.senders {
                let r = peer.receiver(s.id).unwrap();
                let arrived = peer.sink(s.id).unwrap();
                prop_assert!(s.acknowledged <= r.delivered);
                prop_assert!(arrived.frames <= s.frames && arrived.duplicates == 0);
                prop_assert!(r.duplicates + r.out_of_order <= arrived.frames);
                prop_assert!(s.acks <= r.acks && s.naks <= r.naks && s.cnps <= r.cnps);
            }
            prop_assert_eq!(here.counters.unexpected + here.counters.foreign, 0);
            prop_assert_eq!(here.counters.tx_frames, world.sent.iter().filter(|s| s.1 == n).count() as u64);
        }
    }
}
