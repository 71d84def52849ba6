//! Stations that obey congestion notification messages of QCN, in virtual time: the flow that they
//! slow down, and its rate.

use proptest::prelude::*;
use sluice::congestion::DcqcnPlan;
use sluice::congestion::qcn::{QuantizedFeedback, ReactionPlan, ReactionPoint};
use sluice::frame::Frame;
use sluice::host::{
    CnmCounters, FlowId, FlowPlan, Headers, PlanError, Rate, ReactionsPlan, RocePlan, StationPlan,
    Transport, TransportPlan,
};
use sluice::time::{Duration, Instant};
use sluice::units::{BitsPerSec, Bytes, Dscp};
use sluice::wire::ip::Ecn;
use sluice::wire::roce::U24;
use sluice::wire::{EtherType, cnm, cnp, ethernet, msdu};

use crate::bench::{Bench, HOST, LINK, PEER, flow, obeying, priority, udp};
use crate::link;
use crate::mem_port::MemFrame;
use crate::messages::frame;

/// Rate of a flow after the strongest feedback: 65 of 128 parts of the link.
const CUT: BitsPerSec = match BitsPerSec::new(5_078_125_000) {
    Some(rate) => rate,
    None => unreachable!(),
};

fn at(us: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(us)
}

fn udp4(port: u16) -> Headers {
    udp(false, port, 9)
}

fn udp6(port: u16) -> Headers {
    udp(true, port, 9)
}

/// Reaction points without randomness, whose rate rises quickly with time.
fn reaction() -> ReactionPlan {
    let time_reset = Duration::from_micros(20);
    ReactionPlan { jitter: 0, time_reset, byte_reset: Bytes(40_000), ..ReactionPlan::standard() }
}

fn plan(flows: Vec<FlowPlan>) -> StationPlan {
    StationPlan {
        flows,
        reactions: ReactionsPlan { sfc: None, qcn: Some(reaction()) },
        ..obeying(&[3])
    }
}

/// A queue pair of the station bounded by the link alone, without early retransmission.
fn roce(dcqcn: Option<DcqcnPlan>) -> TransportPlan {
    let qp = |n| U24::new(n).unwrap();
    let timeout = Duration::from_millis(100);
    let kind = Transport::Roce(RocePlan { dcqcn, timeout, ..RocePlan::new(qp(2), qp(3)) });
    TransportPlan { tag: None, dscp: Dscp::MIN, size: 1_000, ..link::flow(7, kind) }
}

/// A message about a frame whose payload is `msdu`, and whose CN-TAG has `flow_id`.
fn repr(feedback: u8, msdu: &[u8], flow_id: Option<u16>) -> cnm::Repr<'_> {
    cnm::Repr {
        flow_id,
        feedback,
        cpid: cnm::CpId::of(PEER, 3),
        q_offset: -400,
        q_delta: 10,
        priority: priority(3),
        dst: PEER,
        msdu: &msdu[..msdu.len().min(cnm::MSDU_MAX)],
    }
}

fn octets(repr: &cnm::Repr<'_>) -> Vec<u8> {
    let mut octets = vec![0; repr.buffer_len()];
    repr.emit(&mut octets).unwrap();
    frame(HOST, &[], repr.ethertype(), &octets)
}

impl Bench {
    /// A message about the last frame of flow `id`, with `msdu` bytes of it, arrives.
    fn cnm(&mut self, id: u32, feedback: u8, len: usize, flow_id: Option<u16>) {
        let of = |f: &&(Instant, MemFrame)| {
            sluice::host::probe_of(f.1.head()).is_some_and(|p| p.flow == FlowId(id))
        };
        let head = self.sent.iter().rev().find(of).unwrap().1.head().to_vec();
        let msdu = msdu::of_frame(&head).unwrap().1;
        self.far.give(MemFrame::new(&octets(&repr(feedback, &msdu[..len], flow_id))));
    }

    fn counters(&self) -> CnmCounters {
        self.host.reactions_at(self.now).unwrap().cnm.unwrap()
    }

    /// True if flow `id` sent anything from then on.
    fn sends_after(&self, id: u32, from: Instant) -> bool {
        self.times(id).iter().any(|t| *t >= from)
    }

