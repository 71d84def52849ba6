//! The engine behind the OTG server, controlled in OTG's JSON, on ports in memory.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sluice::otg::engine::{Engine, RefusalKind};

use crate::apart::own_process;
use crate::calls::{
    continuous, engine, flows, layer1, metrics, packets, pause, port, ports, transmit, udp, wait,
    wait_stopped,
};

#[test]
fn tx_equals_rx_and_every_metric_is_there() {
    own_process!();
    let engine = engine();
    let config = json!({"ports": ports(), "layer1": layer1(),
        "flows": [udp("f1", 0, 50_000, packets(10_000)), udp("f2", 1, 10_000, packets(500))]});
    engine.set_config(&config).unwrap();
    assert_eq!(engine.config()["flows"][0]["rate"]["pps"], 50_000);
    transmit(&engine, "start", &[]);
    let flows = wait_stopped(&engine);
    for (flow, n) in flows.iter().zip([10_000, 500]) {
        assert_eq!((&flow["frames_tx"], &flow["frames_rx"]), (&json!(n), &json!(n)), "{flow:#}");
        assert_eq!((&flow["loss"], &flow["bytes_rx"]), (&json!(0.0), &json!(128 * n)));
        assert_eq!((&flow["port_tx"], &flow["port_rx"]), (&json!("p1"), &json!("p2")));
        assert!(flow["latency"]["average_ns"].as_f64() >= flow["latency"]["minimum_ns"].as_f64());
        assert!(flow["timestamps"]["first_timestamp_ns"].as_f64() > Some(0.0), "{flow:#}");
        assert_eq!(flow["sluice"]["stamps"]["source"], "tsc");
        assert!(!flow.to_string().contains("null"), "{flow:#}");
    }
    let p1 = port(&engine, "p1");
    assert_eq!((&p1["link"], &p1["transmit"]), (&json!("up"), &json!("stopped")), "{p1:#}");
    assert_eq!((&p1["frames_tx"], &p1["speed"]), (&json!(10_500), &json!(10_000_000_000_u64)));
}

/// On the thread that answers: polling threads allocate a few lists of sixteen flows.
#[test]
fn metrics_of_many_flows_take_a_few_allocations_for_each_while_they_run() {
    own_process!();
    const FLOWS: usize = 2_000;
    let engine = engine();
    let flow = |n: usize| {
        let mut flow = udp(&format!("f{n}"), 0, 20, continuous());
        flow["metrics"] = json!({"enable": true, "loss": true, "timestamps": true,
            "latency": {"enable": true, "mode": "cut_through"}});
        flow
    };
    let all: Vec<_> = (0..FLOWS).map(flow).collect();
    engine.set_config(&json!({"ports": ports(), "flows": all})).unwrap();
    transmit(&engine, "start", &[]);
    wait(&engine, "received", |f| f.iter().all(|f| f["frames_rx"].as_u64() > Some(1)));
    let mut answered = None;
    let request = json!({"choice": "flow", "flow": {}});
    let taken = allocation_counter::measure(|| answered = Some(engine.metrics(&request)));
    let length = answered.unwrap().unwrap().0.len();
    transmit(&engine, "stop", &[]);
    // Their names and those of their ports, in the report and in the answer, and an order for 16.
    let each = taken.count_total as f64 / FLOWS as f64;
    assert!(length > 500 * FLOWS && each < 12.0, "{each} allocations for each flow");
    // Far less than their distributions, which are not copied.
    let bytes = taken.bytes_max as usize / FLOWS;
    assert!(bytes < 6_000, "{bytes} bytes for each flow");
}

#[test]
fn pauses_of_a_client_stop_their_priority_alone_until_it_resumes() {
    own_process!();
    let engine = engine();
    let config = json!({"ports": ports(), "layer1": layer1(), "flows": [
        udp("p3", 3, 20_000, continuous()), udp("p4", 4, 20_000, continuous()),
        pause("storm", 65_535, continuous()), pause("resume", 0, packets(2)),
    ]});
    engine.set_config(&config).unwrap();
    transmit(&engine, "start", &["p3", "p4"]);
    let frames = |flows: &[Value], n: usize| flows[n]["frames_rx"].as_u64().unwrap();
    wait(&engine, "sending", |f| frames(f, 0) > 500 && frames(f, 1) > 500);
    transmit(&engine, "start", &["storm"]);
    let stormed = wait(&engine, "stormed", |f| frames(f, 2) > 20);
    let before = frames(&wait(&engine, "settled", |f| frames(f, 2) > frames(&stormed, 2)), 0);
    let after = wait(&engine, "more", |f| frames(f, 1) > frames(&stormed, 1) + 2_000);
    assert_eq!(frames(&after, 0), before, "{after:#?}");
    let ours = &port(&engine, "p2")["sluice"]["priorities"][3];
    assert_eq!(ours["continuous"], true, "{ours:#}");
    transmit(&engine, "stop", &["storm"]);
    transmit(&engine, "start", &["resume"]);
    wait(&engine, "resumed", |f| frames(f, 0) > before + 500);
    transmit(&engine, "stop", &[]);
    let flows = wait_stopped(&engine);
    assert!(flows[..2].iter().all(|f| f["frames_tx"] == f["frames_rx"]), "{flows:#?}");
}

