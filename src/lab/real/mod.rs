//! A lab in the real world: the same switches and hosts on DPDK ring devices inside one process,
//! with real frames and real time.
//!
//! - **A ring is a link** without length, rate and errors. Ports are shaped to their links' rates,
//!   so that a network of rings carries what the network of the lab does.
//! - **Threads are few, nodes many.** Every thread polls its nodes in turn, all of them at the same
//!   time of a clock that the others hold on a [leash](crate::runtime::Leash). Whatever the machine
//!   does to a thread, no lossless frame is lost that no link would have lost: a thread that is off
//!   its CPU stops the time of all.
//! - **Slow motion** where the lab is faster than the machine: its time, every rate and every delay
//!   with it, runs so many times slower than on the clock on the wall. Nodes notice nothing, and
//!   results are in the lab's own time.
//! - **What falls short is said**: a [`Shortfall`] names the part of the lab that rings do not have,
//!   and what is done instead. Nothing is left out silently.
//!
//! What must agree with the virtual world is what follows from the frames and not from their
//! picoseconds: what is delivered, what is dropped, and in which order pauses come and go.

mod collect;
mod crew;
mod drive;
mod fit;
mod judge;
mod judged;
mod load;
mod log;
mod node;
mod outcome;
mod rig;
mod rings;
mod shortfall;
mod tap;
#[cfg(test)]
mod tests;
mod watch;

use std::collections::BTreeMap;
use std::time::{Duration as StdDuration, Instant as StdInstant};

pub use log::{Event, Happening, crossings};
pub use node::Snapshot;
pub use shortfall::Shortfall;
pub use tap::PAUSE_OCTETS;

use super::plan::LabPlan;
use super::population::NodeAgents;
use super::record::{Looks, Recorder};
use super::virtual_run::{Options, Progress, Recording, Run};
use crate::dpdk::{Eal, EalOptions, Memory, own_prefix};
use crate::host::{FlowId, PlanError};
use crate::runtime::{Cores, Disturbance, Leash};
use crate::sim::NetworkError;
use crate::switch::{ChangeError, SwitchError};
use crate::time::{Duration, Instant, Total};
use collect::{Firsts, Ran, collect};
use crew::Shared;
use drive::{PATIENCE, drive};
use fit::Fit;
use judged::Judged;

/// How a lab is to be run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RealOptions {
    /// By how much time is slowed down, 1 for not at all. Default: by as much as the lab's frame
    /// rates ask for.
    pub slow_down: Option<u64>,
    /// How many threads poll. Default: one for each CPU that the process may use, but no more than
    /// there are nodes.
    pub threads: Option<usize>,
}

/// Why a lab cannot be run on rings.
#[derive(Debug, thiserror::Error)]
pub enum RealError {
    /// The plan of its network contradicts itself.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// A switch's plan contradicts itself.
    #[error(transparent)]
    Switch(#[from] SwitchError),
    /// A host's plan contradicts itself.
    #[error(transparent)]
    Host(#[from] PlanError),
    /// More links than DPDK has ports for.
    #[error(
        "links: the lab has {links} and DPDK has ports for {most} in a process; try fewer, or \
         `--world virtual`"
    )]
    Links {
        /// How many there are.
        links: usize,
        /// How many there can be.
        most: usize,
    },
    /// The headroom that rings need is more than a buffer can count.
    #[error(
        "profiles.buffer.cell: the buffer of {node}, with the headroom that rings need, has more \
         cells than 32 bits can count; take larger cells"
    )]
    Buffer {
        /// The switch.
        node: String,
    },
    /// A planned change was refused.
    #[error("faults: {node} refuses the planned change: {source}")]
    Change {
        /// The switch.
        node: String,
        /// Why.
        source: ChangeError,
    },
    /// DPDK has no memory, or no port.
    #[error(transparent)]
    Dpdk(#[from] crate::dpdk::Error),
    /// No thread got on.
    #[error("the lab's time did not go on for {} s although its threads ran", PATIENCE.as_secs())]
    Stuck,
    /// A thread panicked.
    #[error("a thread of the lab panicked")]
    Panicked,
}

impl RealError {
    /// Whether the lab is to blame, and not the machine.
    #[must_use]
    pub const fn is_bad_input(&self) -> bool {
        !matches!(self, Self::Dpdk(_) | Self::Stuck | Self::Panicked)
    }
}

