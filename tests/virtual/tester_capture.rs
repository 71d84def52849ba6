//! Taps between stations and their ports, and their files, as tshark reads them.

use std::process::Command;
use std::time::Duration;

use sluice::frame::Burst;
use sluice::host::FlowId;
use sluice::port::{Port, Source};
use sluice::tester::capture::{About, CAPTURE_BYTES, Capture, CaptureCounters, tapped, write};
use sluice::tester::plan::{CaptureFormat, CapturePlan, Filter, Part};
use sluice::text::packets::Way;
use sluice::time::Instant;
use sluice::units::{BitsPerSec, Mac, Priority, Quanta};
use sluice::wire::pfc;

use crate::mem_port::{MemFrame, MemPort};

fn plan(filters: Vec<Filter>) -> CapturePlan {
    CapturePlan {
        name: "c".into(),
        filters: if filters.is_empty() { vec![] } else { vec![filters] },
        overwrite: false,
        snap: None,
        format: CaptureFormat::Pcapng,
    }
}

/// 14:13:20 on 13 September 2020.
const ZERO: Duration = Duration::from_secs(1_600_006_400);

fn at(ns: u64) -> Instant {
    Instant::from_picos((ns * 1_000).into())
}

/// A pause of priority 3.
fn pause() -> Vec<u8> {
    let mut repr = pfc::Repr::new(Mac([2, 0, 0, 0, 0, 1]));
    repr.set(Priority::new(3).unwrap(), Quanta(100));
    let mut octets = vec![0; repr.buffer_len()];
    repr.emit(&mut octets).unwrap();
    octets
}

/// A probe of flow 1 directly after Ethernet, in a frame of `len` bytes without FCS.
fn probe(sequence: u8, len: usize) -> Vec<u8> {
    let mut out = vec![2; 12];
    out.extend([0x88, 0xb5]);
    out.extend(b"SLUI\0\x01\0\0\0\0\0");
    out.push(sequence);
    out.extend([0; 6]);
    out.resize(len, 0);
    out
}

/// Frames at a tap: a pause and two probes in, two probes offered of which the port takes one.
fn captured(plan: &CapturePlan, both: bool) -> Box<Capture> {
    let (near, mut far) = MemPort::pair(1);
    let mut tap = tapped(near);
    let mut burst = Burst::new();
    far.give(MemFrame::new(&probe(9, 60)));
    tap.rx_burst(&mut burst);
    burst.clear();
    assert!(tap.tap.captured().is_none(), "nothing is captured before it is asked for");
    assert!(tap.tap.start(Box::new(Capture::new(plan, both, CAPTURE_BYTES))).is_none());

    tap.tap.at(at(1_000_000_001));
    far.give(MemFrame::new(&pause()));
    far.give(MemFrame::new(&probe(1, 60)));
    tap.rx_burst(&mut burst);
    assert_eq!(burst.len(), 2, "what is captured goes on");
    burst.clear();
    tap.tap.at(at(1_000_000_123));
    burst.extend(
        [(2, 1_514), (3, 60)]
            .map(|(n, len)| tap.data_frame(&probe(n, 60), len + 4).expect("memory")),
    );
    tap.tx_burst(&mut burst);
    assert_eq!(burst.len(), 1, "what the port refuses stays");
    far.take();
    far.give(MemFrame::new(&probe(4, 60)));
    tap.tap.at(at(1_000_000_999));
    burst.clear();
    tap.rx_burst(&mut burst);
    let capture = tap.tap.stop().unwrap();
    far.give(MemFrame::new(&probe(9, 60)));
    tap.rx_burst(&mut burst);
    assert!(tap.tap.capture().is_none());
    capture
}

#[test]
fn what_came_and_what_left_is_captured_and_nothing_else() {
    let kept = |both| -> Vec<_> {
        let capture = captured(&plan(vec![]), both);
        assert_eq!(capture.counters().missed, 0);
        capture.frames().map(|k| (k.at, k.way, k.len, k.octets[25])).collect()
    };
    let received = [
        (at(1_000_000_001), Way::In, 60, pause()[25]),
        (at(1_000_000_001), Way::In, 60, 1),
        (at(1_000_000_999), Way::In, 60, 4),
    ];
    assert_eq!(kept(false), received);
    let sent = (at(1_000_000_123), Way::Out, 1_514, 2);
    assert_eq!(kept(true), [received[0], received[1], sent, received[2]]);
}

