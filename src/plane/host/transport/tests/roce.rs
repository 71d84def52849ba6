//! The two loss recoveries of RoCEv2.

use proptest::prelude::*;

use super::*;
use crate::histogram::Spares;
use crate::plan::{Recovery, RocePlan};
use crate::transport::roce::{Receiver, Sender};
use ground::units::Bytes;
use wire::aeth::Syndrome;
use wire::roce::U24;

/// A frame of either direction.
#[derive(Clone, Copy, Debug)]
enum Frame {
    Data { index: u64, psn: U24, ack_request: bool },
    Answer { psn: U24, msn: U24, syndrome: Syndrome },
}

struct Roce {
    sender: Sender,
    receiver: Receiver,
    there: Wire<Frame>,
    back: Wire<Frame>,
    recovery: Recovery,
    /// Packets that ever arrived, and the number that the application may read.
    arrived: Vec<bool>,
    in_order: u64,
    frames: u64,
    naks: u64,
}

impl Roce {
    fn new(plan: &TransportPlan, network: Network) -> Self {
        let Transport::Roce(roce) = &plan.kind else { unreachable!() };
        Self {
            sender: Sender::new(plan, roce, &Spares::new(1)),
            receiver: Receiver::new(plan, roce),
            there: Wire::new(network, 0),
            back: Wire::new(network, 1),
            recovery: roce.recovery,
            arrived: vec![false; 10_000],
            in_order: 0,
            frames: 0,
            naks: 0,
        }
    }

    fn answer(&mut self, now: Instant, syndrome: Syndrome, (psn, msn): (U24, U24)) {
        self.back.send(now, Frame::Answer { psn, msn, syndrome });
    }
}

impl Flow for Roce {
    fn ready_at(&self) -> Instant {
        self.sender.ready_at()
    }
    fn deadline(&self) -> Instant {
        self.sender.timer
    }
    fn arrival(&self) -> Instant {
        self.there.next_at().min(self.back.next_at())
    }
    fn send(&mut self, now: Instant) {
        let packet = self.sender.next();
        let (index, psn, ack_request) = (packet.place.index, packet.psn, packet.ack_request);
        self.sender.on_sent(now, &packet);
        self.there.send(now, Frame::Data { index, psn, ack_request });
        self.frames += 1;
    }
    fn on_timeout(&mut self, now: Instant) {
        assert!(self.sender.on_timeout(now));
    }
    fn receive(&mut self, now: Instant) {
        while let Some(Frame::Data { index, psn, ack_request }) = self.there.receive(now) {
            let reply = self.receiver.on_data(now, psn, ack_request, false);
            // Data readable by the application: with go-back-N only packets in order count.
            match self.recovery {
                Recovery::GoBackN => self.in_order += u64::from(index == self.in_order),
                Recovery::SelectiveRepeat => {
                    self.arrived[index as usize] = true;
                    while self.arrived[self.in_order as usize] {
                        self.in_order += 1;
                    }
                }
            }
            let last = u64::from(roce(self.recovery).first_psn.get()) + self.in_order;
            let acknowledges = self.receiver.clone().acknowledge().0;
            assert_eq!(acknowledges.next(), U24::wrapping(last));
            if let Some(numbers) =
                reply.missing.and_then(|(from, to)| self.receiver.refuse(from, to))
            {
                self.naks += 1;
                self.answer(now, Syndrome::SEQUENCE_ERROR, numbers);
            }
            if reply.ack {
                let numbers = self.receiver.acknowledge();
                self.answer(now, Syndrome::ACK, numbers);
            }
        }
        while let Some(Frame::Answer { psn, msn, syndrome }) = self.back.receive(now) {
            self.sender.on_answer(now, psn, syndrome, msn);
            assert!(self.sender.acknowledged() <= self.receiver.delivered());
        }
    }
    fn is_done(&self) -> bool {
        self.sender.is_done()
    }
}

fn roce(recovery: Recovery) -> RocePlan {
    let qp = U24::new(17).unwrap();
    // Sequence numbers wrap within every run.
    let first_psn = U24::new(0xff_fff0).unwrap();
    RocePlan { recovery, first_psn, timeout: Duration::from_micros(20), ..RocePlan::new(qp, qp) }
}

proptest! {
    #[test]
    fn every_octet_arrives_once_and_in_order_whatever_the_network_does(
        selective in any::<bool>(), bytes in 1_u64..200_000, count in 1_u64..4,
        ack_every in 1_u32..40, window in prop::option::of(1_u64..60),
        (seed, lost, twice) in (any::<u64>(), 0_u32..35, 0_u32..20),
        (jitter, delay) in (0_u64..3_000, 1_u64..3_000),
    ) {
        let recovery = if selective { Recovery::SelectiveRepeat } else { Recovery::GoBackN };
        let kind = RocePlan {
            ack_every,
            window: window.map(|w| Bytes(w * 1000)),
            ..roce(recovery)
        };
        let timeout = kind.timeout;
        let message = Message { bytes, count, every: Duration::from_micros(3) };
        let plan = plan(Some(message), Transport::Roce(kind));
        let mut flow = Roce::new(&plan, Network { seed, lost, twice, jitter, delay });
        let took = run(&mut flow, Instant::ZERO + Duration::from_secs(1));
        prop_assert!(flow.is_done());
        prop_assert_eq!(flow.sender.acknowledged(), bytes * count);
        prop_assert_eq!(flow.receiver.delivered(), bytes * count);
        prop_assert_eq!(flow.receiver.messages, count);
        prop_assert_eq!(flow.sender.completions.counts().messages, count);
        // A delay longer than a round trip means that something was lost.
        let trip = Duration::from_nanos(2 * (jitter + delay));
        let losses = flow.there.lost + flow.back.lost;
        let bound = (timeout + trip).saturating_mul(losses + 1)
            + (trip + FRAME).saturating_mul(flow.frames)
            + message.every.saturating_mul(count);
        prop_assert!(took.since(Instant::ZERO) <= bound, "{took:?} of {bound:?}");
    }

    #[test]
    fn refusals_that_make_no_sense_change_nothing_for_good(
        answers in prop::collection::vec((any::<u32>(), any::<u32>(), any::<u8>()), 1..200)
    ) {
        // With go-back-N a NAK acknowledges, so a forged one may be accepted.
        let kind = Transport::Roce(roce(Recovery::SelectiveRepeat));
        let plan = plan(Some(Message::once(40_000)), kind);
        let mut flow = Roce::new(&plan, QUIET);
        let mut now = Instant::ZERO;
        for (psn, msn, octet) in answers {
            if flow.sender.ready_at() <= now {
                flow.send(now);
            }
            if let Ok(syndrome) = Syndrome::from_octet(octet | 0x20) {
                let numbers = [psn, msn].map(|n| U24::new(n & 0xff_ffff).unwrap());
                flow.sender.on_answer(now, numbers[0], syndrome, numbers[1]);
            }
            now += Duration::from_nanos(10);
        }
        run(&mut flow, Instant::ZERO + Duration::from_secs(1));
        prop_assert!(flow.is_done());
        prop_assert_eq!(flow.receiver.delivered(), 40_000);
    }
}

