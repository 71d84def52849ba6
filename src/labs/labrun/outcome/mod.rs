//! Results of a run: the JSON of `--format json`, the source of tables and of the report, and the
//! tree in which checks find numbers by path.
//!
//! Field names are an interface. In the virtual world all results follow from the lab and its seed
//! alone: they do not depend on the machine, the run time, or on what else was recorded.

mod agents;
mod checks;
mod completions;
mod ended;
mod figures;
mod flows;
mod gather;
mod ideal;
mod lossless_flows;
mod lossy_way;
mod messages;
mod nodes;
mod samples;
mod steady;
mod tester;
mod transport;
mod workloads;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

pub use super::record::LineLosses;
use ::tester::report::Report;
use contracts::stats::{Drops, Storms};
use ground::time::Duration;
use ground::verdict::Verdict;
use host::LatencyFigures;
use sim::Tally;
use sim::check::Deadlock;

pub use agents::{MeasuredOutcome, StepOutcome};
pub use checks::CheckOutcome;
pub(super) use completions::completions;
pub use completions::{CompletionTimes, Completions};
#[cfg(feature = "dpdk")]
pub(super) use ended::Counted;
pub(super) use ended::{Ended, Window};
#[cfg(any(test, feature = "rig"))]
pub use figures::distances;
pub use figures::{CompletionOutcome, Figures, HopOutcome, Signals};
pub(super) use gather::{flow_counts, gather};
pub use lossless_flows::LosslessFlows;
pub use lossy_way::LossyWay;
pub(super) use messages::records;
pub use messages::{MessageRecord, MessageRecords, SlowdownBin, SlowdownOutcome};
pub use nodes::{GroupOutcome, HostOutcome, HostPort, NodeOutcome, SwitchOutcome, SwitchPort};
pub(super) use samples::Samples;
pub use steady::SteadyOutcome;
pub use transport::TransportOutcome;
pub use workloads::{CollectiveOutcome, LoadOutcome, WorkloadOutcome};

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Outcome {
    /// Version of Sluice.
    pub version: String,
    /// Name of the lab.
    pub lab: String,
    /// Variant of the lab, if it has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// World: `virtual` or `real`.
    pub world: &'static str,
    /// Seed of everything random.
    pub seed: u64,
    /// Seed of the order of simultaneous events, if that was random.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shuffle: Option<u64>,
    /// Hash of all events, 16 hexadecimal digits: equal for equal labs and seeds. `None` in the
    /// real world, which is not reproducible.
    pub trace_hash: Option<String>,
    /// Run time in network time. A run that ended early ends with the last data frame that arrived
    /// or was lost.
    pub elapsed_ns: Duration,
    /// True if all traffic was sent, and had arrived or was lost.
    pub done: bool,
    /// True if a signal ended the run early.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// Worst verdict of the checks.
    pub verdict: Verdict,
    /// Checks, in the order of the lab.
    pub checks: Vec<CheckOutcome>,
    /// Measurement interval of rates.
    pub measured: Measured,
    /// Key figures for comparing runs.
    pub figures: Figures,
    /// Flows, in the order of the lab.
    pub flows: Vec<FlowOutcome>,
    /// Workloads, in the order of the lab.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub workloads: Vec<WorkloadOutcome>,
    /// Report of the traffic generator, if the lab has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tester: Option<Report>,
    /// Pauses of the whole network.
    pub pauses: PauseOutcome,
    /// Frames that switches marked CE.
    pub marks: u64,
    /// Time of the first mark.
    pub first_mark_ns: Option<Duration>,
    /// Dropped frames of switches by reason, without zeros.
    pub drops: Drops,
    /// Frames of lossless groups that switches dropped because of congestion, and those of
    /// [`Self::lossy_way`].
    pub lossless_drops: u64,
    /// Losses of flows that are lossless at their first switch and lossy at a later one, if there
    /// are such flows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lossy_way: Option<LossyWay>,
    /// Losses of flows that are lossless on their whole way, whatever took the frames, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lossless_flows: Option<LosslessFlows>,
    /// First frame that a switch dropped.
    pub first_drop: Option<DropOutcome>,
    pub line_losses: LineLosses,
    /// PFC storms that watchdogs detected.
    pub storms: Storms,
    /// Planned faults that happened.
    pub faults: Vec<FaultOutcome>,
    /// Deadlocks: cyclic buffer dependencies.
    pub deadlocks: Vec<Deadlock>,
    /// Nodes by name, in the order of the lab.
    #[serde(serialize_with = "by_name")]
    pub nodes: Vec<NodeOutcome>,
    /// Parts of the lab that this world does not support, and their replacements; planned changes that
    /// a switch refused because measured headroom had taken the memory.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shortfalls: Vec<String>,
    /// State of the machine, in the real world.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub real: Option<RealOutcome>,
    /// Counters of the simulation engine; in the real world, of the threads.
    pub engine: Tally,
}

