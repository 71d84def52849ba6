//! Results of workloads and collectives.

use serde::Serialize;

use super::ended::station;
use crate::ends::{self, Ends, Source, ends};
use crate::plan::{Collective, LabPlan, Workload};
use crate::population::{HostCounts, Population};
use ground::time::{Duration, Instant};
use sim::NodeId;

/// A workload: an entry of the lab with drawn sizes, with a load, or of a collective.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct WorkloadOutcome {
    /// Name of the entry.
    pub name: String,
    /// Sizes: the name of their distribution, or their number of bytes.
    pub sizes: String,
    /// Mean of the sizes in bytes.
    pub mean_bytes: f64,
    /// Number of messages, or of flows whose sizes were drawn.
    pub messages: u64,
    /// Sum of their sizes in bytes.
    pub bytes: u64,
    /// Number of messages that are acknowledged completely; 0 for flows without acknowledgements.
    pub completed: u64,
    /// Offered load, if the messages are due at random times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<LoadOutcome>,
    /// Collective, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collective: Option<CollectiveOutcome>,
}

/// Offered load of a workload.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct LoadOutcome {
    /// Links whose share it is: those of `sender` or `receiver`.
    pub of: &'static str,
    /// Configured share of each link, a fraction.
    pub configured: f64,
    /// Share that the drawn messages take, the mean of all links, a fraction.
    pub offered: f64,
}

/// A collective.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct CollectiveOutcome {
    /// Pattern: `ring` or `exchange`.
    pub pattern: &'static str,
    /// Number of hosts.
    pub hosts: u64,
    /// Data of each host in bytes.
    pub bytes: u64,
    /// Bytes of each message.
    pub chunk_bytes: u64,
    /// Number of steps.
    pub steps: u64,
    /// Time from the start of the first flow to the arrival of the last chunk, in network time;
    /// `None` if one had not arrived at the end of the run.
    pub completion_ns: Option<Duration>,
}

/// Returns the results of all workloads.
pub(super) fn workloads(plan: &LabPlan, nodes: &mut impl Population) -> Vec<WorkloadOutcome> {
    if plan.workloads.is_empty() {
        return Vec::new();
    }
    let ends = ends(plan);
    plan.workloads.iter().map(|of| workload(plan, of, &ends[of.flows.clone()], nodes)).collect()
}

fn workload(
    plan: &LabPlan,
    of: &Workload,
    ends: &[Ends],
    nodes: &mut impl Population,
) -> WorkloadOutcome {
    let mut completed = 0;
    for ends in ends {
        let Source::Answered(n, _) = ends.source else { continue };
        completed += station(nodes, ends.from).sender(n).map_or(0, |s| s.completions.messages);
    }
    let load = of.load.map(|load| LoadOutcome {
        of: load.of.name(),
        configured: load.share,
        offered: load.drawn,
    });
    WorkloadOutcome {
        name: of.name.clone(),
        sizes: of.sizes.clone(),
        mean_bytes: of.mean_bytes,
        messages: of.messages,
        bytes: of.bytes,
        completed,
        load,
        collective: of.collective.map(|of| collective(plan, of, ends, nodes)),
    }
}

fn collective(
    plan: &LabPlan,
    of: Collective,
    ends: &[Ends],
    nodes: &mut impl Population,
) -> CollectiveOutcome {
    let clock = |id: NodeId| plan.network.nodes[id.index()].clock;
    let starts = ends.iter().map(|e| clock(e.from).network(ends::start(plan, e)));
    let start = starts.min().unwrap_or(Instant::ZERO);
    let finished = |ends: &Ends| {
        let Source::Answered(_, n) = ends.source else { return None };
        let finished = station(nodes, ends.to).receiver(n)?.finished?;
        Some(clock(ends.to).network(finished))
    };
    // None if any flow has not finished.
    let finished: Option<Vec<Instant>> = ends.iter().map(finished).collect();
    CollectiveOutcome {
        pattern: of.pattern,
        hosts: of.hosts,
        bytes: of.bytes,
        chunk_bytes: of.chunk,
        steps: of.steps,
        completion_ns: finished.and_then(|all| Some(all.into_iter().max()?.since(start))),
    }
}
