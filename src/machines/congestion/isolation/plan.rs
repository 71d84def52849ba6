//! Configuration of isolation, under the names of the standard's managed objects, and its counters.

use thiserror::Error;

use crate::LimitPlan;
use crate::detect::Detect;
use crate::streams::STREAMS_MAX;
use ground::counters;
use ground::named;
use ground::time::Duration;
use ground::units::{Bytes, PRIORITIES, TrafficClass};

named! {
    /// Interpretation of the integers of a queue map. The YANG module says that positive ones are about
    /// monitored and negative ones about congesting traffic classes; no first-hand source for the
    /// meaning of the position in the array was found.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum MapReading {
        /// Each class names its partner: `-k` at index i sends the congesting flows of class i to class
        /// k-1, and `+k` at index i sends those of class k-1 to class i.
        #[default]
        Partner = "partner",
        /// Each class states its role: `+k` at index i makes class i the monitored one of pair k, `-k`
        /// the congesting one.
        Pair = "pair",
    }
}

/// Congesting class of each monitored class.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct QueueMap {
    congesting: [Option<TrafficClass>; PRIORITIES],
}

impl QueueMap {
    /// Creates the map of a `queue-map` (802.1Qcz 49.4.1.2.5): -8 to 8 for each class, 0 for a
    /// class without isolation.
    ///
    /// # Errors
    /// If the map is invalid in this interpretation.
    pub fn new(map: [i8; PRIORITIES], reading: MapReading) -> Result<Self, IsolationError> {
        if let Some(n) = map.iter().find(|n| !(-8..=8).contains(*n)) {
            return Err(IsolationError::MapNumber(*n));
        }
        let number = |class: TrafficClass| map[class.index()];
        let named = |n: i8| TrafficClass::ALL[usize::from(n.unsigned_abs()) - 1];
        let mut congesting = [None; PRIORITIES];
        for class in TrafficClass::ALL {
            let n = number(class);
            let wrong = Err(IsolationError::MapPair(class));
            match reading {
                MapReading::Partner if n < 0 => {
                    // The partner must be a congesting class, of this or another class.
                    if number(named(n)) <= 0 {
                        return wrong;
                    }
                    congesting[class.index()] = Some(named(n));
                }
                MapReading::Partner if n > 0 => {
                    // A congesting class can name one of its monitored classes only; it must name it back.
                    if number(named(n)) != -(class.get() as i8 + 1) {
                        return wrong;
                    }
                }
                MapReading::Pair if n != 0 => {
                    let mut others = TrafficClass::ALL.into_iter().filter(|c| number(*c) == -n);
                    // Exactly one class has the opposite number.
                    let (Some(other), None) = (others.next(), others.next()) else {
                        return wrong;
                    };
                    if n > 0 {
                        congesting[class.index()] = Some(other);
                    }
                }
                MapReading::Partner | MapReading::Pair => {}
            }
        }
        Ok(Self { congesting })
    }

    /// Returns the `queue-map` of this map in the interpretation of partners. A class that takes
    /// the flows of several classes names the lowest of them.
    #[must_use]
    pub fn numbers(&self) -> [i8; PRIORITIES] {
        let mut numbers = [0; PRIORITIES];
        // From the highest down, so that the lowest monitored class is the one that stays.
        for class in TrafficClass::ALL.into_iter().rev() {
            if let Some(other) = self.congesting(class) {
                numbers[class.index()] = -(other.get() as i8 + 1);
                numbers[other.index()] = class.get() as i8 + 1;
            }
        }
        numbers
    }

    /// Returns the class for the congesting flows of `class`, if it is monitored.
    #[inline]
    #[must_use]
    pub const fn congesting(&self, class: TrafficClass) -> Option<TrafficClass> {
        self.congesting[class.index()]
    }
}

