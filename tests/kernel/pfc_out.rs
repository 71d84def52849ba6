//! An overload makes the switch send pauses that tshark reads without a warning, and with senders
//! that obey them no lossless frame is lost.

use std::process::Command;

use crate::netns::{
    capture::{Capture, Seen},
    isolated, must,
    overload::{Overload, PAUSE_NS, QUANTA},
};
use crate::run::{Dir, text};

const TOOLS: [&str; 3] = ["tcpdump", "python3", "tshark"];

/// Output of tshark for the MAC control frames of a capture that match `filter`, one line each,
/// with these fields.
fn tshark(capture: &Capture, filter: &str, fields: &[&str]) -> Vec<String> {
    let mut command = Command::new("tshark");
    command.arg("-r").arg(&capture.path).args(["-Y", &format!("macc && {filter}")]);
    command.args(["-T", "fields", "-E", "separator=;"]);
    command.args(fields.iter().flat_map(|field| ["-e", field]));
    text(&must(&mut command).stdout).lines().map(str::to_owned).collect()
}

/// Asserts that tshark finds no fault in the MAC control frames that a sender received, and in all
/// of them these fields with one of these values. Returns their number.
fn judged(capture: &Capture, fields: &[&str], values: &[&str]) -> usize {
    let faults = "(_ws.malformed || _ws.expert.severity >= 0x400000)";
    let faults = tshark(capture, faults, &["frame.number", "_ws.expert.message"]);
    assert!(faults.is_empty(), "{faults:#?}");
    let fields = [&["eth.dst", "frame.len"], fields].concat();
    let lines = tshark(capture, "frame", &fields);
    for line in &lines {
        let told = line.strip_prefix("01:80:c2:00:00:01;60;").expect(line);
        assert!(values.contains(&told), "{line}");
    }
    lines.len()
}

/// Times of pauses and their quanta, by the two octets at `time_at`.
fn pauses(frames: &[Seen], time_at: usize) -> Vec<(u64, u16)> {
    let time = |f: &Seen| u16::from_be_bytes([f.octets[time_at], f.octets[time_at + 1]]);
    frames.iter().filter(|f| f.is_mac_control()).map(|f| (f.at, time(f))).collect()
}

/// Asserts the order of XOFF and XON: the first is XOFF and the last XON, and no XOFF expires
/// before it is refreshed or ended. Returns the number of refreshes.
fn in_time(pauses: &[(u64, u16)]) -> usize {
    assert!(pauses.first().is_some_and(|(_, time)| *time == QUANTA), "{pauses:?}");
    assert!(pauses.last().is_some_and(|(_, time)| *time == 0), "{pauses:?}");
    let mut refreshed = 0;
    for pair in pauses.windows(2) {
        let [(at, time), (next, next_time)] = pair else { unreachable!("windows of two") };
        assert!(*time > 0 || *next_time > 0, "two XONs in turn: {pair:?}");
        if *time > 0 {
            assert!(next - at < PAUSE_NS, "ran out after {} of {PAUSE_NS} ns", next - at);
            refreshed += usize::from(*next_time > 0);
        }
    }
    refreshed
}

#[test]
fn pfc_keeps_the_lossless_priority_whole_while_the_lossy_one_flows() {
    isolated(&TOOLS, || {
        let dir = Dir::new("pfc-out");
        let flow_control = format!("pfc: {{enable: [3], quanta: {QUANTA}}}");
        let overload = Overload::run(&dir, &flow_control, |s| {
            let of = |port: usize| s["ports"][port]["priorities"][3]["pfc_tx_frames"].as_u64();
            of(0) > Some(8) && of(1) > Some(8)
        });
        overload.nothing_lost_of_priority_3();
        let mut refreshed = 0;
        for n in 0..2 {
            let capture = &overload.captures[n];
            let fields = ["macc.opcode", "macc.cbfc.enbv", "macc.cbfc.pause_time.c3"];
            let xoff = format!("0x0101;0x0008;{QUANTA}");
            let frames = judged(capture, &fields, &[&xoff, "0x0101;0x0008;0"]);
            assert_eq!(frames as u64, overload.counter(n, 3, "pfc_tx_frames"));
            refreshed += in_time(&pauses(&capture.frames(), 18 + 2 * 3));
            assert!(overload.obeyed[n] > 0);
            println!(
                "sender {n}: {} frames of priority 3, {} of priority 0, {frames} PFC frames",
                overload.sent[n][0], overload.sent[n][1]
            );
        }
        assert!(refreshed > 0, "no XOFF was held for long enough to be refreshed");
        // The receiver got no pause, since it did not send.
        assert_eq!(judged(&overload.captures[2], &[], &[]), 0);
        lossy_flows(&overload);
    });
}

/// The lossy priority lost frames to the same overload, under a reason, and kept its share.
fn lossy_flows(overload: &Overload) {
    let sent: u64 = overload.sent.iter().map(|[_, lossy]| lossy).sum();
    let dropped = overload.summary["drops"]["shared_limit"].as_u64().unwrap();
    let [whole, left] = [3, 0].map(|priority| overload.counter(2, priority, "tx_frames"));
    println!("the receiver got {whole} frames of priority 3 and {left} of priority 0");
    assert!(dropped > 0, "no overload");
    assert_eq!(left + dropped, sent);
    // Both queues have the same weight, and while both have frames neither gets more than it.
    assert!(left * 3 > whole, "the lossy priority starves");
    // The senders need time to obey, and the frames that they send meanwhile are in headroom.
    for n in 0..2 {
        assert!(overload.counter(n, 3, "headroom_peak_bytes") > 0);
        assert_eq!(overload.counter(n, 0, "headroom_peak_bytes"), 0);
    }
}

#[test]
fn pause_stops_the_whole_link_and_loses_nothing() {
    isolated(&TOOLS, || {
        let dir = Dir::new("pause-out");
        let flow_control = format!("pause: {{quanta: {QUANTA}}}");
        let overload = Overload::run(&dir, &flow_control, |s| {
            let of = |port: usize| s["ports"][port]["pause_tx_frames"].as_u64();
            of(0) > Some(8) && of(1) > Some(8)
        });
        overload.nothing_lost_of_priority_3();
        for n in 0..2 {
            let capture = &overload.captures[n];
            let xoff = format!("0x0001;{QUANTA}");
            let frames = judged(capture, &["macc.opcode", "macc.pause_time"], &[&xoff, "0x0001;0"]);
            assert_eq!(frames as u64, overload.summary["ports"][n]["pause_tx_frames"]);
            in_time(&pauses(&capture.frames(), 16));
            println!("sender {n}: {:?} frames, {frames} PAUSE frames", overload.sent[n]);
        }
        // PAUSE is not per priority: frames that PFC would let drop are held back as well.
        let drops = overload.summary["drops"].as_object().unwrap();
        assert!(drops.values().all(|n| *n == 0), "{drops:#?}");
    });
}
