//! `sluice swarm`: generates random labs (fuzzing) and runs them with every checker.

use std::borrow::Cow;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration as StdDuration;

use anyhow::{Result, anyhow};
use clap::Args;
use serde::Serialize;

use super::kind::Kind;
use super::outputs::Outputs;
use super::run::Rows;
use super::terminal::{self, Progress, say};
use super::{Format, bad_input, exit, stop_on_signals};
use crate::lab::study::{self, Shard};
use crate::lab::swarm::{self, Defects, Failed, Failure, Shrunk, Summary, Swarm};
use crate::printable;
use crate::verdict::Verdict;
use ::text::{Align, Table, count};

const EXAMPLES: &str = "\
EXAMPLES:
  sluice swarm --count 10000                 ten thousand random labs
  sluice swarm --count 10000 --keep failed   keep failing labs, reduced, as lab files
  sluice swarm --seed 7 --count 1            the one lab of a seed that was reported
  sluice swarm --replay failed/swarm-7.yaml  a lab file, judged as the swarm judges
  sluice swarm --shard 2/4 --rows 2.jsonl    a quarter of the labs, on one of four machines
  sluice swarm --join [1-4].jsonl            the summary of the whole, with the same hash

The same seed and count give the same swarm, whatever the number of jobs. Exit status 0: PASS,
no lab failed. 1: FAIL, one did. 4: INCONCLUSIVE, Ctrl-C ended it before all labs were run.";

/// Time limit for shrinking a failure.
const SHRINKING: StdDuration = StdDuration::from_secs(60);
/// Largest number of failures that are shrunk; the others are only reported.
const SHRUNK_MOST: usize = 8;

/// Generate random labs and run them with every check.
///
/// Topologies, profiles, loads and faults are random; failing labs are reduced and kept as files.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub struct SwarmArgs {
    /// Number of labs.
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    count: u64,
    /// Seed of all labs.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of labs that run at the same time. Default: the number of cores.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// Folder for reduced lab files of failures. Default: none; failures are reported by seed.
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Write a line of JSON for each lab to this file, as the labs end.
    #[arg(long, value_name = "FILE")]
    rows: Option<PathBuf>,
    /// Run only part K of N of the labs, such as 1/4; other machines run the others.
    #[arg(long, value_name = "K/N", requires = "rows")]
    shard: Option<Shard>,
    /// Run nothing: join the rows of all shards, in any order, to the summary of the whole swarm.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    #[arg(conflicts_with_all = ["count", "seed", "jobs", "keep", "rows", "shard", "replay"])]
    join: Vec<PathBuf>,
    /// Run only this lab file, without variants or a sweep, with the swarm's checks.
    #[arg(long, value_name = "LAB", conflicts_with_all = ["count", "seed", "jobs", "rows"])]
    replay: Option<PathBuf>,
    /// Format of the results on standard output.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

/// Results as JSON.
#[derive(Serialize)]
struct Results<'a> {
    verdict: Verdict,
    /// Requested labs; fewer have run if a signal ended the swarm, or of a part.
    count: u64,
    /// Part of the swarm.
    #[serde(skip_serializing_if = "Option::is_none")]
    shard: Option<String>,
    #[serde(flatten)]
    summary: &'a Summary,
    kept: Vec<Kept>,
}

/// A failure that was shrunk.
#[derive(Serialize)]
struct Kept {
    lab: u64,
    file: String,
    check: &'static str,
    detail: String,
}

/// The labs that a command is about.
#[derive(Clone, Copy)]
struct Scope {
    /// Labs of the whole swarm.
    count: u64,
    shard: Shard,
}

impl Scope {
    /// Number of its labs.
    const fn labs(self) -> u64 {
        self.shard.len_of(self.count)
    }
}

/// Runs the swarm and prints its summary. Exit status 1 means that a lab failed.
///
/// # Errors
/// An invalid argument, or a file that cannot be written.
pub fn run(args: &SwarmArgs) -> Result<ExitCode> {
    if let Some(file) = &args.replay {
        return replay(file);
    }
    if !args.join.is_empty() {
        return join(args);
    }
    let scope = Scope { count: args.count, shard: args.shard.unwrap_or(Shard::WHOLE) };
    if let Some(dir) = &args.keep {
        Outputs::folder("--keep", dir)?;
    }
    // Claimed before the first lab: see `outputs`.
    let mut rows = Rows::new(args.rows.as_deref(), &mut Outputs::new())?;
    let jobs = study::jobs(args.jobs);
    let stop = stop_on_signals()?;
    let template = "{bar:32} {pos}/{len} labs, {eta} left{msg}";
    let labs = scope.labs();
    let mut progress = Progress::new(template, "", Some(labs), LINE_EVERY);
    // A panic is a lab's failure and is reported as such.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    let plan = Swarm { count: args.count, seed: args.seed, jobs };
    let summary = swarm::run_part(plan, scope.shard, &stop, |row, done, failed| {
        let failed = if failed > 0 { format!(", {failed} failed") } else { String::new() };
        progress.update(done, failed, |failed| format!("{done} of {labs} labs{failed}"));
        rows.add(row)
    });
    progress.clear();
    // Still silent: shrinking repeats the panics.
    let (kept, written) = keep(args, &summary, &stop);
    std::panic::set_hook(hook);
    let verdict = verdict_of(scope, &summary);
    print(args.format, scope, &summary, verdict, kept)?;
    // After the results are printed, so that a failed file does not lose them.
    written?;
    rows.close()?;
    Ok(exit(verdict))
}

