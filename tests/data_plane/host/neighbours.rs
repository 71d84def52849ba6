//! Interfaces of stations: address resolution, answers, and the cases that stop it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use self::link::{A, B, World, at, mac, station};
use proptest::prelude::*;
use sluice::frame::Frame;
use sluice::host::neighbours::{
    ASK_EVERY, ASK_SLOWLY, ASK_TRIES, PING_TRIES, PINGS_MAX, PingError, PingState, WAITING_MAX,
};
use sluice::host::plan::stream::{InterfacePlan, NEIGHBOURS_MAX};
use sluice::host::{PlanError, Station, StationPlan};
use sluice::time::{Duration, Instant};
use sluice::units::{Dscp, Mac, Vid};
use sluice::wire::{EtherType, arp, echo, ethernet, ip, ipv4, neighbour, vlan};

use crate::link;
use crate::mem_port::{MemFrame, MemPort};

fn v4(last: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, last)
}

fn v6(last: u16) -> Ipv6Addr {
    Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, last)
}

fn own(n: u8) -> Mac {
    Mac([2, 0, 0, 0, 0x20, n])
}

/// Interface `n`, whose gateway is `gateway`, in these VLANs.
fn interface(n: u8, gateway: u8, vlans: &[(u16, u8)]) -> InterfacePlan {
    InterfacePlan {
        name: format!("eth{n}"),
        mac: own(n),
        vlans: vlans.iter().map(|&(vid, p)| (Vid::new(vid).unwrap(), p)).collect(),
        ipv4: vec![(v4(n), 24, Some(v4(gateway)))],
        ipv6: vec![(v6(n.into()), 64, Some(v6(gateway.into())))],
    }
}

fn with(n: usize, interfaces: Vec<InterfacePlan>) -> StationPlan {
    let mut plan = station(n, &[], &[]);
    plan.tester.interfaces = interfaces;
    plan
}

/// Two stations that are each other's gateways.
fn pair(vlans: &[(u16, u8)]) -> World {
    let plans = [with(A, vec![interface(1, 2, vlans)]), with(B, vec![interface(2, 1, vlans)])];
    World::new(plans)
}

/// A station alone, whose far end is played by the test.
fn alone(interfaces: Vec<InterfacePlan>) -> (Station<MemPort>, MemPort) {
    let (near, far) = MemPort::pair(1024);
    (Station::new(&with(A, interfaces), near).unwrap(), far)
}

/// Runs a station up to `end`, and returns the frames it sent, each with its time.
fn run(
    station: &mut Station<MemPort>,
    far: &mut MemPort,
    from: Instant,
    end: Instant,
) -> Vec<(Instant, MemFrame)> {
    let (mut now, mut sent) = (from, vec![]);
    loop {
        let next = station.poll(now);
        sent.extend(far.take().into_iter().map(|frame| (now, frame)));
        if next.progressed {
            continue;
        }
        assert!(next.deadline > now, "a deadline that has passed");
        if next.deadline > end {
            return sent;
        }
        now = next.deadline;
    }
}

/// An ARP request as a frame.
fn request(from: Mac, sender: Ipv4Addr, target: Ipv4Addr) -> MemFrame {
    let mut octets = [0; ethernet::MIN_FRAME];
    arp::Repr::request(from, sender, target).emit_frame(&mut octets).unwrap();
    MemFrame::new(&octets)
}

fn known(station: &Station<MemPort>) -> Vec<(String, IpAddr, Option<Mac>)> {
    station.neighbours().map(|(name, ip, mac)| (name.to_owned(), ip, mac)).collect()
}

#[test]
fn gateways_are_found_and_pings_come_back_untagged_and_tagged() {
    for vlans in [&[][..], &[(100, 3)], &[(7, 5), (100, 3)]] {
        let mut world = pair(vlans);
        world.run_to(at(100));
        let want = |from: &str, n: u8| {
            [v4(n).into(), v6(n.into()).into()].map(|ip| (from.to_owned(), ip, Some(own(n))))
        };
        assert_eq!(known(&world.hosts[A]), want("eth1", 2));
        assert_eq!(known(&world.hosts[B]), want("eth2", 1));
        for dst in [IpAddr::from(v4(2)), v6(2).into()] {
            world.hosts[A].ping("eth1", dst).unwrap();
        }
        world.run_to(at(200));
        let took: Vec<_> = world.hosts[A].pings().map(|p| p.state).collect();
        assert_eq!(took.len(), 2);
        for state in took {
            let there = link::DELAY + link::DELAY;
            let PingState::Answered(took) = state else { panic!("{state:?}, {vlans:?}") };
            assert!(took > there && took < there + there, "{took:?}");
        }
        for (_, _, frame) in &world.sent {
            let walk = vlan::walk(frame.head()).unwrap();
            assert_eq!(walk.tags, vlans.len());
            let outer = walk.outer.map(|tag| (tag.vid.unwrap().get(), tag.pcp.get()));
            assert_eq!(outer, vlans.first().copied());
        }
        let [a, b] = world.snapshots();
        assert_eq!((a.neighbours.counters.asked, b.neighbours.counters.answered), (2, 2));
        assert_eq!(b.neighbours.counters.echoed, 2);
        for snapshot in [a, b] {
            let c = snapshot.counters;
            assert_eq!((c.unexpected, c.foreign, snapshot.neighbours.counters.refused), (0, 0, 0));
        }
        assert!(world.hosts.iter().all(Station::is_done));
    }
}

