//! The real world: the same switches and hosts on DPDK ring devices inside one process, with real
//! frames and real time.
//!
//! - **A ring is a link** without length, rate and errors. Ports are shaped to their links' rates,
//!   so that a network of rings carries the same traffic as the network of the lab.
//! - **Few threads poll many nodes.** Every thread polls its nodes in turn, all of them at the same
//!   time of its clock, whose distance from the other threads' clocks is bounded by a
//!   [clock sync](runtime::ClockSync). A preempted thread stops the time of all, so preemption causes
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
mod fit;
mod judge;
mod judged;
mod log;
mod node;
mod poller;
mod rig;
mod shortfall;

use std::sync::Arc;
use std::thread;
use std::time::{Duration as StdDuration, Instant as StdInstant};

use super::record::{Looks, MOMENTS_MAX};
use crate::plan::LabPlan;
use crate::run::{Options, Progress, Recording, Run, Tell};
use crate::workers::Threads;
use collect::{Ran, collect};
use dpdk::{Eal, EalOptions, Memory, own_prefix};
use ground::time::Instant;
use host::PlanError;
use poller::{Part, Poller, PollerEnd, Sample, Shared};
use runtime::poll_threads::{self, NotStarted, PollThread};
use runtime::{ClockSync, Cores, Disturbance, Patience};
use sim::NetworkError;
use switch::{ChangeError, SwitchError};

pub use collect::RealRun;
pub use fit::Fit;
pub use log::{Event, Happening, PAUSE_OCTETS, crossings};
pub use node::{Snapshot, until_quiet};
pub use shortfall::Shortfall;

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
    let parts = rig::rig(eal, &fit, threads)?;
    // The span bounds how far clocks may be apart, and the step how far one poll is from the next.
    let clock_sync = ClockSync::new(threads, fit.rings.span);
    let clock_sync = clock_sync.with_step(fit.rings.step).slowed_down(slow_down);
    let shared = Arc::new(Shared::new(clock_sync, threads));
    // Building ports and rings is not part of the run's real time.
    let started = StdInstant::now();
    let (ends, starved) = drive(eal, parts, &shared, &fit.plan, stopped, progress)?;
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

/// Real time without progress, preemption not counted, after which the run is aborted.
const PATIENCE: StdDuration = StdDuration::from_secs(60);

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
    /// A thread cannot be created, or registered with DPDK.
    #[error(transparent)]
    Threads(#[from] NotStarted),
}

impl RealError {
    /// True if the lab is invalid, false for errors of the machine.
    #[must_use]
    pub const fn is_bad_input(&self) -> bool {
        !matches!(self, Self::Dpdk(_) | Self::Stuck | Self::Panicked | Self::Threads(_))
    }
}

/// Sampling interval of the threads' state.
const SAMPLE_EVERY: StdDuration = StdDuration::from_millis(5);

/// Runs the threads until all traffic is done or one of them fails. A run for which the machine had
/// no CPU time ends with the results so far, and with the disturbance that ended it.
fn drive(
    eal: &Eal,
    parts: Vec<Part>,
    shared: &Arc<Shared>,
    plan: &LabPlan,
    stopped: &dyn Fn() -> bool,
    progress: Tell<'_>,
) -> Result<(Vec<PollerEnd>, Option<Disturbance>), RealError> {
    let body = |part: Part| {
        let (eal, shared) = (eal.clone(), Arc::clone(shared));
        move |thread: PollThread<'_, _>| {
            let (number, group) = (thread.number, thread.group);
            let prepare = || {
                shared.cores.pin(number);
                eal.register_worker().map_err(|error| error.to_string())
            };
            thread.run(prepare, || Poller::new(part, &shared, group, number))
        }
    };
    let (_, threads) = poll_threads::start("lab", parts.into_iter().map(body))?;
    let patience = Patience::new(&threads.group().preemption, PATIENCE);
    let mut watcher = Watcher { at: Instant::ZERO, patience, stuck: false, last: None };
    while !threads.all_ended() {
        thread::sleep(SAMPLE_EVERY);
        progress(so_far(shared, plan));
        if watcher.is_over(shared, plan.until_done) || stopped() {
            threads.stop();
        }
    }
    let (stuck, starved) = (watcher.stuck, watcher.patience.starved());
    let joined = threads.join().into_iter().map(|end| end.unwrap_or(Err(RealError::Panicked)));
    let joined = joined.collect::<Result<Vec<_>, _>>();
    progress(so_far(shared, plan));
    let ends = joined?;
    match (stuck, starved) {
        (false, _) => Ok((ends, None)),
        // No CPU time is the machine's fault, so the results are kept; threads that ran and did not go on are a bug.
        (true, Some(disturbance)) => Ok((ends, Some(disturbance))),
        (true, None) => Err(RealError::Stuck),
    }
}

fn so_far(shared: &Shared, plan: &LabPlan) -> Progress {
    let (frames, events) = shared.work();
    let at = shared.clock_sync.polled().since(Instant::ZERO);
    Progress { at, of: plan.duration, frames, events }
}

/// Detects the end of a run, and a run without progress.
struct Watcher<'a> {
    at: Instant,
    /// Time since the last progress.
    patience: Patience<'a>,
    /// True if that time exceeds the limit.
    stuck: bool,
    last: Option<Sample>,
}

impl Watcher<'_> {
    fn is_over(&mut self, shared: &Shared, until_done: bool) -> bool {
        let at = shared.clock_sync.polled();
        if at > self.at {
            self.at = at;
            self.patience.renew();
        }
        let sample = until_done.then(|| shared.sample());
        // Two equal samples: one alone may have met a frame between a sender's count and its receiver's.
        let quiet = sample.as_ref().is_some_and(Sample::is_quiet) && sample == self.last;
        self.last = sample;
        self.stuck |= !quiet && self.patience.is_over();
        quiet || self.stuck
    }
}
