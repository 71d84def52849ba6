//! `sluice validate --prove`: planted faults, and the tests that find them.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;

use super::ValidateArgs;
use crate::cli::terminal::{self, Progress};
use crate::cli::{Format, exit, stop_on_signals};
use validate::{knobs, prove};

/// Runs the proof and prints it. The exit status is its verdict's.
pub(super) fn run(args: &ValidateArgs) -> Result<ExitCode> {
    let stop = stop_on_signals()?;
    let knobs = knobs::knobs()?;
    let all = prove::parts(&knobs, args.seeds) as u64;
    let every = Duration::from_secs(10);
    let mut progress = Progress::new("{bar:30} {pos}/{len} {eta} {msg}", "proof", Some(all), every);
    let proof = prove::run(&knobs, args.seeds, &stop, |n, name| {
        progress.update(n as u64, name.to_owned(), |name| format!("{n} of {all}: {name}"));
    });
    progress.clear();
    match args.format {
        Format::Json => terminal::print_json(&proof)?,
        Format::Table => terminal::print(prove::table(&proof))?,
    }
    Ok(exit(proof.verdict()))
}