#[test]
fn rates_change_while_flows_run_and_flows_come_and_go_while_they_do_not() {
    own_process!();
    let engine = engine();
    let config = json!({"ports": ports(), "layer1": layer1(),
        "flows": [udp("f1", 0, 1_000, continuous())]});
    engine.set_config(&config).unwrap();
    transmit(&engine, "start", &[]);
    wait(&engine, "sending", |f| f[0]["frames_rx"].as_u64() > Some(20));
    let update = json!({"choice": "flows", "flows": {"property_names": ["rate"],
        "flows": [udp("f1", 0, 50_000, continuous())]}});
    engine.update_config(&update).unwrap();
    wait(&engine, "faster", |f| f[0]["frames_tx_rate"].as_f64() > Some(10_000.0));
    let more = json!({"config_append_list": [
        {"choice": "flows", "flows": [udp("f2", 0, 1_000, packets(10))]}]});
    let refused = engine.append_config(&more).unwrap_err();
    assert!(refused.to_string().contains("while flows are sent"), "{refused}");
    transmit(&engine, "stop", &[]);
    wait_stopped(&engine);
    engine.append_config(&more).unwrap();
    transmit(&engine, "start", &["f2"]);
    let flows = wait(&engine, "sent", |f| f[1]["frames_rx"] == 10);
    assert_eq!(flows[0]["frames_tx"], 0);
    wait_stopped(&engine);
    let less = json!({"config_delete_list": [{"choice": "flows", "flows": ["f1"]}]});
    engine.delete_config(&less).unwrap();
    assert_eq!(self::flows(&engine).len(), 1);
    assert!(engine.delete_config(&less).unwrap_err().to_string().contains("no flow f1"));
}

#[test]
fn what_is_wrong_is_refused_by_name_and_the_running_test_goes_on() {
    own_process!();
    let engine = engine();
    let config = json!({"ports": ports(), "layer1": layer1(),
        "flows": [udp("f1", 0, 5_000, continuous())]});
    engine.set_config(&config).unwrap();
    transmit(&engine, "start", &[]);
    for (bad, said) in [
        (json!({"ports": [{"name": "p1", "location": "iface:no-such-one"}]}), "no-such-one"),
        (
            json!({"ports": [{"name": "p1", "location": "ring:e.a"}], "flows": [udp("f", 0, 1, continuous())]}),
            "p2",
        ),
        (json!({"ports": 7}), "ports"),
    ] {
        let refused = engine.set_config(&bad).unwrap_err();
        assert_eq!(refused.kind, RefusalKind::Validation, "{refused}");
        assert!(refused.to_string().contains(said), "{refused}");
    }
    let refused = metrics(&engine, &json!({"choice": "flow", "flow": {"flow_names": ["x"]}}));
    assert!(refused.unwrap_err().to_string().contains("no flow x"));
    let refused = engine.control_state(&json!({"choice": "traffic", "traffic": {"choice":
        "flow_transmit", "flow_transmit": {"state": "start", "flow_names": ["x"]}}}));
    assert!(refused.unwrap_err().to_string().contains("no flow x; there are f1"));
    let before = flows(&engine)[0]["frames_rx"].as_u64();
    wait(&engine, "going on", |f| f[0]["frames_rx"].as_u64() > before);
}

#[test]
fn a_link_that_is_taken_down_carries_nothing_until_it_is_up_again() {
    own_process!();
    let engine = engine();
    let config = json!({"ports": ports(), "layer1": layer1(),
        "flows": [udp("f1", 0, 5_000, continuous())]});
    engine.set_config(&config).unwrap();
    transmit(&engine, "start", &[]);
    wait(&engine, "sending", |f| f[0]["frames_rx"].as_u64() > Some(100));
    let link = |state: &str| {
        let what = json!({"choice": "port", "port": {"choice": "link",
            "link": {"state": state, "port_names": ["p1"]}}});
        engine.control_state(&what).unwrap();
    };
    link("down");
    assert_eq!(port(&engine, "p1")["link"], "down");
    let sent = flows(&engine)[0]["frames_tx"].clone();
    thread::sleep(Duration::from_millis(100));
    assert_eq!(flows(&engine)[0]["frames_tx"], sent);
    link("up");
    wait(&engine, "sending again", |f| f[0]["frames_tx"].as_u64() > sent.as_u64());
    assert_eq!(port(&engine, "p1")["link"], "up");
}

