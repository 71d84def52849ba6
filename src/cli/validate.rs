//! `sluice validate`: tests of a device under test, and the files with their results. With `--prove` it
//! plants faults instead, and shows which tests find them.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use chrono::DateTime;
use clap::Args;
use lab::World;
use report::{ValidationPage, validation_html, validation_metrics};
use serde::Serialize;
use sha2::{Digest, Sha256};
use validate::evidence::{self, Testbed};
use validate::file::{self, Dut};
use validate::setup::{Keep, Setup};
use validate::suite::{self, Results, Selection};
use validate::test::{Level, Test};
use validate::{catalogue, knobs, prove};

use super::kind::Kind;
use super::machine::MachineArgs;
use super::outputs::{OutputFile, Outputs};
use super::terminal::{self, Progress, say};
use super::{Format, bad_input, dut, exit, stop_on_signals};
use ::text::{Column, Table, columns};

const EXAMPLES: &str = "\
EXAMPLES:
  sluice validate --list                                    the tests, and what each is about
  sluice validate --describe V-R01                          one test in full
  sluice validate configs/validate/virtual.yaml             Sluice's own switch, in virtual time
  sluice validate configs/validate/rings.yaml --world real  the same with real frames, in real time
  sluice validate DUT.yaml --level full --junit out.xml     all tests, for sonic-mgmt or Jenkins
  sluice validate DUT.yaml --only 'V-R*' --jsonl out.jsonl  some tests, every value on a line
  sluice validate DUT.yaml --only L01                       by sonic-mgmt's number
  sluice validate DUT.yaml --report out.html                a page with all values and plots
  sluice validate DUT.yaml --captures DIR                   the frames of each failure
  sluice validate DUT.yaml --ctrf out.json --github         for a pipeline that shows the failures
  sluice validate --prove                                   which faults the tests find

The tester sends to the device, records all that comes back, and judges it against 802.1Q and 802.3.
It checks itself first, on a cable of its own. Verdicts: pass; fail; inconclusive: closer to a limit
than the tester can measure; policy: the standards leave it open; skip: something is missing; error:
the tester or the cabling cannot be trusted. Exit status 1: a test failed, or an error. 4: none
failed, and one was inconclusive, one that applies was skipped, or none passed.";

