//! Frames that find no room in the kernel while the switch does not poll: each is counted as
//! missed, and a run in which lossless ones may be among them is not PASS.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::netns::{Host, isolated_beside, must};
use crate::run::{Dir, Switch};

/// Sends `count` frames of `len` bytes of priority 3 by an interface.
fn send(mut python: Command, interface: &str, count: usize, len: usize) {
    let script = format!(
        "import socket\n\
         s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)\n\
         s.bind(('{interface}', 0))\n\
         frame = bytes.fromhex('020000001001020000001000810060018888').ljust({len}, b'\\0')\n\
         for _ in range({count}): s.send(frame)\n"
    );
    must(python.args(["-c", &script]));
}

/// A check of the summary, by its name.
fn check<'a>(summary: &'a Value, name: &str) -> &'a Value {
    let checks = summary["checks"].as_array().unwrap();
    checks.iter().find(|check| check["name"] == name).unwrap()
}

/// Received and missed frames of a port.
fn seen(summary: &Value) -> (u64, u64) {
    let port = &summary["ports"][0];
    let missed = port["nic"]["rx_missed"].as_u64();
    (port["rx_frames"].as_u64().unwrap(), missed.unwrap_or_else(|| panic!("{port:#}")))
}

/// Sends more than the ring holds while the switch is stopped, and returns its final summary.
fn overflow(switch: Switch, count: u64, send: impl FnOnce()) -> (Option<i32>, Value) {
    let (received, missed) = seen(&switch.show());
    assert_eq!((received, missed), (0, 0));
    switch.signal("-STOP");
    send();
    switch.signal("-CONT");
    let all = |s: &Value| seen(s).0 + seen(s).1 >= count;
    switch.wait("every frame seen or missed", all);
    let (status, summary) = switch.stop();
    let (received, missed) = seen(&summary);
    assert_eq!(received + missed, count, "{summary:#}");
    assert!(missed > 0 && received > 0, "{received} received, {missed} missed");
    (status, summary)
}

fn two_ports(first: &str, pfc: &str) -> String {
    format!(
        "defaults: {{rate: 1G{pfc}}}\nbuffer: {{total: 64MiB}}\nports:\n\
         - {{name: p0, device: '{first}'}}\n- {{name: p1, device: 'net_af_packet1,iface=s1'}}\n"
    )
}

/// A run in which lossless frames were missed fails, and names the port.
fn fails(status: Option<i32>, summary: &Value) {
    assert_eq!((status, &summary["verdict"]), (Some(1), &Value::from("fail")));
    let check = check(summary, "lossless");
    assert_eq!(check["verdict"], "fail");
    let detail = check["detail"].as_str().unwrap();
    assert!(detail.contains("lost by the device of p0 before the switch saw them"), "{detail}");
    // Headroom is not the cause: no frame was lost that the switch received.
    assert_eq!(summary["lossless_lost_frames"], 0);
}

const LOSSLESS: &str = ", pfc: {enable: [3]}";

#[test]
fn a_full_ring_of_af_packet_is_counted_to_the_frame_and_fails_the_run() {
    isolated_beside(&["python3"], || {
        let dir = Dir::new("missed");
        let hosts: Vec<_> = (0..2).map(Host::new).collect();
        let device = "net_af_packet0,iface=s0,framecnt=64";
        for (name, pfc) in [("lossless", LOSSLESS), ("lossy", "")] {
            let before = hosts[0].counted().tx_frames;
            let switch = Switch::start(&dir, name, &two_ports(device, pfc), &[]);
            let (status, summary) =
                overflow(switch, 1_000, || send(hosts[0].command("python3"), "eth0", 1_000, 200));
            assert_eq!(hosts[0].counted().tx_frames - before, 1_000);
            // The ring has 64 slots, and no frame was taken from it.
            assert_eq!(seen(&summary).1, 1_000 - 64);
            if pfc.is_empty() {
                assert_eq!(status, Some(0), "{summary:#}");
                assert_eq!(check(&summary, "lossless")["verdict"], "not_judged");
            } else {
                fails(status, &summary);
                // Its polls were later than its headroom allows for, by the time for which it was
                // stopped.
                let detail = check(&summary, "lossless")["detail"].as_str().unwrap();
                assert!(detail.contains("a cause: worker 0 polled"), "{detail}");
                assert_eq!(check(&summary, "headroom")["verdict"], "not_judged");
            }
        }
    });
}

#[test]
fn what_comes_after_the_switch_has_stopped_to_receive_is_not_missed() {
    isolated_beside(&["python3"], || {
        let dir = Dir::new("late");
        let hosts: Vec<_> = (0..2).map(Host::new).collect();
        // The link takes 13.6 s to send 1,200 frames of 1,400 bytes, so the switch drains for as long.
        let file = two_ports("net_af_packet0,iface=s0,framecnt=64", LOSSLESS);
        let file = file.replace("iface=s1'", "iface=s1', rate: 1M");
        let switch = Switch::start(&dir, "late", &file, &["--drain", "50s"]);
        for sent in (60..=1200).step_by(60) {
            send(hosts[0].command("python3"), "eth0", 60, 1_400);
            switch.wait("60 frames more", |s| seen(s) == (sent, 0));
        }
        switch.signal("-TERM");
        let late = |s: &Value| hosts[0].counted().tx_frames.saturating_sub(seen(s).0);
        // The ring has room for 60 frames, and the worker answers after 64 polls: what is still in
        // the ring at the second answer will not be received.
        let start = Instant::now();
        loop {
            send(hosts[0].command("python3"), "eth0", 60, 1_400);
            switch.show();
            if late(&switch.show()) > 0 {
                break;
            }
            assert!(start.elapsed() < Duration::from_secs(60), "it does not stop to receive");
        }
        send(hosts[0].command("python3"), "eth0", 300, 1_400);
        let (status, out) = switch.end();
        let summary: Value = serde_json::from_str(&out).unwrap();
        assert!(late(&summary) >= 300);
        assert_eq!((status, seen(&summary).1), (Some(0), 0), "{summary:#}");
    });
}

#[test]
fn a_full_queue_of_a_tap_is_counted_to_the_frame() {
    isolated_beside(&["python3"], || {
        let dir = Dir::new("tap");
        let _hosts: Vec<_> = (0..2).map(Host::new).collect();
        // The kernel sends nothing by itself.
        std::fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1").unwrap();
        let file = two_ports("net_tap0,iface=missed0", LOSSLESS);
        let switch = Switch::start(&dir, "tap", &file, &[]);
        let (status, summary) =
            overflow(switch, 2_000, || send(Command::new("python3"), "missed0", 2_000, 200));
        fails(status, &summary);
    });
}

#[test]
fn a_full_ring_of_libpcap_is_counted_to_the_frame() {
    isolated_beside(&["python3"], || {
        let dir = Dir::new("pcap");
        let hosts: Vec<_> = (0..2).map(Host::new).collect();
        let switch = Switch::start(&dir, "pcap", &two_ports("net_pcap0,iface=s0", LOSSLESS), &[]);
        let (status, summary) =
            overflow(switch, 9_000, || send(hosts[0].command("python3"), "eth0", 9_000, 1_000));
        fails(status, &summary);
    });
}
