//! A validated lab: the plan that either world runs, its checks, the plans of both ends of every flow, and the
//! number of messages that senders keep one by one.

use congestion::EcnPlan;
use ground::time::{Duration, Instant};
use ground::units::{BitsPerSec, PortId, Priority};
use host::{FlowId, StationPlan, TransportPlan};
use serde::Serialize;
use sim::{Direction, LinkId, NetworkPlan, NodeId, NodeKind, NodePlan};
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

/// Offered load of a workload, as in results.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct OfferedLoad {
    /// Links whose share it is.
    pub of: Side,
    /// Configured share of each link, as a fraction.
    #[serde(rename = "configured")]
    pub share: f64,
    /// Share that the messages take that were drawn, the mean of all links: a fraction.
    #[serde(rename = "offered")]
    pub drawn: f64,
    /// Number of links.
    #[serde(skip)]
    pub links: usize,
    /// Time in which messages become due.
    #[serde(skip)]
    pub span: Duration,
}

/// End of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    Sender,
    Receiver,
}

impl Side {
    /// Returns the name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sender => "sender",
            Self::Receiver => "receiver",
        }
    }
}

/// A collective operation of several hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Collective {
    /// Pattern in the file: `ring` or `exchange`.
    pub pattern: &'static str,
    /// Number of hosts.
    pub hosts: u64,
    /// Data of each host in bytes.
    pub bytes: u64,
    /// Bytes of each message.
    #[serde(rename = "chunk_bytes")]
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

/// Both ends of a flow in the plans of its hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Ends {
    /// Sending host.
    pub(super) from: NodeId,
    /// Index among the sending host's flows or senders.
    pub(super) source: Source,
    /// Receiving host.
    pub(super) to: NodeId,
    /// Index among the receiving host's sinks.
    pub(super) sink: usize,
}

/// The sending end of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Source {
    /// A flow without acknowledgements: its index among the host's flows.
    OpenLoop(usize),
    /// A flow with acknowledgements: its indexes among the senders of one host and the receivers of
    /// the other.
    Answered(usize, usize),
}

/// Returns the ends of all flows, in the order of the lab.
///
/// # Panics
/// If a flow of the lab is not in its hosts' plans; a resolved plan has all of them.
pub(super) fn ends(plan: &LabPlan) -> Vec<Ends> {
    let find = |flow: &LabFlow| {
        let (from, to) = (host(plan, flow.from), host(plan, flow.to));
        let of = |plans: &[TransportPlan]| plans.iter().position(|t| t.id == flow.id);
        let (source, sink) = match from.flows.iter().position(|f| f.id == flow.id) {
            Some(n) => (Source::OpenLoop(n), to.expects.iter().position(|id| *id == flow.id)?),
            None => {
                let receiver = of(&to.receivers)?;
                // A host counts what arrives by sink: first the flows without acknowledgements, then its receivers.
                (Source::Answered(of(&from.senders)?, receiver), to.expects.len() + receiver)
            }
        };
        Some(Ends { from: flow.from, source, to: flow.to, sink })
    };
    let found = plan.flows.iter().map(|flow| {
        find(flow).unwrap_or_else(|| panic!("flow {} is not at both of its hosts", flow.name))
    });
    found.collect()
}

/// Returns the time at which the first frame of a flow is due, by its sender's clock.
pub(super) fn start(plan: &LabPlan, ends: &Ends) -> Instant {
    let host = host(plan, ends.from);
    match ends.source {
        Source::OpenLoop(n) => host.flows[n].start,
        Source::Answered(n, _) => host.senders[n].start,
    }
}

/// What ends a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Bound {
    /// This number of frames.
    Frames(u64),
    /// Its messages.
    Messages,
    /// A time, by its sender's clock; [`Instant::NEVER`] for none.
    Time(Instant),
}

/// Returns what ends a flow.
pub(super) fn bound(plan: &LabPlan, ends: &Ends) -> Bound {
    let host = host(plan, ends.from);
    match ends.source {
        Source::OpenLoop(n) => {
            host.flows[n].frames.map_or(Bound::Time(host.flows[n].stop), Bound::Frames)
        }
        Source::Answered(n, _) => {
            let flow = &host.senders[n];
            let endless =
                flow.message.is_none_or(|m| m.count >= ENDLESS) && flow.work.list.is_none();
            if endless { Bound::Time(flow.stop) } else { Bound::Messages }
        }
    }
}

/// Returns the transport of a flow with acknowledgements.
pub(super) fn transport<'a>(plan: &'a LabPlan, ends: &Ends) -> Option<&'a TransportPlan> {
    match ends.source {
        Source::OpenLoop(_) => None,
        Source::Answered(n, _) => Some(&host(plan, ends.from).senders[n]),
    }
}

pub(super) fn host(plan: &LabPlan, id: NodeId) -> &StationPlan {
    match &plan.network.nodes[id.index()].kind {
        NodeKind::Host(station) => station,
        NodeKind::Switch(switch) => panic!("{} is no host", switch.name),
    }
}

/// Messages of an unlimited flow: more than any run sends.
pub const ENDLESS: u64 = u32::MAX as u64;

/// Messages that are kept for slowdowns without `record.messages`.
const LOG_DEFAULT: u64 = 100_000;

/// Messages that are kept with it; see `record.messages` of lab files.
const LOG_MAX: u64 = 1_000_000;

/// Decides how many messages each sender keeps one by one: all that were drawn; those of flows with
/// a known number as long as there are few; with `every`, also those of others, up to a limit.
pub fn keep_messages(nodes: &mut [NodePlan], every: bool) {
    let known = |t: &TransportPlan| match &t.work.list {
        Some(list) => Some(list.messages().len() as u64),
        None => t.message.map(|m| m.count).filter(|count| *count < ENDLESS),
    };
    let senders = || {
        nodes.iter().filter_map(|node| match &node.kind {
            NodeKind::Host(station) => Some(&station.senders),
            NodeKind::Switch(_) => None,
        })
    };
    let flows = senders().map(Vec::len).sum::<usize>() as u64;
    let all = senders().flatten().filter_map(known).fold(0, u64::saturating_add);
    // All or none of the known ones, so that slowdowns do not depend on which flows came first.
    let few = all <= if every { LOG_MAX } else { LOG_DEFAULT };
    // So the memory of all logs is bounded, whatever the number of flows.
    let share = LOG_MAX / flows.max(1);
    for node in nodes {
        let NodeKind::Host(station) = &mut node.kind else { continue };
        for sender in &mut station.senders {
            let listed = sender.work.list.is_some();
            let most = match known(sender) {
                // Drawn messages are kept in any case: their number has a limit of its own.
                Some(count) if few || listed => count,
                // An endless flow gets an equal share of the limit.
                _ if every => share,
                _ => 0,
            };
            sender.work.log = most as usize;
        }
    }
}
