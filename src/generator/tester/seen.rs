//! The inputs of a test's report.

use smallvec::SmallVec;

use super::figures::FlowFigures;
use super::plan::{FlowPlan, PortPlan};
use super::report::{Machine, Stamps};
use contracts::stats::NicCounters;
use ground::time::{Instant, Total};
use ground::units::BitsPerSec;
use host::StationSnapshot;
use host::plan::stream::StreamPlan;

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
    #[must_use]
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
    #[must_use]
    pub fn received(&self) -> (u64, u64) {
        self.rx.iter().fold((0, 0), |(f, b), (frames, bytes)| (f + frames, b + bytes))
    }
}
