//! Learning, flooding, VLANs, and frames that a bridge must not forward.

use crate::rig::*;
use crate::{Change, SpreadEntry, StaticEntry, SwitchPlan, VlanMember, VlanPlan};
use ground::time::Duration;
use ground::units::*;

fn vid(n: u16) -> Vid {
    Vid::new(n).unwrap()
}

#[test]
fn unknown_addresses_are_flooded_and_known_ones_are_not() {
    let mut lab: Lab = Lab::new(&plan(3));
    lab.deliver(0, &frame(host(2), host(1), None, 60));
    assert_eq!((lab.sent(0).len(), lab.sent(1).len(), lab.sent(2).len()), (0, 1, 1));
    lab.deliver(2, &frame(host(1), host(2), None, 60));
    assert_eq!((lab.sent(0).len(), lab.sent(1).len(), lab.sent(2).len()), (1, 0, 0));
    lab.inject(0, &frame(host(2), host(1), None, 60));
    lab.deliver(2, &frame(host(2), host(9), None, 60));
    assert_eq!((lab.sent(0).len(), lab.sent(1).len(), lab.sent(2).len()), (0, 0, 1));
    assert_eq!(lab.drops(), [("same_segment", 1)]);
    lab.check();
}

/// A UDP packet from host 1 to host 9, from this port.
fn packet(src_port: u16) -> Vec<u8> {
    let mut packet = frame(host(9), host(1), None, 60);
    packet[12..14].copy_from_slice(&[8, 0]);
    packet[14..42].copy_from_slice(&[
        0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 9, 0, 0, 0x12, 0xb7, 0, 8,
        0, 0,
    ]);
    packet[34..36].copy_from_slice(&src_port.to_be_bytes());
    packet
}

#[test]
fn flows_to_an_address_behind_several_ports_are_spread_over_those_that_are_up() {
    let mut p = plan(4);
    p.bridge.statics = vec![StaticEntry { vid: vid(1), mac: host(9), port: port(1) }];
    let ports = vec![port(1), port(2), port(3)];
    p.bridge.spread = vec![SpreadEntry { vid: vid(1), mac: host(9), ports }];
    let mut lab: Lab = Lab::new(&p);
    let sent = |lab: &mut Lab, src_port| {
        lab.deliver(0, &packet(src_port));
        let out: Vec<_> = (1..4).filter(|n| !lab.sent(*n).is_empty()).collect();
        assert_eq!(out.len(), 1, "one copy of each");
        out[0]
    };
    let first: Vec<_> = (0..60).map(|n| sent(&mut lab, n)).collect();
    for n in 1..4 {
        let flows = first.iter().filter(|port| **port == n).count();
        assert!((10..=30).contains(&flows), "{flows} of 60 flows leave by port {n}");
    }
    assert_eq!((0..60).map(|n| sent(&mut lab, n)).collect::<Vec<_>>(), first, "flows stay");
    lab.switch.apply(lab.now, Change::Link { port: port(1), up: false, rate: None }).unwrap();
    assert!((0..60).all(|n| sent(&mut lab, n) != 1), "none goes where the link is down");
    // Another switch takes other paths, and frames without IP have one too.
    let mut other: Lab = Lab::new(&SwitchPlan { seed: p.seed + 1, ..p });
    assert_ne!((0..60).map(|n| sent(&mut other, n)).collect::<Vec<_>>(), first);
    other.deliver(0, &frame(host(9), host(1), None, 60));
    assert_eq!((1..4).map(|n| other.sent(n).len()).sum::<usize>(), 1);
    lab.check();
}

#[test]
fn a_host_with_many_addresses_takes_only_its_port_s_share_of_the_table() {
    let mut p = plan(3);
    p.bridge.port_limit = 8;
    let mut lab: Lab = Lab::new(&p);
    for n in 0..100 {
        lab.deliver(0, &frame(host(200), host(n), None, 60));
    }
    lab.deliver(1, &frame(host(0), host(150), None, 60));
    let snapshot = lab.switch.snapshot(lab.now);
    let counted = |n: usize| {
        let counters = &snapshot.ports[n].counters;
        (counters.addresses, counters.addresses_refused)
    };
    assert_eq!((counted(0), counted(1), counted(2)), ((8, 92), (1, 0), (0, 0)));
    assert_eq!((snapshot.fdb.entries, snapshot.fdb.full), (9, 0));
    // Frames to unknown addresses are flooded, so nothing is lost; the other host's address was learnt.
    for n in 0..3 {
        let _ = lab.sent(n);
    }
    lab.inject(2, &frame(host(99), host(151), None, 60));
    lab.deliver(2, &frame(host(150), host(151), None, 60));
    assert_eq!((lab.sent(0).len(), lab.sent(1).len()), (1, 2));
    lab.check();
}

