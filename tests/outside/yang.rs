//! yanglint judges the managed objects of a running switch and its notifications.
//!
//! `tests/yang` has the nodes, types and ranges of the published modules in words of this project.
//! With `SLUICE_PUBLISHED_YANG=FOLDER` the published modules in that folder judge too.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::run::{Dir, Switch, frame, text, write_pcap};

const BRIDGE: &str = "ieee802-dot1q-congestion-isolation-bridge";
const PORTS: &str = "/ietf-interfaces:interfaces/interface";
const COMPONENT: &str = "/ieee802-dot1q-bridge:bridges/bridge/0/component/0";

/// Reports that yanglint is missing; CI needs it.
fn is_missing() -> bool {
    let found = Command::new("yanglint").arg("-v").output().is_ok_and(|o| o.status.success());
    let ci = std::env::var("CI").is_ok_and(|v| v == "true");
    assert!(found || !ci, "yanglint is not installed, and CI needs it");
    if !found {
        crate::run::skipped("yanglint is not installed (on Debian: apt install libyang-tools)");
    }
    !found
}

/// Runs yanglint with the modules of a folder on a document; returns its complaints.
fn judge(dir: &Dir, modules: &Path, kind: &str, data: &Value) -> Result<(), String> {
    let file = dir.write("data.json", &data.to_string());
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs/yang");
    let mut yanglint = Command::new("yanglint");
    yanglint.arg("-p").arg(modules).arg("-p").arg(&own);
    yanglint.args(["-F", &format!("{BRIDGE}:congestion-isolation-bridge"), "-t", kind]);
    yanglint.args([BRIDGE, "iana-if-type"].map(|name| modules.join(format!("{name}.yang"))));
    let mut names: Vec<PathBuf> =
        own.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    let output = yanglint.args(names).arg(file).output().expect("yanglint starts");
    let complaint = text(&output.stderr) + &text(&output.stdout);
    if output.status.success() { Ok(()) } else { Err(complaint) }
}

fn folders() -> Vec<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/yang");
    let published = std::env::var_os("SLUICE_PUBLISHED_YANG").map(PathBuf::from);
    std::iter::once(own).chain(published).collect()
}

/// Two hosts that send to each other without end, and a port that measures itself.
fn start(dir: &Dir) -> Switch {
    let (a, b) = ([2, 0, 0, 0, 1, 0xa], [2, 0, 0, 0, 1, 0xb]);
    for (name, dst, src) in [("a", b, a), ("b", a, b)] {
        let frames: Vec<_> = (0..128).map(|n| frame(dst, src, 3, n, 300)).collect();
        write_pcap(&dir.path(&format!("{name}.in")), &frames);
    }
    let d = dir.0.display();
    let file = format!(
        "switch: {{name: a switch whose name is longer than a bridge has room for}}\n\
         defaults: {{rate: 100M, pfc: {{enable: [3]}}, watchdog: {{}}}}\n\
         sfc: {{queues: {{3: {{threshold: 1KB, target: 500B}}}}}}\nsfc_proxy: {{cache: {{}}}}\n\
         congestion_isolation: {{isolate: {{3: 2}}, queues: {{3: {{threshold: 1KB}}}}}}\n\
         fast_cnp: {{}}\nqcn: {{queues: {{1: {{}}}}}}\n\
         ports:\n\
         - {{name: a, device: 'net_pcap0,rx_pcap={d}/a.in,infinite_rx=1'}}\n\
         - {{name: b, device: 'net_pcap1,rx_pcap={d}/b.in,infinite_rx=1'}}\n\
         - {{name: loop, device: net_ring0, measurement: {{initiate: true, rounds: 5, period: 50ms}}}}\n"
    );
    Switch::start(dir, "yang", &file, &[])
}

fn served(switch: &Switch) -> Value {
    serde_json::from_slice(&switch.ctl(&["yang"]).stdout).expect("JSON")
}

/// Returns the data once the tables have entries.
fn with_tables(switch: &Switch) -> Value {
    let start = Instant::now();
    loop {
        let data = served(switch);
        let component = data.pointer(COMPONENT).expect("a component");
        let streams = &component[&format!("{BRIDGE}:ci-streams")]["ci-stream-table"];
        let history = data.pointer(&format!("{PORTS}/2/ieee802-dot1q-bridge:bridge-port"));
        let history = &history.expect("a port")["sluice-headroom-measurement:measurement"];
        if streams.is_array() && history["history"].is_array() {
            return data;
        }
        assert!(start.elapsed() < Duration::from_secs(20), "no stream, or no history: {data:#}");
    }
}

