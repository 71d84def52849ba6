//! The steady state of a run: the part after its start-up, and means over it.
//!
//! Its start is found by MSER-5 (White 1997): of the means of five samples each, so many are left out
//! at the start that the squared standard error of the rest is least. This is done for the bytes that
//! arrive and for the bytes in buffers, and the later start counts. A start in the second half of the
//! samples says that the run is too short to tell; so does a difference of the means of both halves of
//! the rest of more than three standard errors and 1 %. Then there is no steady state.

use crate::plan::{Bound, Ends, LabPlan, Source, bound, ends, start};
use crate::population::{Ended, HostCounts, Population, Window};
use ground::time::{Duration, Instant};
use ground::units::{PortId, PriorityGroup};
use serde::Serialize;
use sim::{Network, Node, NodeId, NodeKind, Nodes, Witness};

/// Samples of which one mean is made.
const BATCH: usize = 5;

/// Fewest means from which a start is found.
const BATCHES_MIN: usize = 8;

/// Means over the steady state.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct SteadyOutcome {
    /// Rule that gave the window: `mser_5`, or `measure` for the interval of the lab.
    pub rule: &'static str,
    /// Start of the window.
    pub from_ns: Duration,
    /// End of the window.
    pub to_ns: Duration,
    /// Number of flows: those without an end, and those with an offered load.
    pub flows: usize,
    /// Sum of their mean payload rates in bit/s. Rates of flows without acknowledgements include
    /// their headers.
    pub throughput_bps: f64,
    /// Jain's fairness index of the flows without an end that are not victims; `None` for less than
    /// two.
    pub fairness: Option<f64>,
    /// Mean of the bytes in the buffers of all switches, by samples; `None` without a sample in the
    /// window.
    pub queue_mean_bytes: Option<f64>,
}

/// Returns the means over the steady state; `None` if there is none, or no flow without an end.
pub(super) fn steady(plan: &LabPlan, ended: &Ended, window: &Window) -> Option<SteadyOutcome> {
    let samples = ended.samples.as_ref().filter(|samples| samples.flows().next().is_some())?;
    // An interval that the file names is taken as it is: the user knows the run.
    let measured = plan.measure_from > Duration::ZERO || plan.measure_to.is_some();
    let (rule, from, to) = if measured {
        ("measure", window.from.0, window.to.0)
    } else {
        // When an offered load ends, the queues drain: that is no steady state.
        let last = last(plan, samples);
        let (from, to) = window_of(&samples.samples[..last])?;
        ("mser_5", from, to)
    };
    let within: Vec<&Sample> =
        samples.samples.iter().filter(|s| s.at >= from && s.at <= to).collect();
    let (first, last) = (within.first()?, within.last()?);
    let seconds = last.at.since(first.at).as_secs_f64();
    if seconds <= 0.0 {
        return None;
    }
    let bytes = last.arrived.iter().zip(&first.arrived).map(|(to, from)| to - from);
    let rates: Vec<f64> = bytes.map(|bytes| 8.0 * bytes as f64 / seconds).collect();
    let greedy = rates.iter().zip(&samples.greedy).filter(|(_, greedy)| **greedy);
    let shares: Vec<f64> = greedy.map(|(rate, _)| *rate).collect();
    let queued = within.iter().map(|s| s.queued as f64).sum::<f64>();
    Some(SteadyOutcome {
        rule,
        from_ns: first.at.since_start(),
        to_ns: last.at.since_start(),
        flows: rates.len(),
        throughput_bps: rates.iter().sum(),
        fairness: jain(&shares),
        queue_mean_bytes: Some(queued / within.len() as f64),
    })
}

/// Returns the number of samples before the first offered load ends.
fn last(plan: &LabPlan, samples: &Samples) -> usize {
    let all = ends(plan);
    let over = plan.workloads.iter().filter_map(|workload| {
        // All flows of a workload with a load start at the same time.
        let first = workload.flows.clone().next()?;
        Some(start(plan, &all[first]).saturating_add(workload.load?.span))
    });
    let end = over.min().unwrap_or(Instant::NEVER);
    samples.samples.partition_point(|sample| sample.at <= end)
}

