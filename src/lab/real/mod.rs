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
#[cfg(test)]
mod tests;
mod watch;

use std::collections::BTreeMap;
use std::time::Instant as StdInstant;

pub use log::PAUSE_OCTETS;
pub use log::{Event, Happening, crossings};
pub use node::Snapshot;
pub use shortfall::Shortfall;

use super::plan::LabPlan;
use super::population::NodeAgents;
use super::record::{Looks, MOMENTS_MAX};
use super::virtual_run::{Options, Progress, Recording, Run};
use collect::{Noted, Ran, collect};
use dpdk::{Eal, EalOptions, Memory, own_prefix};
use drive::{PATIENCE, drive};
use fit::Fit;
use ground::time::{Duration, Instant, Total};
use host::{FlowId, PlanError};
use judged::Judged;
use poller::Shared;
use runtime::{Cores, Leash};
use sim::NetworkError;
use switch::{ChangeError, SwitchError};

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

/// Reason why a lab cannot be run on rings.
#[derive(Debug, thiserror::Error)]
pub enum RealError {
    /// The network plan contradicts itself.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// A switch's plan contradicts itself.
    #[error(transparent)]
    Switch(#[from] SwitchError),
    /// A host's plan contradicts itself.
    #[error(transparent)]
    Host(#[from] PlanError),
    /// The lab has more links than DPDK has ports.
    #[error(
        "links: the lab has {links} and DPDK has ports for {most} in a process; try fewer, or \
         `--world virtual`"
    )]
    Links {
        /// Number of links of the lab.
        links: usize,
        /// Maximum.
        most: usize,
    },
    /// The headroom that rings need exceeds the cells that a buffer can count.
    #[error(
        "profiles.buffer.cell: the buffer of {node}, with the headroom that rings need, has more \
         cells than 32 bits can count; take larger cells"
    )]
    Buffer { node: String },
    /// A switch refused a planned change.
    #[error("faults: {node} refuses the planned change: {source}")]
    Change { node: String, source: ChangeError },
    /// DPDK has no memory, or no port.
    #[error(transparent)]
    Dpdk(#[from] dpdk::Error),
    /// No thread made progress.
    #[error("the lab's time did not go on for {} s although its threads ran", PATIENCE.as_secs())]
    Stuck,
    #[error("a thread of the lab panicked")]
    Panicked,
}

impl RealError {
    /// True if the lab is invalid, false for errors of the machine.
    #[must_use]
    pub const fn is_bad_input(&self) -> bool {
        !matches!(self, Self::Dpdk(_) | Self::Stuck | Self::Panicked)
    }
}

/// Results of a run on rings.
#[derive(Debug)]
pub struct RealRun {
    /// The lab as it was run: without the parts that rings do not support, with those that they
    /// need.
    pub plan: LabPlan,
    pub shortfalls: Vec<Shortfall>,
    /// Checks that can be judged.
    judged: Judged,
    ran: Ran,
    pub noted: Noted,
    /// Counters of every node, in the order of the plan.
    pub nodes: Vec<Snapshot>,
    /// Link protocol results of every node, in the same order.
    pub(super) agents: Vec<NodeAgents>,
    /// Lab time at the end.
    pub ended: Instant,
    /// Time of the last received frame.
    pub last: Instant,
    /// True if all traffic was sent, and had arrived or was dropped.
    pub quiet: bool,
    /// Lab time that was not counted because a thread was preempted or waited for another one; that
    /// of the thread with most of it.
    pub stalled: Total,
    /// Largest difference between the clocks of two hosts, with the time between two polls of both.
    pub uncertainty: Duration,
    /// Frames of flows that had not arrived, wherever they were.
    pending: BTreeMap<FlowId, u64>,
    /// Data received at the start and the end of the measurement interval, and in total.
    arrivals: [Vec<node::Arrivals>; 3],
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
    progress: impl FnMut(Progress),
) -> Result<RealRun, RealError> {
    run_until(eal, plan, options, || false, progress)
}

/// Does the same, and ends the run early once `stopped` returns true.
fn run_until(
    eal: &Eal,
    plan: &LabPlan,
    options: RealOptions,
    stopped: impl Fn() -> bool,
    progress: impl FnMut(Progress),
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
    progress: impl FnMut(Progress),
) -> Result<Run, RealError> {
    // Fitted before DPDK starts, so that errors of the lab are reported first.
    Fit::new(plan)?;
    let eal = match eal {
        Some(eal) => eal,
        None => eal.insert(Eal::start(&eal_options())?),
    };
    let real = RealOptions { slow_down: options.slow_down, threads: None };
    let run = run_until(eal, plan, real, || options.stopped(), progress)?;
    let mut outcome = run.outcome();
    if options.plots {
        let instead = "queues and rates are not sampled, so there are no plots of them";
        outcome.shortfalls.push(Shortfall::new("--report", instead).to_string());
    }
    let looks = Looks::new(&run.plan, MOMENTS_MAX);
    let (messages, completions) = (run.messages(), run.completions());
    let recording =
        options.plots.then_some(Recording { events: run.noted.recorder, looks, completions });
    Ok(Run { outcome, findings: Vec::new(), recording, messages })
}
