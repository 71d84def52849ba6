//! The runs of a study. A sweep, or a part of several runs, gives rows, a table and lab files of failures;
//! a `search` finds its value for each run.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Result, anyhow};
use serde::Serialize;

use super::data::{Rows, Sets};
use super::show::All;
use super::{RunArgs, jobs_for, memory};
use crate::cli::outputs::Outputs;
use crate::cli::terminal::{self, Progress, say};
use crate::cli::{Format, bad_input, exit, quoted, stop_on_signals};
use crate::lab::study::{
    AxisName, Row, SHOWN_MAX, Search, Shard, Studied, Study, StudyError, Sweep, try_in_order,
};
use crate::lab::{self, LabPlan, Run, Runner, World};
use crate::{printable, report};

/// Most runs that are resolved before the first one: enough for every value of most sweeps.
const RESOLVED_FIRST: u64 = 512;
/// Most lab files that are kept. A choice: more than a person reads.
const KEPT_MAX: usize = 1_000;

/// Results as JSON.
#[derive(Serialize)]
struct Results<'a> {
    #[serde(flatten)]
    studied: &'a Studied,
    kept: Vec<Kept<'a>>,
}

/// Lab file of a run that failed or is inconclusive.
#[derive(Serialize)]
struct Kept<'a> {
    /// Digest of the lab, as its rows have it.
    study: &'a str,
    n: u64,
    file: &'a str,
}

/// Refuses more runs than a table or a page shows.
fn refuse_too_many(args: &RunArgs, planned: u64) -> Result<()> {
    if planned > SHOWN_MAX && args.rows.is_none() {
        let what = format!("{planned} runs are more than a table has; write them to a file");
        return Err(bad_input(anyhow!("--rows: {what}")));
    }
    if planned > SHOWN_MAX && args.report.is_some() {
        let what = format!("{planned} runs are more than a page has; run a part with --shard");
        return Err(bad_input(anyhow!("--report: {what}")));
    }
    Ok(())
}

/// Runs the studies, or the part of them that the arguments choose, and prints the table.
///
/// # Errors
/// An error in a file or an argument, or a file that cannot be written.
pub(super) fn run(args: &RunArgs, studies: &[Study]) -> Result<ExitCode> {
    refuse(args)?;
    let numbers = Numbers::new(args, studies)?;
    // Counted and not calculated: a shard has every nth number of several ranges.
    let planned = numbers.all().count() as u64;
    refuse_too_many(args, planned)?;
    let jobs = jobs_for(args, planned);
    check(args, studies, jobs)?;
    let mut outputs = Outputs::new();
    args.files.iter().for_each(|file| outputs.input("the lab file", file));
    if let Some(dir) = &args.keep {
        Outputs::folder("--keep", dir)?;
    }
    let page = args.report.as_ref().map(|path| outputs.open("--report", path)).transpose()?;
    let mut studied = Studied::new(axes(studies), planned);
    studied.part = args.shard.and_then(|shard| shard.part(numbers.len()));
    let mut known = HashSet::new();
    let rows = match args.resume {
        true => Rows::resume(args, &mut outputs, studies, |study, row| {
            // Rows of other parts are in no table of this one.
            if numbers.has(study, row.n) {
                known.insert((study, row.n));
                studied.add(row);
            }
        }),
        false => Rows::begin(args, &mut outputs),
    }?;
    if !known.is_empty() {
        say!("{} of {planned} runs are in the file", known.len());
    }
    let sets = Sets::create(args, studies, args.series)?;
    if args.series {
        let first = studies.first().map(|study| study.resolve(0)).transpose().map_err(bad_input)?;
        sets.say_size(first.iter().map(|(resolved, _)| &resolved.plan), planned);
    }
    let stop = stop_on_signals()?;
    let mut work =
        Work { args, studies, rows, sets: &sets, studied, kept: Vec::new(), failed: None };
    let left = numbers.all().filter(|run| !known.contains(run));
    work.run(left, planned - known.len() as u64, jobs, &stop)?;
    let (rows, studied) = (work.rows, work.studied.close());
    let ran = studied.verdicts.total();
    if ran < planned {
        let more = if rows.is_open() { "; --resume goes on" } else { "" };
        say!("interrupted after {ran} of {planned} runs{more}");
    }
    let written = page.map(|file| {
        let page = report::study_html(&studied, args.world.name(), &super::command(args));
        file.write(page.as_bytes())
    });
    match args.format {
        Format::Json => {
            let kept = work.kept.iter().map(|(study, n, file)| Kept { study, n: *n, file });
            terminal::print_json(&Results { studied: &studied, kept: kept.collect() })?;
        }
        Format::Table => terminal::print(report::study_text(&studied, &work.kept))?,
    }
    // After the results are printed, so that a failed file does not lose them.
    written.transpose()?;
    rows.close()?;
    work.failed.map_or(Ok(()), Err)?;
    sets.close()?;
    Ok(exit(studied.verdict))
}

