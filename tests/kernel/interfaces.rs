//! Ports on interfaces of the kernel with all that hosts leave to their hardware: large segments and unfinished
//! checksums. The kernel's own segmentation is the judge of ours, and tshark of what leaves.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;
use sluice::kernel::{Cut, Offload, SegmentKind, Segments, Unfinished};

use crate::netns::{Host, isolated, isolated_beside, must, port, script::Script};
use crate::run::{Dir, Switch, text};

/// Two hosts with addresses 10.0.0.N and fd00::N, whose interfaces do all that they can.
fn two_hosts(mtu: u32) -> Vec<Host> {
    let hosts: Vec<_> = (0..2).map(|n| Host::with_offloads(n, mtu)).collect();
    for host in &hosts {
        host.address("eth0", &format!("10.0.0.{}/24", host.number + 1));
        host.address("eth0", &format!("fd00::{}/64", host.number + 1));
    }
    hosts
}

/// A switch with the ports of two hosts, and more fields of each.
fn switch(dir: &Dir, name: &str, more: &str) -> Switch {
    switch_of(dir, name, more, "wait")
}

/// The same, whose idle workers do this.
fn switch_of(dir: &Dir, name: &str, more: &str, idle: &str) -> Switch {
    let file = format!("ports:\n{}{}", port(0, more), port(1, more));
    Switch::start(dir, name, &file, &["--idle", idle])
}

/// Sends octets over TCP from host 0 to host 1; both ends must have the same.
fn transfers(hosts: &[Host], address: &str, octets: u64) {
    let receiver = Script::start(&hosts[1], "transfer.py", &format!("{address} 5001"));
    let args = format!("{address} 5001 {octets}");
    let sent = Script::start(&hosts[0], "transfer.py", &args).end();
    assert_eq!(sent["octets"], octets);
    assert_eq!(receiver.end(), sent, "{address}");
}

