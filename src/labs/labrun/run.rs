//! Runs a lab in one of the two worlds; in the virtual world from its first picosecond to its verdicts.

use core::fmt;
use std::collections::BTreeMap;
use std::num::NonZeroU16;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::outcome::{
    Completions, Ended, MessageRecords, Outcome, Samples, Window, completions, flow_counts, gather,
    records,
};
use crate::plan::{Check, CheckKind, LabPlan, ends};
#[cfg(feature = "dpdk")]
use crate::real::{self, RealError};
use crate::record::{CaptureError, Captures, Detail, Looks, MOMENTS_MAX, Recorder};
use crate::verdict;
use crate::workers::{Threads, Workers, divide};
use contracts::frame::Frame;
use ground::named;
use ground::time::{Duration, Instant};
use host::{FlowId, probe_of};
use sim::check::{Checkers, Finding};
use sim::{
    Executor, InTurn, Job, LinkPlan, Network, NetworkError, NetworkPlan, NodeKind, Partition,
    Refusal,
};

/// Runs labs in one world, one after the other.
#[derive(Debug)]
pub struct Runner {
    world: World,
    /// Started by the first lab of the real world, as DPDK starts once in a process.
    #[cfg(feature = "dpdk")]
    eal: Option<dpdk::Eal>,
}

impl Runner {
    /// Returns a runner for this world. Nothing is started yet.
    pub const fn new(world: World) -> Self {
        Self {
            world,
            #[cfg(feature = "dpdk")]
            eal: None,
        }
    }

    /// Runs a lab and returns its results. `progress` is called from time to time.
    ///
    /// # Errors
    /// Parts of the lab that this world cannot run, or files that cannot be written.
    pub fn run(
        &mut self,
        plan: &LabPlan,
        options: Options<'_>,
        mut progress: impl FnMut(Progress),
    ) -> Result<Run, RunError> {
        self.run_here(plan, options, &mut progress)
    }

    /// Nothing is generic, so that the worlds are compiled here, for speed, and not in each crate that calls.
    fn run_here(
        &mut self,
        plan: &LabPlan,
        options: Options<'_>,
        progress: Tell<'_>,
    ) -> Result<Run, RunError> {
        let mut run = match self.world {
            World::Virtual => run_virtual(plan, options, progress)?,
            #[cfg(feature = "dpdk")]
            World::Real => real::run_with(&mut self.eal, plan, options, progress)?,
            #[cfg(not(feature = "dpdk"))]
            World::Real => return Err(RunError::NoRealWorld),
        };
        // A signal that came after the end has interrupted nothing.
        if options.stopped() && !run.outcome.done && run.outcome.elapsed_ns < plan.duration {
            verdict::interrupted(plan, &mut run.outcome);
        }
        Ok(run)
    }
}

/// Runs one lab: see [`Runner::run`].
///
/// # Errors
/// As of [`Runner::run`].
pub fn run(
    plan: &LabPlan,
    world: World,
    options: Options<'_>,
    progress: impl FnMut(Progress),
) -> Result<Run, RunError> {
    Runner::new(world).run(plan, options, progress)
}

/// Number of progress reports of a run.
const SLICES: u64 = 1_000;

/// Options of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// True to record data for plots.
    pub plots: bool,
    /// Most samples of queues, rates and marks that are kept, at least 2; when they are reached, every second one is
    /// removed. Default: 1,000, more than a plot can show.
    pub moments: Option<usize>,
    /// Factor by which time is slowed down in the real world, 1 for real time. Default: as the
    /// lab's frame rates require. The virtual world ignores it.
    pub slow_down: Option<u64>,
    /// Threads that run one network in the virtual world, on which no result depends. More than one help
    /// large networks. Default: 1. The real world ignores it.
    pub threads: Option<NonZeroU16>,
    /// Ends the run early once it is set. The results cover the time until then.
    pub stop: Option<&'a AtomicBool>,
}

impl Options<'_> {
    /// True if the run is to end.
    pub(super) fn stopped(self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }
}

