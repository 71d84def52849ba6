//! Sent and received CIMs: egress port, format, bytes, and acceptance.

use super::*;
use crate::Trust;
use contracts::stats::DropReason;
use ground::time::Duration;
use wire::{headroom, msdu};

#[test]
fn a_cim_leaves_by_the_port_of_the_flow_in_the_peers_form_and_in_the_same_poll() {
    for cim_type in [CimType::L2, CimType::Ipv4, CimType::Ipv6] {
        let mut lab = learnt(&with_peer(0, cim_type));
        congest(&mut lab, 5);
        let cims = lab.sent(0);
        assert_eq!(cims.len(), 1, "{cim_type:?}: the next is too soon");
        let octets = &cims[0];
        let header = ethernet::Repr::parse(octets).unwrap();
        assert_eq!((header.dst, header.src), (host(7), Mac([2, 0, 0, 0, 0, 0])));
        let dialect = cim::Dialect::default();
        let message =
            cim::Repr::parse(header.ethertype, &octets[ethernet::HEADER_LEN..], &dialect).unwrap();
        assert!(message.add);
        assert_eq!((message.dst, message.src, message.vid), (host(9), host(1), None));
        // min-header-octets is 48, and the peer requires 64.
        let about = packet(1, 5, 0, 1_000);
        let (_, whole) = msdu::of_frame(&about).unwrap();
        assert_eq!(message.msdu.len(), 64);
        assert_eq!(message.msdu[..20], whole[..20]);
        assert_eq!(message.flow(), msdu::flow(whole));
        match message.encapsulation {
            cim::Encapsulation::L2 => assert_eq!(cim_type, CimType::L2),
            cim::Encapsulation::Udp(headers) => {
                let (from, to): (IpAddr, IpAddr) = match cim_type {
                    CimType::Ipv4 => ([10, 9, 0, 0].into(), address(7).into()),
                    _ => ("2001:db8:9::".parse().unwrap(), "2001:db8::7".parse().unwrap()),
                };
                assert_eq!((headers.src, headers.dst), (from, to));
                assert_eq!((headers.src_port, headers.dst_port), (50_007, 50_007));
                assert_eq!(headers.dscp.get(), 48);
            }
        }
        let snapshot = lab.switch.snapshot(lab.now);
        assert_eq!(snapshot.ports[0].counters.priorities[6].tx_frames, 1, "ci-cim-tx-priority");
        let seen = snapshot.congestion.unwrap().isolation.unwrap();
        assert_eq!((seen.ports[0].sent, seen.counters.sent_add, seen.streams), (1, 1, 1));
        let queue = seen.queues.iter().find(|queue| queue.port == 3).unwrap();
        assert!(queue.class == 5 && queue.bytes > 1_500 && queue.peak_bytes == queue.bytes);
        lab.open(3);
        lab.check();
    }
}

#[test]
fn the_peer_is_told_when_it_is_over() {
    let mut lab = learnt(&with_peer(0, CimType::L2));
    congest(&mut lab, 5);
    assert_eq!(lab.sent(0).len(), 1);
    assert_eq!(lab.switch.isolation().unwrap().flows().count(), 1);
    lab.port(3).room = usize::MAX;
    lab.advance(Duration::from_micros(20));
    // The next packets find a stopped port but no congestion.
    lab.port(3).room = 0;
    lab.deliver_all(0, (43..=76).map(|number| packet(1, 5, number, 64)));
    let cims = lab.sent(0);
    let message = cim::Repr::parse(EtherType::CIM, &cims[0][14..], &cim::Dialect::default());
    assert!(!message.unwrap().add);
    let snapshot = lab.switch.snapshot(lab.now);
    assert_eq!(snapshot.ports[0].counters.priorities[6].tx_frames, 2);
    assert_eq!(lab.switch.isolation().unwrap().flows().count(), 0);
    lab.open(3);
    lab.check();
}

