//! A station on a veth port and the kernel at its other end resolve and ping each other.

use std::net::IpAddr;
use std::thread;
use std::time::{Duration as StdDuration, Instant as StdInstant};

use sluice::dpdk::{
    DpdkPort, Eal, EalOptions, Memory, Pool, PoolOptions, PortOptions, SourcePort, TscClock,
};
use sluice::host::neighbours::PingState;
use sluice::host::plan::stream::InterfacePlan;
use sluice::host::{Station, StationPlan};
use sluice::units::{BitsPerSec, Bytes, Mac, Vid};

use crate::netns::{Host, isolated_beside};

/// 10.0.N.2 and fd00:0:0:N::2, whose gateways end in 1.
fn interface(n: u8, vlans: &[(u16, u8)]) -> InterfacePlan {
    let v6 = |last: u16| [0xfd00, 0, 0, n.into(), 0, 0, 0, last].into();
    InterfacePlan {
        name: format!("eth{n}"),
        mac: Mac([2, 0, 0, 0, 0x20, n]),
        vlans: vlans.iter().map(|&(vid, p)| (Vid::new(vid).unwrap(), p)).collect(),
        ipv4: vec![([10, 0, n, 2].into(), 24, Some([10, 0, n, 1].into()))],
        ipv6: vec![(v6(2), 64, Some(v6(1)))],
    }
}

fn station(port: SourcePort) -> Station<SourcePort> {
    let mut plan = StationPlan {
        shaper_burst: Bytes(3_000),
        ..StationPlan::new("station", Mac([2, 0, 0, 0, 0x30, 0]), BitsPerSec::gbps(1))
    };
    plan.tester.interfaces = vec![interface(0, &[]), interface(1, &[(100, 3)])];
    Station::new(&plan, port).unwrap()
}

/// Polls `station` while `other` runs, and returns the result of `other`.
fn polling<T: Send>(
    station: &mut Station<SourcePort>,
    clock: &TscClock,
    other: impl FnOnce() -> T + Send,
) -> T {
    thread::scope(|scope| {
        let other = scope.spawn(other);
        while !other.is_finished() {
            station.poll(clock.now());
            thread::yield_now();
        }
        other.join().unwrap()
    })
}

#[test]
fn the_kernel_and_a_station_find_and_ping_each_other() {
    isolated_beside(&["ping"], || {
        let host = Host::new(0);
        let eal = Eal::start(&EalOptions { memory: Memory::NoHuge, ..Default::default() }).unwrap();
        let pool = Pool::new(&eal, &PoolOptions { frames: 4_000, ..Default::default() }).unwrap();
        let port = DpdkPort::open(&eal, "net_af_packet0,iface=s0").unwrap();
        let port = port.start(&PortOptions::default(), &pool).unwrap();
        let mut station = station(SourcePort::new(port, pool));
        let clock = TscClock::new();
        let _vlans = host.vlans(&[(100, 3)]);
        for (dev, n) in [("eth0", 0), ("eth0.100", 1)] {
            host.address(dev, &format!("10.0.{n}.1/24"));
            host.address(dev, &format!("fd00:0:0:{n}::1/64"));
        }

        for to in ["10.0.0.2", "fd00::2", "10.0.1.2", "fd00:0:0:1::2"] {
            for args in ["-c 10", "-c 3 -s 1400"] {
                assert!(polling(&mut station, &clock, || host.ping(to, args)), "{to} {args}");
            }
        }

        let gateways: [(&str, IpAddr); 4] = [
            ("eth0", [10, 0, 0, 1].into()),
            ("eth0", [0xfd00, 0, 0, 0, 0, 0, 0, 1].into()),
            ("eth1", [10, 0, 1, 1].into()),
            ("eth1", [0xfd00, 0, 0, 1, 0, 0, 0, 1].into()),
        ];
        for (interface, ip) in gateways {
            station.ping(interface, ip).unwrap();
        }
        let deadline = StdInstant::now() + StdDuration::from_secs(20);
        let waiting = |s: &Station<_>| s.pings().any(|p| p.state == PingState::Waiting);
        while waiting(&station) && StdInstant::now() < deadline {
            station.poll(clock.now());
        }
        let answered = |state| matches!(state, PingState::Answered(_));
        let pings: Vec<_> = station.pings().collect();
        assert!(pings.iter().all(|p| answered(p.state)), "{pings:?}");
        let known: Vec<_> = station.neighbours().collect();
        assert_eq!(known, gateways.map(|(name, ip)| (name, ip, Some(Mac(host.mac)))));
        assert_eq!(station.neighbour_counters().refused, 0);
    });
}
