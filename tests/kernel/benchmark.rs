//! `sluice benchmark` of devices that were not written here: a bridge of the kernel and Open vSwitch with
//! a shaped port, a bridge with a table of addresses, and one that is reset, behind veth pairs.

use std::process::Command;

use serde_json::{Value, json};

use crate::netns::{cables, isolated, must, openvswitch::OpenVSwitch};
use crate::run::{Dir, sluice, text};

/// Runs while the machine is too busy.
const RUNS_MAX: usize = 5;

/// Rate of the shaped port in bit/s. The kernel counts frames without FCS.
const SHAPED: f64 = 50e6;

/// Frame size in bytes, FCS included.
const SIZE: f64 = 1518.0;

/// Relative width of the search.
const WIDTH: f64 = 0.02;

/// Largest error of the kernel's shaper and of the tester's pacing, relative.
const UNCERTAINTY: f64 = 0.02;

/// A bridge between this number of interfaces, `t0` and more, that forgets addresses after a second.
fn bridge(ports: usize) {
    let ip = |args: &str| {
        must(Command::new("ip").args(args.split_whitespace()));
    };
    cables(ports);
    // In hundredths of a second.
    ip("link add br0 type bridge ageing_time 100");
    for n in 0..ports {
        ip(&format!("link set d{n} master br0"));
    }
    ip("link set br0 up");
}

/// Makes the bridge's port at `t1` send at `SHAPED`.
fn shape() {
    let shaper = "qdisc add dev d1 root tbf rate 50mbit burst 6000 limit 30000";
    must(Command::new("tc").args(shaper.split(' ')));
}

/// Runs tests of a procedure, again while they are inconclusive; `None` if all runs are: that is a result on a
/// busy machine, and says nothing about the device.
fn measure(dir: &Dir, procedure: &str, only: &[&str]) -> Option<Value> {
    let file = dir.path("benchmark.yaml");
    let run = || -> Value {
        let mut command = sluice();
        command.args(["benchmark", procedure]).arg(&file).args(["--format", "json", "--no-huge"]);
        only.iter().for_each(|only| {
            command.args(["--only", only]);
        });
        let output = command.output().unwrap();
        let results: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
            panic!("{error}: {}{}", text(&output.stdout), text(&output.stderr))
        });
        let is_unjudged =
            ["inconclusive", "not_judged"].map(Value::from).contains(&results["verdict"]);
        assert_eq!(output.status.code() == Some(4), is_unjudged, "{results:#}");
        results
    };
    for _ in 0..RUNS_MAX {
        let results = run();
        if results["verdict"] != "inconclusive" {
            return Some(results);
        }
        // The reason names who had no CPU, or trials that disagree.
        let why = results["ended"].as_str().unwrap_or_default();
        let words = ["CPU", "behind its schedule", "disagree", "the machine is too busy"];
        assert!(words.iter().any(|word| why.contains(word)), "{results:#}");
        eprintln!("repeated: {why}");
    }
    eprintln!("inconclusive: the machine was too busy for {RUNS_MAX} runs");
    None
}

/// Measures the throughput of a device whose port at `t1` is shaped. Every result, and so two that are not
/// inconclusive, is near the capacity: a busy machine does not lower it.
fn found_twice(dir: &Dir) {
    shape();
    dir.write("dut.yaml", "rate: 100M\nports: [{location: 'iface:t0'}, {location: 'iface:t1'}]\n");
    dir.write(
        "benchmark.yaml",
        "dut: dut.yaml\nsizes: [1518]\nmax_load: 90%\ntrial: 1s\ndrain: 300ms\nrest: 10ms\nwidth: 2%\n\
         back_to_back: {duration: 500ms, repeats: 1}\n",
    );
    let capacity = SHAPED / (8.0 * (SIZE - 4.0));
    for _ in 0..2 {
        let Some(results) = measure(dir, "rfc2544", &["throughput"]) else { return };
        let row = &results["runs"][0]["throughput"][0];
        assert_eq!(results["world"], "real");
        assert!(results["tester_limits_unknown"].is_null(), "{results:#}");
        // A tester that carries less than the capacity finds no upper bound.
        if !row["irregular"].is_null() {
            assert!(results["tester_limits"].is_array(), "{results:#}");
            continue;
        }
        let [low, high] =
            ["frames_per_second", "loss_at"].map(|field| row[field].as_f64().unwrap());
        assert!(low < high && high - low <= WIDTH * high * 1.0001, "{row:#}");
        assert!(row["took_s"].as_f64() > Some(1.0), "{row:#}");
        let error = (low - capacity).abs() / low.max(capacity);
        assert!(error <= WIDTH + UNCERTAINTY, "capacity {capacity}: {results:#}");
    }
}

