//! Several runs and the table that compares them.

use std::ops::ControlFlow;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Instant as Wall;

use anyhow::Result;

use super::show::All;
use super::{Files, Job, RunArgs, Show, jobs_for, run_error};
use crate::cli::terminal::{self, say};
use crate::cli::{Format, exit, stop_on_signals};
use crate::lab::study::try_in_order;
use crate::lab::{LabPlan, Options, Outcome, Run, Runner, World};
use crate::report::{self, ComparedRun, Comparison, ComparisonPage, RunSeries};

/// Runs all jobs, in the virtual world at the same time, and prints the table.
pub(super) fn run(
    args: &RunArgs,
    jobs: &[Job<'_>],
    Files { page, mut rows, sets }: Files,
) -> Result<ExitCode> {
    let stop = stop_on_signals()?;
    let options = sets.options(args, &stop);
    let (mut runs, mut series) = (Vec::with_capacity(jobs.len()), Vec::new());
    let mut ended = |job: &Job<'_>, run: Run, begun: Wall| {
        if !run.outcome.interrupted {
            let row = job.row(&run, begun);
            rows.add(&row);
            sets.add(&row, &job.resolved.plan, &run);
        }
        let (plan, recording) = (&job.resolved.plan, run.recording.as_ref());
        series.push(recording.map(|recording| RunSeries::new(plan, &run.outcome, recording)));
        runs.push(ComparedRun::new(run.outcome, args.outcomes));
    };
    match args.world {
        World::Real => {
            let mut jobs = jobs.iter();
            let plans = jobs.clone().map(|job| &job.resolved.plan);
            let mut begun = Wall::now();
            // One after the other: the clocks of the real world would disturb each other.
            run_all(plans, args.world, options, |run| {
                ended(jobs.next().expect("a run has its job"), run, begun);
                begun = Wall::now();
            })?;
        }
        World::Virtual => run_together(args, jobs, options, ended)?,
    }
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
    // After the results are printed, so that a failed file does not lose them.
    written.transpose()?;
    rows.close()?;
    sets.close()?;
    Ok(exit(comparison.verdict))
}

/// Runs labs in the virtual world at the same time, and passes on each run, in their order, with the time
/// at which it began.
fn run_together<'a>(
    args: &RunArgs,
    jobs: &'a [Job<'a>],
    options: Options<'_>,
    mut ended: impl FnMut(&Job<'a>, Run, Wall),
) -> Result<()> {
    let (all, show) = (jobs.len(), All::new(jobs.len() as u64));
    let work = |job: &&Job<'_>| {
        let begun = Wall::now();
        let run = Runner::new(World::Virtual).run(&job.resolved.plan, options, show.part());
        // The time is taken here: results are passed on in order, perhaps long after their end.
        run.map(|run| Some((run, begun, begun.elapsed())))
    };
    let stop = options.stop.expect("signals stop the runs");
    let (threads, mut n) = (jobs_for(args, all as u64), 0);
    let ran = try_in_order(jobs.iter(), threads, stop, work, |job, (run, begun, took)| {
        n += 1;
        show.ended();
        show.report(&job.resolved.plan, args.world, &run.outcome, took);
        show.over(|| print_verdict(&run.outcome));
        ended(job, run, begun);
        ControlFlow::Continue(())
    });
    show.clear();
    ran.map_err(run_error)?;
    if n < all {
        say!("interrupted after {n} of {all} runs");
    }
    Ok(())
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
        let run = runner.run(plan, options, |p| show.update(p)).map_err(run_error)?;
        show.finish(&run.outcome);
        print_verdict(&run.outcome);
        ended(run);
        // Not after the last run, which is complete.
        if n < all && options.stop.is_some_and(|stop| stop.load(Ordering::SeqCst)) {
            say!("interrupted after {n} of {all} runs");
            break;
        }
    }
    Ok(())
}

/// Reports the end of a run.
fn print_verdict(outcome: &Outcome) {
    let failed: Vec<_> = outcome.failed().map(|check| check.name.as_str()).collect();
    let what = if failed.is_empty() { String::new() } else { format!(": {}", failed.join(", ")) };
    let variant = outcome.variant.as_deref().unwrap_or_default();
    say!("{} {variant}: {}{what}", outcome.lab, outcome.verdict);
}
