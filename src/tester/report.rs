//! Results of a test: one tree for tables, JSON, CSV, HTML pages, metrics and OTG clients.
//!
//! Times are in seconds or nanoseconds as the suffixes tell; unknown numbers are omitted.

use std::sync::Arc;

use serde::Serialize;

use super::plan::Metrics;
use super::time::Measured;

/// All counters at one moment.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Report {
    /// Seconds since the last start of the flows; `None` before the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elapsed_s: Option<f64>,
    /// The world: `real` or `virtual`.
    pub world: &'static str,
    /// The source of times.
    pub stamps: Stamps,
    /// In the order of the configuration.
    pub ports: Vec<Port>,
    /// In the order of the configuration.
    pub flows: Vec<Flow>,
    /// Deviations from the configuration, one sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The disturbance by the machine, in the real world.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
}

/// The disturbance of a run by preempted threads.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Machine {
    /// Preempted time since the start of the flows in nanoseconds, of the most preempted thread.
    pub preempted_ns: f64,
    /// The longest gap between two polls of a thread, in nanoseconds; 0 if none took a
    /// millisecond.
    pub longest_gap_ns: f64,
    /// True if the test's clock was stopped in this time, because all of its ports are in memory.
    pub excluded: bool,
}

/// The source and the precision of timestamps.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Stamps {
    pub source: &'static str,
    /// The least difference that it can resolve, in nanoseconds.
    pub resolution_ns: f64,
    /// Maximum error of a latency in either direction, in nanoseconds: the time between a
    /// timestamp and the wire. For software it is the time of a poll at either end (99th
    /// percentile).
    pub uncertainty_ns: f64,
}

impl Stamps {
    /// Returns the shortest time that timestamps distinguish from none, in nanoseconds. Virtual
    /// time is exact.
    #[must_use]
    pub fn floor_ns(&self) -> f64 {
        if self.source == "virtual" { 0.0 } else { self.resolution_ns.max(self.uncertainty_ns) }
    }

    /// Returns a time in nanoseconds as measured with these timestamps.
    #[must_use]
    pub fn measured(&self, ns: f64) -> Measured {
        Measured::new(ns, self.floor_ns())
    }
}

#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Port {
    pub name: String,
    pub location: String,
    pub link_up: bool,
    /// The rate for pacing and for quanta.
    pub speed_bps: u64,
    /// True if any of its flows is sending.
    pub transmitting: bool,
    /// True if a capture is running.
    pub capturing: bool,
    /// Frames of any kind.
    pub frames_tx: u64,
    /// Frames of any kind.
    pub frames_rx: u64,
    /// FCS included.
    pub bytes_tx: u64,
    /// FCS included.
    pub bytes_rx: u64,
    /// Per second, over the last second or since the start.
    pub frames_tx_rate: f64,
    /// Per second, over the last second or since the start.
    pub frames_rx_rate: f64,
    /// Per second, over the last second or since the start.
    pub bytes_tx_rate: f64,
    /// Per second, over the last second or since the start.
    pub bytes_rx_rate: f64,
    /// Received frames that belong to no flow to this port.
    pub unexpected: u64,
    /// Received frames of another run, from a device's queue or from another generator. They
    /// count for no flow.
    pub other_runs: u64,
    /// Received MAC control frames that are neither PFC nor PAUSE.
    pub malformed: u64,
    /// Frames in the memory of the capture.
    pub captured: u64,
    /// Frames that a full capture did not store.
    pub capture_missed: u64,
    /// Frames that the receive ring holds while no thread polls; `None` if it is not known.
    #[serde(skip)]
    pub rx_room: Option<u64>,
    /// Frames that the device lost before the tester saw them, since the test was configured;
    /// `None` if the device does not count them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rx_missed: Option<u64>,
    /// Frames that the device accepted and did not send, since the test was configured.
    pub tx_dropped: u64,
    pub priorities: Vec<Priority>,
}

/// Pause counters of one priority at a port.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Priority {
    pub priority: u8,
    /// Received pauses that name the priority.
    pub pauses_rx: u64,
    /// Of these, those with time 0.
    pub resumes_rx: u64,
    /// Total requested pause time as the union of the received pauses, each of which replaces the
    /// one before.
    pub requested_ns: f64,
    /// Total time in which the priority was paused.
    pub paused_ns: f64,
    /// Number of transitions from running to paused.
    pub transitions: u64,
    /// The longest time from a pause's arrival to the last frame of the priority that was sent
    /// afterwards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_frame_after_pause_ns: Option<Measured>,
    /// Sent pauses that name the priority.
    pub pauses_tx: u64,
    /// Of these, those with time 0.
    pub resumes_tx: u64,
    /// The longest interval between two sent pauses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub largest_gap_ns: Option<f64>,
    /// The pause time of the sent pauses, within which the next must be sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_ns: Option<f64>,
    /// True if each pause was sent before the previous one had expired.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub continuous: Option<bool>,
    /// Number of sent pauses that did not renew another one, each of which must stop the peer.
    pub reaction_count: u64,
    /// Time from sending a pause to the start of the last frame before the peer stopped; the
    /// minimum. IEEE 802.3 31B.3.7 limits this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reaction_min_ns: Option<Measured>,
    /// As above, the median of the last 128.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reaction_p50_ns: Option<Measured>,
    /// As above, the 99th percentile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reaction_p99_ns: Option<Measured>,
    /// As above, the maximum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reaction_max_ns: Option<Measured>,
    /// Received frames that began during a sent pause.
    pub frames_in_window: u64,
    /// Of these, frames after the peer had stopped.
    pub frames_after_stop: u64,
    /// The longest time from sending a resume to the first received frame of the priority.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume_ns: Option<Measured>,
}