/// Thresholds of one monitored queue. The standard leaves them to the bridge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Watch {
    /// Selection of frames whose flows are congesting.
    pub detect: Detect,
    /// Length of the congesting queue at or below which its flows end.
    pub low: Bytes,
    /// Length of the congesting queue above which the upstream peer is notified: isolation alone
    /// does not end the congestion. Not below `low`.
    pub cim_above: Bytes,
}

impl Watch {
    /// Checks the thresholds against each other.
    ///
    /// # Errors
    /// If the peer would be notified of flows that have ended.
    pub const fn check(&self) -> Result<(), IsolationError> {
        if self.cim_above.0 < self.low.0 {
            return Err(IsolationError::Watch { low: self.low, cim_above: self.cim_above });
        }
        Ok(())
    }
}

named! {
    /// Scope of `max-cim-tx`, the maximum number of CIMs for a flow.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum CimRepeat {
        /// As long as the flow is in the table.
        Never = "never",
        /// Restarts half a ci-max-flow-life after the last CIM, so that the peer, which removes the
        /// flow after a whole one, keeps it isolated while it congests here. Our choice.
        #[default]
        BeforeItsLifeEnds = "before_its_life_ends",
    }
}

/// Interpretations of the standard where several are possible.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dialect {
    /// Counting of CIMs.
    pub repeat: CimRepeat,
}

/// Configuration of Congestion Isolation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IsolationPlan {
    /// ci-master-enable. Off by default.
    pub enabled: bool,
    /// queue-map. None monitored by default.
    pub map: QueueMap,
    /// Thresholds of monitored queues that have no specific ones. Default 100 KB, 10 KB and 100 KB.
    pub watch: Watch,
    /// max-cim-tx: maximum number of CIMs for a flow. Default 3; 0 sends none.
    pub max_cim_tx: u32,
    /// ci-max-flow-life: time that a flow named by a CIM stays isolated after its queue is not
    /// congested any more; also the lifetime of any flow without frames. Not zero; default 100
    /// centiseconds.
    pub max_flow_life: Duration,
    /// Minimum time between two CIMs about one flow. The standard has none; 10 us here.
    pub spacing: Duration,
    /// Limit of the CIMs of all flows together. Default 64 at once and one per microsecond.
    pub budget: LimitPlan,
    /// Limit of the CIMs accepted from each port's peer. Default as for sending.
    pub heard: LimitPlan,
    /// max-ci-stream-entries: maximum number of isolated flows. 1 to [`STREAMS_MAX`], default 4096.
    pub streams: usize,
    /// max-ci-peer-entries: maximum number of peers. Default 1024, every port.
    pub peers_max: usize,
    /// Seed of the table's hash and of the AQM's random selection.
    pub seed: u64,
    /// Interpretation of the standard.
    pub dialect: Dialect,
}

impl IsolationPlan {
    /// Returns the defaults, the standard's where it has any.
    #[must_use]
    pub const fn new() -> Self {
        let limit = LimitPlan { interval: Duration::from_micros(1), burst: 64 };
        Self {
            enabled: false,
            map: QueueMap { congesting: [None; PRIORITIES] },
            watch: Watch {
                detect: Detect::Length(Bytes(100_000)),
                low: Bytes(10_000),
                cim_above: Bytes(100_000),
            },
            // The default of 49.4.1.2.7.
            max_cim_tx: 3,
            // The default of 49.4.1.1.3, 100 centiseconds.
            max_flow_life: Duration::from_secs(1),
            spacing: Duration::from_micros(10),
            budget: limit,
            heard: limit,
            streams: 4_096,
            peers_max: 1_024,
            seed: 0,
            dialect: Dialect { repeat: CimRepeat::BeforeItsLifeEnds },
        }
    }

    /// Checks the range of every number.
    ///
    /// # Errors
    /// Returns the first number out of range.
    pub fn check(&self) -> Result<(), IsolationError> {
        if self.max_flow_life == Duration::ZERO {
            return Err(IsolationError::NoLife);
        }
        if self.budget.burst == 0 || self.heard.burst == 0 {
            return Err(IsolationError::NoBudget);
        }
        if !(1..=STREAMS_MAX).contains(&self.streams) {
            return Err(IsolationError::Streams(self.streams));
        }
        self.watch.check()
    }
}

