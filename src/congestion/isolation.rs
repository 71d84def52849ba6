//! Congestion Isolation (802.1Qcz, Clause 49): frames of congesting flows go to a traffic class of their
//! own, so that the flows beside them do not wait behind them, and the upstream neighbour is told to do
//! the same.
//!
//! For every frame on its way into a queue the caller asks [`Isolation::place`] which class it goes to,
//! and tells [`Isolation::on_enqueued`] and [`Isolation::on_dequeued`] of every frame that really
//! joined or left a queue, for whatever reason. Before it lets a frame leave the head of a queue it asks
//! [`Isolation::may_leave`] with the frame's [`Hold`]. Queues are first in, first out. Making CIMs and
//! handing in those received is the caller's, too.
//!
//! **Order.** Frames of one flow and class leave in the order in which they came:
//! - When a flow is found, all of its frames so far are in the monitored queue or gone. From then on its
//!   frames join the congesting queue, each with a hold: it may not leave before the monitored queue has
//!   got rid of everything that was in it when the flow was found. That is two counters per queue and
//!   a number per frame; nothing is searched for when frames leave.
//! - It goes back only when everything has left the congesting queue that was in it behind the flow's
//!   last frame, so its next frame has nobody to overtake. A stream is never forgotten before.
//!
//! The congesting queue waits for the monitored one and never the other way round, so holds cannot
//! deadlock, and each ends when what was ahead in the monitored queue has left.
//!
//! **An end.** A flow is over when its frame finds the monitored queue not congested and the congesting
//! one at or below `low`; one that a CIM named also has its life to live after that.
//!
//! Everything is decided when frames and messages come, by times that are arguments; there are no timers,
//! and nothing is allocated after `new`.

mod peers;
mod plan;

pub use peers::{CimType, Peer, PeerError};
pub use plan::{
    CimCounters, CimRepeat, Dialect, HeardCounters, IsolationCounters, IsolationError,
    IsolationPlan, MapReading, QueueMap, Watch,
};

use peers::Peers;

use super::detect::Queue;
use super::ecn::Dice;
use super::flow_key::FlowKey;
use super::limit::Limit;
use super::streams::{CreateMask, Place, Stream, StreamCounters, StreamPlan, StreamTable};
use crate::time::Instant;
use crate::units::{Bytes, Mac, PRIORITIES, PortId, TrafficClass};
use core::net::IpAddr;

/// A frame on its way into a queue.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// The port that it came in by.
    pub ingress: PortId,
    /// The queue that it would join without isolation.
    pub queue: Queue,
    /// Its flow.
    pub key: FlowKey,
}

/// What a frame in a congesting queue waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hold {
    /// The class whose queue of the same port it must not overtake.
    class: TrafficClass,
    /// How many frames have to have left that queue, ever.
    until: u64,
}

impl Hold {
    /// Nothing to wait for.
    pub const NONE: Self = Self { class: TrafficClass::MIN, until: 0 };
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

/// A CIM that is due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CimOrder {
    /// Whether the peer is to isolate the flow or not any longer.
    pub add: bool,
    /// The port where the peer is; [`Isolation::peer`] has its addresses.
    pub to: PortId,
}

/// A CIM that came in.
#[derive(Clone, Copy, Debug)]
pub struct Received {
    /// The port that it came in by: the one whose queues its flow is in.
    pub port: PortId,
    /// Who sent it, in layer 2.
    pub mac: Mac,
    /// Who sent it, where it came as a packet.
    pub address: Option<IpAddr>,
    /// Whether to isolate the flow or not any longer.
    pub add: bool,
    /// The flow, as read from what the message encapsulates.
    pub key: FlowKey,
    /// The traffic class that this bridge has for the flow's frames.
    pub class: TrafficClass,
}

