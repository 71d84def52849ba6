//! Congestion Isolation (802.1Qcz, Clause 49): frames of congesting flows go to a traffic class of their
//! own, so that the flows beside them do not wait behind them, and the upstream neighbour is told to do
//! the same.
//!
//! For every frame on its way into a queue the caller asks [`Isolation::place`] which class it goes to,
//! and tells [`Isolation::on_enqueued`] and [`Isolation::on_dequeued`] of every frame that really
//! joined or left a queue, for whatever reason, with the [`Hold`] that it was given. Before it lets a
//! frame leave the head of a queue it asks [`Isolation::may_leave`]. Queues are first in, first out. A
//! frame may go past its queue where all queues of its port are empty. Making CIMs and handing in those
//! received is the caller's, too.
//!
//! **Order.** Frames of one flow and class leave in the order in which they came:
//! - When a flow is found, all of its frames so far are in the monitored queue or gone. From then on its
//!   frames join the congesting queue, each with a hold: it may not leave before the monitored queue has
//!   got rid of everything that was in it when the flow was found. That is two counters per queue and
//!   a number per frame; nothing is searched for when frames leave.
//! - It goes back only when everything has left the congesting queue that was in it behind the flow's
//!   last frame, so its next frame has nobody to overtake. A stream is never forgotten before.
//!
//! Whatever a frame waits for joined a queue before it did, whichever way the queue map says and however
//! it changes, so holds cannot deadlock, and each ends when what was ahead in the other queue has left.
//!
//! **An end.** A flow is over when its frame finds the monitored queue not congested and the congesting
//! one at or below `low`; one that a CIM named also has its life to live after that.
//!
//! Everything is decided when frames and messages come, by times that are arguments; there are no timers,
//! and nothing is allocated after `new`.

mod cims;
mod peers;
mod placing;
mod plan;
mod queues;

pub use cims::{CimOrder, Heard, Received};
pub use peers::{CimType, Peer, PeerError};
pub use plan::{
    CimCounters, CimRepeat, Dialect, HeardCounters, IsolationCounters, IsolationError,
    IsolationPlan, MapReading, QueueMap, Watch,
};
pub use queues::Hold;

use peers::Peers;
use queues::Queues;

use super::detect::Queue;
use super::ecn::Dice;
use super::flow_key::FlowKey;
use super::limit::Limit;
use super::streams::{CreateMask, Stream, StreamCounters, StreamPlan, StreamTable};
use crate::time::Instant;
use crate::units::{Mac, PRIORITIES, PortId, TrafficClass, Vid};

/// What the stream table says of a flow's frames beside its key: those of the first one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Labels {
    /// Destination address.
    pub dst: Mac,
    /// Source address.
    pub src: Mac,
    /// The VLAN, where a tag says it.
    pub vid: Option<Vid>,
}

/// A frame on its way into a queue.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// The port that it came in by.
    pub ingress: PortId,
    /// The queue that it would join without isolation.
    pub queue: Queue,
    /// Its flow.
    pub key: FlowKey,
    /// What else the table says of it.
    pub labels: Labels,
}

/// Where a frame goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Placement {
    /// The class whose queue it joins.
    pub class: TrafficClass,
    /// What it waits for at the head of that queue.
    pub hold: Hold,
    /// A CIM that is to be made of this frame.
    pub cim: Option<CimOrder>,
}

/// An entry of the CI stream table (802.1Qcz 49.3.7), to look at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IsolatedFlow {
    /// What its frames are known by.
    pub key: FlowKey,
    /// The addresses and the VLAN of the frame that it was found by.
    pub labels: Labels,
    /// The monitored queue (the tuple that the queue-key stands for).
    pub queue: Queue,
    /// The class where its frames go.
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

/// What is kept with an isolated flow.
#[derive(Clone, Copy, Debug)]
struct Isolated {
    /// Where its frames go.
    to: TrafficClass,
    labels: Labels,
    /// How many frames had joined the monitored queue, ever, when the flow was found.
    behind: u64,
    /// How many will have joined the congesting queue, ever, with the flow's last frame.
    last: u64,
    /// CIMs about it that count against the most.
    counted: u32,
    /// When the last one went, and where.
    told: Option<(Instant, PortId)>,
}

/// Congestion isolation, for all ports of one worker.
pub struct Isolation {
    plan: IsolationPlan,
    queues: Queues,
    watches: Box<[Watch]>,
    /// By queue: up to this length nothing is picked. As long as can be where nothing is at all.
    floors: Box<[u64]>,
    /// The classes that are monitored, or were since the table was last empty, one bit each.
    monitored: u8,
    streams: StreamTable<Isolated>,
    peers: Peers,
    budget: Limit,
    heard: Box<[Limit]>,
    dice: Dice,
    counters: IsolationCounters,
}