#[test]
fn yanglint_accepts_what_a_switch_serves_and_refuses_wrong_values() {
    if is_missing() {
        return;
    }
    let dir = Dir::new("yang");
    let switch = start(&dir);
    switch.obey(&["set", "max-cim-tx", "65535"]);
    switch.obey(&["set", "cip-ipv4-address", "10.0.0.1", "--port", "a"]);
    let data = with_tables(&switch);
    let a = format!("{PORTS}/0/ieee802-dot1q-bridge:bridge-port");
    let port = data.pointer(&a).expect("a port");
    assert_eq!(port[&format!("{BRIDGE}:max-cim-tx")], 65_535);
    assert_eq!(port[&format!("{BRIDGE}:cip-ipv4-address")], "10.0.0.1");
    assert_eq!(port[&format!("{BRIDGE}:queue-map")].as_array().map(Vec::len), Some(8));
    let pfc = &port["sluice-priority-flow-control:pfc"];
    assert!(pfc["ieee8021PfcRequests"].is_u64() && pfc["ieee8021PfcIndications"].is_u64(), "{pfc}");
    assert!(pfc["ieee8021PfcLinkDelayAllowance"].as_u64() > Some(0), "{pfc}");
    let component = |name: &str| format!("{COMPONENT}/{name}");
    let wrong = [
        (format!("{a}/{BRIDGE}:max-cim-tx"), json!(65_536)),
        (format!("{a}/{BRIDGE}:queue-map/3/abs-traffic-class-plus-one"), json!("monitored-9")),
        (component(&format!("{BRIDGE}:ci-cim-tx-priority")), json!(8)),
        (component("sluice-source-flow-control:sfc/sfcmUDPPort"), json!(49_151)),
        // A number of 64 bits is a string.
        (component("sluice-source-flow-control:sfc/sfcTransmittedSFCMs"), json!(5)),
        (component("sluice-source-flow-control:sfc/sfc.form"), json!("long")),
    ];
    for modules in folders() {
        judge(&dir, &modules, "data", &data).unwrap_or_else(|why| panic!("{why}\n{data:#}"));
        for (place, value) in &wrong {
            let mut data = data.clone();
            let place_of = data.pointer_mut(place).unwrap_or_else(|| panic!("there is no {place}"));
            *place_of = value.clone();
            assert!(judge(&dir, &modules, "data", &data).is_err(), "{place}: {value}");
        }
        let mut data = data.clone();
        data["ietf-interfaces:interfaces"]["interface"][0]["sluice-switch:other"] = json!(1);
        assert!(judge(&dir, &modules, "data", &data).is_err(), "an unknown node");
    }
    switch.obey(&["set", "measurement.rounds", "6", "--port", "loop"]);
    let told = switch.ctl(&["watch", "--all", "--duration", "300ms", "--format", "json"]);
    let told: Vec<Value> = text(&told.stdout)
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["notification"].clone())
        .collect();
    let of = |name: &str| told.iter().find(|one| one.get(name).is_some());
    let completed = of("sluice-headroom-measurement:measurement-completed").expect("a result");
    let set = of("sluice-switch:object-changed").expect("an object was set");
    for modules in folders() {
        for notification in [completed, set] {
            judge(&dir, &modules, "notif", notification).unwrap_or_else(|why| panic!("{why}"));
        }
        let mut wrong = completed.clone();
        wrong["sluice-headroom-measurement:measurement-completed"]["method"] = json!("guess");
        assert!(judge(&dir, &modules, "notif", &wrong).is_err());
    }
    switch.obey(&["stop"]);
    switch.end();
}

/// Needs no yanglint.
#[test]
fn measurements_are_set_remembered_and_told() {
    let dir = Dir::new("yang-measured");
    let switch = start(&dir);
    with_tables(&switch);
    switch.obey(&["set", "measurement.rounds", "7", "--port", "loop"]);
    let why = switch.refuse(&["set", "measurement.rounds", "7", "--port", "a"]);
    assert!(why.contains("measurement: {initiate: true}"), "{why}");
    let why = switch.refuse(&["set", "measurement.requests", "6", "--port", "loop"]);
    assert!(why.contains("7 round trips need 7 to 256 requests"), "{why}");
    let start = Instant::now();
    let rows = loop {
        let found = switch.ctl(&["measurements", "loop", "--format", "json"]);
        let found: Value = serde_json::from_slice(&found.stdout).expect("JSON");
        let rows = found["measurements"].as_array().expect("rows").clone();
        if rows.iter().any(|row| row["rounds"] == 7) {
            break rows;
        }
        assert!(start.elapsed() < Duration::from_secs(20), "{found:#}");
    };
    assert_eq!(rows[0]["rounds"], 5, "as in the file: {:#}", rows[0]);
    let numbers: Vec<_> = rows.iter().map(|row| row["number"].as_u64()).collect();
    assert!(numbers.is_sorted());
    let hgrm = dir.path("loop.hgrm");
    let shown = switch.ctl(&["measurements", "loop", "--hgrm", hgrm.to_str().unwrap()]);
    assert!(text(&shown.stdout).contains("p90"), "{}", text(&shown.stderr));
    let hgrm = std::fs::read_to_string(hgrm).unwrap();
    assert!(hgrm.contains("1/(1-Percentile)") && hgrm.contains("#[Max"), "{hgrm}");
    let saved = text(&switch.ctl(&["save"]).stdout);
    assert!(saved.contains("rounds: 7"), "{saved}");
    let table = text(&switch.ctl(&["get", "measurement-table"]).stdout);
    assert!(table.contains("loop") && table.contains("round_trip"), "{table}");
    switch.obey(&["stop"]);
    switch.end();
}
