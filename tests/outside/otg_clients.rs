//! Unmodified clients of OTG make every call of the server, over every transport.

use std::sync::Arc;

use serde_json::{Value, json};
use sluice::otg::model;
use sluice::otg::server::{Options, Server, serve};

use crate::rehearsal::{CAPTURE, Rehearsal};
use crate::run::Dir;
use crate::snappi;

fn start() -> (Server, Arc<Rehearsal>) {
    let engine = Arc::new(Rehearsal::default());
    let options = Options { addr: ([127, 0, 0, 1], 0).into(), ..Options::default() };
    (serve(&options, engine.clone()).expect("a free port"), engine)
}

/// Asserts the results that a client must get through every transport.
fn assert_said(said: &str, engine: &Rehearsal) {
    let said: Value = serde_json::from_str(said.lines().last().expect("a line")).expect("JSON");
    let rehearsed = |call: &str| json!([format!("{call} was rehearsed")]);
    assert_eq!(said["warnings"], rehearsed("set_config"));
    assert_eq!(said["started"], rehearsed("control_state"));
    assert_eq!(said["updated"], rehearsed("update_config"));
    assert_eq!(said["appended"], rehearsed("append_config"));
    assert_eq!(said["deleted"], rehearsed("delete_config"));
    assert_eq!(said["ports"], json!([["a", u64::MAX, 0.5, "up"]]));
    assert_eq!(said["flows"], json!([["data", "stopped", 1000, 12.5]]));
    assert_eq!(said["neighbours"], json!([["10.0.0.9", "02:00:00:00:00:09"]]));
    assert_eq!(said["capture"], CAPTURE);
    assert_eq!(said["pings"], json!([["ip", "10.0.0.9", "succeeded"]]));
    let refused = json!({"code": 400, "kind": "validation",
        "errors": ["flows[0].name: `wrong` is wrong"]});
    assert_eq!(said["refused"], refused);
    assert_eq!(
        (&said["failed"]["code"], &said["failed"]["kind"]),
        (&json!(500), &json!("internal"))
    );
    assert_eq!(said["verbose"][0], 400);
    let unsupported = said["unsupported"].as_array().expect("a list");
    assert_eq!(unsupported[1..], [json!("devices[0].bgp"), json!("flows[0].packet[3].gre")]);

    let asked = engine.asked();
    let config = |n: usize| {
        let mut configs = asked.iter().filter(|(call, _)| *call == "set_config");
        let (_, config) = configs.nth(n).expect("a configuration");
        model::parse::<model::Config>(config).expect("what snappi sends")
    };
    let flow = &config(0).flows[0];
    assert_eq!(flow.rate, Some(model::flow::FlowRate::Pps(1_000_000)));
    let storm = config(0).flows[1].rate.clone();
    assert_eq!(storm, Some(model::flow::FlowRate::Percentage(12.3)));
    assert_eq!(model::unsupported(&config(0)), [""; 0]);
    assert_eq!(said["config"]["flows"][0]["name"], "data");
    if said["streamed"] != Value::Null {
        assert_eq!(said["streamed"], said["config"]);
        assert_eq!(config(1), config(0));
    }
    let state = asked.iter().find(|(call, _)| *call == "control_state").expect("a start");
    let transmit = json!({"choice": "flow_transmit", "flow_transmit": {"state": "start"}});
    assert_eq!(state.1, json!({"choice": "traffic", "traffic": transmit}));
}

#[test]
fn an_unmodified_client_makes_every_call_over_http() {
    let Some(python) = snappi::python() else { return };
    let (server, engine) = start();
    let location = format!("http://{}", server.addr());
    assert_said(&snappi::run(&python, "otg_client.py", &[&location, "http"]), &engine);
}

#[test]
fn an_unmodified_client_makes_every_call_over_https() {
    let Some(python) = snappi::python() else { return };
    let (server, engine) = start();
    let location = format!("https://{}", server.addr());
    assert_said(&snappi::run(&python, "otg_client.py", &[&location, "http"]), &engine);
}

#[test]
fn an_unmodified_client_makes_every_call_over_grpc() {
    let Some(python) = snappi::python() else { return };
    let (server, engine) = start();
    let location = server.addr().to_string();
    assert_said(&snappi::run(&python, "otg_client.py", &[&location, "grpc"]), &engine);
}

#[test]
fn a_client_that_trusts_the_certificate_makes_every_call_over_grpc_under_tls() {
    let Some(python) = snappi::python() else { return };
    let (server, engine) = start();
    let dir = Dir::new("otg-tls");
    let file = dir.write("server.pem", server.certificate());
    let (location, path) = (server.addr().to_string(), file.display().to_string());
    let said = snappi::run(&python, "otg_client.py", &[&location, "grpc", &path]);
    assert_said(&said, &engine);
}

#[test]
fn our_messages_are_those_of_the_clients() {
    let Some(python) = snappi::python() else { return };
    let dir = Dir::new("otg-descriptors");
    let ours = dir.path("otg.bin");
    std::fs::write(&ours, sluice::otg::proto::DESCRIPTORS).unwrap();
    let said = snappi::run(&python, "otg_descriptors.py", &[&ours.display().to_string()]);
    println!("{said}");
}
