//! `sluice check`: validates a switch, lab, generator or DUT file and prints the resolved configuration.

mod congestion;
mod lab;
mod protocols;
mod render;
mod study;
mod switch;
mod text;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use zeroize::Zeroizing;

use super::{Format, schema, terminal};
use crate::config::{self, ConfigError, Finding, Machine, SwitchFile, Warning};
use crate::lab::study::{Changes, Study, jobs};
use crate::lab::{LabFile, Resolved, examine, is_lab, refuse_memory};
use crate::runtime::Placement;
use crate::{printable, report};
use ::benchmark::file::is_benchmark;
use ::benchmark::plan::Plan;
use ::validate::file::{self, Dut};
use render::{Json, object, some};
use tester::memory;
use tester::otg_file;
use tester::plan::TestPlan;

/// Exit status of invalid input.
const BAD_INPUT: u8 = 2;

/// Validate files: print the resolved configuration, or all errors.
///
/// It reads switch, lab, generator, DUT and benchmark files.
#[derive(Args, Clone, Debug)]
pub struct CheckArgs {
    /// Files, YAML or JSON; their kinds are detected from their fields.
    #[arg(value_name = "FILE", required_unless_present = "schema")]
    pub files: Vec<PathBuf>,

    /// Format of the results.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,

    /// Print the JSON Schema of a kind of file and exit.
    #[arg(
        long,
        conflicts_with = "files",
        value_enum,
        num_args = 0..=1,
        default_missing_value = "switch"
    )]
    pub schema: Option<Kind>,

    /// Do not check cores and memory against this machine, for files of another machine.
    #[arg(long)]
    pub elsewhere: bool,
}

/// Kinds of files that have a schema.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Kind {
    /// Switch files.
    Switch,
    /// Lab files.
    Lab,
    /// DUT files.
    Dut,
    /// Benchmark files.
    Benchmark,
}

/// Checks the files: status 0 if all are valid, 2 otherwise.
///
/// # Errors
/// Standard output or standard error cannot be written.
pub fn run(args: &CheckArgs) -> anyhow::Result<ExitCode> {
    run_to(args, &mut terminal::stdout(), &mut terminal::stderr())
}

/// Returns a resolved lab as JSON, as `--format json` prints it.
///
/// # Errors
/// None: every field can be written.
pub fn lab_json(resolved: &Resolved) -> serde_json::Result<String> {
    serde_json::to_string(&lab::json(resolved))
}

fn run_to(
    args: &CheckArgs,
    out: &mut impl Write,
    err: &mut impl Write,
) -> anyhow::Result<ExitCode> {
    if let Some(kind) = args.schema {
        let schema = match kind {
            Kind::Switch => schema::SWITCH,
            Kind::Lab => schema::LAB,
            Kind::Dut => schema::DUT,
            Kind::Benchmark => schema::BENCHMARK,
        };
        let schema: serde_json::Value = serde_json::from_str(schema)?;
        writeln!(out, "{}", serde_json::to_string_pretty(&schema)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let machine = if args.elsewhere { Machine::any() } else { Machine::this() };
    let results: Vec<_> = args.files.iter().flat_map(|file| load_all(file, &machine)).collect();
    match args.format {
        Format::Json => {
            let all: Vec<Json> = results.iter().map(result).collect();
            writeln!(out, "{}", printable::json(&serde_json::to_string_pretty(&all)?))?;
        }
        Format::Table => {
            for (i, checked) in results.iter().enumerate() {
                if i > 0 {
                    writeln!(out)?;
                }
                print(checked, out, err)?;
            }
        }
    }
    // All files are reported before the status says that one of them is bad.
    let good = results.iter().all(|checked| checked.loaded.is_ok());
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::from(BAD_INPUT) })
}

/// Resolved contents of a valid file.
enum Content {
    /// A switch, and the CPUs of its workers if it is for this machine.
    Switch(Box<SwitchFile>, Option<Placement>),
    Lab(Box<Resolved>),
    /// A lab with a sweep.
    Study(Box<study::Resolved>),
    Test(Box<TestPlan>),
    Dut(Box<Dut>),
    Benchmark(Box<Plan>),
}

type Loaded = Result<(Content, Vec<Warning>), ConfigError>;