/// Validate a device from outside: PFC, ECN, ETS, MACsec, DCBX.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub struct ValidateArgs {
    /// DUT file: the tester's ports, their cables, and the device's configuration.
    #[arg(value_name = "DUT", required_unless_present_any = ["list", "describe", "prove"])]
    pub file: Option<PathBuf>,
    /// Extent of the run.
    #[arg(long, value_enum, default_value_t = Level::Quick)]
    pub level: Level,
    /// World of a virtual device: exact virtual time, or real time with real frames on ports in memory. Other
    /// devices are in the real one.
    #[arg(long, value_enum)]
    pub world: Option<World>,
    /// Run only tests of these ids or aliases, `*` for any text, with commas between. May be repeated.
    #[arg(long, value_name = "TEST", alias = "alias", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Print the tests instead of running them.
    #[arg(long)]
    pub list: bool,
    /// Print the descriptions of tests instead of running them, as pages of the manual.
    #[arg(long, value_name = "TEST")]
    pub describe: Vec<String>,
    /// Check the file and print the tests that would run, and in real time how long they take at least.
    #[arg(long)]
    pub dry_run: bool,
    /// Seed of all random decisions, instead of the file's.
    #[arg(long)]
    pub seed: Option<u64>,
    /// Count inconclusive tests as failures.
    #[arg(long)]
    pub strict: bool,
    /// Repeat an inconclusive test at most this many times; the last result counts. In virtual time nothing is
    /// repeated, because the result would be the same.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=10))]
    pub retry: u32,
    /// Format of the results on standard output.
    #[arg(help_heading = "Results", long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
    /// Write every measurement to this file as JSON Lines.
    #[arg(help_heading = "Results", long, value_name = "FILE")]
    pub jsonl: Option<PathBuf>,
    /// Write the results to this file as JUnit, in sonic-mgmt's form.
    #[arg(help_heading = "Results", long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Write the results to this file in the Common Test Report Format (ctrf.io).
    #[arg(help_heading = "Results", long, value_name = "FILE")]
    pub ctrf: Option<PathBuf>,
    /// Print a workflow command of GitHub Actions for each failure to standard error, by which it is shown beside
    /// the run.
    #[arg(help_heading = "Results", long)]
    pub github: bool,
    /// Prove the tests instead: virtual devices with planted faults must fail them, good ones must
    /// pass, and a wrong tester must end with an error. Each fault is also planted beside other
    /// features of a device, which takes minutes.
    #[arg(help_heading = "Proof of the tests", long, conflicts_with_all = ["file", "list", "describe", "only"])]
    pub prove: bool,
    /// Number of seeds with which the good devices are tested by --prove.
    #[arg(
        help_heading = "Proof of the tests",
        long,
        value_name = "N",
        default_value_t = 20,
        requires = "prove"
    )]
    pub seeds: u64,
    /// Write a page with the verdicts, the values and plots of rates and pauses to this file.
    #[arg(help_heading = "Results", long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Write a capture of each test that fails to this folder, with comments on the offending frames.
    #[arg(help_heading = "Results", long, value_name = "DIR")]
    pub captures: Option<PathBuf>,
    /// Write the values to this file as metrics of Prometheus, for a textfile collector.
    #[arg(help_heading = "Results", long, value_name = "FILE")]
    pub prometheus: Option<PathBuf>,
    /// EAL options and idle mode.
    #[command(flatten)]
    pub machine: MachineArgs,
}

/// Runs the tests and prints their results. The exit status is the verdict's.
///
/// # Errors
/// An error in the file or an argument.
pub fn run(args: &ValidateArgs) -> Result<ExitCode> {
    if !args.describe.is_empty() {
        return describe(&args.describe);
    }
    if args.prove {
        return run_proof(args);
    }
    let selection = Selection { level: args.level, only: args.only.clone(), retry: args.retry };
    refuse_unknown("--only", &selection.unknown())?;
    let tests = selection.tests();
    // The parser requires a file, or one of the options that need none.
    let Some(path) = args.file.as_ref().filter(|_| !args.list) else {
        let all = if args.only.is_empty() { catalogue::TESTS.iter().collect() } else { tests };
        terminal::print(list(&all))?;
        return Ok(ExitCode::SUCCESS);
    };
    Kind::Dut.expect(path)?;
    let name = path.display().to_string();
    let (mut dut, warnings) = file::load(path).map_err(bad_input)?;
    warnings.iter().for_each(|warning| say!("warning: {}", warning.line(&name)));
    dut.setup.seed = args.seed.unwrap_or(dut.setup.seed);
    if args.world == Some(World::Virtual) && dut.lab.is_none() {
        return Err(bad_input(anyhow!("--world virtual: the device is not virtual; leave it out")));
    }
    let mut outputs = Outputs::new();
    outputs.input("the DUT file", path);
    let files = Files::open(args, &mut outputs)?;
    let is_virtual = dut.lab.is_some() && args.world != Some(World::Real);
    let least = (!is_virtual).then(|| least(suite::least_time(&dut.setup, &selection)));
    if args.dry_run {
        let least = least.map(|least| format!("\n{least}\n")).unwrap_or_default();
        terminal::print(planned(&selection, &dut.setup) + &least)?;
        return Ok(ExitCode::SUCCESS);
    }
    // Before the run: a user can still choose fewer tests.
    least.iter().for_each(|least| say!("{least}"));
    // What is kept takes memory, so it is only what a file will show.
    dut.setup.keep = match (&args.captures, &args.report) {
        (Some(_), _) => Keep::Frames,
        (None, Some(_)) => Keep::Traces,
        (None, None) => Keep::Nothing,
    };
    let setup = dut.setup.clone();
    let results = validate(args, dut, &selection)?;
    let (files, written) = files.write(args, &name, &results, &setup);
    match args.format {
        Format::Json => terminal::print_json(&Printed { results: &results, files })?,
        Format::Table => terminal::print(evidence::table(&results))?,
    }
    if args.github {
        evidence::annotations(&results, &name).iter().for_each(|line| say!("{line}"));
    }
    // After the results are printed, so that a failed file does not lose them.
    written?;
    Ok(exit(results.verdict(args.strict)))
}

