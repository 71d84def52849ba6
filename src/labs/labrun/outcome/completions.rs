//! Distributions of message completion times, for plots. The figures of the results come from the same
//! histograms.

use super::ended::station;
use crate::ends::{Ends, Source, ends};
use crate::plan::LabPlan;
use crate::population::{HostCounts, Population};
use ground::time::Duration;
use host::Latency;

/// Most flows with a distribution of their own: those with the most messages.
pub const FLOWS_MAX: usize = 64;

/// Steps in the lower part of a distribution, and the share of the messages beyond a step that the
/// next one is to reach at least.
const STEPS: f64 = 300.0;
const TAIL: f64 = 0.1;

/// Completion times of messages, from a message becoming due to the acknowledgement of its last byte.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CompletionTimes {
    /// Number of completed messages.
    pub messages: u64,
    /// Times, to three digits and ascending, with the number of messages that took no longer. The last
    /// one is the exact maximum.
    pub steps: Vec<(Duration, u64)>,
}

impl CompletionTimes {
    /// Takes a distribution; steps that no plot shows are left out.
    fn new(times: &Latency) -> Self {
        let messages = times.count();
        let mut steps: Vec<(Duration, u64)> = Vec::new();
        let mut kept = 0;
        for (time, seen) in times.cumulative() {
            let (new, left) = ((seen - kept) as f64, (messages - kept) as f64);
            if new >= messages as f64 / STEPS || new >= left * TAIL {
                steps.push((time, seen));
                kept = seen;
            }
        }
        Self { messages, steps }
    }
}

/// Completion times of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Completions {
    /// Messages of all flows; `None` if none was completed.
    pub all: Option<CompletionTimes>,
    /// Flows with several messages: their places in the lab, in its order.
    pub flows: Vec<(usize, CompletionTimes)>,
}

/// Returns the distributions of a run.
pub(crate) fn completions(plan: &LabPlan, nodes: &mut impl Population) -> Completions {
    let ends = ends(plan);
    let all = all_completions(&ends, nodes);
    let mut flows: Vec<(usize, CompletionTimes)> = Vec::new();
    for (place, ends) in ends.iter().enumerate() {
        let Source::Answered(n, _) = ends.source else { continue };
        let times = station(nodes, ends.from).completion_times(n).filter(|times| times.count() > 0);
        flows.extend(times.map(|times| (place, CompletionTimes::new(times))));
    }
    flows.sort_by_key(|(place, times)| (core::cmp::Reverse(times.messages), *place));
    flows.truncate(FLOWS_MAX);
    flows.sort_by_key(|(place, _)| *place);
    Completions { all: (all.count() > 0).then(|| CompletionTimes::new(&all)), flows }
}

/// Returns the completion times of all messages of all flows.
pub(super) fn all_completions(ends: &[Ends], nodes: &mut impl Population) -> Latency {
    let mut all = Latency::default();
    for ends in ends {
        let Source::Answered(n, _) = ends.source else { continue };
        let sender = station(nodes, ends.from);
        let only = sender.sender(n).and_then(|s| s.completions.fct);
        match (sender.completion_times(n), only) {
            (Some(times), _) => all.add(times),
            (None, Some(took)) => all.record(took),
            (None, None) => {}
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_messages_have_a_step_each_and_many_keep_the_tail() {
        let mut few = Latency::default();
        for us in [7, 3, 3, 900] {
            few.record(Duration::from_micros(us));
        }
        let few = CompletionTimes::new(&few);
        assert_eq!(few.steps.iter().map(|(_, seen)| *seen).collect::<Vec<_>>(), [2, 3, 4]);
        assert_eq!(few.steps[2].0, Duration::from_micros(900));
        let mut many = Latency::default();
        for n in 0..1_000_000 {
            many.record(Duration::from_nanos(1_000 + n));
        }
        let many = CompletionTimes::new(&many);
        assert!((200..=500).contains(&many.steps.len()), "{}", many.steps.len());
        assert!(many.steps.windows(2).all(|two| two[0].0 <= two[1].0 && two[0].1 < two[1].1));
        assert_eq!(many.steps.last(), Some(&(Duration::from_nanos(1_000_999), 1_000_000)));
        let beyond = |share: f64| many.steps.iter().filter(|s| s.1 as f64 > share * 1e6).count();
        assert!(beyond(0.99) > 9, "{} steps beyond 99 %", beyond(0.99));
    }
}