/// A file, or one of the variants of a lab file.
struct Checked {
    file: String,
    variant: Option<String>,
    loaded: Loaded,
}

impl Checked {
    /// Name of the file, followed by the variant.
    fn name(&self) -> String {
        // An error has the shortened name of a file that cannot be read.
        let file = self.loaded.as_ref().map_or_else(|error| &error.file, |_| &self.file);
        match &self.variant {
            Some(variant) => format!("{file}, variant {variant}"),
            None => file.clone(),
        }
    }
}

/// Reads a file; of a lab with variants, each of them.
fn load_all(path: &Path, machine: &Machine) -> Vec<Checked> {
    let file = path.display().to_string();
    let one = |variant, loaded| Checked { file: file.clone(), variant, loaded };
    let read = config::read_text(path, "switch, lab, generator, DUT or benchmark file");
    let Ok((name, text)) = &read else { return vec![one(None, load(read, machine))] };
    if is_benchmark(text) {
        // It names another file, relative to its own folder.
        let loaded = benchmark::file::load(path);
        let content = |(plan, _, warnings)| (Content::Benchmark(Box::new(plan)), warnings);
        return vec![one(None, loaded.map(content))];
    }
    let lab = is_lab(text).then(|| LabFile::parse(name, text));
    match lab {
        Some(Ok(lab)) if lab.sweep().is_some() || lab.search().is_some() => {
            vec![one(None, load_study(lab, machine))]
        }
        // Each variant is resolved by itself: one may be bad and the others good.
        Some(Ok(lab)) if lab.variants().len() > 0 => {
            let resolve = |variant: &str| lab.resolve(Some(variant), |_| {});
            let fits = |(lab, warnings)| fits(name, lab, warnings, machine);
            lab.variants().map(|v| one(Some(v.to_owned()), resolve(v).and_then(fits))).collect()
        }
        Some(Err(error)) => vec![one(None, Err(error))],
        Some(Ok(_)) | None => vec![one(None, load(read, machine))],
    }
}

/// Resolves a file of any kind.
fn load(read: Result<(String, Zeroizing<String>), ConfigError>, machine: &Machine) -> Loaded {
    let (name, text) = read?;
    if file::is_dut(&text) {
        let (dut, warnings) = file::parse(&name, &text)?;
        return Ok((Content::Dut(Box::new(dut)), warnings));
    }
    if otg_file::is_test(&text) {
        let (test, warnings) = otg_file::parse_placed(&name, &text, &[])?;
        // The world is chosen at the run; ports of the real one need more.
        memory::refuse_memory(&name, &test.plan, memory::World::Real, machine.memory)?;
        return Ok((Content::Test(Box::new(test.plan)), warnings));
    }
    if is_lab(&text) {
        let (lab, warnings) = examine(&name, &text)?;
        return fits(&name, lab, warnings, machine);
    }
    let (switch, warnings) = config::parse(&name, &text, machine)?;
    // Only a preview: no CPU is claimed by a check.
    let placement = machine.cores.is_some().then(|| daemon::preview(&switch));
    Ok((Content::Switch(Box::new(switch), placement), warnings))
}

/// Resolves the runs of a lab with a sweep or a search, up to a number.
fn load_study(lab: LabFile, machine: &Machine) -> Loaded {
    let name = lab.name().to_owned();
    let study = Study::new(lab, Changes::default())?;
    let jobs = jobs(None);
    // As many labs run at the same time.
    let heap = machine.heap.map(|heap| heap / jobs as u64);
    let fits = |resolved: &Resolved| refuse_memory(&name, &resolved.plan, heap);
    if let Some(search) = study.searches() {
        study.check_search(search)?;
    }
    let (resolved, warnings) = study.check(study::RESOLVED_MAX, jobs, fits)?;
    let lab = study.resolve(0)?.0.plan.name;
    let points = study.sweep().map_or(1, |sweep| sweep.len());
    let of_variant = |n: u64| -> Result<_, ConfigError> {
        let first = study.resolve(n)?.0;
        Ok((study.run(n).variant.map(str::to_owned), lab::signals(&first)))
    };
    // The points of one variant follow each other, so every `points`th run is the first of a variant.
    let firsts = (0..study.len()).step_by(usize::try_from(points).unwrap_or(usize::MAX));
    let signals = firsts.map(of_variant).collect::<Result<_, _>>()?;
    Ok((Content::Study(Box::new(study::Resolved { study, resolved, lab, signals })), warnings))
}