/// Returns start and end of the steady state; `None` if it does not start in the first half.
fn window_of(samples: &[Sample]) -> Option<(Instant, Instant)> {
    let total = |sample: &Sample| sample.arrived.iter().sum::<u64>() as f64;
    let arrived: Vec<f64> = samples.windows(2).map(|w| total(&w[1]) - total(&w[0])).collect();
    let queued: Vec<f64> = samples.iter().skip(1).map(|sample| sample.queued as f64).collect();
    let skip = mser(&arrived)?.max(mser(&queued)?);
    // Value n is that of the interval from sample n to the next one.
    let from = samples.get(skip * BATCH)?.at;
    Some((from, samples.last()?.at))
}

/// Returns the number of batches to leave out at the start; `None` if that is not known.
fn mser(values: &[f64]) -> Option<usize> {
    let means = values.chunks_exact(BATCH).map(|batch| batch.iter().sum::<f64>() / BATCH as f64);
    let means: Vec<f64> = means.collect();
    if means.len() < BATCHES_MIN {
        return None;
    }
    let error = |skip: usize| {
        let rest = &means[skip..];
        let n = rest.len() as f64;
        let mean = rest.iter().sum::<f64>() / n;
        rest.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n * n)
    };
    let half = means.len() / 2;
    // Of equal errors the first counts.
    let best = (0..=half).min_by(|a, b| error(*a).total_cmp(&error(*b)))?;
    (best < half && is_level(&means[best..])).then_some(best)
}

/// True if the means of both halves differ by no more than three standard errors, or 1 %.
fn is_level(means: &[f64]) -> bool {
    let (a, b) = means.split_at(means.len() / 2);
    let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
    let error = |of: &[f64]| {
        let mean = mean(of);
        let squares = of.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>();
        squares / (of.len() as f64 - 1.0) / of.len() as f64
    };
    let (off, errors) = ((mean(a) - mean(b)).abs(), (error(a) + error(b)).sqrt());
    off <= (3.0 * errors).max(mean(means).abs() / 100.0)
}

/// Jain's fairness index: the square of the sum over n times the sum of the squares.
pub(super) fn jain(shares: &[f64]) -> Option<f64> {
    let (sum, squares) = shares.iter().fold((0.0, 0.0), |(s, q), x| (s + x, q + x * x));
    let index = || sum * sum / (shares.len() as f64 * squares);
    // Rounding may lift the index of equal shares above 1.
    (shares.len() > 1 && squares > 0.0).then(|| index().min(1.0))
}

/// Slices of the run per sample.
const SLICES: u64 = 10;

/// Samples of a run.
#[derive(Clone, Debug)]
pub(crate) struct Samples {
    slices: u64,
    /// Flows that are sampled: indexes in [`LabPlan::flows`], and their ends.
    flows: Vec<(usize, Ends)>,
    /// True for each flow that sends as fast as it may, and has a fair share.
    greedy: Vec<bool>,
    /// Switches, with their number of ports.
    switches: Vec<(NodeId, u16)>,
    samples: Vec<Sample>,
}

/// State at one time.
#[derive(Clone, Debug)]
struct Sample {
    at: Instant,
    /// Payload bytes of each sampled flow that have arrived.
    arrived: Vec<u64>,
    /// Bytes in the buffers of all switches.
    queued: u64,
}

impl Samples {
    /// Returns an empty record of the flows without an end and of those with an offered load.
    pub(crate) fn new(plan: &LabPlan) -> Self {
        let mut offered = vec![false; plan.flows.len()];
        for workload in plan.workloads.iter().filter(|w| w.load.is_some()) {
            offered[workload.flows.clone()].fill(true);
        }
        let (mut flows, mut greedy) = (Vec::new(), Vec::new());
        for (n, (flow, ends)) in plan.flows.iter().zip(ends(plan)).enumerate() {
            let endless = bound(plan, &ends) == Bound::Time(Instant::NEVER);
            if endless || offered[n] {
                flows.push((n, ends));
                greedy.push(endless && !flow.victim);
            }
        }
        let switch = |(id, node): (u32, &sim::NodePlan)| match &node.kind {
            NodeKind::Switch(_) => Some((NodeId(id), node.ports() as u16)),
            NodeKind::Host(_) => None,
        };
        let switches = (0..).zip(&plan.network.nodes).filter_map(switch).collect();
        let first = Sample { at: Instant::ZERO, arrived: vec![0; flows.len()], queued: 0 };
        Self { slices: 0, flows, greedy, switches, samples: vec![first] }
    }