#[test]
fn vlans_keep_apart_and_tags_come_and_go() {
    let mut p = plan(4);
    let member = |n, tagged| VlanMember { vid: vid(n), tagged };
    p.ports[0].vlan = VlanPlan { pvid: Some(vid(10)), members: vec![member(10, false)] };
    p.ports[1].vlan = VlanPlan { pvid: None, members: vec![member(10, true), member(20, true)] };
    p.ports[2].vlan = VlanPlan { pvid: Some(vid(20)), members: vec![member(20, false)] };
    p.ports[3].vlan = VlanPlan { pvid: Some(vid(10)), members: vec![member(10, false)] };
    let mut lab: Lab = Lab::new(&p);

    lab.deliver(0, &frame(Mac::BROADCAST, host(1), None, 60));
    assert_eq!(lab.sent(1), [frame(Mac::BROADCAST, host(1), Some((0, 10)), 64)]);
    assert!(lab.sent(2).is_empty(), "another VLAN");
    assert_eq!(lab.sent(3), [frame(Mac::BROADCAST, host(1), None, 60)]);

    // The trunk's tag selects the VLAN and is removed at egress; its PCP is the priority.
    lab.deliver(1, &frame(Mac::BROADCAST, host(2), Some((3, 20)), 64));
    assert_eq!(lab.sent(2), [frame(Mac::BROADCAST, host(2), None, 60)]);
    assert!(lab.sent(0).is_empty() && lab.sent(3).is_empty());
    let snapshot = lab.switch.snapshot(lab.now);
    assert_eq!(snapshot.ports[1].counters.priorities[3].rx_frames, 1);

    // A priority tag belongs to the PVID, and leaves a tagged port with that VLAN and its PCP.
    lab.deliver(0, &frame(Mac::BROADCAST, host(1), Some((6, 0)), 64));
    assert_eq!(lab.sent(1), [frame(Mac::BROADCAST, host(1), Some((6, 10)), 64)]);

    // Not a member, no PVID, reserved VID.
    lab.inject(0, &frame(Mac::BROADCAST, host(1), Some((0, 20)), 64));
    lab.inject(1, &frame(Mac::BROADCAST, host(1), None, 60));
    lab.deliver(1, &frame(Mac::BROADCAST, host(1), Some((0, 4095)), 64));
    assert_eq!(lab.drops(), [("reserved_vid", 1), ("ingress_vlan", 2)]);
    lab.check();
}

#[test]
fn a_frame_below_the_minimum_leaves_with_padding() {
    let mut p = plan(3);
    let member = |tagged| vec![VlanMember { vid: vid(10), tagged }];
    p.ports[0].vlan = VlanPlan { pvid: None, members: member(true) };
    for n in [1, 2] {
        p.ports[n].vlan = VlanPlan { pvid: Some(vid(10)), members: member(false) };
    }
    let mut lab: Lab = Lab::new(&p);
    lab.learn(1, 1);
    let tagged = frame(host(1), host(2), Some((3, 10)), 60);
    let mut padded = tagged.clone();
    padded.drain(12..16);
    padded.extend([0; 4]);
    // As a driver without a minimum receives it, and as MACsec leaves a frame of one byte.
    let short = frame(host(1), host(3), None, 60)[..15].to_vec();
    let mut whole = short.clone();
    whole.resize(60, 0);
    // The second one meets the cached decision; several are one burst.
    for n in [1, 1, 2, 5] {
        (0..n).for_each(|_| lab.inject(2, &short));
        lab.deliver(0, &tagged);
        let mut sent = lab.sent(1);
        sent.sort_by_key(|octets| *octets != padded);
        assert_eq!(sent.remove(0), padded);
        assert_eq!(sent, vec![whole.clone(); n]);
    }
    lab.check();
}

