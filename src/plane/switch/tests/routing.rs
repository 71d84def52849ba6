//! Routing by longest prefix to static neighbours.

use std::net::{IpAddr, Ipv4Addr};

use crate::rig::*;
use crate::{InterfacePlan, NeighbourPlan, RoutePlan, SwitchPlan, VlanMember, VlanPlan};
use ground::units::*;
use wire::{EtherType, arp, checksum, ipv4};

const ROUTER: Mac = Mac([2, 0, 0, 0, 0xff, 1]);

fn ip(n: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 0, n, 1))
}

/// Port 0 in VLAN 10 (10.0.10.0/24), port 1 in VLAN 20 (10.0.20.0/24 and the rest of the world).
fn routed() -> SwitchPlan {
    let mut p = plan(2);
    for (n, vid) in [(0, 10), (1, 20)] {
        let vid = Vid::new(vid).unwrap();
        p.ports[n].vlan =
            VlanPlan { pvid: Some(vid), members: vec![VlanMember { vid, tagged: n == 1 }] };
        p.routing.interfaces.push(InterfacePlan {
            vid,
            mac: ROUTER,
            addresses: vec![ip(vid.get() as u8)],
        });
    }
    let route = |network: [u8; 4], prefix_len, via: Option<IpAddr>| RoutePlan {
        network: IpAddr::from(network),
        prefix_len,
        via,
        interface: 1,
    };
    let gateway = IpAddr::from([10, 0, 20, 9]);
    p.routing.routes = vec![
        route([0, 0, 0, 0], 0, Some(gateway)),
        route([10, 0, 20, 0], 24, None),
        route([10, 0, 20, 128], 25, Some(IpAddr::from([10, 0, 20, 77]))),
    ];
    p.routing.neighbours = vec![
        NeighbourPlan { ip: gateway, mac: host(9), interface: 1, port: port(1) },
        NeighbourPlan {
            ip: IpAddr::from([10, 0, 20, 5]),
            mac: host(5),
            interface: 1,
            port: port(1),
        },
    ];
    p
}

fn packet(dst: [u8; 4], ttl: u8) -> Vec<u8> {
    let mut f = frame(ROUTER, host(1), None, 60);
    f[12..14].copy_from_slice(&EtherType::IPV4.0.to_be_bytes());
    f[14..30].copy_from_slice(&[0x45, 0, 0, 46, 0, 0, 0, 0, ttl, 17, 0, 0, 10, 0, 10, 2]);
    f[30..34].copy_from_slice(&dst);
    let sum = checksum::Sum::default().octets(&f[14..34]).finish();
    f[24..26].copy_from_slice(&sum.to_be_bytes());
    f
}

#[test]
fn packets_go_to_the_neighbour_of_the_longest_prefix() {
    let mut lab: Lab = Lab::new(&routed());
    for (dst, neighbour) in [([10, 0, 20, 5], host(5)), ([192, 0, 2, 1], host(9))] {
        lab.deliver(0, &packet(dst, 64));
        let out = lab.sent(1).pop().unwrap();
        assert_eq!(out[..6], neighbour.0);
        assert_eq!(out[6..12], ROUTER.0);
        assert_eq!(out[12..16], [0x81, 0, 0, 20], "tagged in its new VLAN");
        let view = ipv4::View::new(&out[18..]).unwrap();
        assert_eq!((view.ttl(), view.checksum_ok()), (63, true));
    }
    lab.check();
}

#[test]
fn what_cannot_be_routed_is_dropped_by_name() {
    let mut lab: Lab = Lab::new(&routed());
    lab.inject(0, &packet([192, 0, 2, 1], 1));
    lab.inject(0, &packet([10, 0, 20, 6], 64));
    lab.inject(0, &packet([10, 0, 20, 200], 64));
    let mut bad = packet([192, 0, 2, 1], 64);
    bad[24] ^= 1;
    lab.inject(0, &bad);
    lab.deliver(0, &frame(ROUTER, host(1), None, 60));
    assert!(lab.sent(1).is_empty());
    assert_eq!(
        lab.drops(),
        [("ip_malformed", 1), ("ttl_expired", 1), ("no_neighbour", 2), ("router_not_spoken", 1)]
    );
    lab.check();
}

#[test]
fn the_router_answers_arp_and_ping_and_floods_other_questions() {
    let mut lab: Lab = Lab::new(&routed());
    let me = Ipv4Addr::new(10, 0, 10, 2);
    let mut f = vec![0; 60];
    arp::Repr::request(host(1), me, Ipv4Addr::new(10, 0, 10, 1)).emit_frame(&mut f).unwrap();
    lab.deliver(0, &f);
    let answer = lab.sent(0).pop().unwrap();
    let repr = arp::Repr::parse(&answer[14..]).unwrap();
    assert_eq!((repr.operation, repr.sender_mac), (arp::Operation::Reply, ROUTER));
    assert_eq!((repr.target_mac, repr.target_ip), (host(1), me));
    assert_eq!((&answer[..6], &answer[6..12]), (&host(1).0[..], &ROUTER.0[..]));

    let mut ping = packet([10, 0, 10, 1], 64);
    ping[23] = 1;
    ping[34..38].copy_from_slice(&[8, 0, 0, 0]);
    let sum = checksum::Sum::default().octets(&ping[34..60]).finish();
    ping[36..38].copy_from_slice(&sum.to_be_bytes());
    ping[24..26].fill(0);
    let sum = checksum::Sum::default().octets(&ping[14..34]).finish();
    ping[24..26].copy_from_slice(&sum.to_be_bytes());
    lab.deliver(0, &ping);
    let pong = lab.sent(0).pop().unwrap();
    let view = ipv4::View::new(&pong[14..]).unwrap();
    assert!(view.checksum_ok());
    assert_eq!((view.src(), view.dst()), (Ipv4Addr::new(10, 0, 10, 1), me));
    assert_eq!(pong[34], 0, "echo reply");
    assert_eq!(checksum::Sum::default().octets(&pong[34..60]).finish(), 0);
    lab.check();
}
