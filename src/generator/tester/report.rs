//! Results of a test: one tree for tables, JSON, CSV, HTML pages, metrics and OTG clients.
//!
//! Times are in seconds or nanoseconds as the suffixes tell; unknown numbers are omitted.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::figures::Measured;
use super::plan::Metrics;
use ground::described;
use ground::described::{Field, Kind, Numeric};
use ground::statistics::Statistics;
use ground::time::Duration;

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
    /// Names of the ports of the thread that was preempted most.
    #[serde(skip)]
    pub preempted_ports: Vec<String>,
    /// CPU time that a device on the far side of the ports may have missed.
    #[serde(skip)]
    pub device: DeviceCpu,
}

/// CPU time that a device under test may have missed.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub enum DeviceCpu {
    /// It does not run on this machine, or in time that waits for it.
    #[default]
    Elsewhere,
    /// It runs on this machine, which does not tell how long threads waited.
    Unknown,
    /// It runs on this machine. The longest time for which one of its threads can have waited, in
    /// nanoseconds.
    Waited(f64),
}

/// The disturbance of a run by preempted threads.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Machine {
    /// Preempted time since the start of the flows in nanoseconds, of the most preempted thread.
    pub preempted_ns: f64,
    /// The longest gap between two polls of a thread, in nanoseconds; 0 if none took a
    /// millisecond.
    pub longest_gap_ns: f64,
    /// True if the test's clock was stopped in this time, because all of its ports are in memory.
    pub excluded: bool,
}

/// Time for which a thread of the tester, or of a device on the same machine, had no CPU.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Unattended {
    /// Seconds for which frames may have been lost or held back for that reason.
    pub seconds: f64,
    /// Who had no CPU, and for how long, in words; empty if all had theirs.
    pub who: String,
}

impl Report {
    /// Returns the longest time for which a device on this machine had no CPU, in nanoseconds.
    pub const fn device_waited_ns(&self) -> f64 {
        match self.device {
            DeviceCpu::Waited(waited) => waited,
            DeviceCpu::Elsewhere | DeviceCpu::Unknown => 0.0,
        }
    }

    /// Returns the time for which ports or the device were not attended to.
    pub fn unattended(&self) -> Unattended {
        let (mut ns, mut all) = (0.0, Vec::new());
        let ms = |ns: f64| (ns / 1e6).ceil();
        if let Some(machine) = self.machine.filter(|machine| !machine.excluded) {
            let Machine { preempted_ns, longest_gap_ns, .. } = machine;
            let of = match &self.preempted_ports[..] {
                [] => String::new(),
                ports => format!(" of port {}", ports.join(", ")),
            };
            // The larger of both, as the gap may be part of the preempted time.
            ns += preempted_ns.max(longest_gap_ns);
            if preempted_ns > 0.0 {
                all.push(format!("the tester's thread{of} had no CPU for {} ms", ms(preempted_ns)));
            }
            if longest_gap_ns > 0.0 {
                all.push(format!("ports were not polled for up to {} ms", ms(longest_gap_ns)));
            }
        }
        let waited = self.device_waited_ns();
        if waited > 0.0 {
            ns += waited;
            let ms = ms(waited);
            all.push(format!("the device on this machine had no CPU for up to {ms} ms"));
        }
        Unattended { seconds: ns / 1e9, who: all.join(", ") }
    }
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
    pub fn floor_ns(&self) -> f64 {
        if self.source == "virtual" { 0.0 } else { self.resolution_ns.max(self.uncertainty_ns) }
    }

    /// Returns a time in nanoseconds as measured with these timestamps.
    pub fn measured(&self, ns: f64) -> Measured {
        Measured::new(ns, self.floor_ns())
    }
}