#[test]
fn what_is_not_an_interfaces_is_left_alone() {
    let (mut station, mut far) = alone(vec![interface(1, 2, &[(100, 3)])]);
    run(&mut station, &mut far, Instant::ZERO, at(1));
    far.give(request(mac(B), v4(9), v4(1))); // untagged
    let mut other = request(mac(B), v4(9), v4(3));
    assert!(other.prepend(4));
    let tag = vlan::Repr::parse(&[0x81, 0, 0x60, 100]).unwrap();
    vlan::insert(other.head_mut(), &tag).unwrap();
    far.give(other);
    assert!(run(&mut station, &mut far, at(1), at(2)).is_empty());
    assert_eq!(station.counters().unexpected, 2);
    let mut mine = request(mac(B), v4(9), v4(1));
    assert!(mine.prepend(4));
    vlan::insert(mine.head_mut(), &tag).unwrap();
    far.give(mine);
    let sent = run(&mut station, &mut far, at(2), at(3));
    let [(_, answer)] = &sent[..] else { panic!("{sent:?}") };
    let walk = vlan::walk(answer.head()).unwrap();
    assert_eq!((walk.dst, walk.src, walk.outer), (mac(B), own(1), Some(tag)));
    let said = arp::Repr::parse(&answer.head()[walk.l3..]).unwrap();
    assert_eq!((said.sender_ip, said.sender_mac, said.target_ip), (v4(1), own(1), v4(9)));
}

#[test]
fn gratuitous_and_changed_answers_replace_what_is_known() {
    let (mut station, mut far) = alone(vec![interface(1, 2, &[])]);
    run(&mut station, &mut far, Instant::ZERO, at(1));
    far.give(request(mac(B), v4(2), v4(2))); // gratuitous
    run(&mut station, &mut far, at(1), at(2));
    assert_eq!(known(&station)[0].2, Some(mac(B)));
    far.give(request(own(9), v4(2), v4(77))); // a request also announces its sender
    run(&mut station, &mut far, at(2), at(3));
    assert_eq!(known(&station)[0].2, Some(own(9)));
    // An advertisement without the override flag does not change an entry (RFC 4861 7.2.5).
    let advertise = |mac: Mac, overrides: bool| {
        let kind = neighbour::Kind::Advertisement { router: false, solicited: false, overrides };
        let repr = neighbour::Repr { kind, target: v6(2), link_layer: Some(mac) };
        let all = neighbour::ALL_NODES;
        let mut octets = vec![0; ethernet::HEADER_LEN + repr.buffer_len()];
        let dst = neighbour::group_mac(all);
        ethernet::Repr { dst, src: mac, ethertype: EtherType::IPV6 }.emit(&mut octets).unwrap();
        repr.emit(v6(2), all, &mut octets[ethernet::HEADER_LEN..]).unwrap();
        MemFrame::new(&octets)
    };
    for (from, overrides, want) in
        [(mac(B), false, mac(B)), (own(9), false, mac(B)), (own(9), true, own(9))]
    {
        far.give(advertise(from, overrides));
        run(&mut station, &mut far, at(3), at(4));
        assert_eq!(known(&station)[1].2, Some(want));
    }
}

