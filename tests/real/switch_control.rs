//! Inspection and changes of a running switch: control socket, metrics, DPDK's telemetry.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::run::{self, Dir, Switch, frame, text, write_pcap};

const A: [u8; 6] = [2, 0, 0, 0, 1, 0xa];
const B: [u8; 6] = [2, 0, 0, 0, 1, 0xb];

/// Two hosts that send to each other without end, 16 frames of each priority in turn.
fn busy(dir: &Dir) -> String {
    for (name, dst, src) in [("a", B, A), ("b", A, B)] {
        let frames: Vec<_> = (0..128).map(|n| frame(dst, src, (n / 16) as u8, n, 300)).collect();
        write_pcap(&dir.path(&format!("{name}.in")), &frames);
    }
    let d = dir.0.display();
    format!(
        "defaults: {{rate: 10G, pfc: {{enable: [3]}}}}\n\
         observe: {{telemetry: true}}\n\
         ports:\n\
         - {{name: a, device: 'net_pcap0,rx_pcap={d}/a.in,infinite_rx=1'}}\n\
         - {{name: b, device: 'net_pcap1,rx_pcap={d}/b.in,infinite_rx=1'}}\n"
    )
}

/// `switch::tests::flow_control` has its effect on a storm.
#[test]
fn the_watchdog_of_a_port_is_stopped_and_started() {
    let dir = Dir::new("watchdog");
    let file = "defaults: {rate: 10G, pfc: {enable: [3]}}\nports:\n\
                - {name: a, device: net_null0, watchdog: {}}\n\
                - {name: b, device: net_null1}\n\
                - {name: c, device: net_null2, watchdog: {enabled: false}}\n";
    let switch = Switch::start(&dir, "watchdog", file, &[]);
    let enabled = || {
        let got = switch.ctl(&["--format", "json", "get", "watchdog.enabled"]);
        let tree: serde_json::Value = serde_json::from_slice(&got.stdout).unwrap();
        let ports = tree["sluice:watchdog"]["port"].as_array().unwrap().clone();
        ports.iter().map(|p| p["watchdog.enabled"].as_bool().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(enabled(), [true, false], "b has none");
    switch.obey(&["set", "watchdog.enabled", "off", "--port", "a"]);
    switch.obey(&["set", "watchdog.enabled", "on", "--port", "c"]);
    assert_eq!(enabled(), [false, true]);
    switch.obey(&["set", "watchdog.enabled", "on"]);
    assert_eq!(enabled(), [true, true]);
    let why = switch.refuse(&["set", "watchdog.enabled", "on", "--port", "b"]);
    assert!(why.contains("put `watchdog: {}` into its part of the file"), "{why}");
    let why = switch.refuse(&["set", "watchdog.enabled", "1", "--port", "a"]);
    assert!(why.contains("true or false"), "{why}");
    switch.stop();
}

#[test]
fn thresholds_links_and_counters_change_while_frames_flow() {
    let dir = Dir::new("control");
    let switch = Switch::start(&dir, "control", &busy(&dir), &[]);
    let mode = std::fs::metadata(switch.socket()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "the socket is its owner's alone");
    switch.wait("flowing", |s| s["ports"][1]["tx_frames"].as_u64() > Some(1_000));

    switch.obey(&["set-group", "a", "3", "--dynamic-th", "-2", "--xon-offset", "8KiB"]);
    switch.obey(&["set-group", "a", "0", "--static-th", "64KiB"]);
    for nothing in [["set-group", "a", "3"], ["set-ecn", "b", "0"]] {
        let why = switch.refuse(&nothing);
        assert!(why.contains("nothing to change"), "{why}");
    }
    let why = switch.refuse(&["set-group", "a", "3", "--xoff", "1KiB"]);
    assert!(why.contains("bytes of headroom, 1024 were requested"), "{why}");
    let why = switch.refuse(&["set-group", "b", "0", "--xoff", "1MiB"]);
    assert!(why.contains("is lossy"), "{why}");
    let why = switch.refuse(&["set-group", "b", "3", "--reserved", "1GiB"]);
    assert!(why.contains("overcommitted"), "{why}");
    let why = switch.refuse(&["set-group", "c", "3", "--xoff", "1MiB"]);
    assert!(why.contains("there is no port c; there are a, b"), "{why}");

    let why = switch.refuse(&["set-ecn", "b", "2", "--kmin", "1KB"]);
    assert!(why.contains("needs kmin, kmax and pmax"), "{why}");
    switch.obey(&["set-ecn", "b", "2", "--kmin", "1KB", "--kmax", "2KB", "--pmax", "1"]);
    let why = switch.refuse(&["set-ecn", "b", "2", "--kmin", "3KB"]);
    assert!(why.contains("kmin 3000") && why.contains("is above kmax 2000"), "{why}");
    assert!(!why.contains("pmax"), "{why}");
    switch.obey(&["set-ecn", "b", "2", "--off"]);

    switch.obey(&["link", "1", "down"]);
    let down = switch.wait("down", |s| s["drops"]["link_down"].as_u64() > Some(0));
    assert_eq!(down["ports"][1]["up"], false);
    switch.obey(&["link", "b", "up"]);
    switch.obey(&["flush-fdb"]);
    let before = switch.show()["elapsed_ns"].as_u64();
    switch.obey(&["clear"]);
    let after = switch.wait("flowing again", |s| s["ports"][1]["tx_frames"].as_u64() > Some(1_000));
    assert!(after["elapsed_ns"].as_u64() < before);
    assert_eq!(after["drops"]["link_down"], 0);
    assert_eq!(after["balance"]["holds"], true, "{after:#}");

    let table = switch.ctl(&["show"]);
    assert!(text(&table.stdout).contains("every frame is accounted for"));
    let second = run::command(&dir.0, "switch")
        .arg(dir.write("null.yaml", "ports: [{device: net_null0}, {device: net_null1}]"))
        .args(["--no-huge", "--control"])
        .arg(switch.socket())
        .output()
        .unwrap();
    assert_eq!(second.status.code(), Some(3), "{}", text(&second.stderr));
    assert!(text(&second.stderr).contains("name another path"), "{}", text(&second.stderr));

    switch.obey(&["stop"]);
    let socket = switch.socket();
    let (status, out) = switch.end();
    let summary: serde_json::Value = serde_json::from_str(&out).unwrap();
    // Senders that ignore PFC overrun the headroom of priority 3, which the verdict reports.
    let lost = summary["lossless_lost_frames"].as_u64().unwrap();
    assert_eq!(status, Some(i32::from(lost > 0)));
    assert_eq!(summary["balance"]["holds"], true);
    assert!(!socket.exists());
}

/// Value of an object as a client sees it.
fn get(switch: &Switch, args: &[&str]) -> serde_json::Value {
    let output = switch.ctl(&[&["--format", "json", "get"], args].concat());
    assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn managed_objects_are_read_and_written_under_their_own_names() {
    let dir = Dir::new("objects");
    let file = format!(
        "sfc: {{queues: {{3: {{threshold: 100KB, target: 50KB}}}}}}\n\
         congestion_isolation: {{isolate: {{3: 4}}}}\n{}",
        busy(&dir)
    );
    let switch = Switch::start(&dir, "objects", &file, &[]);
    let sfc = "sluice-source-flow-control:sfc";
    let ci = "ieee802-dot1q-congestion-isolation-bridge:congestion_isolation";
    // Defaults of the documents, and values of the file.
    assert_eq!(get(&switch, &["sfcMaxSFCM"])[sfc]["sfcMaxSFCM"], 3);
    assert_eq!(get(&switch, &["sfcMonitoredQueues"])[sfc]["sfcMonitoredQueues"], 8);
    assert_eq!(get(&switch, &["queue-map"])[ci]["queue-map"][3], -5);
    // A written value is in effect, and is the only change.
    let before = get(&switch, &["sfcmUDPPort"]);
    switch.obey(&["set", "sfcMaxSFCM", "7"]);
    switch.obey(&["set", "sfcMasterEnable", "off"]);
    switch.obey(&["set", "sfc.spacing", "25us"]);
    switch.obey(&["set", "ci-max-flow-life", "2s"]);
    switch.obey(&["set", "queue-map", "0,0,0,-6,0,4,0,0"]);
    switch.obey(&["set", "cip-mac-address", "02:00:00:00:00:77", "--port", "b"]);
    assert_eq!(get(&switch, &["sfcMaxSFCM"])[sfc]["sfcMaxSFCM"], 7);
    assert_eq!(get(&switch, &["sfcMasterEnable"])[sfc]["sfcMasterEnable"], false);
    assert_eq!(get(&switch, &["sfc.spacing"])[sfc]["sluice:sfc.spacing"], 25_000);
    assert_eq!(get(&switch, &["ci-max-flow-life"])[ci]["ci-max-flow-life"], 200);
    assert_eq!(get(&switch, &["queue-map"])[ci]["queue-map"][5], 4);
    assert_eq!(get(&switch, &["sfcmUDPPort"]), before);
    let point = get(&switch, &["cip-mac-address"]);
    assert_eq!(point[ci]["port"][1]["cip-mac-address"], "02-00-00-00-00-77");
    assert!(point[ci]["port"][0].get("cip-mac-address").is_none(), "{point:#}");
    // One value per queue of each port.
    switch.obey(&["set", "sfc.queues.threshold", "200KB", "--port", "a", "--class", "3"]);
    let thresholds = get(&switch, &["sfc.queues.threshold", "--class", "3"]);
    let queue = |port: usize| &thresholds[sfc]["port"][port]["queue"][0];
    assert_eq!(queue(0)["traffic-class"], 3);
    assert_eq!(queue(0)["sluice:sfc.queues.threshold"], 200_000);
    assert_eq!(queue(1)["sluice:sfc.queues.threshold"], 100_000);
    // A counter is one number, unless it is requested per port or queue.
    let sent = get(&switch, &["sfcTransmittedSFCMs"]);
    assert!(
        sent[sfc]["sfcTransmittedSFCMs"].is_string() && sent[sfc]["port"].is_null(),
        "{sent:#}"
    );
    let sent = get(&switch, &["sfcTransmittedSFCMs", "--port", "b", "--class", "3"]);
    assert!(sent[sfc]["port"][0]["queue"][0]["sfcTransmittedSFCMs"].is_string(), "{sent:#}");

    for (args, why) in [
        (&["set", "sfcmUDPPort", "49151"][..], "sfcmUDPPort: wanted is 49152 to 65535"),
        (&["set", "sfcmTransmitPriority", "8"], "sfcmTransmitPriority: wanted is 0 to 7"),
        (&["set", "sfcTransmittedSFCMs", "0"], "a counter"),
        (&["set", "max-ci-stream-entries", "8"], "change it in the file and restart"),
        (&["set", "sfc_proxy.policy.longest", "1ms"], "put `sfc_proxy: {}` into the file"),
        (&["set", "sfc.queues.target", "300KB"], "is above"),
        (&["set", "sfcmaxsfcm", "3"], "is sfcMaxSFCM meant?"),
        (&["set", "cip-cim-port", "5", "--port", "c"], "there is no port c; there are a, b"),
        (&["get", "sfc_proxy.policy.longest"], "put `sfc_proxy: {}` into the file"),
    ] {
        let said = switch.refuse(args);
        assert!(said.contains(why), "{args:?}: {said}");
    }
    let table = text(&switch.ctl(&["objects", "sfcM"]).stdout);
    assert!(table.contains("sfcMaxSFCM") && table.contains("1 to 4294967295"), "{table}");
    assert!(table.contains("sfcmMacAddress") && !table.contains("ci-master"), "{table}");
    let streams = get(&switch, &["ci-stream-table"]);
    assert!(streams[ci]["ci-stream-table"].is_array(), "{streams:#}");
    let all = switch.ctl(&["--format", "json", "objects"]);
    let tree: serde_json::Value = serde_json::from_slice(&all.stdout).unwrap();
    assert_eq!(tree[sfc]["sfcMinHeaderOctets"], 64, "also where messages have the simplified form");
    switch.obey(&["stop"]);
    switch.end();
}

#[test]
fn objects_are_described_without_a_switch() {
    let dir = Dir::new("described");
    let describe = |args: &[&str]| {
        let output = run::command(&dir.0, "ctl").args(args).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let table = describe(&["objects", "--describe", "udpport"]);
    assert!(table.contains("sfcmUDPPort") && table.contains("49152 to 65535"), "{table}");
    let json = describe(&["--format", "json", "objects", "--describe"]);
    let all: serde_json::Value = serde_json::from_str(&json).unwrap();
    let named = |name: &str| all.as_array().unwrap().iter().find(|o| o["name"] == name).unwrap();
    assert_eq!(named("ci-cim-tx-priority")["default"], 6);
    assert_eq!(named("sfcMinHeaderOctets")["default"], 64);
    assert_eq!(named("sfcTransmittedSFCMs")["access"], "ro");
}

#[test]
fn metrics_are_served_on_the_loopback() {
    let dir = Dir::new("metrics");
    let switch = Switch::start(&dir, "metrics", &busy(&dir), &["--prometheus", "0"]);
    let err = switch.stderr();
    let url = err.lines().find_map(|l| l.strip_prefix("metrics: http://")).expect(&err);
    let addr = url.strip_suffix("/metrics").unwrap();
    assert!(addr.starts_with("127.0.0.1:"), "{addr}");
    switch.wait("flowing", |s| s["ports"][1]["tx_frames"].as_u64() > Some(1_000));
    let mut stream = TcpStream::connect(addr).unwrap();
    let accept = "Accept: application/openmetrics-text";
    let request = format!("GET /metrics HTTP/1.1\r\nHost: x\r\n{accept}\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
    assert!(body.ends_with("# EOF\n"));
    // Each line is a comment, or a name, labels and a number.
    for line in body.lines().filter(|l| !l.starts_with('#')) {
        let (name, value) = line.rsplit_once(' ').unwrap();
        assert!(name.starts_with("sluice_") && name.ends_with('}'), "{line}");
        assert!(value.parse::<f64>().is_ok(), "{line}");
    }
    let sent =
        body.lines().find_map(|l| l.strip_prefix(r#"sluice_port_tx_frames_total{port="b"} "#));
    assert!(sent.unwrap().parse::<u64>().unwrap() > 1_000);
}

#[test]
fn dpdks_own_telemetry_shows_the_counters() {
    let dir = Dir::new("telemetry");
    let file = format!("switch: {{name: tele}}\n{}", busy(&dir));
    let switch = Switch::start(&dir, "telemetry", &file, &[]);
    switch.wait("flowing", |s| s["ports"][1]["tx_frames"].as_u64() > Some(1_000));
    // The client's protocol, by hand: a packet socket, one message each way. Python has the socket
    // type; dpdk-telemetry.py is not installed with the libraries alone.
    let script = "
import json, socket, sys, glob
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect(sys.argv[1])
s.recv(16384)
out = {}
for command in ['/sluice/ports', '/sluice/port,b', '/sluice/priorities,1', '/sluice/summary',
                '/sluice/drops', '/sluice/port,nosuch']:
    s.send(command.encode())
    out[command] = next(iter(json.loads(s.recv(16384)).values()))
print(json.dumps(out))
";
    let runtime = std::fs::metadata("/proc/self").map(|m| std::os::unix::fs::MetadataExt::uid(&m));
    let socket = match runtime {
        Ok(0) => "/var/run/dpdk/tele/dpdk_telemetry.v2".into(),
        _ => dir.path("dpdk/tele/dpdk_telemetry.v2"),
    };
    let python = Command::new("python3").arg("-c").arg(script).arg(&socket).output();
    let output = match python {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            crate::run::skipped("no python3");
            return;
        }
        output => output.unwrap(),
    };
    assert!(output.status.success(), "{socket:?}: {}", text(&output.stderr));
    let shown: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(shown["/sluice/ports"], serde_json::json!(["a", "b"]));
    assert_eq!(shown["/sluice/port,b"]["name"], "b");
    assert!(shown["/sluice/summary"]["balance"]["came"].as_u64() > Some(0), "{shown:#}");
    assert!(shown["/sluice/drops"].get("headroom_full").is_some(), "{shown:#}");
    assert!(shown["/sluice/priorities,1"].to_string().contains("pfc_rx_frames"), "{shown:#}");
    assert_eq!(shown["/sluice/port,nosuch"], "null");
}