    /// Returns the sampled flows, indexes in [`LabPlan::flows`].
    fn flows(&self) -> impl Iterator<Item = usize> {
        self.flows.iter().map(|(n, _)| *n)
    }

    /// Records the end of a slice of the run.
    pub(crate) fn slice<W: Witness>(&mut self, network: &mut Network<W>) {
        self.slices += 1;
        if self.flows.is_empty() || self.slices % SLICES != 0 {
            return;
        }
        let at = network.now();
        let nodes = network.nodes_mut();
        let arrived = self.flows.iter().map(|(_, ends)| arrived(nodes, ends)).collect();
        let queued = self.switches.iter().map(|(id, ports)| queued(nodes, *id, *ports)).sum();
        self.samples.push(Sample { at, arrived, queued });
    }
}

/// Returns the bytes of a flow that have arrived: those of messages in order, else of frames.
fn arrived(nodes: &mut Nodes, ends: &Ends) -> u64 {
    let Some(host) = nodes.host(ends.to) else { return 0 };
    match ends.source {
        Source::Answered(_, n) => host.receiver(n).map_or(0, |receiver| receiver.delivered),
        Source::OpenLoop(_) => host.sinks().nth(ends.sink).map_or(0, |sink| sink.bytes),
    }
}

/// Returns the bytes in the buffer of a switch.
fn queued(nodes: &mut Nodes, id: NodeId, ports: u16) -> u64 {
    let Node::Switch(switch) = nodes.get_mut(id) else { return 0 };
    // An empty switch needs no walk through its groups.
    if switch.held() == 0 {
        return 0;
    }
    let ledger = switch.ledger();
    let ports = (0..ports).filter_map(PortId::new);
    let groups = ports.flat_map(|port| PriorityGroup::ALL.map(|group| ledger.usage(port, group)));
    let cells: u64 = groups.map(|of| u64::from(of.used.0) + u64::from(of.headroom.0)).sum();
    cells * u64::from(ledger.cell_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_up_is_left_out_and_noise_is_not() {
        // Ten values of a ramp, then a level with a small ripple.
        let ramp = (0..100u32).map(|n| f64::from(n.min(10)) * 10.0 + f64::from(n % 3));
        assert_eq!(mser(&ramp.collect::<Vec<_>>()), Some(2));
        let level: Vec<f64> = (0..100u32).map(|n| 50.0 + f64::from(n % 5)).collect();
        assert_eq!(mser(&level), Some(0));
        assert_eq!(mser(&[7.0; 100]), Some(0));
    }

    #[test]
    fn what_never_settles_has_no_steady_state() {
        let ramp: Vec<f64> = (0..100).map(f64::from).collect();
        assert_eq!(mser(&ramp), None);
        assert_eq!(mser(&[1.0; 39]), None, "fewer than eight batches");
        // A step in the second half.
        let step: Vec<f64> = (0..100).map(|n| if n < 70 { 1.0 } else { 2.0 }).collect();
        assert_eq!(mser(&step), None);
    }

    #[test]
    fn the_later_of_both_starts_counts() {
        let sample = |n: u64| Sample {
            at: Instant::ZERO + Duration::from_micros(n),
            arrived: vec![100 * n],
            queued: 1_000 * n.min(20),
        };
        let samples: Vec<Sample> = (0..101).map(sample).collect();
        let (from, to) = window_of(&samples).unwrap();
        assert_eq!((from, to), (samples[20].at, samples[100].at));
        assert_eq!(window_of(&samples[..30]), None);
    }
}
