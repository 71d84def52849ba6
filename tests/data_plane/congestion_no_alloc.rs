//! Detection, isolation and signalling of congesting flows allocate nothing after setup, with few
//! flows and with a flood.

use std::net::{IpAddr, Ipv4Addr};

use sluice::congestion::isolation::{
    Arrival, Isolation, IsolationPlan, Labels, MapReading, QueueMap, Received,
};
use sluice::congestion::sfc::{Joined, Monitor, SfcPlan, SfcPoint};
use sluice::congestion::{Detect, FlowKey, Queue};
use sluice::time::{Duration, Instant};
use sluice::units::{BitsPerSec, Bytes, Mac, PortId, TrafficClass};
use sluice::wire::flow::FiveTuple;
use sluice::wire::ip::Protocol;

fn queue(class: u8) -> Queue {
    Queue { port: PortId::MIN, class: TrafficClass::new(class).unwrap() }
}

fn flow(n: u32) -> FlowKey {
    FlowKey::Ip(FiveTuple {
        src: IpAddr::V4(Ipv4Addr::from_bits(0x0a00_0000 | n)),
        dst: IpAddr::V4(Ipv4Addr::new(10, 255, 0, 1)),
        protocol: Protocol::UDP,
        src_port: 1,
        dst_port: 4791,
    })
}

fn time(n: u32) -> Instant {
    Instant::ZERO + Duration::from_nanos(100 * u64::from(n))
}

#[test]
fn a_source_flow_control_point_allocates_nothing() {
    let life = Duration::from_millis(1);
    let plan =
        SfcPlan { enabled: true, monitored_queues: 8, max_flow_life: life, ..SfcPlan::new() };
    let mut point = SfcPoint::new(plan, 1).unwrap();
    let monitor = Monitor { detect: Detect::Length(Bytes(1_000)), target: Bytes(0) };
    point.set_monitor(queue(3), Some(monitor)).unwrap();
    let mut told = 0;
    let counted = allocation_counter::measure(|| {
        for n in 0..200_000 {
            let joined = Joined {
                queue: queue(3),
                length: Bytes(100_000),
                drain: BitsPerSec::gbps(100),
                octets: Bytes(1_000),
                key: flow(if n % 2 == 0 { n % 64 } else { n }),
            };
            told += u32::from(point.on_enqueue(time(n), &joined).is_some());
        }
    });
    assert_eq!(counted.count_total, 0, "{counted:?}");
    assert!(told > 0 && point.counters().streams_full > 0 && point.counters().streams_removed > 0);
}

#[test]
fn isolation_allocates_nothing() {
    let map = QueueMap::new([0, 0, 0, -6, 0, 4, 0, 0], MapReading::Partner).unwrap();
    let life = Duration::from_millis(1);
    let plan = IsolationPlan { enabled: true, map, max_flow_life: life, ..IsolationPlan::new() };
    let mut isolation = Isolation::new(plan, 1).unwrap();
    let labels = Labels::default();
    let mut lengths = [Bytes(0); 8];
    (lengths[3], lengths[5]) = (Bytes(200_000), Bytes(200_000));
    let counted = allocation_counter::measure(|| {
        for n in 0..200_000 {
            let key = flow(if n % 2 == 0 { n % 64 } else { n });
            let arrival = Arrival { ingress: PortId::MIN, queue: queue(3), key, labels };
            let placed = isolation.place(time(n), &arrival, &lengths);
            let queue = Queue { class: placed.class, ..queue(3) };
            isolation.on_enqueued(queue, placed.hold);
            isolation.on_dequeued(queue, placed.hold);
            let (mac, port) = (Mac::default(), PortId::MIN);
            let cim =
                Received { port, mac, address: None, add: true, key, labels, classes: u8::MAX };
            isolation.on_cim(time(n), &cim);
        }
    });
    assert_eq!(counted.count_total, 0, "{counted:?}");
    let counted = isolation.counters();
    assert!(counted.isolated_frames > 100_000);
    assert!(counted.streams_full > 0 && counted.streams_removed > 0, "{counted:?}");
}