#[test]
fn a_neighbour_is_asked_for_slowly_and_for_ever_and_no_more_once_known() {
    let mut plan = interface(1, 2, &[]);
    plan.ipv6.clear();
    let (mut station, mut far) = alone(vec![plan]);
    let end = Instant::ZERO + Duration::from_millis(60_000);
    let times: Vec<_> =
        run(&mut station, &mut far, Instant::ZERO, end).into_iter().map(|(now, _)| now).collect();
    let gaps: Vec<_> = times.windows(2).map(|w| w[1].since(w[0])).collect();
    let (fast, slow) = gaps.split_at(ASK_TRIES as usize - 1);
    assert!(fast.iter().all(|gap| *gap == ASK_EVERY), "{gaps:?}");
    assert!(slow.len() > 9 && slow.iter().all(|gap| *gap == ASK_SLOWLY), "{gaps:?}");
    far.give(request(mac(B), v4(2), v4(1)));
    let later = end + Duration::from_millis(60_000);
    let sent = run(&mut station, &mut far, end, later);
    assert_eq!(sent.len(), 1, "its answer, and no question");
}

#[test]
fn a_link_that_goes_down_takes_what_is_known_along() {
    let (mut station, mut far) = alone(vec![interface(1, 2, &[])]);
    run(&mut station, &mut far, Instant::ZERO, at(1));
    far.give(request(mac(B), v4(2), v4(1)));
    run(&mut station, &mut far, at(1), at(2));
    station.set_link(at(2), false, None);
    assert_eq!(known(&station)[0].2, None);
    station.set_link(at(3), true, None);
    assert_eq!(run(&mut station, &mut far, at(3), at(4)).len(), 2, "asked anew, both versions");
}

#[test]
fn a_pause_of_their_priority_stops_answers_and_no_other_does() {
    let mut world = pair(&[(100, 3)]);
    world.pfc(A, 4, 0xffff);
    world.run_to(at(100));
    assert_eq!(world.snapshots()[A].neighbours.counters.echoed, 0);
    world.pfc(A, 3, 0xffff);
    world.hosts[B].ping("eth2", v4(1).into()).unwrap();
    world.run_to(at(200));
    let state = |world: &World| world.hosts[B].pings().next().unwrap().state;
    assert_eq!(state(&world), PingState::Waiting);
    assert!(!world.hosts[A].is_done());
    world.pfc(A, 3, 0);
    world.run_to(at(300));
    assert!(matches!(state(&world), PingState::Answered(_)));
}

#[test]
fn a_flood_of_questions_is_bounded_and_counted() {
    let (mut station, mut far) = alone(vec![interface(1, 2, &[])]);
    run(&mut station, &mut far, Instant::ZERO, at(1));
    for _ in 0..500 {
        far.give(request(mac(B), v4(9), v4(1)));
    }
    let sent = run(&mut station, &mut far, at(1), at(500));
    let c = *station.neighbour_counters();
    assert_eq!(c.answered + c.refused, 500);
    assert_eq!(c.answered as usize, sent.len());
    assert!(c.answered as usize >= WAITING_MAX && c.refused > 0);
}

#[test]
fn a_ping_that_nobody_answers_is_lost_and_what_cannot_be_pinged_is_refused() {
    let (mut station, mut far) = alone(vec![interface(1, 2, &[])]);
    station.ping("eth1", v4(77).into()).unwrap();
    station.ping("eth1", Ipv4Addr::new(192, 0, 2, 1).into()).unwrap();
    let end = Instant::ZERO + Duration::from_millis(1_000 * u64::from(PING_TRIES + 1));
    let sent = run(&mut station, &mut far, Instant::ZERO, end);
    assert!(station.pings().all(|p| p.state == PingState::Lost));
    let asked = |ip: Ipv4Addr| {
        let is = |f: &MemFrame| arp::Repr::parse(&f.head()[14..]).is_ok_and(|a| a.target_ip == ip);
        sent.iter().any(|(_, frame)| is(frame))
    };
    assert!(asked(v4(77)) && asked(v4(2)) && !asked(Ipv4Addr::new(192, 0, 2, 1)));
    let none = station.ping("eth9", v4(2).into());
    assert_eq!(none, Err(PingError::NoInterface("eth9".into())));
    let (mut lonely, _far) = alone(vec![InterfacePlan {
        ipv4: vec![(v4(1), 24, None)],
        ipv6: vec![],
        ..interface(1, 2, &[])
    }]);
    for dst in [IpAddr::from(v6(2)), Ipv4Addr::new(192, 0, 2, 1).into()] {
        assert_eq!(lonely.ping("eth1", dst), Err(PingError::NoRoute("eth1".into(), dst)));
    }
    for _ in 0..PINGS_MAX {
        lonely.ping("eth1", v4(5).into()).unwrap();
    }
    assert_eq!(lonely.ping("eth1", v4(5).into()), Err(PingError::Busy));
}

