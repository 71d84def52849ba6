//! `sluice benchmark`: the speed of a device under test.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Result, anyhow};
use clap::{Args, Subcommand, ValueEnum, value_parser};
use serde::Serialize;
use serde_json::Value;

use super::dut;
use super::kind::Kind;
use super::machine::MachineArgs;
use super::outputs::{OutputFile, Outputs};
use super::terminal::{self, Progress, say};
use super::validate::stamp;
use super::{Format, bad_input, exit, stop_on_signals};
use crate::printable;
use crate::verdict::Verdict;
use benchmark::baseline::{Comparison, Runs};
use benchmark::calibrate::calibrate;
use benchmark::journal::Journal;
use benchmark::junit::junit as junit_xml;
use benchmark::plan::{Plan, TesterLimit};
use benchmark::took;
use benchmark::{
    evidence, file, lossless, mlr, rfc2544, rfc2889, rfc7640, rfc8239, soak, summary, table,
};
use lab::World;
use report::{BenchmarkPage, benchmark_html};
use validate::bench::{Bench, Trouble};
use validate::evidence::Testbed;
use validate::file::Dut;

const EXAMPLES: &str = "\
EXAMPLES:
  sluice benchmark rfc2544 configs/validate/virtual.yaml     Sluice's own switch, in virtual time
  sluice benchmark rfc2544 DUT.yaml --only throughput        one test of RFC 2544, of a DUT file
  sluice benchmark rfc2544 configs/benchmark/rfc2544.yaml    with other parameters
  sluice benchmark mlrsearch configs/benchmark/mlrsearch.yaml --format json
  sluice benchmark lossless configs/benchmark/lossless.yaml  rates without loss and without pauses
  sluice benchmark rfc8239 DUT.yaml --only buffer            buffer of a port

FILE is a DUT file, as for `sluice validate`, or a benchmark file, which names a DUT file and sets sizes,
durations and flows. Exit status 0: the run is complete. 1: the tester cannot be trusted, or a value is
worse than that of --baseline. 4: the run was interrupted, or the machine disturbed it.";

/// Measure the speed of a device: throughput, latency, loss, bursts.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub struct BenchmarkArgs {
    #[command(subcommand)]
    procedure: Procedure,
}

/// Procedures.
#[derive(Subcommand, Clone, Debug)]
enum Procedure {
    /// RFC 2544: throughput, latency, frame loss rate, back-to-back frames (RFC 9004), recovery, reset
    /// (RFC 6201).
    Rfc2544 {
        /// Run only these tests, with commas between. May be repeated.
        #[arg(long, value_enum, value_name = "TEST", value_delimiter = ',')]
        only: Vec<Only>,
        #[command(flatten)]
        common: Common,
    },
    /// RFC 2889: throughput and forwarding rates of meshes, congestion control, forward pressure, address
    /// capacity and learning rate, errored frames, broadcasts.
    Rfc2889 {
        /// Run only these tests, with commas between. May be repeated.
        #[arg(long, value_enum, value_name = "TEST", value_delimiter = ',')]
        only: Vec<Lan>,
        #[command(flatten)]
        common: Common,
    },
    /// RFC 7640: burst hunt of each queue, and of all queues at once.
    Rfc7640 {
        /// Run only these tests, with commas between. May be repeated.
        #[arg(long, value_enum, value_name = "TEST", value_delimiter = ',')]
        only: Vec<Management>,
        #[command(flatten)]
        common: Common,
    },
    /// RFC 8239: line rate of all ports, buffer, microbursts, head-of-line blocking, incast.
    Rfc8239 {
        /// Run only these tests, with commas between. May be repeated.
        #[arg(long, value_enum, value_name = "TEST", value_delimiter = ',')]
        only: Vec<DataCentre>,
        #[command(flatten)]
        common: Common,
    },
    /// The lossless profile: rates without loss and without pauses, frames held back, buffers.
    Lossless {
        #[command(flatten)]
        common: Common,
    },
    /// One load for a long time: loss, and the trend of latency.
    Soak {
        #[command(flatten)]
        common: Common,
    },
    /// MLRsearch: conditional throughputs of several goals, such as NDR and PDR, in one search.
    Mlrsearch {
        #[command(flatten)]
        common: Common,
    },
}

