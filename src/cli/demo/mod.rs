//! `sluice demo`: shows the effect of PFC on real frames, on any machine.
//!
//! Several hosts send to one, more than its link carries, first without PFC and then with it.
//! Everything runs in this process: links are rings in memory, so it needs no NIC, no hugepages and
//! no root. Frames are real, and so is time (see `runtime::Leash` for the time that is excluded).

mod lab;
mod outcome;
mod plan;
#[cfg(test)]
mod tests;
mod text;

use std::io::IsTerminal;
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};

use super::machine::MachineArgs;
use super::terminal::{self, say};
use super::{Format, exit, inconclusive, stop_on_signals};
use crate::config::quantity::LinkRate;
use crate::dpdk::{Eal, EalOptions, Memory, own_prefix};
use crate::runtime::Cores;
use crate::time::Duration;
use crate::units::BitsPerSec;
use ::text::{count, scaled};
use lab::{Ended, Progress};
use outcome::Outcome;
use plan::Setup;

/// Shows the effect of PFC on an overload, without a NIC.
#[derive(Args, Clone, Debug)]
pub struct DemoArgs {
    /// Number of hosts that send to one receiver.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(2..=7))]
    senders: u16,
    /// Rate of every link in bit/s, such as 1G or 400M.
    #[arg(long, default_value = "1G", value_parser = rate)]
    rate: BitsPerSec,
    /// Bytes per frame, FCS included.
    #[arg(long, default_value_t = 1024, value_parser = clap::value_parser!(u32).range(74..=9216))]
    size: u32,
    /// Sending time in each of the two runs, in seconds.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=3600))]
    seconds: u64,
    /// Format of the result on standard output.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    #[command(flatten)]
    machine: MachineArgs,
}

impl DemoArgs {
    const fn setup(&self) -> Setup {
        Setup {
            senders: self.senders,
            rate: self.rate,
            size: self.size,
            send_for: Duration::from_secs(self.seconds),
        }
    }
}

/// Runs the demo and prints its result. Exit status 1 means that an expected effect was missing, 4
/// that it was interrupted or that the machine was too busy.
///
/// # Errors
/// DPDK does not start, memory is short, or the machine is too busy to finish the first run.
pub fn run(args: &DemoArgs) -> Result<ExitCode> {
    args.machine.apply()?;
    // Before DPDK starts, which takes a while: from here on a signal ends the demo in order.
    let stop = stop_on_signals()?;
    let setup = args.setup();
    let cores = Cores::find(2);
    let options = EalOptions {
        memory: Memory::NoHuge,
        file_prefix: own_prefix("sluice-demo"),
        ..EalOptions::default()
    };
    let eal = Eal::start(&options).context("starting DPDK in memory")?;
    let pool = lab::pool(&eal, &setup)?;
    let run = |pfc| {
        let mut show = Show::new(&setup, pfc);
        lab::run(&eal, &pool, &setup, pfc, (&cores, &stop), |progress| show.update(progress))
    };
    let off = match run(false)? {
        Ended::Whole(off) => off,
        Ended::Starved(by) => return Err(inconclusive(anyhow!("{by}, so the demo ended"))),
    };
    let on = if off.interrupted { None } else { Some(run(true)?) };
    let outcome = Outcome::new(&setup, cores.shared(), &off, on.as_ref());
    match args.format {
        Format::Json => terminal::print_json(&outcome)?,
        Format::Table => terminal::print(text::text(&outcome, &program()))?,
    }
    Ok(exit(outcome.verdict))
}

/// Name by which this program was called.
fn program() -> String {
    std::env::args().next().unwrap_or_else(|| "sluice".into())
}

/// Parses the rate of a link.
fn rate(text: &str) -> Result<BitsPerSec, String> {
    let LinkRate(rate) = text.parse()?;
    match rate.get() {
        // At a higher rate a CPU is too slow for the frames, and there would be no overload.
        1_000_000..=100_000_000_000 => Ok(rate),
        _ => Err(format!("{text} is not from 1M to 100G")),
    }
}

/// Progress of one run: a bar on a terminal, otherwise a line every second.
struct Show {
    label: &'static str,
    bar: Option<ProgressBar>,
    length: Duration,
    next_line: Duration,
}

impl Show {
    fn new(setup: &Setup, pfc: bool) -> Self {
        let label = if pfc { "PFC on" } else { "PFC off" };
        let length = setup.send_for;
        let bar = std::io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{prefix} [{bar:32}] {msg}");
            let style = style.expect("the template is well formed").progress_chars("=> ");
            let bar = ProgressBar::new(length.as_nanos()).with_style(style);
            bar.with_prefix(label)
        });
        if bar.is_none() {
            say!("{label} starts, {} links", scaled(setup.rate.get() as f64, "b/s"));
        }
        Self { label, bar, length, next_line: Duration::from_secs(1) }
    }

    fn update(&mut self, p: Progress) {
        let done = p.elapsed.min(self.length);
        let text = format!("{} frames sent, {} delivered", count(p.sent), count(p.received));
        if let Some(bar) = &self.bar {
            bar.set_position(done.as_nanos());
            bar.set_message(text);
        } else if p.elapsed >= self.next_line {
            say!("{} {:.1} s: {text}", self.label, done.as_secs_f64());
            self.next_line += Duration::from_secs(1);
        }
    }
}

impl Drop for Show {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish();
        }
    }
}