/// Joins shards and prints the summary of the whole swarm.
fn join(args: &SwarmArgs) -> Result<ExitCode> {
    let joined = swarm::join(&args.join).map_err(|error| bad_input(anyhow!("--join: {error}")));
    let (whole, summary) = joined?;
    let scope = Scope { count: whole.count, shard: Shard::WHOLE };
    let verdict = verdict_of(scope, &summary);
    print(args.format, scope, &summary, verdict, Vec::new())?;
    Ok(exit(verdict))
}

/// FAIL if a lab failed; otherwise PASS requires that all requested labs have run.
fn verdict_of(scope: Scope, summary: &Summary) -> Verdict {
    summary.verdict().with_missing(summary.labs < scope.labs())
}

/// Runs one lab file.
fn replay(file: &Path) -> Result<ExitCode> {
    Kind::Lab.expect(file)?;
    let trial = swarm::run_lab(&crate::lab::load_raw(file).map_err(bad_input)?);
    let mut out = terminal::stdout();
    let frames = count(trial.counts.frames);
    match trial.failure() {
        None => {
            let verdict = trial.verdict();
            writeln!(out, "{verdict}: {frames} frames, trace {:016x}", trial.trace_hash)?;
        }
        Some(Failure { check, detail }) => {
            writeln!(out, "{}", printable::line(&format!("FAIL: {check}: {detail}")))?;
            writeln!(out, "{frames} frames, trace {:016x}", trial.trace_hash)?;
        }
    }
    if let Some(end) = defect(&trial.counts.defects) {
        writeln!(out, "without its defect; with it {end}")?;
    }
    Ok(exit(trial.verdict()))
}

/// Describes a lab with its defect; `None` if it has none.
fn defect(Defects { labs, not_compared, harmful, failed, not_judged }: &Defects) -> Option<String> {
    let harm = if *harmful > 0 { "harm is done" } else { "no harm is done" };
    let verdict = match (*failed, *not_judged) {
        (1.., _) => Verdict::Fail,
        (_, 1..) => Verdict::NotJudged,
        _ => Verdict::Pass,
    };
    (*labs > 0).then(|| match *not_compared {
        0 => format!("{harm}, and the checks of a lab give {verdict}"),
        _ => "it was not compared: it does not end by itself, or takes long".into(),
    })
}

/// Shrinks failures and writes them to files, until a signal. A file that cannot be written does
/// not affect the others.
fn keep(args: &SwarmArgs, summary: &Summary, stop: &AtomicBool) -> (Vec<Kept>, Result<()>) {
    let (mut kept, mut written) = (vec![], Ok(()));
    let Some(dir) = &args.keep else { return (kept, written) };
    for failed in summary.failed.iter().take(SHRUNK_MOST) {
        if stop.load(Ordering::SeqCst) {
            break;
        }
        say!("lab {} (seed {}): {}; making it small", failed.lab, failed.seed, failed.check);
        // The seed makes the same lab again, so no lab was kept in memory.
        let Ok(lab) = swarm::draw(failed.seed) else { continue };
        // A check of a joined file has an owned name; only labs of this run are shrunk.
        let Cow::Borrowed(check) = failed.check else { continue };
        let failure = Failure { check, detail: failed.detail.clone() };
        let shrunk = swarm::shrink(&lab, &failure, SHRINKING);
        let file = dir.join(format!("swarm-{}.yaml", failed.seed));
        let open = Outputs::default().open("--keep", &file);
        let put = open.and_then(|open| open.write(text(failed, &shrunk, &file).as_bytes()));
        // The first error is kept, and the other files are tried.
        if put.is_err() {
            written = written.and(put);
            continue;
        }
        let Failure { check, detail } = shrunk.failure;
        kept.push(Kept { lab: failed.lab, file: file.display().to_string(), check, detail });
    }
    (kept, written)
}

/// Lab file of a failure.
fn text(failed: &Failed, shrunk: &Shrunk, file: &Path) -> String {
    let Failure { check, detail } = &shrunk.failure;
    format!(
        "# Found by `sluice swarm --seed {} --count 1`, made small in {} steps.\n\
         # `sluice swarm --replay {}` says:\n\
         # {check}: {}\n{}",
        failed.seed,
        shrunk.tried,
        file.display(),
        detail.replace('\n', "\n# "),
        swarm::as_yaml(&shrunk.lab)
    )
}