#[test]
fn a_capture_has_what_arrived_while_it_was_started() {
    own_process!();
    let engine = engine();
    let captures = json!([{"name": "c", "port_names": ["p2"], "format": "pcap"}]);
    let config = json!({"ports": ports(), "layer1": layer1(), "captures": captures,
        "flows": [udp("f1", 0, 50_000, packets(300)), pause("storm", 7, packets(1))]});
    engine.set_config(&config).unwrap();
    let capture = |state: &str| {
        let what = json!({"choice": "port", "port": {"choice": "capture",
            "capture": {"state": state, "port_names": []}}});
        engine.control_state(&what).unwrap();
    };
    let file = |request: Value| engine.capture(&request).unwrap();
    let none = engine.capture(&json!({"port_name": "p2"})).err().unwrap();
    assert!(none.to_string().contains("start a capture"), "{none}");
    capture("start");
    assert_eq!(port(&engine, "p2")["capture"], "started");
    transmit(&engine, "start", &["f1"]);
    wait_stopped(&engine);
    capture("stop");
    transmit(&engine, "start", &["f1"]);
    wait_stopped(&engine);
    let all = file(json!({"port_name": "p2"}));
    // A header of 24 bytes, and 16 in front of each frame, which has its FCS.
    assert_eq!(all.len(), 24 + 300 * (16 + 128));
    assert_eq!(all[..4], 0xa1b2_3c4d_u32.to_le_bytes(), "a pcap file with nanoseconds");
    let frame = &all[24 + 16..][..128];
    assert_eq!(frame[124..], crc32fast::hash(&frame[..124]).to_le_bytes());
    assert_eq!(frame[..14], [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0]);
    let some = file(json!({"port_name": "p2", "packets": {"choice": "slice", "slice":
        {"choice": "initial", "initial": {"start": 2, "count": 10}}}}));
    assert_eq!(some[24..], all[24 + 144..][..10 * 144]);
    let other = engine.capture(&json!({"port_name": "p1"})).err().unwrap();
    assert!(other.to_string().contains("captures[].port_names"), "{other}");
}

/// A device with an address in the same network as the other's, and a queue pair towards it.
fn device(n: u8, peer: u8) -> Value {
    json!({
        "name": format!("d{n}"),
        "ethernets": [{
            "name": format!("e{n}"), "mac": format!("02:00:00:00:01:0{n}"),
            "connection": {"choice": "port_name", "port_name": format!("p{n}")},
            "ipv4_addresses": [{"name": format!("ip{n}"), "address": format!("10.0.0.{n}"),
                "gateway": format!("10.0.0.{peer}"), "prefix": 24}]
        }],
        "rocev2": {"ipv4_interfaces": [{"ipv4_name": format!("ip{n}"), "peers": [{
            "name": format!("peer{n}"), "destination_ip_address": format!("10.0.0.{peer}"),
            "qps": [{"qp_name": format!("q{n}"), "connection_type": {
                "choice": "reliable_connection",
                "reliable_connection": {"source_qp_number": 16 + n}}}]
        }]}]}
    })
}