/// What became of a CIM that came in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Heard {
    /// The flow is isolated from now on.
    Isolated,
    /// It was already.
    Renewed,
    /// The peer wants it isolated no longer.
    Released,
    /// The peer wants no longer isolated what was not isolated because of a CIM.
    NothingToRelease,
    /// Isolation is switched off.
    Disabled,
    /// The port has no entry in the peer table.
    UnknownPeer,
    /// The sender is not the port's peer.
    ForeignSource,
    /// The port's peer sends more than it may.
    TooMany,
    /// No queue of this class is monitored.
    NotMonitored,
    /// There is no room for the flow.
    NoRoom,
}

/// What is kept with an isolated flow.
#[derive(Clone, Copy, Debug)]
struct Isolated {
    /// How many frames had joined the monitored queue, ever, when the flow was found.
    behind: u64,
    /// How many will have joined the congesting queue, ever, with the flow's last frame.
    last: u64,
    /// CIMs about it that count against the most.
    counted: u32,
    /// When the last one went, and where.
    told: Option<(Instant, PortId)>,
}

/// One queue.
#[derive(Clone, Copy, Debug)]
struct Passed {
    watch: Watch,
    /// Frames that joined it, ever.
    joined: u64,
    /// Frames that left it, ever.
    left: u64,
}

