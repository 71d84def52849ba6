//! The numbers of a report by name: one list for both CSV files and Prometheus metrics, so that
//! the two cannot disagree. Names are those of the JSON.

use crate::tester::Measured;
use crate::tester::report::{Flow, Latency, Pacing, Port, Priority};

/// The kind of a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Increases until flows are restarted.
    Counter,
    Gauge,
}

/// A number of a `T`.
pub(super) struct Field<T: 'static> {
    /// Its name in JSON and CSV. The suffix `_ns` means nanoseconds.
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// The help text.
    pub(super) help: &'static str,
    /// Returns `None` if the number is not known.
    pub(super) value: fn(&T) -> Option<Number>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Number {
    Count(u64),
    Real(f64),
}

impl From<u64> for Number {
    fn from(n: u64) -> Self {
        Self::Count(n)
    }
}

impl From<f64> for Number {
    fn from(n: f64) -> Self {
        Self::Real(n)
    }
}

impl From<Measured> for Number {
    fn from(time: Measured) -> Self {
        Self::Real(time.ns())
    }
}

impl From<bool> for Number {
    fn from(yes: bool) -> Self {
        Self::Count(yes.into())
    }
}

/// A field that is always known.
macro_rules! known {
    ($kind:ident $name:ident, $help:literal) => {
        known!($kind stringify!($name) => $name, $help)
    };
    ($kind:ident $called:expr => $name:ident, $help:literal) => {
        Field {
            name: $called,
            kind: Kind::$kind,
            help: $help,
            value: |row| Some(row.$name.into()),
        }
    };
}

/// A field that may be unknown.
macro_rules! perhaps {
    ($kind:ident $name:ident, $help:literal) => {
        Field {
            name: stringify!($name),
            kind: Kind::$kind,
            help: $help,
            value: |row| row.$name.map(Number::from),
        }
    };
}

pub(super) const PORT: &[Field<Port>] = &[
    known!(Gauge link_up, "Whether the link is up"),
    known!(Gauge speed_bps, "The rate that pacing and quanta are counted in"),
    known!(Gauge transmitting, "Whether any of its flows is sending"),
    known!(Gauge capturing, "Whether it captures"),
    known!(Counter frames_tx, "Frames sent, of any kind"),
    known!(Counter frames_rx, "Frames received, of any kind"),
    known!(Counter bytes_tx, "Octets sent, FCS included"),
    known!(Counter bytes_rx, "Octets received, FCS included"),
    known!(Gauge frames_tx_rate, "Frames sent per second"),
    known!(Gauge frames_rx_rate, "Frames received per second"),
    known!(Gauge bytes_tx_rate, "Octets sent per second"),
    known!(Gauge bytes_rx_rate, "Octets received per second"),
    known!(Counter unexpected, "Frames received that belong to no flow that it expects"),
    known!(Counter other_runs, "Frames received of another run, which count for no flow"),
    known!(Counter malformed, "MAC control frames received that are neither PFC nor PAUSE"),
    known!(Counter captured, "Frames captured"),
    known!(Counter capture_missed, "Frames that a full capture did not take"),
    perhaps!(Counter rx_missed, "Frames that its device lost before the tester saw them"),
    known!(Counter tx_dropped, "Frames that its device was given to send and that did not leave"),
];

