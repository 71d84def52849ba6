//! The Source Flow Control point: messages to the sources of congesting flows.

use super::*;
use crate::Change;
use wire::sfcm::Level;

const BOTH: ((u8, IpAddr), (u8, IpAddr)) = (
    (1, IpAddr::V4(core::net::Ipv4Addr::new(10, 0, 0, 1))),
    (2, IpAddr::V4(core::net::Ipv4Addr::new(10, 0, 0, 2))),
);

fn monitored() -> SwitchPlan {
    let mut p = shaped(3);
    p.congestion.sfc = Some(sfc(3));
    p
}

#[test]
fn the_poll_that_crosses_the_threshold_sends_the_message_octet_for_octet() {
    let mut lab = lab(&monitored());
    burst(&mut lab, 3, (7, 9));
    assert!(lab.sent(0).is_empty(), "2,988 octets are not above 3,000");
    // One frame left in the meantime.
    burst(&mut lab, 1, (7, 9));
    assert!(lab.sent(0).is_empty());
    burst(&mut lab, 1, (7, 9));
    let sent = lab.sent(0);
    assert_eq!(sent.len(), 1);
    #[rustfmt::skip]
    let golden = [
        2, 0, 0, 0, 1, 1, 2, 0, 0, 0, 0, 1, 0x08, 0x00,
        0x45, 48 << 2, 0, 52, 0, 0, 0x40, 0, 64, 17, 0x25, 0xf7, 10, 0, 0, 2, 10, 0, 0, 1,
        0xe4, 0xfe, 0xe4, 0xfe, 0, 32, 0, 0,
        // Version 0, simplified; in-network, PCP 3; DSCP 26; 2,387 ns; 14 bytes.
        0x00, 0x83, 26 << 2, 0, 0, 0, 0x09, 0x53, 0, 14,
        10, 0, 0, 1, 10, 0, 0, 2, 17, 0, 0, 7, 0, 9,
    ];
    let mut octets = sent[0].clone();
    // The UDP checksum, which parsing has validated.
    assert_eq!(parsed(&octets).message.pause, Duration::from_nanos(2_387));
    octets[40..42].fill(0);
    assert_eq!(octets[24..26], golden[24..26], "{:x?}", &octets[24..26]);
    assert_eq!(octets, golden);
    let sfc = counted(&mut lab).sfc.unwrap();
    assert_eq!((sfc.counters.transmitted_sfcms, sfc.streams), (1, 1));
    assert_eq!(sfc.queues[1][3].transmitted_sfcms, 1);
    assert_eq!(sfc.of_port(1).congesting, 1);
    lab.check();
}

#[test]
fn messages_are_suppressed_by_flow_and_counted_anew_by_each_pause() {
    let mut plan = monitored();
    plan.congestion.sfc.as_mut().unwrap().point.spacing = Duration::from_nanos(100);
    let mut lab = lab(&plan);
    burst(&mut lab, 30, (7, 9));
    // Twenty-six frames found more than 3,000 bytes; all but the first were too soon.
    let sfc = counted(&mut lab).sfc.unwrap().counters;
    assert_eq!((sfc.transmitted_sfcms, sfc.too_soon), (1, 26));
    for sent in 2..=3 {
        lab.now += Duration::from_nanos(100);
        burst(&mut lab, 1, (7, 9));
        assert_eq!(counted(&mut lab).sfc.unwrap().counters.transmitted_sfcms, sent);
    }
    // The pause of about 22 us is still running; sfcMaxSFCM is 3.
    lab.now += Duration::from_nanos(100);
    burst(&mut lab, 1, (7, 9));
    assert_eq!(counted(&mut lab).sfc.unwrap().counters.had_all, 1);
    // After the pause a flow that still congests causes a new message.
    lab.advance(Duration::from_micros(100));
    burst(&mut lab, 30, (7, 9));
    assert_eq!(counted(&mut lab).sfc.unwrap().counters.transmitted_sfcms, 4);
    lab.switch.apply(lab.now, Change::ClearCounters).unwrap();
    let sfc = counted(&mut lab).sfc.unwrap();
    assert_eq!((sfc.counters.transmitted_sfcms, sfc.of_port(1).congesting, sfc.streams), (0, 0, 1));
    lab.check();
}

