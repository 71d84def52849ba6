//! Studies by the command line: the runs of a sweep on all cores, their rows, an interrupted run that goes
//! on, kept labs, shards of a lab and of a swarm, and the scripts of `configs/scale`.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::run::{self, Dir};

/// Small enough for a debug build; a check fails where the cable is long.
const LAB: &str = "\
name: tiny
topology: {star: {hosts: 3}}
duration: 100us
defaults: {links: {rate: 100G, length: 10m}}
flows: [{name: f, from: [h1, h2], to: h3, priority: 3, size: 1500}]
checks: [conservation, {value: {path: flows.f_h1.latency_ns.min, at_most: 4000}}]
variants: {a: {}, b: {duration: 90us}}
sweep: {defaults.links.length: [10m, 2km], flows.f.size: 500..1500 step 500, seed: 1..4}
";
const RUNS: usize = 48;

fn sluice(dir: &Dir, line: &str) -> Output {
    run::sluice().args(line.split_whitespace()).current_dir(&dir.0).output().unwrap()
}

fn text(octets: &[u8]) -> &str {
    std::str::from_utf8(octets).unwrap()
}

fn status(output: &Output, wanted: i32) {
    assert_eq!(output.status.code(), Some(wanted), "{}", text(&output.stderr));
}

/// Rows of a file by number, without what depends on the machine.
fn rows(dir: &Dir, file: &str) -> Vec<Value> {
    let text = fs::read_to_string(dir.path(file)).unwrap();
    let mut rows: Vec<Value> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    for row in &mut rows {
        assert!(row["wall_ms"].as_f64().unwrap() > 0.0);
        row["wall_ms"] = Value::Null;
    }
    rows.sort_by_key(|row| row["n"].as_u64());
    rows
}

fn folder(name: &str) -> Dir {
    let dir = Dir::new(name);
    dir.write("tiny.yaml", LAB);
    dir
}

#[test]
fn every_run_of_a_sweep_has_a_row_and_the_table_takes_its_seeds_together() {
    let dir = folder("study-rows");
    let output = sluice(&dir, "run tiny.yaml --rows a.jsonl --jobs 1");
    status(&output, 1);
    let table = text(&output.stdout);
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    assert!(table.starts_with("variant  length  size  "), "{table}");
    assert_eq!(table.matches("FAIL: 4 of 4\n").count(), 6, "{table}");
    assert_eq!(table.matches("PASS: 4\n").count(), 6, "{table}");
    assert!(table.ends_with("FAIL: 24 of 48 runs\n"), "{table}");
    status(&sluice(&dir, "run tiny.yaml --rows b.jsonl --jobs 3"), 1);
    let (a, b) = (rows(&dir, "a.jsonl"), rows(&dir, "b.jsonl"));
    assert_eq!((a.len(), &a), (RUNS, &b), "whatever the number of threads");
    let lines = |file: &str| {
        let text = fs::read_to_string(dir.path(file)).unwrap();
        let n = |l: &str| serde_json::from_str::<Value>(l).unwrap()["n"].as_u64().unwrap();
        text.lines().map(n).collect::<Vec<_>>()
    };
    assert_eq!(lines("b.jsonl"), (0..RUNS as u64).collect::<Vec<_>>(), "in order");
    let last = &a[RUNS - 1];
    assert_eq!(
        [&last["variant"], &last["defaults.links.length"], &last["flows.f.size"], &last["seed"]],
        [&Value::from("b"), &"2km".into(), &1500.into(), &4.into()]
    );
    // The same as the ordinary lab of that number.
    let output = sluice(&dir, "run tiny.yaml --number 47 --format json");
    let one: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&one["trace_hash"], &one["seed"]), (&last["trace_hash"], &last["seed"]));
    let json = sluice(&dir, "run tiny.yaml --format json");
    let studied: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(studied["rows"].as_array().unwrap().len(), RUNS);
    assert_eq!(studied["groups"].as_array().unwrap().len(), 12);
    assert_eq!((&studied["verdict"], &studied["verdicts"]["fail"]), (&"fail".into(), &24.into()));
    let other = sluice(&dir, "run tiny.yaml --rows a.jsonl");
    status(&other, 2);
    assert!(text(&other.stderr).contains("it has rows; go on with them by --resume"));
}

