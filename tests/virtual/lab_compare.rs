//! Comparison of a lab's variants by `sluice run`: one table, the same numbers in JSON, one page;
//! and the labs of `configs/labs/compare`, which complete under every variant.

use std::collections::BTreeSet;
use std::fs;
use std::process::Output;

use serde_json::Value;

use crate::pages;
use crate::run::{self, Dir};

/// Small enough for a debug build: three hosts answer a fourth, 20 kB each.
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
    run::sluice().arg("run").args(args).current_dir(&dir.0).output().unwrap()
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
    assert_eq!((names, &found["verdict"]), (vec!["deep", "shallow"], &"pass".into()));
    let output = sluice(&dir, &["tiny.yaml"]);
    let (table, told) = (text(&output.stdout), text(&output.stderr));
    for run in runs {
        let variant = run["variant"].as_str().unwrap();
        let row = table.lines().find(|line| line.starts_with(&format!("tiny  {variant}"))).unwrap();
        let fct = &run["figures"]["fct"];
        assert_eq!(fct["messages"], 9);
        assert!(row.contains(" Gb/s ") && row.ends_with("PASS"), "{row}");
        assert!(told.contains(&format!("tiny {variant}: PASS")), "{told}");
        let p99 = fct["p99_ns"].as_f64().unwrap() / 1e3;
        let cell = row.split_whitespace().nth(4).unwrap().trim_end_matches("us");
        assert!((cell.parse::<f64>().unwrap() - p99).abs() < 0.01, "{p99} in {row}");
    }
    let pauses = |n: usize| runs[n]["figures"]["hops"][0]["pauses"].as_u64().unwrap();
    assert!(pauses(0) == 0 && pauses(1) > 0, "a shallow buffer pauses hosts: {table}");
    assert!(found.get("same_traces").is_none() && !table.contains("the same trace"), "{table}");
    // A variant in which nothing differs is told.
    dir.write("same.yaml", &LAB.replace("deep: {}", "deep: {}\n  also: {}"));
    let table = text(&sluice(&dir, &["same.yaml"]).stdout).to_owned();
    assert!(
        table.contains("note: tiny: deep and also have the same trace in their only run"),
        "{table}"
    );
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
    let plain = LAB.replace("name: tiny", "name: plain");
    dir.write("plain.yaml", plain.split("variants:").next().unwrap());
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
    assert!(table.contains("FAIL  tiny deep: marks: marks is 0, expected at least 1"), "{table}");
    assert!(table.ends_with("FAIL: 1 of 2 runs\n"), "{table}");
    dir.write("tiny.yaml", LAB);
    let broken = LAB.replace("name: tiny", "name: broken");
    dir.write("broken.yaml", &broken.replace("deep: {}", "deep: {duration: 0s}"));
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
        "Victim throughput",
        "Gb/s",
        "queue depth (kB)",
        "sluice run tiny.yaml --world virtual",
        "PASS: 2 of 2 runs",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let (page, script) = page.split_once("<script>").expect("its plots zoom");
    assert!(
        page.contains("default-src 'none'")
            && script.trim_end().ends_with("</script></body></html>")
    );
    for outside in ["http:", "https:", "src=", "href=", "url(", "@import", "<script src"] {
        assert!(!page.contains(outside), "{outside}");
    }
}

/// Runs a lab of the comparison; its runs by variant.
fn compared(lab: &str) -> Vec<(String, Value)> {
    let dir = Dir::new(&format!("compare-{lab}"));
    let file = format!("{}/configs/labs/compare/{lab}.yaml", env!("CARGO_MANIFEST_DIR"));
    let found = json(&dir, &[&file]);
    // Another path is no remedy for an incast: there messages pause the source, as with `sfc`. All others differ.
    let same = found["same_traces"].as_array().map_or(0, Vec::len);
    match lab {
        "incast" | "victim" => {
            let pair = &found["same_traces"][0]["variants"];
            assert_eq!((same, pair), (1, &serde_json::json!(["sfc", "sfc-path"])), "{lab}");
        }
        _ => assert_eq!(same, 0, "{lab}: {}", found["same_traces"]),
    }
    let runs = found["runs"].as_array().unwrap();
    let named = runs.iter().map(|run| (run["variant"].as_str().unwrap().to_owned(), run.clone()));
    named.collect()
}

/// Asserts that all variants of a lab are done without a loss.
fn all_done(lab: &str) -> Vec<(String, Value)> {
    const VARIANTS: [&str; 8] =
        ["pfc", "dcqcn", "fast-cnp", "qcn", "ci", "sfc", "sfc-path", "sfc-proxy"];
    let runs = compared(lab);
    assert_eq!(runs.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), VARIANTS);
    for (variant, run) in &runs {
        assert!(
            run["done"] == true && run["figures"]["lost_frames"] == 0,
            "{lab} {variant}: {run}"
        );
        let signals = &run["figures"]["signals"];
        let told = ["cnps", "cnms", "sfcms"].map(|kind| signals[kind].as_u64().unwrap() > 0);
        let expected = match variant.as_str() {
            "dcqcn" | "fast-cnp" => [true, false, false],
            "qcn" => [false, true, false],
            "sfc" | "sfc-path" | "sfc-proxy" => [false, false, true],
            _ => [false; 3],
        };
        assert_eq!(told, expected, "{lab} {variant}: {signals}");
    }
    let page = pages::page("docs/src/compare.md").text;
    assert_eq!(unlike_the_page(&page, lab, &runs), [] as [String; 0], "docs/src/compare.md");
    runs
}

