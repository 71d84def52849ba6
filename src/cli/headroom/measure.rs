//! `sluice headroom measure`: measures the round trip of a real link and calculates the headroom.

mod args;
mod drive;
mod inputs;
mod open;
mod outcome;
mod show;
mod text;

use std::process::ExitCode;

use anyhow::{Context, Result};

pub use args::MeasureArgs;

use super::super::{Format, bad_input, exit, stop_on_signals, terminal};
use crate::config::quantity::Span;
use crate::dpdk::{Eal, EalOptions, own_prefix};
use crate::link::Method;
use crate::time::Duration;
use drive::{Job, Told};
use inputs::Inputs;
use outcome::Outcome;
use show::Show;

/// Time from the end of a measurement to the next.
const PERIOD: Duration = Duration::from_secs(1);

/// Measures, or answers the measurements of peers.
///
/// # Errors
/// An invalid argument, or a port that cannot be opened.
pub fn run(args: &MeasureArgs) -> Result<ExitCode> {
    args.machine.apply();
    let places = args.places().map_err(bad_input)?;
    // Checked before ports are opened; the rate of a line is known only afterwards.
    Inputs::new(args, None).map_err(bad_input)?;
    let options = EalOptions {
        file_prefix: own_prefix("sluice-headroom"),
        memory: args.machine.memory(),
        ..EalOptions::default()
    };
    let eal = Eal::start(&options.for_devices(places.iter().map(ToString::to_string)))
        .context("starting DPDK")?;
    let opened = open::open(&eal, &places)?;
    let inputs = Inputs::new(args, opened[0].rate).map_err(bad_input)?;
    let stop = stop_on_signals()?;
    let names: Vec<_> = opened.iter().map(|port| port.name.clone()).collect();
    let job = Job {
        count: if args.respond { 0 } else { args.count },
        period: args.period.map_or(PERIOD, |Span(time)| time),
        duration: args.duration.map(|Span(time)| time),
    };
    let rounds = match inputs.method {
        Method::RoundTrip => inputs.measure.rounds,
        Method::PeerDelay => inputs.ptp.rounds,
    };
    let mut show = Show::new(&names[0], job.count.into(), rounds.into());
    let mut outcome = Outcome::new(&inputs, &names, args.respond);
    let ports = opened.into_iter().enumerate();
    let ports = ports.map(|(n, port)| {
        let plan = inputs.plan(args, &port, n == 0);
        (port, plan)
    });
    let (why, ends, disturbance) = drive::drive(&eal, job, ports.collect(), &stop, |told| {
        show.update(&told);
        if let Told::Measured(measured) = told {
            outcome.add(&inputs, &measured);
        }
    })?;
    show.clear();
    let verdict = outcome.end(why, &ends, disturbance, inputs.measure.spacing_max);
    match args.format {
        Format::Json => terminal::print_json(&outcome)?,
        Format::Table => terminal::print(text::text(&outcome))?,
    }
    Ok(exit(verdict))
}