/// Refuses options of single runs.
fn refuse(args: &RunArgs) -> Result<()> {
    let remedy = "choose one run of the sweep with --number";
    for (option, given) in [("--pcapng", !args.pcapng.is_empty()), ("--outcomes", args.outcomes)] {
        if given {
            return Err(bad_input(anyhow!("{option}: a sweep has rows; {remedy}")));
        }
    }
    Ok(())
}

/// Resolves runs before the first one, and tells their warnings.
fn check(args: &RunArgs, studies: &[Study], jobs: usize) -> Result<()> {
    let memory = memory(args, jobs);
    for study in studies {
        let name = study.file().name();
        let fits = |resolved: &lab::Resolved| lab::refuse_memory(name, &resolved.plan, memory);
        let (_, warnings) = study.check(RESOLVED_FIRST, jobs, fits).map_err(bad_input)?;
        warnings.iter().for_each(|warning| say!("warning: {}", warning.line(name)));
    }
    Ok(())
}

/// Marks the error of a study: one of the lab is bad input, the others are of the machine.
fn study_error(error: StudyError) -> anyhow::Error {
    match error {
        // Its findings have a line each.
        StudyError::Config(error) => bad_input(error),
        error if error.is_bad_input() => bad_input(error),
        error => error.into(),
    }
}

/// Returns the axes of all studies, each once.
fn axes(studies: &[Study]) -> Vec<AxisName> {
    let mut axes: Vec<AxisName> = Vec::new();
    for column in studies.iter().filter_map(Study::sweep).flat_map(Sweep::columns) {
        if !axes.iter().any(|axis| axis.path == column.key) {
            axes.push(AxisName { path: column.key.to_owned(), name: column.name.to_owned() });
        }
    }
    axes
}

/// Numbers of the runs that the arguments choose.
struct Numbers {
    /// Ranges of each study, one for each of its chosen variants.
    ranges: Vec<Vec<std::ops::Range<u64>>>,
    shard: Shard,
}

impl Numbers {
    fn new(args: &RunArgs, studies: &[Study]) -> Result<Self> {
        let ranges = |study: &Study| -> Result<Vec<_>> {
            if args.variant.is_empty() {
                return Ok(std::iter::once(0..study.len()).collect());
            }
            let runs = |name: &String| study.of_variant(Some(name)).map_err(bad_input);
            let mut ranges = args.variant.iter().map(runs).collect::<Result<Vec<_>>>()?;
            // In the order of the numbers, whatever the order of the options, so that shards are the same.
            ranges.sort_by_key(|range| range.start);
            ranges.dedup();
            Ok(ranges)
        };
        let ranges = studies.iter().map(ranges).collect::<Result<_>>()?;
        Ok(Self { ranges, shard: args.shard.unwrap_or(Shard::WHOLE) })
    }