#[test]
fn an_interrupted_study_goes_on_and_has_every_row_once() {
    let dir = folder("study-resume");
    // Long enough to be interrupted.
    dir.write("long.yaml", &LAB.replace("100us", "4ms").replace("90us", "4ms"));
    let mut child = run::sluice()
        .args(["run", "long.yaml", "--rows", "r.jsonl"])
        .current_dir(&dir.0)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    let there = || fs::metadata(dir.path("r.jsonl")).is_ok_and(|meta| meta.len() > 0);
    while !there() {
        assert!(begun.elapsed() < Duration::from_secs(60), "no row in a minute");
        sleep(Duration::from_millis(5));
    }
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let code = child.wait().unwrap().code();
    let first = rows(&dir, "r.jsonl");
    assert!((1..RUNS).contains(&first.len()), "{} rows", first.len());
    assert_eq!(code, Some(if first.iter().any(|row| row["verdict"] == "fail") { 1 } else { 4 }));
    // A line that a kill cut off.
    let whole = fs::read_to_string(dir.path("r.jsonl")).unwrap();
    dir.write("r.jsonl", &format!("{whole}{{\"n\":47,\"runs\":"));
    let output = sluice(&dir, "run long.yaml --rows r.jsonl --resume");
    status(&output, 1);
    let told = format!("{} of {RUNS} runs are in the file", first.len());
    assert!(text(&output.stderr).contains(&told), "{}", text(&output.stderr));
    let all = rows(&dir, "r.jsonl");
    assert_eq!(
        all.iter().map(|row| row["n"].as_u64().unwrap()).collect::<Vec<_>>(),
        (0..RUNS as u64).collect::<Vec<_>>()
    );
    assert!(fs::read_to_string(dir.path("r.jsonl")).unwrap().starts_with(&whole));
    let again = sluice(&dir, "run long.yaml --rows r.jsonl --resume");
    assert_eq!(again.stdout, output.stdout, "nothing is left to run");
    for (line, words) in [
        (
            "run tiny.yaml --rows r.jsonl --resume",
            "with another text, other input files or other options",
        ),
        (
            "run long.yaml --rows r.jsonl --resume --duration 5us",
            "with another text, other input files or other options",
        ),
        ("run long.yaml --resume", "--rows"),
        ("run tiny.yaml tiny.yaml --rows t.jsonl", "tiny.yaml: is there twice"),
        ("run tiny.yaml long.yaml", "long.yaml: the lab of tiny.yaml is named `tiny`, too"),
        ("run long.yaml --seed 3", "sweep.seed: the command sets the same field by `seed`"),
        ("run long.yaml --set seed=3", "sweep.seed: the command sets the same field by `seed`"),
        ("run long.yaml --outcomes --format json", "--outcomes: a sweep has rows"),
        ("run tiny.yaml --outcomes", "--outcomes: is a part of --format json"),
        ("run tiny.yaml --series", "--series: is a table of --csv or --parquet"),
        ("run tiny.yaml --slow-down 10", "--slow-down: virtual time is as slow as the machine"),
        (
            "run tiny.yaml --report nosuch/x.html",
            "nosuch is missing; make it first: mkdir -p nosuch",
        ),
        (
            "run tiny.yaml --rows nosuch/x.jsonl",
            "nosuch is missing; make it first: mkdir -p nosuch",
        ),
        ("run tiny.yaml --csv nosuch/tables", "nosuch is missing; make it first: mkdir -p nosuch"),
        ("run long.yaml --number 48", "--number: 48 of 48 runs"),
        ("run long.yaml --shard 5/4", "such as 1/4"),
        ("run long.yaml --variant c", "there is no variant `c`"),
    ] {
        let output = sluice(&dir, line);
        status(&output, 2);
        assert!(text(&output.stderr).contains(words), "{line}: {}", text(&output.stderr));
    }
    assert_eq!(rows(&dir, "r.jsonl"), all, "refusals change nothing");
}