/// Refuses a lab for which the machine has too little memory.
fn fits(name: &str, lab: Resolved, warnings: Vec<Warning>, machine: &Machine) -> Loaded {
    refuse_memory(name, &lab.plan, machine.heap)?;
    Ok((Content::Lab(Box::new(lab)), warnings))
}

fn result(checked: &Checked) -> Json {
    let (content, warnings, errors) = match &checked.loaded {
        Ok((content, warnings)) => (Some(content), warnings.as_slice(), &[][..]),
        Err(e) => (None, &[][..], e.findings.as_slice()),
    };
    let findings = |all: &[Finding]| all.iter().map(finding).collect::<Vec<_>>();
    let result = object! {
        file: checked.file.clone(),
        variant: some(checked.variant.clone()),
        good: content.is_some(),
        errors: findings(errors),
        warnings: findings(warnings),
    };
    match content {
        None => result,
        Some(Content::Switch(file, placement)) => {
            result.and(object! { switch: switch::json(file, placement.as_ref()) })
        }
        Some(Content::Lab(lab)) => result.and(object! { lab: lab::json(lab) }),
        Some(Content::Study(study)) => result.and(object! { study: study::json(study) }),
        Some(Content::Test(plan)) => result.and(object! {
            generator: object! {
                ports: plan.ports.iter().map(|port| port.name.clone()).collect::<Vec<_>>(),
                flows: plan.flows.iter().map(|flow| flow.name.clone()).collect::<Vec<_>>(),
            }
        }),
        Some(Content::Benchmark(plan)) => result.and(object! {
            benchmark: object! {
                dut: plan.setup.name.clone(),
                sizes: plan.sizes.iter().map(|size| u64::from(*size)).collect::<Vec<_>>(),
            }
        }),
        Some(Content::Dut(dut)) => result.and(object! {
            dut: object! {
                name: dut.setup.name.clone(),
                ports: dut.setup.ports.iter().map(|port| port.name.clone()).collect::<Vec<_>>(),
            }
        }),
    }
}

fn finding(f: &Finding) -> Json {
    object! {
        line: some(f.mark.map(|m| m.line)),
        column: some(f.mark.map(|m| m.column)),
        field: f.path.clone(),
        message: f.what.clone(),
    }
}

