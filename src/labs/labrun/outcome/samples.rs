//! Samples of flows without an end, and of the switches' buffers, at regular times of a run.

use crate::ends::{Bound, Ends, Source, bound, ends};
use crate::plan::LabPlan;
use crate::population::{HostCounts, Population};
use ground::time::Instant;
use ground::units::{PortId, PriorityGroup};
use sim::{Network, Node, NodeId, NodeKind, Nodes, Witness};

/// Slices of the run per sample.
const SLICES: u64 = 10;

/// Samples of a run.
#[derive(Clone, Debug)]
pub(crate) struct Samples {
    slices: u64,
    /// Flows that are sampled: indexes in [`LabPlan::flows`], and their ends.
    flows: Vec<(usize, Ends)>,
    /// True for each flow that sends as fast as it may, and has a fair share.
    pub(super) greedy: Vec<bool>,
    /// Switches, with their number of ports.
    switches: Vec<(NodeId, u16)>,
    pub(super) samples: Vec<Sample>,
}

/// State at one time.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    pub(super) at: Instant,
    /// Payload bytes of each sampled flow that have arrived.
    pub(super) arrived: Vec<u64>,
    /// Bytes in the buffers of all switches.
    pub(super) queued: u64,
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
    pub(super) fn flows(&self) -> impl Iterator<Item = usize> {
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
        let queued = self.switches.iter().map(|of| queued(nodes, *of)).sum();
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
fn queued(nodes: &mut Nodes, (id, ports): (NodeId, u16)) -> u64 {
    let Node::Switch(switch) = nodes.get_mut(id) else { return 0 };
    if switch.held() == 0 {
        return 0;
    }
    let ledger = switch.ledger();
    let ports = (0..ports).filter_map(PortId::new);
    let groups = ports.flat_map(|port| PriorityGroup::ALL.map(|group| ledger.usage(port, group)));
    let cells: u64 = groups.map(|of| u64::from(of.used.0) + u64::from(of.headroom.0)).sum();
    cells * u64::from(ledger.cell_bytes())
}
