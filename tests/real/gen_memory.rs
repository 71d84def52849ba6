//! The memory that is calculated for a test, with what running it takes; tests beyond it.

use std::fs;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use serde_json::{Value, json};
use sluice::dpdk::{EalOptions, Memory, give_back_memory};
use sluice::otg::engine::{Engine, RefusalKind};
use sluice::otg::file;
use sluice::tester::drive::{Limits, drive};
use sluice::tester::engine::{TesterEngine, TesterOptions};
use sluice::tester::memory::{World, memory_needed};
use sluice::tester::plan::TestPlan;
use sluice::tester::virtual_run::VirtualTest;
use sluice::time::Duration;

use crate::apart::own_process;
use crate::calls::{flows, packets, port, transmit, udp, wait_stopped};

/// The factor by which the calculation may be off, either way.
const FACTOR: f64 = 1.5;

/// Bytes that a test of this engine may take beside the one that runs.
const LIMIT: u64 = 256 << 20;

/// Engine of this process, for one test at a time: DPDK starts once.
fn engine() -> MutexGuard<'static, TesterEngine> {
    static ENGINE: OnceLock<Mutex<TesterEngine>> = OnceLock::new();
    let engine = ENGINE.get_or_init(|| {
        let eal = EalOptions { memory: Memory::NoHuge, ..EalOptions::default() };
        let memory = Some(LIMIT);
        Mutex::new(TesterEngine::new(TesterOptions { eal, memory, ..TesterOptions::default() }))
    });
    engine.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A field of this process's memory in bytes.
fn memory(field: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    let kib: u64 = line.unwrap().trim().trim_end_matches(" kB").parse().unwrap();
    kib << 10
}

/// Compares `needed`, calculated for a test, with the most that `run` takes; returns a text if it is
/// off.
fn compare(name: &str, needed: u64, run: impl FnOnce()) -> Option<String> {
    give_back_memory();
    // Sets the most that this process has had to what it has (proc(5)).
    fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = memory("VmRSS");
    run();
    let taken = memory("VmHWM") - before;
    let ratio = needed as f64 / taken as f64;
    let off = format!("{name}: {needed} bytes calculated, {taken} taken, {ratio:.2}");
    println!("{off}");
    (!(1.0 / FACTOR..FACTOR).contains(&ratio)).then_some(off)
}

/// Ends of pairs in memory; those of a higher number are of other pairs.
fn pairs(n: usize) -> Value {
    let end = |n: usize| {
        let location = format!("ring:pair{}.{}", n / 2, ["a", "b"][n % 2]);
        json!({"name": format!("p{}", n + 1), "location": location})
    };
    (0..2 * n).map(end).collect()
}

fn many(n: usize, pps: u64, frames: u64) -> Vec<Value> {
    (0..n).map(|n| udp(&format!("f{n}"), 0, pps, packets(frames))).collect()
}

/// Hosts with this number of queue pairs, each of which has a flow to its peer.
fn connections(n: usize) -> Value {
    let host = |h: usize| {
        let address = |h: usize| format!("10.1.1.{h}");
        let qps: Vec<_> = (0..n)
            .map(|q| {
                let kind = json!({"source_qp_number": 30 + q});
                json!({"qp_name": format!("q{h}.{q}"), "connection_type": {
                    "choice": "reliable_connection", "reliable_connection": kind}})
            })
            .collect();
        let peer = json!({"name": format!("peer{h}"), "destination_ip_address": address(3 - h),
            "qps": qps});
        json!({"name": format!("d{h}"),
            "ethernets": [{"name": format!("e{h}"), "mac": format!("02:00:00:00:00:0{h}"),
                "connection": {"choice": "port_name", "port_name": format!("p{h}")},
                "ipv4_addresses": [{"name": format!("i{h}"), "address": address(h),
                    "gateway": address(3 - h)}]}],
            "rocev2": {"ipv4_interfaces": [{"ipv4_name": format!("i{h}"), "peers": [peer]}]}})
    };
    let flow = |q: usize| {
        json!({"name": format!("q1.{q}"), "tx_endpoint": format!("q1.{q}"),
            "rocev2_verb": {"choice": "write"}, "message_size": 6, "message_size_unit": "kb"})
    };
    let flows: Vec<_> = (0..n).map(flow).collect();
    json!({"ports": pairs(1), "devices": [host(1), host(2)],
        "stateful_flows": {"choice": "rocev2", "rocev2": [{"tx_ports": [{"port_name": "p1",
            "transmit_type": {"choice": "target_line_rate",
                "target_line_rate": {"value": 5, "flows": flows}}}]}]}})
}