/// A figure as the table of the page has it, by the name of its row.
fn as_published(row: &str, runs: &[(String, Value)], variant: &str) -> String {
    let figure = |path, unit| number(runs, variant, path) / unit;
    match row {
        "p99, us" => {
            let digits = format!("{:.0}", figure(P99, 1e3));
            match digits.len() {
                4.. => format!("{},{}", &digits[..digits.len() - 3], &digits[digits.len() - 3..]),
                _ => digits,
            }
        }
        "peak buffer, MB" => format!("{:.2}", figure(PEAK, 1e6)),
        "small messages, p50, us" => format!("{:.1}", figure("fct.p50_ns", 1e3)),
        "fairness (Jain)" => format!("{:.3}", figure("fairness", 1.0)),
        _ if row.starts_with("victim, of ") => format!("{:.1}", figure("victim_bps", 1e9)),
        _ => panic!("a row of the page that no figure is known for: {row}"),
    }
}

/// The cells of the page's table of a lab that differ from its runs, in the order of the variants.
fn unlike_the_page(page: &str, lab: &str, runs: &[(String, Value)]) -> Vec<String> {
    let first = format!("| `{lab}`: ");
    let mut rows = page.lines().skip_while(|line| !line.starts_with(&first));
    let mut own: Vec<&str> = rows.by_ref().take(1).collect();
    own.extend(rows.take_while(|line| line.starts_with("| | ")));
    assert!(own.len() >= 2, "{lab} has no rows in the table");
    let mut unlike = Vec::new();
    for line in own {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let (row, cells) = (cells[1], &cells[2..]);
        assert_eq!(cells.len(), runs.len(), "{line}");
        for ((variant, _), cell) in runs.iter().zip(cells) {
            let figure = as_published(row, runs, variant);
            if figure != *cell {
                unlike.push(format!("{lab} {variant}: {row}: {cell}, and the run has {figure}"));
            }
        }
    }
    unlike
}

#[test]
fn a_figure_of_the_page_that_no_run_has_is_found() {
    let run = |p99: f64| {
        let figures = serde_json::json!({
            "fct": {"p99_ns": p99}, "buffer_peak_bytes": 1_824_000, "fairness": 0.9996
        });
        serde_json::json!({ "figures": figures })
    };
    let runs = [("a".to_owned(), run(658_102.0)), ("b".to_owned(), run(2_095_400.0))];
    let page = |p99: &str| {
        format!(
            "| `lab`: x | p99, us | 658 | {p99} |\n| | peak buffer, MB | 1.82 | 1.82 |\n\
             | | fairness (Jain) | 1.000 | 1.000 |\n| `other`: y | p99, us | 1 |\n"
        )
    };
    assert_eq!(unlike_the_page(&page("2,095"), "lab", &runs), [] as [String; 0]);
    let unlike = unlike_the_page(&page("2,096"), "lab", &runs);
    assert_eq!(unlike, ["lab b: p99, us: 2,096, and the run has 2,095"]);
}

fn number(runs: &[(String, Value)], variant: &str, path: &str) -> f64 {
    let figures = &runs.iter().find(|(name, _)| name == variant).unwrap().1["figures"];
    let found = path.split('.').fold(figures, |value, key| &value[key]);
    found.as_f64().unwrap_or_else(|| panic!("{variant} has no {path}: {figures}"))
}

/// Pauses at this distance from the destination.
fn pauses(runs: &[(String, Value)], variant: &str, distance: u64) -> u64 {
    let figures = &runs.iter().find(|(name, _)| name == variant).unwrap().1["figures"];
    let hops = figures["hops"].as_array().unwrap().iter();
    let there = hops.filter(|hop| hop["distance"] == distance);
    there.map(|hop| hop["pauses"].as_u64().unwrap()).sum()
}

const PEAK: &str = "buffer_peak_bytes";
const P99: &str = "fct.p99_ns";

#[test]
fn each_wording_of_ecn_marks_in_its_own_way() {
    let runs = compared("ecn");
    let names: Vec<_> = runs.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["enqueue", "fast-ecn", "queue", "shares", "chance"]);
    for (variant, run) in &runs {
        assert_eq!((&run["done"], &run["verdict"]), (&true.into(), &"pass".into()), "{variant}");
        assert!(number(&runs, variant, "signals.cnps") > 0.0, "{variant}");
        let lost = number(&runs, variant, "lost_frames");
        assert_eq!(lost > 0.0, variant == "chance", "{variant}: {lost} frames without ECT");
    }
    let traces: BTreeSet<_> = runs.iter().map(|(_, run)| run["trace_hash"].to_string()).collect();
    assert_eq!(traces.len(), runs.len(), "each is another run");
    let cnps = |variant| number(&runs, variant, "signals.cnps");
    assert!(cnps("queue") >= cnps("enqueue"), "whole queues are marked");
}