#[test]
fn without_loss_each_packet_goes_once_and_is_acknowledged_as_often_as_asked() {
    for (ack_every, acks) in [(1, 100), (7, 14 + 1), (1_000, 1)] {
        let kind = RocePlan { ack_every, ..roce(Recovery::GoBackN) };
        let plan = plan(Some(Message::once(100_000)), Transport::Roce(kind));
        let mut flow = Roce::new(&plan, QUIET);
        let took = run(&mut flow, Instant::NEVER);
        assert_eq!((flow.frames, flow.back.frames.len()), (100, acks), "{ack_every}");
        // The last leaves after 99 others, and the round trip is 2 us.
        assert_eq!(took, Instant::ZERO + FRAME.saturating_mul(99) + Duration::from_micros(2));
        assert_eq!(flow.sender.completions.counts().fct, Some(took.since(Instant::ZERO)));
    }
}

/// A flow of 100 packets whose network loses exactly these.
fn with_losses(recovery: Recovery, losses: &[u64]) -> Roce {
    let plan = plan(Some(Message::once(100_000)), Transport::Roce(roce(recovery)));
    let mut losses = losses.to_vec();
    run_in_slots(Roce::new(&plan, QUIET), |flow, now| {
        let index = flow.sender.next().place.index;
        flow.send(now);
        if let Some(at) = losses.iter().position(|n| *n == index) {
            losses.remove(at);
            flow.there.lose_last();
        }
    })
}

#[test]
fn go_back_n_repeats_all_from_the_gap_on_and_selective_repeat_the_gap_alone() {
    // The reply to packet 11 arrives 20 frames after it; by then 12 to 30 have left as well.
    let all = with_losses(Recovery::GoBackN, &[10]);
    assert_eq!((all.frames, all.naks, all.receiver.out_of_order), (100 + 21, 1, 20));
    let one = with_losses(Recovery::SelectiveRepeat, &[10]);
    assert_eq!((one.frames, one.naks, one.receiver.duplicates), (100 + 1, 1, 0));
    let three = with_losses(Recovery::SelectiveRepeat, &[10, 11, 14]);
    assert_eq!((three.frames, three.naks, three.receiver.duplicates), (100 + 3, 2, 0));
}

#[test]
fn a_gap_is_answered_once_and_what_is_lost_twice_takes_a_timeout() {
    let all = with_losses(Recovery::GoBackN, &[10, 10]);
    assert_eq!(all.naks, 1);
    let fct = all.sender.completions.counts().fct.unwrap();
    assert!(fct > Duration::from_micros(20), "{fct}");
    let one = with_losses(Recovery::SelectiveRepeat, &[10, 10]);
    assert_eq!(one.naks, 1);
}

#[test]
fn the_tail_of_a_message_is_found_missing_by_the_timeout_alone() {
    for recovery in [Recovery::GoBackN, Recovery::SelectiveRepeat] {
        let flow = with_losses(recovery, &[99]);
        assert_eq!((flow.frames, flow.naks), (101, 0));
    }
}

#[test]
fn a_window_holds_the_sender_and_asks_for_the_answer_that_frees_it() {
    let kind = RocePlan { window: Some(Bytes(4_999)), ack_every: 1_000, ..roce(Recovery::GoBackN) };
    let plan = plan(Some(Message::once(100_000)), Transport::Roce(kind));
    let mut flow = Roce::new(&plan, QUIET);
    let took = run(&mut flow, Instant::NEVER);
    // Four packets per round trip of 2 us and three more frames.
    let trip = Duration::from_micros(2) + FRAME.saturating_mul(3);
    assert_eq!(took, Instant::ZERO + trip.saturating_mul(25));
    assert_eq!(flow.frames, 100);
}

#[test]
fn marked_packets_are_answered_once_per_interval() {
    let kind = roce(Recovery::GoBackN);
    let plan = plan(None, Transport::Roce(kind.clone()));
    let mut receiver = Receiver::new(&plan, &kind);
    let mut cnps = 0;
    for n in 0..1000 {
        let psn = U24::wrapping(u64::from(kind.first_psn.get()) + n);
        let now = Instant::ZERO + Duration::from_nanos(n * 500);
        cnps += u32::from(receiver.on_data(now, psn, false, true).cnp);
    }
    // 499.5 us hold the first and nine more.
    assert_eq!(cnps, 10);
}
