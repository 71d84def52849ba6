//! Hosts of the kernel around a switch under test.
//!
//! Each test runs in a separate network namespace, with the switch's ends of the veth pairs, and
//! each host is a namespace with the other end of one pair. The namespaces have no names: a process
//! holds each, and all of them end with the test, however it ends.

#![allow(dead_code)]

#[path = "netns/capture.rs"]
pub mod capture;
#[path = "netns/openvswitch.rs"]
pub mod openvswitch;
#[path = "netns/overload.rs"]
pub mod overload;
#[path = "netns/paced.rs"]
pub mod paced;
#[path = "netns/rack.rs"]
pub mod rack;
#[path = "netns/script.rs"]
pub mod script;

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

use crate::apart::{Turn, alone, beside, is_for, start, test_around};
use crate::run::{GUARD, PROGRAM, run_session_ahead, text};

/// Runs the body of a test in a separate network namespace, while no other test runs. If that is
/// impossible, or one of `tools` is not installed, it reports that and does not run, which in CI
/// (`CI=true`) is a failure.
pub fn isolated<Test: FnOnce()>(tools: &[&str], test: Test) {
    isolated_as(test_around(std::any::type_name::<Test>()), tools, alone, test);
}

/// The same beside other tests: for one that judges what passes, and not when.
pub fn isolated_beside<Test: FnOnce()>(tools: &[&str], test: Test) {
    isolated_as(test_around(std::any::type_name::<Test>()), tools, beside, test);
}

/// The same for a test whose body is in a function that others call, too: `path` is the test's, and
/// `turn` lets it run alone or beside others.
pub fn isolated_as(path: &str, tools: &[&str], turn: fn() -> Turn, test: impl FnOnce()) {
    if is_for(path) {
        // Frames of the kernel wait in short rings: a tester or a device that waits for the CPU as long as other
        // programs do loses them.
        run_session_ahead();
        return test();
    }
    let _turn = turn();
    match able(tools) {
        Ok(command) => start(command, path),
        Err(why) => {
            let ci = std::env::var("CI").is_ok_and(|v| v == "true");
            assert!(!ci, "{why}, and CI needs it");
            crate::run::skipped(why);
        }
    }
}

/// Command that starts a program in a separate network namespace; `as_user` with rights in it
/// alone.
fn unshare(as_user: bool) -> Command {
    let mut command = Command::new("unshare");
    if as_user {
        command.args(["--user", "--map-current-user", "--keep-caps"]);
    }
    // The guard comes last: gaining rights in a namespace would remove it.
    command.args(["--net", "--", "setpriv"]).args(GUARD);
    command
}

/// Command that can start the test, if all requirements are met.
fn able(tools: &[&str]) -> Result<Command, String> {
    let works = |command: &mut Command| {
        let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
        quiet.status().is_ok_and(|status| status.success())
    };
    let links = |as_user: &bool| {
        let mut pair = unshare(*as_user);
        works(pair.args(["ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1"]))
    };
    let as_user = [false, true].into_iter().find(links).ok_or(
        "network namespaces and veth pairs need root (or user namespaces), unshare and iproute2",
    )?;
    for tool in ["nsenter", "ethtool"].iter().chain(tools) {
        let found = match *tool {
            "scapy" | "python3" => script::python(*tool == "scapy").is_some(),
            "ping" | "nsenter" => works(Command::new(tool).arg("-V")),
            "lldpd" | "lldpad" | "ptp4l" => works(Command::new(tool).arg("-v")),
            _ => works(Command::new(tool).arg("--version")),
        };
        if !found {
            return Err(format!("{tool} is not installed (`./dev setup` does it)"));
        }
    }
    Ok(unshare(as_user))
}

/// Runs a command that must succeed.
pub fn must(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", text(&output.stderr));
    output
}

fn ip(args: &str) {
    must(Command::new("ip").args(args.split_whitespace()));
}

/// Makes veth pairs between a tester and a device: `t0`, `t1`, ... at the tester, `d0`, `d1`, ... at the device.
pub fn cables(pairs: usize) {
    for n in 0..pairs {
        ip(&format!("link add t{n} type veth peer name d{n}"));
        for end in [format!("t{n}"), format!("d{n}")] {
            ip(&format!("link set {end} addrgenmode none"));
            let off = "tx off rx off tso off gso off gro off";
            must(Command::new("ethtool").args(["-K", &end]).args(off.split(' ')));
            ip(&format!("link set {end} up"));
        }
    }
}

/// A host, linked to the switch by a veth pair: `eth0` at its end, `s0`, `s1`, ... at the switch's.
/// It has no addresses and is silent until it gets some.
pub struct Host {
    /// MAC address of `eth0`.
    pub mac: [u8; 6],
    /// Number of its link.
    pub number: u8,
    holder: Child,
}

impl Host {
    pub fn new(number: u8) -> Self {
        Self::with_mtu(number, 1_500)
    }

    pub fn with_mtu(number: u8, mtu: u32) -> Self {
        let host = Self::with_offloads(number, mtu);
        // Each frame is a packet with all of its checksums, as on a wire.
        let off = "tx off rx off tso off gso off gro off";
        let device = format!("s{number}");
        must(Command::new("ethtool").args(["-K", &device]).args(off.split(' ')));
        must(host.command("ethtool").args(["-K", "eth0"]).args(off.split(' ')));
        host
    }