#[test]
fn a_failed_run_keeps_its_lab_which_repeats_it() {
    let dir = folder("study-keep");
    let output = sluice(&dir, "run tiny.yaml --rows r.jsonl --keep kept");
    status(&output, 1);
    let names: Vec<_> =
        fs::read_dir(dir.path("kept")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names.len(), 24);
    let rows = rows(&dir, "r.jsonl");
    let failed: Vec<&Value> = rows.iter().filter(|row| row["verdict"] == "fail").collect();
    for row in failed.iter().step_by(7) {
        let file = format!("kept/tiny-{}.yaml", row["n"]);
        let output = sluice(&dir, &format!("run {file} --format json"));
        status(&output, 1);
        let outcome: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((&outcome["trace_hash"], &outcome["lab"]), (&row["trace_hash"], &row["lab"]));
        assert!(
            fs::read_to_string(dir.path(&file)).unwrap().contains(row["point"].as_str().unwrap())
        );
    }
    assert!(
        text(&output.stdout).contains("; sluice run kept/tiny-12.yaml"),
        "{}",
        text(&output.stdout)
    );
}

#[test]
fn shards_of_a_study_are_its_rows() {
    let dir = folder("study-shards");
    status(&sluice(&dir, "run tiny.yaml --rows whole.jsonl --variant a"), 1);
    let mut all = String::new();
    for part in [3, 1, 2] {
        let file = format!("{part}.jsonl");
        sluice(&dir, &format!("run tiny.yaml --variant a --shard {part}/3 --rows {file}"));
        all += &fs::read_to_string(dir.path(&file)).unwrap();
    }
    dir.write("all.jsonl", &all);
    assert_eq!(rows(&dir, "all.jsonl"), rows(&dir, "whole.jsonl"));
    let output = sluice(&dir, "run tiny.yaml --variant a --rows all.jsonl --resume");
    assert!(text(&output.stderr).contains("24 of 24 runs are in the file"));
    assert!(text(&output.stdout).ends_with("FAIL: 12 of 24 runs\n"), "{}", text(&output.stdout));
}

#[test]
fn rows_of_single_runs_and_of_variants_are_written_beside_their_tables() {
    let dir = Dir::new("study-plain");
    let lab = LAB.split("sweep:").next().unwrap();
    dir.write("plain.yaml", lab);
    let plain = sluice(&dir, "run plain.yaml");
    let output = sluice(&dir, "run plain.yaml --rows r.jsonl");
    assert_eq!(output.stdout, plain.stdout);
    let rows = rows(&dir, "r.jsonl");
    let of = |name: &str| rows.iter().map(|row| row[name].clone()).collect::<Vec<_>>();
    assert_eq!((of("n"), of("variant")), (vec![0.into(), 1.into()], vec!["a".into(), "b".into()]));
    sluice(&dir, "run plain.yaml --variant b --rows one.jsonl");
    let one = self::rows(&dir, "one.jsonl");
    assert_eq!(one, rows[1..], "the same row");
}

#[test]
fn a_swarm_of_shards_has_the_hash_and_the_summary_of_one_machine() {
    let dir = Dir::new("study-swarm");
    let whole = sluice(&dir, "swarm --count 24 --seed 9 --format json");
    for part in 1..=4 {
        let line = format!("swarm --count 24 --seed 9 --shard {part}/4 --rows {part}.jsonl");
        let output = sluice(&dir, &line);
        status(&output, 0);
        assert!(text(&output.stdout).contains("a part: --join has the trace"));
        assert!(text(&output.stdout).ends_with("PASS: 6 of 6 labs\n"));
    }
    let files = "3.jsonl 1.jsonl 4.jsonl 2.jsonl";
    let joined = sluice(&dir, &format!("swarm --format json --join {files}"));
    status(&joined, 0);
    let json = |output: &Output| {
        let mut found: Value = serde_json::from_slice(&output.stdout).unwrap();
        for field in ["seconds", "slowest"] {
            assert!(!found[field].is_null());
            found[field] = Value::Null;
        }
        found
    };
    assert_eq!(json(&joined), json(&whole));
    let missing = sluice(&dir, "swarm --join 3.jsonl 1.jsonl 4.jsonl");
    status(&missing, 2);
    assert!(text(&missing.stderr).contains("6 of 24 labs have no row: 1, 5, 9"));
    let twice = sluice(&dir, &format!("swarm --join {files} 2.jsonl"));
    status(&twice, 2);
    assert!(text(&twice.stderr).contains("2.jsonl: line 1 has run 1 of the 24"));
}

