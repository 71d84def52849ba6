//! Behaviour that widely used scripts expect of an OTG engine, beyond its model: the metrics of
//! each flow, consistent counts, names, memory.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sluice::otg::engine::Engine;

use crate::apart::own_process;
use crate::calls::{
    continuous, engine, flows, layer1, metrics, packets, pause, port, ports, transmit, udp, wait,
    wait_stopped,
};

/// A flow with these metrics enabled.
fn measured(name: &str, metrics: Value) -> Value {
    let mut flow = udp(name, 0, 2_000, packets(300));
    flow["metrics"] = metrics;
    flow
}

#[test]
fn flows_have_the_metrics_that_they_ask_for() {
    own_process!();
    let engine = engine();
    let all = json!({"enable": true, "timestamps": true, "latency": {"enable": true}});
    let config = json!({"ports": ports(), "layer1": layer1(), "flows": [
        measured("all", all), measured("counted", json!({"enable": true})),
        measured("none", json!({"enable": false})), measured("default", json!({})),
    ]});
    engine.set_config(&config).unwrap();
    transmit(&engine, "start", &[]);
    let flows = wait(&engine, "sent", |flows| {
        flows.len() == 2 && flows.iter().all(|f| f["frames_rx"] == 300)
    });
    let names: Vec<_> = flows.iter().map(|f| f["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["all", "counted"]);
    for (flow, has) in flows.iter().zip([true, false]) {
        assert_eq!(flow.get("timestamps").is_some(), has, "{flow:#}");
        assert_eq!(flow.get("latency").is_some(), has, "{flow:#}");
    }
    let named = json!({"choice": "flow", "flow": {"flow_names": ["none", "counted"]}});
    let answer = metrics(&engine, &named).unwrap();
    assert_eq!(answer["flow_metrics"].as_array().unwrap().len(), 1, "{answer:#}");
    assert_eq!(answer["flow_metrics"][0]["name"], "counted");
}

#[test]
fn columns_that_are_asked_for_are_all_there_is() {
    own_process!();
    let engine = engine();
    let config = json!({"ports": ports(), "flows": [measured("f", json!({"enable": true}))]});
    engine.set_config(&config).unwrap();
    let keys = |request: Value, list: &str| -> Vec<String> {
        let answer = metrics(&engine, &request).unwrap();
        answer[list][0].as_object().unwrap().keys().cloned().collect()
    };
    let flow = json!({"choice": "flow", "flow": {"metric_names": ["frames_rx", "transmit"]}});
    assert_eq!(keys(flow, "flow_metrics"), ["frames_rx", "name", "transmit"]);
    let port = json!({"choice": "port", "port": {"column_names": ["link"]}});
    assert_eq!(keys(port, "port_metrics"), ["link", "name"]);
    let strange = json!({"choice": "port", "port": {"column_names": ["colour"]}});
    let refused = metrics(&engine, &strange).unwrap_err();
    assert!(refused.to_string().contains("no metric colour"), "{refused}");
}

#[test]
fn one_answer_never_has_more_received_than_sent() {
    own_process!();
    let engine = engine();
    let mut flow = udp("fast", 0, 1, continuous());
    flow["rate"] = json!({"choice": "percentage", "percentage": 100});
    let config = json!({"ports": ports(), "layer1": layer1(), "flows": [flow]});
    engine.set_config(&config).unwrap();
    transmit(&engine, "start", &[]);
    wait(&engine, "sending", |flows| flows[0]["frames_rx"].as_u64() > Some(1_000));
    for _ in 0..100 {
        let flow = &flows(&engine)[0];
        assert!(flow["frames_rx"].as_u64() <= flow["frames_tx"].as_u64(), "{flow:#}");
        assert!(flow["bytes_rx"].as_u64() <= flow["bytes_tx"].as_u64(), "{flow:#}");
        let answer = metrics(&engine, &json!({"choice": "port", "port": {}})).unwrap();
        let ports = answer["port_metrics"].as_array().unwrap();
        assert!(ports[1]["frames_rx"].as_u64() <= ports[0]["frames_tx"].as_u64(), "{ports:#?}");
    }
    transmit(&engine, "stop", &[]);
    wait_stopped(&engine);
}

/// Two hosts, one on each port.
fn hosts() -> Value {
    let host = |n: u8| {
        json!({"name": format!("d{n}"), "ethernets": [{"name": format!("e{n}"),
            "mac": format!("02:00:00:00:01:0{n}"),
            "connection": {"choice": "port_name", "port_name": format!("p{n}")},
            "ipv4_addresses": [{"name": format!("i{n}"), "address": format!("10.1.1.{n}"),
                "gateway": format!("10.1.1.{}", 3 - n)}]}]})
    };
    json!([host(1), host(2)])
}

#[test]
fn ports_count_flows_and_not_what_hosts_ask_each_other() {
    own_process!();
    let engine = engine();
    let mut flow = measured("f", json!({"enable": true}));
    // By the name of a device, which means all of its interfaces.
    flow["tx_rx"] = json!({"choice": "device", "device": {"tx_names": ["d1"], "rx_names": ["d2"]}});
    flow["packet"] =
        json!([{"choice": "ethernet", "ethernet": {}}, {"choice": "ipv4", "ipv4": {}}]);
    let config = json!({"ports": ports(), "devices": hosts(), "flows": [flow]});
    engine.set_config(&config).unwrap();
    let ping = json!({"choice": "protocol", "protocol": {"choice": "ipv4", "ipv4": {
        "choice": "ping", "ping": {"requests": [{"src_name": "i1", "dst_ip": "10.1.1.2"}]}}}});
    let answered = engine.control_action(&ping).unwrap();
    assert!(answered.to_string().contains("succeeded"), "{answered:#}");
    transmit(&engine, "start", &[]);
    wait_stopped(&engine);
    let (p1, p2) = (port(&engine, "p1"), port(&engine, "p2"));
    assert_eq!((&p1["frames_tx"], &p2["frames_rx"]), (&json!(300), &json!(300)), "{p1:#} {p2:#}");
    assert_eq!((&p1["frames_rx"], &p2["frames_tx"]), (&json!(0), &json!(0)), "{p1:#} {p2:#}");
    assert_eq!(p1["bytes_tx"], p2["bytes_rx"]);
}

/// A connection between the hosts, on which the first sends, or both do.
fn connections(verb: &str, both: bool) -> Value {
    let mut devices = hosts();
    let mut senders = Vec::new();
    for n in [1, 2] {
        devices[n - 1]["rocev2"] = json!({"ipv4_interfaces": [{"ipv4_name": format!("i{n}"),
            "peers": [{"name": format!("peer{n}"), "destination_ip_address": format!("10.1.1.{}", 3 - n),
                "qps": [{"qp_name": format!("q{n}"), "connection_type": {
                    "choice": "reliable_connection",
                    "reliable_connection": {"source_qp_number": 30 + n}}}]}]}]});
        if n == 1 || both {
            // Named as its queue pair, as widely used scripts do.
            let mut flow = json!({"name": format!("q{n}"), "tx_endpoint": format!("q{n}"),
                "rocev2_verb": {"choice": verb}, "message_size": 6, "message_size_unit": "kb"});
            if verb.contains("immediate") {
                flow["rocev2_verb"][verb] = json!({"immediate_data": "c0ffee"});
            }
            senders.push(json!({"port_name": format!("p{n}"), "transmit_type": {
                "choice": "target_line_rate", "target_line_rate": {"value": 5, "flows": [flow]}}}));
        }
    }
    json!({"ports": ports(), "layer1": layer1(), "devices": devices,
        "stateful_flows": {"choice": "rocev2", "rocev2": [{"tx_ports": senders}]}})
}

#[test]
fn connections_run_one_way_and_both_ways_with_every_verb() {
    own_process!();
    let engine = engine();
    let verbs = ["send", "write", "send_with_immediate", "write_with_immediate"];
    for (verb, both) in verbs.into_iter().flat_map(|verb| [(verb, false), (verb, true)]) {
        engine.set_config(&connections(verb, both)).unwrap();
        transmit(&engine, "start", &[]);
        let ask = || {
            let request =
                json!({"choice": "rocev2_flow", "rocev2_flow": {"choice": "per_qp", "per_qp": {}}});
            metrics(&engine, &request).unwrap()["rocev2_flow_per_qp_metrics"]
                .as_array()
                .unwrap()
                .clone()
        };
        let since = Instant::now();
        while !ask().iter().all(|qp| qp["message_complete_rx"].as_u64() > Some(20)) {
            assert!(since.elapsed() < Duration::from_secs(60), "{verb} {both}: {:#?}", ask());
        }
        transmit(&engine, "stop", &[]);
        wait_stopped(&engine);
        let ended = ask();
        assert_eq!(ended.len(), if both { 2 } else { 1 }, "{verb}: {ended:#?}");
        for qp in &ended {
            assert_eq!(qp["data_frames_tx"], qp["data_frames_rx"], "{verb} {both}: {ended:#?}");
            assert_eq!(qp["nak_rx"], 0, "{verb} {both}: {ended:#?}");
        }
    }
}

#[test]
fn peers_of_connections_have_metrics() {
    own_process!();
    let engine = engine();
    engine.set_config(&connections("send", false)).unwrap();
    let ask = |per_peer: Value| {
        let request = json!({"choice": "rocev2_ipv4", "rocev2_ipv4": {"choice": "per_peer", "per_peer": per_peer}});
        metrics(&engine, &request).map(|answer| answer["rocev2_ipv4_per_peer_metrics"].clone())
    };
    let both = ask(json!({})).unwrap();
    assert_eq!(both.as_array().unwrap().len(), 2, "{both:#}");
    assert_eq!((&both[0]["name"], &both[0]["qp_up"]), (&json!("peer1"), &json!(1)), "{both:#}");
    let one = ask(json!({"peer_names": ["peer2"], "column_names": ["qp_configured"]})).unwrap();
    assert_eq!(one, json!([{"name": "peer2", "qp_configured": 1}]));
    assert!(ask(json!({"peer_names": ["peer3"]})).is_err());
    let down = json!({"choice": "port", "port": {"choice": "link", "link": {"state": "down", "port_names": ["p1"]}}});
    engine.control_state(&down).unwrap();
    let one = ask(json!({"peer_names": ["peer1"]})).unwrap();
    assert_eq!((&one[0]["qp_up"], &one[0]["qp_down"]), (&json!(0), &json!(1)), "{one:#}");
}

/// Resident memory of this process in KiB.
fn resident_kib() -> u64 {
    sluice::dpdk::give_back_memory();
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("it is always there");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).expect("a number of KiB")
}

#[test]
fn a_flow_takes_little_memory_and_gives_it_back() {
    own_process!();
    const FLOWS: u64 = 3_000;
    let engine = engine();
    let few = json!({"ports": ports(), "layer1": layer1(), "flows": [udp("f", 0, 5, packets(3))]});
    engine.set_config(&few).unwrap();
    let before = resident_kib();
    let grown = || resident_kib().saturating_sub(before);
    // Fragmentation may keep a heap's pages once; a leak keeps memory each time.
    let left = (0..3).map(|_| {
        {
            let many = |n: u64| udp(&format!("f{n}"), 0, 5, packets(3));
            let flows: Vec<_> = (0..FLOWS).map(many).collect();
            let config = json!({"ports": ports(), "layer1": layer1(), "flows": flows});
            engine.set_config(&config).unwrap();
        }
        let idle = grown();
        // Two of them for the frames with which the receiver compares those that arrive.
        assert!(idle < 22 * FLOWS, "{idle} KiB for {FLOWS} flows");
        transmit(&engine, "start", &[]);
        wait_stopped(&engine);
        let received = grown();
        assert!(received < 40 * FLOWS, "{received} KiB for {FLOWS} flows that have been received");
        engine.set_config(&json!({})).unwrap();
        grown()
    });
    let left = left.min().unwrap();
    assert!(left < 16 << 10, "{left} KiB are left");
}

/// More flows than the orders that a thread holds at a time for one request for metrics: each flow
/// has its counts and its distribution, during the flows and after.
#[test]
fn each_of_many_flows_has_its_own_counts_and_distribution() {
    own_process!();
    const FLOWS: u64 = 2_500;
    let engine = engine();
    let flow = |n: u64| {
        let mut flow = udp(&format!("f{n}"), 0, 20, packets(n % 7 + 1));
        if n % 2 == 1 {
            flow["tx_rx"]["port"] = json!({"tx_name": "p2", "rx_names": ["p1"]});
        }
        flow
    };
    let many: Vec<_> = (0..FLOWS).map(flow).collect();
    let config = json!({"ports": ports(), "layer1": layer1(), "flows": many});
    engine.set_config(&config).unwrap();
    transmit(&engine, "start", &[]);
    for flow in flows(&engine) {
        assert!(flow["frames_rx"].as_u64() <= flow["frames_tx"].as_u64(), "{flow:#}");
    }
    let flows = wait_stopped(&engine);
    assert_eq!(flows.len() as u64, FLOWS);
    for (flow, n) in flows.iter().zip(0..) {
        let sent = json!(n % 7 + 1);
        assert_eq!(flow["name"], format!("f{n}"));
        assert_eq!((&flow["frames_tx"], &flow["frames_rx"]), (&sent, &sent), "{flow:#}");
        assert_eq!(flow["sluice"]["latency"]["frames"], sent, "{flow:#}");
    }
}

#[test]
fn a_flow_of_no_share_sends_nothing_and_long_control_frames_are_sent() {
    own_process!();
    let engine = engine();
    let mut none = udp("none", 0, 1, continuous());
    none["rate"] = json!({"choice": "percentage", "percentage": 0});
    let mut long = pause("long", 100, packets(5));
    long["size"] = json!({"choice": "fixed", "fixed": 1_518});
    let mut config = json!({"ports": ports(), "layer1": layer1(), "flows": [none, long]});
    config["layer1"][0]["flow_control"]["directed_address"] = json!("01:80:c2:00:00:02");
    let warnings = engine.set_config(&config).unwrap();
    for what in ["0 per cent", "01:80:c2:00:00:02"] {
        assert!(warnings.iter().any(|w| w.contains(what)), "{what}: {warnings:?}");
    }
    transmit(&engine, "start", &[]);
    let flows = wait_stopped(&engine);
    assert_eq!(
        (&flows[0]["frames_tx"], &flows[1]["frames_rx"]),
        (&json!(0), &json!(5)),
        "{flows:#?}"
    );
    assert_eq!(flows[1]["bytes_rx"], 5 * 1_518);
}