fn print(checked: &Checked, out: &mut impl Write, err: &mut impl Write) -> std::io::Result<()> {
    let name = checked.name();
    let file = printable::line(&name);
    match &checked.loaded {
        Ok((content, warnings)) => {
            match content {
                Content::Switch(file, placement) => {
                    write!(out, "{}", text::Text(file, placement.as_ref()))?;
                }
                Content::Lab(lab) => write!(out, "{}", lab::Text(lab))?,
                Content::Study(study) => write!(out, "{}", study::Text(study))?,
                Content::Test(plan) => write!(out, "{}", report::plan_text(plan))?,
                Content::Dut(dut) => write!(out, "{}", dut.setup)?,
                Content::Benchmark(plan) => write!(out, "{plan}")?,
            }
            for w in warnings {
                writeln!(err, "warning: {}", w.line(&checked.file))?;
            }
            match warnings.len() {
                0 => writeln!(out, "{file}: good"),
                1 => writeln!(out, "{file}: good, with 1 warning"),
                n => writeln!(out, "{file}: good, with {n} warnings"),
            }
        }
        Err(e) => {
            // Findings go to standard error, and the result to standard output, as for all commands.
            writeln!(err, "{e}")?;
            let n = e.findings.len();
            writeln!(out, "{file}: bad, {n} error{}", if n == 1 { "" } else { "s" })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testfolder::Folder;
    use clap::Parser;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        check: CheckArgs,
    }

    fn check(args: &[&str]) -> (bool, String, String) {
        let cli = Cli::try_parse_from([&["check"], args].concat()).unwrap();
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let code = run_to(&cli.check, &mut out, &mut err).unwrap();
        let text = |b| String::from_utf8(b).unwrap();
        (code == ExitCode::SUCCESS, text(out), text(err))
    }

    const SFC_TOR: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/configs/switch/sfc-tor.yaml");
    const TOR: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/configs/switch/tor4.yaml");

    #[test]
    fn a_good_file_is_shown_with_its_headroom() {
        let (good, out, err) = check(&[TOR, "--elsewhere"]);
        assert!(good && err.is_empty(), "{err}");
        for part in ["server1", "needed", "3,4", "dynamic_th 0", "tor4.yaml: good"] {
            assert!(out.contains(part), "{part} in\n{out}");
        }
    }

    #[test]
    fn json_has_the_same_and_can_be_read_back() {
        let (good, out, _) = check(&[TOR, "--elsewhere", "--format", "json"]);
        let all: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert!(good && all[0]["good"] == true, "{out}");
        let group = &all[0]["switch"]["ports"][0]["groups"][3];
        assert_eq!(group["headroom_bytes"], group["headroom_required_bytes"]);
        assert!(group["headroom_bytes"].as_u64().unwrap() > 0);
    }

    #[test]
    fn a_lab_that_needs_more_memory_than_there_is_is_refused() {
        let tree = concat!(env!("CARGO_MANIFEST_DIR"), "/configs/labs/fat-tree.yaml");
        let on = |heap| {
            // DPDK's pages are of no use to the virtual world.
            let machine = Machine { memory: Some(u64::MAX), heap, ..Machine::any() };
            load_all(Path::new(tree), &machine).remove(0).loaded.err()
        };
        assert_eq!(on(None), None);
        assert_eq!(on(Some(1 << 30)), None);
        let refused = on(Some(1 << 20)).expect("it needs more than 1 MiB").to_string();
        assert!(refused.contains("fat-tree.yaml: topology, nodes, flows: 80 ports"), "{refused}");
        assert!(refused.contains("more than the 1 MiB that are available here"), "{refused}");
    }

    #[test]
    fn a_generator_file_that_needs_more_memory_than_there_is_is_refused() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/configs/gen/constant-rate.yaml");
        let on = |memory| {
            let machine = Machine { memory, ..Machine::any() };
            load_all(Path::new(file), &machine).remove(0).loaded.err()
        };
        assert_eq!(on(None), None);
        assert_eq!(on(Some(1 << 30)), None);
        let refused = on(Some(1 << 20)).expect("it needs more than 1 MiB").to_string();
        assert!(refused.contains("constant-rate.yaml: ports, flows: 2 `flows` x "), "{refused}");
        assert!(refused.contains("more than the 1 MiB that are available here"), "{refused}");
    }

    #[test]
    fn cores_of_workers_are_those_of_this_machine_or_auto() {
        let dir = Folder::new("check-cores");
        let text = "ports:\n- {device: net_null0, name: a}\n- {device: net_null1, name: b, core: none}\n\
                    - {device: net_null2, name: c}\n";
        let file = dir.put("switch.yaml", text.as_bytes());
        let file = file.to_str().unwrap();
        let (good, out, err) = check(&[file, "--elsewhere"]);
        assert!(good && err.is_empty(), "{err}");
        assert!(out.contains("worker (core auto): a, c\nworker (not pinned): b\n"), "{out}");
        let workers = |args: &[&str]| {
            let (_, out, _) = check(&[args, &["--format", "json"]].concat());
            let all: serde_json::Value = serde_json::from_str(&out).unwrap();
            all[0]["switch"]["workers"].clone()
        };
        let [first, second] = ["auto", "none"];
        let elsewhere = serde_json::json!([
            {"core": first, "ports": ["a", "c"]},
            {"core": second, "ports": ["b"]},
        ]);
        assert_eq!(workers(&[file, "--elsewhere"]), elsewhere);
        // On this machine the worker has a CPU, or the reason why it has none is told.
        let here = workers(&[file]);
        assert_eq!((&here[0]["core"], &here[1]["cpu"]), (&"auto".into(), &serde_json::Value::Null));
        let (_, out, _) = check(&[file]);
        match here[0]["cpu"].as_u64() {
            Some(_) => assert!(out.contains(", chosen): a, c\n"), "{out}"),
            None => assert!(out.contains("workers with core auto are not pinned here: "), "{out}"),
        }
    }

    #[test]
    fn a_missing_file_is_bad_input() {
        let (good, out, err) = check(&["/nonexistent.yaml", "--format", "table"]);
        assert!(!good && out.ends_with("bad, 1 error\n") && err.contains("cannot be opened"));
    }

    #[test]
    fn agents_are_shown() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/configs/switch/auto-headroom.yaml");
        let (good, out, err) = check(&[file, "--elsewhere"]);
        assert!(good && err.is_empty(), "{err}");
        for part in ["auto: max of round_trip", "100 rounds in 200 requests", "PFC [3] willing"] {
            assert!(out.contains(part), "{part} in\n{out}");
        }
        let (_, out, _) = check(&[file, "--format", "json"]);
        let all: serde_json::Value = serde_json::from_str(&out).unwrap();
        let agents = &all[0]["switch"]["ports"][0]["agents"];
        assert_eq!(agents["headroom"]["wait_ns"], 3e9, "{out}");
        assert_eq!(agents["dcbx"]["ets"]["local"]["bandwidth"][3], 60, "{out}");
    }

    const INCAST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/configs/labs/incast.yaml");

    #[test]
    fn a_lab_is_told_from_a_switch_and_shown_with_its_headroom() {
        let (good, out, err) = check(&[INCAST, TOR, "--elsewhere"]);
        assert!(good && err.is_empty(), "{err}");
        for part in ["lab incast: 1 switch, 9 hosts", "h1-s1 to h9-s1 (9)", "1.212us", "lossless"] {
            assert!(out.contains(part), "{part} in\n{out}");
        }
        let (_, out, _) = check(&[INCAST, "--format", "json"]);
        let all: serde_json::Value = serde_json::from_str(&out).unwrap();
        let ends = &all[0]["lab"]["links"][0]["headroom"];
        assert_eq!(ends[0]["headroom_bytes"], ends[0]["headroom_required_bytes"], "{out}");
    }

    const VICTIM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/configs/labs/compare/victim.yaml");

    #[test]
    fn every_variant_of_a_lab_is_checked() {
        let (good, out, err) = check(&[VICTIM]);
        assert!(good && err.is_empty(), "{err}");
        for part in ["victim.yaml, variant pfc: good", "victim.yaml, variant sfc-proxy: good"] {
            assert!(out.contains(part), "{part} in\n{out}");
        }
        let (_, out, _) = check(&[VICTIM, "--format", "json"]);
        let all: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert_eq!((&all[0]["variant"], &all[1]["variant"]), (&"pfc".into(), &"dcqcn".into()));
    }

    #[test]
    fn the_runs_of_a_sweep_are_counted_and_listed() {
        let dir = Folder::new("check-sweep");
        let text = "name: two\ntopology: {star: {hosts: 2}}\nvariants: {a: {}, b: {duration: 1ms}}\n\
                    defaults: {links: {rate: 100G}}\n\
                    sweep: {defaults.links.length: [5m, 100m, 500m], seed: 1..1000}\n";
        let file = dir.put("sweep.yaml", text.as_bytes());
        let (good, out, err) = check(&[file.to_str().unwrap()]);
        assert!(good && err.is_empty(), "{err}");
        for part in [
            "lab two: 6,000 runs: 2 variants x 3,000 points",
            "length       3  5m, 100m, 500m",
            "seed     1,000  1..1000",
            "   0  a        length=5m,seed=1",
            "5999  b        length=500m,seed=1000",
            "all runs are valid",
            "sweep.yaml: good",
        ] {
            assert!(out.contains(part), "{part}\nis not in\n{out}");
        }
        assert!(out.lines().count() < 40, "{out}");
        let (_, out, _) = check(&[file.to_str().unwrap(), "--format", "json"]);
        let all: serde_json::Value = serde_json::from_str(&out).unwrap();
        let study = &all[0]["study"];
        assert_eq!((&study["runs"], &study["resolved"]), (&6_000.into(), &6_000.into()));
        assert_eq!(study["list"][2]["values"]["seed"], 3);
        assert_eq!(study["axes"][1]["values"], 1_000);
        let bad = dir.put("bad.yaml", text.replace("500m", "500x").as_bytes());
        let (good, out, err) = check(&[bad.to_str().unwrap()]);
        assert!(!good && out.contains("bad, 1 error"), "{out}");
        assert!(err.contains("bad.yaml:5:43: defaults.links.length: `500x`"), "{err}");
    }

    const STORM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/configs/gen/pfc-storm.yaml");

    #[test]
    fn a_generator_file_is_told_from_both_and_shown_with_its_flows() {
        let (good, out, err) = check(&[STORM]);
        assert!(good && err.is_empty(), "{err}");
        for part in ["ring:storm.a", "on4", "MAC control", "pfc-storm.yaml: good"] {
            assert!(out.contains(part), "{part} in\n{out}");
        }
        let (_, out, _) = check(&[STORM, "--format", "json"]);
        let all: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert_eq!(all[0]["generator"]["flows"][2], "storm", "{out}");
    }

    #[test]
    fn objects_queues_and_ports_are_shown_where_congestion_is_dealt_with() {
        let (good, out, err) = check(&[SFC_TOR, "--elsewhere"]);
        assert!(good && err.is_empty(), "{err}");
        for part in [
            "sfcmTransmitPriority                  7                     7                     0 to 7",
            "sfcMonitoredQueues                    [2]",
            "queue-map                             0,0,4,-3,0,0,0,0",
            "above 39.1 KiB to 2, back at 4000 B, CIM above 39.1 KiB",
            "proxy accepts from switches: 10.0.0.0/8; from hosts: nobody",
            "server2  sfc_host  auto     -",
            "uplink   switch    auto     l2 to 02:00:00:00:00:fe",
        ] {
            assert!(out.contains(part), "{part}\nis not in\n{out}");
        }
        let (_, out, _) = check(&[SFC_TOR, "--elsewhere", "--format", "json"]);
        let all: serde_json::Value = serde_json::from_str(&out).unwrap();
        let view = &all[0]["switch"]["congestion"];
        let object = |name: &str| {
            let all = view["objects"].as_array().unwrap();
            all.iter().find(|object| object["name"] == name).unwrap().clone()
        };
        assert_eq!(object("sfcMonitoredQueues")["value"], serde_json::json!([2]));
        assert_eq!(object("sfcmUDPPort")["range"], "49152 to 65535");
        assert_eq!(object("sfc.spacing")["unit"], "picoseconds");
        assert_eq!(object("sfc.streams")["writable"], false);
        assert_eq!(view["queues"][1]["isolation"]["congesting_class"], 2);
        assert_eq!(view["ports"][0]["locator"], "incast");
        let (_, out, _) = check(&[TOR, "--elsewhere", "--format", "json"]);
        assert!(!out.contains("congestion"), "{out}");
    }

    #[test]
    fn what_hosts_of_a_lab_obey_is_shown_beside_its_switches() {
        let dir = Folder::new("check-sfc");
        let text = "topology: {star: {hosts: 3}}\n\
                    profiles: {tor: {sfc: {sfcMaxFlowLife: 500us}, defaults: {pfc: {enable: [3]}}}}\n\
                    defaults: {hosts: {sfc: flow, qcn: {}}}\n";
        let file = dir.put("lab.yaml", text.as_bytes());
        let (good, out, err) = check(&[file.to_str().unwrap()]);
        assert!(good && err.is_empty(), "{err}");
        for part in [
            "congestion, s1:",
            "sfcMaxFlowLife        500us",
            "s1.to_h1, s1.to_h2, s1.to_h3  3",
            "h1 to h3 (3)  flow",
            "every 15ms or 146.5 KiB",
        ] {
            assert!(out.contains(part), "{part}\nis not in\n{out}");
        }
        let (_, out, _) = check(&[file.to_str().unwrap(), "--format", "json"]);
        let all: serde_json::Value = serde_json::from_str(&out).unwrap();
        let lab = &all[0]["lab"];
        assert_eq!(lab["reactions"][2]["sfc"]["pauses"], "flow");
        let objects = lab["congestion"][0]["objects"].as_array().unwrap();
        let life = objects.iter().find(|object| object["name"] == "sfcMaxFlowLife").unwrap();
        assert_eq!(life["value"], 0.05);
    }

    #[test]
    fn the_schema_needs_no_file_and_a_check_needs_one() {
        for (args, title) in [
            (&["--schema"][..], "switch"),
            (&["--schema", "lab"], "lab"),
            (&["--schema", "dut"], "DUT"),
        ] {
            let (good, out, _) = check(args);
            assert!(good && out.contains("json-schema.org") && out.contains(title), "{out}");
        }
        assert!(Cli::try_parse_from(["check"]).is_err());
    }
}
