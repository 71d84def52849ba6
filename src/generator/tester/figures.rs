//! The inputs of a test's report: the state of its ports and flows, their figures, and measured times.
//!
//! Figures of a flow are counts and percentiles of its two ends. They are copied for ten thousand
//! flows between two polls, without the distributions themselves.
//!
//! A measured time has its resolution: the one rule by which tables, pages, JSON, CSV, metrics and responses to
//! clients show them. A time shorter than the resolution is only known to be no longer than that. It is shown to
//! people as `< 240ns`; programs get the bound, 240, and never a number below it.

use core::fmt;
use std::sync::Arc;

use super::plan::{FlowPlan, PortPlan};
use super::report::{Machine, Stamps};
use contracts::stats::NicCounters;
use ground::described::{Number, Numeric};
use ground::statistics::Statistics;
use ground::time::{Duration, Instant, Total};
use ground::units::BitsPerSec;
use host::plan::stream::StreamPlan;
use host::{Damage, Latency, SinkCounters, StationSnapshot, StreamCounters};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smallvec::SmallVec;

/// Figures of the sender of a stream.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub frames: u64,
    /// FCS included.
    pub bytes: u64,
    /// Transmit time of the first frame.
    pub first: Option<Instant>,
    /// Transmit time of the last frame.
    pub last: Option<Instant>,
    /// Gaps between successive frames.
    pub gaps: Statistics<Duration>,
}

impl Sent {
    pub fn of(counters: &StreamCounters) -> Self {
        let StreamCounters { frames, bytes, first_sent, last_sent, .. } = *counters;
        let gaps = counters.gaps.figures();
        Self { frames, bytes, first: first_sent, last: last_sent, gaps }
    }
}

/// Figures of a receiver, or of all receivers of a flow.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Received {
    /// Frames that had arrived before.
    pub duplicates: u64,
    /// Frames that arrived after a frame that was sent later.
    pub reordered: u64,
    /// Frames that arrived otherwise than they were sent, which count as lost.
    pub damaged: u64,
    /// What differed in the first of these.
    pub damage: Option<Damage>,
    /// Frames with CE.
    pub ce_marked: u64,
    /// Arrival of the first frame.
    pub first: Option<Instant>,
    /// Arrival of the last frame.
    pub last: Option<Instant>,
    pub latency: Statistics<Duration>,
}

impl Received {
    pub fn of(counters: &SinkCounters) -> Self {
        Self {
            duplicates: counters.duplicates,
            reordered: counters.reordered,
            damaged: counters.damaged,
            damage: counters.damage,
            ce_marked: counters.ce_marked,
            first: counters.first_arrival,
            last: counters.last_arrival,
            latency: counters.latency.figures(),
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct FlowFigures {
    /// Of the sender, for a stream.
    pub sent: Option<Sent>,
    /// Of all receivers together.
    pub received: Received,
    /// The latency distribution of all receivers, if it was copied.
    pub distribution: Option<Arc<Latency>>,
    /// Number of receivers.
    receivers: usize,
}

impl FlowFigures {
    /// Figures of a flow with this sender, before its receivers are added.
    pub fn of_sender(sent: Option<Sent>) -> Self {
        Self { sent, ..Self::default() }
    }

    /// Adds a receiver, with its distribution if that was copied. Percentiles of several
    /// receivers are calculated from the sum of their distributions, so each must have one.
    pub fn add(&mut self, received: &Received, latency: Option<Latency>) {
        self.receivers += 1;
        match (&mut self.distribution, latency) {
            (Some(sum), Some(latency)) => Arc::make_mut(sum).add(&latency),
            (None, Some(latency)) => self.distribution = Some(Arc::new(latency)),
            (_, None) => {}
        }
        let own = &mut self.received;
        own.duplicates += received.duplicates;
        own.reordered += received.reordered;
        own.damaged += received.damaged;
        own.damage = own.damage.or(received.damage);
        own.ce_marked += received.ce_marked;
        // `None` is no arrival, which the `min` of options would prefer.
        own.first = [own.first, received.first].into_iter().flatten().min();
        own.last = own.last.max(received.last);
        own.latency = match &self.distribution {
            // Percentiles cannot be added: those of several receivers follow from the sum of distributions.
            Some(sum) if self.receivers > 1 => sum.figures(),
            _ => received.latency,
        };
    }
}

/// The inputs of a report.
#[derive(Clone, Debug)]
pub struct Seen<'a> {
    pub plan: &'a [PortPlan],
    /// `real` or `virtual`.
    pub world: &'static str,
    /// The source and the precision of times.
    pub stamps: Stamps,
    /// Time since the last start of flows; `None` before the first.
    pub elapsed: Option<Total>,
    /// The counters of each port's station, in the order of the plan.
    pub stations: &'a [StationSnapshot],
    /// Counters of both ends of each flow, in the order of `flows`, if they were read separately;
    /// else they are taken from the stations' snapshots.
    pub counted: Option<Vec<(FlowTally, FlowFigures)>>,
    /// The state of each port beside its counters.
    pub ports: &'a [PortSeen],
    /// The flows and their state.
    pub flows: &'a [FlowSeen<'a>],
    /// Deviations from the configuration.
    pub warnings: Vec<String>,
    /// The disturbance by the machine, in the real world.
    pub machine: Option<Machine>,
}

/// The state of a port beside its station's counters.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PortSeen {
    pub link_up: bool,
    /// The rate for pacing.
    pub speed: BitsPerSec,
    /// True if a capture is running, and the numbers of captured and missed frames.
    pub capture: (bool, u64, u64),
    pub rates: Rates,
    /// Capacity of its receive ring in frames, if it has one.
    pub rx_room: Option<u64>,
    /// Frames that its device lost.
    pub nic: NicCounters,
}

