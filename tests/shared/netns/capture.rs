//! Captures of a host's link with the kernel's timestamps, in nanoseconds.
//!
//! The kernel timestamps a frame where the other end of the pair sends it, not when the capturing
//! program wakes up, so a busy machine delays the reading and not the timestamps.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::Host;
use crate::run::Dir;

/// Bytes that are kept of each frame.
const KEPT: usize = 128;

/// A captured frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seen {
    /// Nanoseconds of the system's clock since 1970.
    pub at: u64,
    /// First bytes of the frame, from the destination address on, tags included.
    pub octets: Vec<u8>,
    /// Length of the whole frame.
    pub len: usize,
}

impl Seen {
    pub fn dst(&self) -> &[u8] {
        &self.octets[..6]
    }

    pub fn src(&self) -> &[u8] {
        &self.octets[6..12]
    }

    /// EtherType after the addresses.
    pub fn ethertype(&self) -> u16 {
        u16::from_be_bytes([self.octets[12], self.octets[13]])
    }

    /// Priority and VLAN of a tagged frame.
    pub fn tag(&self) -> Option<(u8, u16)> {
        let tci = u16::from_be_bytes([self.octets[14], self.octets[15]]);
        (self.ethertype() == 0x8100).then_some(((tci >> 13) as u8, tci & 0xfff))
    }

    /// Bytes of an IP packet, with a tag before it or not.
    pub fn packet(&self) -> &[u8] {
        &self.octets[if self.tag().is_some() { 18 } else { 14 }..]
    }

    /// Mark that `traffic.py` put into the frame, if it is one of its: stream, number and time of
    /// sending.
    pub fn mark(&self) -> Option<Mark> {
        let payload = if self.tag().is_some() { 18 } else { 14 };
        let octets: &[u8; 15] = self.octets.get(payload - 2..)?.first_chunk()?;
        let number = u32::from_be_bytes(octets[3..7].try_into().unwrap());
        let sent = u64::from_be_bytes(octets[7..].try_into().unwrap());
        (octets[..2] == [0x88, 0xb5]).then_some(Mark { stream: octets[2], number, sent })
    }

    /// True for a PFC or PAUSE frame.
    pub fn is_mac_control(&self) -> bool {
        self.ethertype() == 0x8808
    }
}

/// Mark of `traffic.py` in a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark {
    /// Stream, which is its priority.
    pub stream: u8,
    /// Number of the frame in it, from 0.
    pub number: u32,
    /// Time of sending, in nanoseconds of the system's clock since 1970.
    pub sent: u64,
}

/// A capture that runs until it is dropped.
pub struct Capture {
    child: Child,
    /// The file, for others to read as well.
    pub path: PathBuf,
}

impl Capture {
    /// Captures the link of `host` in both directions, and waits until the capture has begun.
    pub fn start(dir: &Dir, host: &Host, name: &str) -> Self {
        let path = dir.path(&format!("{name}.pcap"));
        let mut child = host
            // It gives up root, which removes the guard that ends it with the test; so another
            // program has the guard, and passes signals on.
            .command("setpriv")
            .args(["--pdeathsig", "TERM", "--", "timeout", "1800", "tcpdump"])
            .args(["-i", "eth0", "-n", "-U", "-B", "16384", "--immediate-mode"])
            // It gives up root, and then may not open a file here; it may write to an open one. (To
            // stay root with -Z crashes in Ubuntu 24.04.)
            .args(["--time-stamp-precision=nano", "-s", &KEPT.to_string(), "-w", "-"])
            .stdout(File::create(&path).unwrap())
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let said: Vec<_> = lines
            .by_ref()
            .map_while(Result::ok)
            .inspect(|line| eprintln!("{name}: {line}"))
            .take_while(|line| !line.contains("listening on"))
            .collect();
        assert!(child.try_wait().unwrap().is_none(), "tcpdump ended: {said:?}");
        // Its standard error must be read, or a further message would make it fail.
        thread::spawn(move || lines.map_while(Result::ok).for_each(|line| eprintln!("{line}")));
        Self { child, path }
    }

    /// Frames captured until now.
    pub fn frames(&self) -> Vec<Seen> {
        let octets = fs::read(&self.path).unwrap_or_default();
        let word = |at: usize| octets[at..at + 4].try_into().map(u32::from_ne_bytes).unwrap();
        if octets.len() < 24 {
            return Vec::new();
        }
        assert_eq!(word(0), 0xa1b2_3c4d, "a pcap file with nanoseconds");
        let (mut at, mut frames) = (24, Vec::new());
        while at + 16 <= octets.len() {
            let kept = word(at + 8) as usize;
            let Some(octets) = octets.get(at + 16..at + 16 + kept) else { break };
            let stamp = u64::from(word(at)) * 1_000_000_000 + u64::from(word(at + 4));
            let len = word(at + 12) as usize;
            frames.push(Seen { at: stamp, octets: octets.to_vec(), len });
            at += 16 + kept;
        }
        frames
    }

    /// Waits until the captured frames satisfy `wanted`.
    pub fn wait(&self, what: &str, wanted: impl Fn(&[Seen]) -> bool) -> Vec<Seen> {
        let start = Instant::now();
        loop {
            let frames = self.frames();
            if wanted(&frames) {
                return frames;
            }
            let late = start.elapsed() > Duration::from_secs(20);
            assert!(!late, "never captured: {what}; {} frames are", frames.len());
            thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        // Interrupted, it reports the frames it missed.
        let _ = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status();
        let _ = self.child.wait();
    }
}
