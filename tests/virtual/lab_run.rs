//! `sluice run` by its interfaces: a lab file in, results, a page and captures out.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Output};

use file::testgolden;
use serde_json::Value;

use crate::run::{self, Dir};

/// Three hosts send to one at 100 Gb/s through a switch, small enough for a debug build.
const LAB: &str = "\
name: tiny <incast>
topology: {star: {hosts: 4}}
duration: 1ms
until_done: true
profiles:
  small:
    buffer:
      total: 512KiB
      profiles:
        roce: {shared: {dynamic_th: -3}, lossless: {xoff: auto}}
    defaults: {pfc: {enable: [3]}, priority_groups: {3: roce}}
defaults:
  switches: {profile: small}
  links: {rate: 100G, length: 100m}
flows:
  - {name: in, to: h4, priority: 3, size: 1000, duration: {frames: 400}}
checks:
  - conservation
  - lossless
  - pause_legality
  - pauses_end
  - no_deadlock
  - work_conserving
  - fairness: {tolerance: 5%}
  - value: {path: pauses.received_xoffs, at_least: 1}
";

fn sluice(dir: &Dir, args: &[&str]) -> Output {
    run::sluice().arg("run").args(args).current_dir(&dir.0).output().unwrap()
}

fn text(octets: &[u8]) -> &str {
    std::str::from_utf8(octets).unwrap()
}

/// Runs a lab to its end, with the verdict PASS, as JSON.
fn json(dir: &Dir, file: &str, args: &[&str]) -> Value {
    let output = sluice(dir, &[&[file, "--format", "json"], args].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn the_same_seed_gives_the_same_results_and_another_way_to_show_them_the_same_numbers() {
    let dir = Dir::new("lab-same");
    dir.write("tiny.yaml", LAB);
    let once = json(&dir, "tiny.yaml", &[]);
    assert_eq!(once, json(&dir, "tiny.yaml", &["--report", "out.html"]));
    assert_eq!(once["verdict"], "pass");
    assert_eq!(once["flows"].as_array().unwrap().len(), 3);
    let table = sluice(&dir, &["tiny.yaml"]);
    let table = text(&table.stdout);
    assert!(table.contains(once["trace_hash"].as_str().unwrap()), "{table}");
    for flow in once["flows"].as_array().unwrap() {
        let name = flow["name"].as_str().unwrap();
        let row = table.lines().find(|line| line.starts_with(name)).unwrap();
        let cells: Vec<_> = row.split_whitespace().collect();
        assert_eq!(cells[1..4], [flow["from"].as_str().unwrap(), "h4", "3"]);
        assert_eq!(cells[4..7], ["400", "400", "0"], "{row}");
    }
    let xoffs = format!("{} XOFF", once["pauses"]["xoffs"]);
    assert!(table.contains(&xoffs), "{xoffs} in {table}");
    for check in once["checks"].as_array().unwrap() {
        let detail = check["detail"].as_str().unwrap();
        assert!(table.lines().any(|line| line.starts_with("PASS ") && line.ends_with(detail)));
    }
}

#[test]
fn a_seed_and_a_duration_replace_those_of_the_file() {
    let dir = Dir::new("lab-replaced");
    dir.write("tiny.yaml", LAB);
    let seeded = json(&dir, "tiny.yaml", &["--seed", "77", "--shuffle", "5"]);
    assert_eq!((&seeded["seed"], &seeded["shuffle"]), (&77.into(), &5.into()));
    let output = sluice(&dir, &["tiny.yaml", "--duration", "20us", "--format", "json"]);
    assert_eq!(output.status.code(), Some(1), "pauses have not ended by then");
    let cut: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&cut["elapsed_ns"], &cut["done"]), (&20_000.into(), &false.into()));
}

/// Removes numbers that are 0, and objects that are empty then.
fn prune(value: &mut Value) -> bool {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, value| prune(value) && name != "priority" && name != "rate_bps");
            !fields.is_empty()
        }
        Value::Array(list) => {
            list.retain_mut(prune);
            !list.is_empty()
        }
        Value::Number(n) => n.as_f64() != Some(0.0),
        Value::Null => false,
        Value::Bool(_) | Value::String(_) => true,
    }
}