/// Waits until port `p2` has received so many frames.
fn received(engine: &TesterEngine, frames: u64) {
    while port(engine, "p2")["frames_rx"].as_u64().unwrap() < frames {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

fn plan(config: &Value) -> TestPlan {
    file::parse("x.json", &config.to_string(), &|_| None).unwrap().0.plan
}

#[test]
fn tests_take_as_much_memory_as_is_calculated() {
    own_process!();
    let engine = engine();
    // Pages of the devices' packet buffers become resident when a frame is in them: all have one in turn.
    engine.set_config(&connections(1)).unwrap();
    transmit(&engine, "start", &[]);
    received(&engine, 500_000);
    transmit(&engine, "stop", &[]);
    wait_stopped(&engine);
    // Both memories of no flows have the port's own, which is small.
    let idle = plan(&json!({"ports": pairs(1)}));
    let devices = memory_needed(&idle, World::Real) - memory_needed(&idle, World::Virtual);
    let mut listed = many(40, 5, 1);
    for flow in &mut listed {
        let ports: Vec<_> = (1..20_000).collect();
        flow["packet"][2]["udp"]["src_port"] = json!({"choice": "values", "values": ports});
    }
    let cases = [
        ("ports", json!({"ports": pairs(9), "flows": many(1, 5, 3)})),
        ("flows", json!({"ports": pairs(1), "flows": many(3_000, 5, 3)})),
        ("values", json!({"ports": pairs(1), "flows": listed})),
        ("connections", connections(200)),
    ];
    let mut off = Vec::new();
    for (name, config) in cases {
        // The devices stay open from one test to the next, and are no part of the flows.
        let kept = if name == "ports" { 0 } else { devices };
        off.extend(compare(name, memory_needed(&plan(&config), World::Real) - kept, || {
            engine.set_config(&config).unwrap();
            transmit(&engine, "start", &[]);
            if name == "connections" {
                // Hundreds of messages of each connection.
                received(&engine, 500_000);
                transmit(&engine, "stop", &[]);
            }
            wait_stopped(&engine);
        }));
        engine.set_config(&json!({})).unwrap();
    }
    assert!(off.is_empty(), "{off:#?}");
}

#[test]
fn tests_in_the_virtual_world_take_as_much_memory_as_is_calculated() {
    own_process!();
    let _one = engine();
    let mut off = Vec::new();
    for (name, config) in [
        ("ports", json!({"ports": pairs(200), "flows": many(1, 5, 3)})),
        ("flows", json!({"ports": pairs(1), "flows": many(3_000, 5, 3)})),
        ("connections", connections(200)),
    ] {
        let plan = plan(&config);
        off.extend(compare(name, memory_needed(&plan, World::Virtual), || {
            let mut test = VirtualTest::new(plan.clone()).unwrap();
            let duration = Some(Duration::from_secs(1));
            let limits = Limits { duration, drain: Duration::from_millis(100) };
            drive(&plan, &mut test, limits, |_, _| true).map(drop).unwrap();
        }));
    }
    assert!(off.is_empty(), "{off:#?}");
}

#[test]
fn a_client_is_told_the_sum_and_the_configuration_before_stays() {
    own_process!();
    let engine = engine();
    let first = json!({"ports": pairs(1), "flows": many(2, 500, 5)});
    engine.set_config(&first).unwrap();
    let config = engine.config();
    transmit(&engine, "start", &[]);
    wait_stopped(&engine);
    let large = json!({"ports": pairs(1), "flows": many(12_000, 5, 3)});
    let refusal = engine.set_config(&large).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::Validation);
    let text = refusal.to_string();
    for part in ["ports, flows: 12000 `flows` x ", " that are available here: configure fewer"] {
        assert!(text.contains(part), "{text}");
    }
    assert_eq!(engine.config(), config);
    let kept = flows(&engine);
    assert_eq!(kept.len(), 2);
    assert!(kept.iter().all(|flow| flow["frames_rx"] == 5), "{kept:#?}");
    engine.set_config(&json!({})).unwrap();
}

#[test]
fn the_memory_of_a_running_test_counts_for_the_next_one() {
    own_process!();
    let engine = engine();
    let of = |flows| json!({"ports": pairs(1), "flows": many(flows, 5, 3)});
    let needed = |flows| memory_needed(&plan(&of(flows)), World::Real);
    let beyond = (LIMIT / (needed(2) - needed(1))) as usize;
    engine.set_config(&json!({})).unwrap();
    engine.set_config(&of(beyond)).unwrap_err();
    engine.set_config(&of(beyond / 2)).unwrap();
    engine.set_config(&of(beyond)).unwrap();
    engine.set_config(&json!({})).unwrap();
    engine.set_config(&of(beyond)).unwrap_err();
}
