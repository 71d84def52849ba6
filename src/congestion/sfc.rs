//! The Source Flow Control Point (P802.1Qdw, as the "Consideration of SFC in 802.1Q" slides of January
//! 2022 have it): which frame makes its source be told to pause, for how long, and how often.
//!
//! [`SfcPoint::on_enqueue`] is asked of every frame that joined a queue, and answers with the
//! [`Signal`] that an SFCM about this frame is to carry, at once, or with nothing. Making the message
//! and sending it on its way is the caller's; a message that cannot be made counts as lost on the way,
//! which `sfcMaxSFCM` is there to bear.
//!
//! The pause: `(Q - Qtarget) / drain`, rounded down to whole nanoseconds, where `Q` is the queue with
//! this frame, `Qtarget` the length that the queue is to come down to and `drain` the most that the
//! queue can send. The source bounds it by the minimal drain time to the target, and this is that time,
//! so a source that obeys never lets the queue run below its target for want of frames.
//!
//! Everything is decided when frames come, by times that are arguments: there are no timers, so polling
//! more often changes nothing. Nothing is allocated after `new`; what is not answered is counted by its
//! reason. Forged flows cost at most their places in the table, and messages at most their budget.

mod plan;

pub use crate::wire::sfcm::Locator;
pub use plan::{CENTISECOND, Count, Dialect, Life, Monitor, SfcError, SfcPlan};

use super::detect::Queue;
use super::ecn::Dice;
use super::flow_key::FlowKey;
use super::limit::Limit;
use super::streams::{CreateMask, Place, Refusal, Stream, StreamCounters, StreamPlan, StreamTable};
use crate::time::{Duration, Instant};
use crate::units::{BitsPerSec, Bytes, PortId};
use crate::wire::flow::FiveTuple;
use crate::wire::ip::Protocol;

/// A frame that has just joined a queue.
#[derive(Clone, Copy, Debug)]
pub struct Joined {
    /// The queue.
    pub queue: Queue,
    /// Octets in the queue, with this frame.
    pub length: Bytes,
    /// The most that the queue can send: the link's rate, or what it is shaped to.
    pub drain: BitsPerSec,
    /// Octets of the frame.
    pub octets: Bytes,
    /// The frame's flow.
    pub key: FlowKey,
}

/// What an SFCM about the frame is to say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Signal {
    /// How long the source is to pause, in whole nanoseconds. Never zero.
    pub pause: Duration,
    /// Where the congestion is.
    pub locator: Locator,
    /// The how many-th message about this flow it is, since it was found.
    pub number: u32,
}

/// What happened in one queue.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct QueueCounters {
    /// Frames that were picked as congesting.
    pub congesting: u64,
    /// Signals given: `sfcTransmittedSFCMs` of the queue.
    pub transmitted_sfcms: u64,
}

/// What happened to frames that were picked as congesting, each under the first that applies.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SfcCounters {
    /// Signals given: `sfcTransmittedSFCMs`.
    pub transmitted_sfcms: u64,
    /// The frame is none of IP, so there is no address to answer to.
    pub not_ip: u64,
    /// The frame is an SFCM: congestion that messages cause makes no messages.
    pub about_itself: u64,
    /// The source address is no host's: unspecified, of a group, loopback or broadcast.
    pub unanswerable: u64,
    /// The table had no room for the flow.
    pub no_room: u64,
    /// The flow has not congested for long enough, or not brought enough.
    pub not_yet: u64,
    /// The flow had all the messages that it may have.
    pub had_all: u64,
    /// The last message about the flow was not long enough ago.
    pub too_soon: u64,
    /// The pause would be shorter than is worth a message.
    pub too_short: u64,
    /// The messages of all flows together are used up for now.
    pub over_budget: u64,
}

/// A flow that is kept in mind, to look at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CongestingFlow {
    /// The flow.
    pub key: FlowKey,
    /// The queue that it congests.
    pub queue: Queue,
    /// When it was found.
    pub created: Instant,
    /// Why it is there.
    pub mask: CreateMask,
    /// Messages about it since then.
    pub messages: u32,
}

/// What is kept with a congesting flow.
#[derive(Clone, Copy, Default, Debug)]
struct Metered {
    /// Octets of its frames that were picked.
    octets: u64,
    /// Messages that count against `sfcMaxSFCM`.
    counted: u32,
    /// When the last message went.
    last: Instant,
    /// When the pause that it asked for ends.
    paused_until: Instant,
}

/// One queue's monitor.
#[derive(Clone, Copy, Debug)]
struct Watched {
    /// Up to this length nothing is picked; the longest there is where nothing is monitored.
    floor: Bytes,
    monitor: Option<Monitor>,
    counters: QueueCounters,
}

/// No queue is longer.
const NEVER: Bytes = Bytes(u64::MAX);