/// A CIM from `src` to the point of port 3 about the flow of [`packet`].
pub(super) fn cim_about(flow: u16, form: CimType, src: Mac, add: bool) -> Vec<u8> {
    let about = packet(1, flow, 0, 200);
    let (_, msdu) = msdu::of_frame(&about).unwrap();
    let point = point(3);
    let headers = |src, dst| {
        let (dscp, ecn, ttl) = (Dscp::new(48).unwrap(), Ecn::NotEct, 64);
        let (src_port, dst_port) = (50_008, point.cim_port);
        cim::Encapsulation::Udp(datagram::Repr { src, dst, dscp, ecn, ttl, src_port, dst_port })
    };
    let peer = peer(form);
    let encapsulation = match form {
        CimType::L2 => cim::Encapsulation::L2,
        CimType::Ipv4 => headers(peer.ipv4.unwrap().into(), point.ipv4.unwrap().into()),
        CimType::Ipv6 => headers(peer.ipv6.unwrap().into(), point.ipv6.unwrap().into()),
    };
    let (dst, vid) = (host(9), None);
    let message = cim::Repr { encapsulation, add, dst, src: host(1), vid, msdu: &msdu[..64] };
    let dialect = cim::Dialect::default();
    let mut octets = vec![0; ethernet::HEADER_LEN + message.buffer_len(&dialect)];
    let dst = Mac([2, 0, 0, 0, 0, 3]);
    ethernet::Repr { dst, src, ethertype: message.ethertype() }.emit(&mut octets).unwrap();
    message.emit(&mut octets[ethernet::HEADER_LEN..], &dialect).unwrap();
    octets
}

/// Returns the class in which the next packet of a flow is queued at port 3, which is stopped.
fn class_of(lab: &mut Lab, flow: u16) -> TrafficClass {
    lab.port(3).room = 0;
    let before: Vec<u64> =
        TrafficClass::ALL.iter().map(|c| lab.switch.queue_bytes(port(3), *c)).collect();
    for number in 0..33 {
        lab.inject(0, &packet(1, if number < 32 { 99 } else { flow }, number, 64));
    }
    lab.poll_until_idle();
    let grown = |c: &TrafficClass| lab.switch.queue_bytes(port(3), *c) > before[c.index()];
    let class = TrafficClass::ALL.into_iter().rfind(grown).unwrap();
    lab.open(3);
    class
}

#[test]
fn a_bridge_that_is_told_isolates_the_flow_in_turn_and_goes_no_further_with_the_message() {
    for form in [CimType::L2, CimType::Ipv4, CimType::Ipv6] {
        let mut lab = learnt(&with_peer(3, form));
        assert_eq!(class_of(&mut lab, 5), MONITORED);
        lab.deliver(3, &cim_about(5, form, host(7), true));
        assert!((0..3).all(|n| lab.sent(n).is_empty()), "{form:?}: nothing is forwarded");
        assert_eq!(class_of(&mut lab, 5), CONGESTING, "{form:?}");
        assert_eq!(class_of(&mut lab, 6), MONITORED, "{form:?}: another flow");
        lab.deliver(3, &cim_about(5, form, host(7), false));
        assert_eq!(class_of(&mut lab, 5), MONITORED, "{form:?}: released");
        assert!(lab.drops().is_empty());
        lab.check();
    }
}

#[test]
fn a_cim_names_one_class_where_ports_go_by_the_dscp_and_all_where_they_go_by_a_tag() {
    for (trust, flows) in [(Trust::Dscp, 1), (Trust::DscpThenPcp, 1), (Trust::Pcp, 2)] {
        let mut plan = with_peer(3, CimType::L2);
        plan.ports.iter_mut().for_each(|port| port.classify.trust = trust);
        let machine = &mut plan.congestion.isolation.as_mut().unwrap().machine;
        machine.map = QueueMap::new([0, -6, 0, -6, 0, 4, 0, 0], MapReading::Partner).unwrap();
        let mut lab = learnt(&plan);
        lab.deliver(3, &cim_about(5, CimType::L2, host(7), true));
        let isolated: Vec<_> = lab.switch.isolation().unwrap().flows().collect();
        assert_eq!(isolated.len(), flows, "{trust:?}");
        assert!(isolated.iter().any(|flow| flow.queue.class == MONITORED));
        assert_eq!((isolated[0].labels.dst, isolated[0].labels.src), (host(9), host(1)));
    }
}