    /// Returns the number of runs of all parts.
    fn len(&self) -> u64 {
        self.ranges.iter().flatten().map(|range| range.end - range.start).sum()
    }

    fn has(&self, study: usize, n: u64) -> bool {
        self.shard.has(n) && self.ranges[study].iter().any(|range| range.contains(&n))
    }

    /// Returns each run, as the number of its study and its own.
    fn all(&self) -> impl Iterator<Item = (usize, u64)> + Send + '_ {
        let runs = |(study, ranges): (usize, &'_ Vec<std::ops::Range<u64>>)| {
            ranges.clone().into_iter().flatten().map(move |n| (study, n))
        };
        let all = self.ranges.iter().enumerate().flat_map(runs);
        all.filter(|(_, n)| self.shard.has(*n))
    }
}

/// Runs on their way, and what became of those before.
struct Work<'a> {
    args: &'a RunArgs,
    studies: &'a [Study],
    rows: Rows,
    sets: &'a Sets,
    studied: Studied,
    /// Digest of the study, number of the run, and its lab file.
    kept: Vec<(String, u64, String)>,
    /// Error of a kept file.
    failed: Option<anyhow::Error>,
}

impl Work<'_> {
    /// Runs `left`, in the virtual world on `jobs` threads.
    fn run(
        &mut self,
        mut left: impl Iterator<Item = (usize, u64)> + Send,
        count: u64,
        jobs: usize,
        stop: &AtomicBool,
    ) -> Result<()> {
        let options = self.sets.options(self.args, stop);
        let (world, studies, sets) = (self.args.world, self.studies, self.sets);
        let show = All::new(count);
        let one = |runner: &mut Runner, (study, n): (usize, u64)| {
            let part = show.part();
            let study: &Study = &studies[study];
            let add = |row: &Row, plan: &LabPlan, run: Run| sets.add(row, plan, &run);
            study.row(n, runner, options, part, add).map(|row| row.map(|(row, ())| row))
        };
        let mut done = |study: usize, row: Row| {
            show.ended();
            // Before the row is added: a row says that its run is complete, files included.
            self.keep(study, &row);
            // Without the file of rows a long run would be lost, so it ends here.
            let goes_on = self.rows.add(&row);
            self.studied.add(row);
            if goes_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        let ran = match world {
            World::Virtual => {
                let work = |run: &(usize, u64)| one(&mut Runner::new(world), *run);
                try_in_order(left, jobs, stop, work, |(study, _), row| done(study, row))
            }
            World::Real => {
                // DPDK starts once in a process.
                let mut runner = Runner::new(world);
                let ended = left.try_for_each(|run| match one(&mut runner, run) {
                    Ok(row) => {
                        let ended = row.is_some_and(|row| done(run.0, row).is_break());
                        match ended || stop.load(Ordering::SeqCst) {
                            true => ControlFlow::Break(Ok(())),
                            false => ControlFlow::Continue(()),
                        }
                    }
                    Err(error) => ControlFlow::Break(Err(error)),
                });
                ended.break_value().unwrap_or(Ok(()))
            }
        };
        show.clear();
        ran.map_err(study_error)
    }

    /// Writes the lab file of a run that failed or is inconclusive.
    fn keep(&mut self, study: usize, row: &Row) {
        let Some(dir) = &self.args.keep else { return };
        if !row.verdict.is_bad() || self.kept.len() >= KEPT_MAX {
            return;
        }
        // Labs of several files may have the same name.
        let lab = if self.studies.len() > 1 { format!("{}-", study + 1) } else { String::new() };
        let plain = |c: char| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '_' };
        // Part of a file's name, which file systems limit to 255 bytes.
        let name: String = row.lab.chars().map(plain).take(100).collect();
        let file = dir.join(format!("{lab}{name}-{}.yaml", row.n));
        let study = &self.studies[study];
        let text = study.lab_file(row.n).map_err(anyhow::Error::from);
        let written = text.and_then(|text| {
            let trace = row.trace_hash.as_deref().unwrap_or("-");
            let head = printable::lines([
                format!("# Run {} of {}: {}", row.n, study.file().name(), study.run(row.n).name()),
                format!("# {}: {}; trace {trace}.", row.verdict, row.failed.join(", ")),
                format!("# `sluice run {}` repeats it.", quoted(&file)),
            ]);
            let text = head + &text;
            Outputs::default().open("--keep", &file)?.write(text.as_bytes())
        });
        match written {
            Ok(()) => self.kept.push((row.study.clone(), row.n, file.display().to_string())),
            // The first error is reported at the end; the runs go on.
            Err(error) => self.failed = self.failed.take().or(Some(error)),
        }
    }
}