/// The point, for all ports of one worker.
pub struct SfcPoint {
    plan: SfcPlan,
    queues: Box<[Watched]>,
    locators: Box<[Locator]>,
    streams: StreamTable<Metered>,
    budget: Limit,
    dice: Dice,
    counters: SfcCounters,
}

impl SfcPoint {
    /// A point for `ports` ports, numbered from 0, that monitors nothing yet.
    ///
    /// # Errors
    /// What is wrong with the plan.
    pub fn new(plan: SfcPlan, ports: u16) -> Result<Self, SfcError> {
        plan.check()?;
        let nothing = Watched { floor: NEVER, monitor: None, counters: QueueCounters::default() };
        let table =
            StreamPlan { capacity: plan.streams, life: plan.max_flow_life, seed: plan.seed };
        Ok(Self {
            queues: vec![nothing; usize::from(ports) * 8].into_boxed_slice(),
            locators: vec![Locator::Unknown; usize::from(ports)].into_boxed_slice(),
            streams: StreamTable::new(table),
            budget: Limit::new(plan.budget),
            dice: Dice::new(plan.seed),
            counters: SfcCounters::default(),
            plan,
        })
    }

    /// Monitors a queue, or no longer. It also has to be of one of the monitored traffic classes.
    ///
    /// # Errors
    /// If the target is not below what the monitor picks from.
    pub fn set_monitor(&mut self, queue: Queue, monitor: Option<Monitor>) -> Result<(), SfcError> {
        if let Some(monitor) = &monitor {
            monitor.check()?;
        }
        self.queues[queue.index()].monitor = monitor;
        self.set_floors();
        Ok(())
    }

    /// Another plan, at run time: all but the table's size and seed, which stay as they are. Flows
    /// that are known stay known.
    ///
    /// # Errors
    /// What is wrong with the plan; then the old one holds.
    pub fn set_plan(&mut self, plan: SfcPlan) -> Result<(), SfcError> {
        plan.check()?;
        if plan.budget != self.plan.budget {
            self.budget = Limit::new(plan.budget);
        }
        self.streams.set_life(plan.max_flow_life);
        self.plan = SfcPlan { streams: self.plan.streams, seed: self.plan.seed, ..plan };
        self.set_floors();
        Ok(())
    }

    /// What congestion of a port's queues is, as the topology has it.
    pub fn set_locator(&mut self, port: PortId, locator: Locator) {
        self.locators[port.index()] = locator;
    }

    /// The plan that holds.
    #[must_use]
    pub const fn plan(&self) -> &SfcPlan {
        &self.plan
    }

    /// What happened in a queue.
    #[must_use]
    pub const fn queue_counters(&self, queue: Queue) -> QueueCounters {
        self.queues[queue.index()].counters
    }

    /// What happened in all.
    #[must_use]
    pub const fn counters(&self) -> SfcCounters {
        self.counters
    }

    /// What happened to flows in the table.
    #[must_use]
    pub const fn stream_counters(&self) -> StreamCounters {
        self.streams.counters()
    }

    /// The flows in at most `most` places of the table from the one with the number `from` on, each with
    /// the number of its place.
    pub fn flows_in(
        &self,
        from: usize,
        most: usize,
    ) -> impl Iterator<Item = (u32, CongestingFlow)> {
        self.streams.page(from, most).map(|(at, stream)| {
            let Stream { key, queue, created, mask, messages, .. } = *stream;
            (at, CongestingFlow { key, queue, created, mask, messages })
        })
    }

    /// How many places the table has, in use or not.
    #[must_use]
    pub fn places(&self) -> usize {
        self.streams.places()
    }

    /// Flows in the table, those that are over and not yet taken out among them.
    #[must_use]
    pub const fn streams(&self) -> usize {
        self.streams.len()
    }

    /// The length up to which nothing of a queue is picked; the longest there is where it is not
    /// monitored.
    #[must_use]
    pub const fn floor(&self, queue: Queue) -> Bytes {
        self.queues[queue.index()].floor
    }

    /// Whether a frame that joined a queue, now of `length`, can be one to tell of. If not,
    /// [`Self::on_enqueue`] need not be asked, and nobody has to find out what flow it is.
    #[inline]
    #[must_use]
    pub const fn concerns(&self, queue: Queue, length: Bytes) -> bool {
        length.0 > self.queues[queue.index()].floor.0
    }

    /// A frame joined a queue: what its source is to be told, if anything.
    #[inline]
    pub fn on_enqueue(&mut self, now: Instant, joined: &Joined) -> Option<Signal> {
        if !self.concerns(joined.queue, joined.length) {
            return None;
        }
        self.above_floor(now, joined)
    }

    fn set_floors(&mut self) {
        for (n, watched) in self.queues.iter_mut().enumerate() {
            let monitored = self.plan.enabled && self.plan.monitored_queues >> (n % 8) & 1 == 1;
            let monitor = watched.monitor.filter(|_| monitored);
            watched.floor = monitor.map_or(NEVER, |monitor| monitor.detect.floor());
        }
    }

