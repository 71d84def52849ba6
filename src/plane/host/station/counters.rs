//! Counters of a station, and the methods that read them.

use core::net::IpAddr;

use serde::Serialize;

use super::Station;
use crate::latency::Latency;
use crate::meter::{ControlCounters, MeterCounters};
use crate::neighbours::{NeighbourCounters, NeighbourSnapshot, Ping};
use crate::plan::FlowId;
use crate::reactions::ReactionCounters;
use crate::sink::{Sink, SinkCounters};
use crate::source::SourceCounters;
use crate::stream::StreamCounters;
use crate::transport::{Completion, ReceiverCounters, SenderCounters};
use contracts::port::Source;
use ground::time::{Instant, Total};
use ground::units::{Mac, PRIORITIES, Priority};
use secure::SecySnapshot;

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
    pub const fn of_flows(&self) -> [u64; 4] {
        [
            // Each own frame is among all frames, so no difference is negative.
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
    pub fn sender(&self, id: FlowId) -> Option<&SenderCounters> {
        self.senders.iter().find(|s| s.id == id)
    }

    /// Returns the counters of a flow's receiver, if it is at this station.
    #[must_use]
    pub fn receiver(&self, id: FlowId) -> Option<&ReceiverCounters> {
        self.receivers.iter().find(|r| r.id == id)
    }

    /// Returns the counters of a sent stream, if it is at this station.
    pub fn stream(&self, id: FlowId) -> Option<&StreamCounters> {
        self.streams.iter().find(|s| s.id == id)
    }

    /// Returns the counters of a received flow, if this station expects it.
    pub fn sink(&self, id: FlowId) -> Option<&SinkCounters> {
        self.sinks.iter().find(|s| s.id == id)
    }
}

impl<P: Source> Station<P> {
    /// Iterates over the started pings, oldest first.
    pub fn pings(&self) -> impl Iterator<Item = &Ping> {
        self.neighbours.pings()
    }

    /// Iterates over the interfaces' neighbours and their known addresses.
    pub fn neighbours(&self) -> impl Iterator<Item = (&str, IpAddr, Option<Mac>)> {
        self.neighbours.iter()
    }

    pub fn neighbour_counters(&self) -> &NeighbourCounters {
        self.neighbours.counters()
    }

    /// Returns the plain counters, without times and transitions of pauses. Costs nothing.
    pub const fn counters(&self) -> &StationCounters {
        &self.counters
    }

    /// Iterates over the counters of received flows: the expected ones, then those of its
    /// receivers. Costs nothing.
    pub fn sinks(&self) -> impl ExactSizeIterator<Item = &SinkCounters> {
        self.sinks.iter().map(Sink::counters)
    }

    /// Returns the counters of a flow that it expects or receives.
    pub fn sink(&self, id: FlowId) -> Option<&SinkCounters> {
        let place = self.lookup.get(id.0 as usize)?.checked_sub(1)?;
        Some(self.sinks[place as usize].counters())
    }

    /// Iterates over the counters of unacknowledged flows, in the order of the plan.
    pub fn sources(&self) -> impl Iterator<Item = SourceCounters> {
        self.sources.counters()
    }

    /// Iterates over the counters of its senders, in the order of the plan.
    pub fn senders(&self) -> impl Iterator<Item = SenderCounters> {
        self.sources.senders()
    }

    /// Iterates over the message completion times of its senders, in the order of the plan; `None`
    /// for a sender with at most one message.
    pub fn completion_times(&self) -> impl Iterator<Item = Option<&Latency>> {
        self.sources.completion_times()
    }

    /// Iterates over the first completed messages of its senders, in the order of the plan: as many
    /// as [`Work::log`](crate::plan::Work::log) says.
    pub fn message_logs(&self) -> impl Iterator<Item = &[Completion]> {
        self.sources.logs()
    }

    /// Iterates over the counters of its receivers, in the order of the plan.
    pub fn receivers(&self) -> impl Iterator<Item = ReceiverCounters> {
        self.answers.counters()
    }

    /// Returns the plain counters, with the pause time so far.
    pub fn counters_at(&self, now: Instant) -> StationCounters {
        let mut counters = self.counters.clone();
        // The receiver knows times and transitions; a pause that runs counts up to now.
        for (p, c) in Priority::ALL.into_iter().zip(&mut counters.priorities) {
            c.paused = self.receiver.paused_time(now, p);
            c.is_paused = self.receiver.is_paused(now, p);
            c.transitions = self.receiver.transitions(p);
        }
        counters
    }

    /// Returns the counters of congestion messages at `now`, if it obeys any.
    pub fn reactions_at(&self, now: Instant) -> Option<ReactionCounters> {
        self.reactions.as_ref().map(|reactions| reactions.counters(now, &self.sources))
    }

    /// Iterates over the counters of the expected control streams.
    pub fn control_counters(&self) -> impl Iterator<Item = ControlCounters> {
        self.meter.iter().flat_map(|meter| meter.control_counters())
    }

    /// Returns all counters, with the pause time so far.
    pub fn snapshot(&self, now: Instant) -> StationSnapshot {
        // Copies whole distributions, which takes time with many flows.
        let streams = self.sources.streams_at(now).collect();
        let sinks = self.sinks().cloned().collect();
        let completion_times = self.completion_times().map(|times| times.cloned()).collect();
        let message_logs = self.message_logs().map(<[_]>::to_vec).collect();
        StationSnapshot {
            streams,
            sinks,
            completion_times,
            message_logs,
            ..self.snapshot_light(now)
        }
    }

    /// As [`Self::snapshot`], without `streams`, `sinks`, `completion_times` and `message_logs`,
    /// which take time to copy.
    pub fn snapshot_light(&self, now: Instant) -> StationSnapshot {
        StationSnapshot {
            name: self.name.clone(),
            at: now,
            counters: self.counters_at(now),
            sources: self.sources.counters().collect(),
            streams: Vec::new(),
            senders: self.sources.senders().collect(),
            completion_times: Vec::new(),
            message_logs: Vec::new(),
            receivers: self.answers.counters().collect(),
            sinks: Vec::new(),
            meter: self.meter.as_ref().map(|m| m.counters(now)),
            neighbours: self.neighbours.snapshot(),
            reactions: self.reactions_at(now),
            secy: self.port.secy().map(|secy| Box::new(secy.snapshot())),
        }
    }
}