impl Isolation {
    /// Isolation for `ports` ports, numbered from 0, that has found nothing yet and has no peers.
    ///
    /// # Errors
    /// What is wrong with the plan.
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
            dice: Dice::new(plan.seed),
            counters: IsolationCounters::default(),
            plan,
        };
        isolation.find_floors();
        Ok(isolation)
    }

    /// Another plan, at run time: all but the sizes and the seed, which stay as they are, and the
    /// numbers of single queues that differ from the plan's. Flows that are isolated go back in order when isolation is switched
    /// off; where the queue map changes they stay in the queue where they are until they go back.
    ///
    /// # Errors
    /// What is wrong with the plan; then the old one holds.
    pub fn set_plan(&mut self, plan: IsolationPlan) -> Result<(), IsolationError> {
        plan.check()?;
        let old = self.plan;
        if plan.budget != old.budget {
            self.budget = Limit::new(plan.budget);
        }
        if plan.heard != old.heard {
            self.heard.fill(Limit::new(plan.heard));
        }
        for watch in self.watches.iter_mut().filter(|watch| **watch == old.watch) {
            *watch = plan.watch;
        }
        self.streams.set_life(plan.max_flow_life);
        let (streams, peers_max, seed) = (old.streams, old.peers_max, old.seed);
        self.plan = IsolationPlan { streams, peers_max, seed, ..plan };
        self.find_floors();
        Ok(())
    }

    /// Other numbers for one monitored queue.
    ///
    /// # Errors
    /// If they contradict each other; then the old ones hold.
    pub fn set_watch(&mut self, queue: Queue, watch: Watch) -> Result<(), IsolationError> {
        watch.check()?;
        self.watches[queue.index()] = watch;
        self.find_floors();
        Ok(())
    }

    /// Finds anew what [`Self::concerns`] goes by.
    fn find_floors(&mut self) {
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

    /// Enters a port's peer, or strikes it out.
    ///
    /// # Errors
    /// If the peer is none, or the table is full.
    pub fn set_peer(&mut self, port: PortId, peer: Option<Peer>) -> Result<(), PeerError> {
        self.peers.set(port, peer)
    }

    /// A port's peer.
    #[must_use]
    pub fn peer(&self, port: PortId) -> Option<&Peer> {
        self.peers.get(port)
    }

    /// The plan that holds.
    #[must_use]
    pub const fn plan(&self) -> &IsolationPlan {
        &self.plan
    }

    /// The numbers of one queue.
    #[must_use]
    pub fn watch(&self, queue: Queue) -> &Watch {
        &self.watches[queue.index()]
    }

    /// What happened.
    #[must_use]
    pub const fn counters(&self) -> &IsolationCounters {
        &self.counters
    }

    /// What happened to flows in the table.
    #[must_use]
    pub const fn stream_counters(&self) -> StreamCounters {
        self.streams.counters()
    }

    /// Counters start again from zero. What is isolated stays so.
    pub fn clear_counters(&mut self) {
        self.counters = IsolationCounters::default();
        self.streams.clear_counters();
    }

    /// How many flows are in the table, those among them that are over and not yet taken out.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.streams.len()
    }

    /// Whether no flow is isolated.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.streams.is_empty()
    }

    /// The flows in the table, the one seen longest ago first.
    pub fn flows(&self) -> impl Iterator<Item = IsolatedFlow> {
        self.streams.iter().map(IsolatedFlow::of)
    }

    /// The flows in at most `most` places of the table from the one with the number `from` on, each with
    /// the number of its place.
    pub fn flows_in(&self, from: usize, most: usize) -> impl Iterator<Item = (u32, IsolatedFlow)> {
        self.streams.page(from, most).map(|(at, stream)| (at, IsolatedFlow::of(stream)))
    }

    /// How many places the table has, in use or not.
    #[must_use]
    pub fn places(&self) -> usize {
        self.streams.places()
    }

    /// A frame joined a queue, with the hold that it was given.
    #[inline]
    pub fn on_enqueued(&mut self, queue: Queue, hold: Hold) {
        self.queues.join(queue, hold);
    }

    /// A frame left a queue, sent or not.
    ///
    /// # Panics
    /// If more have left than joined: then nothing is known about order.
    #[inline]
    pub fn on_dequeued(&mut self, queue: Queue, hold: Hold) {
        self.queues.leave(queue, hold);
    }

    /// Whether a frame with this hold may leave its queue of `port`.
    #[inline]
    #[must_use]
    pub const fn may_leave(&self, port: PortId, hold: Hold) -> bool {
        self.queues.may_leave(port, hold)
    }

    /// Whether any frame in a queue of `port` came with something to wait for.
    #[inline]
    #[must_use]
    pub const fn holds_any(&self, port: PortId) -> bool {
        self.queues.held(port) > 0
    }
}

#[cfg(test)]
mod tests;
