//! Running scapy and tshark on frames.
//!
//! If a judge is not installed a test reports that and passes, except in CI (`CI=true`), where a
//! missing judge is a failure.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Reports that a judge is missing, and fails where one is required.
pub fn missing(judge: &str) {
    let ci = std::env::var("CI").is_ok_and(|v| v == "true");
    assert!(!ci, "{judge} is not installed, and CI needs it");
    crate::run::skipped(format!(
        "{judge} is not installed (on Debian: apt install python3-scapy tshark)"
    ));
}

/// A Python that has scapy: Debian's before the first one in the path.
pub fn python() -> Option<&'static str> {
    ["/usr/bin/python3", "python3"].into_iter().find(|python| {
        let mut probe = Command::new(python);
        probe.args(["-c", "import scapy.contrib.roce"]).stderr(Stdio::null());
        probe.status().is_ok_and(|s| s.success())
    })
}

/// Runs the scapy judge on `input` and returns its lines.
pub fn scapy(python: &str, script: &str, args: &[&str], input: &str) -> Vec<String> {
    let script = format!("{}/tests/judges/{script}", env!("CARGO_MANIFEST_DIR"));
    let mut child = Command::new(python)
        .arg(script)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let input = input.to_owned();
    // A separate writer, since the judge answers while it still reads.
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().expect("the judge ends");
    assert!(output.status.success(), "the scapy judge failed: see its message above");
    writer.join().expect("no panic").expect("the judge read everything");
    String::from_utf8(output.stdout).expect("text").lines().map(str::to_owned).collect()
}

pub fn hex(octets: &[u8]) -> String {
    octets.iter().map(|o| format!("{o:02x}")).collect()
}

pub fn unhex(line: &str) -> Vec<u8> {
    let digits = line.as_bytes().chunks(2);
    digits.map(|d| u8::from_str_radix(std::str::from_utf8(d).unwrap(), 16).unwrap()).collect()
}

/// A capture file of `frames` in the classic format (magic, version 2.4, Ethernet), one frame per
/// millisecond.
pub fn pcap<'a>(frames: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut out = Vec::new();
    for word in [0xa1b2_c3d4, 2 << 16 | 4, 0, 0, 65_535, 1] {
        out.extend(u32::to_be_bytes(word));
    }
    for (n, frame) in (0_u32..).zip(frames) {
        let len = frame.len() as u32;
        for word in [n / 1000, n % 1000 * 1000, len, len] {
            out.extend(word.to_be_bytes());
        }
        out.extend(frame);
    }
    out
}

/// Runs tshark, with every checksum checked, on `frames` and returns its lines.
pub fn tshark(
    name: &str,
    frames: &[(&'static str, Vec<u8>)],
    args: &[&str],
) -> Option<Vec<String>> {
    let path: PathBuf = [env!("CARGO_TARGET_TMPDIR"), name].iter().collect();
    std::fs::write(&path, pcap(frames.iter().map(|(_, f)| &f[..]))).expect("a file is written");
    let output = Command::new("tshark")
        .args(["-n", "-r"])
        .arg(&path)
        .args(["-o", "ip.check_checksum:TRUE"])
        .args(["-o", "udp.check_checksum:TRUE"])
        .args(["-o", "tcp.check_checksum:TRUE"])
        // RoCEv2 has no UDP checksum over IPv6 either.
        .args(["-o", "udp.ignore_ipv6_zero_checksum:TRUE"])
        .args(args)
        .output()
        .ok()?;
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "tshark failed: {complaint}");
    std::fs::remove_file(&path).expect("the file goes away");
    Some(String::from_utf8(output.stdout).expect("text").lines().map(str::to_owned).collect())
}

/// Frames in which tshark finds a fault: malformed, a wrong checksum, or an expert note, warning or
/// error.
pub fn faulted(name: &str, frames: &[(&'static str, Vec<u8>)]) -> Option<Vec<String>> {
    let filter = "_ws.malformed || _ws.expert.severity >= 0x400000 || ip.checksum.status == 0 \
                  || udp.checksum.status == 0 || tcp.checksum.status == 0 \
                  || icmp.checksum.status == 0 || icmpv6.checksum.status == 0";
    let fields = ["-e", "frame.number", "-e", "frame.protocols", "-e", "_ws.expert.message"];
    tshark(name, frames, &[&["-Y", filter, "-T", "fields"], &fields[..]].concat())
}
