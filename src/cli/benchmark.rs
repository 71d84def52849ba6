//! `sluice benchmark`: the speed of a device under test.

mod args;
mod document;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Result, anyhow};
use serde_json::Value;

use super::dut;
use super::kind::Kind;
use super::outputs::Outputs;
use super::terminal::{self, Progress, say};
use super::validate::stamp;
use super::{Format, bad_input, exit, stop_on_signals};
use crate::printable;
use crate::verdict::Verdict;
use args::Common;
use benchmark::baseline::{Comparison, Runs};
use benchmark::calibrate::calibrate;
use benchmark::journal::Journal;
use benchmark::junit::junit as junit_xml;
use benchmark::plan::{Plan, TesterLimit};
use benchmark::run::Run;
use benchmark::{file, lossless, rfc2544, rfc2889, rfc7640, rfc8239, search, soak};
use document::{Document, Files, text_of};
use lab::World;
use validate::bench::{Bench, REAL, TrialError, VIRTUAL};
use validate::evidence::Testbed;
use validate::file::Dut;

pub use args::Procedure;

/// Runs a procedure and prints its results.
///
/// # Errors
/// An error in the file or an argument, or the machine lacks something.
pub fn run(procedure: &Procedure) -> Result<ExitCode> {
    match procedure {
        Procedure::Rfc2544 { only, common } => measure::<rfc2544::Tables>(only, common),
        Procedure::Rfc2889 { only, common } => measure::<rfc2889::Tables>(only, common),
        Procedure::Rfc7640 { only, common } => measure::<rfc7640::Tables>(only, common),
        Procedure::Rfc8239 { only, common } => measure::<rfc8239::Tables>(only, common),
        Procedure::Lossless { common } => measure::<lossless::Tables>(&[], common),
        Procedure::Soak { common } => measure::<soak::Tables>(&[], common),
        Procedure::Mlrsearch { common } => measure::<search::Tables>(&[], common),
    }
}

/// Runs a procedure, of it these tests.
fn measure<P: benchmark::run::Procedure>(only: &[P::Test], args: &Common) -> Result<ExitCode> {
    let (procedure, tests) = (P::NAME, P::selected(only));
    let names = P::names(only);
    let (mut plan, dut) = load(args)?;
    let parameters: BTreeMap<String, String> = plan.parameters().into_iter().collect();
    let world = if dut.lab.is_some() { VIRTUAL } else { REAL };
    let before = args.baseline.as_deref();
    let before = before.map(|path| earlier(path, procedure, world, &parameters));
    let before = before.transpose()?;
    let mut outputs = Outputs::new();
    outputs.input("the benchmark file", &args.file);
    if let Some(path) = &args.resume {
        outputs.claim("--resume", path)?;
    }
    let files = Files::open(args, &mut outputs)?;
    // After the files are claimed, and before the device is opened, which takes a while.
    let stop = stop_on_signals()?;
    let options = (&tests, args.machine);
    // All that changes results and is in no parameter: a journal of another setup is refused.
    let known = format!("{options:?} {:?} {:?} {:?}", dut.lab, dut.reports, dut.resets);
    let mut device = dut::bench(dut, World::Virtual, args.machine, &stop)?;
    let world = device.world();
    ask_version(&mut plan, &mut *device);
    let testbed = testbed(&plan, world);
    let mut journal;
    let bench: &mut dyn Bench = match &args.resume {
        Some(path) => {
            let wrong = |error| bad_input(anyhow!("--resume {}: {error}", path.display()));
            let opened = Journal::open(path, procedure, &plan, &known, &mut *device);
            journal = opened.map_err(wrong)?;
            if journal.left() > 0 {
                say!("{} trials are in {}", journal.left(), path.display());
            }
            &mut journal
        }
        None => &mut *device,
    };
    let Measured { runs, unknown, trouble } =
        repeat::<P>(args.runs, &mut plan, bench, &stop, &tests);
    let warnings = bench.warnings();
    warnings.iter().for_each(|warning| say!("warning: {warning}"));
    // As JSON from here on: comparison, files and document have the same values.
    let values: Vec<Value> = runs.iter().map(benchmark::run::to_json).collect::<Result<_, _>>()?;
    // A run that ended early has its own reason, also for the tests that it did not come to.
    let left_out = match &trouble {
        None => benchmark::run::not_judged(&values, !only.is_empty()),
        Some(_) => None,
    };
    let ended = trouble.as_ref().map(ToString::to_string).or_else(|| left_out.clone());
    let mut document = Document::new(procedure, &plan, world, &parameters, &values);
    document.tester_limits_unknown = unknown.as_deref();
    document.warnings = &warnings;
    document.ended = ended.as_deref();
    document.compared =
        before.map(|before| Comparison::of(&before, &document.as_runs(), &names, plan.width));
    let judged = document.compared.as_ref().map(Comparison::verdict);
    let asked = left_out.map(|_| Verdict::NotJudged);
    let whole = [verdict(trouble.as_ref())];
    document.verdict = Verdict::of_all(whole.into_iter().chain(judged).chain(asked));
    let tables = text_of(runs.last().map_or(String::new(), P::text), &document);
    let compared = document.compared.as_ref();
    let junit = || junit_xml(procedure, &testbed, &values, trouble.as_ref(), compared);
    let written = files.write(&document, &tables, &plan, &junit)?;
    match args.format {
        Format::Json => terminal::print_json(&document)?,
        Format::Table => terminal::print(&tables)?,
    }
    // After the results are printed, so that a failed file does not lose them.
    written.into_iter().collect::<Result<()>>()?;
    Ok(exit(document.verdict))
}

