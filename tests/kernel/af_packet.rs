//! Frames over a veth pair in a network namespace of the test: MAC control frames and tags pass
//! unchanged in both directions.

use std::process::Command;
use std::time::{Duration, Instant};

use sluice::dpdk::{
    DpdkPort, Eal, EalOptions, Error, MacControl, Memory, Pool, PoolOptions, PortOptions,
};
use sluice::frame::{Burst, Frame};
use sluice::port::Port;

use crate::netns::isolated_beside;

fn run(args: &[&str]) {
    assert!(Command::new("ip").args(args).status().expect("iproute2").success(), "ip {args:?}");
}

#[test]
fn af_packet_ports_pass_every_kind_of_frame() {
    isolated_beside(&[], || {
        run(&["link", "add", "v0", "type", "veth", "peer", "name", "v1"]);
        for interface in ["v0", "v1"] {
            // Otherwise the kernel sends frames over the pair too.
            let ipv6 = format!("/proc/sys/net/ipv6/conf/{interface}/disable_ipv6");
            let _ = std::fs::write(ipv6, "1");
            run(&["link", "set", interface, "up"]);
        }
        let eal =
            Eal::start(&EalOptions { memory: Memory::NoHuge, ..EalOptions::default() }).unwrap();
        let pool =
            Pool::new(&eal, &PoolOptions { frames: 4_000, ..PoolOptions::default() }).unwrap();
        let start = |device: &str| {
            let port = DpdkPort::open(&eal, device).unwrap();
            port.start(&PortOptions::default(), &pool).unwrap()
        };
        let mut a = start("net_af_packet0,iface=v0");
        let mut b = start("net_af_packet1,iface=v1,framecnt=256");
        let twice = DpdkPort::open(&eal, "net_af_packet2,iface=v0");
        assert!(matches!(twice, Err(Error::InUse { .. })), "{twice:?}");

        assert!(matches!(b.info().mac_control, MacControl::NoSetting { is_virtual: true, .. }));
        assert_eq!(a.caps().rx_backlog_max.0, 512 * 1_522);
        assert_eq!(b.caps().tx_committed_max.0, 256 * 1_522);
        assert!(a.link().up && a.mac().is_some());

        passes(&pool, &mut a, &mut b);
        passes(&pool, &mut b, &mut a);
        assert_eq!((a.stats().tx_frames, b.stats().rx_frames), (4, 4));

        // The driver leaves the interface's state to the kernel, which is read instead.
        a.control().set_link(false).unwrap();
        until("both links are down", || !a.link().up && !b.link().up);
        a.control().set_link(true).unwrap();
        until("both links are up again", || a.link().up && b.link().up);
        passes(&pool, &mut a, &mut b);
        passes(&pool, &mut b, &mut a);
        run(&["link", "delete", "v0"]);
        assert!(matches!(a.control().set_link(true), Err(Error::Device { .. })));
        assert!(!a.link().up);
        drop((a, b));
        assert_eq!(pool.in_use(), 0);
    });
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(5);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}: not within 5 s");
        std::thread::yield_now();
    }
}

fn passes(pool: &Pool, from: &mut DpdkPort, to: &mut DpdkPort) {
    let pfc = with(&[0x01, 0x80, 0xc2, 0, 0, 1], &[0x88, 0x08, 0x01, 0x01, 0, 8, 0xff, 0xff], 60);
    let tagged = with(&[0xff; 6], &[0x81, 0, 0x60, 5, 0x08, 0x00], 64);
    // Both tags 0x8100: DPDK's driver restores that type even if the kernel removed a 0x88a8.
    let twice = with(&[2; 6], &[0x81, 0, 0, 9, 0x81, 0, 0x60, 5, 0x08, 0x00], 1_518);
    let longest = with(&[2; 6], &[0x81, 0, 0x60, 5, 0x86, 0xdd], 1_518);
    let sent = [pfc, tagged, twice, longest];

    let control = from.control_frame(&sent[0]).unwrap();
    let mut burst: Burst<_> = [control].into_iter().collect();
    burst.extend(sent[1..].iter().map(|octets| pool.frame(octets).unwrap()));
    from.tx_burst(&mut burst);
    assert!(burst.is_empty());

    let mut got = Vec::new();
    let deadline = Instant::now() + Duration::from_secs(5);
    while got.len() < sent.len() && Instant::now() < deadline {
        to.rx_burst(&mut burst);
        got.extend(burst.drain(..).map(|frame| frame.head().to_vec()));
    }
    assert_eq!(got, sent);
}

fn with(destination: &[u8; 6], from_type_on: &[u8], len: usize) -> Vec<u8> {
    let mut octets = [&destination[..], &[2, 0, 0, 0, 0, 1], from_type_on].concat();
    octets.resize(len, 0x5a);
    octets
}
