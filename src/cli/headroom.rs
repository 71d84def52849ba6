//! `sluice headroom`: the headroom of a lossless group for a link.

mod calc;
mod compare;
mod identify;
mod inputs;
#[cfg(all(feature = "dpdk", feature = "instruments"))]
mod measure;
#[cfg(all(feature = "dpdk", feature = "instruments"))]
mod measure_args;
mod options;
mod reach;
mod sensitivity;

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

pub use calc::calculate;

/// Calculate or measure the headroom of a link.
///
/// Several models, side by side or one by its terms, a measurement over ports, the longest cable for a
/// headroom, and the effect of errors.
#[derive(Subcommand, Clone, Debug)]
pub enum Command {
    Calc(calc::CalcArgs),
    Compare(compare::CompareArgs),
    Reach(reach::ReachArgs),
    Sensitivity(sensitivity::SensitivityArgs),
    Identify(identify::IdentifyArgs),
    #[cfg(all(feature = "dpdk", feature = "instruments"))]
    Measure(Box<measure_args::MeasureArgs>),
}

/// Runs the subcommand.
///
/// # Errors
/// An invalid argument.
pub fn run(command: &Command) -> Result<ExitCode> {
    match command {
        Command::Calc(args) => calc::run(args),
        Command::Compare(args) => compare::run(args),
        Command::Reach(args) => reach::run(args),
        Command::Sensitivity(args) => sensitivity::run(args),
        Command::Identify(args) => identify::run(args),
        #[cfg(all(feature = "dpdk", feature = "instruments"))]
        Command::Measure(args) => measure::run(args),
    }
}
