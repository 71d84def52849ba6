//! `sluice headroom measure`: measures the round trip of a real link and calculates the headroom.

mod args;
mod inputs;
mod show;

use std::process::ExitCode;

use anyhow::{Context, Result};

pub use args::MeasureArgs;

use super::super::{Format, bad_input, exit, stop_on_signals, terminal};
use crate::config::quantity::Span;
use crate::dpdk::{Eal, EalOptions, own_prefix};
use crate::link::Method;
use crate::time::Duration;
use ::measure::Job;
use show::Show;

/// Time from the end of a measurement to the next.
const PERIOD: Duration = Duration::from_secs(1);

/// Measures, or answers the measurements of peers.
///
/// # Errors
/// An invalid argument, or a port that cannot be opened.
pub fn run(args: &MeasureArgs) -> Result<ExitCode> {
    args.machine.apply()?;
    let places = args.places().map_err(bad_input)?;
    // Checked before ports are opened; the rate of a line is known only afterwards.
    args.inputs(None).map_err(bad_input)?;
    let options = EalOptions {
        file_prefix: own_prefix("sluice-headroom"),
        memory: args.machine.memory(),
        ..EalOptions::default()
    };
    let eal = Eal::start(&options.for_devices(places.iter().map(ToString::to_string)))
        .context("starting DPDK")?;
    let opened = ::measure::open(&eal, &places)?;
    let inputs = args.inputs(opened[0].rate).map_err(bad_input)?;
    let stop = stop_on_signals()?;
    let job = Job {
        count: if args.respond { 0 } else { args.count },
        period: args.period.map_or(PERIOD, |Span(time)| time),
        duration: args.duration.map(|Span(time)| time),
    };
    let rounds = match inputs.methods.first() {
        Method::RoundTrip => inputs.measure.rounds,
        Method::PeerDelay => inputs.ptp.rounds,
    };
    let mut show = Show::new(&opened[0].name, job.count.into(), rounds.into());
    let outcome = ::measure::run(&eal, &inputs, job, opened, &stop, |told| show.update(told))?;
    show.clear();
    match args.format {
        Format::Json => terminal::print_json(&outcome)?,
        Format::Table => terminal::print(::measure::text(&outcome))?,
    }
    Ok(exit(outcome.verdict))
}
