//! The point against its formula, its counters, and floods.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;

use super::*;
use crate::tests::{UNLIMITED, flow, us};
use crate::{Detect, EcnPlan, LimitPlan, MarkAt, NotEct};
use ground::units::Mac;

const RATE: BitsPerSec = BitsPerSec::gbps(100);

fn queue(class: u8) -> Queue {
    crate::tests::queue(2, class)
}

fn joined(length: u64, n: u32) -> Joined {
    Joined {
        queue: queue(3),
        length: Bytes(length),
        drain: RATE,
        octets: Bytes(1_024),
        key: FlowKey::Ip(flow(n)),
    }
}

fn point(plan: SfcPlan) -> SfcPoint {
    let plan = SfcPlan { enabled: true, monitored_queues: 1 << 3, ..plan };
    let mut point = SfcPoint::new(plan, 4).unwrap();
    let monitor = Monitor { detect: Detect::Length(Bytes(100_000)), target: Bytes(40_000) };
    point.set_monitor(queue(3), Some(monitor)).unwrap();
    point
}

#[test]
fn the_frame_that_crosses_the_threshold_is_told_of_at_once() {
    let mut point = point(SfcPlan::new());
    point.set_locator(PortId::new(2).unwrap(), Locator::Incast);
    assert_eq!(point.on_enqueue(us(1), &joined(100_000, 1)), None);
    let signal = point.on_enqueue(us(1), &joined(100_001, 1)).unwrap();
    // 60,001 bytes at 12.5 bytes per nanosecond are 4800.08 ns.
    let want = Signal { pause: Duration::from_nanos(4_800), locator: Locator::Incast, number: 1 };
    assert_eq!(signal, want);
    // It counts when it is sent.
    assert_eq!(point.queue_counters(queue(3)).transmitted_sfcms, 0);
    for (fate, expected) in
        [(Fate::Sent, (1, 0, 0)), (Fate::Lost, (1, 1, 0)), (Fate::Unbuilt, (1, 1, 1))]
    {
        point.on_fate(queue(3), fate);
        let SfcCounters { transmitted_sfcms, lost, unsent, .. } = point.counters();
        assert_eq!((transmitted_sfcms, lost, unsent), expected);
        assert_eq!(point.queue_counters(queue(3)).transmitted_sfcms, transmitted_sfcms);
    }
}

#[test]
fn a_flow_has_its_messages_spaced_and_no_more_than_it_may_per_pause() {
    let spacing = Duration::from_micros(1);
    let mut point = point(SfcPlan { spacing, ..SfcPlan::new() });
    let long = joined(1_290_000, 1); // a pause of 100 us
    let told = |point: &mut SfcPoint, at: Instant| point.on_enqueue(at, &long).is_some();
    let at: Vec<u64> = (0..100).filter(|n| told(&mut point, us(*n))).collect();
    assert_eq!(at, [0, 1, 2]);
    assert_eq!(point.counters().had_all, 97);
    // The last pause was requested at 2 us: from 102 us on its count restarts.
    assert!(!told(&mut point, us(101)) && told(&mut point, us(102)));
    assert!(!told(&mut point, us(102)));
    assert_eq!(point.counters().too_soon, 1);
    assert_eq!(point.on_enqueue(us(103), &long).unwrap().number, 5);
}

#[test]
fn to_the_letter_a_flow_has_its_messages_once_until_its_life_is_over() {
    let dialect = Dialect { count: Count::PerStream, life: Life::SinceCreated };
    let plan = SfcPlan { dialect, spacing: Duration::ZERO, ..SfcPlan::new() };
    let mut point = point(SfcPlan { max_flow_life: Duration::from_millis(10), ..plan });
    let mut at = Vec::new();
    for n in 0..30 {
        if point.on_enqueue(us(n * 1_000), &joined(200_000, 1)).is_some() {
            at.push(n);
        }
    }
    assert_eq!(at, [0, 1, 2, 10, 11, 12, 20, 21, 22]);
}

#[test]
fn patience_lets_isolation_try_first() {
    let plan = SfcPlan { patience: Duration::from_micros(20), ..SfcPlan::new() };
    let mut point = point(SfcPlan { octets_min: Bytes(3 * 1_024), ..plan });
    assert_eq!(point.on_enqueue(us(0), &joined(200_000, 1)), None);
    assert_eq!(point.on_enqueue(us(30), &joined(200_000, 1)), None, "two frames, three wanted");
    assert!(point.on_enqueue(us(31), &joined(200_000, 1)).is_some());
    assert_eq!(point.on_enqueue(us(31), &joined(200_000, 2)), None);
    assert_eq!(point.counters().not_yet, 3);
}

