//! What the flow-control machines of one port are told.

use crate::time::Duration;
use crate::units::{BitsPerSec, Bytes, PRIORITIES, PrioritySet, Quanta};

/// Which flow control a link runs. PFC and PAUSE exclude each other (802.1Q 36.1.1, 802.3 31D.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlowControl {
    /// None: pauses are not sent, and counted and dropped when received.
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
        /// Whether this port sends PAUSE.
        send: bool,
        /// Whether this port obeys PAUSE.
        obey: bool,
    },
}

/// The flow control of one port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PfcPlan {
    /// Which one, and for what.
    pub mode: FlowControl,
    /// The pause time asked for in every XOFF, 1 to 65535.
    pub quanta: Quanta,
    /// How long after an XOFF it is sent again while the group is still over its limit. Below
    /// the pause time itself; half of it by default.
    pub refresh: Duration,
}

impl PfcPlan {
    /// Returns the shortest refresh on a link of this rate. PFC frames go before data, so a shorter one
    /// could leave no time for data: with this one, refreshes take at most a quarter of the line.
    #[must_use]
    pub fn refresh_least(rate: BitsPerSec) -> Duration {
        /// A PFC frame with preamble and interpacket gap.
        const ON_LINE: Bytes = Bytes(84);
        rate.time_for(ON_LINE).saturating_mul(4)
    }
}

/// What is done to a queue that a pause storm has stopped for too long (SONiC's `pfcwd`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StormAction {
    /// Frames in and for the queue are dropped until the storm is over.
    Drop,
    /// Pauses for the queue are ignored until the storm is over.
    Forward,
    /// It is counted and reported only.
    Alert,
}

/// The storm watchdog of one queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WatchdogPlan {
    /// How long a queue with frames in it must be paused without sending one (100 to 5000 ms in
    /// SONiC; any span here).
    pub detection: Duration,
    /// How long no pause for it must have come in for it to be released.
    pub restoration: Duration,
    /// What is done in between.
    pub action: StormAction,
}

/// The storm watchdogs of one port, by traffic class.
pub type WatchdogPlans = [Option<WatchdogPlan>; PRIORITIES];
