//! `sluice run`: runs a lab, compares several, or runs the study that a lab describes, in the virtual or
//! the real world.

mod args;
mod compare;
mod data;
mod show;
mod study;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant as Wall;

use anyhow::{Context, Result, anyhow};

use super::kind::Kind;
use super::outputs::{OutputFile, Outputs};
use super::terminal::{self, say};
use super::{Format, bad_input, exit, quoted, stop_on_signals};
use crate::config::Machine;
use crate::config::quantity::Span;
use crate::lab::study::{Changes, Row, Study, jobs};
use crate::lab::{self, LabFile, LabPlan, Resolved, Run, RunError, World};
use crate::printable;
use crate::report::{self, Report};
use crate::sim::LinkId;
use data::Sets;
use show::Show;

pub use args::RunArgs;
#[cfg(feature = "dpdk")]
pub(super) use compare::run_all;
pub(super) use data::Rows;

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
    if args.threads.is_some() && args.world == World::Real {
        let what = anyhow!("--threads: the real world has its own threads; leave it out");
        return Err(bad_input(what.context("or use --world virtual")));
    }
    refuse_without_effect(args)?;
    let studies = studies(args)?;
    refuse_threads(args, studies.iter().any(|study| study.searches().is_some()))?;
    if studies.iter().any(|study| study.searches().is_some()) {
        return study::run_search(args, &studies);
    }
    let has_sweep = studies.iter().any(|study| study.sweep().is_some());
    let is_part = args.resume || args.shard.is_some() || args.keep.is_some();
    if args.number.is_none() && (has_sweep || is_part) {
        refuse_threads(args, true)?;
        return study::run(args, &studies);
    }
    let mut jobs = jobs_of(args, &studies)?;
    let alone = matches!(&*jobs, [job] if job.alone);
    refuse_threads(args, jobs.len() > 1)?;
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
    let sets = Sets::create(args, &studies, true)?;
    sets.say_size(jobs.iter().map(|job| &job.resolved.plan), jobs.len() as u64);
    let files = Files { page, rows, sets };
    if alone { run_one(args, &jobs[0], files) } else { compare::run(args, &jobs, files) }
}

/// Refuses options that would change nothing.
fn refuse_without_effect(args: &RunArgs) -> Result<()> {
    #[cfg(feature = "parquet")]
    let has_tables = args.csv.is_some() || args.parquet.is_some();
    #[cfg(not(feature = "parquet"))]
    let has_tables = args.csv.is_some();
    for (is_idle, what) in [
        (
            args.slow_down.is_some() && args.world == World::Virtual,
            "--slow-down: virtual time is as slow as the machine; leave it out, or use --world real",
        ),
        (
            args.series && !has_tables,
            "--series: is a table of --csv or --parquet; give one of them, or leave it out",
        ),
        (
            args.outcomes && args.format != Format::Json,
            "--outcomes: is a part of --format json; give that, or leave it out",
        ),
    ] {
        if is_idle {
            return Err(bad_input(anyhow!(what)));
        }
    }
    Ok(())
}

/// Refuses several threads for each of several runs, which use all CPUs.
fn refuse_threads(args: &RunArgs, several: bool) -> Result<()> {
    if args.threads.is_some() && several {
        let what = anyhow!(
            "--threads is for a single run; --jobs is the number of runs at the \
            same time"
        );
        return Err(bad_input(what.context("choose one run with --variant or --number")));
    }
    Ok(())
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

/// Marks the error of a run: one of the lab is bad input, the others are of the machine.
fn run_error(error: RunError) -> anyhow::Error {
    if error.is_bad_input() { bad_input(error) } else { error.into() }
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
    let run = lab::run(plan, args.world, options, |p| show.update(p)).map_err(run_error)?;
    show.finish(&run.outcome);
    if let Some(why) = run.threads.why_one {
        say!("note: one thread: {why}");
    }
    // An interrupted run has other results than a whole one, and would look like it in a row.
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
    let RunArgs { seed, shuffle, duration, world, slow_down, .. } = *args;
    let changes = Changes { seed, shuffle, duration, world, slow_down };
    let study = |path: &PathBuf| {
        Kind::Lab.expect(path)?;
        let file = LabFile::read(path).and_then(|file| file.with_fields(&args.set));
        let file = file.map_err(bad_input)?;
        Study::new(file, changes).map_err(bad_input)
    };
    let studies = args.files.iter().map(study).collect::<Result<Vec<_>>>()?;
    if args.rows.is_some() {
        // Rows name their lab by its digest, so a run of each would have the same row.
        let mut known = BTreeSet::new();
        if let Some(twice) = studies.iter().find(|study| !known.insert(study.digest())) {
            let what = "is there twice, and rows have each run once; leave out one of them";
            return Err(bad_input(anyhow!("{}: {what}", twice.file().name())));
        }
    }
    refuse_same_names(&studies)?;
    Ok(studies)
}

/// Refuses labs of one name: tables, pages and rows tell labs apart by their names.
fn refuse_same_names(studies: &[Study]) -> Result<()> {
    let mut named = BTreeMap::new();
    // One lab needs no name to be told apart.
    for study in studies.iter().filter(|_| studies.len() > 1) {
        // A lab that cannot be resolved is refused later, with all of its errors.
        let Ok((resolved, _)) = study.resolve(0) else { continue };
        let file = study.file().name();
        if let Some(other) = named.insert(resolved.plan.name.clone(), file) {
            let lab = printable::line(&resolved.plan.name);
            let what =
                format!("the lab of {other} is named `{lab}`, too; write another `name: ...`");
            return Err(bad_input(anyhow!("{file}: {what}")));
        }
    }
    Ok(())
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
        // A run counts as alone only if the user cannot have meant several.
        let chosen = args.number.is_some() || !args.variant.is_empty();
        let alone = studies.len() == 1 && own.len() == 1;
        let alone = alone && (study.file().variants().len() == 0 || chosen);
        numbers.extend(own.into_iter().map(|n| (study, n, alone)));
    }
    let memory = memory(args, jobs_for(args, numbers.len() as u64));
    let (mut jobs, mut printed) = (Vec::new(), BTreeSet::new());
    for (study, n, alone) in numbers {
        let (resolved, warnings) = study.resolve(n).map_err(bad_input)?;
        let name = study.file().name();
        lab::refuse_memory(name, &resolved.plan, memory).map_err(bad_input)?;
        let lines = warnings.iter().map(|w| w.line(name));
        // Each warning once: the runs of a sweep mostly have the same ones.
        for line in lines.filter(|line| printed.insert(line.clone())) {
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
    let runs = |name: &String| study.of_variant(Some(name)).map_err(bad_input);
    Ok(args.variant.iter().map(runs).collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}

/// Finds the link of a name.
fn link(plan: &LabPlan, name: &str) -> Result<LinkId> {
    const SHOWN: usize = 12;
    let links = &plan.network.links;
    let found = links.iter().position(|link| link.name == name);
    found.map(|n| LinkId(n as u32)).ok_or_else(|| {
        let names: Vec<_> = links.iter().take(SHOWN).map(|link| link.name.as_str()).collect();
        // A fabric may have thousands of links.
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
    fn the_command_of_a_report_survives_a_shell() {
        assert_eq!(quoted(Path::new("labs/in-cast_1.yaml")), "labs/in-cast_1.yaml");
        assert_eq!(quoted(Path::new("my lab's.yaml")), r"'my lab'\''s.yaml'");
    }
}