/// Progress of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Network time.
    pub at: Duration,
    /// Longest run.
    pub of: Duration,
    /// Frames that have started on a line.
    pub frames: u64,
    pub events: u64,
}

/// Recorded data for plots.
#[derive(Debug)]
pub struct Recording {
    /// Pauses, and first events.
    pub events: Recorder,
    /// Samples of queues and rates.
    pub looks: Looks,
    /// Completion times of messages.
    pub completions: Completions,
}

/// A finished run.
#[derive(Debug)]
pub struct Run {
    pub outcome: Outcome,
    /// Findings of all checkers. Those of checkers that the lab does not ask for are in it, too.
    pub findings: Vec<Finding>,
    /// Threads that ran the network.
    pub threads: Threads,
    /// Recorded data for plots, if enabled.
    pub recording: Option<Recording>,
    /// Messages one by one, if the lab records them ([`crate::Record::messages`]).
    pub messages: Option<MessageRecords>,
}

/// Is called from time to time.
pub(super) type Tell<'a> = &'a mut dyn FnMut(Progress);

/// Changes a network before it runs.
type Change<'a> = &'a mut dyn FnMut(&mut Network<Watchers>);

fn run_virtual(plan: &LabPlan, options: Options<'_>, progress: Tell<'_>) -> Result<Run, RunError> {
    run_changed(plan, options, &mut |_| (), progress)
}

/// Runs a lab after `change` has altered its network unknown to the checkers, so that tests can
/// inject bugs that a check must find.
pub fn run_changed(
    plan: &LabPlan,
    options: Options<'_>,
    change: Change<'_>,
    progress: Tell<'_>,
) -> Result<Run, RunError> {
    let threads = options.threads.map_or(1, |threads| usize::from(threads.get()));
    run_divided(plan, options, &|plan| Partition::new(plan, threads), change, progress)
}

/// As [`run_changed`], with the network divided in this way, on as many threads as it has parts.
pub fn run_divided(
    plan: &LabPlan,
    options: Options<'_>,
    partition: &dyn Fn(&NetworkPlan) -> Partition,
    change: Change<'_>,
    progress: Tell<'_>,
) -> Result<Run, RunError> {
    let detail = Detail { plots: options.plots };
    let recorder = Recorder::new(plan, detail, Captures::create(plan)?);
    let mut network = plan.network.clone();
    // The lab may sample more often than the checkers need, and not less.
    let every = network.sample_every.or(plan.record.sample_every);
    let least = sample_every(plan);
    network.sample_every = Some(every.map_or(least, |every| every.min(least)));
    let mut network = Network::new(&network, (recorder, Checkers::new(&plan.network)))?;
    // Divided before `change`, which may plant a bug in any part.
    let threads = divide(&mut network, options.threads, || partition(&plan.network));
    change(&mut network);
    let parts = network.parts();
    // With one part nothing is started: most labs are so small that threads would cost more than they win.
    let driven = if parts == 1 {
        drive(plan, options, network, &mut InTurn, progress)
    } else {
        thread::scope(|scope| {
            let mut workers = Workers::start(scope, parts - 1);
            drive(plan, options, network, &mut workers, progress)
        })
    };
    let Driven { network, looks, ended, window } = driven;
    let refused = |Refusal { at, node, why }: &Refusal| {
        let (name, at) = (plan.network.nodes[node.index()].name(), at.since_start());
        format!("the change of {name} at {at} was refused: {why}")
    };
    let refused = network.refusals().iter().map(refused).collect();
    let ((mut recorder, checkers), mut nodes) = network.finish();
    recorder.end(ended.now)?;
    let mut outcome = gather(plan, &ended, &window, &recorder, &mut nodes);
    let completions =
        if options.plots { completions(plan, &mut nodes) } else { Completions::default() };
    // A change that a switch refused is part of the lab that was not run.
    outcome.shortfalls = refused;
    outcome.deadlocks = checkers.deadlocks().to_vec();
    let messages = plan.record.messages.then(|| records(plan, ended.at, &mut nodes));
    let findings = checkers.finish(ended.now, &mut nodes);
    judge(plan, &findings, &mut outcome);
    let recording = looks.map(|looks| Recording { events: recorder, looks, completions });
    Ok(Run { outcome, findings, threads, recording, messages })
}