/// The state of a flow beside the counters of its ends.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FlowSeen<'a> {
    pub plan: &'a FlowPlan,
    /// The stream after an update, if there was one.
    pub changed: Option<&'a StreamPlan>,
    pub transmit: Transmit,
    /// Time of its last start.
    pub started: Option<Instant>,
    pub rates: Rates,
}

/// The transmit state of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Transmit {
    /// All of its frames have arrived or are lost.
    #[default]
    Stopped,
    /// It sends, or its frames are in flight.
    Started,
    /// It sends nothing until it is resumed.
    Paused,
}

impl Transmit {
    /// Returns the name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stopped => "stopped",
            Self::Started => "started",
            Self::Paused => "paused",
        }
    }
}

/// Frames and bytes per second.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Rates {
    pub frames_tx: f64,
    pub bytes_tx: f64,
    pub frames_rx: f64,
    pub bytes_rx: f64,
}

/// The counters of both ends of a flow.
#[derive(Clone, Debug, Default)]
pub struct FlowTally {
    /// Frames and bytes sent.
    pub tx: (u64, u64),
    /// Frames and bytes received, by receiver, in the order of the plan.
    pub rx: SmallVec<[(u64, u64); 1]>,
}

impl FlowTally {
    /// Returns the total of frames and bytes received.
    pub fn received(&self) -> (u64, u64) {
        self.rx.iter().fold((0, 0), |(f, b), (frames, bytes)| (f + frames, b + bytes))
    }
}

#[derive(Clone, Copy, PartialEq, PartialOrd, Debug, Default)]
pub struct Measured {
    ns: f64,
    floor_ns: f64,
}

impl Measured {
    /// A time in nanoseconds, measured with a resolution of `floor_ns`.
    pub const fn new(ns: f64, floor_ns: f64) -> Self {
        Self { ns, floor_ns }
    }

    /// True if the time is not below the resolution.
    pub fn is_resolved(self) -> bool {
        self.ns >= self.floor_ns
    }

    /// Returns the time in nanoseconds for programs: at least the resolution.
    pub const fn ns(self) -> f64 {
        // A program would take any smaller number for a measurement.
        self.ns.max(self.floor_ns)
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let below = if self.is_resolved() { "" } else { "< " };
        write!(f, "{below}{}", Duration::from_nanos_f64(self.ns()))
    }
}

impl Numeric for Measured {
    fn number(&self) -> Option<Number> {
        Some(Number::Real(self.ns()))
    }
}

impl Serialize for Measured {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_f64(self.ns())
    }
}

/// Reads the number that programs have. The resolution is part of it already.
impl<'de> Deserialize<'de> for Measured {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        f64::deserialize(from).map(|ns| Self::new(ns, 0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_below_the_resolution_is_given_as_its_bound_everywhere() {
        let below = Measured::new(0.0, 240.0);
        assert_eq!((below.to_string().as_str(), below.ns()), ("< 240ns", 240.0));
        assert_eq!(serde_json::to_value(below).unwrap(), 240.0);
        let at = Measured::new(240.0, 240.0);
        assert_eq!((at.to_string().as_str(), at.ns()), ("240ns", 240.0));
        let exact = Measured::new(0.0, 0.0);
        assert_eq!(exact.to_string(), Duration::ZERO.to_string(), "exact time knows its zeros");
    }
}