/// Records what arrives at a host in whole frames while `act` runs; returns the file.
fn recorded(dir: &Dir, host: &Host, name: &str, act: impl FnOnce()) -> String {
    let path = dir.path(&format!("{name}.pcap"));
    let mut tcpdump = host
        .command("tcpdump")
        .args(["-i", "eth0", "-n", "-U", "-Z", "root", "-B", "65536", "-Q", "in", "-s", "0", "-w"])
        .arg(&path)
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = std::io::BufReader::new(tcpdump.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("listening on") {
        line.clear();
        assert!(std::io::BufRead::read_line(&mut said, &mut line).unwrap() > 0, "tcpdump ended");
    }
    act();
    // What was captured is written at once; the kernel may be some milliseconds behind.
    std::thread::sleep(Duration::from_millis(300));
    must(Command::new("kill").args(["-INT", &tcpdump.id().to_string()]));
    tcpdump.wait().unwrap();
    path.display().to_string()
}

/// Lines of tshark about a file, with every checksum checked.
fn tshark(path: &str, args: &[&str]) -> Vec<String> {
    let checks = ["ip.check_checksum:TRUE", "udp.check_checksum:TRUE", "tcp.check_checksum:TRUE"];
    let mut tshark = Command::new("tshark");
    tshark.args(["-n", "-r", path]).args(checks.iter().flat_map(|check| ["-o", check]));
    let output = must(tshark.args(args));
    text(&output.stdout).lines().map(str::to_owned).collect()
}

const WRONG: &str = "_ws.malformed || ip.checksum.status == 0 || udp.checksum.status == 0 || tcp.checksum.status == 0 \
                     || icmpv6.checksum.status == 0";

/// TCP both ways through the switch without a step with ethtool; each frame is one of a wire, and right.
#[test]
fn tcp_passes_with_all_offloads_and_each_frame_is_one_of_a_wire() {
    isolated_beside(&["python3", "tcpdump", "tshark"], || {
        let dir = Dir::new("offloads");
        let hosts = two_hosts(1_500);
        let switch = switch(&dir, "offloads", ", offload: false");
        let path = recorded(&dir, &hosts[1], "wire", || {
            transfers(&hosts, "10.0.0.2", 3 << 20);
            transfers(&hosts, "fd00::2", 3 << 20);
        });
        let fields = ["-T", "fields", "-e", "frame.len", "-e", "tcp.len"];
        let frames = tshark(&path, &[&["-Y", "tcp.len > 0"], &fields[..]].concat());
        let number = |field: &str| field.parse::<u64>().unwrap();
        let lens: Vec<_> = frames.iter().filter_map(|line| line.split_once('\t')).collect();
        assert!(lens.iter().all(|(frame, _)| number(frame) <= 1_514), "a frame of a wire");
        let octets: u64 = lens.iter().map(|(_, payload)| number(payload)).sum();
        // Some are sent again, and a capture may miss some.
        assert!(octets > 5 << 20, "{octets} of 6 MiB in {} frames", lens.len());
        assert_eq!(tshark(&path, &["-Y", WRONG]), [""; 0]);
        let (status, summary) = switch.stop();
        assert_eq!(status, Some(0), "{summary:#}");
        // The frames are those of a wire in the switch's counters, too.
        let received = summary["ports"][0]["rx_frames"].as_u64().unwrap();
        assert!(received >= frames.len() as u64, "{summary:#}");
        let of_errors = &summary["ports"][0]["nic"]["rx_errors"];
        assert_eq!(of_errors, 0, "{summary:#}");
    });
}

/// Frames of a flow that leave together are one packet again, and both ends have the same octets.
#[test]
fn frames_of_a_flow_leave_as_one_packet() {
    isolated_beside(&["python3", "tcpdump", "tshark"], || {
        let dir = Dir::new("merged");
        let hosts = two_hosts(1_500);
        let switch = switch(&dir, "merged", "");
        let path = recorded(&dir, &hosts[1], "merged", || transfers(&hosts, "10.0.0.2", 8 << 20));
        let large = tshark(&path, &["-Y", "frame.len > 1514", "-T", "fields", "-e", "frame.len"]);
        assert!(
            large.len() > 20,
            "{} of {:?}",
            large.len(),
            tshark(&path, &["-Y", "tcp.len > 0"]).len()
        );
        transfers(&hosts, "fd00::2", 8 << 20);
        assert_eq!(switch.stop().0, Some(0));
    });
}

/// Octets of a packet of TCP or UDP with the sum of its pseudo header, and its offload header.
fn packet(tag: bool, is_ipv6: bool, is_udp: bool, payload: usize, size: u16) -> (Vec<u8>, Offload) {
    let mut packet = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    if tag {
        packet.extend([0x81, 0, 0x60, 5]);
    }
    let (protocol, header) = if is_udp { (17, 8) } else { (6, 32) };
    let len = header + payload;
    let mut sum = protocol + len as u32;
    if is_ipv6 {
        packet.extend([0x86, 0xdd, 0x62, 0, 0, 0, (len >> 8) as u8, len as u8, protocol as u8, 64]);
        let addresses = [
            [0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
            [0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2],
        ];
        packet.extend(addresses.concat());
        sum += 2 * 0xfd00 + 3;
    } else {
        let total = len + 20;
        packet.extend([
            8,
            0,
            0x45,
            2,
            (total >> 8) as u8,
            total as u8,
            0xff,
            0xfe,
            0x40,
            0,
            64,
            protocol as u8,
        ]);
        // The sum of 4502, the total, fffe, 4000, 40xx and the addresses.
        let words = [0x4502, total as u32, 0xfffe, 0x4000, 0x4000 + protocol, 0x0a00, 1, 0x0a00, 2];
        packet.extend((!fold(words.iter().sum()) as u16).to_be_bytes());
        packet.extend([10, 0, 0, 1, 10, 0, 0, 2]);
        sum += 0x0a00 * 2 + 3;
    }
    let l4 = packet.len();
    packet.extend([0x1f, 0x90, 0xd4, 0x31]);
    if is_udp {
        packet.extend([(len >> 8) as u8, len as u8]);
        packet.extend((fold(sum) as u16).to_be_bytes());
    } else {
        // The numbers wrap within the packet; CWR, ACK, PSH and FIN; the option of timestamps.
        packet.extend([0xff, 0xff, 0xfe, 0, 0, 0, 0, 7, 0x80, 0x99, 1, 0]);
        packet.extend((fold(sum) as u16).to_be_bytes());
        packet.extend([0, 0, 1, 1, 8, 10, 0, 0, 0, 9, 0, 0, 0, 8]);
    }
    packet.extend((0..payload).map(|n| (n * 7 + n / 251) as u8));
    let kind = match (is_udp, is_ipv6) {
        (true, _) => SegmentKind::Udp,
        (false, false) => SegmentKind::TcpIpv4,
        (false, true) => SegmentKind::TcpIpv6,
    };
    let offset = if is_udp { 6 } else { 16 };
    let offload = Offload {
        unfinished: Some(Unfinished { start: l4 as u16, offset }),
        is_verified: false,
        segments: Some(Segments { kind, size }).filter(|_| size > 0),
        header_len: (l4 + header) as u16,
    };
    (packet, offload)
}

fn fold(sum: u32) -> u32 {
    let sum = (sum & 0xffff) + (sum >> 16);
    (sum & 0xffff) + (sum >> 16)
}

/// Each frame is octet for octet the one that the kernel makes of the same packet where the interface can do nothing.
#[test]
fn the_kernel_cuts_packets_into_the_same_frames() {
    isolated_beside(&["python3"], || {
        // Without offloads: the kernel has to cut.
        let host = Host::new(0);
        let end = Host::new(1);
        must(Command::new("ip").args(["link", "set", "s0", "master"]).arg(bridge()));
        must(Command::new("ip").args(["link", "set", "s1", "master", "bridge"]));
        let mut packets = Vec::new();
        for (tag, is_ipv6, is_udp) in (0..8).map(|n| (n & 1 != 0, n & 2 != 0, n & 4 != 0)) {
            for (payload, size) in
                [(3_000, 1_400), (2_800, 1_400), (1_401, 1_400), (40, 7), (300, 0)]
            {
                packets.push(packet(tag, is_ipv6, is_udp, payload, size));
            }
        }
        let expected: Vec<_> =
            packets.iter().flat_map(|(packet, offload)| cut(packet, offload)).collect();
        let teller = Script::start(&end, "segments.py", "tell eth0");
        let mut sender = Script::start(&host, "segments.py", "send eth0");
        for (packet, offload) in &packets {
            sender.tell_only(&hex(&[&offload.emit()[..], packet].concat()));
        }
        assert_eq!(sender.end(), 0);
        let frames: Vec<String> = serde_json::from_value(teller.end()).unwrap();
        // What the kernel says by itself is not from this address.
        let ours: Vec<_> =
            frames.into_iter().filter(|frame| frame[12..].starts_with("020000000001")).collect();
        assert_eq!(ours.len(), expected.len());
        for (n, (got, expected)) in ours.iter().zip(&expected).enumerate() {
            assert_eq!(got, expected, "frame {n}");
        }
    });
}

/// Makes a bridge and returns its name.
fn bridge() -> &'static str {
    must(Command::new("ip").args(["link", "add", "bridge", "type", "bridge"]));
    must(Command::new("ip").args(["link", "set", "bridge", "up"]));
    "bridge"
}

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

/// Our frames of a packet.
fn cut(packet: &[u8], offload: &Offload) -> Vec<String> {
    let mut cut = Cut::new(packet, offload).unwrap();
    let mut frames = Vec::new();
    while let Some(len) = cut.next_len() {
        let mut frame = vec![0; len];
        cut.write(packet, &mut frame);
        frames.push(hex(&frame));
    }
    frames
}

#[test]
fn a_full_ring_is_counted_to_the_packet() {
    isolated_beside(&["python3"], || {
        let dir = Dir::new("full");
        let hosts: Vec<_> = (0..2).map(Host::new).collect();
        let switch = switch(&dir, "full", ", rx_descriptors: 32");
        switch.signal("-STOP");
        let script = "import socket\n\
                      s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)\n\
                      s.bind(('eth0', 0))\n\
                      frame = bytes.fromhex('0200000010010200000010008888').ljust(200, b'\\0')\n\
                      for _ in range(1000): s.send(frame)\n";
        must(hosts[0].command("python3").args(["-c", script]));
        switch.signal("-CONT");
        let seen = |s: &Value| {
            let port = &s["ports"][0];
            (port["rx_frames"].as_u64().unwrap(), port["nic"]["rx_missed"].as_u64().unwrap())
        };
        let shown = switch.wait("every frame seen or missed", |s| seen(s).0 + seen(s).1 == 1_000);
        // 32 are asked for, and blocks of a MiB have 15 each.
        assert_eq!(seen(&shown), (45, 955));
        drop(switch.stop());
    });
}

#[test]
fn segments_for_a_larger_mtu_than_the_switch_has_are_told_and_counted() {
    isolated_beside(&["python3"], || {
        let dir = Dir::new("mtu");
        let hosts = two_hosts(9_000);
        let small = switch(&dir, "small", "");
        let warned = || small.stderr().contains("write `switch: {max_frame: 9026}`");
        assert!(warned(), "{}", small.stderr());
        let ping = hosts[0].ping("10.0.0.2", "-c 2 -w 1 -s 4000");
        assert!(!ping);
        let errors = |s: &Value| s["ports"][0]["nic"]["rx_errors"].as_u64() > Some(0);
        small.wait("counted", errors);
        let (_, summary) = small.stop();
        assert!(errors(&summary));
        // They may have been lossless frames: such a run fails, also without a frame that the switch itself lost.
        let lossless = switch_of(&dir, "lossless", ", pfc: {enable: [3]}", "yield");
        assert!(!hosts[0].ping("10.0.0.2", "-c 2 -w 1 -s 4000"));
        lossless.wait("counted", errors);
        let (status, summary) = lossless.stop();
        assert_eq!((status, &summary["verdict"]), (Some(1), &Value::from("fail")), "{summary:#}");
        let file = format!("switch: {{max_frame: 9026}}\nports:\n{}{}", port(0, ""), port(1, ""));
        let large = Switch::start(&dir, "large", &file, &[]);
        assert!(hosts[0].ping("10.0.0.2", "-c 2 -s 8972"));
        transfers(&hosts, "10.0.0.2", 8 << 20);
        assert_eq!(large.stop().0, Some(0));
    });
}

/// CPU time of a process in clock ticks, of which a second has 100.
fn cpu_ticks(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<_> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

#[test]
fn an_idle_switch_waits_in_the_kernel_and_is_there_at_once() {
    isolated(&["ping"], || {
        let dir = Dir::new("idle");
        let hosts = two_hosts(1_500);
        let switch = switch(&dir, "idle", "");
        assert!(hosts[0].ping("10.0.0.2", "-c 3"));
        // Time in which it may do what it likes, as the hosts' own chatter ends.
        let mut shares = Vec::new();
        for _ in 0..3 {
            let (start, before) = (Instant::now(), cpu_ticks(switch.pid()));
            std::thread::sleep(Duration::from_secs(3));
            let used = (cpu_ticks(switch.pid()) - before) as f64 / 100.0;
            shares.push(used / start.elapsed().as_secs_f64());
        }
        // The threads of a program that spins use all of a CPU; those of this one, its log and its control included, 1 %.
        assert!(shares.iter().any(|share| *share < 0.03), "{shares:?}");
        assert!(hosts[0].ping("10.0.0.2", "-c 3"));
        assert_eq!(switch.stop().0, Some(0));
    });
}

#[test]
fn a_switch_of_named_ports_needs_no_file() {
    isolated_beside(&["ping"], || {
        let dir = Dir::new("named");
        let hosts = two_hosts(9_000);
        let socket = dir.path("named.sock");
        let mut command = crate::run::command(&dir.0, "switch");
        command.args([
            "--port",
            "s0",
            "--port",
            "s1",
            "--duration",
            "4s",
            "--format",
            "json",
            "--control",
        ]);
        let child = command.arg(&socket).stdout(std::process::Stdio::piped()).spawn().unwrap();
        let start = Instant::now();
        while !socket.exists() {
            assert!(start.elapsed() < Duration::from_secs(20), "no switch");
            std::thread::sleep(Duration::from_millis(20));
        }
        // The longest frame is that of the interfaces.
        assert!(hosts[0].ping("10.0.0.2", "-c 3 -s 8972"));
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(summary["ports"][1]["name"], "s1", "{summary:#}");
    });
}