/// Arguments of all procedures.
#[derive(Args, Clone, Debug)]
struct Common {
    /// Benchmark file, or DUT file.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Format of the results on standard output.
    #[arg(help_heading = "Results", long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Write the results to this file as JSON, too.
    #[arg(help_heading = "Results", long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write a line of JSON for each measured row to this file.
    #[arg(help_heading = "Results", long, value_name = "FILE")]
    jsonl: Option<PathBuf>,
    /// Write the measured rows to this file as comma-separated values, a table for each test.
    #[arg(help_heading = "Results", long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Write a page with plots and all tables to this file.
    #[arg(help_heading = "Results", long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Write the measured rows, and the numbers of a comparison, to this file as JUnit.
    #[arg(help_heading = "Results", long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Number of runs, for deviations and repeatability.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = value_parser!(u32).range(1..=100))]
    runs: u32,
    /// Compare with the results in this file, which --json wrote: a regression is a failure.
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Keep each trial in this file, and go on from those that it has: an interrupted run is not lost.
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,
    /// EAL options and idle mode.
    #[command(flatten)]
    machine: MachineArgs,
}

/// Tests of RFC 2544, section 26.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Only {
    Throughput,
    Latency,
    LatencyByLoad,
    Loss,
    BackToBack,
    Recovery,
    Reset,
}

impl From<Only> for rfc2544::Test {
    fn from(only: Only) -> Self {
        match only {
            Only::Throughput => Self::Throughput,
            Only::Latency => Self::Latency,
            Only::LatencyByLoad => Self::LatencyByLoad,
            Only::Loss => Self::Loss,
            Only::BackToBack => Self::BackToBack,
            Only::Recovery => Self::Recovery,
            Only::Reset => Self::Reset,
        }
    }
}

/// Tests of RFC 2889, section 5.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Lan {
    Mesh,
    Congestion,
    Pressure,
    Addresses,
    Errors,
    Broadcast,
}

impl From<Lan> for rfc2889::Test {
    fn from(only: Lan) -> Self {
        match only {
            Lan::Mesh => Self::Mesh,
            Lan::Congestion => Self::Congestion,
            Lan::Pressure => Self::Pressure,
            Lan::Errors => Self::Errors,
            Lan::Addresses => Self::Addresses,
            Lan::Broadcast => Self::Broadcast,
        }
    }
}

/// Tests of RFC 7640.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Management {
    BurstHunt,
    Queues,
}

impl From<Management> for rfc7640::Test {
    fn from(only: Management) -> Self {
        match only {
            Management::BurstHunt => Self::BurstHunt,
            Management::Queues => Self::Queues,
        }
    }
}

/// Tests of RFC 8239.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum DataCentre {
    LineRate,
    Buffer,
    Microburst,
    Holb,
    Incast,
}

impl From<DataCentre> for rfc8239::Test {
    fn from(only: DataCentre) -> Self {
        match only {
            DataCentre::LineRate => Self::LineRate,
            DataCentre::Buffer => Self::Buffer,
            DataCentre::Microburst => Self::Microburst,
            DataCentre::Holb => Self::Holb,
            DataCentre::Incast => Self::Incast,
        }
    }
}

/// Returns the tests to run: all without a selection.
fn selected<O: Copy, T: Clone + From<O>>(only: &[O], all: &[T]) -> Vec<T> {
    match only.is_empty() {
        true => all.to_vec(),
        false => only.iter().map(|only| T::from(*only)).collect(),
    }
}

/// Callback before each trial.
type Step<'a> = &'a mut dyn FnMut(&str) -> bool;

/// Runs in JSON.
#[derive(Serialize)]
struct Document<'a> {
    procedure: &'static str,
    dut: &'a str,
    /// Absent if it is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    dut_version: Option<&'a str>,
    /// Cables and optics of the calibration, and the latency by them without the device, which is not subtracted
    /// from any other. Absent without a calibration.
    #[serde(skip_serializing_if = "Option::is_none")]
    calibration: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    calibration_ns: Option<f64>,
    world: &'static str,
    seed: u64,
    /// Parameters of the plan by name, which a comparison needs to be equal.
    parameters: &'a BTreeMap<String, String>,
    /// Version of this program, which is the tester.
    tester: &'static str,
    /// Loads that the tester carries by itself, where they are less than the line.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    tester_limits: &'a [TesterLimit],
    /// Reason why these loads are not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    tester_limits_unknown: Option<&'a str>,
    /// Conditions that cost the tester exact times or rates.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    warnings: &'a [String],
    runs: &'a [Value],
    /// `inconclusive` if the machine disturbed a trial repeatedly, or the comparison is.
    verdict: Verdict,
    /// Reason why the run ended early, also before the first trial of a procedure.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<&'a str>,
    /// Differences from the baseline.
    #[serde(skip_serializing_if = "Option::is_none")]
    compared: Option<Comparison>,
}

