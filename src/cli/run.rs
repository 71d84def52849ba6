//! `sluice run`: runs a lab, compares several, or runs the study that a lab describes, in the virtual or
//! the real world.

mod compare;
mod data;
mod rows;
mod search;
mod show;
mod study;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant as Wall;

use anyhow::{Context, Result, anyhow};
use clap::Args;

use super::kind::Kind;
use super::machine::MachineArgs;
use super::outputs::{OutputFile, Outputs};
use super::terminal::{self, say};
use super::{Format, bad_input, exit, quoted, stop_on_signals};
use crate::config::Machine;
use crate::config::quantity::Span;
use crate::lab::study::{Changes, Row, Shard, Study, jobs};
use crate::lab::{self, LabFile, LabPlan, Resolved, Run, World};
use crate::report::{self, Report};
use crate::sim::LinkId;
#[cfg(feature = "dpdk")]
pub(super) use compare::run_all;
use data::Sets;
pub(super) use rows::Rows;
use show::Show;

const EXAMPLES: &str = "\
EXAMPLES:
  sluice run configs/labs/incast.yaml                        results as tables
  sluice run configs/labs/incast.yaml --report incast.html   and as one page with plots
  sluice run LAB.yaml --format json                          and for programs
  sluice run LAB.yaml --seed 7 --duration 20ms               with another seed, for longer
  sluice run LAB.yaml --set defaults.links.length=500m       with another value of a field
  sluice run LAB.yaml --pcapng h1-s1=h1.pcapng               with the frames of a link
  sluice run LAB.yaml --world real                           on DPDK rings, with real frames
  sluice check LAB.yaml                                      validation of the file, without a run
  sluice run configs/labs/compare/*.yaml                     every variant of each, in one table
  sluice run LAB.yaml --variant pfc                          one of a lab's variants
  sluice run configs/labs/sweep.yaml --rows out.jsonl        every run of a sweep, a line for each
  sluice run configs/labs/search.yaml                        the least value with which checks pass
  sluice run LAB.yaml --csv tables                           tables of flows, messages and queues
  sluice run SWEEP.yaml --rows out.jsonl --resume            the runs that the file does not have yet
  sluice run SWEEP.yaml --number 17                          one of them, as an ordinary lab
  sluice run SWEEP.yaml --shard 2/8 --rows 2.jsonl           an eighth of them

In the virtual world the same file and seed give the same trace hash, to the picosecond, on every
machine. The real world reports what it cannot do of a lab. Exit status 0: PASS, no check failed and at
least one passed. 1: a check failed. 4: inconclusive, or no check could be judged.";

/// Run a lab file: nodes, links, flows, faults and checks, in exact virtual time or on real rings.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub struct RunArgs {
    /// Lab files, YAML or JSON. Several, or one with variants, are compared in one table; one with a
    /// sweep is run with all combinations of its values.
    #[arg(value_name = "LAB", required = true)]
    pub files: Vec<PathBuf>,
    /// Run only this variant of the lab. May be repeated.
    #[arg(long, value_name = "NAME")]
    pub variant: Vec<String>,
    /// Run only this run of a sweep, by its number, as an ordinary lab.
    #[arg(long, value_name = "N", conflicts_with_all = ["variant", "shard", "resume"])]
    pub number: Option<u64>,
    /// World of the run.
    #[arg(long, value_enum, default_value_t = World::Virtual)]
    pub world: World,
    /// In the real world, slow time down by this factor, so that the machine keeps up. Default:
    /// derived from the lab's frame rates.
    #[arg(long, value_name = "TIMES", value_parser = clap::value_parser!(u64).range(1..))]
    pub slow_down: Option<u64>,
    /// Seed of all random decisions, instead of the file's.
    #[arg(long)]
    pub seed: Option<u64>,
    /// Seed that randomizes the order of events at the same picosecond.
    #[arg(long, value_name = "SEED")]
    pub shuffle: Option<u64>,
    /// End of the run at the latest, in time of the lab, such as 5ms; instead of the file's.
    #[arg(long, value_name = "TIME")]
    pub duration: Option<Span>,
    /// Value of a field by its path, such as defaults.links.length=500m, instead of the file's and its
    /// variants'. May be repeated.
    #[arg(long, value_name = "PATH=VALUE", value_parser = field)]
    pub set: Vec<(String, String)>,
    /// Number of runs at the same time; the real world has one. Default: the number of cores.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// Write a line of JSON for each run to this file, as the runs end.
    #[arg(long, value_name = "FILE")]
    pub rows: Option<PathBuf>,
    /// Go on with the file of --rows: run only the runs that it does not have.
    #[arg(long, requires = "rows")]
    pub resume: bool,
    /// Folder for complete lab files of the runs of a sweep that fail or are inconclusive.
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
    /// Run only part K of N of the runs, such as 1/4; other machines run the others.
    #[arg(long, value_name = "K/N")]
    pub shard: Option<Shard>,
    /// Write tables of runs, flows, messages, hops, series and pauses to CSV files in this folder.
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    pub csv: Option<PathBuf>,
    /// Write the same tables to Parquet files in this folder.
    #[cfg(feature = "parquet")]
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    pub parquet: Option<PathBuf>,
    /// Write a self-contained HTML page with plots to this file.
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Format of the results on standard output.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
    /// Print all results of each run, too, in a comparison as JSON.
    #[arg(long)]
    pub outcomes: bool,
    /// Write the frames of a link to a pcapng file, both directions. May be repeated.
    #[arg(long, value_name = "LINK=FILE", value_parser = capture)]
    pub pcapng: Vec<(String, PathBuf)>,
    /// EAL options and idle mode.
    #[command(flatten)]
    pub machine: MachineArgs,
}

/// Parses `LINK=FILE`.
fn capture(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((link, file)) if !link.is_empty() && !file.is_empty() => {
            Ok((link.to_owned(), file.into()))
        }
        _ => Err("write the name of a link, `=`, and a file".into()),
    }
}

/// Parses `PATH=VALUE`.
fn field(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((path, value)) if !path.is_empty() && !value.is_empty() => {
            Ok((path.to_owned(), value.to_owned()))
        }
        _ => Err("write the path of a field, `=`, and a value, such as seed=7".into()),
    }
}

/// One run of a lab file, or of a variant of it.
struct Job<'a> {
    study: &'a Study,
    /// Number of the run in the study.
    n: u64,
    resolved: Resolved,
    /// True for a single run, false in a comparison.
    alone: bool,
}

impl Job<'_> {
    /// Returns the row of a finished run.
    fn row(&self, run: &Run, begun: Wall) -> Row {
        let row = Row::new(&run.outcome, begun.elapsed()).with_headroom(&self.resolved);
        self.study.named(self.n, row)
    }
}

/// Files that runs write.
struct Files {
    page: Option<OutputFile>,
    rows: Rows,
    sets: Sets,
}

/// Runs the labs and prints their results. The exit status is the verdict's.
///
/// # Errors
/// An error in a file or an argument, or a world that this build lacks.
pub fn run(args: &RunArgs) -> Result<ExitCode> {
    args.machine.apply()?;
    let studies = studies(args)?;
    if studies.iter().any(|study| study.searches().is_some()) {
        return search::run(args, &studies);
    }
    let has_sweep = studies.iter().any(|study| study.sweep().is_some());
    let is_part = args.resume || args.shard.is_some() || args.keep.is_some();
    if args.number.is_none() && (has_sweep || is_part) {
        return study::run(args, &studies);
    }
    let mut jobs = jobs_of(args, &studies)?;
    let alone = matches!(&*jobs, [job] if job.alone);
    if !alone && !args.pcapng.is_empty() {
        let what = anyhow!("--pcapng: one lab has the link, and there are {} runs", jobs.len());
        return Err(bad_input(what.context("choose one with --variant")));
    }
    for (name, file) in &args.pcapng {
        let plan = &mut jobs[0].resolved.plan;
        plan.record.pcapng.push((link(plan, name).map_err(bad_input)?, file.clone()));
    }
    let mut outputs = Outputs::new();
    let page = page(args, &jobs, &mut outputs)?;
    let rows = Rows::begin(args, &mut outputs)?;
    let sets = Sets::create(args, &studies)?;
    let files = Files { page, rows, sets };
    if alone { run_one(args, &jobs[0], files) } else { compare::run(args, &jobs, files) }
}

/// Checks the files that the runs write, and opens the page.
fn page(args: &RunArgs, jobs: &[Job<'_>], outputs: &mut Outputs) -> Result<Option<OutputFile>> {
    args.files.iter().for_each(|file| outputs.input("the lab file", file));
    for (_, path) in jobs.iter().flat_map(|job| &job.resolved.plan.record.pcapng) {
        // Opened again when its run starts.
        outputs.open("the capture", path)?;
    }
    args.report.as_ref().map(|path| outputs.open("--report", path)).transpose()
}

/// Runs one lab and prints all of its results.
fn run_one(
    args: &RunArgs,
    job: &Job<'_>,
    Files { page, mut rows, sets }: Files,
) -> Result<ExitCode> {
    let (stop, begun, plan) = (stop_on_signals()?, Wall::now(), &job.resolved.plan);
    let options = sets.options(args, &stop);
    let mut show = Show::new(plan, args.world);
    let run = lab::run(plan, args.world, options, |p| show.update(p))
        .map_err(|e| if e.is_bad_input() { bad_input(e) } else { e.into() })?;
    show.finish(&run.outcome);
    if !run.outcome.interrupted {
        let row = job.row(&run, begun);
        rows.add(&row);
        sets.add(&row, plan, &run);
    }
    let written = page.map(|page| page.write(report_of(args, plan, &run)?.as_bytes()));
    match args.format {
        Format::Json => terminal::print_json(&run.outcome)?,
        Format::Table => terminal::print(report::lab_text(&run.outcome))?,
    }
    // After the results are printed, so that a failed file does not lose them.
    written.transpose()?;
    rows.close()?;
    sets.close()?;
    Ok(exit(run.outcome.verdict))
}

/// Reads the labs, with the changes of the arguments.
fn studies(args: &RunArgs) -> Result<Vec<Study>> {
    let changes = Changes { seed: args.seed, shuffle: args.shuffle, duration: args.duration };
    let study = |path: &PathBuf| {
        Kind::Lab.expect(path)?;
        let file = LabFile::read(path).and_then(|file| file.with_fields(&args.set));
        let file = file.map_err(bad_input)?;
        Study::new(file, changes).map_err(bad_input)
    };
    args.files.iter().map(study).collect()
}

/// Memory that each of `jobs` labs at the same time may take. The real world is of rings, whose memory
/// DPDK sets aside.
fn memory(args: &RunArgs, jobs: usize) -> Option<u64> {
    let heap = Machine::this().heap.filter(|_| args.world == World::Virtual);
    heap.map(|heap| heap / jobs.max(1) as u64)
}

/// Returns the number of labs that run at the same time, of `runs`.
fn jobs_for(args: &RunArgs, runs: u64) -> usize {
    match args.world {
        World::Virtual => jobs(args.jobs).min(usize::try_from(runs).unwrap_or(usize::MAX)).max(1),
        World::Real => 1,
    }
}

/// Lists the runs. All files are read before the first run.
fn jobs_of<'a>(args: &RunArgs, studies: &'a [Study]) -> Result<Vec<Job<'a>>> {
    let mut numbers: Vec<(&Study, u64, bool)> = Vec::new();
    for study in studies {
        let own: Vec<u64> = match args.number {
            Some(n) if studies.len() == 1 && n < study.len() => vec![n],
            Some(n) => {
                let what = match studies.len() {
                    1 => format!("{n} of {} runs; the first is number 0", study.len()),
                    many => format!("{many} labs; give one"),
                };
                return Err(bad_input(anyhow!("--number: {what}")));
            }
            None => wanted(args, study)?,
        };
        let chosen = args.number.is_some() || !args.variant.is_empty();
        let alone = studies.len() == 1 && own.len() == 1;
        let alone = alone && (study.file().variants().len() == 0 || chosen);
        numbers.extend(own.into_iter().map(|n| (study, n, alone)));
    }
    let memory = memory(args, jobs_for(args, numbers.len() as u64));
    let (mut jobs, mut told) = (Vec::new(), BTreeSet::new());
    for (study, n, alone) in numbers {
        let (resolved, warnings) = study.resolve(n).map_err(bad_input)?;
        let name = study.file().name();
        lab::refuse_memory(name, &resolved.plan, memory).map_err(bad_input)?;
        let lines = warnings.iter().map(|w| w.line(name));
        for line in lines.filter(|line| told.insert(line.clone())) {
            say!("warning: {line}");
        }
        jobs.push(Job { study, n, resolved, alone });
    }
    Ok(jobs)
}

/// Returns the runs of the variants of the arguments, in their order, or all runs.
fn wanted(args: &RunArgs, study: &Study) -> Result<Vec<u64>> {
    if args.variant.is_empty() {
        return Ok((0..study.len()).collect());
    }
    let of = |name: &String| study.of_variant(Some(name)).map_err(bad_input);
    Ok(args.variant.iter().map(of).collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}

/// Finds the link of a name.
fn link(plan: &LabPlan, name: &str) -> Result<LinkId> {
    const SHOWN: usize = 12;
    let links = &plan.network.links;
    let found = links.iter().position(|link| link.name == name);
    found.map(|n| LinkId(n as u32)).ok_or_else(|| {
        let names: Vec<_> = links.iter().take(SHOWN).map(|link| link.name.as_str()).collect();
        let more = if links.len() > SHOWN { ", ..." } else { "" };
        anyhow!("--pcapng: there is no link {name}; there are {}{more}", names.join(", "))
    })
}

/// Builds the page of `--report`.
fn report_of(args: &RunArgs, plan: &LabPlan, run: &Run) -> Result<String> {
    let recording = run.recording.as_ref().context("nothing was recorded")?;
    // A number stands for the seed of its run, too.
    let seed = args.number.map_or(Some(run.outcome.seed), |_| args.seed);
    let command = command(&RunArgs { seed, ..args.clone() });
    Ok(report::html(&Report { plan, outcome: &run.outcome, recording, command: &command }))
}

/// Command that reproduces the results.
fn command(args: &RunArgs) -> String {
    let files: Vec<_> = args.files.iter().map(|file| quoted(file)).collect();
    let mut command = format!("sluice run {}", files.join(" "));
    for variant in &args.variant {
        command += &format!(" --variant {variant}");
    }
    if let Some(number) = args.number {
        command += &format!(" --number {number}");
    }
    command += &format!(" --world {}", args.world);
    if let Some(seed) = args.seed {
        command += &format!(" --seed {seed}");
    }
    if let Some(shuffle) = args.shuffle {
        command += &format!(" --shuffle {shuffle}");
    }
    if let Some(slow_down) = args.slow_down {
        command += &format!(" --slow-down {slow_down}");
    }
    if let Some(Span(duration)) = args.duration {
        command += &format!(" --duration {duration}");
    }
    for (path, value) in &args.set {
        command += &format!(" --set {}", quoted(format!("{path}={value}").as_ref()));
    }
    command
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_capture_needs_a_link_and_a_file() {
        assert_eq!(capture("h1-s1=a=b.pcapng"), Ok(("h1-s1".into(), "a=b.pcapng".into())));
        assert!(capture("h1").is_err() && capture("=x").is_err() && capture("x=").is_err());
    }

    #[test]
    fn a_field_is_a_path_and_a_value() {
        assert_eq!(field("a.b={c: d=e}"), Ok(("a.b".into(), "{c: d=e}".into())));
        assert!(field("a.b").is_err() && field("=x").is_err() && field("x=").is_err());
    }

    #[test]
    fn the_command_of_a_report_survives_a_shell() {
        assert_eq!(quoted(Path::new("labs/in-cast_1.yaml")), "labs/in-cast_1.yaml");
        assert_eq!(quoted(Path::new("my lab's.yaml")), r"'my lab'\''s.yaml'");
    }
}