/// Results in JSON, and the sums of the files that were written with them.
#[derive(Serialize)]
struct Printed<'a> {
    #[serde(flatten)]
    results: &'a Results,
    files: Vec<evidence::File>,
}

/// Runs the selected tests.
fn validate(args: &ValidateArgs, dut: Dut, selection: &Selection) -> Result<Results> {
    let stop = stop_on_signals()?;
    let setup = dut.setup.clone();
    let world = args.world.unwrap_or_default();
    let mut bench = dut::bench(dut, world, args.machine, &stop)?;
    let every = Duration::from_secs(5);
    // One more for the check of the tester itself.
    let all = selection.tests_of(&setup).len() as u64 + 1;
    let mut progress = Progress::new("{bar:30} {pos}/{len} {msg}", &setup.name, Some(all), every);
    let begun = Instant::now();
    let mut last = None;
    let results = suite::run(&setup, selection, &mut *bench, |n, all, test| {
        // The same number twice in a row is a repetition.
        let again = if last.replace(n) == Some(n) { ", again" } else { "" };
        let left = left(begun.elapsed(), n, all);
        let text = format!("{} {}{again}{left}", test.id, test.title);
        progress.update(n as u64, text, |text| format!("{n} of {all}: {text}"));
        !stop.load(Ordering::Relaxed)
    });
    progress.clear();
    bench.warnings().iter().for_each(|warning| say!("warning: {warning}"));
    Ok(results)
}

/// Returns the time left in words, by the mean time of the tests that are done. It is empty until the first test
/// of the device is done.
fn left(elapsed: Duration, done: usize, all: usize) -> String {
    // The first is the check of the tester, whose time says nothing about the others.
    if done < 2 || all <= done {
        return String::new();
    }
    let seconds = elapsed.as_secs_f64() / done as f64 * (all - done) as f64;
    format!(" (about {} left)", rounded(seconds))
}

/// Returns a time in words.
fn rounded(seconds: f64) -> String {
    match seconds.ceil() as u64 {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds => format!("{} min", seconds.div_ceil(60)),
    }
}

/// Returns the sentence about the time that a run takes at least.
fn least(time: ground::time::Duration) -> String {
    format!("the run takes at least {}: one trial of each test", rounded(time.as_secs_f64()))
}

/// Refuses names that no test has.
fn refuse_unknown(option: &str, names: &[&str]) -> Result<()> {
    match names {
        [] => Ok(()),
        names => {
            let names = names.join(" and ");
            Err(bad_input(anyhow!("{option}: there is no test {names}; see --list")))
        }
    }
}

