//! `sluice headroom`: how much a lossless group needs for a link.

mod calc;
mod compare;
mod inputs;
#[cfg(feature = "dpdk")]
mod measure;
mod names;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};

/// Reckon the headroom of a link by the models in use, measure it, and compare them.
#[derive(Args, Clone, Debug)]
pub struct HeadroomArgs {
    #[command(subcommand)]
    command: Command,
}

/// What to do.
#[derive(Subcommand, Clone, Debug)]
enum Command {
    Calc(calc::CalcArgs),
    Compare(compare::CompareArgs),
    #[cfg(feature = "dpdk")]
    Measure(Box<measure::MeasureArgs>),
}

/// Does what the arguments say.
///
/// # Errors
/// What is wrong with an argument.
pub fn run(args: &HeadroomArgs) -> Result<ExitCode> {
    match &args.command {
        Command::Calc(args) => calc::run(args),
        Command::Compare(args) => compare::run(args),
        #[cfg(feature = "dpdk")]
        Command::Measure(args) => measure::run(args),
    }
}