/// Runs a script of `configs/scale` with this build in the place of `sluice`.
fn script(dir: &Dir, name: &str, args: &[&str], environment: &[(&str, &str)]) -> Output {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs/scale").join(name);
    let mut command = run::guarded("sh");
    command.arg(path).args(args).current_dir(&dir.0).envs(environment.iter().copied());
    let old = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{old}", dir.path("bin").display())).output().unwrap()
}

/// Puts this build as `sluice`, and a stand-in where GNU parallel is not installed, into a folder `bin`.
fn programs(dir: &Dir) {
    fs::create_dir_all(dir.path("bin")).unwrap();
    let executable = |name: &str, text: &str| {
        dir.write(&format!("bin/{name}"), text);
        fs::set_permissions(dir.path(&format!("bin/{name}")), fs::Permissions::from_mode(0o755))
            .unwrap();
    };
    run::link_to_sluice(&dir.path("bin/sluice"));
    let has_parallel =
        Command::new("parallel").arg("--version").output().is_ok_and(|o| o.status.success());
    if !has_parallel {
        let text = "#!/bin/sh\nwhile [ \"${1#--}\" != \"$1\" ]; do shift 2; done\n\
                    while read -r n; do sh -c \"$(echo \"$*\" | sed \"s/{}/$n/g\")\" || exit 1; done\n";
        executable("parallel", text);
    }
}

#[test]
fn the_scripts_for_clusters_run_all_parts_and_join_them() {
    let dir = folder("study-scale");
    programs(&dir);
    for part in ["1", "2", "3"] {
        let environment = [
            ("SLURM_ARRAY_TASK_ID", part),
            ("SLURM_ARRAY_TASK_COUNT", "3"),
            ("SLURM_CPUS_PER_TASK", "2"),
        ];
        for _ in 0..2 {
            // Started again, it finds its rows.
            let output = script(&dir, "slurm.sh", &["tiny.yaml", "out"], &environment);
            status(&output, 1);
            assert!(
                text(&output.stdout).contains("FAIL: 8 of 16 runs"),
                "{}",
                text(&output.stdout)
            );
        }
    }
    let parts = ["out/1.jsonl", "out/2.jsonl", "out/3.jsonl"];
    let numbers: BTreeSet<u64> =
        parts.iter().flat_map(|f| rows(&dir, f)).map(|row| row["n"].as_u64().unwrap()).collect();
    assert_eq!(numbers.len(), RUNS);
    // The command of the Job, as a shell has it.
    let job =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/configs/scale/kubernetes.yaml"));
    let job = job.unwrap();
    let command = job.split("command: [sh, -c, '").nth(1).unwrap().split("']").next().unwrap();
    let command =
        command.replace("/lab/", "").replace("/rows/", "pods/").replace("lab.yaml", "tiny.yaml");
    fs::create_dir(dir.path("pods")).unwrap();
    for index in 0..8 {
        let old = std::env::var("PATH").unwrap_or_default();
        let output = run::guarded("sh")
            .args(["-c", &command.replace('\n', " ")])
            .current_dir(&dir.0)
            .env("JOB_COMPLETION_INDEX", index.to_string())
            .env("PATH", format!("{}:{old}", dir.path("bin").display()))
            .output()
            .unwrap();
        status(&output, 0);
    }
    let numbers: BTreeSet<u64> = (0..8)
        .flat_map(|n| rows(&dir, &format!("pods/{n}.jsonl")))
        .map(|row| row["n"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers.len(), RUNS);
    let whole = sluice(&dir, "swarm --count 8");
    let output = script(&dir, "parallel.sh", &[":", "8", "swarm", "3"], &[]);
    status(&output, 0);
    let trace = |output: &Output| {
        let found = text(&output.stdout).split("trace ").nth(1).map(|rest| rest[..16].to_owned());
        found.unwrap_or_else(|| panic!("{}{}", text(&output.stdout), text(&output.stderr)))
    };
    assert_eq!(trace(&output), trace(&whole));
}
