//! Several runs and the table that compares them.

use std::process::ExitCode;
use std::sync::atomic::Ordering;

use anyhow::Result;

use super::{Job, RunArgs, Show};
use crate::cli::outputs::OutputFile;
use crate::cli::terminal::{self, say};
use crate::cli::{Format, bad_input, exit, stop_on_signals};
use crate::lab::{CheckOutcome, LabPlan, Options, Outcome, Run, Runner, World};
use crate::report::{self, ComparedRun, Comparison, ComparisonPage, RunSeries};
use crate::verdict::Verdict;

/// Runs all jobs in sequence and prints the table.
pub(super) fn run(args: &RunArgs, jobs: &[Job], page: Option<OutputFile>) -> Result<ExitCode> {
    let stop = stop_on_signals()?;
    let options =
        Options { plots: args.report.is_some(), slow_down: args.slow_down, stop: Some(&stop) };
    let (mut runs, mut series) = (Vec::with_capacity(jobs.len()), Vec::new());
    run_all(jobs.iter().map(|job| &job.plan), args.world, options, |run| {
        let plan = &jobs[series.len()].plan;
        let recording = run.recording.as_ref();
        series.push(recording.map(|recording| RunSeries::new(plan, &run.outcome, recording)));
        runs.push(ComparedRun::new(run.outcome, args.outcomes));
    })?;
    let comparison = Comparison::new(args.world.name(), runs, jobs.len());
    let written = page.map(|file| {
        let command = super::command(args);
        let page = ComparisonPage { comparison: &comparison, series: &series, command: &command };
        file.write(report::comparison_html(&page).as_bytes())
    });
    match args.format {
        Format::Json => terminal::print_json(&comparison)?,
        Format::Table => terminal::print(report::comparison_text(&comparison))?,
    }
    // After the results are printed, so that a failed page does not lose them.
    written.transpose()?;
    Ok(exit(comparison.verdict))
}

/// Runs labs in sequence in one world, and passes on each run. Ends with the run that a signal ends.
///
/// # Errors
/// Parts of a lab that the world cannot run, or resources that the machine lacks.
pub(in crate::cli) fn run_all<'a>(
    plans: impl ExactSizeIterator<Item = &'a LabPlan>,
    world: World,
    options: Options<'_>,
    mut ended: impl FnMut(Run),
) -> Result<()> {
    let (mut runner, all) = (Runner::new(world), plans.len());
    for (n, plan) in (1..).zip(plans) {
        let mut show = Show::new(plan, world);
        let run = runner
            .run(plan, options, |p| show.update(p))
            .map_err(|e| if e.is_bad_input() { bad_input(e) } else { e.into() })?;
        show.finish(&run.outcome);
        tell(&run.outcome);
        ended(run);
        if n < all && options.stop.is_some_and(|stop| stop.load(Ordering::SeqCst)) {
            say!("interrupted after {n} of {all} runs");
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
