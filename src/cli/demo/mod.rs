//! `sluice demo`: shows the effect of PFC on real frames, on any machine.
//!
//! Several hosts send to one, more than its link carries, first without PFC and then with it: the two
//! variants of a lab, in the real world. Links are rings in memory, so it needs no NIC, no hugepages and
//! no root. Frames are real, and so is time (see `runtime::Leash` for the time that is excluded).

mod lab;
mod text;

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use super::machine::MachineArgs;
use super::run::run_all;
use super::{Format, bad_input, exit, stop_on_signals, terminal};
use crate::config::quantity::LinkRate;
use crate::lab::{Options, World};
use crate::report::{ComparedRun, Comparison};
use crate::units::BitsPerSec;

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

/// Runs the demo and prints its result. Exit status 1 means that an expected effect was missing, 4
/// that it was interrupted or that the machine was too busy.
///
/// # Errors
/// DPDK does not start, memory is short, or the demo's time does not go on.
pub fn run(args: &DemoArgs) -> Result<ExitCode> {
    args.machine.apply()?;
    // Before DPDK starts, which takes a while: from here on a signal ends the demo in order.
    let stop = stop_on_signals()?;
    let plans = lab::plans(args).map_err(bad_input)?;
    // Real time: a machine that is too slow for it has more time excluded.
    let options = Options { slow_down: Some(1), stop: Some(&stop), ..Options::default() };
    let mut runs = Vec::new();
    run_all(plans.iter(), World::Real, options, |run| {
        runs.push(ComparedRun::new(run.outcome, true))
    })?;
    let comparison = Comparison::new(World::Real.name(), runs, plans.len());
    match args.format {
        Format::Json => terminal::print_json(&comparison)?,
        Format::Table => terminal::print(text::text(args, &comparison, &program()))?,
    }
    Ok(exit(comparison.verdict))
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
