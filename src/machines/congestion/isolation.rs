//! Congestion Isolation (802.1Qcz, Clause 49): frames of congesting flows go to a separate traffic
//! class, so that other flows do not wait behind them, and the upstream neighbour is asked to do
//! the same.
//!
//! For every frame to be enqueued the caller gets its class from [`Isolation::place`]. It calls
//! [`Isolation::on_enqueued`] and [`Isolation::on_dequeued`] for every frame that joined or left a
//! queue, for any reason, with the frame's [`Hold`]. Before it dequeues the head of a queue it
//! checks [`Isolation::may_leave`]. Queues are FIFO. A frame may bypass its queue if all queues of
//! its port are empty. The caller also builds CIMs and passes in those received.
//!
//! **Order.** Frames of one flow and class leave in the order of arrival:
//! - When a flow is found, all of its frames so far are in the monitored queue or have left. From
//!   then on its frames join the congesting queue, each with a hold: it may not leave before all
//!   frames that were in the monitored queue when the flow was found have left it. That takes two
//!   counters per queue and a number per frame; dequeuing needs no search.
//! - It returns only when all frames up to the flow's last one have left the congesting queue, so
//!   its next frame has no frame to overtake. An entry is never removed before.
//!
//! Every frame waits only for frames that joined a queue before it did, under any queue map and any
//! change of it, so holds cannot deadlock, and each ends when the frames ahead in the other queue
//! have left.
//!
//! **End.** A flow ends when its frame finds the monitored queue not congested and the congesting
//! one at or below `low`; a flow named by a CIM also stays for the configured lifetime after that.
//!
//! All decisions are made on arrival of frames and messages, with time as an argument. There are no
//! timers, and nothing is allocated after `new`.

mod cims;
mod placing;
mod plan;

pub use cims::{CimOrder, CimType, Heard, Peer, PeerError, Received};
pub use placing::Hold;
pub use plan::{
    CimRepeat, Dialect, IsolationCounters, IsolationError, IsolationPlan, MapReading, QueueMap,
    Watch,
};

use cims::Peers;
use placing::Queues;

use super::Limit;
use super::detect::Queue;
use super::flow_key::FlowKey;
use super::streams::{CreateMask, Stream, StreamCounters, StreamPlan, StreamTable};
use ground::rand::Rng;
use ground::time::Instant;
use ground::units::{Mac, PRIORITIES, PortId, TrafficClass, Vid};

/// Fields of the stream table beside the key, taken from the flow's first frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Labels {
    /// Destination address.
    pub dst: Mac,
    /// Source address.
    pub src: Mac,
    /// VLAN of the tag, if any.
    pub vid: Option<Vid>,
}

/// A frame to be enqueued.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Ingress port.
    pub ingress: PortId,
    /// Queue without isolation.
    pub queue: Queue,
    /// Key of its flow.
    pub key: FlowKey,
    /// Other fields of the stream table.
    pub labels: Labels,
}

/// Result of [`Isolation::place`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Placement {
    /// Class of the queue that the frame joins.
    pub class: TrafficClass,
    /// Condition for leaving the head of that queue.
    pub hold: Hold,
    /// CIM to be built from this frame.
    pub cim: Option<CimOrder>,
}

/// Entry of the CI stream table (802.1Qcz 49.3.7), read-only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IsolatedFlow {
    /// Key of the flow.
    pub key: FlowKey,
    /// Addresses and VLAN of the first frame.
    pub labels: Labels,
    /// Monitored queue (the tuple that the queue-key stands for).
    pub queue: Queue,
    /// Class that its frames go to.
    pub congesting: TrafficClass,
    /// create-time.
    pub created: Instant,
    /// create-mask.
    pub mask: CreateMask,
    /// cim-count: CIMs sent about it.
    pub cims: u32,
}

impl IsolatedFlow {
    fn of(stream: &Stream<Isolated>) -> Self {
        Self {
            key: stream.key,
            labels: stream.state.labels,
            queue: stream.queue,
            congesting: stream.state.to,
            created: stream.created,
            mask: stream.mask,
            cims: stream.messages,
        }
    }
}

