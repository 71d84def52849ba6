//! Measurement of a link over real ports, by round trips or by PTP's peer delay, and the headroom that
//! follows from it.
//!
//! A command opens the ports with [`open()`] and calls [`run`]. With a job that measures, the first port measures and
//! every other port only responds; without one, all ports respond. The [`Outcome`] has the verdict, and
//! [`text()`] shows it. [`selftest`] tries what Sluice needs of a port.
#![cfg(feature = "dpdk")]

mod drive;
mod inputs;
mod outcome;
pub mod selftest;
mod text;

use std::sync::atomic::AtomicBool;

use anyhow::Result;
use dpdk::Eal;

pub use drive::{Event, Job};
pub use inputs::{Inputs, Opened, RateFrom, open};
pub use outcome::Outcome;
pub use text::text;

/// Measures at the first of `ports`, or answers the measurements of peers, until the job is done or
/// `stop` is set. Reports events.
///
/// # Errors
/// A thread that cannot be registered with DPDK, or that panicked.
pub fn run(
    eal: &Eal,
    inputs: &Inputs,
    job: Job,
    ports: Vec<Opened>,
    stop: &AtomicBool,
    mut tell: impl FnMut(&Event),
) -> Result<Outcome> {
    let names: Vec<_> = ports.iter().map(|port| port.name.clone()).collect();
    let answers = job.count == 0;
    let mut outcome = Outcome::new(inputs, &names, answers);
    let planned = ports.into_iter().enumerate().map(|(n, port)| {
        let plan = inputs.plan(&port, n == 0 && !answers);
        (port, plan)
    });
    let (why, ends, disturbance) = drive::drive(eal, job, planned.collect(), stop, |event| {
        tell(&event);
        match event {
            Event::Measured(measured) => outcome.add(inputs, &measured),
            Event::Switched { from, to, why } => outcome.switch(from, to, why),
            Event::Progress { .. } => {}
        }
    })?;
    outcome.end(why, &ends, disturbance, inputs.measure.spacing_max);
    Ok(outcome)
}