described! {
    /// A port.
    #[derive(Clone, PartialEq, Debug, Default, Serialize)]
    Port {
        name: String,
        location: String,
        /// True if the link is up.
        link_up: bool = Gauge,
        /// Rate for pacing and for quanta, in bit/s.
        speed_bps: u64 = Gauge,
        /// True if any flow of the port is sending.
        transmitting: bool = Gauge,
        /// True if a capture is running.
        capturing: bool = Gauge,
        /// Frames sent, of any kind.
        frames_tx: u64 = Counter,
        /// Frames received, of any kind.
        frames_rx: u64 = Counter,
        /// Bytes sent, FCS included.
        bytes_tx: u64 = Counter,
        /// Bytes received, FCS included.
        bytes_rx: u64 = Counter,
        /// Frames sent per second, over the last second or since the start.
        frames_tx_rate: f64 = Gauge,
        /// Frames received per second, over the last second or since the start.
        frames_rx_rate: f64 = Gauge,
        /// Bytes sent per second, over the last second or since the start.
        bytes_tx_rate: f64 = Gauge,
        /// Bytes received per second, over the last second or since the start.
        bytes_rx_rate: f64 = Gauge,
        /// Received frames that belong to no flow to this port.
        unexpected: u64 = Counter,
        /// Received frames of another run, from a device's queue or from another generator, which
        /// count for no flow.
        other_runs: u64 = Counter,
        /// Received MAC control frames that are neither PFC nor PAUSE.
        malformed: u64 = Counter,
        /// Frames in the memory of the capture.
        captured: u64 = Counter,
        /// Frames that a full capture did not store.
        capture_missed: u64 = Counter,
        /// Frames that the receive ring holds while no thread polls; `None` if it is not known.
        #[serde(skip)]
        rx_room: Option<u64>,
        /// Frames that the device lost before the tester received them, since the test was
        /// configured; absent if the device does not count them.
        #[serde(skip_serializing_if = "Option::is_none")]
        rx_missed: Option<u64> = Counter,
        /// Frames that the device accepted and did not send, since the test was configured.
        tx_dropped: u64 = Counter,
        /// Source flow control messages received; absent if the port obeys none.
        #[serde(skip_serializing_if = "Option::is_none")]
        sfcm_rx: Option<u64> = Counter,
        /// Source flow control messages that started or extended a pause.
        #[serde(skip_serializing_if = "Option::is_none")]
        sfcm_obeyed: Option<u64> = Counter,
        /// Source flow control messages with invalid bytes, of a flow, priority or host that is not
        /// here, or about messages.
        #[serde(skip_serializing_if = "Option::is_none")]
        sfcm_refused: Option<u64> = Counter,
        /// Total pause time of flows, or of priorities, by source flow control messages.
        #[serde(skip_serializing_if = "Option::is_none")]
        sfcm_paused_ns: Option<f64> = Counter,
        /// Requested pause time of the source flow control messages that started or extended a pause.
        #[serde(skip_serializing_if = "Option::is_none")]
        sfcm_requested_ns: Option<f64> = Counter,
        /// Source flow control messages obeyed whose locator says incast.
        #[serde(skip_serializing_if = "Option::is_none")]
        sfcm_incast: Option<u64> = Counter,
        /// Source flow control messages obeyed whose locator says in-network.
        #[serde(skip_serializing_if = "Option::is_none")]
        sfcm_in_network: Option<u64> = Counter,
        /// Time from the first data frame sent to the first source flow control message obeyed.
        #[serde(skip_serializing_if = "Option::is_none")]
        sfcm_first_ns: Option<Measured> = Gauge,
        /// Maximum time from a source flow control message to the departure of the last frame made before it.
        #[serde(skip_serializing_if = "Option::is_none")]
        sfcm_silence_ns: Option<Measured> = Gauge,
        /// Source flow control messages sent; absent if there were none.
        #[serde(skip_serializing_if = "Option::is_none")]
        sfcm_tx: Option<u64> = Counter,
        /// Requested pause time of the source flow control messages sent.
        #[serde(skip_serializing_if = "Option::is_none")]
        sfcm_tx_requested_ns: Option<f64> = Counter,
        /// Minimum time from sending a source flow control message to the start of the last received frame of its
        /// priority before the sender stopped.
        #[serde(skip_serializing_if = "Option::is_none")]
        sfcm_reaction_min_ns: Option<Measured> = Gauge,
        /// Median of the last of these times.
        #[serde(skip_serializing_if = "Option::is_none")]
        sfcm_reaction_p50_ns: Option<Measured> = Gauge,
        /// Maximum of these times.
        #[serde(skip_serializing_if = "Option::is_none")]
        sfcm_reaction_max_ns: Option<Measured> = Gauge,
        /// PFC frames that began a pause at another port after one of the last 128 messages sent.
        #[serde(skip_serializing_if = "Option::is_none")]
        sfcm_to_pfc: Option<u64> = Gauge,
        /// Minimum time from sending a message to receiving the PFC of a proxy.
        #[serde(skip_serializing_if = "Option::is_none")]
        sfcm_to_pfc_min_ns: Option<Measured> = Gauge,
        /// Median of these times.
        #[serde(skip_serializing_if = "Option::is_none")]
        sfcm_to_pfc_p50_ns: Option<Measured> = Gauge,
        /// Maximum of these times.
        #[serde(skip_serializing_if = "Option::is_none")]
        sfcm_to_pfc_max_ns: Option<Measured> = Gauge,
        /// Largest difference between the quanta of such a PFC frame and the message's time in quanta of that
        /// link, rounded up.
        #[serde(skip_serializing_if = "Option::is_none")]
        sfcm_quanta_error: Option<f64> = Gauge,
        priorities: Vec<Priority>,
    }
}

