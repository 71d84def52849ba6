//! `sluice headroom measure` between two ports in memory, as a user runs it, and its refusals.
//!
//! Each run is a separate process, as DPDK starts once in each.

use std::process::Stdio;

use serde_json::Value;

use crate::run::{conclusive, run_ahead, sluice, text};

fn measure(args: &str) -> (Option<i32>, String, String) {
    run_ahead();
    let output = conclusive(|| {
        let mut command = sluice();
        command.args(["headroom", "measure"]).args(args.split_whitespace()).stdin(Stdio::null());
        command.output().expect("the binary that Cargo built runs")
    });
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn measured(args: &str) -> Value {
    let (status, stdout, stderr) = measure(&format!("{args} --format json"));
    assert_eq!(status, Some(0), "{stdout}{stderr}");
    serde_json::from_str(&stdout).unwrap_or_else(|e| panic!("{e}: {stdout}{stderr}"))
}

fn n(v: &Value) -> u64 {
    v.as_u64().unwrap_or_else(|| panic!("no number: {v}"))
}

fn f(v: &Value) -> f64 {
    v.as_f64().unwrap_or_else(|| panic!("no number: {v}"))
}

/// Bits that pass in nanoseconds at 100 Gb/s, rounded up.
fn bits(ns: f64) -> u64 {
    // Picoseconds are whole, so nothing is lost.
    ((ns * 1e3).round() as u64).div_ceil(10)
}

#[test]
fn a_pair_in_memory_gives_a_headroom_whose_terms_add_up() {
    let args =
        "--ring --rate 100G --cell 208 --macsec 100ns,50ns --reaction 1us --invocation 200ns";
    let v = measured(args);
    assert_eq!((&v["verdict"], &v["state"]), (&"pass".into(), &"measured".into()));
    let m = &v["measurements"][0];
    assert_eq!(n(&m["rounds"]), 100);
    let delay = &m["delay_ns"];
    let figures = ["min", "p50", "p90", "p99", "max"].map(|name| f(&delay[name]));
    assert!(figures.is_sorted() && figures[0] > 0.0, "{delay}");
    assert!((figures[0]..=figures[4]).contains(&f(&delay["mean"])), "{delay}");
    assert_eq!(f(&m["chosen_ns"]), figures[4], "the longest, unless something else is asked for");
    assert!(f(&m["turnaround_ns"]["max"]) >= 1.0);

    // The longest frame twice, the PFC frame, the reaction, the invocation, and the round trip.
    let round_trip = bits(f(&m["chosen_ns"]));
    assert_eq!(n(&m["measured_bits"]), round_trip);
    let sum = 2 * 16_160 + 672 + 100_000 + 20_000 + round_trip;
    let headroom = &m["headroom"];
    assert_eq!(n(&headroom["bits"]), sum);
    assert_eq!(n(&headroom["bytes"]), sum.div_ceil(8));
    assert_eq!(n(&headroom["quanta"]), sum.div_ceil(512));
    assert_eq!(n(&headroom["cells"]), sum.div_ceil(84 * 8) + 10);
    assert_eq!(&v["headroom"], headroom);
    let terms = m["terms"].as_array().unwrap();
    assert_eq!(terms.iter().map(|term| n(&term["bits"])).sum::<u64>(), sum);
    // With MACsec frames are longer by 32 bytes, and both shims count.
    assert_eq!(n(&v["headroom_macsec"]["bits"]), sum + 2 * 32 * 8 + 10_000 + 5_000);

    assert_eq!(m["stamps"]["source"], "software");
    let (resolution, uncertainty) = (f(&m["stamps"]["resolution_ns"]), f(&m["uncertainty_ns"]));
    assert!(resolution > 0.0 && uncertainty >= 2.0 * resolution, "{m}");
    let accuracy = &m["accuracy"];
    assert!((f(&accuracy["quanta"]) - uncertainty / 5.12).abs() < 1e-6, "{accuracy}");
    assert!((f(&accuracy["max_frames"]) - uncertainty / 161.6).abs() < 1e-3, "{accuracy}");

    let [a, b] = [&v["ports"][0], &v["ports"][1]].map(|port| &port["measurement"]);
    assert_eq!(n(&a["round_trips"]), 100);
    assert_eq!(
        (n(&a["requests_sent"]), n(&b["responses_sent"])),
        (n(&b["requests_received"]), 100)
    );
}

#[test]
fn of_several_measurements_the_largest_headroom_counts() {
    let v = measured("--ring --rate 10G --count 5 --period 1ms");
    let all = v["measurements"].as_array().unwrap();
    assert_eq!(all.len(), 5);
    // Requests are at most 500 us apart; time above 50 ms is preemption.
    let took: Vec<_> = all.iter().map(|m| f(&m["took_ms"])).collect();
    println!("100 rounds took {took:?} ms");
    assert!(took.iter().all(|ms| *ms >= 99.0 * 0.5), "{took:?}");
    let most = all.iter().map(|m| n(&m["headroom"]["bits"])).max().unwrap();
    assert_eq!(n(&v["headroom"]["bits"]), most);
}

#[test]
fn another_statistic_is_another_headroom_and_all_dialects_are_spoken() {
    for (statistic, figure) in [("mean", "mean"), ("p50", "p50"), ("p99", "p99")] {
        let args = "--ring --rate 100G --times ps --kinds numbers --length rest --no-piggyback";
        let v = measured(&format!("{args} --rounds 50 --statistic {statistic}"));
        let m = &v["measurements"][0];
        assert_eq!(f(&m["chosen_ns"]), f(&m["delay_ns"][figure]), "{statistic}: {m}");
        assert_eq!(n(&m["rounds"]), 50);
    }
}

#[test]
fn ptp_measures_the_same_pair() {
    let v = measured("--ring --rate 100G --method ptp --interval 1ms --internal 300ns,700ns");
    let m = &v["measurements"][0];
    assert_eq!((&v["method"], n(&m["rounds"])), (&Value::from("ptp"), 8));
    let path = bits(2.0 * f(&m["chosen_ns"]));
    assert_eq!(n(&m["measured_bits"]), path);
    let sum = 2 * 16_160 + 672 + 30_000 + 70_000 + path;
    assert_eq!(n(&m["headroom"]["bits"]), sum, "{m:#}");
    assert!(n(&v["ports"][1]["ptp"]["follow_ups_sent"]) >= 8);
}

#[test]
fn people_get_a_table_with_all_that_matters() {
    let (status, stdout, stderr) = measure("--ring --rate 10G");
    assert_eq!(status, Some(0), "{stderr}");
    for part in [
        "ring:headroom.a to ring:headroom.b: 100 rounds",
        "link 10.0 Gb/s (--rate)",
        "stamps: t1 by software, t4 by software, t2 and t3 as the peer says",
        "unknown, and can only lengthen a delay:",
        "  frames that wait in this port's driver",
        "round trip",
        "peer's t3 - t2",
        "reaction of the peer",
        "headroom, by the longest delay:",
        "accuracy:",
        "100 requests sent",
    ] {
        assert!(stdout.contains(part), "{part} is not in\n{stdout}");
    }
}

#[test]
fn nobody_answering_is_a_bad_verdict_that_says_what_to_check() {
    let args = "--port net_null0,no-rx=1 --rounds 3 --requests 4 --spacing 20ms..50ms";
    let (status, stdout, stderr) = measure(args);
    assert_eq!(status, Some(1), "{stdout}{stderr}");
    for part in ["no headroom was found", "0 answers to 4 requests", "nothing at all has arrived"] {
        assert!(stdout.contains(part), "{part} is not in\n{stdout}");
    }
    assert!(stdout.contains("4 requests sent"), "{stdout}");
    let (status, stdout, _) = measure(&format!("{args} --format json"));
    let v: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((status, &v["verdict"]), (Some(1), &Value::from("fail")));
    assert_eq!(v["headroom"], Value::Null);
}

#[test]
fn a_responder_that_nobody_asked_ends_after_its_time_and_is_not_judged() {
    let args = "headroom measure --port net_null0,no-rx=1 --respond --duration 100ms";
    let output = sluice().args(args.split(' ')).stdin(Stdio::null()).output().unwrap();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(4), "{stdout}{stderr}");
    assert!(stdout.contains("0 responses sent") && stderr.contains("answers headroom"), "{stderr}");
}

