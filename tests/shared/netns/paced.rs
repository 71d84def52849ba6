//! Two streams through a switch to a host that pauses them, and a capture of its link.

use std::thread;
use std::time::Duration;

use super::capture::{Capture, Seen};
use super::script::Script;
use super::{Host, port};
use crate::run::{Dir, Switch};

/// Rate of the links: a quantum is 5.12 us.
const RATE_BPS: u64 = 100_000_000;

/// Length of a pause of `quanta` (802.3 31B.2: 512 bit times each), in nanoseconds.
pub fn pause_ns(quanta: u64) -> u64 {
    quanta * 512 * 1_000_000_000 / RATE_BPS
}

/// Host 0 sends frames of priorities 3 and 0 to host 1, 1000 per second of each; host 1 can send
/// pauses, and its link is captured.
pub struct Paced {
    pub switch: Switch,
    pub pauses: Script,
    pub capture: Capture,
    sender: Script,
    hosts: [Host; 2],
}

impl Paced {
    /// `defaults` are fields of both ports, `more` ones of the port of host 1 alone.
    pub fn start(dir: &Dir, defaults: &str, more: &str) -> Self {
        let hosts = [Host::new(0), Host::new(1)];
        let file = format!(
            "defaults:\n\
             \x20 rate: 100M\n\
             \x20 {defaults}\n\
             \x20 link: {{poll_gap: 50ms, peer_response: 10ms}}\n\
             \x20 queues: {{0: {{weight: 50}}, 3: {{weight: 50}}}}\n\
             buffer: {{cell: 2KiB}}\nports:\n{}{}",
            port(0, ""),
            port(1, more)
        );
        let switch = Switch::start(dir, "paced", &file, &[]);
        let capture = Capture::start(dir, &hosts[1], "paced");
        let pauses = Script::start(&hosts[1], "pauses.py", &hosts[1].mac_text());
        let (from, to) = (hosts[0].mac_text(), hosts[1].mac_text());
        let args = format!("{from} {to} 1 200 500 0 3 0");
        let sender = Script::start(&hosts[0], "traffic.py", &args);
        let paced = Self { switch, pauses, capture, sender, hosts };
        paced.run_on(300);
        paced
    }

    /// Lets the streams run for `ms` more.
    pub fn run_on(&self, ms: u64) {
        thread::sleep(Duration::from_millis(ms));
    }

    /// Sends one MAC control frame, in the syntax of `pauses.py`.
    pub fn pause(&mut self, what: &str) {
        self.pauses.tell(what);
    }

    /// Ends the streams, and waits until host 1 has received them, each frame once and in order,
    /// except `lost(priority)` that the switch has dropped under a reason. Returns the switch,
    /// still running.
    pub fn end(self, lost: impl Fn(&Switch, u8) -> u64) -> (Switch, Seen1) {
        let Self { switch, pauses, capture, sender, hosts } = self;
        let sent = sender.end()["sent"].clone();
        for priority in [0, 3] {
            let sent = sent[priority.to_string()].as_u64().unwrap();
            let shown = switch.wait("all sent", |s| {
                let out = s["ports"][1]["priorities"][priority]["tx_frames"].as_u64().unwrap();
                out + lost(&switch, priority as u8) == sent
            });
            // Frames that the kernel lost on the way to the switch would show here, and not as its
            // loss.
            assert_eq!(shown["ports"][0]["priorities"][priority]["rx_frames"], sent);
            assert_eq!(hosts[0].counted().tx_dropped, 0);
        }
        let seen = Seen1 {
            host: hosts[1].mac,
            frames: capture.wait("all frames", |frames| {
                [0, 3].into_iter().all(|priority| {
                    let sent = sent[priority.to_string()].as_u64().unwrap();
                    let got = frames.iter().filter(|f| is_of(f, priority)).count() as u64;
                    got + lost(&switch, priority) == sent
                })
            }),
        };
        for priority in [0, 3] {
            let numbers: Vec<_> = seen.stream(priority).map(|(_, number)| number).collect();
            assert!(numbers.is_sorted_by(|a, b| a < b), "priority {priority} is out of order");
        }
        drop(pauses);
        (switch, seen)
    }
}

fn is_of(frame: &Seen, priority: u8) -> bool {
    frame.mark().is_some_and(|mark| mark.stream == priority)
}

/// Capture of host 1's link.
pub struct Seen1 {
    host: [u8; 6],
    frames: Vec<Seen>,
}

impl Seen1 {
    /// Times of arrival of a stream's frames, and their numbers.
    pub fn stream(&self, priority: u8) -> impl Iterator<Item = (u64, u32)> + '_ {
        let marked = self.frames.iter().filter_map(|f| Some((f.at, f.mark()?)));
        marked.filter(move |(_, m)| m.stream == priority).map(|(at, m)| (at, m.number))
    }

    /// Times at which host 1 sent MAC control frames, in their order.
    pub fn pauses(&self) -> Vec<u64> {
        let control = self.frames.iter().filter(|f| f.is_mac_control() && f.src() == self.host);
        control.map(|f| f.at).collect()
    }

    /// The longest time without a frame of a stream, of those that begin within `from..until`.
    pub fn longest_gap(&self, priority: u8, from: u64, until: u64) -> u64 {
        let times: Vec<_> = self.stream(priority).map(|(at, _)| at).collect();
        let gaps = times.windows(2).filter(|t| (from..until).contains(&t[0]));
        gaps.map(|t| t[1] - t[0]).max().expect("frames of the stream")
    }

    /// Longest time without a frame of a stream outside of these pauses.
    pub fn longest_gap_clear_of(&self, priority: u8, pauses: &[u64]) -> u64 {
        /// Longest time for a pause to be obeyed on a busy machine.
        const REACTION_NS: u64 = 20_000_000;
        let times: Vec<_> = self.stream(priority).map(|(at, _)| at).collect();
        let paused = |t: &[u64]| pauses.iter().any(|p| t[0] < p + REACTION_NS && t[1] > *p);
        let gaps = times.windows(2).filter(|t| !paused(t));
        gaps.map(|t| t[1] - t[0]).max().expect("frames of the stream")
    }

    /// Effect of the machine on the streams: the longest time without a frame of priority 0, which
    /// is never paused. Measurements are no finer than this.
    pub fn floor(&self) -> u64 {
        self.longest_gap(0, 0, u64::MAX)
    }

    /// Time after `start` at which a stream continued, if it was stopped within `reaction` of it.
    pub fn stopped_for(&self, priority: u8, start: u64, reaction: u64) -> u64 {
        let stopped = start + reaction;
        let next = self.stream(priority).map(|(at, _)| at).find(|at| *at > stopped);
        next.expect("the stream goes on") - start
    }
}

/// Middle value; the upper one of an even count.
pub fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values[values.len() / 2]
}
