//! `sluice gen` with the examples of configs/gen on ports in memory: the files of the virtual world
//! run in the real one, without NIC or root, and order-dependent results agree.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use sluice::text::packets::{Packet, Pcap};

use crate::run::{Dir, conclusive, run_ahead, sluice};

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("configs/gen").join(name)
}

/// Results of an example on real ports, which must pass. One at a time: each polls with all CPUs.
fn outcome(name: &str, more: &[&str]) -> Value {
    static TURN: Mutex<()> = Mutex::new(());
    let _alone = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    run_ahead();
    let mut command = sluice();
    command.arg("gen").arg(example(name)).args(["--format", "json"]).args(more);
    let output = conclusive(|| command.output().expect("sluice starts"));
    let said = String::from_utf8_lossy(&output.stderr);
    let out = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{name}: {said}\n{out}");
    serde_json::from_str(&out).expect("JSON")
}

fn named<'a>(outcome: &'a Value, list: &str, name: &str) -> &'a Value {
    let all = outcome[list].as_array().expect("a list");
    all.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("no {name} in {list}"))
}

#[test]
fn every_example_runs_on_ports_in_memory() {
    for name in ["constant-rate.yaml", "imix.yaml", "incast.yaml", "roce-cnp.yaml"] {
        let outcome = outcome(name, &[]);
        assert_eq!((&outcome["verdict"], &outcome["world"]), (&"pass".into(), &"real".into()));
        for flow in outcome["flows"].as_array().unwrap() {
            assert!(flow["frames_tx"].as_u64() > Some(0), "{name}: {flow}");
        }
    }
}

#[test]
fn a_storm_stops_its_priority_and_no_other() {
    let dir = Dir::new("gen-storm");
    let folder = dir.path("captures").display().to_string();
    let outcome = outcome("pfc-storm.yaml", &["--captures", &folder]);
    let [on3, on4] = ["on3", "on4"].map(|name| named(&outcome, "flows", name));
    assert_eq!((&on3["frames_tx"], on4["loss_percent"].as_f64()), (&on3["frames_rx"], Some(0.0)));
    let sent = on3["frames_tx"].as_u64().unwrap();
    assert!((9_000..=10_500).contains(&sent), "a second at 10,000 a second: {sent}");
    assert!(on4["frames_tx"].as_u64() > Some(19_000), "{on4}");
    let pausing = &named(&outcome, "ports", "p2")["priorities"][3];
    assert_eq!(pausing["continuous"], true, "{pausing}");
    let paused = &named(&outcome, "ports", "p1")["priorities"];
    assert_eq!((&paused[3]["transitions"], &paused[4]["pauses_rx"]), (&1.into(), &0.into()));
    let capture = fs::read(dir.path("captures/p1.pcapng")).unwrap();
    assert!(capture.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]), "a section header of pcapng");
    assert!(capture.len() > 60 * 100, "the pauses are in it");
}

#[test]
fn zero_quanta_resume() {
    let outcome = outcome("pause-resume.yaml", &[]);
    let paused = &named(&outcome, "ports", "p1")["priorities"][3];
    assert_eq!((&paused["transitions"], &paused["resumes_rx"]), (&1.into(), &1.into()), "{paused}");
    let ns = paused["paused_ns"].as_f64().unwrap();
    // The pauses span 190 ms and the resume follows 10 ms after the last: an expiry would make 223.
    assert!((1.9e8..2.15e8).contains(&ns), "{ns}");
}

#[test]
fn what_is_replayed_arrives_octet_for_octet() {
    let dir = Dir::new("gen-replayed");
    let frames = [(0, 60), (100, 1_514), (900, 77)].map(|(us, len): (u64, usize)| {
        (Duration::from_micros(us), (0..len).map(|n| n as u8 ^ 0x2a).collect::<Vec<u8>>())
    });
    let mut pcap = Pcap::new(fs::File::create(dir.path("some.pcap")).unwrap(), false).unwrap();
    for (at, octets) in &frames {
        pcap.packet(&Packet { at: *at, octets, len: octets.len() as u32 }).unwrap();
    }
    drop(pcap);
    let file = dir.path("replay.yaml");
    let text = "\
ports:
  - {name: p1, location: \"ring:replay.a\"}
  - {name: p2, location: \"ring:replay.b\"}
captures:
  - {name: c, port_names: [p2], format: pcap}
replay:
  - {name: r, port: p1, file: some.pcap, loop: 2}
";
    fs::write(&file, text).unwrap();
    let folder = dir.path("captures").display().to_string();
    let outcome = outcome(file.to_str().unwrap(), &["--captures", &folder]);
    assert_eq!(named(&outcome, "flows", "r")["frames_tx"], 6);
    let captured = fs::File::open(dir.path("captures/p2.pcap")).unwrap();
    let mut reader = pcap_file::pcap::PcapReader::new(captured).unwrap();
    let mut got = Vec::new();
    while let Some(packet) = reader.next_packet() {
        got.push(packet.unwrap().data.into_owned());
    }
    let with_fcs = |(_, octets): &(Duration, Vec<u8>)| {
        [&octets[..], &crc32fast::hash(octets).to_le_bytes()].concat()
    };
    let want: Vec<_> = frames.iter().chain(&frames).map(with_fcs).collect();
    assert_eq!(got, want);
}