/// Runs of a procedure.
struct Measured<P> {
    runs: Vec<Run<P>>,
    /// Reason why the tester's own limits are not known.
    unknown: Option<String>,
    /// Reason why the last run, or the calibration before the first, ended early.
    trouble: Option<TrialError>,
}

/// Calibrates the tester and makes a number of runs; a run that ends early is the last.
fn repeat<P: benchmark::run::Procedure>(
    wanted: u32,
    plan: &mut Plan,
    bench: &mut dyn Bench,
    stop: &AtomicBool,
    tests: &[P::Test],
) -> Measured<P> {
    let template = "{spinner} trial {pos}: {msg}";
    let mut progress = Progress::new(template, &plan.setup.name, None, Duration::from_secs(5));
    let (mut trials, mut runs, mut trouble) = (0, Vec::new(), None);
    let limits = calibrate(plan, bench, &mut |what| {
        progress.update(0, what.to_owned(), |text| text.to_owned());
        !stop.load(Ordering::Relaxed)
    });
    for TesterLimit { size, frames_per_second } in &plan.tester {
        say!(
            "{size} bytes: the tester itself carries {frames_per_second:.0} frames/s; higher loads are \
             not tried"
        );
    }
    let unknown = limits.as_ref().err().map(ToString::to_string);
    if let Err(why) = limits {
        say!("the tester's own limits were not measured: {why}");
        trouble = Some(why);
    }
    // Without the limits a loss of the tester would count as one of the device.
    let wanted = if trouble.is_none() { wanted } else { 0 };
    for run_number in 0..wanted {
        // Equal seeds would repeat the same run.
        bench.reseed(plan.setup.seed.wrapping_add(run_number.into()));
        let (results, ended) = benchmark::run::run(plan, tests, bench, &mut |what| {
            trials += 1;
            progress.update(trials, what.to_owned(), |text| format!("trial {trials}: {text}"));
            !stop.load(Ordering::Relaxed)
        });
        runs.push(results);
        trouble = ended;
        if trouble.is_some() {
            break;
        }
    }
    progress.clear();
    Measured { runs, unknown, trouble }
}

/// Asks the device for its version, unless the file states it.
fn ask_version(plan: &mut Plan, device: &mut dyn Bench) {
    if plan.setup.version.is_none() {
        plan.setup.version = device.version().unwrap_or_else(|why| {
            say!("the version of the device is unknown: {why}");
            None
        });
    }
}

/// Returns the testbed of a run that begins now.
fn testbed(plan: &Plan, world: &str) -> Testbed {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64());
    Testbed {
        timestamp: stamp(now),
        topology: world.to_owned(),
        testbed: "sluice".to_owned(),
        host: plan.setup.name.clone(),
        os_version: plan.setup.version.clone().unwrap_or_default(),
        ..Testbed::default()
    }
}

/// Reads a baseline of this procedure in this world, with these parameters.
fn earlier(
    path: &Path,
    procedure: &str,
    world: &str,
    parameters: &BTreeMap<String, String>,
) -> Result<Runs> {
    let name = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| bad_input(anyhow!("--baseline {name}: cannot be read: {error}")))?;
    let wrong = |why: String| bad_input(anyhow!("--baseline {name}: {why}; give a file of --json"));
    let before: Runs =
        serde_json::from_str(&text).map_err(|error| wrong(printable::json_error(&error)))?;
    if before.procedure != procedure {
        let other = printable::excerpt(&before.procedure);
        return Err(wrong(format!("it has results of {other}, not {procedure}")));
    }
    if let Some(why) = before.impossible() {
        return Err(wrong(why));
    }
    // Results of another world or of other parameters differ for that reason, which is no change of the device.
    if let Some(difference) = before.difference(world, parameters) {
        let what = format!("it has results of other parameters ({difference})");
        return Err(bad_input(anyhow!("--baseline {name}: {what}; measure it again with these")));
    }
    Ok(before)
}

/// Reads the file of a run.
fn load(args: &Common) -> Result<(Plan, Dut)> {
    // A DUT file alone is taken with the default parameters.
    if !matches!(Kind::of_file(&args.file), Some(Kind::Dut)) {
        Kind::Benchmark.expect(&args.file)?;
    }
    let (plan, dut, warnings) = file::load(&args.file).map_err(bad_input)?;
    let name = args.file.display().to_string();
    warnings.iter().for_each(|warning| say!("warning: {}", warning.line(&name)));
    Ok((plan, dut))
}

/// Returns the verdict of a run: a benchmark has no limits, so a complete one passes.
fn verdict(trouble: Option<&TrialError>) -> Verdict {
    match trouble {
        None => Verdict::Pass,
        Some(TrialError::Disturbed(_) | TrialError::Interrupted) => Verdict::Inconclusive,
        Some(TrialError::Error(_) | TrialError::Missing(_)) => Verdict::Fail,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testfolder::Folder;
    use serde_json::json;

    /// Returns what is said about a baseline of a world beside a run of another.
    fn beside(before: &str, now: &str) -> Result<Runs> {
        let folder = Folder::new("benchmark-baseline");
        let runs = json!({
            "procedure": "rfc2544", "dut": "a", "world": before, "seed": 1, "parameters": {}, "runs": [],
        });
        let path = folder.put("before.json", runs.to_string().as_bytes());
        earlier(&path, "rfc2544", now, &BTreeMap::new())
    }

    #[test]
    fn a_baseline_of_the_other_world_is_refused() {
        assert_eq!(beside("virtual", "virtual").unwrap().world, "virtual");
        for (before, now) in [("real", "virtual"), ("virtual", "real")] {
            let why = beside(before, now).unwrap_err().to_string();
            assert!(why.contains(&format!("world: {before}, now {now}")), "{why}");
        }
    }
}
