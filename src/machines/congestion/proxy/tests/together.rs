//! The proxy beside the port's own pause sender, on one link to one host.

use proptest::prelude::*;

use super::*;
use pfc::{Demand, PfcPlan, Sender};

/// One port: its own flow control, the proxy, and the host that receives from both.
struct Lane {
    proxy: Proxy,
    own: Sender,
    host: Receiver,
    frames: Vec<(Instant, PauseVector)>,
}

impl Lane {
    fn new(rate: BitsPerSec, quanta: u16) -> Self {
        let mode = FlowControl::Pfc { send: PrioritySet::ALL, obey: PrioritySet::EMPTY };
        let quanta = Quanta(quanta);
        let own = PfcPlan { mode, quanta, refresh: quanta.at(rate).div(2) };
        Self {
            proxy: Proxy::new(&plan(rate), 1),
            own: Sender::new(own, rate),
            host: receiver(rate),
            frames: Vec::new(),
        }
    }

    /// Receives a message about one of several flows.
    fn tell(&mut self, now: Instant, nanos: u64, n: u16) {
        let mut message = message(Duration::from_nanos(nanos));
        message.flow.src_port = n;
        message.is_paused_by_port = self.own.wanted().contains(P3);
        self.proxy.on_message(now, &message);
    }

    /// Polls the port as a switch does.
    fn poll(&mut self, now: Instant) {
        let frame = if let Some(demand) = self.own.due(now) {
            let Demand::Pfc(v) = demand else { unreachable!("PFC alone was planned") };
            self.own.on_sent(now, &demand);
            self.proxy.merge(now, HOST, v)
        } else if let Some(times) = self.proxy.due(now, HOST) {
            times
        } else {
            return;
        };
        self.host.on_pfc(now, &frame);
        self.proxy.on_sent(now, HOST, &frame);
        self.frames.push((now, frame));
    }