    /// A host that leaves to its interface what the kernel leaves to it by default: checksums, and large segments.
    pub fn with_offloads(number: u8, mtu: u32) -> Self {
        // It ends when its input does, which is when the test does.
        let mut holder = unshare(false)
            .args(["sh", "-c", "echo ready; exec cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut ready = String::new();
        BufReader::new(holder.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        assert_eq!(ready, "ready\n", "no network namespace");
        let host = Self { mac: [2, 0, 0, 0, 0x10, number], number, holder };
        let pid = host.holder.id();
        ip(&format!("link add s{number} mtu {mtu} type veth peer name eth0 mtu {mtu} netns {pid}"));
        // An interface without a link-local address sends nothing by itself.
        ip(&format!("link set s{number} addrgenmode none"));
        host.ip("link set eth0 addrgenmode none");
        host.ip(&format!("link set eth0 address {}", host.mac_text()));
        host.ip("link set lo up");
        host.ip("link set eth0 up");
        ip(&format!("link set s{number} up"));
        host
    }

    pub fn mac_text(&self) -> String {
        self.mac.map(|octet| format!("{octet:02x}")).join(":")
    }

    /// A command that runs on this host.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.holder.id().to_string(), "--net", "--", "setpriv"]);
        command.args(GUARD).arg(program);
        command
    }

    /// A command of the program under test, on this host.
    pub fn sluice(&self) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.holder.id().to_string(), "--net", "--"]).args(PROGRAM);
        command
    }

    /// Runs `ip` on this host, with arguments separated by spaces.
    pub fn ip(&self, args: &str) {
        must(self.command("ip").args(args.split_whitespace()));
    }

    /// Makes interfaces `eth0.VID` for tagged frames, which are sent with the priority beside the
    /// VLAN. If the kernel was built without VLANs, a script does it and must be kept.
    pub fn vlans(&self, vlans: &[(u16, u8)]) -> Option<script::Script> {
        let add = |(vid, pcp): &(u16, u8)| {
            let args = format!(
                "link add link eth0 name eth0.{vid} type vlan id {vid} egress-qos-map 0:{pcp}"
            );
            let mut command = self.command("ip");
            let added = command.args(args.split(' ')).stderr(Stdio::null()).status();
            added.is_ok_and(|status| status.success())
        };
        if !vlans.iter().all(add) {
            eprintln!("the kernel has no VLANs: taps take their part");
            let args: Vec<_> = vlans.iter().map(|(vid, pcp)| format!("{vid}:{pcp}")).collect();
            return Some(script::Script::start(self, "vlans.py", &args.join(" ")));
        }
        for (vid, _) in vlans {
            self.ip(&format!("link set eth0.{vid} addrgenmode none"));
            self.ip(&format!("link set eth0.{vid} up"));
        }
        None
    }

    /// Gives `interface` an IP address with its prefix length.
    pub fn address(&self, interface: &str, address: &str) {
        let nodad = if address.contains(':') { " nodad" } else { "" };
        self.ip(&format!("address add {address} dev {interface}{nodad}"));
    }

    /// Runs `ping` with more arguments separated by spaces; true if every answer arrived.
    pub fn ping(&self, to: &str, args: &str) -> bool {
        let mut ping = self.command("ping");
        let output = ping.args(["-n", "-i", "0.05", "-W", "5"]).args(args.split_whitespace());
        let output = output.arg(to).output().unwrap();
        let out = text(&output.stdout);
        eprintln!("ping {args} {to}: {}", out.lines().rev().nth(1).unwrap_or(&out));
        output.status.success() && out.contains(" 0% packet loss")
    }

    /// The kernel's counters of `eth0`.
    pub fn counted(&self) -> Counted {
        let output = must(self.command("ip").args(["-json", "-stats", "link", "show", "eth0"]));
        let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
        let number = |way: &str, what: &str| shown[0]["stats64"][way][what].as_u64().unwrap();
        Counted {
            tx_frames: number("tx", "packets"),
            tx_bytes: number("tx", "bytes"),
            tx_dropped: number("tx", "dropped"),
            rx_frames: number("rx", "packets"),
            rx_bytes: number("rx", "bytes"),
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

/// The kernel's counters at a host's end of its link; bytes without FCS.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counted {
    pub tx_frames: u64,
    pub tx_bytes: u64,
    pub tx_dropped: u64,
    pub rx_frames: u64,
    pub rx_bytes: u64,
}

/// Line of a port in a switch file: port `p0` for host 0, and so on, with more fields.
pub fn port(number: u8, more: &str) -> String {
    format!("- {{name: p{number}, device: 'iface:s{number}'{more}}}\n")
}

/// The same file with ports by DPDK's driver for packet sockets.
pub fn by_dpdk(file: &str) -> String {
    let one = |file: String, n: u8| {
        file.replace(&format!("iface:s{n}'"), &format!("net_af_packet{n},iface=s{n}'"))
    };
    (0..10).fold(file.to_owned(), one)
}
