//! `sluice run --world real` by its text and its JSON.

use std::collections::BTreeMap;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::netns::must;
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

/// Threads of a process by name, with their ids.
fn threads(pid: u32) -> BTreeMap<String, u32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let named = |task: std::io::Result<std::fs::DirEntry>| {
        let path = task.unwrap().path();
        let name = std::fs::read_to_string(path.join("comm")).ok()?;
        Some((name.trim().to_owned(), path.file_name()?.to_str()?.parse().ok()?))
    };
    tasks.filter_map(named).collect()
}

/// Two labs, each in a scheduler group of its own (a session, a container), held each other up for minutes: of each
/// one thread had a CPU and waited for the other, and a yield gives the CPU to none but threads of its group.
#[test]
fn a_thread_that_waits_for_a_starved_one_leaves_its_cpu() {
    if thread::available_parallelism().is_ok_and(|cpus| cpus.get() < 2) {
        return run::skipped("a lab has two polling threads only on two CPUs");
    }
    let dir = Dir::new("lab-real-waits");
    dir.write("long.yaml", &LAB.replace("5ms", "50ms").replace("frames: 400", "frames: 40000"));
    let mut lab = run::sluice();
    // It would take half a minute, and ends with the test.
    lab.args("run long.yaml --world real --slow-down 3000".split(' ')).current_dir(&dir.0);
    let lab = Ended(lab.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    let pid = lab.0.id();
    let deadline = Instant::now() + Duration::from_secs(60);
    let [waits, starved] = loop {
        let all = threads(pid);
        if let (Some(first), Some(second)) = (all.get("lab0"), all.get("lab1")) {
            break [*first, *second];
        }
        assert!(Instant::now() < deadline, "no two polling threads: {all:?}");
        thread::sleep(Duration::from_millis(10));
    };
    // A busy loop takes the CPU of one of them, which has the lowest priority in their group of the scheduler.
    let cpu = core_affinity::get_core_ids().unwrap()[0].id.to_string();
    let starved = starved.to_string();
    must(Command::new("taskset").args(["-cp", &cpu, &starved]));
    must(Command::new("chrt").args(["--idle", "-p", "0", &starved]));
    let mut hog = run::guarded("taskset");
    let _hog = Ended(hog.args(["-c", &cpu, "sh", "-c", "while :; do :; done"]).spawn().unwrap());
    let used = || {
        let text = std::fs::read_to_string(format!("/proc/{pid}/task/{waits}/schedstat")).unwrap();
        Duration::from_nanos(text.split(' ').next().unwrap().parse().unwrap())
    };
    thread::sleep(Duration::from_millis(200));
    let (begun, before) = (Instant::now(), used());
    thread::sleep(Duration::from_secs(2));
    let (took, used) = (begun.elapsed(), used() - before);
    assert!(used < took / 2, "it ran for {used:?} of {took:?}");
}

/// A process that ends with the test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
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