#[test]
fn what_cannot_or_must_not_be_answered_is_counted_by_its_reason() {
    let mut point = point(SfcPlan::new());
    let v4 = |a: [u8; 4]| IpAddr::V4(Ipv4Addr::from(a));
    let of = |src: IpAddr| FlowKey::Ip(FiveTuple { src, ..flow(1) });
    let keys = [
        FlowKey::L2 { dst: Mac([2; 6]), src: Mac([4; 6]), vid: None },
        FlowKey::Ip(FiveTuple { dst_port: 58_622, ..flow(1) }),
        of(v4([0, 0, 0, 0])),
        of(v4([239, 1, 1, 1])),
        of(v4([127, 0, 0, 1])),
        of(v4([255, 255, 255, 255])),
        of(IpAddr::V6(Ipv6Addr::UNSPECIFIED)),
        of("ff02::1".parse().unwrap()),
    ];
    for key in keys {
        assert_eq!(point.on_enqueue(us(1), &Joined { key, ..joined(200_000, 1) }), None);
    }
    let want = SfcCounters { not_ip: 1, about_itself: 1, unanswerable: 6, ..Default::default() };
    assert_eq!(point.counters(), want);
    // Another protocol's port of the same number is not an SFCM's.
    let tcp = FiveTuple { dst_port: 58_622, protocol: Protocol::TCP, ..flow(1) };
    let key = FlowKey::Ip(tcp);
    assert!(point.on_enqueue(us(1), &Joined { key, ..joined(200_000, 1) }).is_some());
}

#[test]
fn a_metered_flow_is_signalled_while_its_rate_is_high_enough() {
    let meter =
        MeterPlan { rate: BitsPerSec::new(8_000_000_000), window: Duration::from_micros(10) };
    let mut point = point(SfcPlan { meter, spacing: Duration::ZERO, ..SfcPlan::new() });
    // 1,024 bytes per microsecond are 8.2 Gb/s: enough once the window of 10 us is full.
    let told: Vec<u64> =
        (100..115).filter(|n| point.on_enqueue(us(*n), &joined(200_000, 1)).is_some()).collect();
    assert_eq!(told.first(), Some(&109), "{told:?}");
    assert_eq!(point.counters().below_rate, 9);
    let rate = point.flows_in(0, 16).next().unwrap().1.rate.unwrap();
    // A window with frames at both of its ends has one more than passes in its time.
    assert!((8_192_000_000..=9_011_200_000).contains(&rate), "{rate}");
    // Half of that rate is not, however long it lasts.
    let slow = |n: u64| point.on_enqueue(us(n), &joined(200_000, 2)).is_some();
    assert_eq!((200..300).step_by(2).map(slow).filter(|told| *told).count(), 0);
    let octets: Vec<u64> = point.flows_in(0, 16).map(|(_, flow)| flow.octets).collect();
    assert_eq!(octets, [15 * 1_024, 50 * 1_024]);
    let zero = MeterPlan { window: Duration::ZERO, ..meter };
    assert_eq!(SfcPlan { meter: zero, ..SfcPlan::new() }.check(), Err(SfcError::NoWindow));
}

#[test]
fn a_flood_of_distinct_flows_costs_its_budget_and_its_places_only() {
    let budget = LimitPlan { interval: Duration::from_micros(1), burst: 64 };
    let mut point = point(SfcPlan { streams: 1_000, budget, ..SfcPlan::new() });
    let mut told = 0_u64;
    for n in 0..200_000 {
        // A frame per 100 ns, for 20 ms.
        let now = Instant::ZERO + Duration::from_nanos(u64::from(n) * 100);
        told += u64::from(point.on_enqueue(now, &joined(500_000, n)).is_some());
    }
    let counters = point.counters();
    assert!(told <= 64 + 20_000);
    assert_eq!(told + counters.over_budget + counters.no_room, 200_000);
    assert_eq!(counters.streams_created, 1_000);
    assert_eq!(counters.no_room, 199_000);
}

#[test]
fn only_monitored_queues_of_an_enabled_point_count() {
    let mut point = point(SfcPlan::new());
    let long = joined(1_000_000, 1);
    assert_eq!(point.on_enqueue(us(0), &Joined { queue: queue(4), ..long }), None);
    point.set_plan(SfcPlan { enabled: false, ..*point.plan() }).unwrap();
    assert_eq!(point.on_enqueue(us(0), &long), None);
    point.set_plan(SfcPlan { enabled: true, monitored_queues: 0xf7, ..*point.plan() }).unwrap();
    assert_eq!(point.on_enqueue(us(0), &long), None);
    point.set_plan(SfcPlan { monitored_queues: 8, ..*point.plan() }).unwrap();
    assert!(point.on_enqueue(us(0), &long).is_some());
    point.set_monitor(queue(3), None).unwrap();
    assert_eq!(point.on_enqueue(us(0), &joined(1_000_000, 2)), None);
}

