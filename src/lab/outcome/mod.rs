//! What a run gave: the JSON that `--format json` prints, the source of tables and of the report,
//! and the tree that checks look into by path.
//!
//! Field names are an interface. In the virtual world everything follows from the lab and its seed
//! alone: nothing depends on the machine, on how long the run took, or on what else was recorded.

mod agents;
mod figures;
mod flows;
mod gather;
mod lossy_way;
mod nodes;
mod tester;
mod transport;

use core::fmt;
use std::collections::BTreeMap;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::verdict::CheckOutcome;
use crate::sim::check::Deadlock;
use crate::tester::report::Report;
use crate::time::{Duration, Instant};
use crate::verdict::Verdict;

pub use agents::{MeasuredOutcome, StepOutcome};
pub use figures::{CompletionOutcome, Figures, HopOutcome, Signals};
#[cfg(feature = "dpdk")]
pub(super) use gather::Counted;
pub(super) use gather::{Ended, Window, flow_counts, gather};
pub use lossy_way::LossyWay;
pub use nodes::{
    GroupOutcome, HostOutcome, HostPort, HostPriority, NodeOutcome, SwitchOutcome, SwitchPort,
};
pub use transport::TransportOutcome;

/// A time in nanoseconds: a whole number in JSON where it is one, else with up to three decimals,
/// which are picoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Nanos(pub Duration);

/// A run's results.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Outcome {
    /// The version of Sluice.
    pub version: String,
    /// The lab.
    pub lab: String,
    /// Which of the lab's variants, if it has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// The world it ran in.
    pub world: &'static str,
    /// The seed of everything drawn on its links.
    pub seed: u64,
    /// The seed of the order at equal times, if that was drawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shuffle: Option<u64>,
    /// What identifies all that happened: equal for equal labs and seeds. 16 hexadecimal digits.
    /// Nothing in the real world, which never does the same twice.
    pub trace_hash: Option<String>,
    /// How long it ran, in the network's time. A run that was over before its time ends with the
    /// last data frame that arrived or was lost.
    pub elapsed_ns: Nanos,
    /// Whether everything that was to be sent had been sent and had arrived or was lost.
    pub done: bool,
    /// True if a signal ended the run before its time.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// Good if all checks are.
    pub verdict: Verdict,
    /// The checks, in the order of the lab.
    pub checks: Vec<CheckOutcome>,
    /// From when to when rates were measured.
    pub measured: Measured,
    /// The numbers by which runs are compared.
    pub figures: Figures,
    /// The flows, in the order of the lab.
    pub flows: Vec<FlowOutcome>,
    /// What came of the traffic generator, if the lab has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tester: Option<Report>,
    /// All pauses.
    pub pauses: PauseOutcome,
    /// Frames marked CE by switches.
    pub marks: u64,
    /// The first of them.
    pub first_mark_ns: Option<Nanos>,
    /// The reasons for which switches dropped frames, those that happened.
    pub drops: BTreeMap<String, u64>,
    /// Frames of lossless groups that switches lost to congestion, and those of [`Self::lossy_way`].
    pub lossless_drops: u64,
    /// Losses of flows that are lossless at their first switch and lossy at a later one, if there
    /// are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lossy_way: Option<LossyWay>,
    /// The first frame that a switch dropped.
    pub first_drop: Option<DropOutcome>,
    /// Frames lost on links.
    pub line_losses: LineLosses,
    /// Pause storms that watchdogs found.
    pub storms: StormOutcome,
    /// The planned faults that happened.
    pub faults: Vec<FaultOutcome>,
    /// Circles of queues that waited for each other.
    pub deadlocks: Vec<DeadlockOutcome>,
    /// The nodes by name, in the order of the lab.
    #[serde(serialize_with = "by_name")]
    pub nodes: Vec<NodeOutcome>,
    /// What the world could not have of the lab, and what was done instead.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shortfalls: Vec<String>,
    /// What the machine did, in the real world.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub real: Option<RealOutcome>,
    /// What the engine did; in the real world, the threads.
    pub engine: EngineOutcome,
}

/// What a machine did to run a lab in the real world.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct RealOutcome {
    /// How many threads polled the nodes.
    pub threads: usize,
    /// By how much the lab's time, in which all results are, ran slower than real time.
    pub slow_down: u64,
    /// How long the run took, in real time.
    pub wall_ns: u64,
    /// Of the lab's time, what did not pass because a thread was not there.
    pub stalled_ns: Nanos,
}

/// From when to when rates were measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Measured {
    /// From when.
    pub from_ns: Nanos,
    /// To when.
    pub to_ns: Nanos,
}

/// One flow.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FlowOutcome {
    /// Its name.
    pub name: String,
    /// The host that sends it.
    pub from: String,
    /// The host that receives it.
    pub to: String,
    /// Its priority.
    pub priority: u8,
    /// Whether its priority is lossless on its whole way.
    pub lossless: bool,
    /// Octets of its data frames, FCS included.
    pub frame_bytes: u32,
    /// Frames given to the sender's port.
    pub tx_frames: u64,
    /// Frames that arrived, duplicates left out.
    pub rx_frames: u64,
    /// Frames that are lost: neither arrived nor anywhere in the network at the end.
    pub loss_frames: u64,
    /// Frames that were on a line, at a port or in a switch at the end.
    pub pending_frames: u64,
    /// Octets sent, FCS included.
    pub tx_bytes: u64,
    /// Octets that arrived, FCS included.
    pub rx_bytes: u64,
    /// Frames that arrived again.
    pub duplicate_frames: u64,
    /// Frames that arrived behind one that was sent after them.
    pub reordered_frames: u64,
    /// Frames that arrived marked CE.
    pub ce_frames: u64,
    /// Octets of frames that arrived while rates were measured, FCS included, in bit/s.
    pub rx_bps: f64,
    /// The payload of those frames, in bit/s.
    pub payload_bps: f64,
    /// From handing a frame to the sender's port to its last bit at the receiver's; nothing if no frame
    /// arrived.
    pub latency_ns: Option<LatencyOutcome>,
    /// From the flow's start to its last frame's arrival, if it ended and all of it arrived. Of a
    /// flow that is acknowledged: from a message being due to the acknowledgement of its last
    /// octet, the mean of all that were completed.
    pub fct_ns: Option<Nanos>,
    /// What its two ends said to each other, if its receiver answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transport: Option<TransportOutcome>,
}

