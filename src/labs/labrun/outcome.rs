//! Results of a run: the JSON of `--format json`, the source of tables and of the report, and the
//! tree in which checks find numbers by path.
//!
//! Field names are an interface. In the virtual world all results follow from the lab and its seed
//! alone: they do not depend on the machine, the run time, or on what else was recorded.

/// Writes an object with these fields.
macro_rules! object {
    ($to:expr, $($name:ident: $value:expr,)+) => {{
        let mut object = $to.serialize_map(None)?;
        $(object.serialize_entry(stringify!($name), &$value)?;)+
        object.end()
    }};
}

mod figures;
mod flows;
mod gather;
mod ideal;
mod losses;
mod messages;
mod nodes;
mod steady;

use contracts::stats::{Drops, Storms};
use ground::statistics::Statistics;
use ground::time::Duration;
use ground::verdict::Verdict;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::Value;
use sim::Tally;
use sim::check::Deadlock;
use tester::report::Report;

pub use super::record::LineLosses;
#[cfg(feature = "dpdk")]
pub(super) use crate::population::Counted;
pub(super) use crate::population::{Ended, Window};
pub(super) use figures::completions;
#[cfg(any(test, feature = "rig"))]
pub use figures::distances;
pub use figures::{CompletionTimes, Completions, Figures, HopOutcome, Signals};
pub use flows::{CollectiveOutcome, TransportOutcome, WorkloadOutcome};
pub use gather::CheckOutcome;
pub(super) use gather::{flow_counts, gather};
pub use losses::{LosslessFlows, LossyWay};
pub(super) use messages::records;
pub use messages::{MessageRecord, MessageRecords, SlowdownBin, SlowdownOutcome};
pub use nodes::{
    GroupOutcome, HostOutcome, HostPort, MeasuredOutcome, NodeOutcome, StepOutcome, SwitchOutcome,
    SwitchPort,
};
pub(super) use steady::Samples;
pub use steady::SteadyOutcome;

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
    #[serde(serialize_with = "latency_form")]
    pub latency_ns: Option<Statistics<Duration>>,
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
    pub fn is_pass(&self) -> bool {
        self.verdict.is_pass()
    }

    /// Returns the checks that are inconclusive or FAIL.
    pub fn failed(&self) -> impl Iterator<Item = &CheckOutcome> {
        self.checks.iter().filter(|check| check.verdict.is_bad())
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

/// Writes a latency: the five figures that results of labs have.
fn latency_form<S: Serializer>(
    latency: &Option<Statistics<Duration>>,
    to: S,
) -> Result<S::Ok, S::Error> {
    // These names are an interface. The unit is in the name of the flow's field.
    let Some(l) = latency else { return to.serialize_none() };
    object! { to, min: l.min, p50: l.p50, p99: l.p99, p999: l.p999, max: l.max, }
}

/// Serialises a list of nodes as an object, in order.
fn by_name<S: Serializer>(nodes: &[NodeOutcome], s: S) -> Result<S::Ok, S::Error> {
    let mut map = s.serialize_map(Some(nodes.len()))?;
    for node in nodes {
        // An object and no list: paths of checks name nodes, and the order of the lab is kept.
        map.serialize_entry(node.name(), node)?;
    }
    map.end()
}

/// Keys whose number names an entry of a list.
const NUMBERED: [&str; 2] = ["priority", "group"];

/// Returns the value at `path`, whose parts are separated by dots: fields of objects by name,
/// entries of lists by their `name`, by their `priority` or `group`, or else by index from 0. Names
/// may contain dots.
///
/// # Errors
/// A sentence with the longest valid part of the path, and the names that follow it.
pub fn find<'a>(root: &'a Value, path: &str) -> Result<&'a Value, String> {
    // The error names the part where the longest valid path ends: a typo near the end is not one of the first name.
    let mut furthest = (root, path);
    search(root, path, &mut furthest).ok_or_else(|| {
        let (at, rest) = furthest;
        let part = rest.split('.').next().unwrap_or(rest);
        format!("there is no `{part}` in `{path}`{}", choices(at))
    })
}