#[test]
fn plans_out_of_range_are_refused() {
    let fine = SfcPlan::new();
    let bad = |plan: SfcPlan| SfcPoint::new(plan, 1).err().unwrap();
    assert_eq!(bad(SfcPlan { udp_port: 49_151, ..fine }), SfcError::Port(49_151));
    assert_eq!(bad(SfcPlan { max_sfcm: 0, ..fine }), SfcError::NoMessages);
    assert_eq!(bad(SfcPlan { max_flow_life: Duration::ZERO, ..fine }), SfcError::NoLife);
    assert_eq!(bad(SfcPlan { streams: 65_537, ..fine }), SfcError::Streams(65_537));
    let long = Duration::from_secs(5);
    assert!(matches!(bad(SfcPlan { pause_max: long, ..fine }), SfcError::Pauses { .. }));
    assert!(SfcPoint::new(SfcPlan { udp_port: 49_152, ..fine }, 1).is_ok());
    let mut point = point(fine);
    let monitor = Monitor { detect: Detect::Length(Bytes(100)), target: Bytes(101) };
    let error = point.set_monitor(queue(3), Some(monitor)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the target of 101 B is above 100 B, from which frames are picked"
    );
}

#[test]
fn a_curve_picks_flows_in_proportion() {
    let mut point = point(SfcPlan { spacing: Duration::ZERO, budget: UNLIMITED, ..SfcPlan::new() });
    let curve = EcnPlan {
        kmin: Bytes(50_000),
        kmax: Bytes(150_000),
        pmax: 13_107, // a fifth
        at: MarkAt::Enqueue,
        not_ect: NotEct::Pass,
    };
    let monitor = Monitor { detect: Detect::Aqm(curve), target: Bytes(0) };
    point.set_monitor(queue(3), Some(monitor)).unwrap();
    for n in 0..100_000 {
        point.on_enqueue(us(n), &joined(100_000, 1));
        assert_eq!(point.on_enqueue(us(n), &joined(49_999, 1)), None);
    }
    let picked = point.queue_counters(queue(3)).congesting;
    assert!((9_500..10_500).contains(&picked), "a tenth half way up: {picked}");
}