/// How long frames took. Percentiles are exact to three digits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct LatencyOutcome {
    /// The shortest.
    pub min: Nanos,
    /// Half took no longer.
    pub p50: Nanos,
    /// 99 of 100 took no longer.
    pub p99: Nanos,
    /// 999 of 1000 took no longer.
    pub p999: Nanos,
    /// The longest.
    pub max: Nanos,
}

/// All pauses of the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct PauseOutcome {
    /// When a group first crossed its limit.
    pub first_ns: Option<Nanos>,
    /// When the first pause was whole at a host.
    pub first_received_ns: Option<Nanos>,
    /// How often groups of switches crossed their limit (XOFF).
    pub xoffs: u64,
    /// How often they came below it again (XON).
    pub xons: u64,
    /// How often priorities of hosts went from running to paused.
    pub received_xoffs: u64,
    /// PFC and PAUSE frames that switches sent: XOFF, refresh and XON.
    pub frames_sent: u64,
    /// How long priorities of hosts were paused, all together.
    pub paused_ns: Nanos,
    /// The longest time that any priority of any port was paused without a break.
    pub longest_ns: Nanos,
}

/// The first frame that a switch dropped.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct DropOutcome {
    /// When.
    pub at_ns: Nanos,
    /// The switch.
    pub node: String,
    /// Its port.
    pub port: String,
    /// The frame's priority.
    pub priority: Option<u8>,
    /// Why.
    pub reason: &'static str,
}

/// Frames lost on links.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct LineLosses {
    /// A bit was received wrong.
    pub damaged: u64,
    /// By a link's rate of loss, or by a planned loss.
    pub lost: u64,
    /// On a link that went down, or that was.
    pub link_down: u64,
    /// A SecY could not protect them, or did not accept them, those that nobody sent too.
    pub secy: u64,
}

/// Pause storms that watchdogs found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct StormOutcome {
    /// Storms that began.
    pub detected: u64,
    /// Storms that ended.
    pub restored: u64,
}

/// A planned fault that happened.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct FaultOutcome {
    /// When.
    pub at_ns: Nanos,
    /// What, in words.
    pub what: String,
}

/// A circle of queues that waited for each other.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct DeadlockOutcome {
    /// When it was found.
    pub at_ns: Nanos,
    /// When the last frame left any of its queues.
    pub since_ns: Nanos,
    /// When it was found broken up, by a watchdog or a fault.
    pub ended_ns: Option<Nanos>,
    /// The queues, each of which waits for the next one.
    pub cycle: String,
}

impl From<&Deadlock> for DeadlockOutcome {
    fn from(d: &Deadlock) -> Self {
        Self {
            at_ns: Nanos::at(d.at),
            since_ns: Nanos::at(d.since),
            ended_ns: d.ended.map(Nanos::at),
            cycle: d.name.clone(),
        }
    }
}

/// What the engine did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct EngineOutcome {
    /// Events that it took from its queue.
    pub events: u64,
    /// Frames that started on a line: frame-hops.
    pub frames: u64,
    /// Those of them that were lost there.
    pub lost: u64,
    /// Polls of nodes.
    pub polls: u64,
}

impl Nanos {
    /// The time since the world began.
    #[must_use]
    pub const fn at(instant: Instant) -> Self {
        Self(instant.since(Instant::ZERO))
    }

    /// As a number, for plots.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        self.0.as_picos() as f64 / 1e3
    }
}

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl Serialize for Nanos {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let picos = self.0.as_picos();
        if picos % 1_000 == 0 {
            s.serialize_u64(picos / 1_000)
        } else {
            s.serialize_f64(self.as_f64())
        }
    }
}

impl Outcome {
    /// True if the checks' verdict is PASS.
    #[must_use]
    pub fn is_pass(&self) -> bool {
        self.verdict.is_pass()
    }

    /// The switches.
    pub fn switches(&self) -> impl Iterator<Item = &SwitchOutcome> {
        self.nodes.iter().filter_map(|node| match node {
            NodeOutcome::Switch(switch) => Some(switch),
            NodeOutcome::Host(_) => None,
        })
    }

    /// The hosts.
    pub fn hosts(&self) -> impl Iterator<Item = &HostOutcome> {
        self.nodes.iter().filter_map(|node| match node {
            NodeOutcome::Host(host) => Some(host),
            NodeOutcome::Switch(_) => None,
        })
    }
}

/// A list of nodes as an object, in order.
fn by_name<S: Serializer>(nodes: &[NodeOutcome], s: S) -> Result<S::Ok, S::Error> {
    let mut map = s.serialize_map(Some(nodes.len()))?;
    for node in nodes {
        map.serialize_entry(node.name(), node)?;
    }
    map.end()
}