pub(super) const PRIORITY: &[Field<Priority>] = &[
    known!(Counter pauses_rx, "Pauses received that name it"),
    known!(Counter resumes_rx, "Those with a time of 0 among them"),
    known!(Counter requested_ns, "How long the pauses received asked it to stop, overlaps once"),
    known!(Counter paused_ns, "How long it was paused"),
    known!(Counter transitions, "How often it went from running to paused"),
    perhaps!(Gauge last_frame_after_pause_ns, "From a pause to the last frame that still left, the longest"),
    known!(Counter pauses_tx, "Pauses sent that name it"),
    known!(Counter resumes_tx, "Those with a time of 0 among them"),
    perhaps!(Gauge largest_gap_ns, "The longest from one pause sent to the next"),
    perhaps!(Gauge window_ns, "How long the pauses that were sent last"),
    perhaps!(Gauge continuous, "Whether each pause sent came before the one before it had run out"),
    known!(Counter reaction_count, "Pauses sent that did not renew another"),
    perhaps!(Gauge reaction_min_ns, "From a pause sent to the beginning of the last frame that it did not stop, the shortest"),
    perhaps!(Gauge reaction_p50_ns, "From a pause sent to the beginning of the last frame that it did not stop, the median"),
    perhaps!(Gauge reaction_p99_ns, "From a pause sent to the beginning of the last frame that it did not stop, of 100 the 99th"),
    perhaps!(Gauge reaction_max_ns, "From a pause sent to the beginning of the last frame that it did not stop, the longest"),
    known!(Counter frames_in_window, "Frames received that began while a pause that was sent lasted"),
    known!(Counter frames_after_stop, "Those of them that came after the peer had stopped"),
    perhaps!(Gauge resume_ns, "From a resume sent to the first frame that came in, the longest"),
];

pub(super) const FLOW: &[Field<Flow>] = &[
    known!(Counter frames_tx, "Frames sent"),
    known!(Counter frames_rx, "Frames received, duplicates left out"),
    known!(Counter bytes_tx, "Octets sent, FCS included"),
    known!(Counter bytes_rx, "Octets received, FCS included"),
    known!(Gauge frames_tx_rate, "Frames sent per second"),
    known!(Gauge frames_rx_rate, "Frames received per second"),
    known!(Gauge bytes_tx_rate, "Octets sent per second"),
    known!(Gauge bytes_rx_rate, "Octets received per second"),
    known!(Gauge loss_percent, "Lost, in per cent of what was sent"),
    known!(Counter duplicates, "Frames that had arrived before"),
    known!(Counter reordered, "Frames behind one that was sent after them"),
    known!(Counter ce_marked, "Frames that arrived with CE set"),
    Field {
        name: "cnps_sent",
        kind: Kind::Counter,
        help: "Congestion notifications that its receiver sent",
        value: |flow| flow.cnp.map(|(sent, _)| sent.into()),
    },
    Field {
        name: "cnps_received",
        kind: Kind::Counter,
        help: "Congestion notifications that its sender received",
        value: |flow| flow.cnp.map(|(_, received)| received.into()),
    },
    perhaps!(Gauge first_rx_s, "Seconds from the start to its first frame's arrival"),
    perhaps!(Gauge last_rx_s, "Seconds from the start to its last frame's arrival"),
];

/// The accuracy of a flow's pacing.
pub(super) const PACING: &[Field<Pacing>] = &[
    known!(Gauge asked_fps, "Frames per second asked for"),
    known!(Gauge sent_fps, "Frames per second sent, from its first frame to its last"),
    known!(Gauge error_ppm, "By how much the rate was missed, in parts per million"),
    known!(Gauge gap_min_ns, "From one frame handed to the port to the next, the shortest"),
    known!(Gauge gap_p50_ns, "From one frame handed to the port to the next, the median"),
    known!(Gauge gap_p99_ns, "From one frame handed to the port to the next, of 100 the 99th"),
    known!(Gauge gap_max_ns, "From one frame handed to the port to the next, the longest"),
];

/// The latency of a flow.
pub(super) const LATENCY: &[Field<Latency>] = &[
    known!(Counter "latency_frames" => frames, "Frames whose latency was measured"),
    known!(Gauge "latency_min_ns" => min_ns, "Latency, the shortest"),
    known!(Gauge "latency_mean_ns" => mean_ns, "Latency, the mean"),
    known!(Gauge "latency_p50_ns" => p50_ns, "Latency, the median"),
    known!(Gauge "latency_p99_ns" => p99_ns, "Latency, of 100 the 99th"),
    known!(Gauge "latency_p999_ns" => p999_ns, "Latency, of 1000 the 999th"),
    known!(Gauge "latency_max_ns" => max_ns, "Latency, the longest"),
];
