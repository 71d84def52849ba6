//! Isolation between two queues that are served at random: frame order, an end of every wait and
//! every isolation, CIMs to peers, and handling of CIMs from peers.

mod order;

use std::net::{IpAddr, Ipv4Addr};

use super::*;
use crate::streams::STREAMS_MAX;
use crate::tests::{UNLIMITED, key as flow, us};
use crate::{Detect, LimitPlan};
use ground::time::Duration;
use ground::units::Bytes;

const UPSTREAM: PortId = PortId::MIN;
const PEER: Mac = Mac([2, 0, 0, 0, 0, 9]);

fn class(n: u8) -> TrafficClass {
    TrafficClass::new(n).unwrap()
}

/// Class 3 is monitored, its congesting flows go to class 5.
fn map() -> QueueMap {
    QueueMap::new([0, 0, 0, -6, 0, 4, 0, 0], MapReading::Partner).unwrap()
}

fn queue(n: u8) -> Queue {
    crate::tests::queue(2, n)
}

fn plan() -> IsolationPlan {
    let watch =
        Watch { detect: Detect::Length(Bytes(4_000)), low: Bytes(1_000), cim_above: Bytes(3_000) };
    IsolationPlan { enabled: true, map: map(), watch, heard: UNLIMITED, ..IsolationPlan::new() }
}

fn peer() -> Peer {
    Peer {
        cim_type: CimType::Ipv4,
        mac: PEER,
        ipv4: Some(Ipv4Addr::new(192, 0, 2, 1)),
        ipv6: None,
        udp_port: 50_000,
        encap_len: 48,
    }
}

fn isolation(plan: IsolationPlan) -> Isolation {
    let mut isolation = Isolation::new(plan, 4).unwrap();
    isolation.set_peer(UPSTREAM, Some(peer())).unwrap();
    isolation.set_peer(queue(3).port, Some(peer())).unwrap();
    isolation
}

fn arrival(n: u32) -> Arrival {
    Arrival { ingress: UPSTREAM, queue: queue(3), key: flow(n), labels: Labels::default() }
}

/// Queues of these lengths in classes 3 and 5.
fn lengths(monitored: u64, congesting: u64) -> [Bytes; PRIORITIES] {
    let mut lengths = [Bytes(0); PRIORITIES];
    (lengths[3], lengths[5]) = (Bytes(monitored), Bytes(congesting));
    lengths
}

fn received(n: u32, add: bool) -> Received {
    let labels = Labels::default();
    let (port, key) = (queue(3).port, flow(n));
    Received { port, mac: PEER, address: None, add, key, labels, classes: 1 << 3 }
}

#[test]
fn both_readings_of_a_map_come_to_the_same() {
    let pair = QueueMap::new([0, 0, 0, 1, 0, -1, 0, 0], MapReading::Pair).unwrap();
    assert_eq!(pair, map());
    assert_eq!(pair.congesting(class(3)), Some(class(5)));
    assert_eq!(pair.congesting(class(5)), None);
    let bad = |map, reading| QueueMap::new(map, reading).unwrap_err();
    let pair = |n| IsolationError::MapPair(class(n));
    assert_eq!(bad([9, 0, 0, 0, 0, 0, 0, 0], MapReading::Pair), IsolationError::MapNumber(9));
    assert_eq!(bad([1, 0, 0, 0, 0, 0, 0, 0], MapReading::Pair), pair(0));
    assert_eq!(bad([1, 1, -1, 0, 0, 0, 0, 0], MapReading::Pair), pair(2));
    assert_eq!(bad([-2, 0, 0, 0, 0, 0, 0, 0], MapReading::Partner), pair(0));
    assert_eq!(bad([-1, 0, 0, 0, 0, 0, 0, 0], MapReading::Partner), pair(0));
    assert_eq!(bad([0, 1, 0, 0, 0, 0, 0, 0], MapReading::Partner), pair(1));
    // Two classes may send their congesting flows to one, which can name only one of them.
    let two = QueueMap::new([-3, -3, 1, 0, 0, 0, 0, 0], MapReading::Partner).unwrap();
    assert_eq!([0, 1].map(|n| two.congesting(class(n))), [Some(class(2)); 2]);
}

