//! Interfaces of the kernel that go down, come back, vanish and are made again while a switch runs on
//! them, what the peer sees of a link that is taken down, and what is left behind at the end.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::netns::{Host, by_dpdk, isolated_beside, must, port};
use crate::run::{self, Dir, Switch, has_not_failed, text};

/// Two hosts on a lossless switch.
fn two_hosts() -> (Vec<Host>, String) {
    let hosts: Vec<_> = (0..2).map(Host::new).collect();
    let ports: String = (0..2).map(|n| port(n, "")).collect();
    (hosts, format!("defaults: {{rate: 1G, pfc: {{enable: [3]}}}}\nports:\n{ports}"))
}

fn ip(args: &str) {
    must(Command::new("ip").args(args.split_whitespace()));
}

/// Sends frames of priority 3 from host 0 to host 1.
fn send(host: &Host, count: usize) {
    let script = format!(
        "import socket\n\
         s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)\n\
         s.bind(('eth0', 0))\n\
         frame = bytes.fromhex('020000001001020000001000810060018888').ljust(200, b'\\0')\n\
         for _ in range({count}): s.send(frame)\n"
    );
    must(host.command("python3").args(["-c", &script]));
}

fn up(summary: &Value, n: usize) -> bool {
    summary["ports"][n]["up"].as_bool().unwrap()
}

fn sent(summary: &Value) -> u64 {
    summary["ports"][1]["tx_frames"].as_u64().unwrap()
}

