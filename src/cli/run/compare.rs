//! Several runs and the table that compares them.

use std::fs;
use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};

use super::{Job, RunArgs, Show};
use crate::cli::{Format, bad_input, exit};
use crate::lab::{self, CheckOutcome, Options, Outcome};
use crate::report::{self, ComparedRun, Comparison, ComparisonPage, Depths};
use crate::verdict::Verdict;

/// Runs all of them, one after the other, and prints the table.
pub(super) fn run(args: &RunArgs, jobs: &[Job]) -> Result<ExitCode> {
    if !args.pcapng.is_empty() {
        let what = anyhow!("--pcapng: one lab has the link, and there are {} runs", jobs.len());
        return Err(bad_input(what.context("choose one with --variant")));
    }
    let options = Options { plots: args.report.is_some(), slow_down: args.slow_down };
    let (mut runs, mut depths) = (Vec::with_capacity(jobs.len()), Vec::new());
    for Job { plan, .. } in jobs {
        let mut show = Show::new(plan, args.world);
        let run = lab::run(plan, args.world, options, |p| show.update(p))
            .map_err(|e| if e.is_bad_input() { bad_input(e) } else { e.into() })?;
        show.finish(&run.outcome);
        say(&run.outcome);
        depths.push(run.recording.as_ref().and_then(|recording| Depths::new(&recording.looks)));
        runs.push(ComparedRun::new(run.outcome, args.outcomes));
    }
    let comparison = Comparison::new(args.world.name(), runs);
    if let Some(path) = &args.report {
        let command = super::command(args);
        let page = ComparisonPage { comparison: &comparison, depths: &depths, command: &command };
        fs::write(path, report::comparison_html(&page))
            .with_context(|| format!("writing {}", path.display()))
            .map_err(bad_input)?;
    }
    let mut out = std::io::stdout().lock();
    match args.format {
        Format::Json => writeln!(out, "{}", serde_json::to_string_pretty(&comparison)?)?,
        Format::Table => write!(out, "{}", report::comparison_text(&comparison))?,
    }
    Ok(exit(comparison.verdict))
}

/// Says how a run ended.
fn say(outcome: &Outcome) {
    let is_bad = |check: &&CheckOutcome| check.verdict > Verdict::NotJudged;
    let failed: Vec<_> = outcome.checks.iter().filter(is_bad).map(|c| c.name.as_str()).collect();
    let what = if failed.is_empty() { String::new() } else { format!(": {}", failed.join(", ")) };
    let variant = outcome.variant.as_deref().unwrap_or_default();
    eprintln!("{} {variant}: {}{what}", outcome.lab, outcome.verdict);
}
