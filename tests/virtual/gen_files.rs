//! `sluice gen` with the examples of configs/gen, in the virtual world: each runs as its header
//! states, to the frame and the picosecond.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

use serde_json::Value;
use sluice::text::packets::{Packet, Pcap};

use crate::run::{self, Dir};

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("configs/gen").join(name)
}

fn sluice(args: &[&str]) -> Output {
    run::sluice().arg("gen").args(args).output().expect("sluice starts")
}

/// Results of an example, which must pass.
fn outcome(name: &str, more: &[&str]) -> Value {
    let file = example(name);
    let args = [&[file.to_str().unwrap(), "--world", "virtual", "--format", "json"], more].concat();
    let output = sluice(&args);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{name}: {said}");
    let outcome: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(outcome["verdict"], "pass", "{name}");
    outcome
}

fn named<'a>(outcome: &'a Value, list: &str, name: &str) -> &'a Value {
    let all = outcome[list].as_array().expect("a list");
    all.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("no {name} in {list}"))
}

#[test]
fn every_example_is_good() {
    let mut seen = 0;
    for entry in fs::read_dir(example("")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "yaml") {
            let name = path.file_name().unwrap().to_str().unwrap();
            let outcome = outcome(name, &[]);
            assert!(!outcome["checks"].as_array().unwrap().is_empty(), "{name} asks for nothing");
            for flow in outcome["flows"].as_array().unwrap() {
                assert_eq!(flow["transmit"], "stopped", "{name}: {flow}");
                assert!(flow["frames_tx"].as_u64() > Some(0), "{name}: {flow}");
            }
            seen += 1;
        }
    }
    assert!(seen >= 6, "{seen} examples");
}

#[test]
fn a_constant_rate_is_kept_exactly() {
    let outcome = outcome("constant-rate.yaml", &[]);
    let steady = named(&outcome, "flows", "steady");
    assert_eq!((&steady["frames_tx"], &steady["frames_rx"]), (&40_000.into(), &40_000.into()));
    assert_eq!(steady["pacing"]["error_ppm"], 0.0);
    // 512 bytes with preamble, at 1 Gb/s: 4.16 us from the first bit to the last.
    assert_eq!(steady["latency"]["min_ns"], 4_160.0);
    assert_eq!(steady["latency"]["max_ns"], 4_160.0);
    assert_eq!(outcome["stamps"]["source"], "virtual");
}

#[test]
fn messages_stop_the_flow_that_they_are_about_for_their_time() {
    let outcome = outcome("sfc-proxy-validation.yaml", &[]);
    let host = named(&outcome, "ports", "host");
    assert_eq!((&host["sfcm_rx"], &host["sfcm_obeyed"]), (&35.into(), &25.into()));
    assert_eq!(host["sfcm_refused"], 10, "foreign and malformed ones");
    assert_eq!(host["sfcm_paused_ns"], 20e6 + 2.5e6);
    assert_eq!(named(&outcome, "flows", "data")["frames_rx"], 10_000);
    assert_eq!(host["sfcm_requested_ns"], 20e6 + 2.5e6);
    assert_eq!((&host["sfcm_incast"], &host["sfcm_in_network"]), (&20.into(), &5.into()));
    // The first message is sent 200 ms after the first frame, and takes 0.672 us for its 64 bytes.
    assert_eq!(host["sfcm_silence_ns"], 0.0, "no frame waits at the port");
    let fabric = named(&outcome, "ports", "fabric");
    assert!(fabric.get("sfcm_rx").is_none());
    assert_eq!((&fabric["sfcm_tx"], &fabric["sfcm_tx_requested_ns"]), (&30.into(), &27.5e6.into()));
    assert!(fabric.get("sfcm_to_pfc").is_none() && fabric.get("sfcm_quanta_error").is_none());
    // Frames are 100 us apart: the last one before a silence started before the message, or up to a
    // frame's time after it.
    let reaction = fabric["sfcm_reaction_max_ns"].as_f64().unwrap();
    assert!(reaction < 1e6, "{reaction}");
}