described! {
    /// Pause counters of one priority at a port.
    #[derive(Clone, PartialEq, Debug, Default, Serialize)]
    Priority {
        priority: u8,
        /// Received pauses that name the priority.
        pauses_rx: u64 = Counter,
        /// Received pauses with time 0.
        resumes_rx: u64 = Counter,
        /// Total requested pause time as the union of the received pauses, each of which replaces
        /// the one before.
        requested_ns: f64 = Counter,
        /// Total time in which the priority was paused.
        paused_ns: f64 = Counter,
        /// True while it is paused.
        paused: bool = Gauge,
        /// Number of transitions from running to paused.
        transitions: u64 = Counter,
        /// Maximum time from a pause's arrival to the last frame of the priority that was sent
        /// afterwards.
        #[serde(skip_serializing_if = "Option::is_none")]
        last_frame_after_pause_ns: Option<Measured> = Gauge,
        /// Sent pauses that name the priority.
        pauses_tx: u64 = Counter,
        /// Sent pauses with time 0.
        resumes_tx: u64 = Counter,
        /// Maximum interval between two sent pauses.
        #[serde(skip_serializing_if = "Option::is_none")]
        largest_gap_ns: Option<f64> = Gauge,
        /// Pause time of the sent pauses, within which the next must be sent.
        #[serde(skip_serializing_if = "Option::is_none")]
        window_ns: Option<f64> = Gauge,
        /// True if each pause was sent before the previous one had expired.
        #[serde(skip_serializing_if = "Option::is_none")]
        continuous: Option<bool> = Gauge,
        /// Sent pauses that did not renew another one, each of which must stop the peer.
        reaction_count: u64 = Counter,
        /// Minimum time from sending a pause to the start of the last frame before the peer
        /// stopped, which IEEE 802.3 31B.3.7 limits.
        #[serde(skip_serializing_if = "Option::is_none")]
        reaction_min_ns: Option<Measured> = Gauge,
        /// Median of the last 128 times from sending a pause to the start of the last frame before
        /// the peer stopped.
        #[serde(skip_serializing_if = "Option::is_none")]
        reaction_p50_ns: Option<Measured> = Gauge,
        /// 99th percentile of the last 128 times from sending a pause to the start of the last
        /// frame before the peer stopped.
        #[serde(skip_serializing_if = "Option::is_none")]
        reaction_p99_ns: Option<Measured> = Gauge,
        /// Maximum time from sending a pause to the start of the last frame before the peer
        /// stopped.
        #[serde(skip_serializing_if = "Option::is_none")]
        reaction_max_ns: Option<Measured> = Gauge,
        /// Received frames that began during a sent pause.
        frames_in_window: u64 = Counter,
        /// Received frames that began during a sent pause, after the peer had stopped.
        frames_after_stop: u64 = Counter,
        /// Maximum time from sending a resume to the first received frame of the priority.
        #[serde(skip_serializing_if = "Option::is_none")]
        resume_ns: Option<Measured> = Gauge,
    }
}