#[test]
fn a_tester_without_its_ports_says_why_its_limits_are_unknown() {
    isolated(&[], || {
        let dir = Dir::new("no-limits");
        cables(1);
        dir.write(
            "dut.yaml",
            "rate: 100M\nports: [{location: 'iface:t0'}, {location: 'iface:t9'}]\n",
        );
        dir.write("benchmark.yaml", "dut: dut.yaml\nsizes: [1518]\ntrial: 100ms\n");
        let results = measure(&dir, "rfc2544", &["throughput"]).expect("no port is judged");
        let why = results["tester_limits_unknown"].as_str().unwrap_or_default();
        assert!(why.contains("t9"), "{results:#}");
        assert_eq!((&results["ended"], &results["runs"]), (&json!(why), &json!([])), "{results:#}");
        assert!(results["tester_limits"].is_null(), "{results:#}");
    });
}

#[test]
fn the_throughput_of_a_shaped_bridge_is_found_twice() {
    isolated(&[], || {
        let dir = Dir::new("shaped");
        bridge(2);
        found_twice(&dir);
    });
}

#[test]
fn the_throughput_of_open_vswitch_is_found_twice() {
    let tools = ["ovs-vswitchd", "ovsdb-server", "ovs-vsctl"];
    isolated(&tools, || {
        let dir = Dir::new("ovs-benchmark");
        cables(2);
        let _switch = OpenVSwitch::start(&dir, 2);
        found_twice(&dir);
    });
}

/// Shortest time in milliseconds for which a port leaves its bridge.
const AWAY_MS: f64 = 400.0;

/// Precision of the time: a few distances of two frames.
const PRECISION_MS: f64 = 20.0;

/// A command takes a port off its bridge, and gives it back: nothing is forwarded meanwhile. It notes its
/// begin and its end, between which the port is away.
#[test]
fn a_reset_of_a_bridge_takes_as_long_as_its_command() {
    isolated(&[], || {
        let dir = Dir::new("reset");
        bridge(2);
        let noted = |name: &str| dir.path(name).display().to_string();
        let away = format!(
            "date +%s%N > {}; ip link set d1 nomaster; sleep 0.4; ip link set d1 master br0; date +%s%N > {}",
            noted("begin"),
            noted("end")
        );
        dir.write(
            "dut.yaml",
            &format!(
                "rate: 100M\nports: [{{location: 'iface:t0'}}, {{location: 'iface:t1'}}]\n\
                 adapter: {{command: {{resets: {{software: [sh, -c, '{away}']}}}}}}\n"
            ),
        );
        dir.write(
            "benchmark.yaml",
            "dut: dut.yaml\nsizes: [1518]\nmax_load: 5%\ntrial: 500ms\ndrain: 300ms\nrest: 10ms\nwidth: 20%\n\
             reset: {steady: 1s, longest: 2s, repeats: 1}\n",
        );
        let at = |name: &str| -> f64 {
            let text = std::fs::read_to_string(dir.path(name)).unwrap();
            text.trim().parse::<f64>().unwrap() / 1e6
        };
        // Frames that another process delays may be lost, before the reset or after it.
        for left in (0..RUNS_MAX).rev() {
            let Some(results) = measure(&dir, "rfc2544", &["reset"]) else { return };
            let row = &results["runs"][0]["reset"][0];
            let longest = at("end") - at("begin");
            if let Some(ms) = row["mean_ms"].as_f64() {
                assert_eq!(row["kind"], "software", "{results:#}");
                assert!(ms > AWAY_MS - PRECISION_MS, "{results:#}");
                if ms < longest + PRECISION_MS {
                    return;
                }
            }
            eprintln!("repeated, the command took {longest} ms: {results:#}");
            assert!(left > 0, "frames are lost around the reset: {results:#}");
        }
    });
}