impl<'a> Document<'a> {
    /// A document of complete runs, without warnings and without a comparison.
    fn new(
        procedure: &'static str,
        plan: &'a Plan,
        world: &'static str,
        parameters: &'a BTreeMap<String, String>,
        runs: &'a [Value],
    ) -> Self {
        let calibration = plan.setup.calibration.as_ref();
        Self {
            procedure,
            dut: &plan.setup.name,
            dut_version: plan.setup.version.as_deref(),
            calibration: calibration.map(|of| of.cabling.as_str()),
            calibration_ns: calibration.map(|of| of.latency.as_nanos_f64()),
            world,
            seed: plan.setup.seed,
            parameters,
            tester: ground::program::version(),
            tester_limits: &plan.tester,
            tester_limits_unknown: None,
            warnings: &[],
            runs,
            verdict: Verdict::Pass,
            ended: None,
            compared: None,
        }
    }

    /// Returns the runs as a later one has them as its baseline.
    fn as_runs(&self) -> Runs {
        Runs {
            procedure: self.procedure.to_owned(),
            dut: self.dut.to_owned(),
            world: self.world.to_owned(),
            seed: self.seed,
            parameters: Some(self.parameters.clone()),
            runs: self.runs.to_vec(),
            ended: self.ended.map(str::to_owned),
        }
    }
}

/// Runs a procedure and prints its results.
///
/// # Errors
/// An error in the file or an argument, or the machine lacks something.
pub fn run(args: &BenchmarkArgs) -> Result<ExitCode> {
    match &args.procedure {
        Procedure::Rfc2544 { only, common } => {
            let tests = selected(only, &rfc2544::Test::ALL);
            let run = |plan: &Plan, bench: &mut dyn Bench, step: Step<'_>| {
                rfc2544::run(plan, &tests, bench, step)
            };
            measure("rfc2544", &tests, common, run, table::rfc2544)
        }
        Procedure::Rfc2889 { only, common } => {
            let tests = selected(only, &rfc2889::Test::ALL);
            let run = |plan: &Plan, bench: &mut dyn Bench, step: Step<'_>| {
                rfc2889::run(plan, &tests, bench, step)
            };
            measure("rfc2889", &tests, common, run, table::rfc2889)
        }
        Procedure::Rfc7640 { only, common } => {
            let tests = selected(only, &rfc7640::Test::ALL);
            let run = |plan: &Plan, bench: &mut dyn Bench, step: Step<'_>| {
                rfc7640::run(plan, &tests, bench, step)
            };
            measure("rfc7640", &tests, common, run, table::rfc7640)
        }
        Procedure::Rfc8239 { only, common } => {
            let tests = selected(only, &rfc8239::Test::ALL);
            let run = |plan: &Plan, bench: &mut dyn Bench, step: Step<'_>| {
                rfc8239::run(plan, &tests, bench, step)
            };
            measure("rfc8239", &tests, common, run, table::rfc8239)
        }
        Procedure::Lossless { common } => {
            measure("lossless", &(), common, lossless::run, table::lossless)
        }
        Procedure::Soak { common } => measure("soak", &(), common, soak::run, table::soak),
        Procedure::Mlrsearch { common } => {
            measure("mlrsearch", &(), common, mlr::run, table::mlrsearch)
        }
    }
}

/// Runs a procedure, of it these tests.
fn measure<R: Serialize>(
    procedure: &'static str,
    tests: &dyn Debug,
    args: &Common,
    run: impl Fn(&Plan, &mut dyn Bench, Step<'_>) -> (R, Option<Trouble>),
    table: impl Fn(&R) -> String,
) -> Result<ExitCode> {
    let (mut plan, dut) = load(args)?;
    let parameters: BTreeMap<String, String> = plan.parameters().into_iter().collect();
    let before = args.baseline.as_deref().map(|path| earlier(path, procedure, &parameters));
    let before = before.transpose()?;
    let mut outputs = Outputs::new();
    outputs.input("the benchmark file", &args.file);
    if let Some(path) = &args.resume {
        outputs.claim("--resume", path)?;
    }
    let files = Files::open(args, &mut outputs)?;
    // After the files are claimed, and before the device is opened, which takes a while.
    let stop = stop_on_signals()?;
    let options = (tests, args.machine);
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
            let opened = Journal::open(path, (procedure, &plan, &known), &mut *device);
            journal = opened.map_err(wrong)?;
            if journal.left() > 0 {
                say!("{} trials are in {}", journal.left(), path.display());
            }
            &mut journal
        }
        None => &mut *device,
    };
    let Measured { runs, unknown, trouble } = repeat(args.runs, &mut plan, bench, &stop, run);
    let warnings = bench.warnings();
    warnings.iter().for_each(|warning| say!("warning: {warning}"));
    // As JSON from here on: comparison, files and document have the same values.
    let values: Vec<Value> = runs.iter().map(took::value).collect::<Result<_, _>>()?;
    let ended = trouble.as_ref().map(ToString::to_string);
    let mut document = Document {
        tester_limits_unknown: unknown.as_deref(),
        warnings: &warnings,
        ended: ended.as_deref(),
        ..Document::new(procedure, &plan, world, &parameters, &values)
    };
    document.compared =
        before.map(|before| Comparison::of(&before, &document.as_runs(), plan.width));
    let judged = document.compared.as_ref().map(Comparison::verdict);
    document.verdict = Verdict::of_all([verdict(trouble.as_ref())].into_iter().chain(judged));
    let tables = text_of(runs.last().map_or(String::new(), table), &document);
    let compared = document.compared.as_ref();
    let junit = || junit_xml((procedure, &testbed), &values, trouble.as_ref(), compared);
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
struct Measured<R> {
    runs: Vec<R>,
    /// Reason why the tester's own limits are not known.
    unknown: Option<String>,
    /// Reason why the last run, or the calibration before the first, ended early.
    trouble: Option<Trouble>,
}