#[test]
fn a_service_tag_passes_through_and_gives_the_priority() {
    let mut lab: Lab = Lab::new(&plan(2));
    let mut f = frame(host(2), host(1), Some((4, 77)), 100);
    f[12..14].copy_from_slice(&[0x88, 0xa8]);
    f.splice(16..16, [0x81, 0x00, 0x00, 0x05]);
    lab.deliver(0, &f);
    assert_eq!(lab.sent(1), [f]);
    assert_eq!(lab.switch.snapshot(lab.now).ports[0].counters.priorities[4].rx_frames, 1);
}

#[test]
fn what_a_bridge_must_not_forward_is_dropped_by_name() {
    let mut lab: Lab = Lab::new(&plan(2));
    for last in 0..16 {
        lab.inject(0, &frame(Mac([1, 0x80, 0xc2, 0, 0, last]), host(1), None, 60));
    }
    lab.inject(0, &frame(host(2), Mac::BROADCAST, None, 60));
    lab.inject(0, &frame(host(2), host(1), None, 60)[..13]);
    lab.inject(0, &frame(host(2), host(1), Some((0, 1)), 64)[..15]);
    lab.deliver(0, &frame(host(2), host(1), None, 1519));
    assert!(lab.sent(1).is_empty());
    assert_eq!(
        lab.drops(),
        [
            ("runt", 1),
            ("oversize", 1),
            ("truncated_tag", 1),
            ("group_source", 1),
            ("reserved_address", 16)
        ]
    );
    lab.check();
}

#[test]
fn a_link_that_goes_down_takes_its_queue_and_its_addresses_along() {
    let mut lab: Lab = Lab::new(&plan(3));
    lab.deliver(1, &frame(host(9), host(2), None, 60));
    lab.sent(0);
    lab.sent(2);
    lab.port(1).room = 0;
    lab.deliver_all(0, (0..50).map(|_| frame(host(2), host(1), None, 60)));
    assert_eq!(lab.switch.held(), 50);
    lab.switch.apply(lab.now, Change::Link { port: port(1), up: false, rate: None }).unwrap();
    assert_eq!(lab.switch.held(), 0);
    assert_eq!(lab.drops(), [("flushed", 50)]);
    // The address is unknown again, and a port that is down is not flooded to.
    lab.inject(0, &frame(host(2), host(1), None, 60));
    lab.deliver(1, &frame(host(1), host(2), None, 60));
    assert_eq!((lab.sent(1).len(), lab.sent(2).len()), (0, 1));
    assert_eq!(lab.drops(), [("link_down", 1), ("flushed", 50)]);
    lab.switch.apply(lab.now, Change::Link { port: port(1), up: true, rate: None }).unwrap();
    lab.port(1).room = usize::MAX;
    lab.deliver(0, &frame(host(2), host(1), None, 60));
    assert_eq!(lab.sent(1).len(), 1);
    lab.check();
}

#[test]
fn an_address_that_was_not_heard_of_for_the_ageing_time_is_forgotten() {
    let mut lab: Lab = Lab::new(&plan(3));
    lab.deliver(1, &frame(host(9), host(2), None, 60));
    lab.advance(Duration::from_secs(301));
    lab.deliver(0, &frame(host(2), host(1), None, 60));
    assert_eq!(lab.sent(2).len(), 2, "flooded before and after");
}

#[test]
fn a_dscp_behind_two_tags_decides_for_each_frame() {
    let mut p = plan(2);
    for port in &mut p.ports {
        port.classify.trust = crate::Trust::Dscp;
        port.vlan.members[0].tagged = true;
    }
    let mut lab: Lab = Lab::new(&p);
    let twice_tagged = |tos: u8| {
        let mut f = frame(host(1), host(0), Some((0, 1)), 90);
        f[16..24].copy_from_slice(&[0x81, 0, 0, 1, 0x08, 0, 0x45, tos]);
        f
    };
    lab.deliver(1, &frame(host(0), host(1), Some((0, 1)), 60));
    for tos in [26 << 2, 46 << 2] {
        lab.inject(0, &twice_tagged(tos));
    }
    lab.poll_until_idle();
    let now = lab.now;
    let counted = lab.switch.snapshot(now).ports[0].counters.priorities;
    assert_eq!((counted[3].rx_frames, counted[5].rx_frames), (1, 1));
}