/// Sends frames from host 0 until all of one go arrive at host 1.
fn passes(switch: &Switch, hosts: &[Host]) {
    let before = hosts[1].counted().rx_frames;
    send(&hosts[0], 50);
    let start = Instant::now();
    while hosts[1].counted().rx_frames < before + 50 {
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "{:#}\n{}",
            switch.show()["ports"][1],
            switch.stderr()
        );
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_link_follows_the_kernel_and_what_is_dropped_is_not_sent() {
    isolated_beside(&["python3"], || {
        let dir = Dir::new("links");
        let (hosts, file) = two_hosts();
        let switch = Switch::start(&dir, "links", &file, &[]);
        passes(&switch, &hosts);
        // The host's end down is a carrier lost here; the switch's end down is so, too.
        type Act<'a> = &'a dyn Fn();
        let ends: [(Act<'_>, Act<'_>); 2] = [
            (&|| hosts[1].ip("link set eth0 down"), &|| hosts[1].ip("link set eth0 up")),
            (&|| ip("link set s1 down"), &|| ip("link set s1 up")),
        ];
        for (down, set_up) in ends {
            down();
            let before = sent(&switch.wait("down", |s| !up(s, 1) && up(s, 0)));
            send(&hosts[0], 100);
            let dropped = |s: &Value| s["ports"][0]["drops"]["no_egress"].as_u64() >= Some(100);
            let now = switch.wait("dropped by name", dropped);
            assert_eq!(sent(&now), before, "nothing was sent");
            set_up();
            switch.wait("up again", |s| up(s, 1));
            switch.obey(&["clear"]);
            passes(&switch, &hosts);
        }
        let (status, summary) = switch.stop();
        assert_eq!((status, &summary["verdict"]), (Some(0), &Value::from("pass")), "{summary:#}");
    });
}

/// An interface that its operator, or the protocol that opens its port, has made dormant.
#[test]
fn an_interface_with_a_carrier_that_is_not_operational_is_down() {
    isolated_beside(&["python3"], || {
        let dir = Dir::new("dormant");
        let (hosts, file) = two_hosts();
        let switch = Switch::start(&dir, "dormant", &file, &[]);
        passes(&switch, &hosts);
        ip("link set s1 state dormant");
        let before = sent(&switch.wait("down", |s| !up(s, 1) && up(s, 0)));
        send(&hosts[0], 100);
        let dropped = |s: &Value| s["ports"][0]["drops"]["no_egress"].as_u64() >= Some(100);
        assert_eq!(sent(&switch.wait("dropped by name", dropped)), before, "nothing was sent");
        ip("link set s1 state up");
        switch.wait("up again", |s| up(s, 1));
        switch.obey(&["clear"]);
        passes(&switch, &hosts);
        assert!(has_not_failed(switch.stop().0));
    });
}

#[test]
fn an_interface_that_vanishes_is_taken_up_again_when_it_is_made_anew() {
    isolated_beside(&["python3"], || {
        let dir = Dir::new("vanish");
        let (mut hosts, file) = two_hosts();
        let switch = Switch::start(&dir, "vanish", &file, &[]);
        passes(&switch, &hosts);
        for _ in 0..3 {
            ip("link delete s1");
            let before = sent(&switch.wait("down", |s| !up(s, 1)));
            send(&hosts[0], 100);
            let now = switch
                .wait("received", |s| s["ports"][0]["drops"]["no_egress"].as_u64() >= Some(100));
            assert_eq!(sent(&now), before, "nothing was sent");
            hosts[1] = Host::new(1);
            switch.wait("up again", |s| up(s, 1));
            switch.obey(&["clear"]);
            passes(&switch, &hosts);
        }
        assert!(switch.stderr().contains("p1: its network interface is gone"));
        let (status, summary) = switch.stop();
        assert_eq!(status, Some(0), "{summary:#}");
        assert_eq!(summary["ports"][1]["nic"]["rx_missed"], 0);
    });
}

#[test]
fn a_link_taken_down_by_request_takes_the_carrier_of_its_peer_along() {
    isolated_beside(&["python3"], || {
        let dir = Dir::new("request");
        let (hosts, file) = two_hosts();
        let switch = Switch::start(&dir, "request", &file, &[]);
        let carrier = |wanted: bool| {
            let start = Instant::now();
            loop {
                let shown = must(hosts[1].command("ip").args(["link", "show", "eth0"]));
                if text(&shown.stdout).contains("NO-CARRIER") != wanted {
                    return;
                }
                assert!(start.elapsed() < Duration::from_secs(20), "carrier is never {wanted}");
                thread::sleep(Duration::from_millis(10));
            }
        };
        carrier(true);
        switch.obey(&["link", "p1", "down"]);
        carrier(false);
        assert!(!up(&switch.show(), 1));
        switch.obey(&["link", "p1", "up"]);
        carrier(true);
        switch.wait("up again", |s| up(s, 1));
        passes(&switch, &hosts);
        // At the end it is as it was found.
        switch.obey(&["link", "p1", "down"]);
        carrier(false);
        assert_eq!(switch.stop().0, Some(0));
        carrier(true);
    });
}

#[test]
fn two_switches_on_one_interface_are_refused_by_the_name_of_the_first() {
    isolated_beside(&[], || {
        let dir = Dir::new("taken");
        let (_hosts, file) = two_hosts();
        let first = Switch::start(&dir, "taken", &file, &[]);
        let (status, why) = run::run(&dir, &format!("switch: {{name: second}}\n{file}"), &[]);
        assert_eq!(status, Some(3), "{why}");
        assert!(why.contains("in use by process") && why.contains("(sluice)"), "{why}");
        assert!(has_not_failed(first.stop().0));
        let (status, why) = run::run(&dir, &format!("switch: {{name: second}}\n{file}"), &[]);
        assert!(has_not_failed(status), "{why}");
    });
}

/// Number of holders of an interface's promiscuous mode.
fn promiscuity(interface: &str) -> u64 {
    let shown = must(Command::new("ip").args(["-json", "-details", "link", "show", interface]));
    let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
    shown[0]["promiscuity"].as_u64().unwrap()
}

#[test]
fn promiscuous_mode_ends_with_the_switch_however_it_ends() {
    isolated_beside(&[], || {
        let dir = Dir::new("promiscuous");
        let (_hosts, file) = two_hosts();
        assert_eq!(promiscuity("s0"), 0);
        for signal in ["-INT", "-HUP", "-QUIT", "-TERM", "-KILL"] {
            let switch = Switch::start(&dir, "promiscuous", &file, &[]);
            assert_eq!(promiscuity("s0"), 1);
            switch.signal(signal);
            let (status, out) = switch.end();
            assert_eq!(promiscuity("s0"), 0, "after {signal}");
            if signal != "-KILL" {
                // It drained and printed its summary.
                assert!(has_not_failed(status), "{signal}: {status:?}");
                assert!(out.contains("\"verdict\": "), "{signal}: {out}");
            }
        }
    });
}

#[test]
fn a_switch_says_that_it_runs_and_what_its_ports_need() {
    isolated_beside(&[], || {
        let dir = Dir::new("start");
        let (_hosts, file) = two_hosts();
        // The peer of the third port is here, that of the fourth in a namespace without a name.
        ip("link add here0 type veth peer name here1");
        let hidden = Host::new(3);
        must(hidden.command("ethtool").args(["-K", "eth0", "tx", "on"]));
        let file = by_dpdk(&format!("{file}{}{}", port(2, ""), port(3, "")))
            .replace("iface=s2", "iface=here0");
        let switch = Switch::start(&dir, "start", &file, &[]);
        let said = switch.stderr();
        for part in [
            "sluice: running, 4 ports, 1 worker; Ctrl-C stops it",
            &format!("control socket: {}", switch.socket().display()),
            "p2: here1, the other end of here0, leaves TCP and UDP checksums undone",
            "ethtool -K here1 tx off",
            "p3: the other end of s3 is in a network namespace that cannot be seen",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
        assert!(has_not_failed(switch.stop().0));
        must(Command::new("ethtool").args(["-K", "here1", "tx", "off"]));
        let switch = Switch::start(&dir, "start", &file, &[]);
        assert!(!switch.stderr().contains("p2:"), "{}", switch.stderr());
        assert!(has_not_failed(switch.stop().0));
    });
}

/// A process whose number is known before it becomes `sluice switch`: another process takes its packet
/// fanout group on another interface meanwhile.
#[test]
fn a_fanout_group_of_another_process_keeps_no_port_from_opening() {
    isolated_beside(&["python3"], || {
        let dir = Dir::new("fanout");
        let (_hosts, file) = two_hosts();
        let path = dir.write("switch.yaml", &by_dpdk(&file));
        ip("link set lo up");
        let mut switch = Command::new("sh")
            .args(["-c", "echo $$; read go; exec \"$@\"", "sh"])
            .args(run::PROGRAM)
            .arg("switch")
            .arg(path)
            .args(["--no-huge", "--duration", "0.1s", "--control", "none", "--quiet"])
            .arg("--ignore-late-polls")
            .env("XDG_RUNTIME_DIR", &dir.0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(switch.stdout.take().unwrap());
        let mut pid = String::new();
        said.read_line(&mut pid).unwrap();
        let pid: u32 = pid.trim().parse().unwrap();
        let shown = must(Command::new("ip").args(["-json", "link", "show", "s0"]));
        let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
        let group = (pid ^ shown[0]["ifindex"].as_u64().unwrap() as u32) & 0xffff;
        let script = format!(
            "import socket, struct, sys\n\
             s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))\n\
             s.bind(('lo', 3))\n\
             s.setsockopt(263, 18, struct.pack('I', {group}))\n\
             print('taken', flush=True)\n\
             sys.stdin.read()\n"
        );
        let mut other = Command::new("python3")
            .args(["-c", &script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut taken = String::new();
        BufReader::new(other.stdout.take().unwrap()).read_line(&mut taken).unwrap();
        assert_eq!(taken, "taken\n");
        writeln!(switch.stdin.take().unwrap(), "go").unwrap();
        let mut summary = String::new();
        said.read_to_string(&mut summary).unwrap();
        let ended = switch.wait_with_output().unwrap();
        drop(other.stdin.take());
        other.wait().unwrap();
        assert!(has_not_failed(ended.status.code()), "{summary}{}", text(&ended.stderr));
    });
}