/// State of the machine in a real-world run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct RealOutcome {
    /// Number of threads that polled the nodes.
    pub threads: usize,
    /// Factor by which the lab's time, the time of all results, ran slower than real time.
    pub slow_down: u64,
    /// Duration of the run in real time.
    pub wall_ns: u64,
    /// Lab time that was not counted because a thread was preempted.
    pub stalled_ns: Duration,
}

/// Measurement interval of rates.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Measured {
    /// Start.
    pub from_ns: Duration,
    /// End.
    pub to_ns: Duration,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FlowOutcome {
    pub name: String,
    /// Sending host.
    pub from: String,
    /// Receiving host.
    pub to: String,
    pub priority: u8,
    /// True if its priority is lossless on the whole path.
    pub lossless: bool,
    /// Length of its data frames in bytes, FCS included.
    pub frame_bytes: u32,
    /// Frames passed to the sender's port.
    pub tx_frames: u64,
    /// Frames received, without duplicates.
    pub rx_frames: u64,
    /// Frames lost: neither received nor in the network at the end.
    pub loss_frames: u64,
    /// Frames on a line, at a port or in a switch at the end.
    pub pending_frames: u64,
    /// Bytes sent, FCS included.
    pub tx_bytes: u64,
    /// Bytes received, FCS included.
    pub rx_bytes: u64,
    /// Duplicate frames received.
    pub duplicate_frames: u64,
    /// Frames received after one that was sent later.
    pub reordered_frames: u64,
    /// Frames received with CE.
    pub ce_frames: u64,
    /// Receive rate in the measurement interval in bit/s, FCS included.
    pub rx_bps: f64,
    /// Payload rate in the measurement interval in bit/s.
    pub payload_bps: f64,
    /// Latency from passing a frame to the sender's port to its last bit at the receiver's; `None`
    /// if no frame arrived.
    pub latency_ns: Option<LatencyFigures>,
    /// Flow completion time: from the flow's start to its last frame's arrival, if it ended without
    /// loss. For a flow with acknowledgements: mean time from a message becoming due to the
    /// acknowledgement of its last byte.
    pub fct_ns: Option<Duration>,
    /// Transport counters, for a flow with acknowledgements.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transport: Option<TransportOutcome>,
}

/// Pauses of the whole network.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct PauseOutcome {
    /// Time at which a group first crossed its XOFF threshold.
    pub first_ns: Option<Duration>,
    /// Time at which the last bit of the first pause was received by a host.
    pub first_received_ns: Option<Duration>,
    /// XOFF crossings of groups of switches.
    pub xoffs: u64,
    /// XON crossings of groups of switches.
    pub xons: u64,
    /// Changes of priorities of hosts from running to paused; with 802.3x PAUSE, of their lines.
    pub received_xoffs: u64,
    /// PFC and PAUSE frames that switches sent: XOFF, refresh and XON.
    pub frames_sent: u64,
    /// Sum of the pause times of all priorities of hosts; with 802.3x PAUSE, of their lines.
    pub paused_ns: Duration,
    /// Longest uninterrupted pause of any priority of any port.
    pub longest_ns: Duration,
}

/// First frame that a switch dropped.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct DropOutcome {
    /// Time of the drop.
    pub at_ns: Duration,
    /// Name of the switch.
    pub node: String,
    /// Name of the port.
    pub port: String,
    pub priority: Option<u8>,
    /// Drop reason.
    pub reason: &'static str,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct FaultOutcome {
    /// Time of the fault.
    pub at_ns: Duration,
    /// Description of the fault.
    pub what: String,
}

impl Outcome {
    /// True if the checks' verdict is PASS.
    #[must_use]
    pub fn is_pass(&self) -> bool {
        self.verdict.is_pass()
    }

    pub fn switches(&self) -> impl Iterator<Item = &SwitchOutcome> {
        self.nodes.iter().filter_map(|node| match node {
            NodeOutcome::Switch(switch) => Some(switch),
            NodeOutcome::Host(_) => None,
        })
    }

    pub fn hosts(&self) -> impl Iterator<Item = &HostOutcome> {
        self.nodes.iter().filter_map(|node| match node {
            NodeOutcome::Host(host) => Some(host),
            NodeOutcome::Switch(_) => None,
        })
    }
}

/// Serialises a list of nodes as an object, in order.
fn by_name<S: Serializer>(nodes: &[NodeOutcome], s: S) -> Result<S::Ok, S::Error> {
    let mut map = s.serialize_map(Some(nodes.len()))?;
    for node in nodes {
        map.serialize_entry(node.name(), node)?;
    }
    map.end()
}