    /// Times from each frame of flow `id` to the next, of those that left within these
    /// microseconds.
    fn gaps(&self, id: u32, from: u64, to: u64) -> Vec<Duration> {
        let of =
            |f: &MemFrame| sluice::host::probe_of(f.head()).is_some_and(|p| p.flow == FlowId(id));
        let within = self.sent.iter().filter(|(t, f)| *t >= at(from) && *t < at(to) && of(f));
        let times: Vec<_> = within.map(|(t, _)| *t).collect();
        times.windows(2).map(|w| w[1].since(w[0])).collect()
    }
}

#[test]
fn a_flow_is_found_by_its_probe_its_ports_or_its_tag() {
    // Quoted part of a frame: up to its probe, or no more than its ports, or nothing.
    for (headers, len, tag) in [
        (Headers::Ethernet, 64, None),
        (udp4(5), 64, None),
        (udp4(5), 30, None),
        (udp6(5), 64, None),
        (udp6(5), 64, Some(9)),
        (udp6(5), 2, Some(3)),
        (Headers::Ethernet, 0, Some(3)),
    ] {
        let mut flows = vec![flow(3, headers), flow(4, udp4(6))];
        flows[0].rate = Rate::LineShare(900_000);
        flows[1].rate = Rate::LineShare(10_000);
        let mut bench = Bench::new(&plan(flows));
        bench.run_to(at(100));
        bench.cnm(3, 63, len, tag);
        bench.run_to(at(115));
        assert_eq!(bench.counters(), CnmCounters { received: 1, obeyed: 1, ..Default::default() });
        let cut = CUT.time_for(Bytes(1_000));
        let gaps = bench.gaps(3, 101, 115);
        assert!(gaps.iter().all(|gap| *gap == cut), "{gaps:?} {cut}");
    }
}

#[test]
fn a_message_laid_out_by_hand_slows_its_flow() {
    let mut bench = Bench::new(&plan(vec![flow(3, udp4(5))]));
    bench.run_to(at(100));
    let text = "020000000001 020000000002 22e9 0003 22e7 \
                003f 0200000000020003 fe70 000a 6000 020000000002 0000";
    let text: String = text.split_whitespace().collect();
    let octets = (0..text.len() / 2).map(|n| u8::from_str_radix(&text[2 * n..2 * n + 2], 16));
    let mut octets: Vec<_> = octets.map(Result::unwrap).collect();
    octets.resize(60, 0);
    bench.far.give(MemFrame::new(&octets));
    bench.run_to(at(110));
    assert_eq!(bench.counters().obeyed, 1);
    assert_eq!(bench.gaps(3, 101, 110)[1], CUT.time_for(Bytes(1_000)));
}

#[test]
fn a_queue_pair_is_slowed_by_the_stronger_of_both_signals_and_recovers() {
    for dcqcn in [None, Some(DcqcnPlan::sigcomm15())] {
        let mut plan = plan(vec![]);
        plan.senders = vec![roce(dcqcn)];
        let mut bench = Bench::new(&plan);
        bench.run_to(at(100));
        let rate = |bench: &Bench| bench.host.senders().next().unwrap().rate;
        bench.cnm(7, 63, 64, None);
        bench.settle();
        assert_eq!(rate(&bench), CUT);
        let notice = cnp::Repr {
            src: "10.0.0.2".parse().unwrap(),
            dst: "10.0.0.1".parse().unwrap(),
            dscp: Dscp::new(48).unwrap(),
            ecn: Ecn::NotEct,
            ttl: 255,
            identification: 77,
            src_port: 0xc002,
            p_key: 0xffff,
            dest_qp: U24::new(2).unwrap(),
        };
        // As a switch would make it: from the data's destination to its source, to the queue pair
        // that sends.
        let mut packet = vec![0; notice.buffer_len()];
        notice.emit(&mut packet).unwrap();
        bench.far.give(MemFrame::new(&frame(HOST, &[0xc000], EtherType::IPV4, &packet)));
        bench.settle();
        // DCQCN's first cut is to a half.
        let lower = if dcqcn.is_some() { BitsPerSec::gbps(5) } else { CUT };
        assert_eq!((rate(&bench), bench.host.senders().next().unwrap().cnps), (lower, 1));
        bench.run_to(at(2_000));
        assert!(rate(&bench) > lower && bench.counters().obeyed == 1);
        let gaps = bench.gaps(7, 1_900, 2_000);
        let slowest = gaps.into_iter().max().unwrap();
        assert!(slowest <= lower.time_for(Bytes(1_000)), "{slowest}");
    }
}

