//! Counters of a station.

use crate::latency::Latency;
use crate::meter::MeterCounters;
use crate::neighbours::NeighbourSnapshot;
use crate::plan::FlowId;
use crate::reactions::ReactionCounters;
use crate::sink::SinkCounters;
use crate::source::SourceCounters;
use crate::stream::StreamCounters;
use crate::transport::{Completion, ReceiverCounters, SenderCounters};
use ground::time::{Instant, Total};
use ground::units::PRIORITIES;
use secure::SecySnapshot;
use serde::Serialize;

/// Pause counters of one priority of a station, in the order of their JSON.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct PriorityPauses {
    /// Received pauses that enable it, XON included.
    #[serde(rename = "pfc_rx_frames")]
    pub received: u64,
    /// Pauses among them that were obeyed.
    #[serde(rename = "obeyed_frames")]
    pub obeyed: u64,
    /// Transitions from running to paused.
    #[serde(rename = "pfc_rx_transitions")]
    pub transitions: u64,
    /// True while it is paused.
    #[serde(skip)]
    pub is_paused: bool,
    /// Total pause time.
    #[serde(rename = "pfc_rx_paused_ns", serialize_with = "ground::time::nanos::exact")]
    pub paused: Total,
    /// Sent pauses that enable it.
    #[serde(rename = "pfc_tx_frames")]
    pub sent: u64,
}

/// Counters of a station. Its JSON, in this order, has what results of labs show.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct StationCounters {
    /// Frames received, of any kind.
    pub rx_frames: u64,
    /// Frames made for the port, of any kind.
    pub tx_frames: u64,
    /// Bytes received, FCS included.
    pub rx_bytes: u64,
    /// Bytes made for the port, FCS included.
    pub tx_bytes: u64,
    /// Received frames that its interfaces processed: ARP, neighbour discovery, pings.
    #[serde(skip)]
    pub rx_own_frames: u64,
    /// Bytes of these, FCS included.
    #[serde(skip)]
    pub rx_own_bytes: u64,
    /// Frames made by its interfaces, requests and replies.
    #[serde(skip)]
    pub tx_own_frames: u64,
    /// Bytes of these, FCS included.
    #[serde(skip)]
    pub tx_own_bytes: u64,
    /// PFC and PAUSE frames received, obeyed or not.
    pub pauses_received: u64,
    /// PFC and PAUSE frames sent.
    pub pauses_sent: u64,
    /// MAC control frames received that are neither.
    #[serde(rename = "malformed_frames")]
    pub malformed: u64,
    /// Frames to other addresses, as a switch floods them.
    #[serde(rename = "foreign_frames")]
    pub foreign: u64,
    /// Frames to this station of no expected flow.
    #[serde(rename = "unexpected_frames")]
    pub unexpected: u64,
    /// Frames of streams of another run, from a device's buffer or another generator.
    #[serde(skip)]
    pub other_runs: u64,
    /// Frames lost before the port accepted them, because the link went down.
    #[serde(skip)]
    pub flushed: u64,
    #[serde(serialize_with = "ground::numbered::serialize")]
    pub priorities: [PriorityPauses; PRIORITIES],
}

impl StationCounters {
    /// Returns frames and bytes sent, frames and bytes received, as testers count their ports:
    /// without the requests and replies of interfaces.
    #[must_use]
    pub const fn of_flows(&self) -> [u64; 4] {
        [
            self.tx_frames - self.tx_own_frames,
            self.tx_bytes - self.tx_own_bytes,
            self.rx_frames - self.rx_own_frames,
            self.rx_bytes - self.rx_own_bytes,
        ]
    }
}

/// Snapshot of a station's counters.
#[derive(Clone, Debug)]
pub struct StationSnapshot {
    /// Name in the plan.
    pub name: String,
    pub at: Instant,
    pub counters: StationCounters,
    /// Unacknowledged flows, in the order of the plan.
    pub sources: Vec<SourceCounters>,
    /// Sent streams, in the order of the plan.
    pub streams: Vec<StreamCounters>,
    /// Senders, in the order of the plan.
    pub senders: Vec<SenderCounters>,
    /// Message completion times of the senders, in the same order; `None` for at most one message.
    pub completion_times: Vec<Option<Latency>>,
    /// First completed messages of the senders, in the same order.
    pub message_logs: Vec<Vec<Completion>>,
    /// Receivers, in the order of the plan.
    pub receivers: Vec<ReceiverCounters>,
    /// Received flows: the expected ones, then those of its receivers.
    pub sinks: Vec<SinkCounters>,
    /// Results of the meter, if there is one.
    pub meter: Option<MeterCounters>,
    /// Neighbours and pings of its interfaces.
    pub neighbours: NeighbourSnapshot,
    /// Counters of congestion messages, if it obeys any.
    pub reactions: Option<ReactionCounters>,
    /// Counters of the port's `SecY`, if it has one.
    pub secy: Option<Box<SecySnapshot>>,
}

impl StationSnapshot {
    /// Returns the counters of a flow's sender, if it is at this station.
    #[must_use]
    pub fn sender(&self, id: FlowId) -> Option<&SenderCounters> {
        self.senders.iter().find(|s| s.id == id)
    }

    /// Returns the counters of a flow's receiver, if it is at this station.
    #[must_use]
    pub fn receiver(&self, id: FlowId) -> Option<&ReceiverCounters> {
        self.receivers.iter().find(|r| r.id == id)
    }

    /// Returns the counters of a sent stream, if it is at this station.
    #[must_use]
    pub fn stream(&self, id: FlowId) -> Option<&StreamCounters> {
        self.streams.iter().find(|s| s.id == id)
    }

    /// Returns the counters of a received flow, if this station expects it.
    #[must_use]
    pub fn sink(&self, id: FlowId) -> Option<&SinkCounters> {
        self.sinks.iter().find(|s| s.id == id)
    }
}