#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Flow {
    pub name: String,
    /// The configured measurements.
    #[serde(skip)]
    pub metrics: Metrics,
    pub port_tx: String,
    pub port_rx: Vec<String>,
    /// `started`, `stopped` (every frame has arrived or is lost) or `paused`.
    pub transmit: &'static str,
    pub frames_tx: u64,
    /// Without duplicates.
    pub frames_rx: u64,
    /// FCS included.
    pub bytes_tx: u64,
    /// FCS included.
    pub bytes_rx: u64,
    /// Per second, over the last second or since the start.
    pub frames_tx_rate: f64,
    /// Per second, over the last second or since the start.
    pub frames_rx_rate: f64,
    /// Per second, over the last second or since the start.
    pub bytes_tx_rate: f64,
    /// Per second, over the last second or since the start.
    pub bytes_rx_rate: f64,
    /// Lost frames in percent of those sent; frames in flight count as lost until the flow has
    /// ended.
    pub loss_percent: f64,
    /// Frames in flight at the end, which are not lost; `None` if the number is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queued_frames: Option<u64>,
    /// Frames that had arrived before.
    pub duplicates: u64,
    /// Frames that arrived after a frame that was sent later.
    pub reordered: u64,
    /// Frames that arrived with CE.
    pub ce_marked: u64,
    /// CNPs sent by the receiver and received by the sender, for RoCE.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cnp: Option<(u64, u64)>,
    /// The configured and the achieved rate, after the end or over a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pacing: Option<Pacing>,
    /// The latency of its frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency: Option<Latency>,
    /// Seconds from the start to the first frame's arrival.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_rx_s: Option<f64>,
    /// Seconds from the start to the last frame's arrival.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_rx_s: Option<f64>,
    /// The transport counters of a connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection: Option<Connection>,
}

impl Flow {
    /// Returns the number of sent frames that have neither arrived nor are known to be in flight.
    /// Pause flows and flows whose frames are not counted by receivers lose none.
    #[must_use]
    pub fn lost(&self) -> u64 {
        if self.loss_percent == 0.0 {
            return 0;
        }
        self.frames_tx.saturating_sub(self.frames_rx + self.queued_frames.unwrap_or(0))
    }
}

/// A RoCEv2 connection.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Connection {
    /// The sender's queue pair.
    pub src_qp: u32,
    /// The receiver's queue pair.
    pub dst_qp: u32,
    /// The sender's address.
    pub src_ip: core::net::Ipv4Addr,
    /// The receiver's address.
    pub dst_ip: core::net::Ipv4Addr,
    pub retransmitted: u64,
    /// Expired retransmission timeouts of the sender.
    pub timeouts: u64,
    /// Packets that arrived after a gap.
    pub out_of_order: u64,
    /// Acknowledged messages.
    pub messages_tx: u64,
    /// Complete received messages.
    pub messages_rx: u64,
    /// Time from the start of the last message to its acknowledgement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion_ns: Option<f64>,
    /// ACKs sent by the receiver.
    pub acks_tx: u64,
    /// ACKs received by the sender.
    pub acks_rx: u64,
    /// NAKs sent by the receiver.
    pub naks_tx: u64,
    /// NAKs received by the sender.
    pub naks_rx: u64,
    /// CNPs sent by the receiver.
    pub cnps_tx: u64,
    /// CNPs received by the sender.
    pub cnps_rx: u64,
    /// The current rate of the sender.
    pub rate_bps: u64,
}

/// The accuracy of a flow's pacing.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Pacing {
    /// Configured frames per second.
    pub asked_fps: f64,
    /// Achieved frames per second, between the first and the last frame.
    pub sent_fps: f64,
    /// Difference of the two in parts per million of the configured rate.
    pub error_ppm: f64,
    /// Interval between two frames at the port, in nanoseconds; the minimum.
    pub gap_min_ns: Measured,
    /// As above, the median.
    pub gap_p50_ns: Measured,
    /// As above, the 99th percentile.
    pub gap_p99_ns: Measured,
    /// As above, the maximum.
    pub gap_max_ns: Measured,
}

/// The latency of a flow's frames in nanoseconds.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Latency {
    /// Number of measured frames.
    pub frames: u64,
    pub min_ns: Measured,
    pub mean_ns: Measured,
    /// The median.
    pub p50_ns: Measured,
    pub p99_ns: Measured,
    pub p999_ns: Measured,
    pub max_ns: Measured,
    /// The whole distribution in nanoseconds, if it was requested: at the end of a run, and for
    /// files.
    #[serde(skip)]
    pub distribution: Option<Arc<crate::host::Latency>>,
}
