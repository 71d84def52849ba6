//! `sluice ctl measurements` and `sluice ctl watch`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};

use super::super::outputs::has_folder;
use super::super::{Format, bad_input, stop_on_signals, terminal, verdict};
use super::{OTHER_VERSION, answer};
use crate::config::quantity::Span;
use crate::report::{self, Measurements, Notifications};
use daemon::messages::Request;

/// Period at which a switch is asked for notifications.
const ASK_EVERY: Duration = Duration::from_millis(100);

/// Arguments of `sluice ctl measurements`.
#[derive(clap::Args, Debug)]
pub(super) struct MeasurementsArgs {
    /// Port name or number (from 0). Default: all ports.
    port: Option<String>,
    /// Write the distribution of all delays in HdrHistogram's text form.
    #[arg(long, value_name = "FILE", requires = "port")]
    hgrm: Option<PathBuf>,
}

/// Arguments of `sluice ctl watch`.
#[derive(clap::Args, Debug)]
pub(super) struct WatchArgs {
    /// Show those that the switch keeps from before, too.
    #[arg(long)]
    all: bool,
    /// End after this many notifications. Default: never.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// End after this time, such as 10s. Default: never.
    #[arg(long, value_name = "TIME")]
    duration: Option<Span>,
}

impl MeasurementsArgs {
    /// Returns the file for the distribution.
    pub(super) fn file(&self) -> Option<PathBuf> {
        self.hgrm.clone()
    }

    pub(super) fn request(self) -> Request {
        Request::Measurements { port: self.port, samples: self.hgrm.is_some() }
    }
}

/// Prints measurements, and writes their distribution to `hgrm`.
pub(super) fn show(found: &Measurements, hgrm: Option<&Path>, format: Format) -> Result<()> {
    if let Some(path) = hgrm {
        let text = report::measurements_hgrm(found);
        let text = text
            .ok_or_else(|| bad_input(anyhow!("--hgrm: no single delays of this port are known")))?;
        has_folder(path).context("--hgrm").map_err(bad_input)?;
        std::fs::write(path, text)
            .map_err(|why| bad_input(anyhow!("--hgrm: {}: {why}", path.display())))?;
    }
    match format {
        Format::Table => terminal::print(report::measurements_text(found)),
        Format::Json => terminal::print_json(found),
    }
}

/// Prints notifications until the end that the arguments name.
pub(super) fn watch(path: &Path, args: &WatchArgs, format: Format) -> Result<ExitCode> {
    let stop = stop_on_signals()?;
    let (start, mut left) = (Instant::now(), args.count);
    let end = args.duration.map(|Span(time)| Duration::from_nanos(time.as_nanos()));
    let ask = |after| -> Result<Notifications> {
        let result = answer(&Request::Notifications { after }, path)?;
        serde_json::from_value(result).context(OTHER_VERSION)
    };
    // Nothing is after the largest number, so the answer has the last one alone.
    let mut after = if args.all { 0 } else { ask(u64::MAX)?.last };
    loop {
        let found = ask(after)?;
        // The switch keeps a limited number, and a client may have been too slow.
        if found.lost > 0 {
            terminal::say!("{} notifications are lost: the switch keeps no more", found.lost);
        }
        after = found.last;
        for one in found.notifications {
            match format {
                Format::Table => terminal::print(one.line())?,
                Format::Json => terminal::print(serde_json::to_string(&one)? + "\n")?,
            }
            left = left.map(|left| left.saturating_sub(1));
            if left == Some(0) {
                return Ok(verdict(true));
            }
        }
        let is_over = end.is_some_and(|end| start.elapsed() >= end);
        if is_over || stop.load(std::sync::atomic::Ordering::SeqCst) {
            return Ok(verdict(true));
        }
        // After the end is checked: a short duration is not lengthened by a wait.
        thread::sleep(ASK_EVERY);
    }
}
