//! A lab, validated: what either world is told to run, and what is asked of the run.

use crate::host::FlowId;
use crate::sim::{Direction, LinkId, NetworkPlan, NodeId};
use crate::tester::plan::TestPlan;
use crate::time::Duration;
use crate::units::{BitsPerSec, PortId, Priority};

/// A lab file resolved.
#[derive(Clone, Debug)]
pub struct LabPlan {
    /// Its name in results.
    pub name: String,
    /// Which of the file's variants it is, if it is one.
    pub variant: Option<String>,
    /// Nodes, links, faults and seeds. A world that cannot have part of it says so.
    pub network: NetworkPlan,
    /// The flows, in the order of the file; [`FlowId`] is what their frames carry.
    pub flows: Vec<LabFlow>,
    /// The traffic generator, if there is one.
    pub tester: Option<LabTester>,
    /// When the run ends at the latest.
    pub duration: Duration,
    /// Whether it ends as soon as everything that was to be sent has arrived or was lost.
    pub until_done: bool,
    /// Rates and shares are measured from here on, to the end of the run or to `measure_to`.
    pub measure_from: Duration,
    /// Where rates and shares stop being measured.
    pub measure_to: Option<Duration>,
    /// What is asked of the run.
    pub checks: Vec<Check>,
    /// What is recorded of it.
    pub record: Record,
}

impl LabPlan {
    /// The flows of the traffic generator, by number.
    pub(super) fn tester_flows(&self) -> impl Iterator<Item = FlowId> + '_ {
        self.tester.iter().flat_map(|tester| &tester.plan.flows).map(|flow| flow.id)
    }
}

/// A switch that takes frames of a flow for a priority whose group is lossy.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LossyHop {
    /// The switch.
    pub node: NodeId,
    /// The port by which they come in.
    pub port: PortId,
    /// The priority.
    pub priority: Priority,
}

/// A flow of a lab, as results name it.
#[derive(Clone, PartialEq, Debug)]
pub struct LabFlow {
    /// Its name.
    pub name: String,
    /// Its number.
    pub id: FlowId,
    /// The host that sends it.
    pub from: NodeId,
    /// The host that receives it.
    pub to: NodeId,
    /// Its priority.
    pub priority: Priority,
    /// Whether its priority is lossless on its whole way.
    pub lossless: bool,
    /// Hops that are lossy although its first switch takes it for lossless, in the order of its way.
    pub lossy_at: Vec<LossyHop>,
    /// Whether it is one of those that congestion of others is not to harm.
    pub victim: bool,
    /// The lines over which its data goes, in order.
    pub way: Vec<Direction>,
    /// Octets of its data frames, FCS included.
    pub frame_len: u32,
    /// Octets of payload in each of them: behind UDP, BTH or TCP; the frame without Ethernet
    /// header, tag and FCS where there is no IP.
    pub payload_len: u32,
}

/// A traffic generator on hosts of a lab. Its flows have the numbers below those of the lab's.
#[derive(Clone, PartialEq, Debug)]
pub struct LabTester {
    /// What it was told.
    pub plan: TestPlan,
    /// The host that each of its ports is.
    pub hosts: Vec<NodeId>,
    /// The rate of each of these hosts' links.
    pub rates: Vec<BitsPerSec>,
}

/// One thing that is asked of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Check {
    /// Its name in results.
    pub name: String,
    /// What is asked.
    pub kind: CheckKind,
    /// Where the expectation comes from, for people.
    pub source: Option<String>,
}

/// What can be asked.
#[derive(Clone, PartialEq, Debug)]
pub enum CheckKind {
    /// Every frame and every cell is accounted for, on every line and in every node.
    Conservation,
    /// No frame of a lossless priority is dropped. Frames lost by planned faults are not drops.
    LosslessDelivery,
    /// No frame of a priority starts while that is paused, counted from what is on the lines.
    PauseLegality,
    /// Every pause that a switch asked for ends before the run does.
    PausesEnd,
    /// No circle of ports waits for itself (circular buffer dependency).
    NoDeadlock,
    /// No line that leaves a switch is idle while a frame waits for it that nobody pauses, looked
    /// at as often as [`NetworkPlan::sample_every`] says.
    WorkConserving,
    /// A marked frame leaves every switch that marks before it first pauses anyone.
    EcnBeforePfc,
    /// The flows get equal shares, up to `tolerance` (0.01 is 1 %) of the mean.
    Fairness {
        /// The flows' places in [`LabPlan::flows`].
        flows: Vec<usize>,
        /// The largest deviation from the mean, as a fraction of it.
        tolerance: f64,
    },
    /// A number of the results.
    Value {
        /// Where it is in the JSON results, by names: `flows.d.payload_bps`, `pauses.first_ns`,
        /// `nodes.s1.ports.to_h1.priorities.3.headroom_peak_bytes`.
        path: String,
        /// What it has to be, as any of these that are there.
        expect: Expectation,
    },
}

/// What a number has to be.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Expectation {
    /// About this.
    pub value: Option<f64>,
    /// How far it may be from `value`.
    pub tolerance: Tolerance,
    /// No less than this.
    pub at_least: Option<f64>,
    /// No more than this.
    pub at_most: Option<f64>,
}

/// How far a number may be from what is expected.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum Tolerance {
    /// Not at all.
    #[default]
    Exact,
    /// By this fraction of it: 0.01 is 1 %.
    Relative(f64),
    /// By this much.
    Absolute(f64),
}

/// What is recorded.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Record {
    /// How often queues and rates are looked at for plots; nothing for as often as a plot can
    /// show. ([`NetworkPlan::sample_every`] is set from it by whoever runs the lab.)
    pub sample_every: Option<Duration>,
    /// The links whose frames are written to pcapng files, both directions of each in one file.
    pub pcapng: Vec<(LinkId, std::path::PathBuf)>,
}