#[test]
fn filters_and_lengths_are_kept_to() {
    let pauses = Filter {
        part: Part::Frame,
        at: 12,
        value: vec![0x88, 0x08],
        mask: vec![0xff; 2],
        negate: false,
    };
    let mut plan = plan(vec![Filter { negate: true, ..pauses.clone() }]);
    plan.snap = Some(30);
    let kept: Vec<_> = captured(&plan, true).frames().map(|k| (k.len, k.octets.len())).collect();
    assert_eq!(kept, [(60, 30), (1_514, 30), (60, 30)]);
    plan.filters[0].push(pauses);
    let none = captured(&plan, true);
    assert_eq!(none.counters(), CaptureCounters::default());
}

/// Lines of tshark for a capture, each with these fields.
fn tshark(name: &str, file: &[u8], fields: &[&str]) -> Option<Vec<String>> {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, file).unwrap();
    let mut command = Command::new("tshark");
    command.args(["-n", "-r"]).arg(&path).args(["-T", "fields", "-E", "separator=;"]);
    let output = command.args(fields.iter().flat_map(|f| ["-e", f])).output().ok()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    // Running as root is its only warning here.
    let warned = said.lines().find(|l| !l.is_empty() && !l.contains("Running as user"));
    assert!(output.status.success() && warned.is_none(), "{said}");
    std::fs::remove_file(&path).unwrap();
    Some(String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect())
}

fn file(format: CaptureFormat) -> Vec<u8> {
    let flow = |id: FlowId| (id.0 == 1).then_some("storm victim");
    let about = About {
        port: "p1",
        location: "ring:x.a",
        rate: Some(BitsPerSec::gbps(100)),
        stamps: "Stamps are of the poll that found or made a frame.",
        zero: ZERO,
        flow: &flow,
    };
    let mut out = Vec::new();
    write(&captured(&plan(vec![]), true), format, &about, &mut out).unwrap();
    out
}

fn missing() {
    let ci = std::env::var("CI").is_ok_and(|v| v == "true");
    assert!(!ci, "tshark is not installed, and CI needs it");
    crate::run::skipped("tshark is not installed (on Debian: apt install tshark)");
}

#[test]
fn tshark_reads_both_formats_to_the_nanosecond_with_directions_and_comments() {
    let fields = ["frame.time_epoch", "frame.len", "frame.cap_len", "frame.interface_name"];
    let more = ["frame.packet_flags_direction", "frame.comment"];
    let pcapng = file(CaptureFormat::Pcapng);
    let Some(lines) = tshark("capture.pcapng", &pcapng, &[&fields[..], &more].concat()) else {
        return missing();
    };
    let want = [
        "1600006401.000000001;64;64;p1;0x00000001;PFC: priority 3 stops for 100 quanta, 0.512 us",
        "1600006401.000000001;64;64;p1;0x00000001;flow storm victim, frame 1",
        "1600006401.000000123;1518;1518;p1;0x00000002;flow storm victim, frame 2",
        "1600006401.000000999;64;64;p1;0x00000001;flow storm victim, frame 4",
    ];
    assert_eq!(lines, want);
    let pcap = file(CaptureFormat::Pcap);
    let lines = tshark("capture.pcap", &pcap, &fields[..3]).expect("tshark was here");
    let want = want.map(|line| line.split(';').take(3).collect::<Vec<_>>().join(";"));
    assert_eq!(lines, want);
    let text = Command::new("capinfos").arg("-v").output();
    if text.is_ok() {
        let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("commented.pcapng");
        std::fs::write(&path, &pcapng).unwrap();
        let output = Command::new("capinfos").arg(&path).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        std::fs::remove_file(&path).unwrap();
        assert!(said.contains("Stamps are of the poll that found or made a frame."), "{said}");
        assert!(said.contains("100000000000") || said.contains("100 Gbps"), "{said}");
    }
}