/// Interval between lines of progress where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Makes all searches of a lab and prints what was found.
///
/// # Errors
/// An error in the file, or an option that a search does not have.
pub(super) fn run_search(args: &RunArgs, studies: &[Study]) -> Result<ExitCode> {
    let [study] = studies else {
        let what = format!("{} labs; give one with a `search` at a time", studies.len());
        return Err(bad_input(anyhow!(what)));
    };
    let Some(search) = study.searches() else {
        return Err(anyhow!("the lab has no search"));
    };
    refuse_beside_search(args)?;
    study.check_search(search).map_err(bad_input)?;
    let numbers = super::wanted(args, study)?;
    let jobs = jobs_for(args, search.runs_max().saturating_mul(numbers.len() as u64));
    check(args, studies, jobs)?;
    searched(args, study, search, &numbers, jobs)
}

/// Refuses options of runs that are planned before they begin.
fn refuse_beside_search(args: &RunArgs) -> Result<()> {
    for (option, given) in [
        ("--world", args.world != World::Virtual),
        ("--number", args.number.is_some()),
        ("--rows", args.rows.is_some()),
        ("--csv", args.csv.is_some()),
        ("--shard", args.shard.is_some()),
        ("--keep", args.keep.is_some()),
        ("--pcapng", !args.pcapng.is_empty()),
        ("--outcomes", args.outcomes),
    ] {
        if given {
            let what = "does not apply to a lab with a `search`, which chooses its runs by the \
                        results so far, in the virtual world; leave it out";
            return Err(bad_input(anyhow!("{option} {what}")));
        }
    }
    Ok(())
}

fn searched(
    args: &RunArgs,
    study: &Study,
    search: &Search,
    numbers: &[u64],
    jobs: usize,
) -> Result<ExitCode> {
    let mut outputs = Outputs::new();
    args.files.iter().for_each(|file| outputs.input("the lab file", file));
    let page = args.report.as_ref().map(|path| outputs.open("--report", path)).transpose()?;
    let stop = stop_on_signals()?;
    let planned = numbers.len() as u64;
    let most = search.runs_max().saturating_mul(planned);
    let progress = std::sync::Mutex::new(Progress::new(
        "{bar:32} {msg}, {eta} left",
        "",
        Some(most),
        LINE_EVERY,
    ));
    let searched = study.search(search, numbers, jobs, &stop, |ended, runs| {
        let text = format!("{runs} runs, {ended} of {planned} searches");
        // Ended searches count with their most runs, so that the time left is not too long.
        let step = runs.max(ended * search.runs_max());
        let mut progress = progress.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        progress.update(step.min(most), text, |text| text);
    });
    progress.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).clear();
    let searched = searched.map_err(study_error)?;
    if (searched.found.len() as u64) < planned {
        say!("interrupted after {} of {planned} searches", searched.found.len());
    }
    let written = page
        .map(|page| page.write(report::searched_html(&searched, &super::command(args)).as_bytes()));
    match args.format {
        Format::Json => terminal::print_json(&searched)?,
        Format::Table => terminal::print(report::searched_text(&searched))?,
    }
    // After the results are printed, so that a failed page does not lose them.
    written.transpose()?;
    Ok(exit(searched.verdict()))
}