/// Longest sampling interval of the checkers. What they find must not depend on the duration of a run: a
/// deadlock lasts to the end, where it is found by the last sample, unless a watchdog or a fault ends it.
/// Where one may, samples are as close in every run; the network is sampled less often only where nothing
/// can be missed by that.
fn sample_every(plan: &LabPlan) -> Duration {
    let shortest = Duration::from_micros(10);
    let network = &plan.network;
    let watched = network.nodes.iter().any(|node| match &node.kind {
        NodeKind::Switch(switch) => {
            switch.ports.iter().any(|port| port.watchdog.iter().any(Option::is_some))
        }
        NodeKind::Host(_) => false,
    });
    if watched || !network.faults.is_empty() || network.links.iter().any(LinkPlan::errs) {
        // Here something may end a deadlock between two samples.
        return shortest;
    }
    plan.duration.div(SLICES).clamp(shortest, Duration::from_millis(1))
}

/// Recorder and checkers, which receive the events of the network.
type Watchers = (Recorder, Checkers);

/// Times at which a run stops for sampling and measurement.
struct Stops {
    end: Instant,
    slice: Duration,
    next_slice: Instant,
    from: Instant,
    to: Instant,
}

impl Stops {
    fn new(plan: &LabPlan) -> Self {
        let end = Instant::ZERO + plan.duration;
        // Both ends lie within the run, so both are stops of it.
        let to = plan.measure_to.map_or(end, |to| Instant::ZERO + to).min(end);
        let from = (Instant::ZERO + plan.measure_from).min(to);
        let slice = plan.duration.div(SLICES).max(Duration::from_picos(1));
        Self { end, slice, next_slice: Instant::ZERO + slice, from, to }
    }

    /// Returns the first stop after `now`.
    fn next(&self, now: Instant, look: Instant) -> Instant {
        let all = [self.from, self.to, self.next_slice, look];
        all.into_iter().filter(|at| *at > now).fold(self.end, Instant::min)
    }
}

/// A network after its run, with what was counted and sampled.
struct Driven {
    network: Network<Watchers>,
    looks: Option<Looks>,
    ended: Ended,
    window: Window,
}

/// Runs the network to its end, and counts received data at the start and end of the measurement
/// interval. It tests for the end of all traffic at times that follow from the plan alone, so that
/// recording changes no results.
fn drive(
    plan: &LabPlan,
    options: Options<'_>,
    mut network: Network<Watchers>,
    executor: &mut impl Executor<Job<Watchers>>,
    progress: Tell<'_>,
) -> Driven {
    let mut looks = options.plots.then(|| Looks::new(plan, options.moments.unwrap_or(MOMENTS_MAX)));
    let ends = ends(plan);
    let mut stops = Stops::new(plan);
    let (mut from, mut to) = (None, None);
    let mut samples = Samples::new(plan);
    let quiet = loop {
        let now = network.now();
        if now == stops.from && from.is_none() {
            from = Some(flow_counts(&ends, network.nodes_mut()));
        }
        if now == stops.to && to.is_none() {
            to = Some(flow_counts(&ends, network.nodes_mut()));
        }
        if let Some(looks) = looks.as_mut().filter(|looks| looks.next() <= now) {
            looks.look(&mut network);
        }
        // The end of traffic is tested at slices alone: their times follow from the plan, those of samples from
        // options.
        if now == stops.next_slice || now == stops.end {
            stops.next_slice = now + stops.slice;
            samples.slice(&mut network);
            let tally = network.tally();
            let (at, of) = (now.since(Instant::ZERO), plan.duration);
            progress(Progress { at, of, frames: tally.frames, events: tally.events });
            let quiet = network.is_quiet();
            if now == stops.end || quiet && plan.until_done || options.stopped() {
                break quiet;
            }
        }
        let look = looks.as_ref().map_or(Instant::NEVER, |looks| looks.next());
        network.run_until_on(stops.next(now, look), executor);
    };
    network.unite();
    let now = network.now();
    let over = quiet && plan.until_done;
    // A run that ended with its traffic ends for the results with the last frame and not with the slice.
    let at = if over { network.witness_mut().0.last() } else { now };
    let end = flow_counts(&ends, network.nodes_mut());
    let from = (stops.from.min(at), from.unwrap_or_else(|| end.clone()));
    let to = (stops.to.min(at), to.unwrap_or(end));
    let (trace_hash, tally) = (Some(network.trace_hash()), network.tally());
    let [pending, pending_of_tester] = pending(&mut network, plan);
    let ended = Ended {
        world: World::Virtual,
        now,
        at,
        quiet,
        uncertainty: Duration::ZERO,
        pending,
        pending_of_tester,
        trace_hash,
        tally,
        samples: Some(samples),
    };
    Driven { network, looks, ended, window: Window { from, to } }
}

