//! What isolation is told, under the names of the standard's managed objects, and what it counts.

use thiserror::Error;

use super::Heard;
use crate::congestion::detect::Detect;
use crate::congestion::limit::LimitPlan;
use crate::congestion::streams::STREAMS_MAX;
use crate::time::Duration;
use crate::units::{Bytes, PRIORITIES, TrafficClass};

/// How the integers of a queue map are read. The YANG module says that positive ones are about
/// monitored and negative ones about congesting traffic classes; what the place in the array means was
/// not found first-hand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MapReading {
    /// Each class names its other one: `-k` in place i says that the congesting flows of class i go to
    /// class k-1, and `+k` in place i that those of class k-1 come to class i.
    Partner,
    /// Each class says what it is: `+k` in place i makes class i the monitored one of pair k, `-k` the
    /// congesting one.
    Pair,
}

/// Which class takes the congesting flows of which.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct QueueMap {
    congesting: [Option<TrafficClass>; PRIORITIES],
}

impl QueueMap {
    /// The map of a `queue-map` (802.1Qcz 49.4.1.2.5): -8 to 8 for each class, 0 where it takes no part.
    ///
    /// # Errors
    /// What is wrong with the map in this reading.
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
                    // The other one has to take part as congesting class, of this or another.
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

    /// The `queue-map` that says this in the reading of partners. A class that takes the flows of several
    /// names the lowest of them.
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

    /// Where the congesting flows of a class go, if it is monitored.
    #[inline]
    #[must_use]
    pub const fn congesting(&self, class: TrafficClass) -> Option<TrafficClass> {
        self.congesting[class.index()]
    }
}

/// The numbers of one monitored queue. The standard leaves them to the bridge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Watch {
    /// Which frames make their flows congesting ones.
    pub detect: Detect,
    /// The length of the congesting queue at or below which its flows are over.
    pub low: Bytes,
    /// The length of the congesting queue above which the upstream peer is told: congestion that
    /// isolation alone does not end. Not below `low`.
    pub cim_above: Bytes,
}

impl Watch {
    /// Whether the numbers go together.
    ///
    /// # Errors
    /// If the peer would be told of flows that are over.
    pub const fn check(&self) -> Result<(), IsolationError> {
        if self.cim_above.0 < self.low.0 {
            return Err(IsolationError::Watch { low: self.low, cim_above: self.cim_above });
        }
        Ok(())
    }
}

/// What `max-cim-tx`, the most CIMs for a flow, is counted over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CimRepeat {
    /// As long as the flow is in the table.
    Never,
    /// Anew half a ci-max-flow-life after the last one, so that the peer, which forgets the flow after
    /// a whole one, keeps it isolated while it congests here. Ours.
    BeforeItsLifeEnds,
}

/// Readings of the standard where several are possible.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dialect {
    /// How CIMs are counted.
    pub repeat: CimRepeat,
}

/// Isolation's plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IsolationPlan {
    /// ci-master-enable. Off by default.
    pub enabled: bool,
    /// queue-map. None monitored by default.
    pub map: QueueMap,
    /// The numbers of monitored queues that have none of their own. Default 100 KB, 10 KB and 100 KB.
    pub watch: Watch,
    /// max-cim-tx: the most CIMs for a flow. Default 3; 0 sends none.
    pub max_cim_tx: u32,
    /// ci-max-flow-life: how long a flow stays in that a CIM named, after its queue is not congested
    /// any more, and any that is not seen. Not zero; default 100 centiseconds.
    pub max_flow_life: Duration,
    /// The least time between two CIMs about one flow. The standard has none; 10 us here.
    pub spacing: Duration,
    /// The CIMs of all flows together. Default 64 at once and one per microsecond.
    pub budget: LimitPlan,
    /// The CIMs that are taken from each port's peer. Default as what is sent.
    pub heard: LimitPlan,
    /// max-ci-stream-entries: the most isolated flows at a time. 1 to [`STREAMS_MAX`], default 4096.
    pub streams: usize,
    /// max-ci-peer-entries: the most peers. Default 1024, every port.
    pub peers_max: usize,
    /// What decides where flows fall in the table, and which frames an AQM's curve picks.
    pub seed: u64,
    /// How the standard is read.
    pub dialect: Dialect,
}

impl IsolationPlan {
    /// The defaults, of the standard where it has any.
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

    /// Whether every number is in its range.
    ///
    /// # Errors
    /// The first that is not.
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

/// What is wrong with a plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum IsolationError {
    /// A number that names no class.
    #[error("{0} in a queue map: -8 to 8")]
    MapNumber(i8),
    /// A class without its other one.
    #[error("the queue map does not say of traffic class {0} which one goes with it")]
    MapPair(TrafficClass),
    /// Flows would be over at once.
    #[error("ci-max-flow-life is 0")]
    NoLife,
    /// No message would ever pass.
    #[error("a limit of CIMs has a burst of 0")]
    NoBudget,
    /// A table of no size, or of more than its indices can name.
    #[error("{0} congesting flows: 1 to {STREAMS_MAX}")]
    Streams(usize),
    /// The peer would be told of flows that are over.
    #[error("CIMs from {cim_above} on, but flows are over at {low}")]
    Watch {
        /// Where flows are over.
        low: Bytes,
        /// Above what CIMs are sent.
        cim_above: Bytes,
    },
}

/// What happened to flows and frames.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct IsolationCounters {
    /// Frames that were placed in a congesting queue.
    pub isolated_frames: u64,
    /// Those of them with something to wait for.
    pub held_frames: u64,
    /// Flows that went back to their class.
    pub returned: u64,
    /// Flows, each time one was picked or named, that found no room in the table.
    pub no_room: u64,
    /// CIMs sent, and why not.
    pub cim: CimCounters,
    /// CIMs received.
    pub heard: HeardCounters,
}

/// CIMs sent, and those not sent by the first reason that applies.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct CimCounters {
    /// To isolate a flow.
    pub sent_add: u64,
    /// To isolate it no longer.
    pub sent_del: u64,
    /// The flow had all that it may have.
    pub had_all: u64,
    /// The last one about the flow was not long enough ago.
    pub too_soon: u64,
    /// Nobody is known to be upstream.
    pub no_peer: u64,
    /// The messages of all flows together are used up for now.
    pub over_budget: u64,
}

/// CIMs received, by what became of them.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct HeardCounters([u64; 10]);

impl HeardCounters {
    /// How many there were of a kind.
    #[must_use]
    pub const fn get(&self, heard: Heard) -> u64 {
        self.0[heard as usize]
    }

    pub(super) const fn of(&mut self, heard: Heard) -> &mut u64 {
        &mut self.0[heard as usize]
    }
}