/// Prints the pages of tests.
fn describe(names: &[String]) -> Result<ExitCode> {
    let is_own = |name: &str| name == catalogue::SELF_CHECK.id;
    // The self-check has a page, but cannot be selected: it always runs.
    let own = names.iter().any(|name| is_own(name)).then_some(&catalogue::SELF_CHECK);
    let selection = Selection { level: Level::Full, only: names.to_vec(), retry: 0 };
    let unknown: Vec<_> = selection.unknown().into_iter().filter(|name| !is_own(name)).collect();
    refuse_unknown("--describe", &unknown)?;
    let pages: Vec<_> = own.into_iter().chain(selection.tests()).map(catalogue::page).collect();
    terminal::print(pages.join("\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// Lists the tests that will run, and those that will be skipped with the reason.
fn planned(selection: &Selection, setup: &Setup) -> String {
    let skipped = |test: &Test| suite::skip_reason(setup, selection.level, test);
    let tests: Vec<_> = selection.tests_of(setup).into_iter().map(|t| (t, skipped(t))).collect();
    let run: Vec<_> = tests.iter().filter(|(_, why)| why.is_none()).map(|(t, _)| *t).collect();
    let mut out = list(&run).to_string();
    for (test, why) in &tests {
        if let Some(why) = why {
            out += &crate::printable::lines([format!("{} will be skipped: {why}", test.id)]);
        }
    }
    out
}

/// Returns a table of tests.
fn list(tests: &[&Test]) -> Table {
    let columns: [Column<&Test>; 4] = columns! { test =>
        Text ["test"] = test.id;
        Made ["alias"] = test.aliases.join(" ");
        Made ["level"] = test.level.to_string();
        Text ["title"] = test.title;
    };
    Table::of(tests, &columns)
}

/// The opened files, and the folder of captures.
struct Files {
    jsonl: Option<OutputFile>,
    junit: Option<OutputFile>,
    report: Option<OutputFile>,
    prometheus: Option<OutputFile>,
    ctrf: Option<OutputFile>,
}

impl Files {
    /// Opens the files before the run, so that one that cannot be written is found at once.
    ///
    /// # Errors
    /// Bad input: a file cannot be written.
    fn open(args: &ValidateArgs, outputs: &mut Outputs) -> Result<Self> {
        if let Some(folder) = &args.captures {
            Outputs::folder("--captures", folder)?;
        }
        let mut open = |option, path: &Option<_>| {
            path.as_ref().map(|path: &std::path::PathBuf| outputs.open(option, path)).transpose()
        };
        Ok(Self {
            jsonl: open("--jsonl", &args.jsonl)?,
            junit: open("--junit", &args.junit)?,
            report: open("--report", &args.report)?,
            prometheus: open("--prometheus", &args.prometheus)?,
            ctrf: open("--ctrf", &args.ctrf)?,
        })
    }

    /// Writes all of them, the page last, as it has the sums of the others; `name` is the DUT file. Returns
    /// the sums, and the error of the first file that could not be written, after all others are.
    fn write(
        self,
        args: &ValidateArgs,
        name: &str,
        results: &Results,
        setup: &Setup,
    ) -> (Vec<evidence::File>, Result<()>) {
        let mut written = Written::default();
        // With the sum of the DUT file a reader can tell which one the results are of.
        if let Some(Ok(octets)) = args.file.as_ref().map(std::fs::read) {
            written.files.push(sum(name.to_owned(), &octets));
        }
        written.text(self.jsonl, args.jsonl.as_ref(), || evidence::json_lines(results, name));
        written.text(self.junit, args.junit.as_ref(), || {
            evidence::junit(results, name, &setup.limits, &testbed(results, setup))
        });
        written.text(self.ctrf, args.ctrf.as_ref(), || evidence::ctrf(results, name));
        written.text(self.prometheus, args.prometheus.as_ref(), || validation_metrics(results));
        let captured = written.captures(args, name, results, setup);
        written.errors.push(captured);
        // The page lists the other files, so it is written last.
        let files = written.files.clone();
        written.text(self.report, args.report.as_ref(), || {
            let (file, strict) = (name, args.strict);
            validation_html(&ValidationPage { results, setup, file, strict, files: &files })
        });
        (written.files, written.errors.into_iter().collect())
    }
}

/// Files that were written, and what became of each.
#[derive(Default)]
struct Written {
    files: Vec<evidence::File>,
    errors: Vec<Result<()>>,
}

impl Written {
    fn text(
        &mut self,
        file: Option<OutputFile>,
        path: Option<&PathBuf>,
        text: impl FnOnce() -> String,
    ) {
        let Some((file, path)) = file.zip(path) else { return };
        let text = text();
        self.files.push(sum(path.display().to_string(), text.as_bytes()));
        self.errors.push(file.write(text.as_bytes()));
    }

    /// Writes the captures of failed tests.
    fn captures(
        &mut self,
        args: &ValidateArgs,
        name: &str,
        results: &Results,
        setup: &Setup,
    ) -> Result<()> {
        let Some(folder) = &args.captures else { return Ok(()) };
        for capture in evidence::captures(results, setup, name)? {
            let path = folder.join(&capture.name);
            let named = || format!("--captures: {}", path.display());
            std::fs::write(&path, &capture.octets).with_context(named)?;
            self.files.push(sum(path.display().to_string(), &capture.octets));
        }
        Ok(())
    }
}

/// Returns a file with the sum of its contents.
fn sum(name: String, octets: &[u8]) -> evidence::File {
    let sum = Sha256::digest(octets);
    let sha256 = sum.iter().map(|octet| format!("{octet:02x}")).collect();
    evidence::File { name, bytes: octets.len(), sha256 }
}

fn testbed(results: &Results, setup: &Setup) -> Testbed {
    let start = results.tests.first().map_or(0.0, |test| test.start_s);
    Testbed {
        timestamp: stamp(start),
        topology: results.world.to_owned(),
        testbed: "sluice".to_owned(),
        host: results.dut.clone(),
        os_version: setup.version.clone().unwrap_or_default(),
        ..Testbed::default()
    }
}

/// Returns a time in seconds since 1970 as sonic-mgmt writes it, in UTC.
pub(super) fn stamp(seconds: f64) -> String {
    let time = DateTime::from_timestamp_micros((seconds * 1e6).round() as i64);
    time.map_or(String::new(), |time| time.format("%Y-%m-%d %H:%M:%S%.6f").to_string())
}

/// Runs the proof and prints it. The exit status is its verdict's.
fn run_proof(args: &ValidateArgs) -> Result<ExitCode> {
    let stop = stop_on_signals()?;
    let knobs = knobs::knobs()?;
    let features = knobs::features(&knobs)?;
    let parts = prove::parts(&knobs, &features, args.seeds);
    let all = parts.len() as u64;
    let every = Duration::from_secs(10);
    let mut progress = Progress::new("{bar:30} {pos}/{len} {eta} {msg}", "proof", Some(all), every);
    let proof = prove::run(&knobs, parts, &stop, |n, name| {
        progress.update(n as u64, name.to_owned(), |name| format!("{n} of {all}: {name}"));
    });
    progress.clear();
    match args.format {
        Format::Json => terminal::print_json(&proof)?,
        Format::Table => terminal::print(prove::table(&proof))?,
    }
    Ok(exit(proof.verdict()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_the_mean_time_of_the_tests_that_are_left() {
        let of = |seconds, done, all| left(Duration::from_secs(seconds), done, all);
        assert_eq!(of(5, 1, 21), "");
        assert_eq!(of(10, 2, 22), " (about 100 s left)");
        assert_eq!(of(60, 2, 22), " (about 10 min left)");
        assert_eq!(of(10, 22, 22), "");
    }

    #[test]
    fn a_run_in_real_time_says_how_long_it_takes_at_least() {
        let of = |seconds| least(ground::time::Duration::from_secs(seconds));
        assert_eq!(of(14), "the run takes at least 14 s: one trial of each test");
        assert_eq!(of(601), "the run takes at least 11 min: one trial of each test");
    }

    /// FIPS 180-2, appendix B.1.
    #[test]
    fn a_sum_is_that_of_the_standard() {
        let file = sum("abc".into(), b"abc");
        assert_eq!((file.bytes, &file.sha256[..16]), (3, "ba7816bf8f01cfea"));
        assert_eq!(&file.sha256[48..], "b410ff61f20015ad");
    }

    #[test]
    fn a_time_is_written_in_utc() {
        assert_eq!(stamp(0.0), "1970-01-01 00:00:00.000000");
        assert_eq!(stamp(1_795_491_115.951_871), "2026-11-24 03:31:55.951871");
    }
}
