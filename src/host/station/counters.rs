//! What a station counts.

use crate::host::meter::MeterCounters;
use crate::host::neighbours::NeighbourSnapshot;
use crate::host::plan::FlowId;
use crate::host::reactions::ReactionCounters;
use crate::host::sink::{Latency, SinkCounters};
use crate::host::source::SourceCounters;
use crate::host::stream::StreamCounters;
use crate::host::transport::{ReceiverCounters, SenderCounters};
use crate::secure::SecySnapshot;
use crate::time::{Instant, Total};
use crate::units::PRIORITIES;

/// What happened to one priority of a station.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PriorityPauses {
    /// Pauses received that name it, XON among them.
    pub received: u64,
    /// Those of them that were obeyed.
    pub obeyed: u64,
    /// How often it went from running to paused.
    pub transitions: u64,
    /// How long it was paused.
    pub paused: Total,
    /// Pauses sent that name it.
    pub sent: u64,
}

/// What happened at a station.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StationCounters {
    /// Frames received, of any kind.
    pub rx_frames: u64,
    /// Their octets, FCS included.
    pub rx_bytes: u64,
    /// Frames made for the port, of any kind.
    pub tx_frames: u64,
    /// Their octets, FCS included.
    pub tx_bytes: u64,
    /// Frames among those received that its interfaces took: ARP, neighbour discovery, pings.
    pub rx_own_frames: u64,
    /// Their octets, FCS included.
    pub rx_own_bytes: u64,
    /// Frames among those made that its interfaces asked or answered with.
    pub tx_own_frames: u64,
    /// Their octets, FCS included.
    pub tx_own_bytes: u64,
    /// PFC and PAUSE frames received, whether obeyed or not.
    pub pauses_received: u64,
    /// PFC and PAUSE frames sent.
    pub pauses_sent: u64,
    /// MAC control frames received that are neither.
    pub malformed: u64,
    /// Frames to other addresses, as a switch floods them.
    pub foreign: u64,
    /// Frames to this station that belong to no flow that it expects.
    pub unexpected: u64,
    /// Frames of streams of another run, which a device still held or another generator sends.
    pub other_runs: u64,
    /// Frames made for the port that were lost before it took them, because the link went down.
    pub flushed: u64,
    /// By priority.
    pub priorities: [PriorityPauses; PRIORITIES],
}

impl StationCounters {
    /// Frames and octets sent, frames and octets received, as testers count their ports: without
    /// what interfaces ask and answer by themselves.
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

/// A station's counters at one moment.
#[derive(Clone, Debug)]
pub struct StationSnapshot {
    /// Its name in the plan.
    pub name: String,
    /// When.
    pub at: Instant,
    /// What it counted.
    pub counters: StationCounters,
    /// What it sent of the flows that nobody answers, in the order of the plan.
    pub sources: Vec<SourceCounters>,
    /// What it sent of its streams, in the order of the plan.
    pub streams: Vec<StreamCounters>,
    /// What its senders did and saw, in the order of the plan.
    pub senders: Vec<SenderCounters>,
    /// How long the messages of each of them took, in the same order; nothing where there is one at
    /// most.
    pub completion_times: Vec<Option<Latency>>,
    /// What its receivers saw and said, in the order of the plan.
    pub receivers: Vec<ReceiverCounters>,
    /// What it received, by flow: those that it was told to expect, then those of its receivers.
    pub sinks: Vec<SinkCounters>,
    /// What its meter measured, if it has one.
    pub meter: Option<MeterCounters>,
    /// Its interfaces' neighbours and pings.
    pub neighbours: NeighbourSnapshot,
    /// What became of the messages that it is to obey, if there are such.
    pub reactions: Option<ReactionCounters>,
    /// What its port's `SecY` did, if it has one.
    pub secy: Option<Box<SecySnapshot>>,
}

impl StationSnapshot {
    /// What the sender of a flow did, if it is one of this station's.
    #[must_use]
    pub fn sender(&self, id: FlowId) -> Option<&SenderCounters> {
        self.senders.iter().find(|s| s.id == id)
    }

    /// What the receiver of a flow saw, if it is one of this station's.
    #[must_use]
    pub fn receiver(&self, id: FlowId) -> Option<&ReceiverCounters> {
        self.receivers.iter().find(|r| r.id == id)
    }

    /// What was sent of a stream, if it is one of this station's.
    #[must_use]
    pub fn stream(&self, id: FlowId) -> Option<&StreamCounters> {
        self.streams.iter().find(|s| s.id == id)
    }

    /// What arrived of a flow, if this station expects it.
    #[must_use]
    pub fn sink(&self, id: FlowId) -> Option<&SinkCounters> {
        self.sinks.iter().find(|s| s.id == id)
    }
}