/// Congestion isolation, for all ports of one worker.
pub struct Isolation {
    plan: IsolationPlan,
    queues: Box<[Passed]>,
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
        let passed = Passed { watch: plan.watch, joined: 0, left: 0 };
        let table =
            StreamPlan { capacity: plan.streams, life: plan.max_flow_life, seed: plan.seed };
        Ok(Self {
            queues: vec![passed; ports * PRIORITIES].into_boxed_slice(),
            streams: StreamTable::new(table),
            peers: Peers::new(ports, plan.peers_max),
            budget: Limit::new(plan.budget),
            heard: vec![Limit::new(plan.heard); ports].into_boxed_slice(),
            dice: Dice::new(plan.seed),
            counters: IsolationCounters::default(),
            plan,
        })
    }

    /// Another plan, at run time: all but the queue map, the sizes and the seed, which stay as they are,
    /// and the numbers of single queues. Flows that are isolated go back in order when isolation is
    /// switched off.
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
        self.streams.set_life(plan.max_flow_life);
        let (streams, peers_max, seed, map) = (old.streams, old.peers_max, old.seed, old.map);
        self.plan = IsolationPlan { streams, peers_max, seed, map, ..plan };
        Ok(())
    }

    /// Other numbers for one monitored queue.
    ///
    /// # Errors
    /// If they contradict each other; then the old ones hold.
    pub fn set_watch(&mut self, queue: Queue, watch: Watch) -> Result<(), IsolationError> {
        watch.check()?;
        self.queues[queue.index()].watch = watch;
        Ok(())
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

    /// The flows in the table: their keys, queues, ages, masks and counts of CIMs.
    pub fn flows(&self) -> impl Iterator<Item = (&FlowKey, Queue, Instant, CreateMask, u32)> {
        self.streams.iter().map(|s| (&s.key, s.queue, s.created, s.mask, s.messages))
    }

    /// A frame joined a queue.
    #[inline]
    pub fn on_enqueued(&mut self, queue: Queue) {
        self.queues[queue.index()].joined += 1;
    }

    /// A frame left a queue, sent or not.
    ///
    /// # Panics
    /// If more have left than joined: then nothing is known about order.
    #[inline]
    pub fn on_dequeued(&mut self, queue: Queue) {
        let passed = &mut self.queues[queue.index()];
        passed.left += 1;
        assert!(passed.left <= passed.joined, "a frame left that never joined");
    }

    /// Whether a frame with this hold may leave its queue of `port`.
    #[inline]
    #[must_use]
    pub const fn may_leave(&self, port: PortId, hold: Hold) -> bool {
        self.queues[Queue { port, class: hold.class }.index()].left >= hold.until
    }

    /// Whether a frame for a queue of `length` octets may have to go to another one. If not, it stays,
    /// [`Self::place`] need not be asked, and nobody has to find out what flow it is.
    #[inline]
    #[must_use]
    pub fn concerns(&self, queue: Queue, length: Bytes) -> bool {
        self.plan.map.congesting(queue.class).is_some()
            && (!self.streams.is_empty()
                || length > self.queues[queue.index()].watch.detect.floor())
    }

    /// Where a frame goes. `lengths` are the octets in the queues of its egress port before it.
    #[inline]
    pub fn place(
        &mut self,
        now: Instant,
        arrival: &Arrival,
        lengths: &[Bytes; PRIORITIES],
    ) -> Placement {
        let class = arrival.queue.class;
        let stays = Placement { class, hold: Hold::NONE, cim: None };
        let Some(to) = self.plan.map.congesting(class) else {
            return stays;
        };
        let detect = &self.queues[arrival.queue.index()].watch.detect;
        let length = lengths[class.index()];
        let hot =
            self.plan.enabled && length > detect.floor() && detect.picks(length, &mut self.dice);
        // A curve may not pick what is above its floor, and streams may be empty all the same.
        if !hot && self.streams.is_empty() {
            return stays;
        }
        self.place_known(now, arrival, to, hot, lengths[to.index()]).unwrap_or(stays)
    }

    /// Where a frame goes whose flow may be isolated, or is to be if it is `hot`; nothing if it stays
    /// in its class.
    fn place_known(
        &mut self,
        now: Instant,
        arrival: &Arrival,
        to: TrafficClass,
        hot: bool,
        congesting: Bytes,
    ) -> Option<Placement> {
        let Some(place) = self.streams.find(arrival.queue, &arrival.key) else {
            let place = hot.then(|| self.isolate(now, arrival, CreateMask::LOCAL)).flatten()?;
            return Some(self.join(now, place, arrival, to, congesting));
        };
        let watch = self.queues[arrival.queue.index()].watch;
        let goes_on = self.plan.enabled && (hot || congesting > watch.low);
        let stream = self.streams.get_mut(place);
        if hot {
            stream.mask.insert(CreateMask::LOCAL);
        }
        let named = self.plan.enabled && stream.mask.has(CreateMask::CIM);
        if goes_on {
            self.streams.touch(now, place);
        } else if (!named || self.streams.is_over(now, place)) && self.is_drained(place) {
            return self.bring_back(now, place, arrival.queue.class);
        }
        Some(self.join(now, place, arrival, to, congesting))
    }

    /// A flow's frame goes back to the class it came for, with a last CIM if there were others.
    fn bring_back(&mut self, now: Instant, place: Place, class: TrafficClass) -> Option<Placement> {
        let told = self.streams.get(place).state.told;
        self.streams.remove(place);
        self.counters.returned += 1;
        let (_, to) = told.filter(|(_, port)| self.peers.get(*port).is_some())?;
        if !self.budget.pass(now) {
            self.counters.cim.over_budget += 1;
            return None;
        }
        self.counters.cim.sent_del += 1;
        let cim = Some(CimOrder { add: false, to });
        Some(Placement { class, hold: Hold::NONE, cim })
    }

    /// Takes a flow into the table, if there is room.
    fn isolate(&mut self, now: Instant, arrival: &Arrival, mask: CreateMask) -> Option<Place> {
        let behind = self.queues[arrival.queue.index()].joined;
        let state = Isolated { behind, last: 0, counted: 0, told: None };
        let (key, queue) = (arrival.key, arrival.queue);
        let stream = Stream { key, queue, created: now, mask, messages: 0, state };
        let (queues, map) = (&self.queues, &self.plan.map);
        let may_go = |stream: &Stream<Isolated>| is_drained(queues, map, stream);
        let taken = self.streams.insert(now, stream, may_go).ok();
        self.counters.no_room += u64::from(taken.is_none());
        taken
    }

    /// A frame of an isolated flow joins the congesting queue.
    fn join(
        &mut self,
        now: Instant,
        place: Place,
        arrival: &Arrival,
        to: TrafficClass,
        congesting: Bytes,
    ) -> Placement {
        let port = arrival.queue.port;
        let behind = self.streams.get(place).state.behind;
        let class = arrival.queue.class;
        let held = self.queues[arrival.queue.index()].left < behind;
        let hold = if held { Hold { class, until: behind } } else { Hold::NONE };
        // If it does not join after all, another frame has this number, which leaves no earlier.
        self.streams.get_mut(place).state.last =
            self.queues[Queue { port, class: to }.index()].joined + 1;
        self.counters.isolated_frames += 1;
        self.counters.held_frames += u64::from(held);
        let persists = congesting > self.queues[arrival.queue.index()].watch.cim_above;
        let cim = if persists { self.cim(now, place, arrival.ingress) } else { None };
        Placement { class: to, hold, cim }
    }

    /// Whether the upstream peer is to be told of a flow now.
    fn cim(&mut self, now: Instant, place: Place, ingress: PortId) -> Option<CimOrder> {
        let again = self.plan.max_flow_life.div(2);
        let stream = self.streams.get_mut(place);
        let state = &mut stream.state;
        let ago = state.told.map(|(at, _)| now.since(at));
        if self.plan.dialect.repeat == CimRepeat::BeforeItsLifeEnds
            && ago.is_some_and(|ago| ago >= again)
        {
            state.counted = 0;
        }
        let cim = &mut self.counters.cim;
        let refused = if state.counted >= self.plan.max_cim_tx {
            &mut cim.had_all
        } else if ago.is_some_and(|ago| ago < self.plan.spacing) {
            &mut cim.too_soon
        } else if self.peers.get(ingress).is_none() {
            &mut cim.no_peer
        } else if !self.budget.pass(now) {
            &mut cim.over_budget
        } else {
            state.counted += 1;
            state.told = Some((now, ingress));
            stream.messages = stream.messages.saturating_add(1);
            cim.sent_add += 1;
            return Some(CimOrder { add: true, to: ingress });
        };
        *refused += 1;
        None
    }

    /// A CIM came in.
    pub fn on_cim(&mut self, now: Instant, received: &Received) -> Heard {
        let heard = self.hear(now, received);
        *self.counters.heard.of(heard) += 1;
        heard
    }

    fn hear(&mut self, now: Instant, received: &Received) -> Heard {
        if !self.plan.enabled {
            return Heard::Disabled;
        }
        let Some(peer) = self.peers.get(received.port) else {
            return Heard::UnknownPeer;
        };
        if !peer.is_from(received.mac, received.address) {
            return Heard::ForeignSource;
        }
        if !self.heard[received.port.index()].pass(now) {
            return Heard::TooMany;
        }
        if self.plan.map.congesting(received.class).is_none() {
            return Heard::NotMonitored;
        }
        let queue = Queue { port: received.port, class: received.class };
        match (self.streams.find(queue, &received.key), received.add) {
            (Some(place), true) => {
                self.streams.get_mut(place).mask.insert(CreateMask::CIM);
                self.streams.touch(now, place);
                Heard::Renewed
            }
            (Some(place), false) => {
                let mask = &mut self.streams.get_mut(place).mask;
                let named = mask.has(CreateMask::CIM);
                mask.remove(CreateMask::CIM);
                if named { Heard::Released } else { Heard::NothingToRelease }
            }
            (None, false) => Heard::NothingToRelease,
            (None, true) => {
                let arrival = Arrival { ingress: received.port, queue, key: received.key };
                let taken = self.isolate(now, &arrival, CreateMask::CIM);
                if taken.is_some() { Heard::Isolated } else { Heard::NoRoom }
            }
        }
    }

    fn is_drained(&self, place: Place) -> bool {
        is_drained(&self.queues, &self.plan.map, self.streams.get(place))
    }
}

/// Whether none of a flow's frames is in its congesting queue any more. An empty queue has none,
/// whatever did not join it after it was placed.
fn is_drained(queues: &[Passed], map: &QueueMap, stream: &Stream<Isolated>) -> bool {
    let class = map.congesting(stream.queue.class).expect("a flow of a monitored class");
    let Passed { joined, left, .. } = queues[Queue { class, ..stream.queue }.index()];
    left >= stream.state.last.min(joined)
}

#[cfg(test)]
mod tests;