#[test]
fn devices_find_each_other_answer_pings_and_flows_go_to_the_addresses_that_were_found() {
    own_process!();
    let engine = engine();
    let flow = json!({
        "name": "f1",
        "tx_rx": {"choice": "device", "device": {"tx_names": ["ip1"], "rx_names": ["ip2"]}},
        "packet": [
            {"choice": "ethernet", "ethernet": {"dst": {"choice": "auto"}}},
            {"choice": "ipv4", "ipv4": {"src": {"value": "10.0.0.1"}, "dst": {"value": "10.0.0.2"}}},
            {"choice": "udp", "udp": {}}
        ],
        "size": {"choice": "fixed", "fixed": 100},
        "rate": {"choice": "pps", "pps": 10_000},
        "duration": packets(100),
        "metrics": {"enable": true}
    });
    let captures = json!([{"name": "c", "port_names": ["p2"], "format": "pcap",
        "filters": [{"choice": "ethernet", "ethernet": {"ether_type": {"value": "0800"}}}]}]);
    let config = json!({"ports": ports(), "layer1": layer1(), "captures": captures,
        "devices": [device(1, 2), device(2, 1)], "flows": [flow]});
    engine.set_config(&config).unwrap();
    let up =
        json!({"choice": "protocol", "protocol": {"choice": "all", "all": {"state": "start"}}});
    engine.control_state(&up).unwrap();
    let since = Instant::now();
    let request = json!({"choice": "ipv4_neighbors", "ipv4_neighbors": {"ethernet_names": ["e1"]}});
    let found = loop {
        let found = engine.states(&request).unwrap()["ipv4_neighbors"].clone();
        if found[0]["link_layer_address"].is_string() {
            break found;
        }
        assert!(since.elapsed() < Duration::from_secs(30), "{found:#}");
        thread::sleep(Duration::from_millis(10));
    };
    assert_eq!(found.as_array().unwrap().len(), 1);
    assert_eq!(found[0]["ipv4_address"], "10.0.0.2");
    assert_eq!(found[0]["link_layer_address"], "02:00:00:00:01:02");

    let ping = |to: &str| {
        let action = json!({"choice": "protocol", "protocol": {"choice": "ipv4", "ipv4":
            {"choice": "ping", "ping": {"requests": [{"src_name": "ip1", "dst_ip": to}]}}}});
        let response = engine.control_action(&action).unwrap();
        response["response"]["protocol"]["ipv4"]["ping"]["responses"][0]["result"].clone()
    };
    assert_eq!((ping("10.0.0.2"), ping("10.0.0.77")), (json!("succeeded"), json!("failed")));

    let start = json!({"choice": "port", "port": {"choice": "capture",
        "capture": {"state": "start", "port_names": ["p2"]}}});
    engine.control_state(&start).unwrap();
    transmit(&engine, "start", &["f1"]);
    let flows = wait_stopped(&engine);
    assert_eq!((&flows[0]["frames_tx"], &flows[0]["frames_rx"]), (&json!(100), &json!(100)));
    let file = engine.capture(&json!({"port_name": "p2"})).unwrap();
    assert_eq!(file[24 + 16..][..6], [2, 0, 0, 0, 1, 2], "to the address that was found");
}

#[test]
fn connections_of_rocev2_run_stop_and_run_again() {
    own_process!();
    let engine = engine();
    let flow = json!({"name": "r1", "tx_endpoint": "q1", "rx_endpoint": "q2",
        "rocev2_verb": {"choice": "write"}, "message_size": 64, "message_size_unit": "kb"});
    let config = json!({"ports": ports(), "layer1": layer1(),
        "devices": [device(1, 2), device(2, 1)],
        "stateful_flows": {"choice": "rocev2", "rocev2": [{"tx_ports": [{"port_name": "p1",
            "transmit_type": {"choice": "target_line_rate",
                "target_line_rate": {"value": 10, "flows": [flow]}}}]}]}});
    engine.set_config(&config).unwrap();
    let request =
        json!({"choice": "rocev2_flow", "rocev2_flow": {"choice": "per_qp", "per_qp": {}}});
    let per_qp = || metrics(&engine, &request).unwrap()["rocev2_flow_per_qp_metrics"][0].clone();
    let count = |metrics: &Value, what: &str| metrics[what].as_u64().unwrap();
    assert_eq!(count(&per_qp(), "data_frames_tx"), 0);
    for _ in 0..2 {
        transmit(&engine, "start", &[]);
        wait(&engine, "messages", |_| count(&per_qp(), "message_complete_rx") > 3);
        transmit(&engine, "stop", &[]);
        wait_stopped(&engine);
        let end = per_qp();
        assert_eq!((count(&end, "src_qp"), count(&end, "dest_qp")), (17, 18), "{end:#}");
        assert_eq!(count(&end, "data_frames_tx"), count(&end, "data_frames_rx"), "{end:#}");
        assert!(count(&end, "ack_rx") > 0, "{end:#}");
        let none = ["frame_delta", "data_frames_retransmitted", "frame_sequence_error", "nak_tx"];
        assert!(none.iter().all(|what| count(&end, what) == 0), "{end:#}");
    }
}

#[test]
fn a_client_opens_no_device_that_the_operator_did_not_name() {
    own_process!();
    let engine = engine();
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join(format!("written-{}", std::process::id()));
    let config = |location: &str| json!({"ports": [{"name": "p1", "location": location}, {"name": "p2", "location": "ring:e.b"}]});
    let dump = format!("net_pcap0,tx_pcap={}", file.display());
    for location in [
        dump.as_str(),
        &format!("{dump}?pfc=3"),
        &format!("iface:lo,tx_pcap={}", file.display()),
        "0000:3b:00.0",
        "net_tap0",
    ] {
        let refused = engine.set_config(&config(location)).unwrap_err();
        assert_eq!(refused.kind, RefusalKind::Validation, "{location}: {refused}");
        assert!(refused.errors[0].starts_with("ports[0].location: "), "{location}: {refused}");
    }
    assert!(!file.exists());
}
