//! What came of a test: one tree for tables, JSON, CSV, pages, metrics, and clients.
//!
//! Times are seconds or nanoseconds as the names say; a number that is not known is left out.

use std::sync::Arc;

use serde::Serialize;

use super::plan::Metrics;
use super::time::Measured;

/// Everything that was counted, at one moment.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Report {
    /// Seconds since the flows were last started; nothing before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elapsed_s: Option<f64>,
    /// The world: `real` or `virtual`.
    pub world: &'static str,
    /// What times were taken with.
    pub stamps: Stamps,
    /// The ports, in the order of the configuration.
    pub ports: Vec<Port>,
    /// The flows, in the order of the configuration.
    pub flows: Vec<Flow>,
    /// What could not be done as it was asked, one sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The disturbance by the machine, in the real world.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
}

/// The disturbance of a run by a machine that had no time for its threads.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Machine {
    /// Time off the processor since flows were started, of the thread that lost most, in nanoseconds.
    pub preempted_ns: f64,
    /// The longest gap between two polls of a thread, in nanoseconds; 0 if none took a millisecond.
    pub longest_gap_ns: f64,
    /// True if the test's time did not run meanwhile, because all of its ports are in memory.
    pub excluded: bool,
}

/// Where times come from, and how far they can be trusted.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Stamps {
    /// `nic`, `tsc` or `virtual`.
    pub source: &'static str,
    /// The smallest difference that it can tell, in nanoseconds.
    pub resolution_ns: f64,
    /// How far a latency may be off, either way, in nanoseconds: what lies between a stamp and the
    /// wire. For software that is the time of a poll at either end (its 99th percentile).
    pub uncertainty_ns: f64,
}

impl Stamps {
    /// The shortest time that stamps tell from none, in nanoseconds. Virtual time is exact.
    #[must_use]
    pub fn floor_ns(&self) -> f64 {
        if self.source == "virtual" { 0.0 } else { self.resolution_ns.max(self.uncertainty_ns) }
    }

    /// A time of so many nanoseconds, measured with these stamps.
    #[must_use]
    pub fn measured(&self, ns: f64) -> Measured {
        Measured::new(ns, self.floor_ns())
    }
}

/// A port.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Port {
    /// Its name.
    pub name: String,
    /// Its location.
    pub location: String,
    /// Whether its link is up.
    pub link_up: bool,
    /// The rate that pacing and quanta are counted in.
    pub speed_bps: u64,
    /// Whether any of its flows is sending.
    pub transmitting: bool,
    /// Whether it captures.
    pub capturing: bool,
    /// Frames of any kind.
    pub frames_tx: u64,
    /// Frames of any kind.
    pub frames_rx: u64,
    /// Octets with FCS.
    pub bytes_tx: u64,
    /// Octets with FCS.
    pub bytes_rx: u64,
    /// Per second, over the last second or since the start.
    pub frames_tx_rate: f64,
    /// Per second, over the last second or since the start.
    pub frames_rx_rate: f64,
    /// Per second, over the last second or since the start.
    pub bytes_tx_rate: f64,
    /// Per second, over the last second or since the start.
    pub bytes_rx_rate: f64,
    /// Frames received that belong to no flow that it expects.
    pub unexpected: u64,
    /// Frames received of another run: a device still held them, or another generator sends them.
    /// They count for no flow.
    pub other_runs: u64,
    /// MAC control frames received that are neither PFC nor PAUSE.
    pub malformed: u64,
    /// Frames captured, and frames there was no memory for.
    pub captured: u64,
    /// Frames that a full capture did not take.
    pub capture_missed: u64,
    /// Frames that its receive ring holds while no thread polls; nothing where nothing is known.
    #[serde(skip)]
    pub rx_room: Option<u64>,
    /// Frames that its device lost before the tester saw them, since the test was configured; nothing
    /// where no one counts them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rx_missed: Option<u64>,
    /// Frames that its device was given to send and that did not leave, since the test was configured.
    pub tx_dropped: u64,
    /// What happened to each priority.
    pub priorities: Vec<Priority>,
}

/// Pauses of one priority at a port.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Priority {
    /// 0 to 7.
    pub priority: u8,
    /// Pauses received that name it.
    pub pauses_rx: u64,
    /// Those with a time of 0 among them.
    pub resumes_rx: u64,
    /// The time that they asked for in all, as each replaced the one before: the union.
    pub requested_ns: f64,
    /// How long it was paused.
    pub paused_ns: f64,
    /// How often it went from running to paused.
    pub transitions: u64,
    /// From a pause's arrival to the last frame of the priority that left afterwards, the longest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_frame_after_pause_ns: Option<Measured>,
    /// Pauses sent that name it.
    pub pauses_tx: u64,
    /// Those with a time of 0 among them.
    pub resumes_tx: u64,
    /// The longest from one pause sent to the next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub largest_gap_ns: Option<f64>,
    /// How long the pauses that were sent last: the window within which the next has to come.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_ns: Option<f64>,
    /// Whether each pause came before the one before it had run out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub continuous: Option<bool>,
    /// Times that the peer was to stop: pauses sent that did not renew another.
    pub reaction_count: u64,
    /// From sending a pause to the beginning of the last frame of the train that it stopped, the
    /// shortest. IEEE 802.3 31B.3.7 limits this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reaction_min_ns: Option<Measured>,
    /// As above, the median of the last 128.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reaction_p50_ns: Option<Measured>,
    /// As above, 99 of 100 were no longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reaction_p99_ns: Option<Measured>,
    /// As above, the longest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reaction_max_ns: Option<Measured>,
    /// Frames received that began while a pause that was sent lasted.
    pub frames_in_window: u64,
    /// Those of them that came after the peer had stopped.
    pub frames_after_stop: u64,
    /// From sending a resume to the first frame of the priority that came in, the longest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume_ns: Option<Measured>,
}

