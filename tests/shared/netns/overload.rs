//! Two senders that obey pauses, a receiver behind a slow port, and captures of each link.

use std::time::Duration;

use serde_json::Value;

use super::capture::{Capture, Seen};
use super::script::Script;
use super::{Host, port};
use crate::run::{Dir, Switch};

/// Length of the pauses that the switch sends.
pub const QUANTA: u16 = 32_768;
/// The same in nanoseconds, on the senders' links of 100 Mb/s.
pub const PAUSE_NS: u64 = QUANTA as u64 * 5_120;

/// Results of an overload.
pub struct Overload {
    pub summary: Value,
    /// Links of the two senders, and of the receiver.
    pub captures: [Capture; 3],
    /// Frames of priorities 3 and 0 that each sender sent.
    pub sent: [[u64; 2]; 2],
    /// Number of pauses that each of them obeyed.
    pub obeyed: [u64; 2],
    hosts: Vec<Host>,
}

impl Overload {
    /// Two hosts each send 2000 frames per second of priority 3 and as many of priority 0, 1000
    /// bytes long, to one behind 20 Mb/s, for two seconds and until `enough`.
    pub fn run(dir: &Dir, flow_control: &str, enough: impl Fn(&Value) -> bool) -> Self {
        let hosts: Vec<_> = (0..3).map(Host::new).collect();
        let file = format!(
            "buffer:\n\
             \x20 cell: 1KiB\n\
             \x20 profiles:\n\
             \x20   lossless: {{shared: {{static_th: 192KiB}}, lossless: {{xon_offset: 160KiB}}}}\n\
             \x20   lossy: {{shared: {{static_th: 64KiB}}}}\n\
             defaults:\n\
             \x20 rate: 100M\n\
             \x20 {flow_control}\n\
             \x20 link: {{poll_gap: 50ms, peer_response: 10ms}}\n\
             \x20 queues: {{0: {{weight: 50}}, 3: {{weight: 50}}}}\n\
             bridge: {{statics: [{{mac: '{}', port: p2}}]}}\n\
             ports:\n{}{}{}",
            hosts[2].mac_text(),
            port(0, ""),
            port(1, ""),
            port(2, ", rate: 20M"),
        );
        let switch = Switch::start(dir, "overload", &file, &[]);
        let captures = [("one", 0), ("two", 1), ("slow", 2)]
            .map(|(name, host)| Capture::start(dir, &hosts[host], name));
        let senders = [0, 1].map(|n: usize| {
            let (from, to) = (hosts[n].mac_text(), hosts[2].mac_text());
            Script::start(&hosts[n], "traffic.py", &format!("{from} {to} 1 1000 250 100 3 0"))
        });
        switch.wait("two seconds and enough", |s| {
            s["elapsed_ns"].as_u64() > Some(2_000_000_000) && enough(s)
        });
        let said = senders.map(Script::end);
        let number = |value: &Value| value.as_u64().unwrap();
        let sent = [0, 1].map(|n| ["3", "0"].map(|priority| number(&said[n]["sent"][priority])));
        let obeyed = [0, 1].map(|n| number(&said[n]["obeyed"]));
        // All sent frames were received, and all held frames sent, after which XON is due.
        switch.wait("drained", |s| {
            let came: u64 = (0..2).map(|n| number(&s["ports"][n]["rx_frames"])).sum();
            came == sent.iter().flatten().sum::<u64>() && s["balance"]["held"] == 0
        });
        std::thread::sleep(Duration::from_millis(50));
        let (status, summary) = switch.stop();
        assert_eq!(status, Some(0), "{summary:#}");
        Self { summary, captures, sent, obeyed, hosts }
    }

    /// A counter of the switch for a priority of a port.
    pub fn counter(&self, port: usize, priority: usize, name: &str) -> u64 {
        self.summary["ports"][port]["priorities"][priority][name].as_u64().unwrap()
    }

    /// Asserts that the lossless priority is lossless: every frame that a sender put on its link is
    /// at the receiver, once and in order. The links are the kernel's; a frame that one of them
    /// lost is in no counter of the switch, and shows here as the kernel's.
    pub fn nothing_lost_of_priority_3(&self) {
        assert_eq!(self.summary["lossless_lost_frames"], 0);
        let whole = |frames: &[Seen]| {
            let n = frames.iter().filter(|f| f.mark().is_some_and(|m| m.stream == 3)).count();
            n as u64 == self.sent[0][0] + self.sent[1][0]
        };
        for (n, sent) in self.sent.iter().enumerate() {
            assert_eq!(self.hosts[n].counted().tx_dropped, 0, "the kernel dropped some itself");
            assert_eq!(self.counter(n, 3, "rx_frames"), sent[0], "lost before the switch");
        }
        let frames = self.captures[2].wait("every frame of priority 3", whole);
        for (n, sent) in self.sent.iter().enumerate() {
            let from = frames.iter().filter(|f| f.src() == self.hosts[n].mac);
            let marks = from.filter_map(Seen::mark).filter(|m| m.stream == 3);
            let numbers: Vec<_> = marks.map(|m| u64::from(m.number)).collect();
            assert!(numbers.into_iter().eq(0..sent[0]), "host {n}: lost, doubled or out of order");
        }
    }
}
