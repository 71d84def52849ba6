//! The real world: the same switches and hosts on DPDK ring devices inside one process, with real
//! frames and real time.
//!
//! - **A ring is a link** without length, rate and errors. Ports are shaped to their links' rates,
//!   so that a network of rings carries the same traffic as the network of the lab.
//! - **Few threads poll many nodes.** Every thread polls its nodes in turn, all of them at the same
//!   time of its clock, whose distance from the other threads' clocks is bounded by a
//!   [leash](runtime::Leash). A preempted thread stops the time of all, so preemption causes
//!   no lossless loss that a link would not have caused.
//! - **Slow motion** if the lab is faster than the machine: the lab's time, with every rate and
//!   every delay, runs slower than real time by a constant factor. Nodes are not affected, and
//!   results are in the lab's time.
//! - **Shortfalls are reported**: a [`Shortfall`] names a part of the lab that rings do not
//!   support, and its replacement. No part is ignored silently.
//!
//! Results that depend on the order of frames and not on picoseconds must agree with the virtual
//! world: deliveries, drops, and the order of pauses.

mod collect;
mod drive;
mod error;
mod fit;
mod judge;
mod judged;
mod load;
mod log;
mod node;
mod outcome;
mod poller;
mod rig;
mod rings;
mod shortfall;
mod tap;
mod watch;

use std::time::Instant as StdInstant;

pub use collect::RealRun;
pub use error::RealError;
pub use fit::Fit;
pub use log::PAUSE_OCTETS;
pub use log::{Event, Happening, crossings};
pub use node::Snapshot;
pub use node::until_quiet;
pub use shortfall::Shortfall;

use super::plan::LabPlan;
use super::record::{Looks, MOMENTS_MAX};
use super::threads::Threads;
use super::virtual_run::{Options, Progress, Recording, Run, Tell};
use collect::{Ran, collect};
use dpdk::{Eal, EalOptions, Memory, own_prefix};
use drive::drive;
use poller::Shared;
use runtime::{Cores, Leash};

/// Options of a run on rings.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RealOptions {
    /// Factor by which time is slowed down, 1 for real time. Default: as the lab's frame rates
    /// require.
    pub slow_down: Option<u64>,
    /// Number of polling threads. Default: one for each CPU that the process may use, at most one
    /// for each node.
    pub threads: Option<usize>,
}

/// DPDK options for labs: ordinary memory, no device, no root.
#[must_use]
pub fn eal_options() -> EalOptions {
    let file_prefix = own_prefix("sluice-lab");
    EalOptions { memory: Memory::NoHuge, file_prefix, ..EalOptions::default() }
}

/// Runs a lab on rings. `progress` is called from time to time.
///
/// # Errors
/// Parts of the lab that make it impossible to run on rings, or resources that the machine lacks.
pub fn run(
    eal: &Eal,
    plan: &LabPlan,
    options: RealOptions,
    mut progress: impl FnMut(Progress),
) -> Result<RealRun, RealError> {
    run_until(eal, plan, options, &|| false, &mut progress)
}

/// Does the same, and ends the run early once `stopped` returns true.
fn run_until(
    eal: &Eal,
    plan: &LabPlan,
    options: RealOptions,
    stopped: &dyn Fn() -> bool,
    progress: Tell<'_>,
) -> Result<RealRun, RealError> {
    let mut fit = Fit::new(plan)?;
    let nodes = fit.plan.network.nodes.len();
    let threads = options.threads.unwrap_or_else(Cores::available).clamp(1, nodes.max(1));
    let slow_down = options.slow_down.unwrap_or_else(|| fit.load.slow_down(threads)).max(1);
    fit.slowed_down(slow_down, threads);
    let pollers = rig::rig(eal, &fit, threads)?;
    let leash = Leash::new(threads, fit.rings.span);
    let leash = leash.with_step(fit.rings.step).slowed_down(slow_down);
    let shared = Shared::new(leash, threads);
    let started = StdInstant::now();
    let (ends, starved) = drive(eal, pollers, &shared, &fit.plan, stopped, progress)?;
    let (frames, polls) = shared.work();
    let ran = Ran { slow_down, threads, wall: started.elapsed(), frames, polls, starved };
    Ok(collect(fit, ends, ran))
}

/// Runs a lab on the DPDK that is there, or starts it.
pub(super) fn run_with(
    eal: &mut Option<Eal>,
    plan: &LabPlan,
    options: Options<'_>,
    progress: Tell<'_>,
) -> Result<Run, RealError> {
    // Fitted before DPDK starts, so that errors of the lab are reported first.
    Fit::new(plan)?;
    let eal = match eal {
        Some(eal) => eal,
        None => eal.insert(Eal::start(&eal_options())?),
    };
    let real = RealOptions { slow_down: options.slow_down, threads: None };
    let run = run_until(eal, plan, real, &|| options.stopped(), progress)?;
    let mut outcome = run.outcome();
    if options.plots {
        let instead = "queues and rates are not sampled, so there are no plots of them";
        outcome.shortfalls.push(Shortfall::new("--report", instead).to_string());
    }
    let looks = Looks::new(&run.plan, MOMENTS_MAX);
    let (messages, completions) = (run.messages(), run.completions());
    let recording =
        options.plots.then_some(Recording { events: run.noted.recorder, looks, completions });
    Ok(Run { outcome, findings: Vec::new(), threads: Threads::default(), recording, messages })
}