/// Golden results of a run, to the picosecond: a change of them changes the results of all labs.
#[test]
fn the_results_of_a_small_lab_are_these() {
    let dir = Dir::new("lab-golden");
    dir.write("tiny.yaml", LAB);
    let mut found = json(&dir, "tiny.yaml", &[]);
    // The engine's work is not a result, and versions change.
    for field in ["engine", "version"] {
        found.as_object_mut().unwrap().remove(field);
    }
    prune(&mut found);
    testgolden::hold("tests/golden/lab_tiny.json", &(format!("{found:#}") + "\n"));
}

#[test]
fn a_lab_that_sends_nothing_passes_no_check() {
    let dir = Dir::new("lab-silent");
    // Every flow starts after the end of the lab.
    dir.write("silent.yaml", &LAB.replace("priority: 3,", "priority: 3, start: 5ms,"));
    let output = sluice(&dir, &["silent.yaml", "--format", "json"]);
    let outcome: Value = serde_json::from_slice(&output.stdout).unwrap();
    let verdicts: Vec<_> = outcome["checks"].as_array().unwrap().iter().map(verdict_of).collect();
    assert!(!verdicts.contains(&("lossless", "pass")), "{verdicts:?}");
    assert!(!verdicts.iter().any(|(_, verdict)| *verdict == "pass"), "{verdicts:?}");
    // The value that the file expects is not reached, which fails.
    assert_eq!(output.status.code(), Some(1), "{verdicts:?}");
}

#[test]
fn a_lab_without_lossless_traffic_says_that_losslessness_was_not_judged() {
    let dir = Dir::new("lab-lossy");
    let lossy = LAB.replace("priority: 3, size", "priority: 1, size");
    let (kept, _) = lossy.split_once("  - fairness:").unwrap();
    dir.write("lossy.yaml", kept);
    let output = sluice(&dir, &["lossy.yaml", "--format", "json"]);
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    let outcome: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(outcome["verdict"], "not_judged");
    let verdicts: Vec<_> = outcome["checks"].as_array().unwrap().iter().map(verdict_of).collect();
    let of = |name| verdicts.iter().find(|(check, _)| *check == name).unwrap().1;
    assert_eq!(["conservation", "no_deadlock"].map(of), ["pass"; 2]);
    assert_eq!(["lossless", "pause_legality", "pauses_end"].map(of), ["not_judged"; 3]);
}

/// The name and the verdict of a check.
fn verdict_of(check: &Value) -> (&str, &str) {
    (check["name"].as_str().unwrap(), check["verdict"].as_str().unwrap())
}

#[test]
fn bad_input_and_a_missing_world_have_their_own_exit_status() {
    let dir = Dir::new("lab-bad");
    dir.write("tiny.yaml", LAB);
    dir.write("broken.yaml", "topology: {star: {hosts: 3}}\nflows: [{to: h9}]\n");
    let cases: [(&[&str], i32, &str); 5] = [
        (&["missing.yaml"], 2, "missing.yaml"),
        (&["broken.yaml"], 2, "h9"),
        (&["tiny.yaml", "--pcapng", "h9-s1=x.pcapng"], 2, "there is no link h9-s1"),
        (&["tiny.yaml", "--pcapng", "h9"], 2, "write the name of a link"),
        (&["tiny.yaml", "--report", "tiny.yaml/place.html"], 2, "tiny.yaml/place.html"),
    ];
    let no_real_world: (&[&str], i32, &str) =
        (&["tiny.yaml", "--world", "real"], 3, "--world virtual");
    let missing = if cfg!(feature = "dpdk") { None } else { Some(no_real_world) };
    for (args, code, words) in cases.into_iter().chain(missing) {
        let output = sluice(&dir, args);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {error}");
        assert!(error.contains(words), "{args:?}: {error}");
    }
    let asked = LAB.replace("at_least: 1}", "at_most: 0}");
    dir.write("asks.yaml", &asked);
    let output = sluice(&dir, &["asks.yaml"]);
    assert_eq!(output.status.code(), Some(1), "a check that failed");
    assert!(text(&output.stdout).contains("FAIL  pauses.received_xoffs"));
}

#[test]
fn a_run_without_a_terminal_says_what_it_does_in_plain_lines() {
    let dir = Dir::new("lab-progress");
    // Long enough for a build for tests to take a few seconds on any machine.
    let long = LAB.replace("frames: 400", "frames: 4000000").replace("1ms", "200ms");
    dir.write("long.yaml", &long);
    let output = sluice(&dir, &["long.yaml"]);
    let error = text(&output.stderr);
    let lines: Vec<_> = error.lines().collect();
    assert!(
        lines[0].ends_with("5 nodes, 4 links and 3 flows in the virtual world, for up to 200ms")
    );
    assert!(lines.last().unwrap().contains("frame-hops/s"), "{error}");
    assert!(lines.len() > 2 || cfg!(not(debug_assertions)), "a line now and then: {error}");
    assert!(!error.contains('\u{1b}') && !error.contains('\r'), "no terminal, no escapes");
    assert!(text(&output.stdout).starts_with("tiny <incast> in the virtual world: "));
}