impl Default for IsolationPlan {
    fn default() -> Self {
        Self::new()
    }
}

/// Error in a plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum IsolationError {
    /// The number names no class.
    #[error("{0} in a queue map: -8 to 8")]
    MapNumber(i8),
    /// The class has no partner.
    #[error("the queue map does not say of traffic class {0} which one goes with it")]
    MapPair(TrafficClass),
    /// Flows would end at once.
    #[error("ci-max-flow-life is 0")]
    NoLife,
    /// The budget would let no message pass.
    #[error("a limit of CIMs has a burst of 0")]
    NoBudget,
    /// The table's size is zero or above the maximum.
    #[error("{0} congesting flows: 1 to {STREAMS_MAX}")]
    Streams(usize),
    /// The peer would be notified of flows that have ended.
    #[error("CIMs from {cim_above} on, but flows are over at {low}")]
    Watch {
        /// Length at or below which flows end.
        low: Bytes,
        /// Length above which CIMs are sent.
        cim_above: Bytes,
    },
}

counters! {
    /// Flows, frames and messages, by result.
    IsolationCounters {
        /// Frames placed in a congesting queue.
        isolated_frames = "ci_isolated_frames",
        /// Frames placed in a congesting queue that had to wait for frames in the monitored queue.
        held_frames = "ci_held_frames",
        /// Flows that returned to their original class.
        returned = "ci_returned",
        /// Times that a selected or named flow found the stream table full.
        no_room = "ci_no_room",
        /// CIMs requested to isolate a flow.
        sent_add = "ci_cim_sent_add",
        /// CIMs requested to end the isolation of a flow.
        sent_del = "ci_cim_sent_del",
        /// CIMs not sent because the flow had max-cim-tx of them.
        had_all = "ci_cim_had_all",
        /// CIMs not sent because the last one about the flow was too recent.
        too_soon = "ci_cim_too_soon",
        /// CIMs not sent because the flow's ingress port has no peer.
        no_peer = "ci_cim_no_peer",
        /// CIMs not sent because the limit of all flows together was reached.
        over_budget = "ci_cim_over_budget",
        /// CIMs not sent because the port has no source address.
        no_address = "ci_cim_no_address",
        /// CIMs not sent because the frame cannot be encoded in one.
        unwritable = "ci_cim_unwritable",
        /// CIMs not sent for lack of memory.
        no_memory = "ci_cim_no_memory",
        /// CIMs received that named a new flow.
        heard_isolated = "ci_heard_isolated",
        /// CIMs received that named a flow again.
        heard_renewed = "ci_heard_renewed",
        /// CIMs received that released a flow.
        heard_released = "ci_heard_released",
        /// CIMs received for which the stream table had no room.
        heard_no_room = "ci_heard_no_room",
        /// CIMs received that released a flow without an earlier CIM.
        heard_nothing_to_release = "ci_heard_nothing_to_release",
        /// CIMs received about flows of classes that are not monitored.
        heard_not_monitored = "ci_heard_not_monitored",
        /// CIMs received while isolation is off.
        heard_disabled = "ci_heard_disabled",
        /// CIMs received by ports that have no peer.
        heard_unknown_peer = "ci_heard_unknown_peer",
        /// CIMs received from a sender other than the port's peer.
        heard_foreign_source = "ci_heard_foreign_source",
        /// CIMs received over the limit of a peer.
        heard_too_many = "ci_heard_too_many",
        /// CIMs received that are malformed.
        heard_malformed = "ci_heard_malformed",
        /// Flows inserted into the stream table.
        streams_created = "ci_streams_created",
        /// Flows removed from it.
        streams_removed = "ci_streams_removed",
        /// Flows refused because it was full.
        streams_full = "ci_streams_full",
        /// Flows refused because their buckets were full.
        streams_crowded = "ci_streams_crowded",
    }
}