/// A run on rings.
#[derive(Debug)]
pub struct RealRun {
    /// The lab as it was run: without what rings do not have, with what they need.
    pub plan: LabPlan,
    /// What fell short.
    pub shortfalls: Vec<Shortfall>,
    /// Checks that can be judged.
    judged: Judged,
    /// By how much time was slowed down.
    pub slow_down: u64,
    /// How many threads polled.
    pub threads: usize,
    /// What every node counted, in the order of the plan.
    pub nodes: Vec<Snapshot>,
    /// What the agents of every node found out, in the same order.
    pub(super) agents: Vec<NodeAgents>,
    /// What happened to pauses, by the clocks of those to whom it did.
    pub events: Vec<Event>,
    /// Events that were too many to be kept.
    pub events_left_off: u64,
    /// What was noted of all switches, and of pauses on all links.
    pub recorder: Recorder,
    /// The lab's time at the end.
    pub ended: Instant,
    /// The last time at which a frame came in anywhere.
    pub last: Instant,
    /// Whether everything that was to be sent had been sent and had arrived or was dropped.
    pub quiet: bool,
    /// The disturbance by the machine that ended it before its time.
    pub starved: Option<Disturbance>,
    /// How long it took.
    pub wall: StdDuration,
    /// Of the lab's time, what did not pass because a thread was not there, or waited for another:
    /// of the thread that lost most.
    pub stalled: Total,
    /// How far the clocks of two hosts may be apart, with what lies between two polls of both.
    pub uncertainty: Duration,
    /// Frames that were put into rings, and polls of threads.
    pub frames: u64,
    /// Polls of threads.
    pub polls: u64,
    /// Frames of flows that had not arrived, wherever they were.
    pending: BTreeMap<FlowId, u64>,
    /// By node.
    firsts: Vec<Firsts>,
    /// What had arrived when the measurement began, when it ended, and in all.
    arrivals: [Vec<node::Arrivals>; 3],
}

/// What DPDK is to be started with for labs: ordinary memory, no device, no root.
#[must_use]
pub fn eal_options() -> EalOptions {
    let file_prefix = own_prefix("sluice-lab");
    EalOptions { memory: Memory::NoHuge, file_prefix, ..EalOptions::default() }
}

/// Runs a lab on rings. `progress` is called now and then.
///
/// # Errors
/// What rings cannot run at all, or what the machine does not provide.
pub fn run(
    eal: &Eal,
    plan: &LabPlan,
    options: RealOptions,
    progress: impl FnMut(Progress),
) -> Result<RealRun, RealError> {
    run_until(eal, plan, options, || false, progress)
}

/// The same, ended before its time once `stopped` says so.
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
    let crews = rig::rig(eal, &fit, threads)?;
    let leash = Leash::new(threads, fit.rings.span);
    let leash = leash.with_step(fit.rings.step).slowed_down(slow_down);
    let shared = Shared::new(leash, threads);
    let started = StdInstant::now();
    let (ends, starved) = drive(eal, crews, &shared, &fit.plan, stopped, progress)?;
    let (frames, polls) = shared.work();
    let ran = Ran { slow_down, threads, wall: started.elapsed(), frames, polls, starved };
    Ok(collect(fit, ends, ran))
}

/// Starts DPDK for one lab, and runs it.
pub(super) fn run_alone(
    plan: &LabPlan,
    options: Options<'_>,
    progress: impl FnMut(Progress),
) -> Result<Run, RealError> {
    // Before DPDK says anything: what is wrong with the lab is nobody else's fault.
    Fit::new(plan)?;
    let eal = Eal::start(&eal_options())?;
    let real = RealOptions { slow_down: options.slow_down, threads: None };
    let run = run_until(&eal, plan, real, || options.stopped(), progress)?;
    let mut outcome = run.outcome();
    if options.plots {
        let instead = "queues and rates are not sampled, so there are no plots of them";
        outcome.shortfalls.push(Shortfall::new("--report", instead).to_string());
    }
    let looks = Looks::new(&run.plan);
    let recording = options.plots.then_some(Recording { events: run.recorder, looks });
    Ok(Run { outcome, findings: Vec::new(), recording })
}
