//! `sluice run` of a lab with a `search`: finds the value of each run of the study.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, anyhow};

use super::RunArgs;
use crate::cli::terminal::{self, Progress, say};
use crate::cli::{Format, bad_input, exit, stop_on_signals};
use crate::lab::World;
use crate::lab::study::{Search, Study, StudyError};
use crate::report;

/// Interval between lines of progress where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Makes all searches of a lab and prints what was found.
///
/// # Errors
/// An error in the file, or an option that a search does not have.
pub(super) fn run(args: &RunArgs, study: &Study, search: &Search, jobs: usize) -> Result<ExitCode> {
    if args.world != World::Virtual {
        let what = "--world: a search runs in the virtual world only; leave it out";
        return Err(bad_input(anyhow!(what)));
    }
    study.check_search(search).map_err(bad_input)?;
    let stop = stop_on_signals()?;
    let planned = study.len();
    let most = search.runs_max().saturating_mul(planned);
    let progress = std::sync::Mutex::new(Progress::new(
        "{bar:32} {msg}, {eta} left",
        "",
        Some(most),
        LINE_EVERY,
    ));
    let searched = study.search(search, jobs, &stop, |ended, runs| {
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
    match args.format {
        Format::Json => terminal::print_json(&searched)?,
        Format::Table => terminal::print(report::searched_text(&searched))?,
    }
    Ok(exit(searched.verdict()))
}