#[test]
fn a_flow_is_isolated_held_freed_and_brought_back() {
    let mut isolation = isolation(plan());
    for _ in 0..5 {
        assert_eq!(isolation.place(us(0), &arrival(1), &lengths(0, 0)).class, class(3));
        isolation.on_enqueued(queue(3), Hold::NONE);
    }
    let placed = isolation.place(us(1), &arrival(1), &lengths(4_001, 0));
    assert_eq!(placed.class, class(5));
    isolation.on_enqueued(queue(5), placed.hold);
    assert!(isolation.holds_any(queue(5).port) && !isolation.holds_any(UPSTREAM));
    // Another flow in the same class stays there unless it finds the queue congested.
    assert_eq!(isolation.place(us(1), &arrival(2), &lengths(4_000, 1_000)).class, class(3));
    for _ in 0..5 {
        assert!(!isolation.may_leave(queue(5).port, placed.hold));
        isolation.on_dequeued(queue(3), Hold::NONE);
    }
    assert!(isolation.may_leave(queue(5).port, placed.hold));
    // The congesting queue is short but holds one of its frames: the next one follows it.
    let next = isolation.place(us(2), &arrival(1), &lengths(0, 1_000));
    assert_eq!((next.class, next.hold), (class(5), Hold::NONE));
    isolation.on_enqueued(queue(5), Hold::NONE);
    isolation.on_dequeued(queue(5), placed.hold);
    assert!(!isolation.holds_any(queue(5).port));
    assert_eq!(isolation.place(us(3), &arrival(1), &lengths(0, 1_000)).class, class(5));
    isolation.on_dequeued(queue(5), Hold::NONE);
    // That frame was lost on its way into the queue, which is empty now: there is no hold.
    assert_eq!(isolation.place(us(3), &arrival(1), &lengths(0, 0)).class, class(3));
    assert_eq!((isolation.counters().returned, isolation.flows().count()), (1, 0));
}

#[test]
fn peers_are_told_of_what_persists_no_more_often_than_planned_and_when_it_ends() {
    let mut isolation = isolation(IsolationPlan { max_cim_tx: 2, ..plan() });
    let told = |isolation: &mut Isolation, at, congesting| {
        isolation.place(at, &arrival(1), &lengths(5_000, congesting)).cim
    };
    let add = Some(CimOrder { add: true, to: UPSTREAM });
    // Isolated first; a CIM follows when the congesting queue grows.
    assert_eq!(told(&mut isolation, us(0), 3_000), None);
    assert_eq!(told(&mut isolation, us(1), 3_001), add);
    assert_eq!(told(&mut isolation, us(10), 3_001), None);
    assert_eq!(told(&mut isolation, us(11), 3_001), add);
    assert_eq!(told(&mut isolation, us(30), 3_001), None);
    // Half a lifetime later, before the peer removes the flow.
    assert_eq!(told(&mut isolation, us(500_011), 3_001), add);
    let end = isolation.place(us(500_012), &arrival(1), &lengths(0, 0));
    let del = Some(CimOrder { add: false, to: UPSTREAM });
    assert_eq!((end.class, end.cim), (class(3), del));
    let cim = isolation.counters();
    assert_eq!((cim.sent_add, cim.sent_del, cim.too_soon, cim.had_all), (3, 1, 1, 1));
    assert_eq!((cim.no_peer, cim.over_budget), (0, 0));
    // An unknown peer gets no CIM.
    isolation.set_peer(UPSTREAM, None).unwrap();
    assert_eq!(told(&mut isolation, us(600_000), 9_000), None);
    assert_eq!(isolation.counters().no_peer, 1);
}

#[test]
fn a_flow_that_a_peer_names_is_isolated_for_its_life_after_the_queue_is_free() {
    let life = Duration::from_millis(10);
    let mut isolation = isolation(IsolationPlan { max_flow_life: life, ..plan() });
    assert_eq!(isolation.on_cim(us(0), &received(1, true)), Heard::Isolated);
    let at = |isolation: &mut Isolation, now, congesting| {
        isolation.place(now, &arrival(1), &lengths(0, congesting)).class
    };
    assert_eq!(at(&mut isolation, us(9_999), 0), class(5));
    assert_eq!(isolation.on_cim(us(9_999), &received(1, true)), Heard::Renewed);
    assert_eq!(at(&mut isolation, us(15_000), 1_001), class(5));
    assert_eq!(at(&mut isolation, us(24_999), 0), class(5));
    assert_eq!(at(&mut isolation, us(25_000), 0), class(3));
    // Or until the peer ends it.
    assert_eq!(isolation.on_cim(us(30_000), &received(1, true)), Heard::Isolated);
    assert_eq!(isolation.on_cim(us(30_001), &received(1, false)), Heard::Released);
    assert_eq!(at(&mut isolation, us(30_002), 0), class(3));
    assert_eq!(isolation.on_cim(us(30_003), &received(1, false)), Heard::NothingToRelease);
}