proptest! {
    #[test]
    fn no_pause_is_longer_than_the_queue_takes_to_its_target(
        length in 0_u64..1 << 40, target in 0_u64..1 << 40, rate in 1_u64..800_000_000_000
    ) {
        let rate = BitsPerSec::new(rate).unwrap();
        let pause = pause(Bytes(length), Bytes(target), rate);
        let surplus = u128::from(length.saturating_sub(target)) * 8 * 1_000_000_000_000;
        let drained = u128::from(pause.as_picos()) * u128::from(rate.get());
        prop_assert!(drained <= surplus);
        // A pause one nanosecond longer would be too long, unless the range of time ends first.
        let next = (u128::from(pause.as_picos()) + 1_000) * u128::from(rate.get());
        prop_assert!(next > surplus || pause.as_picos() > u64::MAX - 1_000);
    }

    #[test]
    fn no_flow_is_told_of_more_often_than_planned(
        frames in prop::collection::vec((0_u64..30, 0_u32..6, 90_000_u64..400_000), 1..500),
        max_sfcm in 1_u32..5, spacing in 0_u64..40
    ) {
        let spacing = Duration::from_micros(spacing);
        let plan = SfcPlan { max_sfcm, spacing, budget: UNLIMITED, ..SfcPlan::new() };
        let mut point = point(plan);
        let mut now = Instant::ZERO;
        // Per flow: times of messages and ends of their pauses.
        let mut told: Vec<Vec<(Instant, Instant)>> = vec![Vec::new(); 6];
        for (gap, n, length) in frames {
            now += Duration::from_micros(gap);
            let concerned = point.concerns(queue(3), Bytes(length));
            prop_assert_eq!(concerned, length > 100_000);
            if let Some(signal) = point.on_enqueue(now, &joined(length, n)) {
                prop_assert!(length > 100_000);
                prop_assert!(signal.pause <= RATE.time_for(Bytes(length - 40_000)));
                told[n as usize].push((now, now + signal.pause));
            }
        }
        for told in told {
            prop_assert!(told.windows(2).all(|w| w[1].0.since(w[0].0) >= spacing));
            // A run of messages within each other's pauses is no longer than allowed.
            let mut run = 0;
            for (n, (at, _)) in told.iter().enumerate() {
                run = if n > 0 && *at < told[n - 1].1 { run + 1 } else { 1 };
                prop_assert!(run <= max_sfcm);
            }
        }
    }

    /// A frame whose flow was looked up ahead is handled as one whose flow was not: the same signals,
    /// counters and flows, also where flows expire, make room for others, and plans change.
    #[test]
    fn flows_looked_up_ahead_change_nothing(
        bursts in prop::collection::vec(
            (0_u64..400, prop::collection::vec((0_u32..24, 90_000_u64..140_000), 1..32)), 1..60
        ),
        plans in prop::collection::vec((0_u64..40, 0_u64..2, 0_u64..3, 1_u32..3, 0_u64..3), 3),
        streams in 4_usize..40,
    ) {
        let plans: Vec<SfcPlan> = plans.into_iter().map(|(spacing, patience, octets, most, of)| {
            let [spacing, patience] = [spacing, 5 * patience].map(Duration::from_micros);
            let life = [Life::SinceLastPicked, Life::SinceCreated][usize::from(of == 0)];
            let count = [Count::PerPause, Count::PerStream][usize::from(of == 1)];
            SfcPlan {
                enabled: true,
                monitored_queues: 8,
                streams,
                spacing,
                patience,
                octets_min: Bytes(3 * octets * 1_024),
                max_sfcm: most,
                budget: LimitPlan { interval: Duration::from_micros(3), burst: 2 },
                pause_min: Duration::from_micros(5),
                max_flow_life: Duration::from_micros(1_280),
                dialect: Dialect { count, life },
                ..SfcPlan::new()
            }
        }).collect();
        let (mut ahead, mut plain) = (point(plans[0]), point(plans[0]));
        let mut now = Instant::ZERO;
        for (n, (gap, frames)) in bursts.iter().enumerate() {
            now += Duration::from_micros(*gap);
            if n % 20 == 19 {
                for point in [&mut ahead, &mut plain] {
                    point.set_plan(plans[n / 20]).unwrap();
                }
            }
            let mut flows = Ahead::default();
            for (flow_number, _) in frames {
                match flow(*flow_number) {
                    _ if flow_number % 7 == 6 => flows.push_other(),
                    FiveTuple { src: IpAddr::V4(a), dst: IpAddr::V4(b), protocol, .. } => {
                        let ports = (*flow_number as u16, 4791);
                        flows.push(queue(3), (a.to_bits(), b.to_bits()), protocol, ports);
                    }
                    _ => unreachable!("flows of this test are in IPv4"),
                }
            }
            ahead.look_ahead(now, queue(3), RATE, &mut flows);
            for (turn, (flow_number, length)) in frames.iter().enumerate() {
                flows.set_turn(turn);
                let joined = joined(*length, *flow_number);
                let (queue, length) = (joined.queue, joined.length);
                let quiet = ahead.is_quiet(now, queue, length, joined.octets, &flows);
                let signal = if quiet { None } else { ahead.on_enqueue(now, &joined) };
                prop_assert_eq!(signal, plain.on_enqueue(now, &joined));
            }
            prop_assert_eq!(ahead.counters(), plain.counters());
            prop_assert_eq!(ahead.queue_counters(queue(3)), plain.queue_counters(queue(3)));
            let flows = |point: &SfcPoint| point.flows_in(0, 64).collect::<Vec<_>>();
            prop_assert_eq!(flows(&ahead), flows(&plain));
        }
    }
}

#[test]
fn a_known_flow_over_the_budget_is_quiet() {
    let budget = LimitPlan { interval: Duration::from_micros(1_000), burst: 1 };
    let mut point = point(SfcPlan { budget, ..SfcPlan::new() });
    let FiveTuple { src: IpAddr::V4(src), dst: IpAddr::V4(dst), protocol, src_port, dst_port } =
        flow(5)
    else {
        unreachable!("flows of this test are in IPv4")
    };
    let mut flows = Ahead::default();
    flows.push(queue(3), (src.to_bits(), dst.to_bits()), protocol, (src_port, dst_port));
    let mut quiet = |point: &mut SfcPoint, now: Instant, length: u64| {
        point.look_ahead(now, queue(3), RATE, &mut flows);
        point.is_quiet(now, queue(3), Bytes(length), Bytes(1_024), &flows)
    };
    assert!(!quiet(&mut point, us(10), 200_000), "a flow that is not in the table");
    assert!(point.on_enqueue(us(10), &joined(200_000, 5)).is_some());
    assert!(!quiet(&mut point, us(15), 200_000), "within the spacing");
    assert!(!quiet(&mut point, us(50), 100_000), "a queue that is short enough");
    assert!(quiet(&mut point, us(50), 200_000));
    assert!(!quiet(&mut point, us(1_010), 200_000), "the budget lets a message pass");
    assert_eq!(point.counters().over_budget, 1);
    assert_eq!(point.flows_in(0, 1).next().unwrap().1.octets, 2 * 1_024);
}