/// Returns the frames of each flow of the lab, and of its traffic generator, that are still in the
/// network.
fn pending(network: &mut Network<Watchers>, plan: &LabPlan) -> [Vec<u64>; 2] {
    let mut by_id = BTreeMap::<_, u64>::new();
    network.for_each_frame(|frame| {
        if let Some(probe) = probe_of(frame.head()) {
            *by_id.entry(probe.flow).or_default() += 1;
        }
    });
    let of = |id: FlowId| by_id.get(&id).copied().unwrap_or(0);
    [plan.flows.iter().map(|flow| of(flow.id)).collect(), plan.tester_flows().map(of).collect()]
}

/// Adds the checks' outcomes to the results.
fn judge(plan: &LabPlan, findings: &[Finding], outcome: &mut Outcome) {
    // Checks read the very tree that users see, so a path in a file and one in the results are the same.
    let results = serde_json::to_value(&*outcome).expect("results have names for keys");
    // Where no port paused another, the legality of pauses is no part of a run that did not ask for it.
    let mut of_pauses = findings.iter().filter(|finding| verdict::PAUSES.contains(&finding.check));
    let no_pauses = of_pauses.all(|finding| finding.is_empty) && outcome.pauses.xoffs == 0;
    let applies = |check: &&Check| {
        !(check.by_default && no_pauses && matches!(check.kind, CheckKind::PauseLegality))
    };
    let checks = plan.checks.iter().filter(applies);
    outcome.checks = checks.map(|c| verdict::outcome(c, plan, findings, &results)).collect();
    outcome.verdict = verdict::whole(&outcome.checks, false);
}

/// Reason why a lab could not be run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The network plan contradicts itself.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// A capture could not be written.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// The lab cannot run on rings, or not on this machine.
    #[cfg(feature = "dpdk")]
    #[error(transparent)]
    Real(#[from] RealError),
    /// This build has no real world.
    #[cfg(not(feature = "dpdk"))]
    #[error("this build runs labs in the virtual world only; try `--world virtual`")]
    NoRealWorld,
}

impl RunError {
    /// True if the lab or the options are invalid, false for errors of the machine or this build.
    pub const fn is_bad_input(&self) -> bool {
        match self {
            Self::Network(_) | Self::Capture(_) => true,
            #[cfg(feature = "dpdk")]
            Self::Real(error) => error.is_bad_input(),
            #[cfg(not(feature = "dpdk"))]
            Self::NoRealWorld => false,
        }
    }
}

named! {
    /// World in which a lab is run.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum World {
        /// Discrete-event simulation in exact time, with the real data plane.
        #[default]
        Virtual = "virtual",
        /// DPDK ports and real frames.
        Real = "real",
    }
}

impl fmt::Display for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