fn print(
    format: Format,
    scope: Scope,
    summary: &Summary,
    verdict: Verdict,
    kept: Vec<Kept>,
) -> Result<()> {
    if format == Format::Json {
        let shard = (!scope.shard.is_whole()).then(|| scope.shard.to_string());
        let results = Results { verdict, count: scope.count, shard, summary, kept };
        return terminal::print_json(&results);
    }
    let mut out = terminal::stdout();
    write!(out, "{}", table(summary))?;
    for failed in &summary.failed {
        writeln!(
            out,
            "\nlab {} failed, seed {}: {}\n  {}",
            failed.lab,
            failed.seed,
            failed.check,
            printable::line(&failed.detail)
        )?;
    }
    for kept in kept {
        let (file, detail) = (printable::line(&kept.file), printable::line(&kept.detail));
        writeln!(out, "\nlab {} made small: {file}\n  {}: {detail}", kept.lab, kept.check)?;
    }
    let failed = summary.failed.len() as u64;
    let (labs, all) = (count(summary.labs), count(scope.labs()));
    match verdict {
        Verdict::Inconclusive => {
            writeln!(out, "\n{verdict}: interrupted after {labs} of {all} labs")?
        }
        Verdict::Fail => writeln!(out, "\n{verdict}: {} of {labs} labs", count(failed))?,
        Verdict::Pass | Verdict::NotJudged => writeln!(out, "\n{verdict}: {labs} of {all} labs")?,
    }
    Ok(())
}

fn table(summary: &Summary) -> String {
    let mut table = Table::new([("what", Align::Left), ("how many", Align::Right)]);
    let (totals, faults, defects) = (&summary.totals, &summary.faults, &summary.defects);
    for (name, n) in [
        ("labs", summary.labs),
        ("labs that failed", summary.failed.len() as u64),
        ("lossless drops without an excuse", summary.lossless_drops),
    ] {
        table.row([name.to_owned(), count(n)]);
    }
    for (cause, n) in &summary.excused_drops {
        let whose = if cause.is_planned() { "planned fault" } else { "no fault" };
        table.row([format!("excused: {} ({whose})", cause.name()), count(*n)]);
    }
    for (name, n) in [
        ("frames", summary.frames),
        ("pauses sent", totals.pauses),
        ("resumptions sent", totals.resumptions),
        ("frames marked", totals.marks),
        ("frames dropped, lossy ones too", totals.drops),
        ("frames lost on lines", totals.line_losses),
        ("deadlocks, in circles", summary.deadlocks),
        ("stood still or starved, not judged", summary.stood_still),
        ("labs judged for marks before pauses", summary.judged_for_marks),
        ("labs judged for equal shares", summary.judged_for_shares),
        ("storms that watchdogs found", totals.watchdog_storms),
        ("faults: links down", faults.flaps),
        ("faults: pauses to be lost", faults.lost_pauses),
        ("faults: frames to be lost", faults.lost_frames),
        ("faults: lines with errors", faults.errors),
        ("faults: nodes standing still", faults.stalls),
        ("faults: hosts that storm", faults.storms),
        ("faults: frames forged or repeated", faults.forgeries),
        ("faults: groups and curves changed", faults.changes),
        ("labs with a defect", defects.labs),
        ("defects not compared", defects.not_compared),
        ("defects that did harm", defects.harmful),
        ("defects with verdict FAIL", defects.failed),
        ("defects not judged", defects.not_judged),
    ] {
        table.row([name.to_owned(), count(n)]);
    }
    let slowest = summary.slowest.map_or_else(String::new, |slowest| {
        format!("; lab {} took longest, {:.0} ms", slowest.lab, slowest.milliseconds)
    });
    let (seed, seconds) = (summary.seed, summary.seconds);
    // The trace of a swarm needs all of its labs.
    let trace = match &summary.trace_hash {
        Some(hash) => format!("trace {hash}, "),
        None => "a part: --join has the trace; ".into(),
    };
    format!("{table}\nseed {seed}, {trace}{seconds:.1} s{slowest}\n")
}

/// Period of progress lines without a terminal.
const LINE_EVERY: StdDuration = StdDuration::from_secs(5);
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_a_line_for_each_excuse_and_says_whose_fault_it_is() {
        let mut summary = swarm::run(Swarm { count: 0, seed: 1, jobs: 1 }, |_, _| true);
        for (n, drops) in (11..).zip(summary.excused_drops.values_mut()) {
            *drops = n;
        }
        let text = table(&summary);
        for (n, (cause, whose)) in (11..).zip([
            ("lost pause", "planned fault"),
            ("link down", "planned fault"),
            ("stall", "planned fault"),
            ("forged pause", "planned fault"),
            ("forged frame", "planned fault"),
            ("busy processor", "no fault"),
            ("watchdog of the peer", "no fault"),
        ]) {
            let line = format!("excused: {cause} ({whose})");
            let found =
                text.lines().find(|l| l.starts_with(&line)).unwrap_or_else(|| panic!("{text}"));
            assert!(found.trim_end().ends_with(&n.to_string()), "{found}");
        }
    }
}
