//! VLANs between hosts of the kernel: trunks with VLAN interfaces, access ports, isolation, and the
//! priority in the tag.

use crate::netns::{Host, capture::Capture, isolated_beside, port, script::Script};
use crate::run::{Dir, Switch};

/// Hosts 0 and 1 are on trunks with VLANs 10 and 20, hosts 2 and 3 on access ports of 10 and 20.
fn four_hosts() -> (Vec<Host>, String) {
    let hosts: Vec<_> = (0..4).map(Host::new).collect();
    let vlans = [
        ", vlan: {tagged: [10, 20]}",
        ", vlan: {tagged: [10, 20]}",
        ", vlan: {untagged: [10]}",
        ", vlan: {untagged: [20]}",
    ];
    let ports: String = (0..).zip(vlans).map(|(n, vlan)| port(n, vlan)).collect();
    (hosts, format!("defaults: {{rate: 1G}}\nports:\n{ports}"))
}

/// Gives all of them addresses in the same IP networks, so that only the VLANs separate them.
/// Frames of the trunks' hosts in VLAN 10 have priority 5.
fn give_addresses(hosts: &[Host]) -> Vec<Script> {
    let give = |host: &Host, interface: &str, vid: u8| {
        host.address(interface, &format!("10.0.{vid}.{}/16", host.number + 1));
        host.address(interface, &format!("fd00::{vid}:{}/64", host.number + 1));
    };
    let scripts = hosts[..2].iter().filter_map(|host| {
        let script = host.vlans(&[(10, 5), (20, 0)]);
        for vid in [10, 20] {
            give(host, &format!("eth0.{vid}"), vid);
            host.ip(&format!("route add 10.0.{vid}.0/24 dev eth0.{vid}"));
            host.ip(&format!("route add fd00::{vid}:0/112 dev eth0.{vid}"));
        }
        script
    });
    let scripts = scripts.collect();
    give(&hosts[2], "eth0", 10);
    give(&hosts[3], "eth0", 20);
    scripts
}

#[test]
fn hosts_of_one_vlan_reach_each_other_and_no_others() {
    isolated_beside(&["ping", "tcpdump"], || {
        let dir = Dir::new("vlan");
        let (hosts, file) = four_hosts();
        let switch = Switch::start(&dir, "vlan", &file, &[]);
        let _scripts = give_addresses(&hosts);
        let trunk = Capture::start(&dir, &hosts[1], "trunk");
        let apart = Capture::start(&dir, &hosts[3], "apart");

        // Trunk to trunk, trunk to access and access to trunk, in either VLAN.
        for (from, to) in [
            (0, "10.0.10.2"),
            (0, "fd00::20:2"),
            (0, "10.0.10.3"),
            (0, "fd00::20:4"),
            (2, "10.0.10.1"),
            (3, "fd00::20:2"),
        ] {
            assert!(hosts[from].ping(to, "-c 3"), "{from} does not reach {to}");
        }
        // The same network without a path: host 2 sends ARP requests for host 3, which no host of
        // VLAN 20 receives.
        assert!(!hosts[2].ping("10.0.20.4", "-c 3 -w 1"));
        assert!(!hosts[2].ping("fd00::20:4", "-c 3 -w 1"));

        let sent = trunk.wait("a tagged answer", |frames| {
            frames.iter().any(|f| f.src() == hosts[3].mac && f.tag().is_some())
        });
        // On a trunk every frame has one tag, of the VLAN of its host.
        for frame in &sent {
            let (priority, vid) = frame.tag().expect("no tag on a trunk");
            assert!(vid == 10 || vid == 20, "{frame:02x?}");
            assert!(frame.src() != hosts[2].mac || vid == 10, "{frame:02x?}");
            assert!(frame.src() != hosts[3].mac || vid == 20, "{frame:02x?}");
            assert_ne!(frame.octets[16..18], [0x81, 0x00], "{frame:02x?}");
            // The priority that the host set passed through the switch.
            if frame.src() == hosts[0].mac {
                assert_eq!(priority, if vid == 10 { 5 } else { 0 }, "{frame:02x?}");
            }
        }
        // On an access port no frame has a tag.
        let frames = apart.wait("its own pings", |frames| !frames.is_empty());
        let foreign = frames.iter().find(|f| f.tag().is_some() || f.src() == hosts[2].mac);
        assert!(foreign.is_none(), "{foreign:02x?}");

        let (status, summary) = switch.stop();
        assert_eq!(status, Some(0), "{summary:#}");
        // Pings of three hosts from the one of priority 5, and its other frames before and between.
        let at =
            |port: usize, priority: usize| summary["ports"][port]["priorities"][priority].clone();
        assert!(at(0, 5)["rx_frames"].as_u64() >= Some(9), "{summary:#}");
        assert!(at(2, 5)["tx_frames"].as_u64() >= Some(6), "{summary:#}");
    });
}

#[test]
fn frames_of_foreign_vlans_are_dropped_by_name() {
    isolated_beside(&["python3"], || {
        let dir = Dir::new("foreign");
        let (hosts, file) = four_hosts();
        let switch = Switch::start(&dir, "foreign", &file, &[]);
        let all = Capture::start(&dir, &hosts[1], "foreign");
        // A VLAN without members, from a trunk; untagged frames on a trunk without a VLAN for them.
        for (vid, to) in [(30, "ff:ff:ff:ff:ff:ff"), (0, "ff:ff:ff:ff:ff:ff")] {
            let args = format!("{} {to} {vid} 100 1000 0 2", hosts[0].mac_text());
            let before = switch.show()["drops"]["ingress_vlan"].as_u64().unwrap();
            let sender = Script::start(&hosts[0], "traffic.py", &args);
            switch.wait("dropped", |s| s["drops"]["ingress_vlan"].as_u64() > Some(before + 10));
            let sent = sender.end()["sent"]["2"].as_u64().unwrap();
            switch.wait("all dropped", |s| s["drops"]["ingress_vlan"] == before + sent);
        }
        assert!(all.frames().iter().all(|f| f.mark().is_none()), "a frame of no VLAN went through");
        assert_eq!(switch.stop().0, Some(0));
    });
}