#[test]
fn an_incast_waits_at_its_sources_under_sfc_and_is_done_no_later() {
    let runs = all_done("incast");
    assert!(runs.iter().all(|(_, run)| run["figures"]["fct"]["messages"] == 128));
    for variant in ["sfc", "sfc-proxy"] {
        let [pfc, own] = ["pfc", variant].map(|v| number(&runs, v, PEAK));
        assert!(own < 0.65 * pfc, "{variant}: {own} against {pfc}");
        let [pfc, dcqcn, own] = ["pfc", "dcqcn", variant].map(|v| number(&runs, v, P99));
        assert!(own < 1.01 * pfc && own < 0.5 * dcqcn, "{variant}: {own}, {pfc}, {dcqcn}");
        assert!(10 * pauses(&runs, variant, 1) < pauses(&runs, "pfc", 1), "{variant}");
    }
    assert!(pauses(&runs, "sfc", 3) == 0 && pauses(&runs, "sfc-proxy", 3) > 0, "edge to source");
    assert!((1..=2).all(|hop| pauses(&runs, "pfc", hop) > 0), "hop by hop");
}

#[test]
fn a_flow_beside_one_that_congests_is_spared_by_what_knows_flows() {
    let runs = all_done("in-network");
    let victim = |variant| number(&runs, variant, "victim_bps");
    let spared = ["dcqcn", "fast-cnp", "qcn", "sfc"].map(victim);
    assert!(spared.iter().all(|bps| *bps > 19.5e9));
    // By how much less the others leave it depends on the order of simultaneous frames.
    let least = spared.into_iter().fold(f64::INFINITY, f64::min);
    let priority = ["pfc", "ci", "sfc-proxy"];
    assert!(priority.iter().all(|v| victim(v) < 0.9 * least), "what is paused is the host");
    assert!(number(&runs, "sfc", PEAK) < 0.5 * number(&runs, "pfc", PEAK));
    assert!((1..=3).all(|hop| pauses(&runs, "sfc", hop) == 0), "no pause is left of PFC");
}

#[test]
fn flows_find_idle_paths_where_messages_say_that_the_network_is_congested() {
    let runs = all_done("ecmp");
    let [sfc, path] = ["sfc", "sfc-path"].map(|variant| number(&runs, variant, P99));
    assert!(path < 0.3 * sfc, "{path} against {sfc}");
    let told = |variant| number(&runs, variant, "signals.sfcms");
    assert!(told("sfc-path") < 0.05 * told("sfc"), "moved flows congest no longer");
    assert!(number(&runs, "sfc-path", "fairness") > 0.99);
    // Hosts count messages by locator.
    let dir = Dir::new("compare-path");
    let file = format!("{}/configs/labs/compare/ecmp.yaml", env!("CARGO_MANIFEST_DIR"));
    let outcome = json(&dir, &[&file, "--variant", "sfc-path"]);
    let hosts =
        outcome["nodes"].as_object().unwrap().values().filter(|node| node["kind"] == "host");
    let messages: Vec<_> = hosts.map(|host| &host["ports"][0]["sfcm"]).collect();
    let sum = |name: &str| messages.iter().map(|m| m[name].as_u64().unwrap()).sum::<u64>();
    assert_eq!(sum("received") as f64, told("sfc-path"));
    assert!(sum("rerouted") > 0 && sum("in_network") == sum("obeyed") && sum("incast") == 0);
}

#[test]
fn a_victim_gets_its_link_where_the_incast_is_stopped_at_its_sources() {
    let runs = all_done("victim");
    let victim = |variant| number(&runs, variant, "victim_bps");
    assert!(victim("pfc") < 80e9, "{}", victim("pfc"));
    for variant in ["sfc", "sfc-proxy"] {
        assert!(victim(variant) > 97e9, "{variant}: {}", victim(variant));
        assert_eq!(pauses(&runs, variant, 1) + pauses(&runs, variant, 2), 0, "{variant}");
        let [pfc, own] = ["pfc", variant].map(|v| number(&runs, v, "fct.p50_ns"));
        assert!(own < 0.2 * pfc, "small messages go by: {own} against {pfc}");
    }
}

#[test]
fn a_parking_lot_is_fair_where_flows_are_told_and_not_ports() {
    let runs = all_done("parking-lot");
    let fairness = |variant| number(&runs, variant, "fairness");
    assert!(fairness("pfc") < 0.95 && fairness("sfc") > 0.99 && fairness("sfc-proxy") > 0.99);
    assert!(number(&runs, "sfc", PEAK) < 0.5 * number(&runs, "pfc", PEAK));
}