#[test]
fn a_proxy_passes_the_same_test() {
    let lab = concat!(env!("CARGO_MANIFEST_DIR"), "/configs/labs/sfc-proxy.yaml");
    let output = run::sluice().args(["run", lab]).output().expect("sluice starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}");
}

#[test]
fn ports_of_a_lab_whose_hosts_obey_messages_tell_of_them() {
    let root = env!("CARGO_MANIFEST_DIR");
    let text = fs::read_to_string(format!("{root}/configs/labs/sfc-proxy.yaml")).unwrap();
    let (text, _) = text.split_once("checks:").unwrap();
    let text = text
        .replace("    sfc_proxy: {accept: {hosts: anybody}}\n", "")
        .replace("defaults:\n  links:", "defaults:\n  hosts: {sfc: flow}\n  links:")
        .replace("file: ../gen/", &format!("file: {root}/configs/gen/"));
    assert!(text.contains("hosts: {sfc: flow}"), "{text}");
    let value =
        |name: &str| format!("  - value: {{path: tester.ports.host.{name}, at_least: 1}}\n");
    let checks = [value("sfcm_rx"), value("sfcm_obeyed"), value("sfcm_paused_ns")].concat();
    let dir = Dir::new("gen-obeying");
    let lab = dir.write("lab.yaml", &format!("{text}checks:\n{checks}"));
    let output = run::sluice().arg("run").arg(&lab).output().expect("sluice starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_storm_stops_its_priority_and_no_other() {
    let outcome = outcome("pfc-storm.yaml", &[]);
    let [on3, on4] = ["on3", "on4"].map(|name| named(&outcome, "flows", name));
    assert_eq!(on4["frames_rx"], 20_000);
    // Half a second at 10,000 a second, the frame that was due when the storm began, and 476 ms after it with
    // the last millisecond of it.
    assert_eq!((&on3["frames_tx"], &on3["frames_rx"]), (&9_776.into(), &9_776.into()));
    let paused = &named(&outcome, "ports", "p1")["priorities"][3];
    assert_eq!((&paused["transitions"], &paused["paused"]), (&1.into(), &false.into()), "{paused}");
    let pausing = &named(&outcome, "ports", "p2")["priorities"][3];
    assert_eq!((&pausing["continuous"], &pausing["largest_gap_ns"]), (&true.into(), &1e7.into()));
    // 65535 quanta of 512 bits at 1 Gb/s.
    assert_eq!(pausing["window_ns"], 33_553_920.0);
}

#[test]
fn zero_quanta_resume_at_once() {
    let outcome = outcome("pause-resume.yaml", &[]);
    let paused = &named(&outcome, "ports", "p1")["priorities"][3];
    assert_eq!((&paused["transitions"], &paused["resumes_rx"]), (&1.into(), &1.into()));
    // From the first of twenty pauses to the resume, 200 ms later.
    assert_eq!(paused["paused_ns"], 2e8);
    let pausing = &named(&outcome, "ports", "p2")["priorities"][3];
    let resumed = pausing["resume_ns"].as_f64().unwrap();
    assert!(resumed < 10_000.0, "a frame's time after the resume, not {resumed} ns");
}

#[test]
fn an_incast_waits_and_a_bystander_does_not() {
    let outcome = outcome("incast.yaml", &[]);
    for n in 1..=4 {
        assert_eq!(named(&outcome, "flows", &format!("s{n}"))["frames_rx"], 320);
    }
    let bystander = named(&outcome, "flows", "bystander");
    assert_eq!(bystander["frames_rx"], 5_000);
    // Never late by more than the frames of one burst's beginning: it obeys no pause of priority 3.
    assert!(bystander["pacing"]["gap_max_ns"].as_f64() < Some(1e6), "{bystander}");
}

#[test]
fn the_same_file_gives_the_same_results() {
    let [one, two] = [0; 2].map(|_| outcome("imix.yaml", &[]).to_string());
    assert_eq!(one, two);
}

#[test]
fn files_are_written_beside_the_results() {
    let dir = Dir::new("gen-files");
    let at = |name: &str| dir.path(name).display().to_string();
    let (page, csv, hgrm) = (at("r.html"), at("csv"), at("hgrm"));
    outcome("constant-rate.yaml", &["--report", &page, "--csv", &csv, "--hgrm", &hgrm]);
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("throughput (Mb/s)") && page.contains("default-src 'none'"));
    let flows = fs::read_to_string(dir.path("csv/flows.csv")).unwrap();
    assert!(flows.lines().nth(1).unwrap().starts_with("steady,p1,p2,stopped,40000,40000,"));
    assert_eq!(fs::read_to_string(dir.path("csv/priorities.csv")).unwrap().lines().count(), 17);
    let hgrm = fs::read_to_string(dir.path("hgrm/steady.hgrm")).unwrap();
    assert!(hgrm.contains("Total count    =        40000]"), "{hgrm}");
}

