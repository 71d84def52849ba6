//! Labs with variants as `sluice run` compares them: one table, the same numbers for programs, one
//! page; and the labs of `configs/labs/compare`, which end well under every variant.

mod run;

use std::fs;
use std::process::{Command, Output};

use run::{Dir, SLUICE};
use serde_json::Value;

/// Little enough for a debug build: three hosts answer a fourth, 20 kB each.
const LAB: &str = "\
name: tiny
topology: {star: {hosts: 5}}
duration: 1ms
until_done: true
defaults:
  links: {rate: 100G, length: 10m}
  flows: {priority: 3, transport: {roce: {messages: {bytes: 20KB, every: 50us, count: 3}}}}
flows:
  - {name: in, from: [h1, h2, h3], to: h4}
  - {name: other, from: h1, to: h5, victim: true, rate: 10G, transport: udp, duration: {seconds: 100us}}
variants:
  deep: {}
  shallow:
    profiles: {tor: {buffer: {total: 512KiB, profiles: {r: {shared: {dynamic_th: -5}, lossless: {xoff: auto}}}},
                     defaults: {pfc: {enable: [3]}, priority_groups: {3: r}}}}
";

fn sluice(dir: &Dir, args: &[&str]) -> Output {
    Command::new(SLUICE).arg("run").args(args).current_dir(&dir.0).output().unwrap()
}

fn text(octets: &[u8]) -> &str {
    std::str::from_utf8(octets).unwrap()
}