#[test]
fn forged_cims_isolate_nothing_and_are_counted() {
    let mut isolation = isolation(plan());
    let good = received(1, true);
    let stranger = Mac([2, 0, 0, 0, 0, 8]);
    let v4 = |n| Some(IpAddr::V4(Ipv4Addr::new(192, 0, 2, n)));
    let forged = [
        (Received { port: PortId::new(1).unwrap(), ..good }, Heard::UnknownPeer),
        (Received { mac: stranger, ..good }, Heard::ForeignSource),
        (Received { address: v4(2), ..good }, Heard::ForeignSource),
        (Received { address: Some("2001:db8::1".parse().unwrap()), ..good }, Heard::ForeignSource),
        (Received { classes: 1 << 5, ..good }, Heard::NotMonitored),
    ];
    for (forged, want) in forged {
        assert_eq!(isolation.on_cim(us(0), &forged), want);
    }
    assert_eq!(isolation.flows().count(), 0);
    assert_eq!(isolation.counters().heard_foreign_source, 3);
    // A packet through a router has the router's MAC address and the peer's IP address.
    let routed = Received { mac: stranger, address: v4(1), ..good };
    assert_eq!(isolation.on_cim(us(0), &routed), Heard::Isolated);
    isolation.set_plan(IsolationPlan { enabled: false, ..plan() }).unwrap();
    assert_eq!(isolation.on_cim(us(0), &good), Heard::Disabled);
}

#[test]
fn a_flood_of_cims_is_bounded_by_its_limit_and_by_the_table() {
    let heard = LimitPlan { interval: Duration::from_micros(10), burst: 100 };
    let mut isolation = isolation(IsolationPlan { heard, streams: 150, ..plan() });
    for n in 0..100_000 {
        isolation
            .on_cim(Instant::ZERO + Duration::from_nanos(10 * u64::from(n)), &received(n, true));
    }
    // A hundred at once and 99 more within the millisecond.
    let counted = isolation.counters();
    assert_eq!(isolation.flows().count(), 150);
    assert_eq!(counted.heard_isolated, 150);
    assert_eq!(counted.heard_no_room, 199 - 150);
    assert_eq!(counted.heard_too_many, 100_000 - 199);
}

#[test]
fn peers_that_cannot_be_told_are_refused() {
    let mut isolation = isolation(IsolationPlan { peers_max: 2, ..plan() });
    let mut enter = |port, peer| isolation.set_peer(PortId::new(port).unwrap(), Some(peer));
    assert_eq!(enter(0, Peer { ipv4: None, ..peer() }), Err(PeerError::NoAddress));
    assert_eq!(enter(0, Peer { udp_port: 0, ..peer() }), Err(PeerError::NoAddress));
    assert_eq!(enter(0, Peer { encap_len: 513, ..peer() }), Err(PeerError::EncapLen(513)));
    assert_eq!(
        enter(0, Peer { mac: Mac::BROADCAST, ..peer() }),
        Err(PeerError::Mac(Mac::BROADCAST))
    );
    assert_eq!(enter(1, peer()), Err(PeerError::Full(2)));
    assert_eq!(enter(0, Peer { cim_type: CimType::L2, ..peer() }), Ok(()));
}

#[test]
fn plans_out_of_range_are_refused() {
    let bad = |plan: IsolationPlan| Isolation::new(plan, 1).err().unwrap();
    assert_eq!(
        bad(IsolationPlan { max_flow_life: Duration::ZERO, ..plan() }),
        IsolationError::NoLife
    );
    let streams = STREAMS_MAX + 1;
    assert_eq!(bad(IsolationPlan { streams, ..plan() }), IsolationError::Streams(streams));
    let heard = LimitPlan { burst: 0, ..UNLIMITED };
    assert_eq!(bad(IsolationPlan { heard, ..plan() }), IsolationError::NoBudget);
    let watch = Watch { low: Bytes(3_001), ..plan().watch };
    assert!(matches!(bad(IsolationPlan { watch, ..plan() }), IsolationError::Watch { .. }));
}
