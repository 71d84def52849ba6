//! A validated lab: the plan that either world runs, and its checks.

use super::message_log::keep_messages;
use congestion::EcnPlan;
use ground::time::Duration;
use ground::units::{BitsPerSec, PortId, Priority};
use host::FlowId;
use sim::{Direction, LinkId, NetworkPlan, NodeId};
use tester::plan::TestPlan;
use wire::ip::Ecn;

/// A resolved lab file.
#[derive(Clone, Debug)]
pub struct LabPlan {
    /// Name in results.
    pub name: String,
    /// Variant of the file, if it is one.
    pub variant: Option<String>,
    /// Nodes, links, faults and seeds. A world reports the parts that it does not support.
    pub network: NetworkPlan,
    /// Flows in the order of the file; their frames carry the [`FlowId`].
    pub flows: Vec<LabFlow>,
    /// Workloads: entries of the file with drawn sizes, with a load, or of a collective.
    pub workloads: Vec<Workload>,
    /// Traffic generator, if there is one.
    pub tester: Option<LabTester>,
    /// Longest run.
    pub duration: Duration,
    /// True to end the run once all traffic has arrived or was lost.
    pub until_done: bool,
    /// Start of the measurement interval of rates and shares.
    pub measure_from: Duration,
    /// End of the measurement interval; `None` for the end of the run.
    pub measure_to: Option<Duration>,
    /// Checks of the run.
    pub checks: Vec<Check>,
    /// Recording of the run.
    pub record: Record,
}

impl LabPlan {
    /// Keeps messages one by one, as `record: {messages: true}` in the file does. The run is the same
    /// otherwise.
    pub fn keep_messages(&mut self) {
        self.record.messages = true;
        keep_messages(&mut self.network.nodes, true);
    }

    /// Returns the flow ids of the traffic generator.
    pub fn tester_flows(&self) -> impl Iterator<Item = FlowId> + '_ {
        self.tester.iter().flat_map(|tester| &tester.plan.flows).map(|flow| flow.id)
    }
}

/// A switch that classifies frames of a flow to a lossy group.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LossyHop {
    pub node: NodeId,
    /// Ingress port.
    pub port: PortId,
    /// Priority that the switch assigns.
    pub priority: Priority,
}

/// A flow of a lab, as results name it.
#[derive(Clone, PartialEq, Debug)]
pub struct LabFlow {
    pub name: String,
    pub id: FlowId,
    /// Sending host.
    pub from: NodeId,
    /// Receiving host.
    pub to: NodeId,
    pub priority: Priority,
    /// True if its priority is lossless on the whole path.
    pub lossless: bool,
    /// Lossy hops of a flow that its first switch classifies as lossless, in the order of the path.
    pub lossy_at: Vec<LossyHop>,
    /// How its sender learns of congestion, if it does.
    pub signals: FlowSignals,
    /// True for a victim flow, whose throughput the congestion of others must not reduce.
    pub victim: bool,
    /// Lines of its path, in order.
    pub way: Vec<Direction>,
    /// Length of its data frames in bytes, FCS included.
    pub frame_len: u32,
    /// Payload length of each data frame in bytes: behind UDP, BTH or TCP; without IP, the frame
    /// less Ethernet header, tag and FCS.
    pub payload_len: u32,
}

/// Transport of a flow, and what tells it of congestion.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct FlowSignals {
    /// As in the file: `udp`, `roce`.
    pub transport: &'static str,
    /// True with a DCQCN reaction point.
    pub dcqcn: bool,
    /// Code point of its data.
    pub ecn: Ecn,
    /// Marking of its queue at the first switch that marks; `None` if none on its path does.
    pub marking: Option<EcnPlan>,
}

/// A workload: one entry of the file, and the flows that it has become.
#[derive(Clone, PartialEq, Debug)]
pub struct Workload {
    /// Name of the entry.
    pub name: String,
    /// Its flows, indexes in [`LabPlan::flows`].
    pub flows: std::ops::Range<usize>,
    /// Description of the sizes: `websearch`, or `1000 bytes`.
    pub sizes: String,
    /// Mean of the sizes in bytes.
    pub mean_bytes: f64,
    /// Number of messages that were drawn, and the sum of their sizes in bytes.
    pub messages: u64,
    pub bytes: u64,
    /// Offered load, if the messages are due at random times.
    pub load: Option<OfferedLoad>,
    /// Collective, if it is one.
    pub collective: Option<Collective>,
}