/// Calibrates the tester and makes a number of runs; a run that ends early is the last.
fn repeat<R>(
    wanted: u32,
    plan: &mut Plan,
    bench: &mut dyn Bench,
    stop: &AtomicBool,
    run: impl Fn(&Plan, &mut dyn Bench, Step<'_>) -> (R, Option<Trouble>),
) -> Measured<R> {
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
        let (results, ended) = run(plan, bench, &mut |what| {
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

/// Output files, claimed before the first trial.
struct Files {
    json: Option<OutputFile>,
    jsonl: Option<OutputFile>,
    csv: Option<OutputFile>,
    page: Option<OutputFile>,
    junit: Option<OutputFile>,
}

impl Files {
    fn open(args: &Common, outputs: &mut Outputs) -> Result<Self> {
        let mut open = |option, path: &Option<PathBuf>| {
            path.as_ref().map(|path| outputs.open(option, path)).transpose()
        };
        Ok(Self {
            json: open("--json", &args.json)?,
            jsonl: open("--jsonl", &args.jsonl)?,
            csv: open("--csv", &args.csv)?,
            page: open("--report", &args.report)?,
            junit: open("--junit", &args.junit)?,
        })
    }

    /// Writes all files, and returns the result of each: one that fails does not stop the others.
    fn write(
        self,
        document: &Document<'_>,
        tables: &str,
        plan: &Plan,
        junit: &dyn Fn() -> String,
    ) -> Result<[Result<()>; 5]> {
        let write = |file: Option<OutputFile>, text: &dyn Fn() -> String| {
            file.map_or(Ok(()), |file| file.write(text().as_bytes()))
        };
        let (text, value) =
            (serde_json::to_string_pretty(document)?, serde_json::to_value(document)?);
        let html = || {
            benchmark_html(&BenchmarkPage {
                procedure: document.procedure,
                dut: document.dut,
                world: document.world,
                seed: document.seed,
                verdict: document.verdict,
                ended: document.ended,
                tables,
                plan: &plan.to_string(),
                metrics: &summary::metrics(document.runs),
                compared: document.compared.as_ref(),
            })
        };
        Ok([
            write(self.json, &|| format!("{text}\n")),
            write(self.jsonl, &|| evidence::json_lines(&value)),
            write(self.csv, &|| evidence::csv(&value)),
            write(self.page, &html),
            write(self.junit, junit),
        ])
    }
}

/// Returns the tables: those of the last run (`last`), of all runs if there were several, and of the comparison
/// with a baseline.
fn text_of(last: String, document: &Document<'_>) -> String {
    let mut text = last;
    if document.runs.len() > 1 {
        text += &format!("\n{}", table::summary(&summary::metrics(document.runs)));
    }
    if let Some(compared) = &document.compared {
        text += &format!("\n{}", table::compared(compared));
    }
    if let Some(why) = document.ended {
        text += &format!("{}: {why}\n", document.verdict.label());
    }
    text
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

/// Reads a baseline of this procedure with these parameters.
fn earlier(path: &Path, procedure: &str, parameters: &BTreeMap<String, String>) -> Result<Runs> {
    let name = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| bad_input(anyhow!("--baseline {name}: cannot be read: {error}")))?;
    let wrong = |why: String| bad_input(anyhow!("--baseline {name}: {why}; give a file of --json"));
    let before: Runs = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    if before.procedure != procedure {
        let other = printable::excerpt(&before.procedure);
        return Err(wrong(format!("it has results of {other}, not {procedure}")));
    }
    // Results of other parameters differ for that reason, which is no change of the device.
    if let Some(difference) = before.difference(parameters) {
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
fn verdict(trouble: Option<&Trouble>) -> Verdict {
    match trouble {
        None => Verdict::Pass,
        Some(Trouble::Disturbed(_) | Trouble::Interrupted) => Verdict::Inconclusive,
        Some(Trouble::Error(_) | Trouble::Missing(_)) => Verdict::Fail,
    }
}
