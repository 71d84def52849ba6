//! `sluice demo` as a user runs it: DPDK's frames, real time, and the expected verdict.
//!
//! In a separate process, as DPDK starts once in each.

use serde_json::Value;

use crate::run;

fn demo(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = run::sluice()
        .arg("demo")
        .args(arguments)
        .output()
        .expect("the binary that Cargo built runs");
    let text = |octets: Vec<u8>| String::from_utf8(octets).expect("it prints UTF-8");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn pfc_off_loses_and_pfc_on_does_not() {
    let (status, stdout, stderr) = demo(&["--seconds", "1", "--format", "json"]);
    let v: Value = serde_json::from_str(&stdout).unwrap_or_else(|e| panic!("{e}: {stderr}"));
    assert_eq!((status, &v["verdict"]), (Some(0), &Value::from("pass")), "{stdout}{stderr}");
    let runs = v["runs"].as_array().expect("a list of runs");
    let variants: Vec<_> = runs.iter().map(|run| run["variant"].as_str().unwrap_or("")).collect();
    assert_eq!(variants, ["pfc-off", "pfc-on"]);
    let [off, on] = [&runs[0]["outcome"], &runs[1]["outcome"]];
    let n = |v: &Value| v.as_u64().unwrap_or_else(|| panic!("no number: {v}"));
    // Both senders' flows of one priority together.
    let of = |outcome: &Value, priority: u64, key: &str| -> u64 {
        let flows = outcome["flows"].as_array().expect("a list of flows");
        flows.iter().filter(|flow| n(&flow["priority"]) == priority).map(|flow| n(&flow[key])).sum()
    };

    assert!(of(off, 3, "loss_frames") > 0);
    assert_eq!(n(&off["pauses"]["xoffs"]), 0);

    assert_eq!(of(on, 3, "loss_frames"), 0);
    assert_eq!(of(on, 3, "rx_frames"), of(on, 3, "tx_frames"));
    assert!(of(on, 3, "rx_frames") > 0 && of(on, 0, "rx_frames") > 0);
    assert!(n(&on["pauses"]["xoffs"]) > 0);
    assert_eq!(n(&on["pauses"]["xoffs"]), n(&on["pauses"]["xons"]));
    for outcome in [off, on] {
        assert_eq!(outcome["done"], Value::Bool(true));
        for flow in outcome["flows"].as_array().unwrap() {
            let latency = |key: &str| flow["latency_ns"][key].as_f64().unwrap();
            assert!(latency("p50") <= latency("p99") && latency("p99") <= latency("max"), "{flow}");
            assert!(0.0 < latency("p50"), "{flow}");
        }
    }
    // Progress goes to standard error.
    assert!(stderr.contains("demo pfc-off: PASS"), "{stderr}");
}

#[test]
fn bad_arguments_are_refused_with_what_is_allowed() {
    for (arguments, hint) in [
        (["--senders", "8"], "2..=7"),
        (["--size", "60"], "74..=9216"),
        (["--rate", "fast"], "10G"),
        (["--seconds", "0"], "1..=3600"),
    ] {
        let (status, stdout, stderr) = demo(&arguments);
        assert_eq!(status, Some(2), "{stderr}");
        assert!(stdout.is_empty() && stderr.contains(hint), "{stderr}");
    }
}