#[test]
fn bad_arguments_are_refused_before_anything_is_opened() {
    for (args, says) in [
        ("", "--ring"),
        ("--port ring:x.a", "ring:x.b"),
        ("--port ring:x", "ring:NAME.a"),
        ("--port iface:a?pfc=3 ", "options are for generators"),
        ("--ring --rounds 0", "1 to 256"),
        ("--ring --rounds 100 --requests 50", "100 (the rounds) to 256"),
        ("--ring --requests 300", "8 bits"),
        ("--ring --spacing 500us..50us", "the least and the most"),
        ("--ring --max-frame 20", "64 to 65535"),
        ("--ring --cell 0", "1 to 65536"),
        ("--ring --reaction 2s", "longer than a second"),
        ("--ring --macsec 5ns", "comma"),
        ("--ring --statistic median", "p99"),
        ("--ring --respond", "cannot be used with"),
    ] {
        let (status, stdout, stderr) = measure(args);
        assert_eq!(status, Some(2), "{args}: {stderr}");
        assert!(stdout.is_empty() && stderr.contains(says), "{args}: {stderr}");
    }
    let (status, _, stderr) = measure("--port net_af_packet0,iface=nowhere0");
    assert_eq!(status, Some(3), "{stderr}");
    assert!(stderr.contains("nowhere0"), "{stderr}");
}