#[test]
fn a_dry_run_says_what_a_file_comes_to() {
    let output = sluice(&[example("pfc-storm.yaml").to_str().unwrap(), "--dry-run"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0));
    for part in ["PFC 3,4", "MAC control", "10000 fps", "500ms", "ring:storm.a"] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
}

#[test]
fn bad_input_is_refused_with_its_line() {
    let dir = Dir::new("gen-bad");
    let good = fs::read_to_string(example("constant-rate.yaml")).unwrap();
    let refused = |text: &str, more: &[&str], says: &str| {
        let file = dir.write("bad.yaml", text);
        let args = [&[file.to_str().unwrap(), "--world", "virtual"], more].concat();
        let output = sluice(&args);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(says), "{says} in\n{said}");
    };
    refused(&good.replace("rx_names: [p2]", "rx_names: [p7]"), &[], "bad.yaml:");
    refused(&good.replace("fixed: 512", "fixed: 40"), &[], "flows[0].size");
    refused(&good.replace("name: back", "name: steady"), &[], "steady");
    refused(&good.replace("pps: 20000", "pps: 20000000"), &[], "flows[0].rate");
    refused("", &[], "the file is empty");
    refused("{", &[], "bad.yaml:1:");
    refused(&good, &["--port", "p7=ring:x.a"], "there are p1, p2");
    refused(&good, &["--port", "p1=iface:eth0"], "no end of a pair in memory");
    refused(&good, &["--port", "p1=ring:other.a"], "no port is at the other end");
}

#[test]
fn a_recording_is_replayed_at_its_own_times() {
    let dir = Dir::new("gen-replay");
    let at = |us: u64| Duration::from_secs(1_600_000_000) + Duration::from_micros(us);
    let mut pcap = Pcap::new(fs::File::create(dir.path("some.pcap")).unwrap(), false).unwrap();
    for (us, len) in [(0, 60), (10, 1_514), (40, 60)] {
        pcap.packet(&Packet { at: at(us), octets: &vec![2; len], len: len as u32 }).unwrap();
    }
    drop(pcap);
    let file = dir.path("replay.yaml");
    let text = "\
ports:
  - {name: p1, location: \"ring:replay.a\"}
  - {name: p2, location: \"ring:replay.b\"}
layer1:
  - {name: l, port_names: [p1, p2], speed: speed_10_gbps}
replay:
  - {name: r, port: p1, file: some.pcap, scale: 2, loop: 3}
";
    fs::write(&file, text).unwrap();
    let args = [file.to_str().unwrap(), "--world", "virtual", "--format", "json"];
    let output = sluice(&args);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let outcome: Value = serde_json::from_slice(&output.stdout).unwrap();
    let flow = named(&outcome, "flows", "r");
    assert_eq!(
        (&flow["frames_tx"], &flow["bytes_tx"]),
        (&9.into(), &(3 * (64 + 1_518 + 64)).into())
    );
    let there = named(&outcome, "ports", "p2");
    assert_eq!((&there["frames_rx"], &flow["transmit"]), (&9.into(), &"stopped".into()));
    let output = sluice(&[file.to_str().unwrap(), "--dry-run"]);
    assert!(String::from_utf8_lossy(&output.stdout).contains("as recorded"));
    // An error is reported with its place in the file.
    fs::write(&file, text.replace("some.pcap", "none.pcap")).unwrap();
    let output = sluice(&args);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("replay.yaml:7:") && said.contains("none.pcap"), "{said}");
}
