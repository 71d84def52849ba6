//! The TCP-like window.

use proptest::prelude::*;

use super::*;
use crate::histogram::Spares;
use crate::plan::TcpPlan;
use crate::transport::tcp::{Receiver, Sender};
use ground::units::Bytes;

struct Tcp {
    sender: Sender,
    receiver: Receiver,
    there: Wire<(u64, u32)>,
    back: Wire<u32>,
    /// Bytes that arrived, by segment, and the number that the application may read.
    arrived: Vec<(u64, u32)>,
    in_order: u64,
    frames: u64,
    retransmitted: u64,
    window_max: u64,
    timeouts: u64,
}

impl Tcp {
    fn new(plan: &TransportPlan, network: Network) -> Self {
        let Transport::TcpLike(tcp) = &plan.kind else { unreachable!() };
        Self {
            sender: Sender::new(plan, tcp, &Spares::new(1)),
            receiver: Receiver::new(plan),
            there: Wire::new(network, 0),
            back: Wire::new(network, 1),
            arrived: vec![],
            in_order: 0,
            frames: 0,
            retransmitted: 0,
            window_max: 0,
            timeouts: 0,
        }
    }
}

impl Flow for Tcp {
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
        let segment = self.sender.next();
        self.sender.on_sent(now, &segment);
        self.there.send(now, (segment.sequence, segment.payload));
        self.frames += 1;
        self.retransmitted += u64::from(segment.repeated);
    }
    fn on_timeout(&mut self, now: Instant) {
        assert!(self.sender.on_timeout(now));
        self.timeouts += 1;
    }
    fn receive(&mut self, now: Instant) {
        while let Some((sequence, payload)) = self.there.receive(now) {
            let before = self.in_order;
            self.arrived.push((sequence, payload));
            while let Some((at, len)) = self.arrived.iter().find(|(at, _)| *at == self.in_order) {
                self.in_order = at + u64::from(*len);
            }
            let more = self.receiver.on_data(sequence as u32);
            assert_eq!(more, self.in_order > before);
            assert_eq!(self.receiver.acknowledgement(), self.in_order as u32);
            self.back.send(now, self.receiver.acknowledgement());
        }
        while let Some(acknowledgement) = self.back.receive(now) {
            self.sender.on_ack(now, acknowledgement);
            assert!(self.sender.acknowledged() <= self.receiver.delivered());
        }
        self.window_max = self.window_max.max(self.sender.window());
    }
    fn is_done(&self) -> bool {
        self.sender.is_done()
    }
}

fn tcp() -> TcpPlan {
    TcpPlan { timeout_min: Duration::from_micros(20), ..TcpPlan::new(50_000, 9) }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn every_octet_arrives_once_and_in_order_whatever_the_network_does(
        bytes in 1_u64..100_000, count in 1_u64..4, window in prop::option::of(1_u64..60),
        (seed, lost, twice) in (any::<u64>(), 0_u32..30, 0_u32..20),
        (jitter, delay) in (0_u64..3_000, 1_u64..3_000),
    ) {
        let kind = TcpPlan { window: window.map(|w| Bytes(w * 1000)), ..tcp() };
        let message = Message { bytes, count, every: Duration::from_micros(3) };
        let plan = plan(Some(message), Transport::TcpLike(kind));
        let mut flow = Tcp::new(&plan, Network { seed, lost, twice, jitter, delay });
        let took = run(&mut flow, Instant::ZERO + Duration::from_secs(10));
        prop_assert!(flow.is_done());
        prop_assert_eq!(flow.sender.acknowledged(), bytes * count);
        prop_assert_eq!(flow.receiver.delivered(), bytes * count);
        prop_assert_eq!(flow.sender.completions.counts().messages, count);
        // A timeout is doubled at most six times, and is calculated from round trips that losses
        // may have lengthened.
        let trip = Duration::from_nanos(2 * (jitter + delay));
        let losses = flow.there.lost + flow.back.lost;
        let wait = (Duration::from_micros(20) + trip.saturating_mul(10)).saturating_mul(64);
        let bound = wait.saturating_mul(losses + 1) + (trip + FRAME).saturating_mul(flow.frames)
            + message.every.saturating_mul(count);
        prop_assert!(took.since(Instant::ZERO) <= bound, "{took:?} of {bound:?}");
    }
}

#[test]
fn slow_start_doubles_the_window_each_round_trip() {
    let kind = TcpPlan { initial_window: 2, ..tcp() };
    let plan = plan(Some(Message::once(62_000)), Transport::TcpLike(kind));
    let mut flow = Tcp::new(&plan, QUIET);
    let took = run(&mut flow, Instant::NEVER);
    // 2, 4, 8, 16, 32 segments: five round trips of 2 us, each after the first acknowledgement of
    // the previous one, and the last of 32 segments 31 frames after its first.
    assert_eq!((flow.frames, flow.retransmitted), (62, 0));
    assert_eq!(took, Instant::ZERO + Duration::from_micros(10) + FRAME.saturating_mul(31));
    assert_eq!(flow.sender.window(), 64_000);
}

/// Runs a flow of one message of which the network loses segment number `lost`.
fn with_one_loss(message: u64, lost: u64) -> Tcp {
    let plan = plan(Some(Message::once(message)), Transport::TcpLike(tcp()));
    run_in_slots(Tcp::new(&plan, QUIET), |flow, now| {
        flow.send(now);
        if flow.frames == lost + 1 {
            flow.there.lose_last();
        }
    })
}

#[test]
fn three_duplicates_repeat_one_segment_and_halve_the_window() {
    let flow = with_one_loss(100_000, 20);
    assert_eq!((flow.retransmitted, flow.timeouts), (1, 0));
    assert_eq!(flow.receiver.duplicates, 0);
    assert!(flow.sender.window() < flow.window_max, "{}", flow.sender.window());
}

#[test]
fn a_tail_that_is_lost_takes_a_timeout() {
    let flow = with_one_loss(8_000, 7);
    assert_eq!((flow.retransmitted, flow.timeouts), (1, 1));
    // The sender restarted with one segment, which was acknowledged.
    assert_eq!(flow.sender.window(), 2_000);
}

#[test]
fn sequence_numbers_wrap_at_32_bits() {
    let plan = plan(None, Transport::TcpLike(TcpPlan { window: Some(Bytes(64_000)), ..tcp() }));
    let mut flow = Tcp::new(&plan, Network { lost: 0, ..QUIET });
    let mut now = Instant::ZERO;
    // More than 2^32 bytes, one window at a time.
    while flow.sender.acknowledged() < (1 << 32) + 1_000_000 {
        while flow.sender.ready_at() <= now {
            let segment = flow.sender.next();
            flow.sender.on_sent(now, &segment);
            flow.receiver.on_data(segment.sequence as u32);
        }
        now += Duration::from_micros(1);
        flow.sender.on_ack(now, flow.receiver.acknowledgement());
    }
    assert_eq!(flow.sender.acknowledged(), flow.receiver.delivered());
}