/// Offered load of a workload.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct OfferedLoad {
    /// Configured share of each link, as a fraction.
    pub share: f64,
    /// Links whose share it is.
    pub of: Side,
    /// Share that the messages take that were drawn, the mean of all links: a fraction.
    pub drawn: f64,
    /// Number of links.
    pub links: usize,
    /// Time in which messages become due.
    pub span: Duration,
}

/// End of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    Sender,
    Receiver,
}

impl Side {
    /// Returns the name in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sender => "sender",
            Self::Receiver => "receiver",
        }
    }
}

/// A collective operation of several hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Collective {
    /// Pattern in the file: `ring` or `exchange`.
    pub pattern: &'static str,
    /// Number of hosts.
    pub hosts: u64,
    /// Data of each host in bytes.
    pub bytes: u64,
    /// Bytes of each message.
    pub chunk: u64,
    /// Number of steps.
    pub steps: u64,
}

/// Traffic generator on hosts of a lab. Its flow numbers are below those of the lab's flows.
#[derive(Clone, PartialEq, Debug)]
pub struct LabTester {
    /// Test configuration.
    pub plan: TestPlan,
    /// Host of each port.
    pub hosts: Vec<NodeId>,
    /// Link rate of each of these hosts.
    pub rates: Vec<BitsPerSec>,
}

/// A check of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Check {
    /// Name in results.
    pub name: String,
    pub kind: CheckKind,
    /// True if the file names no checks. Such a check is left out of a run in which it cannot apply: without a
    /// pause, or on rings that cannot judge it.
    pub by_default: bool,
    /// Source of the expected value, for the reader.
    pub source: Option<String>,
}

/// Kinds of checks.
#[derive(Clone, PartialEq, Debug)]
pub enum CheckKind {
    /// Every frame and every buffer cell is accounted for, on every line and in every node.
    Conservation,
    /// No frame of a lossless priority, and none of a flow that is lossless on its whole way, is lost. Not
    /// judged where planned faults of the environment took all that are lost.
    LosslessDelivery,
    /// No frame of a priority starts while that priority is paused, judged by the frames on the
    /// lines.
    PauseLegality,
    /// Every pause that a switch requested ends before the run does.
    PausesEnd,
    /// No cyclic buffer dependency (deadlock).
    NoDeadlock,
    /// No egress link of a switch is idle while an unpaused frame is queued for it, sampled at
    /// [`NetworkPlan::sample_every`].
    WorkConserving,
    /// A marked frame leaves every switch that marks before it first sends a pause.
    EcnBeforePfc,
    /// The flows have equal throughput, up to `tolerance` (0.01 is 1 %) of the mean.
    Fairness {
        /// Indexes in [`LabPlan::flows`].
        flows: Vec<usize>,
        /// Largest deviation from the mean, as a fraction of it.
        tolerance: f64,
    },
    /// A number in the results.
    Value {
        /// Path in the JSON results, names separated by dots: `flows.d.payload_bps`,
        /// `pauses.first_ns`, `nodes.s1.ports.to_h1.priorities.3.headroom_peak_bytes`.
        path: String,
        /// Path of another number, which is the expected value then.
        same_as: Option<String>,
        /// Expected value and bounds.
        expect: Expectation,
    },
}

/// Expected value and bounds of a number; all that are set must hold.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Expectation {
    /// Expected value.
    pub value: Option<f64>,
    /// Largest deviation from `value`.
    pub tolerance: Tolerance,
    /// Lower bound, inclusive.
    pub at_least: Option<f64>,
    /// Upper bound, inclusive.
    pub at_most: Option<f64>,
}

/// Largest deviation of a number from its expected value.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum Tolerance {
    /// No deviation.
    #[default]
    Exact,
    /// Fraction of the expected value: 0.01 is 1 %.
    Relative(f64),
    /// Absolute difference.
    Absolute(f64),
}

/// Recording of a run.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Record {
    /// Sampling interval of queues and rates for plots; `None` for the shortest that a plot can
    /// resolve. (The runner sets [`NetworkPlan::sample_every`] from it.)
    pub sample_every: Option<Duration>,
    /// True to keep messages one by one.
    pub messages: bool,
    /// Links whose frames are captured to pcapng files, both directions of each in one file.
    pub pcapng: Vec<(LinkId, std::path::PathBuf)>,
}