/// State of an isolated flow.
#[derive(Clone, Copy, Debug)]
struct Isolated {
    /// Class that its frames go to.
    to: TrafficClass,
    labels: Labels,
    /// Total of frames that had joined the monitored queue when the flow was found.
    behind: u64,
    /// Total of frames that will have joined the congesting queue with the flow's last frame.
    last: u64,
    /// CIMs about the flow that count against the maximum.
    counted: u32,
    /// Time and port of the last CIM.
    cim_sent: Option<(Instant, PortId)>,
}

/// Congestion Isolation for all ports of one worker.
pub struct Isolation {
    plan: IsolationPlan,
    queues: Queues,
    watches: Box<[Watch]>,
    /// By queue: length up to which no frame is selected; the maximum for queues without detection.
    floors: Box<[u64]>,
    /// Bit mask of the classes that are monitored, or were since the table was last empty.
    monitored: u8,
    streams: StreamTable<Isolated>,
    peers: Peers,
    budget: Limit,
    heard: Box<[Limit]>,
    rng: Rng,
    counters: IsolationCounters,
}

impl Isolation {
    /// Creates isolation for `ports` ports, numbered from 0, with an empty table and no peers.
    ///
    /// # Errors
    /// Returns the first error of the plan.
    pub fn new(plan: IsolationPlan, ports: u16) -> Result<Self, IsolationError> {
        plan.check()?;
        let ports = usize::from(ports);
        let table =
            StreamPlan { capacity: plan.streams, life: plan.max_flow_life, seed: plan.seed };
        let mut isolation = Self {
            queues: Queues::new(ports),
            watches: vec![plan.watch; ports * PRIORITIES].into_boxed_slice(),
            floors: vec![u64::MAX; ports * PRIORITIES].into_boxed_slice(),
            monitored: 0,
            streams: StreamTable::new(table),
            peers: Peers::new(ports, plan.peers_max),
            budget: Limit::new(plan.budget),
            heard: vec![Limit::new(plan.heard); ports].into_boxed_slice(),
            rng: Rng::new(plan.seed),
            counters: IsolationCounters::default(),
            plan,
        };
        isolation.find_floors();
        Ok(isolation)
    }

    /// Replaces the plan at run time, except the sizes, the seed, and the watches of single queues
    /// that differ from the plan's. Isolated flows return in order when isolation is disabled. If
    /// the queue map changes they stay in their present queue until they return.
    ///
    /// # Errors
    /// Returns the first error of the plan; the old one then stays in force.
    pub fn set_plan(&mut self, plan: IsolationPlan) -> Result<(), IsolationError> {
        plan.check()?;
        let old = self.plan;
        if plan.budget != old.budget {
            self.budget = Limit::new(plan.budget);
        }
        if plan.heard != old.heard {
            self.heard.fill(Limit::new(plan.heard));
        }
        // A queue whose thresholds were set separately keeps them.
        for watch in self.watches.iter_mut().filter(|watch| **watch == old.watch) {
            *watch = plan.watch;
        }
        self.streams.set_life(plan.max_flow_life);
        // The tables have been allocated, and another seed would no longer find their flows.
        let (streams, peers_max, seed) = (old.streams, old.peers_max, old.seed);
        self.plan = IsolationPlan { streams, peers_max, seed, ..plan };
        self.find_floors();
        Ok(())
    }

    /// Sets the thresholds of one monitored queue.
    ///
    /// # Errors
    /// If the thresholds contradict each other; the old ones then stay in force.
    pub fn set_watch(&mut self, queue: Queue, watch: Watch) -> Result<(), IsolationError> {
        watch.check()?;
        self.watches[queue.index()] = watch;
        self.find_floors();
        Ok(())
    }

