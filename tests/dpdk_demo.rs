//! `sluice demo` as a user runs it: DPDK's frames, real time, and the expected verdict.
//!
//! In a separate process, as DPDK starts once in each.
#![cfg(feature = "dpdk")]

mod run;

use serde_json::Value;

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
    let [off, on] = [&v["runs"][0], &v["runs"][1]];
    let n = |v: &Value| v.as_u64().unwrap_or_else(|| panic!("no number: {v}"));

    assert!(n(&off["lossless"]["lost_frames"]) > 0);
    assert_eq!(n(&off["pauses_sent"]), 0);

    let lossless = &on["lossless"];
    assert_eq!(n(&lossless["lost_frames"]), 0);
    assert_eq!(n(&lossless["delivered_frames"]), n(&lossless["sent_frames"]));
    assert!(n(&lossless["delivered_frames"]) > 0 && n(&on["lossy"]["delivered_frames"]) > 0);
    assert!(n(&on["pauses_sent"]) > 0);
    assert_eq!(n(&on["pauses_sent"]), n(&on["pauses_obeyed"]));
    assert!(n(&on["headroom_peak_bytes"]) <= n(&v["setup"]["headroom_bytes_per_sender"]));
    for run in [off, on] {
        assert_eq!(run["accounted"], Value::Bool(true));
        let latency = |key| n(&run["lossless"][key]);
        assert!(latency("latency_p50_ns") <= latency("latency_p99_ns"));
        assert!(0 < latency("latency_p50_ns"));
        assert!(latency("latency_p99_ns") <= latency("latency_max_ns"));
    }
    // Progress goes to standard error, one line per second if that is not a terminal.
    assert!(stderr.contains("PFC off 1.0 s") && stderr.contains("PFC on 1.0 s"), "{stderr}");
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