/// Asserts that every element is closed, in order; returns all of them, by name.
fn elements(page: &str) -> BTreeMap<String, usize> {
    const VOID: [&str; 2] = ["meta", "!doctype"];
    let (mut open, mut seen) = (Vec::<String>::new(), BTreeMap::new());
    let mut rest = page;
    while let Some(start) = rest.find('<') {
        let end = start + rest[start..].find('>').expect("a tag ends");
        let tag = &rest[start + 1..end];
        let name = tag.trim_start_matches('/').split([' ', '/', '\n']).next().unwrap();
        let name = name.to_lowercase();
        if tag.starts_with('/') {
            assert_eq!(open.pop().as_ref(), Some(&name), "</{name}> closes what is open");
        } else {
            *seen.entry(name.clone()).or_insert(0) += 1;
            if !tag.ends_with('/') && !VOID.contains(&name.as_str()) {
                open.push(name);
            }
        }
        rest = &rest[end + 1..];
    }
    assert!(open.is_empty(), "left open: {open:?}");
    seen
}

#[test]
fn the_report_is_one_page_that_needs_nothing_else() {
    let dir = Dir::new("lab-report");
    dir.write("tiny.yaml", LAB);
    json(&dir, "tiny.yaml", &["--report", "out.html"]);
    let page = fs::read_to_string(dir.path("out.html")).unwrap();
    let (page, script) = page.split_once("<script>").expect("its plots zoom");
    assert!(script.contains("The MIT License") && page.contains("default-src 'none'"));
    // The data of plots is text; the tests of the browser run the script.
    let seen = elements(&format!("{page}</body></html>"));
    assert!(seen["svg"] >= 6 && seen["table"] >= 3, "{seen:?}");
    assert_eq!(seen["script"], page.matches("type=\"application/json\"").count());
    for outside in ["link", "img", "iframe", "object", "a"] {
        assert!(!seen.contains_key(outside), "{outside}");
    }
    for outside in ["http:", "https:", "src=", "href=", "url(", "@import"] {
        assert!(!page.contains(outside), "{outside}");
    }
    for part in [
        "width=device-width",
        "prefers-color-scheme: dark",
        "tiny &lt;incast&gt;",
        "sluice run tiny.yaml --world virtual --seed 0",
        "queue depth (kB)",
        "time (µs)",
        "throughput (Gb/s)",
        "latency (logarithmic)",
        "aria-label=\"Pauses over time",
        "PASS: 8 of 8 checks",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let svgs = page.matches("<svg ").count();
    assert_eq!(page.matches("role=\"img\" aria-label=\"").count(), svgs, "words for all pictures");
    assert!(!page.contains("#01020") && !page.contains("#01030"), "every colour is the page's");
    assert!(page.len() < 400_000, "{} octets", page.len());
}

/// Rows that tshark reads in a capture.
fn tshark(dir: &Dir, file: &str, filter: &str, fields: &[&str]) -> Vec<Vec<String>> {
    let mut command = Command::new("tshark");
    command.arg("-r").arg(dir.path(file)).args(["-Y", filter, "-T", "fields", "-E", "separator=|"]);
    for field in fields {
        command.args(["-e", field]);
    }
    let output = command.output().expect("tshark is installed");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let row = |line: &str| line.split('|').map(String::from).collect();
    text(&output.stdout).lines().map(row).collect()
}

#[test]
fn captures_have_both_directions_and_nanoseconds_as_tshark_reads_them() {
    let dir = Dir::new("lab-capture");
    dir.write("tiny.yaml", LAB);
    let results = json(&dir, "tiny.yaml", &["--pcapng", "h1-s1=h1.pcapng"]);
    let fields = ["frame.time_epoch", "frame.interface_name", "frame.len", "frame.cap_len"];
    let data = tshark(&dir, "h1.pcapng", "udp", &fields);
    assert_eq!(data.len(), 400);
    for row in &data {
        assert_eq!(row[1..3], ["h1 to s1", "996"], "1,000 octets less the check sequence");
        assert!(row[3].parse::<u32>().unwrap() < 200, "the first octets alone");
    }
    // 1,020 bytes at 80 ps: two frames start 81.6 ns apart, truncated to whole nanoseconds.
    let nanos = |row: &[String]| {
        let (seconds, fraction) = row[0].split_once('.').unwrap();
        assert_eq!((seconds, fraction.len()), ("0", 9), "stamps in nanoseconds: {}", row[0]);
        fraction.parse::<u64>().unwrap()
    };
    assert_eq!(data[..4].iter().map(|row| nanos(row)).collect::<Vec<_>>(), [0, 81, 163, 244]);
    let pauses = tshark(&dir, "h1.pcapng", "macc.opcode == 0x0101", &fields);
    let received = &results["nodes"]["h1"]["ports"][0]["pauses_received"];
    assert_eq!(pauses.len() as u64, received.as_u64().unwrap());
    assert!(pauses.iter().all(|row| row[1..3] == ["s1 to h1", "60"]), "{pauses:?}");
    let all = tshark(&dir, "h1.pcapng", "frame", &fields);
    assert!(all.is_sorted_by_key(|row| nanos(row)) && all.len() == data.len() + pauses.len());
}

/// A workload with sizes from a file, and a ring.
const WORKLOAD: &str = "\
name: load
duration: 1ms
record: {messages: true}
profiles: {p: {defaults: {pfc: {enable: [3]}}}}
topology: {star: {hosts: 8}}
flows:
  - name: bg
    from: h1..h8
    pattern: random
    priority: 3
    transport: {roce: {messages: {bytes: {cdf: sizes.txt}, load: 30%}}}
  - {name: ar, from: h1..h4, pattern: ring, priority: 3, transport: roce, duration: {bytes: 100KB}}
";

#[test]
fn a_workload_has_its_mean_in_the_check_and_slowdowns_and_completion_in_the_results() {
    let dir = Dir::new("lab-workload");
    dir.write("load.yaml", WORKLOAD);
    dir.write("sizes.txt", "1KB 0\n19KB 1\n");
    let check = |format: &str| {
        let args = ["check", "load.yaml", "--format", format];
        run::sluice().args(args).current_dir(&dir.0).output().unwrap()
    };
    let checked: Value = serde_json::from_slice(&check("json").stdout).unwrap();
    let of = checked.pointer("/0/lab/workloads/0").unwrap_or_else(|| panic!("{checked:#}"));
    assert_eq!((&of["name"], &of["sizes"]), (&"bg".into(), &"sizes".into()));
    assert_eq!(
        (of["mean_bytes"].as_f64(), of["load"]["configured"].as_f64()),
        (Some(1e4), Some(0.3))
    );
    let table = check("table");
    let table = text(&table.stdout);
    assert!(table.contains("sizes") && table.contains("10.0 kB"), "{table}");
    assert!(table.contains("ring of 4, 6 steps"), "{table}");

    let once = json(&dir, "load.yaml", &[]);
    assert_eq!(once, json(&dir, "load.yaml", &[]));
    let found = &once["workloads"][0];
    assert_eq!(found["messages"], of["messages"]);
    // Six steps of 25 KB at 100 Gb/s.
    assert!(once["workloads"][1]["collective"]["completion_ns"].as_f64().unwrap() > 12_000.0);
    let slowdown = &once["figures"]["slowdown"];
    assert!(slowdown["p50"].as_f64().unwrap() >= 1.0, "{slowdown}");
    let counted: u64 =
        ["messages", "unfinished"].map(|n| slowdown[n].as_u64().unwrap()).iter().sum();
    assert!(counted >= found["messages"].as_u64().unwrap(), "{slowdown}");
    let shown = sluice(&dir, &["load.yaml"]);
    let shown = text(&shown.stdout);
    for part in ["workload bg: ", "slowdown p50", "ring of 4 hosts in 6 steps, complete after "] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    // Another seed draws other messages.
    assert_ne!(json(&dir, "load.yaml", &["--seed", "9"])["trace_hash"], once["trace_hash"]);

    dir.write("sizes.txt", "1KB 0\n19KB 0.9\n5KB 1\n");
    let refused = sluice(&dir, &["load.yaml"]);
    assert_eq!(refused.status.code(), Some(2));
    let said = text(&refused.stderr);
    assert!(said.contains("sizes.txt:3: size 5000 is below 19000, the size before it"), "{said}");
}
