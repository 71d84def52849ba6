//! Several runs and the table that compares them.

use std::process::ExitCode;
use std::sync::atomic::Ordering;

use anyhow::Result;

use super::{Job, RunArgs, Show};
use crate::cli::outputs::OutputFile;
use crate::cli::terminal::{self, say};
use crate::cli::{Format, bad_input, exit, stop_on_signals};
use crate::lab::{CheckOutcome, LabPlan, Options, Outcome, Run, Runner, World};
use crate::report::{self, ComparedRun, Comparison, ComparisonPage, Depths};
use crate::verdict::Verdict;

/// Runs all jobs in sequence and prints the table.
pub(super) fn run(args: &RunArgs, jobs: &[Job], page: Option<OutputFile>) -> Result<ExitCode> {
    let stop = stop_on_signals()?;
    let options =
        Options { plots: args.report.is_some(), slow_down: args.slow_down, stop: Some(&stop) };
    let (mut runs, mut depths) = (Vec::with_capacity(jobs.len()), Vec::new());
    run_all(jobs.iter().map(|job| &job.plan), args.world, options, |run| {
        depths.push(run.recording.as_ref().and_then(|recording| Depths::new(&recording.looks)));
        runs.push(ComparedRun::new(run.outcome, args.outcomes));
    })?;
    let runs_missing = runs.len() < jobs.len();
    if runs_missing {
        say!("interrupted after {} of {} runs", runs.len(), jobs.len());
    }
    let comparison = Comparison::new(args.world.name(), runs);
    let written = page.map(|file| {
        let command = super::command(args);
        let page = ComparisonPage { comparison: &comparison, depths: &depths, command: &command };
        file.write(report::comparison_html(&page).as_bytes())
    });
    match args.format {
        Format::Json => terminal::print_json(&comparison)?,
        Format::Table => terminal::print(report::comparison_text(&comparison))?,
    }
    // After the results are printed, so that a failed page does not lose them.
    written.transpose()?;
    let interrupted = runs_missing.then_some(Verdict::Inconclusive);
    Ok(exit(Verdict::of_all([comparison.verdict].into_iter().chain(interrupted))))
}

/// Runs labs in sequence in one world, and passes on each run. Ends with the run that a signal ends.
///
/// # Errors
/// Parts of a lab that the world cannot run, or resources that the machine lacks.
pub(in crate::cli) fn run_all<'a>(
    plans: impl Iterator<Item = &'a LabPlan>,
    world: World,
    options: Options<'_>,
    mut ended: impl FnMut(Run),
) -> Result<()> {
    let mut runner = Runner::new(world);
    for plan in plans {
        let mut show = Show::new(plan, world);
        let run = runner
            .run(plan, options, |p| show.update(p))
            .map_err(|e| if e.is_bad_input() { bad_input(e) } else { e.into() })?;
        show.finish(&run.outcome);
        tell(&run.outcome);
        ended(run);
        if options.stop.is_some_and(|stop| stop.load(Ordering::SeqCst)) {
            break;
        }
    }
    Ok(())
}

/// Reports the end of a run.
fn tell(outcome: &Outcome) {
    let is_bad = |check: &&CheckOutcome| check.verdict > Verdict::NotJudged;
    let failed: Vec<_> = outcome.checks.iter().filter(is_bad).map(|c| c.name.as_str()).collect();
    let what = if failed.is_empty() { String::new() } else { format!(": {}", failed.join(", ")) };
    let variant = outcome.variant.as_deref().unwrap_or_default();
    say!("{} {variant}: {}{what}", outcome.lab, outcome.verdict);
}