fn json(dir: &Dir, args: &[&str]) -> Value {
    let output = sluice(dir, &[args, &["--format", "json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn the_table_has_a_row_for_each_variant_with_the_numbers_of_the_json() {
    let dir = Dir::new("compare-table");
    dir.write("tiny.yaml", LAB);
    let found = json(&dir, &["tiny.yaml"]);
    let runs = found["runs"].as_array().unwrap();
    let names: Vec<_> = runs.iter().map(|run| run["variant"].as_str().unwrap()).collect();
    assert_eq!((names, &found["verdict"]), (vec!["deep", "shallow"], &"good".into()));
    let output = sluice(&dir, &["tiny.yaml"]);
    let (table, told) = (text(&output.stdout), text(&output.stderr));
    for run in runs {
        let variant = run["variant"].as_str().unwrap();
        let row = table.lines().find(|line| line.starts_with(&format!("tiny  {variant}"))).unwrap();
        let fct = &run["figures"]["fct"];
        assert_eq!(fct["messages"], 9);
        assert!(row.contains(" Gb/s ") && row.ends_with("good"), "{row}");
        assert!(told.contains(&format!("tiny {variant}: good")), "{told}");
        let p99 = fct["p99_ns"].as_f64().unwrap() / 1e3;
        let cell = row.split_whitespace().nth(4).unwrap().trim_end_matches("us");
        assert!((cell.parse::<f64>().unwrap() - p99).abs() < 0.01, "{p99} in {row}");
    }
    let pauses = |n: usize| runs[n]["figures"]["hops"][0]["pauses"].as_u64().unwrap();
    assert!(pauses(0) == 0 && pauses(1) > 0, "a shallow buffer pauses hosts: {table}");
}

#[test]
fn one_variant_is_an_ordinary_lab_and_a_comparison_has_its_results_on_request() {
    let dir = Dir::new("compare-one");
    dir.write("tiny.yaml", LAB);
    let alone = json(&dir, &["tiny.yaml", "--variant", "shallow"]);
    assert_eq!(
        (&alone["variant"], &alone["flows"][0]["name"]),
        (&"shallow".into(), &"in_h1".into())
    );
    let all = json(&dir, &["tiny.yaml", "--outcomes"]);
    assert_eq!(all["runs"][1]["outcome"], alone, "whoever runs beside it");
    let two = json(&dir, &["tiny.yaml", "--variant", "shallow", "--variant", "deep"]);
    assert_eq!(two["runs"].as_array().unwrap().len(), 2);
    assert_eq!(two["runs"][0]["trace_hash"], alone["trace_hash"]);
    dir.write("plain.yaml", LAB.split("variants:").next().unwrap());
    let files = json(&dir, &["plain.yaml", "tiny.yaml"]);
    assert_eq!(files["runs"].as_array().unwrap().len(), 3);
    assert_eq!(files["runs"][0]["trace_hash"], files["runs"][1]["trace_hash"], "deep says nothing");
}

#[test]
fn a_failed_check_is_named_and_bad_input_is_told_before_anything_runs() {
    let dir = Dir::new("compare-bad");
    dir.write(
        "asks.yaml",
        &LAB.replace("deep: {}", "deep: {checks: [{value: {path: marks, at_least: 1}}]}"),
    );
    let output = sluice(&dir, &["asks.yaml"]);
    assert_eq!(output.status.code(), Some(1));
    let table = text(&output.stdout);
    assert!(table.contains("FAILED  tiny deep: marks: marks is 0, expected at least 1"), "{table}");
    assert!(table.ends_with("bad: checks of 1 of 2 runs FAILED\n"), "{table}");
    dir.write("tiny.yaml", LAB);
    dir.write("broken.yaml", &LAB.replace("deep: {}", "deep: {duration: 0s}"));
    let cases: [(&[&str], &str); 3] = [
        (&["tiny.yaml", "--variant", "deap"], "did you mean `deep`?"),
        (&["tiny.yaml", "--pcapng", "h1-s1=x.pcapng"], "choose one with --variant"),
        (&["tiny.yaml", "broken.yaml"], "broken.yaml:12:20: duration"),
    ];
    for (args, words) in cases {
        let output = sluice(&dir, args);
        let error = text(&output.stderr);
        assert!(output.status.code() == Some(2) && error.contains(words), "{args:?}: {error}");
        assert!(!error.contains("in the virtual world"), "nothing was run: {error}");
    }
}

#[test]
fn the_page_shows_every_variant_and_needs_nothing_else() {
    let dir = Dir::new("compare-page");
    dir.write("tiny.yaml", LAB);
    let plain = json(&dir, &["tiny.yaml"]);
    assert_eq!(plain, json(&dir, &["tiny.yaml", "--report", "out.html"]));
    let page = fs::read_to_string(dir.path("out.html")).unwrap();
    for part in [
        "<dt>shallow</dt>",
        "Completion, 99 of 100",
        "What victims got",
        "Gb/s",
        "queue depth (kB)",
        "sluice run tiny.yaml --world virtual",
        "the checks of all runs were passed",
    ] {
        assert!(page.contains(part), "{part}");
    }
    for outside in ["http:", "https:", "src=", "href=", "url(", "@import", "<script"] {
        assert!(!page.contains(outside), "{outside}");
    }
}

/// Runs a lab of the comparison; its runs by variant.
fn compared(lab: &str) -> Vec<(String, Value)> {
    let dir = Dir::new(&format!("compare-{lab}"));
    let file = format!("{}/configs/labs/compare/{lab}.yaml", env!("CARGO_MANIFEST_DIR"));
    let found = json(&dir, &[&file]);
    let runs = found["runs"].as_array().unwrap();
    let named = runs.iter().map(|run| (run["variant"].as_str().unwrap().to_owned(), run.clone()));
    named.collect()
}

/// The run of a variant.
fn of<'a>(runs: &'a [(String, Value)], variant: &str) -> &'a Value {
    &runs.iter().find(|(name, _)| name == variant).unwrap().1["figures"]
}

#[test]
fn an_incast_is_done_and_loses_nothing_under_every_variant() {
    let runs = compared("incast");
    for (variant, run) in &runs {
        assert_eq!(run["done"], true, "{variant}");
        assert_eq!(run["figures"]["fct"]["messages"], 128, "{variant}");
        assert_eq!(run["figures"]["lost_frames"], 0, "{variant}");
    }
}

#[test]
fn congestion_in_the_network_pauses_hosts_under_pfc_and_nothing_is_lost() {
    let runs = compared("in-network");
    for (variant, run) in &runs {
        assert!(run["done"] == true && run["figures"]["lost_frames"] == 0, "{variant}");
    }
    let victim = |variant| of(&runs, variant)["victim_bps"].as_f64().unwrap();
    assert!(victim("pfc") < 0.9 * 20e9, "what is paused is the host: {}", victim("pfc"));
}

#[test]
fn a_victim_stands_still_with_the_incast_under_pfc_alone() {
    let runs = compared("victim");
    for (variant, run) in &runs {
        assert!(run["done"] == true && run["figures"]["lost_frames"] == 0, "{variant}");
    }
    let victim = |variant| of(&runs, variant)["victim_bps"].as_f64().unwrap();
    assert!(victim("pfc") < 70e9, "{}", victim("pfc"));
}

#[test]
fn a_parking_lot_is_unfair_under_pfc_alone() {
    let runs = compared("parking-lot");
    for (variant, run) in &runs {
        assert!(run["done"] == true && run["figures"]["lost_frames"] == 0, "{variant}");
    }
    assert!(of(&runs, "pfc")["fairness"].as_f64().unwrap() < 0.95);
}