#[test]
fn what_is_forged_cut_or_strange_isolates_nothing_and_ends_under_its_name() {
    let mut lab = learnt(&with_peer(3, CimType::Ipv4));
    let own = [CimType::L2, CimType::Ipv4, CimType::Ipv6];
    // From another bridge.
    lab.inject(3, &cim_about(5, CimType::L2, host(6), true));
    let mut refused = 1;
    for form in own {
        let whole = cim_about(5, form, host(7), true);
        for cut in [whole.len() - 1, whole.len() - 20] {
            lab.inject(3, &whole[..cut]);
            refused += 1;
        }
        let mut flipped = whole.clone();
        // The version in the PDU's first byte; over IP the checksum does not match then either.
        flipped[whole.len() - 64 - 17] ^= 0xf0;
        lab.inject(3, &flipped);
        refused += 1;
    }
    // By a port that has no peer.
    let mut elsewhere = cim_about(5, CimType::L2, host(7), true);
    elsewhere[5] = 1;
    lab.inject(1, &elsewhere);
    refused += 1;
    lab.poll_until_idle();
    assert_eq!(lab.switch.isolation().unwrap().flows().count(), 0);
    assert_eq!(lab.drops(), [("cim_refused", refused)]);
    let seen = lab.switch.snapshot(lab.now).congestion.unwrap().isolation.unwrap();
    assert_eq!(seen.ports.iter().map(|port| port.received).sum::<u64>(), refused);
    assert_eq!(seen.counters.heard_malformed + 2, refused);
    let counters = lab.switch.isolation().unwrap().counters();
    assert_eq!(counters.heard_foreign_source, 1);
    assert_eq!(counters.heard_unknown_peer, 1);
    assert!((0..4).all(|n| lab.sent(n).is_empty()));
    lab.check();
}

#[test]
fn cims_to_somebody_else_are_data() {
    let mut lab = learnt(&with_peer(3, CimType::L2));
    for form in [CimType::L2, CimType::Ipv4] {
        let mut other = cim_about(5, form, host(7), true);
        other[..6].copy_from_slice(&host(9).0);
        lab.deliver(0, &other);
        assert_eq!(lab.sent(3), [other]);
    }
    // Of the same EtherType, to a group address: a measurement, which no port here answers.
    let message = headroom::Message::Request(headroom::Request { t1: 1, psn: 1 });
    let repr = headroom::Repr { src: host(7), dst: headroom::DESTINATION, message };
    let mut octets = vec![0; 60];
    repr.emit(&mut octets, &headroom::Dialect::default()).unwrap();
    lab.deliver(3, &octets);
    let snapshot = lab.switch.snapshot(lab.now);
    assert_eq!(snapshot.drops().get(DropReason::ReservedAddress), 1);
    assert_eq!(snapshot.drops().get(DropReason::CimRefused), 0);
    assert_eq!(lab.switch.isolation().unwrap().flows().count(), 0);
    lab.check();
}

#[test]
fn frames_without_ip_are_isolated_by_their_addresses() {
    let mut lab = learnt(&with_peer(0, CimType::L2));
    lab.port(3).room = 0;
    lab.deliver_all(0, (0..42).map(|_| frame(host(9), host(1), Some((3, 0)), 1_000)));
    assert!(lab.switch.queue_bytes(port(3), CONGESTING) > 2_000);
    let cims = lab.sent(0);
    let message = cim::Repr::parse(EtherType::CIM, &cims[0][14..], &cim::Dialect::default());
    let message = message.unwrap();
    assert_eq!((message.flow(), message.dst, message.src), (None, host(9), host(1)));
    lab.open(3);
    lab.check();
}