#[test]
fn messages_that_are_not_to_be_obeyed_are_counted_by_why() {
    let counted = |octets: &[u8]| {
        let mut bench = Bench::new(&plan(vec![flow(3, udp4(5))]));
        bench.run_to(at(10));
        bench.far.give(MemFrame::new(octets));
        bench.run_to(at(20));
        let all = bench.host.counters();
        assert_eq!(bench.counters().obeyed, 0);
        (bench.counters(), all.foreign, all.unexpected)
    };
    let (none, one) = (CnmCounters::default(), CnmCounters { received: 1, ..Default::default() });
    let silent = octets(&repr(0, &[], Some(3)));
    assert_eq!(counted(&silent).0, CnmCounters { no_feedback: 1, ..one });
    for foreign in [repr(9, &[], None), repr(9, &[0x88, 0xb5], Some(4))] {
        assert_eq!(counted(&octets(&foreign)).0, CnmCounters { foreign_flow: 1, ..one });
    }
    // About a message like it: an MSDU of two bytes that is changed into that.
    let mut itself = octets(&repr(9, &[0x88, 0xb5], None));
    itself[14 + cnm::HEADER_LEN..][..2].copy_from_slice(&EtherType::CNM.0.to_be_bytes());
    assert_eq!(counted(&itself).0, CnmCounters { about_itself: 1, ..one });
    let good = repr(9, &[], Some(3));
    let mut other = octets(&good);
    other[5] = 9;
    assert_eq!(counted(&other), (none, 1, 0));
    // Data behind a CN-TAG is not a message.
    let mut data = octets(&good);
    data[16..18].copy_from_slice(&[0x88, 0xb5]);
    assert_eq!(counted(&data), (none, 0, 1));
    let good = octets(&good);
    let end = ethernet::HEADER_LEN + cnm::TAG_LEN + cnm::HEADER_LEN;
    for n in 14..end {
        let known = if n < 18 { (none, 0, 1) } else { (CnmCounters { malformed: 1, ..one }, 0, 0) };
        assert_eq!(counted(&good[..n]), known, "{n}");
    }
}

#[test]
fn a_station_that_obeys_none_counts_messages_as_unexpected_and_bad_numbers_are_refused() {
    let mut plan = plan(vec![flow(3, udp4(5))]);
    plan.reactions.qcn = Some(ReactionPlan { gain: 5, ..reaction() });
    assert_eq!(plan.check(), Err(PlanError::Qcn));
    plan.reactions.qcn = None;
    let mut bench = Bench::new(&plan);
    bench.run_to(at(10));
    bench.cnm(3, 63, 64, None);
    bench.run_to(at(20));
    assert_eq!(bench.host.counters().unexpected, 1);
    let line = bench.gaps(3, 0, 20);
    assert!(line.iter().all(|gap| *gap == line[0]));
}

/// Times of the frames of a flow that has a reaction point and a link without other traffic,
/// calculated separately: at one time messages come first, then increases by time, then the frame.
fn model(messages: &[(u64, u8)], end: Instant) -> Vec<Instant> {
    let mut point = ReactionPoint::new(reaction(), LINK, 0);
    let full = Duration::from_picos(1_020 * 8 * 100);
    let (mut now, mut last, mut times) = (Instant::ZERO, None::<Instant>, vec![]);
    let mut messages =
        messages.iter().map(|(ps, n)| (Instant::from_picos((*ps).into()), *n)).peekable();
    loop {
        let gap = full.max(point.rate().time_for(Bytes(1_000)));
        let due = last.map_or(Instant::ZERO, |last| last + gap);
        // A frame whose time has passed because the rate rose is sent at once.
        let next = messages.peek().map_or(Instant::NEVER, |(t, _)| *t);
        now = due.min(next).min(point.next_deadline()).max(now);
        if now > end {
            return times;
        }
        if next <= now {
            let (_, feedback) = messages.next().unwrap();
            point.on_cnm(now, QuantizedFeedback::new(feedback).unwrap());
        } else if point.next_deadline() <= now {
            point.on_timeout(now);
        } else {
            times.push(now);
            last = Some(now);
            point.on_sent(1_000);
        }
    }
}

