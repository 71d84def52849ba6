//! Configuration of isolation, under the names of the standard's managed objects, and its counters.

use thiserror::Error;

use super::heard::Heard;
use crate::detect::Detect;
use crate::limit::LimitPlan;
use crate::streams::STREAMS_MAX;
use ground::time::Duration;
use ground::units::{Bytes, PRIORITIES, TrafficClass};

/// Interpretation of the integers of a queue map. The YANG module says that positive ones are about
/// monitored and negative ones about congesting traffic classes; no first-hand source for the
/// meaning of the position in the array was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MapReading {
    /// Each class names its partner: `-k` at index i sends the congesting flows of class i to class
    /// k-1, and `+k` at index i sends those of class k-1 to class i.
    Partner,
    /// Each class states its role: `+k` at index i makes class i the monitored one of pair k, `-k`
    /// the congesting one.
    Pair,
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
        let of = |class: TrafficClass| map[class.index()];
        let named = |n: i8| TrafficClass::ALL[usize::from(n.unsigned_abs()) - 1];
        let mut congesting = [None; PRIORITIES];
        for class in TrafficClass::ALL {
            let n = of(class);
            let wrong = Err(IsolationError::MapPair(class));
            match reading {
                MapReading::Partner if n < 0 => {
                    // The partner must be a congesting class, of this or another class.
                    if of(named(n)) <= 0 {
                        return wrong;
                    }
                    congesting[class.index()] = Some(named(n));
                }
                MapReading::Partner if n > 0 => {
                    if of(named(n)) != -(class.get() as i8 + 1) {
                        return wrong;
                    }
                }
                MapReading::Pair if n != 0 => {
                    let mut others = TrafficClass::ALL.into_iter().filter(|c| of(*c) == -n);
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

/// Scope of `max-cim-tx`, the maximum number of CIMs for a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CimRepeat {
    /// As long as the flow is in the table.
    Never,
    /// Restarts half a ci-max-flow-life after the last CIM, so that the peer, which removes the
    /// flow after a whole one, keeps it isolated while it congests here. Our choice.
    BeforeItsLifeEnds,
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
            max_cim_tx: 3,
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

/// Counters of flows and frames.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct IsolationCounters {
    /// Frames placed in a congesting queue.
    pub isolated_frames: u64,
    /// Frames placed in a congesting queue with a hold.
    pub held_frames: u64,
    /// Flows that returned to their original class.
    pub returned: u64,
    /// Times that a selected or named flow found the table full.
    pub no_room: u64,
    /// CIMs sent, and CIMs not sent by reason.
    pub cim: CimCounters,
    /// CIMs received.
    pub heard: HeardCounters,
}

/// CIMs sent, and CIMs not sent by the first reason that applies.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct CimCounters {
    /// CIMs that request isolation.
    pub sent_add: u64,
    /// CIMs that end it.
    pub sent_del: u64,
    /// CIMs over the maximum per flow.
    pub had_all: u64,
    /// CIMs within the minimum time since the flow's last one.
    pub too_soon: u64,
    /// CIMs without an upstream peer.
    pub no_peer: u64,
    /// CIMs over the limit of all flows together.
    pub over_budget: u64,
}

/// Received CIMs by result.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct HeardCounters([u64; 10]);

impl HeardCounters {
    /// Returns the number of CIMs with this result.
    #[must_use]
    pub const fn get(&self, heard: Heard) -> u64 {
        self.0[heard as usize]
    }

    pub(super) const fn of(&mut self, heard: Heard) -> &mut u64 {
        &mut self.0[heard as usize]
    }
}
