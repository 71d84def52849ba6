//! Hosts of the kernel communicate through the switch: ARP and ND, ping, TCP, frames of every
//! length.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::netns::{Counted, Host, capture::Capture, isolated_beside, port, script::Script};
use crate::run::{Dir, Switch};

/// Three hosts on one bridge, with addresses 10.0.0.N and fd00::N.
fn three_hosts(dir: &Dir) -> (Vec<Host>, Vec<Counted>, Switch) {
    let hosts: Vec<_> = (0..3).map(Host::new).collect();
    let ports: String = (0..3).map(|n| port(n, "")).collect();
    let before = hosts.iter().map(Host::counted).collect();
    let file = format!("defaults: {{rate: 1G, pfc: {{enable: [3]}}}}\nports:\n{ports}");
    let switch = Switch::start(dir, "hosts", &file, &[]);
    for host in &hosts {
        host.address("eth0", &format!("10.0.0.{}/24", host.number + 1));
        host.address("eth0", &format!("fd00::{}/64", host.number + 1));
    }
    (hosts, before, switch)
}

#[test]
fn hosts_find_each_other_and_a_third_sees_none_of_it() {
    isolated_beside(&["ping", "tcpdump"], || {
        let dir = Dir::new("hosts");
        let (hosts, before, switch) = three_hosts(&dir);
        let third = Capture::start(&dir, &hosts[2], "third");
        assert!(hosts[0].ping("10.0.0.2", "-c 10"));
        assert!(hosts[0].ping("fd00::2", "-c 10"));
        // The longest packets, in both directions, and one byte more in two fragments.
        assert!(hosts[1].ping("10.0.0.1", "-c 5 -M do -s 1472"));
        assert!(hosts[1].ping("fd00::1", "-c 5 -M do -s 1452"));
        // Of IPv6 alone: DPDK's driver lets the kernel reassemble IPv4 fragments before it receives
        // them.
        assert!(hosts[1].ping("fd00::1", "-c 5 -s 1453"));

        let flooded = third.wait("ARP and ND", |frames| {
            let of = |ethertype| frames.iter().any(|f| f.ethertype() == ethertype);
            of(0x0806) && of(0x86dd)
        });
        let unicast = flooded.iter().find(|f| f.dst()[0] & 1 == 0);
        assert!(unicast.is_none(), "learnt, and still flooded: {unicast:02x?}");
        let shown = switch.show();
        assert!(shown["fdb"]["entries"].as_u64() >= Some(2), "{shown:#}");
        balances(&hosts, &before, switch);
    });
}

/// Compares a summary, port by port, with the frames and bytes that the hosts' kernels count.
fn agree(hosts: &[Host], before: &[Counted], summary: &Value) -> Result<(), String> {
    for (n, (host, before)) in hosts.iter().zip(before).enumerate() {
        let now = host.counted();
        let (sent, got) = (now.tx_frames - before.tx_frames, now.rx_frames - before.rx_frames);
        // The switch counts an FCS per frame, the kernel does not.
        let sent_octets = now.tx_bytes - before.tx_bytes + 4 * sent;
        let got_octets = now.rx_bytes - before.rx_bytes + 4 * got;
        for (name, kernel) in [
            ("rx_frames", sent),
            ("rx_bytes", sent_octets),
            ("tx_frames", got),
            ("tx_bytes", got_octets),
        ] {
            let counted = summary["ports"][n][name].as_u64();
            if counted != Some(kernel) {
                return Err(format!(
                    "port {n}: {name} {counted:?}, the kernel has {kernel}: {summary:#}"
                ));
            }
        }
    }
    Ok(())
}

/// Waits until the switch's counters equal those of the kernel of each host. Read while it runs:
/// kernels send by themselves (MLD, ND), also after the switch has stopped.
fn balances(hosts: &[Host], before: &[Counted], switch: Switch) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while let Err(why) = agree(hosts, before, &switch.show()) {
        assert!(Instant::now() < deadline, "{why}");
        std::thread::sleep(Duration::from_millis(20));
    }
    let (status, summary) = switch.stop();
    assert_eq!(status, Some(0), "{summary:#}");
    let all = |name: &str| -> u64 {
        (0..hosts.len()).map(|port| summary["ports"][port][name].as_u64().unwrap()).sum()
    };
    let drops: u64 = summary["drops"].as_object().unwrap().values().filter_map(Value::as_u64).sum();
    assert_eq!(
        all("rx_frames") + all("copied_frames"),
        all("tx_frames") + drops,
        "a switch that says nothing itself: {summary:#}"
    );
}

#[test]
fn a_tcp_transfer_arrives_as_it_was_sent() {
    isolated_beside(&["python3"], || {
        let dir = Dir::new("tcp");
        let (hosts, before, switch) = three_hosts(&dir);
        for address in ["10.0.0.2", "fd00::2"] {
            let receiver = Script::start(&hosts[1], "transfer.py", &format!("{address} 5001"));
            let octets = 4 << 20;
            let args = format!("{address} 5001 {octets}");
            let sent = Script::start(&hosts[0], "transfer.py", &args).end();
            assert_eq!(sent["octets"], octets);
            assert_eq!(receiver.end(), sent, "{address}");
        }
        let shown = switch.show();
        let through = shown["ports"][1]["tx_bytes"].as_u64();
        assert!(through > Some(8 << 20), "{shown:#}");
        balances(&hosts, &before, switch);
    });
}

#[test]
fn the_longest_frame_is_what_the_file_says() {
    isolated_beside(&["ping"], || {
        let dir = Dir::new("jumbo");
        // 9000 bytes of IP, 14 of Ethernet, 4 of FCS; but the ports accept no additional tag.
        let hosts: Vec<_> = (0..2).map(|n| Host::with_mtu(n, 9_001)).collect();
        let device = |n: u8| {
            port(n, "")
                .replace(&format!("iface=s{n}"), &format!("iface=s{n},framesz=16384,blocksz=16384"))
        };
        let file = format!(
            "switch: {{max_frame: 9018}}\nbuffer: {{cell: 4KiB}}\nports:\n{}{}",
            device(0),
            device(1)
        );
        let switch = Switch::start(&dir, "jumbo", &file, &[]);
        hosts[0].address("eth0", "10.0.0.1/24");
        hosts[1].address("eth0", "10.0.0.2/24");
        assert!(hosts[0].ping("10.0.0.2", "-c 5 -M do -s 8972"));
        assert!(!hosts[0].ping("10.0.0.2", "-c 3 -w 2 -M do -s 8973"));
        let (status, summary) = switch.stop();
        assert_eq!(status, Some(0), "{summary:#}");
        assert!(summary["drops"]["oversize"].as_u64() >= Some(3), "{summary:#}");
        // No frame was truncated on the way to the host.
        assert_eq!(
            hosts[1].counted().rx_bytes + 4 * hosts[1].counted().rx_frames,
            summary["ports"][1]["tx_bytes"].as_u64().unwrap()
        );
    });
}
