//! Priority-based flow control and PAUSE: the sender, the receiver and the storm watchdog.
//!
//! Three state machines per port, independent of frame formats: the switch converts [`Demand`]s to
//! PFC and PAUSE frames, and received ones to calls of the [`Receiver`]. Their configuration is
//! here, and the tally of pause times that sender and receiver keep.

#![warn(missing_docs)]

mod receiver;
mod sender;
#[cfg(test)]
mod tests;
mod watchdog;

pub use receiver::Receiver;
pub use sender::Sender;
pub use watchdog::{StormEvent, Watchdog};

pub use ground::units::PauseVector;

use ground::memory::fetch;
use ground::named;
use ground::time::{Duration, Instant, Total};
use ground::units::{BitsPerSec, Bytes, PRIORITIES, Priority, PrioritySet, Quanta};

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
            // PAUSE stops the link, so any priority can be the reason for it.
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

named! {
    /// Action on a queue in a storm.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum StormAction as "Action" {
        /// Drops its frames.
        #[default]
        Drop = "drop",
        /// Ignores the pauses.
        Forward = "forward",
        /// Counts and reports.
        Alert = "alert",
    }
}

/// The storm watchdog of one queue, or of all queues of a port. All but the action can be changed in a
/// running switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WatchdogPlan {
    /// True if it runs.
    pub enabled: bool,
    /// Time that a queue with frames in it must be paused without sending one (100 to 5000 ms in
    /// SONiC; any span here).
    pub detection: Duration,
    /// Time without a received pause for the queue after which it is restored.
    pub restoration: Duration,
    /// Action during the storm.
    pub action: StormAction,
}

impl WatchdogPlan {
    /// Drops the frames of a queue that is stopped for 200 ms, SONiC's default, until no pause was
    /// received for twice as long.
    pub const DEFAULT: Self = Self {
        enabled: true,
        detection: Duration::from_millis(200),
        restoration: Duration::from_millis(400),
        action: StormAction::Drop,
    };
}

/// The storm watchdogs of one port, by traffic class.
pub type WatchdogPlans = [Option<WatchdogPlan>; PRIORITIES];

/// Request of a flow-control frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Demand {
    /// A PFC frame, with the time of each enabled priority; 0 resumes.
    Pfc(PauseVector),
    /// An 802.3x PAUSE frame with this time; 0 resumes.
    Pause(Quanta),
}

impl Demand {
    /// PFC with the same time for every priority of `set`.
    #[must_use]
    pub const fn pfc(set: PrioritySet, quanta: Quanta) -> Self {
        Self::Pfc(PauseVector { enabled: set, time: [quanta; PRIORITIES] })
    }
}

/// Exact pause times of one direction of a port.
#[derive(Clone, Debug, Default)]
struct Tally {
    running: PrioritySet,
    since: [Instant; PRIORITIES],
    total: [Total; PRIORITIES],
    transitions: [u64; PRIORITIES],
}

impl Tally {
    /// Brings the paused priorities into the caches.
    #[inline]
    fn fetch(&self) {
        fetch(&self.running);
    }

    /// Returns the paused priorities.
    #[inline]
    const fn running(&self) -> PrioritySet {
        self.running
    }

    /// Starts a pause of `p` at `time`. Panics if it is paused.
    fn start(&mut self, time: Instant, p: Priority) {
        assert!(!self.running.contains(p), "a pause began twice");
        self.running.insert(p);
        self.since[p.index()] = time;
        self.transitions[p.index()] += 1;
    }

    /// Ends the pause of `p` at `time`. Panics if it is not paused.
    fn stop(&mut self, time: Instant, p: Priority) {
        assert!(self.running.contains(p), "a pause ended that had not begun");
        self.running.remove(p);
        self.total[p.index()] += time.total_since(self.since[p.index()]);
    }

    /// Returns the total paused time of `p` up to `now`.
    fn time(&self, now: Instant, p: Priority) -> Total {
        // A pause that still runs counts up to now.
        let open = if self.running.contains(p) {
            now.total_since(self.since[p.index()])
        } else {
            Total::ZERO
        };
        self.total[p.index()] + open
    }

    /// Resets times and transitions; a running pause counts from `now` on.
    fn clear(&mut self, now: Instant) {
        self.total = [Total::ZERO; PRIORITIES];
        self.transitions = [0; PRIORITIES];
        for p in self.running.iter() {
            self.since[p.index()] = now;
        }
    }

    /// Returns the number of pauses of `p`.
    const fn transitions(&self, p: Priority) -> u64 {
        self.transitions[p.index()]
    }
}
