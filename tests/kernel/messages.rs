//! The generator's test of hosts and proxies of Source Flow Control, on interfaces of the kernel:
//! `configs/gen/sfc-proxy-validation.yaml`, with a port that obeys messages by itself, and with
//! Sluice's own proxy before one that obeys PFC alone.

use serde_json::{Value, json};

use crate::netns::{cables, isolated};
use crate::run::{Dir, Switch, conclusive, run_ahead, sluice, text};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/configs/gen/sfc-proxy-validation.yaml");

/// Runs the file with its ports at other places and a tenth of its data, which a busy machine carries
/// too; returns the ports `host` and `fabric` and the flow `data` of the results.
fn generated(dir: &Dir, host: &str, fabric: &str) -> [Value; 3] {
    let whole = std::fs::read_to_string(FILE).unwrap();
    let less =
        whole.replace("pps: 10000}", "pps: 1000}").replace("packets: 10000}", "packets: 1000}");
    let file = dir.write("messages.yaml", &less);
    run_ahead();
    let run = || {
        let mut command = sluice();
        command.arg("gen").arg(&file).args(["--format", "json", "--no-huge"]);
        command.args(["--port", &format!("host={host}"), "--port", &format!("fabric={fabric}")]);
        command.output().unwrap()
    };
    let output = conclusive(run);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}{}", text(&output.stderr));
    let report: Value = serde_json::from_str(&said).unwrap();
    let named = |kind: &str, name: &str| {
        let all = report[kind].as_array().unwrap();
        all.iter().find(|one| one["name"] == name).unwrap().clone()
    };
    let [host, fabric] = ["host", "fabric"].map(|name| named("ports", name));
    for key in ["sfcm_first_ns", "sfcm_silence_ns", "sfcm_reaction_p50_ns", "sfcm_to_pfc_p50_ns"] {
        println!("{key}: {} at the host, {} at the fabric", host[key], fabric[key]);
    }
    [host, fabric, named("flows", "data")]
}

#[test]
fn a_generator_obeys_messages_on_interfaces_by_flow_or_by_priority() {
    isolated(&[], || {
        cables(1);
        let dir = Dir::new("gen-obeys");
        // Messages about another flow stop the priority, and five of another version nothing.
        for (scope, refused, paused_ms) in [("flow", 10, 22.5), ("priority", 5, 27.5)] {
            let [host, fabric, data] =
                generated(&dir, &format!("iface:t0?sfc={scope}"), "iface:d0");
            assert_eq!((&host["sfcm_rx"], &host["sfcm_refused"]), (&json!(35), &json!(refused)));
            assert_eq!(host["sfcm_obeyed"], 35 - refused, "{host:#}");
            assert_eq!(host["sfcm_requested_ns"], paused_ms * 1e6, "{host:#}");
            let paused = host["sfcm_paused_ns"].as_f64().unwrap() / 1e6;
            assert!((paused - paused_ms).abs() < 0.001, "{paused} of {paused_ms} ms");
            // The locators of the file: 20 of incast, and 5 of in-network; others have none.
            assert_eq!((&host["sfcm_incast"], &host["sfcm_in_network"]), (&json!(20), &json!(5)));
            assert!(host["sfcm_first_ns"].as_f64() > Some(0.0), "{host:#}");
            assert!(host["sfcm_silence_ns"].is_number(), "{host:#}");
            assert_eq!(
                (&fabric["sfcm_tx"], &fabric["sfcm_tx_requested_ns"]),
                (&json!(30), &json!(27.5e6))
            );
            assert!(fabric["sfcm_to_pfc"].is_null(), "no proxy is here: {fabric:#}");
            assert_eq!((&data["frames_tx"], &data["frames_rx"]), (&json!(1_000), &json!(1_000)));
        }
    });
}

#[test]
fn a_proxy_between_interfaces_is_measured_by_the_generator() {
    isolated(&[], || {
        cables(2);
        let dir = Dir::new("gen-proxy");
        let file = "sfc_proxy: {accept: {switches: [10.0.0.0/8]}}\n\
                    buffer: {cell: 2KiB}\n\
                    defaults: {rate: 1G, pfc: {enable: [3]}, link: {poll_gap: 5ms, peer_response: 5ms}}\n\
                    ports:\n\
                    - {name: host, device: 'net_af_packet0,iface=d0', attached: host}\n\
                    - {name: fabric, device: 'net_af_packet1,iface=d1', attached: switch}\n";
        let switch = Switch::start(&dir, "proxy", file, &[]);
        let [host, fabric, data] = generated(&dir, "iface:t0", "iface:t1");
        let (status, summary) = switch.stop();
        assert_eq!(status, Some(0), "{summary:#}");
        // Each of 30 messages became one pause of its time, in quanta of 512 ns, rounded up.
        assert_eq!(
            (&fabric["sfcm_tx"], &fabric["sfcm_to_pfc"]),
            (&json!(30), &json!(30)),
            "{fabric:#}"
        );
        assert_eq!(fabric["sfcm_quanta_error"], 0.0, "{fabric:#}");
        assert!(fabric["sfcm_to_pfc_min_ns"].as_f64() > Some(0.0), "{fabric:#}");
        assert_eq!(host["priorities"][3]["requested_ns"], 27.51232e6, "{host:#}");
        assert!(host["sfcm_rx"].is_null(), "a host behind a proxy receives none: {host:#}");
        assert_eq!(data["frames_rx"], 1_000);
        let counted = &summary["congestion"]["switch"];
        assert_eq!(
            (&counted["sfc_proxy_incast"], &counted["sfc_proxy_in_network"]),
            (&json!(20), &json!(5))
        );
    });
}