    /// Recalculates the lengths that [`Self::concerns`] compares with.
    fn find_floors(&mut self) {
        // While flows of an earlier map are isolated, their classes stay marked: their frames must be looked up.
        if self.streams.is_empty() {
            self.monitored = 0;
        }
        for (n, (floor, watch)) in self.floors.iter_mut().zip(&self.watches).enumerate() {
            let class = TrafficClass::ALL[n % PRIORITIES];
            *floor = u64::MAX;
            if self.plan.map.congesting(class).is_some() {
                self.monitored |= 1 << class.get();
                if self.plan.enabled {
                    *floor = watch.detect.floor().0;
                }
            }
        }
    }

    /// Sets or removes a port's peer.
    ///
    /// # Errors
    /// If the peer is invalid, or the table is full.
    pub fn set_peer(&mut self, port: PortId, peer: Option<Peer>) -> Result<(), PeerError> {
        self.peers.set(port, peer)
    }

    /// Returns a port's peer.
    #[must_use]
    pub fn peer(&self, port: PortId) -> Option<&Peer> {
        self.peers.get(port)
    }

    /// Returns the plan in force.
    #[must_use]
    pub const fn plan(&self) -> &IsolationPlan {
        &self.plan
    }

    /// Returns the thresholds of one queue.
    #[must_use]
    pub fn watch(&self, queue: Queue) -> &Watch {
        &self.watches[queue.index()]
    }

    /// Returns the counters.
    #[must_use]
    pub const fn counters(&self) -> IsolationCounters {
        let StreamCounters { created, removed, full, crowded, .. } = self.streams.counters();
        IsolationCounters {
            streams_created: created,
            streams_removed: removed,
            streams_full: full,
            streams_crowded: crowded,
            ..self.counters
        }
    }

    /// Resets the counters to zero. Isolated flows are unaffected.
    pub fn clear_counters(&mut self) {
        self.counters = IsolationCounters::default();
        self.streams.clear_counters();
    }

    /// Returns the number of flows in the table, including ended ones that are not yet removed.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.streams.len()
    }

    /// Returns true if no flow is isolated.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.streams.is_empty()
    }

    /// Returns the flows in the table, least recently seen first.
    pub fn flows(&self) -> impl Iterator<Item = IsolatedFlow> {
        self.streams.iter().map(IsolatedFlow::of)
    }

    /// Returns the flows in at most `most` slots of the table from slot `from` on, each with its
    /// slot number.
    pub fn flows_in(&self, from: usize, most: usize) -> impl Iterator<Item = (u32, IsolatedFlow)> {
        self.streams.page(from, most).map(|(slot, stream)| (slot, IsolatedFlow::of(stream)))
    }

    /// Returns the number of slots in the table, used or free.
    #[must_use]
    pub fn places(&self) -> usize {
        self.streams.places()
    }

    /// Records that a frame joined a queue, with its hold.
    #[inline]
    pub fn on_enqueued(&mut self, queue: Queue, hold: Hold) {
        self.queues.join(queue, hold);
    }

    /// Records that a frame left a queue, sent or dropped.
    ///
    /// # Panics
    /// If more frames left than joined: order is then unknown.
    #[inline]
    pub fn on_dequeued(&mut self, queue: Queue, hold: Hold) {
        // Also for a dropped frame: what waits for it must not wait forever.
        self.queues.leave(queue, hold);
    }

    /// Returns true if a frame with this hold may leave its queue of `port`.
    #[inline]
    #[must_use]
    pub const fn may_leave(&self, port: PortId, hold: Hold) -> bool {
        self.queues.may_leave(port, hold)
    }

    /// Returns the class whose queue a frame with this hold waits for, at the head of another queue of `port`.
    #[must_use]
    pub fn waits_for(&self, port: PortId, hold: Hold) -> Option<TrafficClass> {
        (!self.may_leave(port, hold)).then_some(hold.class())
    }

    /// Returns true if any queued frame of `port` was given a hold.
    #[inline]
    #[must_use]
    pub const fn holds_any(&self, port: PortId) -> bool {
        self.queues.held(port) > 0
    }
}

#[cfg(test)]
mod tests;
