//! Calls of the engine behind the OTG server by tests: in OTG's JSON, on ports in memory.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sluice::dpdk::{EalOptions, Memory};
use sluice::otg::engine::{Engine, JsonText, Refusal};
use sluice::tester::engine::{TesterEngine, TesterOptions};

/// Engine of this process, for one test at a time: DPDK starts once.
pub fn engine() -> MutexGuard<'static, TesterEngine> {
    static ENGINE: OnceLock<Mutex<TesterEngine>> = OnceLock::new();
    let engine = ENGINE.get_or_init(|| {
        let eal = EalOptions { memory: Memory::NoHuge, ..EalOptions::default() };
        Mutex::new(TesterEngine::new(TesterOptions { eal, ..TesterOptions::default() }))
    });
    engine.lock().unwrap_or_else(PoisonError::into_inner)
}

pub fn ports() -> Value {
    json!([{"name": "p1", "location": "ring:e.a"}, {"name": "p2", "location": "ring:e.b"}])
}

pub fn layer1() -> Value {
    json!([{
        "name": "l1", "port_names": ["p1", "p2"], "speed": "speed_10_gbps",
        "flow_control": {"choice": "ieee_802_1qbb", "ieee_802_1qbb": {}}
    }])
}

/// A flow of UDP from p1 to p2.
pub fn udp(name: &str, queue: u32, pps: u64, duration: Value) -> Value {
    json!({
        "name": name,
        "tx_rx": {"choice": "port", "port": {"tx_name": "p1", "rx_names": ["p2"]}},
        "packet": [
            {"choice": "ethernet", "ethernet": {
                "src": {"value": "02:00:00:00:00:01"}, "dst": {"value": "02:00:00:00:00:02"},
                "pfc_queue": {"value": queue}}},
            {"choice": "ipv4", "ipv4": {"src": {"value": "10.0.0.1"}, "dst": {"value": "10.0.0.2"}}},
            {"choice": "udp", "udp": {"src_port": {"value": 5000}, "dst_port": {"value": 6000}}}
        ],
        "size": {"choice": "fixed", "fixed": 128},
        "rate": {"choice": "pps", "pps": pps.to_string()},
        "duration": duration,
        "metrics": {"enable": true, "loss": true, "timestamps": true,
                    "latency": {"enable": true, "mode": "cut_through"}}
    })
}

pub fn pause(name: &str, quanta: u32, duration: Value) -> Value {
    json!({
        "name": name,
        "tx_rx": {"choice": "port", "port": {"tx_name": "p2", "rx_names": ["p1"]}},
        "packet": [{"choice": "pfcpause", "pfcpause": {
            "src": {"value": "02:00:00:00:00:09"},
            "class_enable_vector": {"value": 8}, "pause_class_3": {"value": quanta}}}],
        "size": {"choice": "fixed", "fixed": 64},
        "rate": {"choice": "pps", "pps": 2000},
        "duration": duration,
        "metrics": {"enable": true}
    })
}

pub fn packets(n: u64) -> Value {
    json!({"choice": "fixed_packets", "fixed_packets": {"packets": n}})
}

pub fn continuous() -> Value {
    json!({"choice": "continuous", "continuous": {}})
}

pub fn transmit(engine: &TesterEngine, state: &str, names: &[&str]) {
    let what = json!({"choice": "traffic", "traffic": {"choice": "flow_transmit",
        "flow_transmit": {"state": state, "flow_names": names}}});
    engine.control_state(&what).unwrap();
}

/// Answer to a request for metrics.
pub fn metrics(engine: &TesterEngine, request: &Value) -> Result<Value, Refusal> {
    engine.metrics(request).map(|JsonText(text)| serde_json::from_slice(&text).expect("JSON"))
}

/// Metrics of flows, by place.
pub fn flows(engine: &TesterEngine) -> Vec<Value> {
    let response = metrics(engine, &json!({"choice": "flow", "flow": {}})).unwrap();
    assert_eq!(response["choice"], "flow_metrics");
    response["flow_metrics"].as_array().unwrap().clone()
}

pub fn port(engine: &TesterEngine, name: &str) -> Value {
    let request = json!({"choice": "port", "port": {"port_names": [name]}});
    metrics(engine, &request).unwrap()["port_metrics"][0].clone()
}

pub fn wait(engine: &TesterEngine, what: &str, is: impl Fn(&[Value]) -> bool) -> Vec<Value> {
    let since = Instant::now();
    loop {
        let flows = flows(engine);
        if is(&flows) {
            return flows;
        }
        assert!(since.elapsed() < Duration::from_secs(60), "not {what}: {flows:#?}");
        thread::sleep(Duration::from_millis(10));
    }
}

pub fn wait_stopped(engine: &TesterEngine) -> Vec<Value> {
    wait(engine, "stopped", |flows| flows.iter().all(|f| f["transmit"] == "stopped"))
}