#[test]
fn the_other_form_quotes_the_frame_from_its_ethertype_on() {
    let mut plan = monitored();
    let sfc = plan.congestion.sfc.as_mut().unwrap();
    (sfc.form, sfc.min_header_octets) = (SfcmForm::Encapsulated, 100);
    let mut lab = lab(&plan);
    burst(&mut lab, 5, (7, 9));
    let sent = lab.sent(0);
    let Form::Encapsulated(msdu) = parsed(&sent[0]).message.form else { panic!() };
    let frame = packet(BOTH, None, (7, 9), 1_000 - 22);
    assert_eq!(msdu, &frame[12..112]);
    // A short frame is quoted whole, and the message has at least 64 bytes.
    let short = packet(BOTH, Some((3, 0)), (7, 11), 30);
    lab.inject(0, &short);
    lab.now += Duration::from_nanos(200);
    lab.switch.poll(lab.now);
    let sent = lab.sent(0);
    let Form::Encapsulated(msdu) = parsed(&sent[0]).message.form else { panic!() };
    assert_eq!((msdu.len(), &msdu[..20]), (64, &short[16..36]));
}

#[test]
fn ipv6_is_answered_over_ipv6() {
    let mut lab = lab(&monitored());
    lab.inject_all(0, (0..5).map(|_| packet(((1, v6(1)), (2, v6(2))), Some((3, 0)), (7, 9), 978)));
    lab.switch.poll(lab.now);
    let sent = lab.sent(0);
    let repr = parsed(&sent[0]);
    assert_eq!((repr.headers.src, repr.headers.dst), (v6(2), v6(1)));
    assert_eq!(repr.message.flow().unwrap().src_port, 7);
}

#[test]
fn a_message_stays_in_the_vlan_and_says_its_own_priority_in_the_tag() {
    let mut plan = monitored();
    let vid = Vid::new(5).unwrap();
    for port in &mut plan.ports {
        port.vlan.members.push(VlanMember { vid, tagged: true });
    }
    plan.congestion.sfc.as_mut().unwrap().transmit_priority = Priority::ALL[6];
    let mut lab = lab(&plan);
    lab.inject(0, &frame(host(99), host(1), Some((0, 5)), 64));
    lab.inject(1, &frame(host(99), host(2), Some((0, 5)), 64));
    for _ in 0..4 {
        lab.advance(Duration::from_micros(1));
    }
    lab.sent(0);
    lab.inject_all(0, (0..5).map(|_| packet(BOTH, Some((3, 5)), (7, 9), 978)));
    lab.switch.poll(lab.now);
    let sent = lab.sent(0);
    assert_eq!(sent[0][..18], [2, 0, 0, 0, 1, 1, 2, 0, 0, 0, 0, 1, 0x81, 0, 0xc0, 5, 8, 0]);
    let repr = sfcm::Repr::parse(EtherType::IPV4, &sent[0][18..]).unwrap();
    assert_eq!(repr.message.priority, Priority::ALL[3]);
    let snapshot = lab.switch.snapshot(lab.now);
    assert_eq!(snapshot.ports[0].counters.priorities[6].tx_frames, 1, "its own priority");
}

#[test]
fn what_cannot_be_answered_is_counted_by_its_reason() {
    let mut lab = lab(&monitored());
    // Not IP.
    lab.inject_all(0, (0..5).map(|_| frame(host(2), host(1), Some((3, 0)), 996)));
    // About messages: to the UDP port of SFCMs, and a CNM.
    lab.inject(0, &packet(BOTH, Some((3, 0)), (PORT, PORT), 978));
    lab.inject(0, &framed((host(1), host(2)), Some((3, 0)), EtherType::CNM, &[0; 900]));
    // From the unspecified address.
    lab.inject(0, &packet(((1, [0, 0, 0, 0].into()), (2, v4(2))), Some((3, 0)), (7, 9), 978));
    lab.switch.poll(lab.now);
    let sfc = counted(&mut lab).sfc.unwrap().counters;
    assert_eq!((sfc.not_ip, sfc.about_itself, sfc.unanswerable), (2, 2, 1));
    assert_eq!(sfc.transmitted_sfcms, 0);
    assert!(lab.sent(0).is_empty());
    lab.check();
}