/// A flow.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Flow {
    /// Its name.
    pub name: String,
    /// Measurements of it.
    #[serde(skip)]
    pub metrics: Metrics,
    /// The port that sends it.
    pub port_tx: String,
    /// The ports that receive it.
    pub port_rx: Vec<String>,
    /// `started`, `stopped` (all of its frames have arrived or are lost) or `paused`.
    pub transmit: &'static str,
    /// Frames sent.
    pub frames_tx: u64,
    /// Frames received, duplicates left out.
    pub frames_rx: u64,
    /// Octets with FCS.
    pub bytes_tx: u64,
    /// Octets with FCS.
    pub bytes_rx: u64,
    /// Per second, over the last second or since the start.
    pub frames_tx_rate: f64,
    /// Per second, over the last second or since the start.
    pub frames_rx_rate: f64,
    /// Per second, over the last second or since the start.
    pub bytes_tx_rate: f64,
    /// Per second, over the last second or since the start.
    pub bytes_rx_rate: f64,
    /// Lost, in per cent of what was sent; while it is sent frames in flight count as lost.
    pub loss_percent: f64,
    /// Frames that were on their way at the end, which are not lost; nothing where that is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queued_frames: Option<u64>,
    /// Frames that had arrived before.
    pub duplicates: u64,
    /// Frames behind one that was sent after them.
    pub reordered: u64,
    /// Frames that arrived with CE set.
    pub ce_marked: u64,
    /// Congestion notifications that its receiver sent and that its sender received, for RoCE.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cnp: Option<(u64, u64)>,
    /// The rate that was asked for and what came of it, once it has ended or for a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pacing: Option<Pacing>,
    /// How long its frames took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency: Option<Latency>,
    /// Seconds from the start to its first frame's arrival.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_rx_s: Option<f64>,
    /// Seconds from the start to its last frame's arrival.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_rx_s: Option<f64>,
    /// What its two ends said to each other, if it is a connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection: Option<Connection>,
}

impl Flow {
    /// Frames that were sent and have neither arrived nor are known to be on their way. Pauses and flows
    /// whose frames are not counted where they arrive lose none.
    #[must_use]
    pub fn lost(&self) -> u64 {
        if self.loss_percent == 0.0 {
            return 0;
        }
        self.frames_tx.saturating_sub(self.frames_rx + self.queued_frames.unwrap_or(0))
    }
}

/// A connection of RoCEv2.
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
    /// Frames that had been sent before.
    pub retransmitted: u64,
    /// Timeouts of the sender that ran out.
    pub timeouts: u64,
    /// Packets that came behind a gap.
    pub out_of_order: u64,
    /// Messages that were acknowledged whole.
    pub messages_tx: u64,
    /// Messages that arrived whole.
    pub messages_rx: u64,
    /// How long the last of them took until it was acknowledged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion_ns: Option<f64>,
    /// Acknowledgements that the receiver sent.
    pub acks_tx: u64,
    /// Acknowledgements that the sender received.
    pub acks_rx: u64,
    /// Negative ones that the receiver sent.
    pub naks_tx: u64,
    /// Negative ones that the sender received.
    pub naks_rx: u64,
    /// Congestion notifications that the receiver sent.
    pub cnps_tx: u64,
    /// Congestion notifications that the sender received.
    pub cnps_rx: u64,
    /// The rate that the sender is kept to now.
    pub rate_bps: u64,
}

/// How well a flow kept its pace.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Pacing {
    /// Frames per second asked for.
    pub asked_fps: f64,
    /// Frames per second sent, between its first and its last frame.
    pub sent_fps: f64,
    /// By how much it was missed, in parts per million of what was asked.
    pub error_ppm: f64,
    /// The time from one frame handed to the port to the next, in nanoseconds.
    pub gap_min_ns: Measured,
    /// As above, the median.
    pub gap_p50_ns: Measured,
    /// As above, 99 of 100 were no longer.
    pub gap_p99_ns: Measured,
    /// As above, the longest.
    pub gap_max_ns: Measured,
}

/// How long frames took, in nanoseconds.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Latency {
    /// How many frames were measured.
    pub frames: u64,
    /// The shortest.
    pub min_ns: Measured,
    /// The mean.
    pub mean_ns: Measured,
    /// The median.
    pub p50_ns: Measured,
    /// 99 of 100 were no longer.
    pub p99_ns: Measured,
    /// 999 of 1000 were no longer.
    pub p999_ns: Measured,
    /// The longest.
    pub max_ns: Measured,
    /// The whole distribution in nanoseconds, if the report was asked to have it: at the end of a
    /// run, and for those who write it to a file.
    #[serde(skip)]
    pub distribution: Option<Arc<crate::host::Latency>>,
}
