//! Series over time of whole runs, for pages that compare runs.

use ground::time::Instant;
use lab::record::Looks;
use lab::{CompletionTimes, LabPlan, Outcome, Recording};
use sim::LinkId;

use super::data::decimated;

/// Number of intervals for rates: short enough to show pauses, long enough for frames.
const RATE_BINS: usize = 96;

/// Series of a run.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RunSeries {
    /// Times in nanoseconds and bytes in all egress queues.
    pub(super) queued: Vec<(f64, f64)>,
    /// Bits per second of all flows together, from each time to the next.
    pub(super) rate: Vec<(f64, f64)>,
    /// Mean number of paused priorities of all ports, from each time to the next.
    pub(super) paused: Vec<(f64, f64)>,
    /// Completion times of all messages, in nanoseconds, and percentages.
    pub(super) completions: Vec<(f64, f64)>,
    /// End of the run in nanoseconds.
    pub(super) end: f64,
}

impl RunSeries {
    /// Takes the series from a recording; each is empty if it was not recorded.
    #[must_use]
    pub fn new(plan: &LabPlan, outcome: &Outcome, recording: &Recording) -> Self {
        let looks = &recording.looks;
        let end = outcome.elapsed_ns.as_nanos_f64();
        let arrived = |at: usize| looks.arrived.iter().map(|flow| flow[at]).sum();
        let all = recording.completions.all.as_ref();
        let moments = looks.moments.iter().enumerate();
        let queued: Vec<_> = moments.map(|(n, at)| (ns(*at), queued(looks, n))).collect();
        Self {
            queued: decimated(&queued),
            rate: rates_of(&looks.moments, arrived),
            paused: paused(plan, recording, end),
            completions: all.map_or_else(Vec::new, steps_of),
            end,
        }
    }
}

fn ns(at: Instant) -> f64 {
    at.as_picos() as f64 / 1e3
}

/// Sums the queues at a sample.
fn queued(looks: &Looks, n: usize) -> f64 {
    let queues = looks.queues.values();
    queues.map(|series| f64::from(series.octets.get(n).copied().unwrap_or(0))).sum()
}

/// Returns the steps of a distribution in nanoseconds and percent.
pub(super) fn steps_of(times: &CompletionTimes) -> Vec<(f64, f64)> {
    let mut steps: Vec<(f64, f64)> = Vec::with_capacity(times.steps.len());
    for (time, messages) in &times.steps {
        let point = (time.as_nanos_f64(), 100.0 * *messages as f64 / times.messages as f64);
        match steps.last_mut() {
            // Times that are equal as floats are one step.
            Some(last) if last.0 == point.0 => *last = point,
            _ => steps.push(point),
        }
    }
    steps
}

/// Returns the rate in bit/s from the beginning of each interval to that of the next; the last point is
/// the end.
pub(super) fn rates_of(moments: &[Instant], octets: impl Fn(usize) -> u64) -> Vec<(f64, f64)> {
    // Over single samples the rate would show frames instead of flows.
    let every = moments.len().div_ceil(RATE_BINS).max(1);
    let ends: Vec<usize> = (0..moments.len()).step_by(every).collect();
    let mut points = Vec::with_capacity(ends.len());
    for two in ends.windows(2) {
        let (from, to) = (moments[two[0]], moments[two[1]]);
        let seconds = to.since(from).as_secs_f64();
        if seconds > 0.0 {
            let rate = 8.0 * octets(two[1]).saturating_sub(octets(two[0])) as f64 / seconds;
            points.push((ns(from), rate));
        }
    }
    if let (Some((_, rate)), Some(end)) = (points.last().copied(), ends.last()) {
        points.push((ns(moments[*end]), rate));
    }
    points
}

/// Returns the mean number of paused priorities of ports in each of [`RATE_BINS`] intervals.
fn paused(plan: &LabPlan, recording: &Recording, end: f64) -> Vec<(f64, f64)> {
    let links = 0..plan.network.links.len() as u32;
    let directions = links.flat_map(|n| [LinkId(n).ab(), LinkId(n).ba()]);
    let lines = directions.flat_map(|d| recording.events.pauses(d));
    let pieces: Vec<_> = lines.flat_map(|(_, line)| line.pieces().to_vec()).collect();
    let width = end / RATE_BINS as f64;
    let mut bins = vec![0.0; RATE_BINS];
    for piece in &pieces {
        let (from, to) = (ns(piece.from), ns(piece.to));
        // A piece may be several pauses with gaps, which are spread evenly over it.
        let dense = piece.paused.as_nanos_f64() / (to - from).max(1e-3);
        let first = ((from / width) as usize).min(RATE_BINS - 1);
        for (n, bin) in bins.iter_mut().enumerate().skip(first) {
            let (start, stop) = (n as f64 * width, (n + 1) as f64 * width);
            if start >= to {
                break;
            }
            *bin += dense * (to.min(stop) - from.max(start)).max(0.0) / width;
        }
    }
    // A step lasts to the next point, so the last one needs an end.
    let last = bins[RATE_BINS - 1];
    let steps = bins.into_iter().enumerate().map(|(n, bin)| (n as f64 * width, bin));
    steps.chain([(end, last)]).collect()
}