proptest! {
    #[test]
    fn frames_leave_at_the_pace_of_the_reaction_point(
        messages in prop::collection::vec((0_u64..900_000_000, 1_u8..64), 0..20),
    ) {
        let mut messages = messages;
        messages.sort_by_key(|(ps, _)| *ps);
        let mut bench = Bench::new(&plan(vec![flow(3, udp4(5))]));
        for (ps, feedback) in &messages {
            let before = Instant::from_picos(ps.saturating_sub(1).into());
            bench.run_to(before.max(bench.now));
            bench.now = Instant::from_picos((*ps).into()).max(bench.now);
            bench.far.give(MemFrame::new(&octets(&repr(*feedback, &[], Some(3)))));
            bench.settle();
        }
        bench.run_to(at(1_000));
        let (times, model) = (bench.times(3), model(&messages, at(1_000)));
        let differs = times.iter().zip(&model).position(|(a, b)| a != b);
        prop_assert_eq!((times.len(), differs), (model.len(), None));
        prop_assert_eq!(bench.counters().obeyed, messages.len() as u64);
    }

    #[test]
    fn no_change_of_a_message_slows_a_flow_below_its_least_rate(
        changes in prop::collection::vec((0_usize..110, any::<u8>()), 0..8), cut in 0_usize..120,
        tag in prop::option::of(0_u16..5), copies in 1_usize..200,
    ) {
        let mut bench = Bench::new(&plan(vec![flow(3, udp4(5)), flow(4, Headers::Ethernet)]));
        bench.run_to(at(10));
        let head = bench.sent[0].1.head().to_vec();
        let mut octets = octets(&repr(63, msdu::of_frame(&head).unwrap().1, tag));
        for (at, octet) in changes {
            if let Some(o) = octets.get_mut(at) {
                *o = octet;
            }
        }
        octets.truncate(octets.len() - cut.min(octets.len()) / 2);
        (0..copies).for_each(|_| bench.far.give(MemFrame::new(&octets)));
        bench.settle();
        let (c, all) = (bench.counters(), bench.host.counters());
        let judged = c.obeyed + c.no_feedback + c.malformed + c.about_itself + c.foreign_flow;
        prop_assert_eq!(c.received, judged);
        let others = all.unexpected + all.foreign + all.malformed + all.pauses_received;
        prop_assert_eq!(c.received + others, copies as u64);
        // At 5 Mb/s a frame of 1,000 bytes takes 1.6 ms.
        bench.run_to(at(4_000));
        prop_assert!([3, 4].iter().all(|id| bench.sends_after(*id, at(2_300))));
    }

    #[test]
    fn polling_more_often_changes_nothing(
        extra in prop::collection::vec(0_u64..500_000_000, 0..60),
        messages in prop::collection::vec((0_u64..400_000_000, 0_u16..8, 0_u8..64), 0..20),
    ) {
        let run = |polls: &[u64]| {
            let mut flows = vec![flow(3, udp4(5)), flow(4, Headers::Ethernet)];
            flows[1].frames = Some(100);
            let mut plan = plan(flows);
            plan.senders = vec![roce(None)];
            let mut bench = Bench::new(&plan);
            let given = messages.iter().map(|(ps, id, n)| (*ps, (*id, *n)));
            bench.run_with(polls, given, 500_000_000, |bench, (id, feedback)| {
                let octets = octets(&repr(feedback, &[], Some(id)));
                bench.far.give(MemFrame::new(&octets));
            });
            let rate = bench.host.senders().next().unwrap().rate;
            (rate, bench.counters(), bench.host.snapshot(bench.now).counters, bench.sent)
        };
        prop_assert_eq!(run(&extra), run(&[]));
    }
}
