//! A lab in the virtual world, from its first picosecond to its verdicts.

use serde_json::Value;

use super::ends::ends;
use super::outcome::{Ended, Outcome, Window, flow_counts, gather};
use super::plan::{CheckKind, LabPlan};
use super::record::{Captures, Detail, Looks, Recorder};
use super::verdict::{self, CheckOutcome, Verdict};
use super::world::RunError;
use crate::sim::{Network, Nodes};
use crate::time::{Duration, Instant};

/// How many times a run is asked how far it is.
const SLICES: u64 = 1_000;

/// What is wanted of a run beside its results.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// Whether what plots are drawn of is kept.
    pub plots: bool,
}

/// How far a run is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// The network's time.
    pub at: Duration,
    /// When the run ends at the latest.
    pub of: Duration,
    /// Frames that have started on a line.
    pub frames: u64,
    /// Events so far.
    pub events: u64,
}

/// What was kept for plots.
#[derive(Debug)]
pub struct Recording {
    /// Pauses, and the firsts of everything.
    pub events: Recorder,
    /// Queues and rates.
    pub looks: Looks,
}

/// A run that is over.
#[derive(Debug)]
pub struct Run {
    /// Its results.
    pub outcome: Outcome,
    /// What was kept for plots, if it was to be.
    pub recording: Option<Recording>,
}

/// Runs a lab.
pub(super) fn run(
    plan: &LabPlan,
    options: Options,
    progress: impl FnMut(Progress),
) -> Result<Run, RunError> {
    let detail = Detail { plots: options.plots };
    let recorder = Recorder::new(plan, detail, Captures::create(plan)?);
    let network = Network::new(&plan.network, recorder)?;
    let mut looks = options.plots.then(|| Looks::new(plan));
    let (network, ended, window) = drive(plan, network, looks.as_mut(), progress);
    let (mut recorder, mut nodes) = network.finish();
    recorder.end(ended.now)?;
    let mut outcome = gather(plan, &ended, &window, &recorder, &mut nodes);
    judge(plan, &mut outcome, &mut nodes);
    let recording = looks.map(|looks| Recording { events: recorder, looks });
    Ok(Run { outcome, recording })
}

/// The times at which a run stops for a moment.
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
        let to = plan.measure_to.map_or(end, |to| Instant::ZERO + to).min(end);
        let from = (Instant::ZERO + plan.measure_from).min(to);
        let slice = plan.duration.div(SLICES).max(Duration::from_picos(1));
        Self { end, slice, next_slice: Instant::ZERO + slice, from, to }
    }

    /// The first stop after `now`.
    fn next(&self, now: Instant, look: Instant) -> Instant {
        let all = [self.from, self.to, self.next_slice, look];
        all.into_iter().filter(|at| *at > now).fold(self.end, Instant::min)
    }
}

/// Lets the network run to its end, and counts what has arrived when rates begin and end to be
/// measured. Whether all is done is asked at times that follow from the plan alone, so that nothing
/// that is recorded on the way changes the results.
fn drive(
    plan: &LabPlan,
    mut network: Network<Recorder>,
    mut looks: Option<&mut Looks>,
    mut progress: impl FnMut(Progress),
) -> (Network<Recorder>, Ended, Window) {
    let ends = ends(plan);
    let mut stops = Stops::new(plan);
    let (mut from, mut to) = (None, None);
    let quiet = loop {
        let now = network.now();
        if now == stops.from && from.is_none() {
            from = Some(flow_counts(&ends, network.nodes_mut()));
        }
        if now == stops.to && to.is_none() {
            to = Some(flow_counts(&ends, network.nodes_mut()));
        }
        if let Some(looks) = looks.as_deref_mut().filter(|looks| looks.next() <= now) {
            looks.look(&mut network);
        }
        if now == stops.next_slice || now == stops.end {
            stops.next_slice = now + stops.slice;
            let tally = network.tally();
            let (at, of) = (now.since(Instant::ZERO), plan.duration);
            progress(Progress { at, of, frames: tally.frames, events: tally.events });
            let quiet = network.is_quiet();
            if now == stops.end || quiet && plan.until_done {
                break quiet;
            }
        }
        let look = looks.as_ref().map_or(Instant::NEVER, |looks| looks.next());
        network.run_until(stops.next(now, look));
    };
    let now = network.now();
    let over = quiet && plan.until_done;
    let at = if over { network.witness_mut().last() } else { now };
    let end = flow_counts(&ends, network.nodes_mut());
    let from = (stops.from.min(at), from.unwrap_or_else(|| end.clone()));
    let to = (stops.to.min(at), to.unwrap_or(end));
    let ended = Ended { now, at, quiet, trace_hash: network.trace_hash(), tally: network.tally() };
    (network, ended, Window { from, to })
}

/// Holds the results against what was asked.
fn judge(plan: &LabPlan, outcome: &mut Outcome, _: &mut Nodes) {
    let results = serde_json::to_value(&*outcome).unwrap_or(Value::Null);
    let checks = plan.checks.iter().map(|check| {
        let (good, detail) = verdict::of_numbers(check, plan, &results).unwrap_or_else(|| {
            let good =
                matches!(check.kind, CheckKind::LosslessDelivery) && outcome.lossless_drops == 0;
            (good, String::new())
        });
        CheckOutcome {
            name: check.name.clone(),
            verdict: Verdict::of(good),
            detail,
            source: check.source.clone(),
        }
    });
    outcome.checks = checks.collect();
    outcome.verdict = Verdict::of(outcome.checks.iter().all(|check| check.verdict.is_good()));
}