described! {
    /// A flow.
    #[derive(Clone, PartialEq, Debug, Default, Serialize)]
    Flow {
        name: String,
        /// The configured measurements.
        #[serde(skip)]
        metrics: Metrics,
        port_tx: String,
        port_rx: Vec<String>,
        /// Frames received by port, in the order of `port_rx`, without duplicates.
        #[serde(skip)]
        frames_rx_by_port: Vec<u64>,
        /// `started`, `stopped` (every frame has arrived or is lost) or `paused`.
        transmit: &'static str,
        /// Frames sent.
        frames_tx: u64 = Counter,
        /// Frames received, without duplicates.
        frames_rx: u64 = Counter,
        /// Bytes sent, FCS included.
        bytes_tx: u64 = Counter,
        /// Bytes received, FCS included.
        bytes_rx: u64 = Counter,
        /// Frames sent per second, over the last second or since the start.
        frames_tx_rate: f64 = Gauge,
        /// Frames received per second, over the last second or since the start.
        frames_rx_rate: f64 = Gauge,
        /// Bytes sent per second, over the last second or since the start.
        bytes_tx_rate: f64 = Gauge,
        /// Bytes received per second, over the last second or since the start.
        bytes_rx_rate: f64 = Gauge,
        /// Lost frames in percent of those sent; frames in flight count as lost until the flow has
        /// ended.
        loss_percent: f64 = Gauge,
        /// Frames in flight at the end, which are not lost; `None` if the number is not known.
        #[serde(skip_serializing_if = "Option::is_none")]
        queued_frames: Option<u64>,
        /// Frames that had arrived before.
        duplicates: u64 = Counter,
        /// Frames that arrived after a frame that was sent later.
        reordered: u64 = Counter,
        /// Frames that arrived otherwise than they were sent: cut, or with other bytes. They count as
        /// lost.
        damaged: u64 = Counter,
        /// What differed in the first damaged frame.
        #[serde(skip_serializing_if = "Option::is_none")]
        damage: Option<String>,
        /// Frames that arrived with CE.
        ce_marked: u64 = Counter,
        /// CNPs sent by the receiver and received by the sender, for RoCE.
        #[serde(skip_serializing_if = "Option::is_none")]
        cnp: Option<(u64, u64)> as CNPS,
        /// The configured and the achieved rate, after the end or over a second.
        #[serde(skip_serializing_if = "Option::is_none")]
        pacing: Option<Pacing>,
        /// The latency of its frames.
        #[serde(skip_serializing_if = "Option::is_none")]
        latency: Option<Latency>,
        /// Seconds from the start to the first frame's arrival.
        #[serde(skip_serializing_if = "Option::is_none")]
        first_rx_s: Option<f64> = Gauge,
        /// Seconds from the start to the last frame's arrival.
        #[serde(skip_serializing_if = "Option::is_none")]
        last_rx_s: Option<f64> = Gauge,
        /// The transport counters of a connection.
        #[serde(skip_serializing_if = "Option::is_none")]
        connection: Option<Connection>,
    }
}

/// The two numbers of [`Flow::cnp`].
const CNPS: &[Field<Flow>] = &[
    Field {
        name: "cnps_sent",
        kind: Kind::Counter,
        doc: "CNPs sent by the receiver.",
        value: |flow| flow.cnp?.0.number(),
    },
    Field {
        name: "cnps_received",
        kind: Kind::Counter,
        doc: "CNPs received by the sender.",
        value: |flow| flow.cnp?.1.number(),
    },
];

impl Flow {
    /// Returns the number of sent frames that have neither arrived nor are known to be in flight.
    /// Pause flows and flows whose frames are not counted by receivers lose none.
    pub fn lost(&self) -> u64 {
        if self.loss_percent == 0.0 {
            return 0;
        }
        // A flow with several receivers has more frames received than sent.
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

described! {
    /// The accuracy of a flow's pacing.
    #[derive(Clone, PartialEq, Debug, Default, Serialize)]
    Pacing {
        /// Configured frames per second.
        asked_fps: f64 = Gauge,
        /// Achieved frames per second, between the first and the last frame.
        sent_fps: f64 = Gauge,
        /// Difference of the achieved from the configured rate, in parts per million of it.
        error_ppm: f64 = Gauge,
        /// Minimum interval between two frames at the port.
        gap_min_ns: Measured = Gauge,
        /// Median interval between two frames at the port.
        gap_p50_ns: Measured = Gauge,
        /// 99th percentile of the interval between two frames at the port.
        gap_p99_ns: Measured = Gauge,
        /// Maximum interval between two frames at the port.
        gap_max_ns: Measured = Gauge,
    }
}

described! {
    /// The latency of a flow's frames. In CSV files and metrics its names begin with `latency_`.
    #[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
    Latency {
        /// Frames whose latency was measured.
        frames: u64 = Counter,
        /// Minimum latency.
        min_ns: Measured = Gauge,
        /// Mean latency.
        mean_ns: Measured = Gauge,
        /// Median latency.
        p50_ns: Measured = Gauge,
        /// 99th percentile of latency.
        p99_ns: Measured = Gauge,
        /// 99.9th percentile of latency.
        p999_ns: Measured = Gauge,
        /// Maximum latency.
        max_ns: Measured = Gauge,
        /// The whole distribution in nanoseconds, if it was requested: at the end of a run, and for
        /// files.
        #[serde(skip)]
        distribution: Option<Arc<host::Latency>>,
    }
}

impl Latency {
    /// Returns the figures of latencies that were measured with these timestamps.
    #[must_use]
    pub fn new(
        stamps: &Stamps,
        figures: &Statistics<Duration>,
        distribution: Option<Arc<host::Latency>>,
    ) -> Self {
        let figures = figures.map(|time| stamps.measured(time.as_nanos_f64()));
        Self {
            frames: figures.count,
            min_ns: figures.min,
            mean_ns: figures.mean,
            p50_ns: figures.p50,
            p99_ns: figures.p99,
            p999_ns: figures.p999,
            max_ns: figures.max,
            distribution,
        }
    }
}
