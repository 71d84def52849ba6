//! Configuration of the flow control of one port.

use ground::time::Duration;
use ground::units::{BitsPerSec, Bytes, PRIORITIES, PrioritySet, Quanta};

/// Flow control of a link. PFC and PAUSE exclude each other (802.1Q 36.1.1, 802.3 31D.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlowControl {
    /// None: pauses are not sent; received ones are counted and dropped.
    Off,
    /// Priority-based flow control (802.1Q clause 36).
    Pfc {
        /// Priorities for which this port sends PFC.
        send: PrioritySet,
        /// Priorities for which this port obeys PFC.
        obey: PrioritySet,
    },
    /// Link-wide PAUSE (802.3 Annex 31B).
    Pause {
        /// True if this port sends PAUSE.
        send: bool,
        /// True if this port obeys PAUSE.
        obey: bool,
    },
}

impl FlowControl {
    /// Returns the priorities for which this port sends PFC or PAUSE.
    #[must_use]
    pub const fn sends(&self) -> PrioritySet {
        match self {
            Self::Pfc { send, .. } => *send,
            Self::Pause { send: true, .. } => PrioritySet::ALL,
            Self::Pause { send: false, .. } | Self::Off => PrioritySet::EMPTY,
        }
    }

    /// Returns the priorities whose pauses this port obeys.
    #[must_use]
    pub const fn obeys(&self) -> PrioritySet {
        match self {
            Self::Pfc { obey, .. } => *obey,
            Self::Pause { obey: true, .. } => PrioritySet::ALL,
            Self::Pause { obey: false, .. } | Self::Off => PrioritySet::EMPTY,
        }
    }

    /// Returns the priorities with PFC in either direction.
    #[must_use]
    pub const fn pfc(&self) -> PrioritySet {
        match self {
            Self::Pfc { send, obey } => PrioritySet(send.0 | obey.0),
            Self::Pause { .. } | Self::Off => PrioritySet::EMPTY,
        }
    }
}

/// The flow control of one port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PfcPlan {
    /// Flow control mode and its priorities.
    pub mode: FlowControl,
    /// Pause time of every XOFF, 1 to 65535.
    pub quanta: Quanta,
    /// Interval after which an XOFF is repeated while the group is still over its limit. Below the
    /// pause time; half of it by default.
    pub refresh: Duration,
}

impl PfcPlan {
    /// Returns the minimum refresh interval on a link of this rate. PFC frames precede data, so a
    /// shorter one could leave no time for data: with this one, refreshes use at most a quarter of
    /// the line.
    #[must_use]
    pub fn refresh_least(rate: BitsPerSec) -> Duration {
        /// Size of a PFC frame with preamble and interpacket gap.
        const ON_LINE: Bytes = Bytes(84);
        rate.time_for(ON_LINE).saturating_mul(4)
    }
}

/// Action on a queue that a pause storm has stopped for too long (SONiC's `pfcwd`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StormAction {
    /// Frames in and for the queue are dropped until the storm is over.
    Drop,
    /// Pauses for the queue are ignored until the storm is over.
    Forward,
    /// The storm is counted and reported only.
    Alert,
}

/// The storm watchdog of one queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WatchdogPlan {
    /// Time that a queue with frames in it must be paused without sending one (100 to 5000 ms in
    /// SONiC; any span here).
    pub detection: Duration,
    /// Time without a received pause for the queue after which it is restored.
    pub restoration: Duration,
    /// Action during the storm.
    pub action: StormAction,
}

/// The storm watchdogs of one port, by traffic class.
pub type WatchdogPlans = [Option<WatchdogPlan>; PRIORITIES];