#[test]
fn a_source_that_is_not_known_any_more_gets_no_message_and_nobody_else_does() {
    let mut lab = lab(&monitored());
    // A static flow from elsewhere has taken the address in the meantime: to the same port.
    lab.inject(1, &frame(host(99), host(1), None, 60));
    burst(&mut lab, 5, (7, 9));
    lab.poll_until_idle();
    assert_eq!(lab.sent(0).len(), 1, "sent before the address moved");
    burst(&mut lab, 1, (7, 9));
    lab.check();
}

#[test]
fn a_switch_may_speak_in_its_own_name() {
    let mut plan = monitored();
    let sfc = plan.congestion.sfc.as_mut().unwrap();
    sfc.from = SfcmFrom::Own;
    sfc.mac = Some(host(77));
    sfc.ipv4 = Some([192, 0, 2, 1].into());
    plan.congestion.ports = vec![
        Attached::default(),
        Attached { kind: AttachedKind::Switch, locator: Some(Locator::Unknown) },
    ];
    let mut lab = lab(&plan);
    burst(&mut lab, 5, (7, 9));
    let sent = lab.sent(0);
    let repr = parsed(&sent[0]);
    assert_eq!(repr.headers.src, IpAddr::from([192, 0, 2, 1]));
    assert_eq!(repr.message.locator, Locator::Unknown);
    assert_eq!(sent[0][6..12], host(77).0);
    // Topology Recognition may change the locator.
    lab.switch.signals.set_locator(port(1), Locator::Incast);
    lab.advance(Duration::from_micros(50));
    burst(&mut lab, 5, (7, 9));
    let sent = lab.sent(0);
    let message = parsed(&sent[0]).message;
    assert_eq!((message.locator, message.level), (Locator::Incast, None));
    // It also finds the level of the switch.
    lab.switch.apply(lab.now, Change::Level(Level::new(2))).unwrap();
    lab.advance(Duration::from_micros(50));
    burst(&mut lab, 5, (7, 9));
    assert_eq!(parsed(&lab.sent(0)[0]).message.level, Level::new(2));
}

/// Host 1 in VLAN 10 and host 2 in VLAN 20, between which the switch routes.
fn routed() -> SwitchPlan {
    let mut p = monitored();
    for (n, vid) in [(0, 10), (1, 20)] {
        let vid = Vid::new(vid).unwrap();
        p.ports[n].vlan =
            VlanPlan { pvid: Some(vid), members: vec![VlanMember { vid, tagged: false }] };
        let addresses = vec![[10, 0, n as u8, 254].into()];
        p.routing.interfaces.push(InterfacePlan { vid, mac: host(250), addresses });
        p.routing.routes.push(RoutePlan {
            network: [10, 0, n as u8, 0].into(),
            prefix_len: 24,
            via: None,
            interface: n,
        });
        p.routing.neighbours.push(NeighbourPlan {
            ip: [10, 0, n as u8, 1].into(),
            mac: host(n as u8 + 1),
            interface: n,
            port: port(n as u16),
        });
    }
    p
}

#[test]
fn messages_about_routed_frames_are_routed_back() {
    let mut lab = lab(&routed());
    for _ in 0..5 {
        let ends = ((1, [10, 0, 0, 1].into()), (250, [10, 0, 1, 1].into()));
        lab.inject(0, &packet(ends, Some((3, 0)), (7, 9), 978));
    }
    lab.switch.poll(lab.now);
    let sent = lab.sent(0);
    assert_eq!((&sent[0][..6], &sent[0][6..12]), (&host(1).0[..], &host(250).0[..]));
    let repr = parsed(&sent[0]);
    assert_eq!((repr.headers.dst, repr.headers.ttl), (IpAddr::from([10, 0, 0, 1]), 63));
    lab.check();
}

#[test]
fn want_of_memory_is_counted_and_nothing_else_is_lost() {
    let mut lab = lab(&monitored());
    lab.port(1).control = 0;
    burst(&mut lab, 5, (7, 9));
    let sfc = counted(&mut lab).sfc.unwrap().counters;
    assert_eq!((sfc.transmitted_sfcms, sfc.unsent), (0, 1));
    lab.check();
}