/// Tries every split of `path` from here, shortest names first.
fn search<'a, 'p>(
    at: &'a Value,
    path: &'p str,
    furthest: &mut (&'a Value, &'p str),
) -> Option<&'a Value> {
    if path.is_empty() {
        return Some(at);
    }
    if path.len() < furthest.1.len() {
        *furthest = (at, path);
    }
    // A name may contain dots, so every dot may end it.
    let ends = path.match_indices('.').map(|(n, _)| n).chain([path.len()]);
    ends.filter_map(|end| {
        let inner = step(at, &path[..end])?;
        search(inner, path.get(end + 1..).unwrap_or(""), furthest)
    })
    .next()
}

/// Returns the child of a value by its key.
fn step<'a>(at: &'a Value, key: &str) -> Option<&'a Value> {
    match at {
        Value::Object(fields) => fields.get(key),
        Value::Array(list) => {
            let number = key.parse::<u64>().ok();
            let named = |v: &&Value| v.get("name").and_then(Value::as_str) == Some(key);
            let numbered = |v: &&Value| {
                number.is_some()
                    && NUMBERED.iter().any(|k| v.get(k).and_then(Value::as_u64) == number)
            };
            // A list of priorities has no place 3 beside its priority 3: the number would mean two things.
            let has_numbers = list.iter().any(|v| NUMBERED.iter().any(|k| v.get(k).is_some()));
            let by_place = || number.filter(|_| !has_numbers).and_then(|n| list.get(n as usize));
            // A name first: a port may be called `3`.
            list.iter().find(named).or_else(|| list.iter().find(numbered)).or_else(by_place)
        }
        _ => None,
    }
}

/// Lists the children of a value, for an error.
fn choices(at: &Value) -> String {
    const SHOWN: usize = 12;
    let names: Vec<String> = match at {
        Value::Object(fields) => fields.keys().cloned().collect(),
        Value::Array(list) => list
            .iter()
            .enumerate()
            .map(|(n, v)| match v.get("name").and_then(Value::as_str) {
                Some(name) => name.to_owned(),
                None => {
                    // The name by which `step` would find the entry, so that the error can be followed.
                    NUMBERED.iter().find_map(|k| v.get(k)).map_or(n.to_string(), Value::to_string)
                }
            })
            .collect(),
        _ => return ", which ends before that".into(),
    };
    let more = if names.len() > SHOWN { ", ..." } else { "" };
    let shown = names[..names.len().min(SHOWN)].join(", ");
    if shown.is_empty() {
        "; nothing is there".into()
    } else {
        format!("; there are {shown}{more}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tree() -> Value {
        json!({
            "pauses": {"first_ns": 148_079, "xons": null},
            "flows": [{"name": "a"}, {"name": "d.1", "payload_bps": 5}],
            "nodes": {"s1": {"ports": [{"name": "to_h1", "priorities": [{"priority": 3, "peak": 9}]}]}},
            "list": [7, 8],
        })
    }

    #[test]
    fn paths_lead_by_name_by_number_and_by_place() {
        let tree = tree();
        for (path, value) in [
            ("pauses.first_ns", json!(148_079)),
            ("flows.d.1.payload_bps", json!(5)),
            ("flows.0.name", json!("a")),
            ("nodes.s1.ports.to_h1.priorities.3.peak", json!(9)),
            ("nodes.s1.ports.0.name", json!("to_h1")),
            ("list.1", json!(8)),
            ("pauses.xons", Value::Null),
        ] {
            assert_eq!(find(&tree, path), Ok(&value), "{path}");
        }
    }

    #[test]
    fn a_wrong_path_says_where_it_goes_wrong_and_what_there_is() {
        let tree = tree();
        let error = |path| find(&tree, path).unwrap_err();
        assert_eq!(
            error("pauses.frist_ns"),
            "there is no `frist_ns` in `pauses.frist_ns`; there are first_ns, xons"
        );
        assert!(error("flows.b.payload_bps").ends_with("there are a, d.1"));
        assert!(error("nodes.s1.ports.to_h1.priorities.0.peak").ends_with("there are 3"));
        assert!(error("list.0.x").ends_with("which ends before that"));
    }
}