    /// Polls at every deadline up to `now`, and at each time in `extra` before it.
    fn run_to(&mut self, from: Instant, now: Instant, extra: &[u64]) {
        let mut extra: Vec<_> =
            extra.iter().map(|&ps| from + Duration::from_picos(ps)).filter(|&t| t < now).collect();
        extra.sort_unstable();
        let mut extra = extra.into_iter().peekable();
        loop {
            let due = self.own.next_deadline().min(self.proxy.next_deadline(HOST));
            assert!(due > from, "something was due and not said at {from:?}");
            let next = extra.peek().map_or(due, |&t| due.min(t));
            if next >= now {
                return;
            }
            if extra.peek() == Some(&next) {
                extra.next();
            }
            self.poll(next);
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Own(bool),
    Message(u64, u16),
    Look,
}

fn steps() -> impl Strategy<Value = Vec<(u64, Step, Vec<u64>)>> {
    let step = prop_oneof![
        any::<bool>().prop_map(Step::Own),
        (1_u64..900_000, 0_u16..3).prop_map(|(ns, flow)| Step::Message(ns, flow)),
        (0_u16..3).prop_map(|flow| Step::Message(0, flow)),
        Just(Step::Look),
    ];
    let extra = prop::collection::vec(0_u64..300_000_000, 0..4);
    prop::collection::vec((1_u64..300_000_000, step, extra), 1..60)
}

#[test]
fn a_frame_of_the_ports_own_says_all_that_the_proxy_has_to_say() {
    let mut lane = Lane::new(RATE, 1_000);
    let p4 = Priority::ALL[4];
    lane.proxy.on_message(us(1), &message(Duration::from_micros(100)));
    lane.own.want(us(1), p4, true);
    lane.poll(us(1));
    let frame = lane.frames[0].1;
    assert_eq!(frame.enabled, PrioritySet(0b1_1000));
    assert_eq!((frame.time[3], frame.time[4]), (Quanta(19_532), Quanta(1_000)));
    assert_eq!(lane.proxy.due(us(1), HOST), None);
    // Its own group for the same priority fills up and drains: the proxy's remaining time is sent
    // instead of XON.
    lane.own.want(us(2), P3, true);
    lane.poll(us(2));
    lane.own.want(us(51), P3, false);
    lane.poll(us(51));
    let times: Vec<_> = lane.frames[1..].iter().map(|(_, frame)| frame.time[3].0).collect();
    assert_eq!(times, [19_336, 9_766]);
    // Without a pause by the proxy, XON is sent.
    lane.own.want(us(90), P3, true);
    lane.poll(us(90));
    lane.own.want(us(102), P3, false);
    lane.poll(us(102));
    assert_eq!(lane.frames.last().unwrap().1.time[3], Quanta(0));
}

proptest! {
    #[test]
    fn the_host_pauses_while_either_wants_it_and_a_quantum_longer_at_most(
        gbps in prop_oneof![Just(10_u64), Just(25), Just(100), Just(400)],
        quanta in 2_u16.., steps in steps(),
    ) {
        let rate = BitsPerSec::gbps(gbps);
        let mut lane = Lane::new(rate, quanta);
        let (mut now, mut own) = (us(1), false);
        for (gap, step, extra) in steps {
            let next = now + Duration::from_picos(gap);
            lane.run_to(now, next, &extra);
            now = next;
            match step {
                Step::Own(paused) => {
                    own = paused;
                    lane.own.want(now, P3, paused);
                }
                Step::Message(ns, flow) => lane.tell(now, ns, flow),
                Step::Look => {}
            }
            lane.poll(now);
            let until = lane.proxy.until(HOST, P3);
            let paused = lane.host.paused(now).contains(P3);
            if own || now < until {
                prop_assert!(paused, "runs at {now:?}, own {own}, until {until:?}");
            } else if now >= until + Quanta(1).at(rate) {
                prop_assert!(!paused, "still paused at {now:?}, until {until:?}");
            }
        }
    }

    #[test]
    fn polling_more_often_changes_no_frame(quanta in 2_u16.., steps in steps()) {
        let mut lanes = [Lane::new(RATE, quanta), Lane::new(RATE, quanta)];
        let mut now = us(1);
        for (gap, step, extra) in steps {
            let next = now + Duration::from_picos(gap);
            for (often, lane) in lanes.iter_mut().enumerate() {
                lane.run_to(now, next, if often == 1 { &extra } else { &[] });
                match step {
                    Step::Own(paused) => lane.own.want(next, P3, paused),
                    Step::Message(ns, flow) => lane.tell(next, ns, flow),
                    Step::Look => {}
                }
                lane.poll(next);
            }
            now = next;
        }
        prop_assert_eq!(&lanes[0].frames, &lanes[1].frames);
        prop_assert_eq!(lanes[0].proxy.counters(HOST), lanes[1].proxy.counters(HOST));
    }

    #[test]
    fn renewals_come_when_they_must_and_the_pause_has_no_gap(
        rate in 1_000_000_000_u64..800_000_000_000, pause in 1_u64..5_000_000_000
    ) {
        let rate = BitsPerSec::new(rate).unwrap();
        let pause = Duration::from_picos(pause);
        let policy = PausePolicy { longest: pause, ..PausePolicy::standard() };
        let mut proxy = Proxy::new(&ProxyPlan { policy, ..plan(rate) }, 1);
        let mut host = receiver(rate);
        proxy.on_message(us(3), &message(pause));
        let longest = Quanta::MAX.at(rate);
        let (mut told, mut now) = (us(3), us(3));
        while told < us(3) + pause {
            prop_assert_eq!(proxy.next_deadline(HOST).max(us(3)), now);
            send(&mut proxy, now, HOST, &mut host).expect("a frame is due");
            told = now + longest;
            now = told.saturating_sub(longest.div(2));
        }
        prop_assert_eq!(proxy.next_deadline(HOST), Instant::NEVER);
        let paused = host.paused_time(us(100_000), P3);
        prop_assert_eq!(host.transitions(P3), 1);
        prop_assert!(paused >= pause && paused < pause + Quanta(1).at(rate) + Duration::from_picos(1));
    }
}
