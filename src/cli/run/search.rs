//! `sluice run` of a lab with a `search`: finds the value of each run of the study.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, anyhow};

use super::{RunArgs, jobs_for, memory};
use crate::cli::outputs::Outputs;
use crate::cli::terminal::{self, Progress, say};
use crate::cli::{Format, bad_input, exit, stop_on_signals};
use crate::lab::study::{Search, Study, StudyError};
use crate::lab::{self, World};
use crate::report;

/// Interval between lines of progress where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Makes all searches of a lab and prints what was found.
///
/// # Errors
/// An error in the file, or an option that a search does not have.
pub(super) fn run(args: &RunArgs, studies: &[Study]) -> Result<ExitCode> {
    let [study] = studies else {
        let what = format!("{} labs; give one with a `search` at a time", studies.len());
        return Err(bad_input(anyhow!(what)));
    };
    let Some(search) = study.searches() else {
        return Err(anyhow!("the lab has no search"));
    };
    refuse(args)?;
    study.check_search(search).map_err(bad_input)?;
    let numbers = super::wanted(args, study)?;
    let jobs = jobs_for(args, search.runs_max().saturating_mul(numbers.len() as u64));
    let memory = memory(args, jobs);
    let name = study.file().name();
    let fits = |resolved: &lab::Resolved| lab::refuse_memory(name, &resolved.plan, memory);
    let (_, warnings) = study.check(study.len().min(512), jobs, fits).map_err(bad_input)?;
    warnings.iter().for_each(|warning| say!("warning: {}", warning.line(name)));
    searched(args, (study, search), &numbers, jobs)
}

/// Refuses options of runs that are planned before they begin.
fn refuse(args: &RunArgs) -> Result<()> {
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
    (study, search): (&Study, &Search),
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
    let searched = searched.map_err(|error| match error {
        StudyError::Config(error) => bad_input(error),
        other if other.is_bad_input() => bad_input(other),
        other => other.into(),
    })?;
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
