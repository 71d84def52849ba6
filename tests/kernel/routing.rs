//! Routing between hosts of the kernel that use the switch as their gateway.

use crate::netns::{
    Host,
    capture::{Capture, Seen},
    isolated_beside, must, port,
};
use crate::run::{Dir, Switch, text};

/// The router's address in every VLAN.
const ROUTER: &str = "02:00:00:00:20:fe";

/// The TTL or hop limit of an ICMP echo request.
fn ttl_of_echo(frame: &Seen) -> Option<u8> {
    let packet = frame.packet();
    match frame.ethertype() {
        0x0800 if packet[9] == 1 && packet[20] == 8 => Some(packet[8]),
        0x86dd if packet[6] == 58 && packet[40] == 128 => Some(packet[7]),
        _ => None,
    }
}

#[test]
fn two_networks_reach_each_other_through_the_router() {
    isolated_beside(&["ping", "tcpdump"], || {
        let dir = Dir::new("router");
        let hosts: Vec<_> = (0..2).map(Host::new).collect();
        for (host, net) in hosts.iter().zip([10, 20]) {
            host.address("eth0", &format!("10.0.{net}.2/24"));
            host.address("eth0", &format!("fd00:{net}::2/64"));
            host.ip(&format!("route add default via 10.0.{net}.1"));
            host.ip(&format!("route add default via fd00:{net}::1"));
            // The router answers ARP, but no neighbour solicitation.
            host.ip(&format!("neighbour add fd00:{net}::1 lladdr {ROUTER} dev eth0 nud permanent"));
        }
        let mac: Vec<_> = hosts.iter().map(Host::mac_text).collect();
        let file = format!(
            "defaults: {{rate: 1G}}\nports:\n{}{}\
             routing:\n\
             \x20 interfaces:\n\
             \x20 - {{vlan: 10, mac: '{ROUTER}', addresses: [10.0.10.1/24, 'fd00:10::1/64']}}\n\
             \x20 - {{vlan: 20, mac: '{ROUTER}', addresses: [10.0.20.1/24, 'fd00:20::1/64']}}\n\
             \x20 neighbours:\n\
             \x20 - {{ip: 10.0.10.2, mac: '{}', port: p0}}\n\
             \x20 - {{ip: 'fd00:10::2', mac: '{}', port: p0}}\n\
             \x20 - {{ip: 10.0.20.2, mac: '{}', port: p1}}\n\
             \x20 - {{ip: 'fd00:20::2', mac: '{}', port: p1}}\n",
            port(0, ", vlan: {untagged: [10]}"),
            port(1, ", vlan: {untagged: [20]}"),
            mac[0],
            mac[0],
            mac[1],
            mac[1],
        );
        let switch = Switch::start(&dir, "router", &file, &[]);
        let capture = Capture::start(&dir, &hosts[1], "beyond");
        for (from, to) in [(0, "10.0.20.2"), (0, "fd00:20::2"), (1, "10.0.10.2"), (1, "fd00:10::2")]
        {
            assert!(hosts[from].ping(to, "-c 5"), "{from} does not reach {to}");
        }
        // The router itself answers, on both sides.
        for (from, to) in [(0, "10.0.10.1"), (1, "10.0.20.1")] {
            assert!(hosts[from].ping(to, "-c 3"), "{from} does not reach the router, {to}");
        }
        // A packet with a TTL of two passes the router; one with a TTL of one does not.
        assert!(hosts[0].ping("10.0.20.2", "-c 3 -t 2 -s 40"));
        assert!(!hosts[0].ping("10.0.20.2", "-c 3 -w 1 -t 1"));
        assert!(!hosts[0].ping("10.77.0.1", "-c 3 -w 1"));
        // The kernel verifies checksums, so it has found each correct.
        let frames = capture.wait("pings", |frames| {
            frames.iter().filter(|f| ttl_of_echo(f) == Some(1)).count() >= 3
        });
        let from_afar = frames.iter().filter(|f| f.src() != hosts[1].mac);
        let ttls: Vec<_> = from_afar.filter_map(ttl_of_echo).collect();
        assert_eq!(ttls.iter().filter(|ttl| **ttl == 63).count(), 10, "{ttls:?}");
        assert_eq!(ttls.iter().filter(|ttl| **ttl == 1).count(), 3, "{ttls:?}");

        // A host that resolved the router's address has it, and all in one network have one
        // address.
        let neighbours = must(hosts[0].command("ip").args(["neighbour", "show", "10.0.10.1"]));
        assert!(text(&neighbours.stdout).contains(ROUTER), "{neighbours:?}");
        let (status, summary) = switch.stop();
        assert_eq!(status, Some(0), "{summary:#}");
        for reason in ["ttl_expired", "no_route"] {
            assert!(summary["drops"][reason].as_u64() >= Some(3), "{reason}: {summary:#}");
        }
    });
}
