//! Hosts of every kind around a switch that is a proxy of Source Flow Control, and captures of
//! their links for tshark.

use std::process::Command;

use serde_json::Value;

use super::capture::{Capture, Seen};
use super::script::Script;
use super::{Host, must, port};
use crate::run::{Dir, Switch, text};

/// Length of a quantum on the hosts' links of 100 Mb/s, in nanoseconds (802.3 31B.2).
pub const QUANTUM_NS: u64 = 5_120;
/// Another switch's side.
pub const FABRIC: usize = 0;
/// A host that supports PFC alone.
pub const PLAIN: usize = 1;
/// One that obeys messages.
pub const OBEYING: usize = 2;
/// One that tries to pause others.
pub const LYING: usize = 3;
/// Address of the sender of messages.
pub const SENDER: &str = "10.0.9.9";

/// Four hosts around a switch with a proxy, and captures of their links.
pub struct Rack {
    pub switch: Switch,
    pub hosts: Vec<Host>,
    pub captures: Vec<Capture>,
    pub fabric: Script,
}

impl Rack {
    pub fn start(dir: &Dir, policy: &str) -> Self {
        let hosts: Vec<_> = (0..4).map(Host::new).collect();
        let statics = |n: usize| format!("{{mac: '{}', port: p{n}}}", hosts[n].mac_text());
        let file = format!(
            "sfc_proxy:\n\
             \x20 accept: {{switches: [10.0.0.0/8, 'fd00::/16'], hosts: nobody}}\n\
             \x20 policy: {{{policy}}}\n\
             defaults:\n\
             \x20 rate: 100M\n\
             \x20 pfc: {{enable: [3, 4]}}\n\
             \x20 link: {{poll_gap: 50ms, peer_response: 10ms}}\n\
             buffer: {{cell: 2KiB}}\n\
             bridge: {{statics: [{}, {}, {}, {}]}}\n\
             ports:\n{}{}{}{}",
            statics(FABRIC),
            statics(PLAIN),
            statics(OBEYING),
            statics(LYING),
            port(0, ", attached: switch"),
            port(1, ", attached: host"),
            port(2, ", attached: sfc_host"),
            port(3, ", attached: host"),
        );
        let switch = Switch::start(dir, "rack", &file, &[]);
        let captures = ["fabric", "plain", "obeying", "lying"];
        let start = |(host, name)| Capture::start(dir, host, name);
        let captures = hosts.iter().zip(captures).map(start).collect();
        let fabric = Self::script(&hosts[FABRIC]);
        Self { switch, hosts, captures, fabric }
    }

    /// Script that sends messages from a host.
    pub fn script(host: &Host) -> Script {
        Script::start(host, "sfcm.py", &format!("{} {SENDER}", host.mac_text()))
    }

    /// Sends a message to a host from the fabric.
    pub fn send(&mut self, to: usize, fields: &str) {
        let said = message(&self.hosts, to, fields);
        self.fabric.tell(&said);
    }

    /// Waits until a counter of the switch is `n`.
    pub fn counted(&self, name: &str, n: u64) {
        let of = |s: &Value| s["congestion"]["switch"][name].as_u64().expect("a counter");
        self.switch.wait(&format!("{name} at {n}"), |s| of(s) >= n);
        assert_eq!(of(&self.switch.show()), n, "{name}");
    }

    /// A counter of the proxy at the port to a host.
    pub fn at(&self, host: usize, name: &str) -> u64 {
        let shown = self.switch.show();
        shown["congestion"]["ports"][format!("p{host}")][name].as_u64().expect("a counter")
    }

    /// Waits until a host received `n` pauses.
    pub fn paused(&self, host: usize, n: usize) {
        let wanted = |seen: &[Seen]| seen.iter().filter(|f| f.is_mac_control()).count() >= n;
        self.captures[host].wait("pauses", wanted);
    }

    /// Pauses that a host received, once there are `n`, with the fields of [`PAUSE`].
    pub fn pauses(&self, host: usize, n: usize) -> Vec<Vec<String>> {
        self.paused(host, n);
        tshark(&self.captures[host], "macc", PAUSE)
    }

    /// Ends the test: no frame was lost, and no other host received a pause.
    pub fn end(self) -> Value {
        for (n, capture) in self.captures.iter().enumerate() {
            let faults = "_ws.malformed || (macc && _ws.expert.severity >= 0x400000)";
            let faults = tshark(capture, faults, "frame.number _ws.expert.message");
            // Forged messages are malformed at their sender.
            assert!(n == FABRIC || n == LYING || faults.is_empty(), "{faults:?}");
            if n != PLAIN {
                assert_eq!(tshark(capture, "macc", "frame.number"), [[""; 0]; 0], "host {n}");
            }
        }
        let (status, summary) = self.switch.stop();
        assert_eq!(status, Some(0), "{summary:#}");
        summary
    }
}

/// Command for a script to send a message to a host.
fn message(hosts: &[Host], to: usize, fields: &str) -> String {
    format!("message {} 10.0.0.{to} {fields}", hosts[to].mac_text())
}

/// Fields that tshark with the project's dissector reads in the frames of a capture that match
/// `filter`.
pub fn tshark(capture: &Capture, filter: &str, fields: &str) -> Vec<Vec<String>> {
    let script = concat!("lua_script:", env!("CARGO_MANIFEST_DIR"), "/tools/sluice.lua");
    let mut command = Command::new("tshark");
    command.args(["-n", "-X", script, "-o", "udp.check_checksum:TRUE", "-r"]).arg(&capture.path);
    command.args(["-Y", filter, "-T", "fields", "-E", "separator=;"]);
    command.args(fields.split_whitespace().flat_map(|field| ["-e", field]));
    let lines = text(&must(&mut command).stdout);
    lines.lines().map(|line| line.split(';').map(str::to_owned).collect()).collect()
}

/// Fields of a pause that are compared: destination, length, opcode, the priorities that it names,
/// and the times of priorities 3 and 4.
pub const PAUSE: &str = "eth.dst frame.len macc.opcode macc.cbfc.enbv macc.cbfc.pause_time.c3 \
    macc.cbfc.pause_time.c4";

/// Values of these fields for a pause of `priority` for `quanta`.
pub fn pause(priority: usize, quanta: u64) -> Vec<String> {
    let time = |p| if p == priority { quanta } else { 0 };
    let enabled = format!("0x{:04x}", 1 << priority);
    let head = ["01:80:c2:00:00:01", "60", "0x0101", &enabled].map(str::to_owned);
    head.into_iter().chain([3, 4].map(|p| time(p).to_string())).collect()
}
