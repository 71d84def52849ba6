//! Managed objects of isolation, written at run time.

use super::*;
use ground::time::Duration;

/// A switch whose port 0 has a layer-2 peer, and that has learnt host 9.
fn lab() -> Lab {
    learnt(&with_peer(0, CimType::L2))
}

/// Congests port 3 with a flow. Returns the number of isolated flows, and what the peer of port 0
/// receives.
fn congested(lab: &mut Lab, flow: u16) -> (usize, Vec<Vec<u8>>) {
    congest(lab, flow);
    let isolated = lab.switch.isolation().unwrap().flows().count();
    let cims = lab.sent(0);
    lab.port(3).room = usize::MAX;
    lab.advance(Duration::from_micros(20));
    lab.check();
    (isolated, cims)
}

#[test]
fn isolation_stops_and_starts_with_its_master_switch() {
    let mut lab = lab();
    lab.write("ci-master-enable", At::default(), "false");
    let (isolated, cims) = congested(&mut lab, 5);
    assert_eq!((isolated, cims.len()), (0, 0));
    lab.write("ci-master-enable", At::default(), "true");
    let (isolated, cims) = congested(&mut lab, 5);
    assert_eq!((isolated, cims.len()), (1, 1));
}

#[test]
fn messages_are_as_the_objects_say_from_the_next_one_on() {
    let mut lab = lab();
    let none = At::default();
    let first = At { port: Some(port(0)), class: None };
    lab.write("ci-cim-tx-priority", none, "2");
    lab.write("min-header-octets", none, "100");
    lab.write("cip-mac-address", first, "02:00:00:00:00:aa");
    let (_, cims) = congested(&mut lab, 5);
    assert_eq!(cims[0].len(), 14 + 1 + 17 + 100);
    assert_eq!(cims[0][6..12], [2, 0, 0, 0, 0, 0xaa]);
    let sent = lab.switch.snapshot(lab.now).ports[0].counters.priorities[2].tx_frames;
    assert_eq!(sent, 1);
    lab.write("max-cim-tx", none, "0");
    let (isolated, cims) = congested(&mut lab, 6);
    assert!(isolated >= 1 && cims.is_empty(), "{isolated} {}", cims.len());
}

#[test]
fn a_threshold_holds_for_the_queue_that_it_is_written_for() {
    for (at, expected) in [(3, 0), (2, 1)] {
        let mut lab = lab();
        let at = At { port: Some(port(at)), class: Some(MONITORED) };
        lab.write("congestion_isolation.queues.threshold", at, "1000000");
        assert_eq!(congested(&mut lab, 5).0, expected);
    }
}

#[test]
fn congesting_flows_go_where_a_new_queue_map_says() {
    let mut lab = lab();
    lab.write("queue-map", At::default(), "0,0,0,-7,0,0,4,0");
    congest(&mut lab, 5);
    let queue = |class: usize| lab.switch.queue_bytes(port(3), TrafficClass::ALL[class]);
    assert!(queue(6) > 0 && queue(5) == 0, "{} {}", queue(6), queue(5));
    lab.port(3).room = usize::MAX;
    lab.advance(Duration::from_micros(20));
    lab.check();
}

#[test]
fn what_is_refused_changes_nothing() {
    let mut lab = lab();
    let at = At { port: Some(port(3)), class: Some(MONITORED) };
    for (name, at, value, why) in [
        ("congestion_isolation.queues.low", at, "1501", "CIMs from 1500 B on"),
        ("sfcMaxSFCM", At::default(), "3", "put `sfc: {}` into the file"),
    ] {
        let error = lab.switch.apply(lab.now, object(name, at, value)).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    let (isolated, cims) = congested(&mut lab, 5);
    assert_eq!((isolated, cims.len()), (1, 1));
}

#[test]
fn the_stream_table_is_read_page_by_page() {
    use crate::managed::Streams;
    let mut lab = lab();
    lab.port(3).room = 0;
    lab.inject_all(0, (1..=40).map(|number| packet(1, 5, number, 1_000)));
    lab.deliver_all(0, (6..16).map(|flow| packet(1, flow, 1, 1_000)));
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