/// The egress port is slower than the connection and the bursts, so its buffer drops, and the connection
/// fills what is left.
#[test]
fn connections_get_no_more_than_a_shaped_port_carries() {
    isolated(&[], || {
        let dir = Dir::new("incast");
        bridge(3);
        must(
            Command::new("tc")
                .args("qdisc add dev d2 root tbf rate 50mbit burst 6000 limit 30000".split(' ')),
        );
        let dut = |queues: &str| {
            let ports = ["t0", "t1", "t2"].map(|t| format!("{{location: 'iface:{t}{queues}'}}"));
            dir.write("dut.yaml", &format!("rate: 100M\nports: [{}]\n", ports.join(", ")));
        };
        dir.write(
            "benchmark.yaml",
            "dut: dut.yaml\nsizes: [1518]\ntrial: 1s\ndrain: 300ms\nrest: 10ms\nwidth: 10%\n",
        );
        dut("");
        let payload = SHAPED * (SIZE - 58.0) / (SIZE - 4.0);
        for left in (0..RUNS_MAX).rev() {
            let Some(results) = measure(&dir, "rfc8239", &["incast"]) else { return };
            let rows = results["runs"][0]["incast"].as_array().unwrap();
            assert_eq!(rows.len(), 1, "{results:#}");
            let number = |name: &str| rows[0][name].as_f64().unwrap();
            let (alone, with) = (number("alone_bps"), number("goodput_bps"));
            assert!(alone.max(with) < payload * (1.0 + UNCERTAINTY), "{results:#}");
            // A connection on a busy machine does not fill the port.
            let filled = alone > payload / 2.0 && with > payload / 4.0;
            if filled && number("burst_lost") > 0.0 && number("retransmitted") > 0.0 {
                break;
            }
            eprintln!("repeated: {results:#}");
            assert!(left > 0, "the port is not filled: {results:#}");
        }
        dut("?queues=2");
        let Some(results) = measure(&dir, "rfc8239", &["incast"]) else { return };
        let notes = results["runs"][0]["notes"].to_string();
        assert!(notes.contains("several queues"), "{results:#}");
        assert_eq!(results["verdict"], "not_judged", "it was asked for by name: {results:#}");
        assert!(results["runs"][0]["incast"].is_null(), "{results:#}");
        // The parts of a flow in two queues are counted as one.
        dir.write(
            "benchmark.yaml",
            "dut: dut.yaml\nsizes: [512]\nmax_load: 2%\ntrial: 500ms\ndrain: 300ms\nrest: 10ms\nwidth: 50%\n",
        );
        for left in (0..RUNS_MAX).rev() {
            let Some(results) = measure(&dir, "rfc2544", &["throughput"]) else { return };
            let row = &results["runs"][0]["throughput"][0];
            let [rate, line] =
                ["frames_per_second", "line_frames_per_second"].map(|name| row[name].as_f64());
            if rate.zip(line).is_some_and(|(rate, line)| (rate / line - 0.02).abs() < 1e-9) {
                return;
            }
            eprintln!("repeated: {results:#}");
            assert!(left > 0, "frames of two queues are lost: {results:#}");
        }
    });
}

/// Addresses that are tried. The kernel's table has no limit that this reaches.
const ADDRESSES: u64 = 100;

#[test]
fn a_bridge_of_the_kernel_learns_all_addresses() {
    isolated(&[], || {
        let dir = Dir::new("addresses");
        bridge(3);
        let ports = ["t0", "t1", "t2"].map(|name| format!("{{location: 'iface:{name}'}}"));
        dir.write("dut.yaml", &format!("rate: 100M\nports: [{}]\n", ports.join(", ")));
        dir.write(
            "benchmark.yaml",
            "dut: dut.yaml\nsizes: [256]\nmax_load: 2%\ntrial: 500ms\ndrain: 300ms\nrest: 10ms\nwidth: 10%\n\
             learning: {addresses: 100, rate: 500, ageing: 2s}\n",
        );
        let Some(results) = measure(&dir, "rfc2889", &["addresses"]) else { return };
        let row = &results["runs"][0]["addresses"][0];
        assert_eq!(row["addresses"].as_u64(), Some(ADDRESSES), "{results:#}");
        assert_eq!(row["addresses_at_limit"], true, "{results:#}");
        assert!(row["learning_per_second"].as_f64() > Some(500.0), "{results:#}");
        // A frame that another process delays may be lost, so a lower result is measured again.
        for left in (0..RUNS_MAX).rev() {
            let Some(results) = measure(&dir, "rfc2889", &["broadcast"]) else { return };
            let row = &results["runs"][0]["broadcast"][0];
            if row["throughput_percent"].as_f64() == Some(2.0) {
                assert!(row["latency"]["max_ns"].as_f64() > Some(0.0), "{results:#}");
                return;
            }
            eprintln!("repeated: {results:#}");
            assert!(left > 0, "broadcast frames are lost: {results:#}");
        }
    });
}