#[test]
fn a_ping_of_any_length_goes_back_as_it_came() {
    let (mut station, mut far) = alone(vec![interface(1, 2, &[])]);
    run(&mut station, &mut far, Instant::ZERO, at(1));
    let data: Vec<u8> = (0..1_400).map(|n| n as u8).collect();
    let (src, dst) = (IpAddr::from(v4(9)), IpAddr::from(v4(1)));
    let repr =
        echo::Repr { operation: echo::Operation::Request, identifier: 1, sequence: 2, data: &data };
    let mut octets = vec![0; 34 + repr.buffer_len()];
    let ethertype = EtherType::IPV4;
    ethernet::Repr { dst: own(1), src: mac(B), ethertype }.emit(&mut octets).unwrap();
    let header = ipv4::Repr {
        dscp: Dscp::MIN,
        ecn: ip::Ecn::NotEct,
        identification: 0,
        dont_fragment: true,
        more_fragments: false,
        fragment_offset: 0,
        ttl: 1,
        protocol: ip::Protocol::ICMP,
        src: v4(9),
        dst: v4(1),
        options: &[],
        payload_len: repr.buffer_len() as u16,
    };
    header.emit(&mut octets[14..]).unwrap();
    repr.emit(src, dst, &mut octets[34..]).unwrap();
    far.give(MemFrame::new(&octets));
    let sent = run(&mut station, &mut far, at(1), at(10));
    let [(_, answer)] = &sent[..] else { panic!("{sent:?}") };
    let view = ip::View::new(ethertype, &answer.head()[14..]).unwrap();
    let got = echo::Repr::parse(view.upper().unwrap().payload, dst, src).unwrap();
    assert_eq!(got, echo::Repr { operation: echo::Operation::Reply, ..repr });
    assert_eq!((&answer.head()[..6], &answer.head()[6..12]), (&mac(B).0[..], &own(1).0[..]));
}

#[test]
fn what_cannot_be_run_is_refused_by_name() {
    let check = |plan: InterfacePlan| with(A, vec![plan]).check().unwrap_err();
    let name = || "eth1".to_owned();
    assert_eq!(check(interface(1, 2, &[(1, 0); 5])), PlanError::InterfaceTags(name()));
    assert_eq!(check(interface(1, 2, &[(1, 8)])), PlanError::InterfaceTags(name()));
    let long = InterfacePlan { ipv4: vec![(v4(1), 33, None)], ..interface(1, 2, &[]) };
    assert_eq!(check(long), PlanError::InterfacePrefix(name()));
    let half = NEIGHBOURS_MAX / 2;
    let many = |n: usize| with(A, vec![interface(1, 2, &[]); n]).check();
    assert_eq!(many(half), Ok(()));
    assert_eq!(many(half + 1), Err(PlanError::Neighbours(2 * half + 2)));
}

proptest! {
    /// Polling more often than required changes neither the frames that are sent nor their times.
    #[test]
    fn polling_more_often_changes_nothing(
        extra in prop::collection::vec(0_u64..4_000_000, 0..200),
        questions in prop::collection::vec((0_u64..4_000_000, 0_u8..4), 0..20),
    ) {
        let run = |extra: &[u64]| {
            let interfaces = vec![interface(1, 2, &[]), interface(3, 2, &[])];
            let (mut station, mut far) = alone(interfaces);
            station.ping("eth1", v4(2).into()).unwrap();
            let mut arrivals = questions.clone();
            arrivals.sort_unstable();
            let mut polls: Vec<u64> = extra.to_vec();
            polls.sort_unstable();
            let (mut now, mut sent) = (Instant::ZERO, vec![]);
            loop {
                while arrivals.first().is_some_and(|(us, _)| at(*us) <= now) {
                    let (_, n) = arrivals.remove(0);
                    far.give(request(mac(B), v4(2), v4(n)));
                }
                let next = station.poll(now);
                sent.extend(far.take().into_iter().map(|f| (now, f.head().to_vec())));
                if next.progressed {
                    continue;
                }
                while polls.first().is_some_and(|us| at(*us) <= now) {
                    polls.remove(0);
                }
                let arrival = arrivals.first().map_or(Instant::NEVER, |(us, _)| at(*us));
                let poll = polls.first().map_or(Instant::NEVER, |us| at(*us));
                now = next.deadline.min(arrival).min(poll);
                if now > at(5_000_000) {
                    return (sent, station.snapshot(at(5_000_000)).neighbours);
                }
            }
        };
        prop_assert_eq!(run(&extra), run(&[]));
    }
}
