//! Programs in real time whose clock passes 2^64 ps, 213 days, while they run: the clock is set so
//! that it does so some time after their start.

use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::run::{Dir, Switch, conclusive, frame, sluice, text, write_pcap};

/// Time from which instants need a second word, in seconds.
const LIMIT: f64 = 18_446_744.073_709_55;

/// Environment of a clock that gets there `seconds` after its program made it.
fn ahead(seconds: f64) -> (&'static str, String) {
    ("SLUICE_CLOCK_UPTIME", (LIMIT - seconds).to_string())
}

/// A command that must pass, with a clock that gets there after any of these times: the programs
/// take some time to start.
fn passes(args: &[&str], after: &[f64]) -> Vec<Value> {
    let of = |seconds: &f64| {
        let (name, value) = ahead(*seconds);
        let run =
            || -> Output { sluice().args(args).env(name, &value).output().expect("sluice starts") };
        let output = conclusive(run);
        let (out, said) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(0), "after {seconds} s: {said}\n{out}");
        serde_json::from_str(&out).expect("JSON")
    };
    after.iter().map(of).collect()
}

#[test]
fn a_switch_goes_on_forwarding() {
    let (dir, name) = (Dir::new("uptime"), "uptime");
    let (a, b) = ([2, 0, 0, 0, 1, 0xa], [2, 0, 0, 0, 1, 0xb]);
    write_pcap(&dir.path("a.in"), &(0..64).map(|n| frame(b, a, 0, n, 500)).collect::<Vec<_>>());
    let d = dir.0.display();
    let file = format!(
        "bridge: {{ageing: 1s}}\n\
         ports:\n\
         - {{name: a, device: 'net_pcap0,rx_pcap={d}/a.in,infinite_rx=1', rate: 10M}}\n\
         - {{name: b, device: 'net_null0,no-rx=1', rate: 10M}}\n"
    );
    let (variable, value) = ahead(4.0);
    let switch = Switch::start_with(&dir, name, &file, &[], &[(variable, &value)]);
    let frames = |s: &Value| s["ports"][1]["tx_frames"].as_u64().unwrap();
    let ran = |s: &Value| s["elapsed_ns"].as_u64().unwrap() / 1_000_000;
    switch.wait("begun", |s| frames(s) > 100);
    // The clock is made before the run begins, so it is past the limit then.
    let past = switch.wait("past 213 days", |s| ran(s) > 5_000);
    switch.wait("going on", |s| frames(s) > frames(&past) + 1_000);
    let (status, summary) = switch.stop();
    assert_eq!(status, Some(0), "{summary:#}");
}

#[test]
fn a_generator_loses_no_frame_and_keeps_its_pace() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs/gen/pause-resume.yaml");
    let args = ["gen", file.to_str().unwrap(), "--format", "json"];
    for outcome in passes(&args, &[0.3, 0.6, 0.9, 1.5]) {
        for flow in outcome["flows"].as_array().unwrap() {
            assert!(flow["frames_tx"].as_u64() > Some(0), "{flow}");
        }
        let port = &outcome["ports"][0]["priorities"][3];
        assert_eq!(port["transitions"], 1, "{port}");
    }
}

#[test]
fn a_link_is_measured() {
    let args = ["headroom", "measure", "--ring", "--rate", "100G", "--format", "json"];
    for outcome in passes(&args, &[0.02, 0.05, 0.1]) {
        assert_eq!(outcome["measurements"][0]["rounds"], 100, "{outcome}");
    }
}

#[test]
fn a_lab_runs_to_its_end() {
    let dir = Dir::new("uptime-lab");
    let lab = "\
name: tiny
topology: {star: {hosts: 3}}
duration: 2ms
until_done: true
defaults:
  links: {rate: 10G, length: 100m}
flows:
  - {name: in, to: h3, priority: 3, size: 1000, duration: {frames: 400}}
checks: [conservation, lossless]
";
    let file = dir.write("tiny.yaml", lab);
    let args = ["run", "--world", "real", file.to_str().unwrap(), "--format", "json"];
    for outcome in passes(&args, &[0.005, 0.02]) {
        assert_eq!(outcome["done"], true, "{outcome}");
    }
}