    fn above_floor(&mut self, now: Instant, joined: &Joined) -> Option<Signal> {
        let watched = &mut self.queues[joined.queue.index()];
        let monitor = watched.monitor.expect("only what is monitored has a floor");
        if !monitor.detect.picks(joined.length, &mut self.dice) {
            return None;
        }
        watched.counters.congesting += 1;
        if !self.is_answerable(&joined.key) {
            return None;
        }
        let Ok(place) = self.meter(now, joined) else {
            self.counters.no_room += 1;
            return None;
        };
        let longest = Duration::from_nanos(self.plan.pause_max.as_nanos());
        let pause = pause(joined.length, monitor.target, joined.drain).min(longest);
        if !self.is_due(now, place, pause) {
            return None;
        }
        let stream = self.streams.get_mut(place);
        stream.messages = stream.messages.saturating_add(1);
        stream.state.counted += 1;
        stream.state.last = now;
        stream.state.paused_until = now.saturating_add(pause);
        let number = stream.messages;
        self.counters.transmitted_sfcms += 1;
        self.queues[joined.queue.index()].counters.transmitted_sfcms += 1;
        Some(Signal { pause, locator: self.locators[joined.queue.port.index()], number })
    }

    /// Whether the source of a flow can be told anything, and may be.
    fn is_answerable(&mut self, key: &FlowKey) -> bool {
        let FlowKey::Ip(flow) = key else {
            self.counters.not_ip += 1;
            return false;
        };
        if flow.protocol == Protocol::UDP && flow.dst_port == self.plan.udp_port {
            self.counters.about_itself += 1;
            return false;
        }
        let answerable = is_host(flow);
        self.counters.unanswerable += u64::from(!answerable);
        answerable
    }

    /// Notes that a flow was picked.
    fn meter(&mut self, now: Instant, joined: &Joined) -> Result<Place, Refusal> {
        let found = self.streams.find(joined.queue, &joined.key);
        let place = match found.filter(|place| !self.streams.is_over(now, *place)) {
            Some(place) => {
                if self.plan.dialect.life == Life::SinceLastPicked {
                    self.streams.touch(now, place);
                }
                place
            }
            None => {
                // One whose life is over is found anew, with all of its messages before it.
                if let Some(place) = found {
                    self.streams.remove(place);
                }
                let stream = Stream {
                    key: joined.key,
                    queue: joined.queue,
                    created: now,
                    mask: CreateMask::LOCAL,
                    messages: 0,
                    state: Metered::default(),
                };
                self.streams.insert(now, stream, |_| true)?
            }
        };
        let octets = &mut self.streams.get_mut(place).state.octets;
        *octets = octets.saturating_add(joined.octets.0);
        Ok(place)
    }

    /// Whether a flow that was picked is to be told of now.
    fn is_due(&mut self, now: Instant, place: Place, pause: Duration) -> bool {
        let stream = self.streams.get_mut(place);
        let young = now.since(stream.created) < self.plan.patience;
        let state = &mut stream.state;
        if self.plan.dialect.count == Count::PerPause && now >= state.paused_until {
            state.counted = 0;
        }
        let soon = stream.messages > 0 && now.since(state.last) < self.plan.spacing;
        let refused = if young || state.octets < self.plan.octets_min.0 {
            &mut self.counters.not_yet
        } else if state.counted >= self.plan.max_sfcm {
            &mut self.counters.had_all
        } else if soon {
            &mut self.counters.too_soon
        } else if pause < self.plan.pause_min.max(NANOSECOND) {
            &mut self.counters.too_short
        } else if !self.budget.pass(now) {
            &mut self.counters.over_budget
        } else {
            return true;
        };
        *refused += 1;
        false
    }
}

/// The unit of an SFCM's pause time.
const NANOSECOND: Duration = Duration::from_nanos(1);

/// How long a queue of `length` takes at least until it is down to `target`, in whole nanoseconds,
/// rounded down so that a pause is never longer. No longer than [`Duration::MAX`].
#[must_use]
pub fn pause(length: Bytes, target: Bytes, drain: BitsPerSec) -> Duration {
    let surplus = length.0.saturating_sub(target.0);
    // Up to two gigabytes a division of 64 bits does, which is much faster.
    if let Some(scaled) = surplus.checked_mul(8_000_000_000) {
        return NANOSECOND.saturating_mul(scaled / drain.get());
    }
    let nanos = u128::from(surplus) * 8_000_000_000 / u128::from(drain.get());
    u64::try_from(nanos).map_or(Duration::MAX, |nanos| NANOSECOND.saturating_mul(nanos))
}

/// Whether a flow's source is an address that a message can be sent to.
fn is_host(flow: &FiveTuple) -> bool {
    let src = flow.src;
    let broadcast = matches!(src, core::net::IpAddr::V4(a) if a.is_broadcast());
    !(src.is_unspecified() || src.is_multicast() || src.is_loopback() || broadcast)
}

#[cfg(test)]
mod tests;
