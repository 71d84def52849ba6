//! Managed objects of isolation, written at run time.

use super::*;
use ground::time::Duration;

/// A switch whose port 0 has a layer-2 peer, and that has learnt host 9.
fn learnt() -> Lab {
    let mut plan = isolating_switch();
    let isolation = plan.congestion.isolation.as_mut().unwrap();
    isolation.points = (0..4).map(point).collect();
    isolation.peers = vec![(port(0), peer(CimType::L2))];
    let mut lab = Lab::new(&plan);
    lab.inject(3, &frame(host(8), host(9), None, 60));
    lab.poll_until_idle();
    (0..4).for_each(|n| drop(lab.sent(n)));
    lab
}

fn write(lab: &mut Lab, name: &str, at: At, value: &str) {
    let Change::Object { object, value, .. } = object(name, value) else { unreachable!() };
    lab.switch.apply(lab.now, Change::Object { object, at, value }).unwrap();
}

/// Congests port 3 with a flow. Returns the number of isolated flows, and what the peer of port 0
/// receives.
fn congest(lab: &mut Lab, flow: u16) -> (usize, Vec<Vec<u8>>) {
    lab.port(3).room = 0;
    for number in 1..=42 {
        lab.inject(0, &packet(1, flow, number, 1_000));
    }
    lab.poll_until_idle();
    let isolated = lab.switch.isolation().unwrap().flows().count();
    let cims = lab.sent(0);
    lab.port(3).room = usize::MAX;
    lab.advance(Duration::from_micros(20));
    lab.check();
    (isolated, cims)
}

#[test]
fn isolation_stops_and_starts_with_its_master_switch() {
    let mut lab = learnt();
    write(&mut lab, "ci-master-enable", At::default(), "false");
    let (isolated, cims) = congest(&mut lab, 5);
    assert_eq!((isolated, cims.len()), (0, 0));
    write(&mut lab, "ci-master-enable", At::default(), "true");
    let (isolated, cims) = congest(&mut lab, 5);
    assert_eq!((isolated, cims.len()), (1, 1));
}

#[test]
fn messages_are_as_the_objects_say_from_the_next_one_on() {
    let mut lab = learnt();
    let none = At::default();
    let first = At { port: Some(port(0)), class: None };
    write(&mut lab, "ci-cim-tx-priority", none, "2");
    write(&mut lab, "min-header-octets", none, "100");
    write(&mut lab, "cip-mac-address", first, "02:00:00:00:00:aa");
    let (_, cims) = congest(&mut lab, 5);
    assert_eq!(cims[0].len(), 14 + 1 + 17 + 100);
    assert_eq!(cims[0][6..12], [2, 0, 0, 0, 0, 0xaa]);
    let sent = lab.switch.snapshot(lab.now).ports[0].counters.priorities[2].tx_frames;
    assert_eq!(sent, 1);
    write(&mut lab, "max-cim-tx", none, "0");
    let (isolated, cims) = congest(&mut lab, 6);
    assert!(isolated >= 1 && cims.is_empty(), "{isolated} {}", cims.len());
}

#[test]
fn a_threshold_holds_for_the_queue_that_it_is_written_for() {
    for (at, expected) in [(3, 0), (2, 1)] {
        let mut lab = learnt();
        let at = At { port: Some(port(at)), class: Some(MONITORED) };
        write(&mut lab, "congestion_isolation.queues.threshold", at, "1000000");
        assert_eq!(congest(&mut lab, 5).0, expected);
    }
}

#[test]
fn congesting_flows_go_where_a_new_queue_map_says() {
    let mut lab = learnt();
    write(&mut lab, "queue-map", At::default(), "0,0,0,-7,0,0,4,0");
    lab.port(3).room = 0;
    for number in 1..=42 {
        lab.inject(0, &packet(1, 5, number, 1_000));
    }
    lab.poll_until_idle();
    let queue = |class: usize| lab.switch.queue_bytes(port(3), TrafficClass::ALL[class]);
    assert!(queue(6) > 0 && queue(5) == 0, "{} {}", queue(6), queue(5));
    lab.port(3).room = usize::MAX;
    lab.advance(Duration::from_micros(20));
    lab.check();
}

#[test]
fn what_is_refused_changes_nothing() {
    let mut lab = learnt();
    let low = Object::named("congestion_isolation.queues.low").unwrap();
    let at = At { port: Some(port(3)), class: Some(MONITORED) };
    let value = low.kind().read("1501").unwrap();
    let error = lab.switch.apply(lab.now, Change::Object { object: low, at, value }).unwrap_err();
    assert!(error.to_string().contains("CIMs from 1500 B on"), "{error}");
    let sfc = Object::named("sfcMaxSFCM").unwrap();
    let change = Change::Object { object: sfc, at: At::default(), value };
    let error = lab.switch.apply(lab.now, change).unwrap_err().to_string();
    assert!(error.contains("put `sfc: {}` into the file"), "{error}");
    let (isolated, cims) = congest(&mut lab, 5);
    assert_eq!((isolated, cims.len()), (1, 1));
}

#[test]
fn the_stream_table_is_read_page_by_page() {
    use crate::managed::Streams;
    let mut lab = learnt();
    lab.port(3).room = 0;
    for number in 1..=40 {
        lab.inject(0, &packet(1, 5, number, 1_000));
    }
    for flow in 6..16 {
        lab.inject(0, &packet(1, flow, 1, 1_000));
    }
    lab.poll_until_idle();
    let count = lab.switch.isolation().unwrap().flows().count();
    assert!(count > 5, "{count}");
    let (mut from, mut places) = (Some(0), vec![]);
    while let Some(place) = from {
        let page = lab.switch.streams(Streams::Isolation, place, 3);
        assert!(page.rows.len() <= 3);
        places.extend(page.rows.iter().map(|row| row.place));
        assert!(page.rows.iter().all(|row| row.congesting == Some(CONGESTING)));
        from = page.next;
    }
    let found = places.len();
    places.sort_unstable();
    places.dedup();
    assert_eq!((found, places.len()), (count, count));
    assert_eq!(lab.switch.peers(), [(port(0), peer(CimType::L2))]);
}
