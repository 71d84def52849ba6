//! `sluice run --world real` by its text and its JSON.

use std::process::Output;

use serde_json::Value;

use crate::run::{self, Dir};

fn sluice(dir: &Dir, args: &[&str]) -> Output {
    let arguments = [&["run", "--world", "real"], args].concat();
    run::sluice().args(arguments).current_dir(&dir.0).output().unwrap()
}

fn text(octets: &[u8]) -> &str {
    std::str::from_utf8(octets).unwrap()
}

const LAB: &str = "\
name: tiny
topology: {star: {hosts: 4}}
duration: 5ms
until_done: true
profiles:
  small:
    buffer:
      total: 512KiB
      profiles:
        roce: {shared: {dynamic_th: -3}, lossless: {xoff: auto}}
    defaults: {pfc: {enable: [3]}, priority_groups: {3: roce}}
defaults:
  links: {rate: 100G, length: 100m}
flows:
  - {name: in, to: h4, priority: 3, size: 1000, duration: {frames: 400}}
checks: [conservation, lossless, pauses_end, no_deadlock]
";

#[test]
fn a_lab_of_100g_runs_in_slow_motion_and_says_so() {
    let dir = Dir::new("lab-real");
    dir.write("tiny.yaml", LAB);
    dir.write("asks.yaml", &LAB.replace("pauses_end", "pause_legality, pauses_end"));
    let output = sluice(&dir, &["asks.yaml", "--format", "json", "--report", "out.html"]);
    // A check that the file asks for and rings cannot judge keeps the run from passing.
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    let v: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(v["verdict"], "not_judged", "{}", v["checks"]);
    assert_eq!((&v["world"], &v["trace_hash"]), (&"real".into(), &Value::Null));
    assert_eq!((&v["done"], &v["lossless_drops"]), (&true.into(), &0.into()));
    assert!(v["real"]["slow_down"].as_u64() > Some(50), "{}", v["real"]);
    assert!(
        v["pauses"]["xoffs"].as_u64() >= Some(3) && v["pauses"]["xoffs"] == v["pauses"]["xons"]
    );
    for flow in v["flows"].as_array().unwrap() {
        assert_eq!((&flow["tx_frames"], &flow["rx_frames"]), (&400.into(), &400.into()));
    }
    // Three hosts share one link, and rates are in the lab's time.
    let all: f64 =
        v["flows"].as_array().unwrap().iter().map(|f| f["rx_bps"].as_f64().unwrap()).sum();
    assert!((5e10..=1.05e11).contains(&all), "{all}");
    let said = v["shortfalls"].to_string();
    for field in ["links.rate", "links.length, delay, phy"] {
        assert!(said.contains(field), "{field}: {said}");
    }
    let pauses = v["checks"].as_array().unwrap().iter().find(|c| c["name"] == "pause_legality");
    assert_eq!(pauses.unwrap()["verdict"], "not_judged", "the lines of rings are not watched");
    let page = std::fs::read_to_string(dir.0.join("out.html")).unwrap();
    assert!(page.contains("Not available in the real world"), "it says so too");

    let output = sluice(&dir, &["tiny.yaml", "--slow-down", "1000"]);
    let table = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(table.contains("1,000 times slower") && table.contains("- links.rate: "), "{table}");
}

#[test]
fn what_rings_cannot_run_is_bad_input() {
    let dir = Dir::new("lab-real-refused");
    let wide = LAB.replace("hosts: 4", "hosts: 40").replace("total: 512KiB", "total: 16MiB");
    dir.write("wide.yaml", &wide);
    let output = sluice(&dir, &["wide.yaml"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("40") && said.contains("--world virtual"), "{said}");
    let output = sluice(&dir, &["wide.yaml", "--slow-down", "0"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
}

#[test]
fn variants_share_the_dpdk_of_their_process() {
    let dir = Dir::new("lab-real-variants");
    dir.write("two.yaml", &format!("{LAB}variants:\n  a: {{}}\n  b: {{seed: 2}}\n"));
    let output = sluice(&dir, &["two.yaml", "--format", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let v: Value = serde_json::from_slice(&output.stdout).unwrap();
    let done: Vec<_> = v["runs"].as_array().unwrap().iter().map(|run| &run["done"]).collect();
    assert_eq!(done, [&Value::Bool(true), &Value::Bool(true)], "{v}");
}
