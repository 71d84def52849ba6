//! The Source Flow Control Point (P802.1Qdw, according to the "Consideration of SFC in 802.1Q"
//! slides of January 2022): selects the frames whose source is to be paused, the pause time, and
//! the message rate.
//!
//! The caller passes every frame that joined a queue to [`SfcPoint::on_enqueue`], which returns the
//! [`Signal`] to send at once in an SFCM about this frame, if any. The caller builds and sends the
//! message, and reports its [`Fate`]; one that is not sent counts against `sfcMaxSFCM` like one
//! that is lost in transit.
//!
//! The pause: `(Q - Qtarget) / drain`, rounded down to whole nanoseconds, where `Q` is the queue
//! with this frame, `Qtarget` its target length and `drain` its maximum drain rate. The source
//! document limits it to the minimal drain time to the target, and this is that time, so a host
//! that obeys never causes the queue to fall below its target.
//!
//! The caller may look up the flows of a burst before its frames join ([`SfcPoint::look_ahead`]);
//! [`SfcPoint::is_quiet`] then handles a frame without a signal, as most are, from one cache line.
//!
//! All decisions are made on arrival of frames, with time as an argument: there are no timers, so
//! the polling rate has no effect. Nothing is allocated after `new`; selected frames without a
//! signal are counted by reason. Forged flows use at most their entries in the table, and messages
//! at most their budget.

mod meter;
mod plan;
mod quiet;

pub use meter::MeterPlan;
pub use plan::{CENTISECOND, Count, Dialect, Life, Monitor, SfcError, SfcPlan};
pub use quiet::Ahead;
pub use wire::sfcm::Locator;

use super::Limit;
use super::detect::Queue;
use super::flow_key::FlowKey;
use super::streams::{CreateMask, Place, Refusal, Stream, StreamCounters, StreamPlan, StreamTable};
use meter::Meter;
use plan::NANOSECOND;
use quiet::{Hot, Quick};

use ground::counters;
use ground::rand::Rng;
use ground::time::{Duration, Instant};
use ground::units::{BitsPerSec, Bytes, PortId};
use wire::flow::FiveTuple;
use wire::ip::Protocol;

/// A frame that joined a queue.
#[derive(Clone, Copy, Debug)]
pub struct Joined {
    /// Egress queue.
    pub queue: Queue,
    /// Bytes in the queue, with this frame.
    pub length: Bytes,
    /// Maximum drain rate of the queue: the link rate, or its shaper's rate.
    pub drain: BitsPerSec,
    /// Bytes of the frame.
    pub octets: Bytes,
    /// The frame's flow.
    pub key: FlowKey,
}

/// Contents of an SFCM about the frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Signal {
    /// Pause time for the source, in whole nanoseconds. Never zero.
    pub pause: Duration,
    /// Location of the congestion.
    pub locator: Locator,
    /// Sequence number of the message about this flow, since it was found.
    pub number: u32,
}

counters! {
    /// Source Flow Control of one queue.
    SfcQueueCounters {
        /// Frames selected as congesting.
        congesting = "sfc_congesting",
        /// Messages that left the switch, or reached its own proxy.
        transmitted_sfcms = "sfcTransmittedSFCMs",
    }
}

counters! {
    /// Frames that Source Flow Control selected as congesting, each under the first reason that
    /// applies, and the flows in its table.
    SfcCounters {
        /// Messages that left the switch, or reached its own proxy: the sum over the queues.
        transmitted_sfcms = "sfcTransmittedSFCMs",
        /// Non-IP frames, which have no address to send a message to.
        not_ip = "sfc_not_ip",
        /// Frames that are messages themselves.
        about_itself = "sfc_about_itself",
        /// Frames whose source address is not a host's.
        unanswerable = "sfc_unanswerable",
        /// Frames of flows that the full table has no entry for.
        no_room = "sfc_no_room",
        /// Frames of flows that have not congested for long enough, or not by enough bytes.
        not_yet = "sfc_not_yet",
        /// Frames of flows whose rate is below the meter's.
        below_rate = "sfc_below_rate",
        /// Frames of flows that had sfcMaxSFCM messages.
        had_all = "sfc_had_all",
        /// Frames too soon after the last message about their flow.
        too_soon = "sfc_too_soon",
        /// Frames whose pause would be too short.
        too_short = "sfc_too_short",
        /// Frames over the limit of all flows together.
        over_budget = "sfc_over_budget",
        /// Messages that could not be built: no memory, or headers that they cannot encode.
        unsent = "sfc_unsent",
        /// Messages that the switch dropped: unknown destination, no route, no room, or refused by
        /// its proxy.
        lost = "sfc_lost",
        /// Flows inserted into the table.
        streams_created = "sfc_streams_created",
        /// Flows removed from it.
        streams_removed = "sfc_streams_removed",
        /// Flows refused because the table was full.
        streams_full = "sfc_streams_full",
        /// Flows refused because their buckets were full.
        streams_crowded = "sfc_streams_crowded",
    }
}

/// Fate of a message in the switch that made it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It is in an egress queue, or the switch's own proxy acted on it.
    Sent,
    /// It could not be built.
    Unbuilt,
    /// It was dropped.
    Lost,
}

/// Entry of the flow table, read-only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CongestingFlow {
    /// Key of the flow.
    pub key: FlowKey,
    /// Queue that it congests.
    pub queue: Queue,
    /// Time of creation.
    pub created: Instant,
    /// Reason for the entry.
    pub mask: CreateMask,
    /// Messages about it since creation.
    pub messages: u32,
    /// Bytes of its selected frames.
    pub octets: u64,
    /// Rate at its last selected frame, in bit/s; `None` without a meter.
    pub rate: Option<u64>,
}

/// State of a congesting flow, besides what every frame needs ([`Hot`]).
#[derive(Clone, Copy, Default, Debug)]
struct Metered {
    meter: Meter,
    /// Rate by the meter, in bit/s.
    rate: u64,
    /// Messages that count against `sfcMaxSFCM`.
    counted: u32,
    /// Time of the last message.
    last: Instant,
    /// End of the last requested pause.
    paused_until: Instant,
}

/// Monitoring state of one queue.
#[derive(Clone, Copy, Debug)]
struct Watched {
    /// Length up to which no frame is selected; the maximum without monitoring.
    floor: Bytes,
    monitor: Option<Monitor>,
    counters: SfcQueueCounters,
}

/// Longer than any queue.
const NEVER: Bytes = Bytes(u64::MAX);

/// Source Flow Control Point for all ports of one worker.
pub struct SfcPoint {
    plan: SfcPlan,
    queues: Box<[Watched]>,
    locators: Box<[Locator]>,
    streams: StreamTable<Metered, Hot>,
    quick: Quick,
    budget: Limit,
    rng: Rng,
    counters: SfcCounters,
}

impl SfcPoint {
    /// Creates a point for `ports` ports, numbered from 0, that monitors no queue.
    ///
    /// # Errors
    /// Returns the first error of the plan.
    pub fn new(plan: SfcPlan, ports: u16) -> Result<Self, SfcError> {
        plan.check()?;
        let nothing =
            Watched { floor: NEVER, monitor: None, counters: SfcQueueCounters::default() };
        let table =
            StreamPlan { capacity: plan.streams, life: plan.max_flow_life, seed: plan.seed };
        Ok(Self {
            queues: vec![nothing; usize::from(ports) * 8].into_boxed_slice(),
            locators: vec![Locator::Unknown; usize::from(ports)].into_boxed_slice(),
            streams: StreamTable::new(table),
            quick: Quick::of(&plan),
            budget: Limit::new(plan.budget),
            rng: Rng::new(plan.seed),
            counters: SfcCounters::default(),
            plan,
        })
    }

    /// Starts or stops monitoring a queue. Its traffic class must also be one of the monitored
    /// ones.
    ///
    /// # Errors
    /// If the target is above the detection threshold.
    pub fn set_monitor(&mut self, queue: Queue, monitor: Option<Monitor>) -> Result<(), SfcError> {
        if let Some(monitor) = &monitor {
            monitor.check()?;
        }
        self.queues[queue.index()].monitor = monitor;
        self.set_floors();
        Ok(())
    }

    /// Replaces the plan at run time, except the table's size and seed. Known flows stay known.
    ///
    /// # Errors
    /// Returns the first error of the plan; the old one then stays in force.
    pub fn set_plan(&mut self, plan: SfcPlan) -> Result<(), SfcError> {
        plan.check()?;
        if plan.budget != self.plan.budget {
            self.budget = Limit::new(plan.budget);
        }
        self.streams.set_life(plan.max_flow_life);
        // Before the plan is replaced, because it compares with the old spacing.
        self.settle(plan.spacing);
        self.quick = Quick::of(&plan);
        // The table has been allocated, and another seed would no longer find its flows.
        self.plan = SfcPlan { streams: self.plan.streams, seed: self.plan.seed, ..plan };
        self.set_floors();
        Ok(())
    }

    /// Sets the locator of congestion at a port's queues, from the topology.
    pub fn set_locator(&mut self, port: PortId, locator: Locator) {
        self.locators[port.index()] = locator;
    }

    /// Returns the plan in force.
    #[must_use]
    pub const fn plan(&self) -> &SfcPlan {
        &self.plan
    }

    /// Returns the counters of a queue.
    #[must_use]
    pub const fn queue_counters(&self, queue: Queue) -> SfcQueueCounters {
        self.queues[queue.index()].counters
    }

    /// Returns the counters of all queues together.
    #[must_use]
    pub const fn counters(&self) -> SfcCounters {
        let StreamCounters { created, removed, full, crowded, .. } = self.streams.counters();
        SfcCounters {
            streams_created: created,
            streams_removed: removed,
            streams_full: full,
            streams_crowded: crowded,
            ..self.counters
        }
    }

    /// Returns the flows in at most `most` slots of the table from slot `from` on, each with its
    /// slot number.
    pub fn flows_in(
        &self,
        from: usize,
        most: usize,
    ) -> impl Iterator<Item = (u32, CongestingFlow)> {
        self.streams.page_hot(from, most).map(|(slot, stream, hot)| {
            let Stream { key, queue, created, mask, messages, state } = *stream;
            let (octets, rate) = (hot.octets, self.plan.meter.rate.map(|_| state.rate));
            (slot, CongestingFlow { key, queue, created, mask, messages, octets, rate })
        })
    }

    /// Returns the number of slots in the table, used or free.
    #[must_use]
    pub fn places(&self) -> usize {
        self.streams.places()
    }

    /// Returns the number of flows in the table, including expired ones that are not yet removed.
    #[must_use]
    pub const fn streams(&self) -> usize {
        self.streams.len()
    }

    /// Returns the length up to which no frame of a queue is selected; the maximum without
    /// monitoring.
    #[must_use]
    pub const fn floor(&self, queue: Queue) -> Bytes {
        self.queues[queue.index()].floor
    }

    /// Returns true if a frame that joined a queue, now of `length`, can cause a signal. If false,
    /// the caller need neither call [`Self::on_enqueue`] nor parse the flow.
    #[inline]
    #[must_use]
    pub const fn concerns(&self, queue: Queue, length: Bytes) -> bool {
        length.0 > self.queues[queue.index()].floor.0
    }

    /// Handles a frame that joined a queue. Returns the signal to its source, if any.
    #[inline]
    pub fn on_enqueue(&mut self, now: Instant, joined: &Joined) -> Option<Signal> {
        if !self.concerns(joined.queue, joined.length) {
            return None;
        }
        self.above_floor(now, joined)
    }

    /// Records the fate of the message of a signal about a frame in `queue`.
    pub const fn on_fate(&mut self, queue: Queue, fate: Fate) {
        match fate {
            Fate::Sent => {
                self.counters.transmitted_sfcms += 1;
                self.queues[queue.index()].counters.transmitted_sfcms += 1;
            }
            Fate::Unbuilt => self.counters.unsent += 1,
            Fate::Lost => self.counters.lost += 1,
        }
    }

    fn set_floors(&mut self) {
        for (n, watched) in self.queues.iter_mut().enumerate() {
            // Queues are in the order of ports, eight for each.
            let monitored = self.plan.enabled && self.plan.monitored_queues >> (n % 8) & 1 == 1;
            let monitor = watched.monitor.filter(|_| monitored);
            watched.floor = monitor.map_or(NEVER, |monitor| monitor.detect.floor());
        }
    }

    fn above_floor(&mut self, now: Instant, joined: &Joined) -> Option<Signal> {
        let watched = &mut self.queues[joined.queue.index()];
        let monitor = watched.monitor.expect("only what is monitored has a floor");
        if !monitor.detect.picks(joined.length, &mut self.rng) {
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
        // A message carries whole nanoseconds.
        let longest = Duration::from_nanos(self.plan.pause_max.as_nanos());
        let pause = pause(joined.length, monitor.target, joined.drain).min(longest);
        if !self.is_due(now, place, pause) {
            return None;
        }
        // Until both are over a copy may be due, or another reason applies, so `is_quiet` leaves the frames alone.
        let busy_until = now.saturating_add(pause.max(self.plan.spacing));
        self.streams.hot_mut(place).busy_until = busy_until;
        let stream = self.streams.get_mut(place);
        stream.messages = stream.messages.saturating_add(1);
        stream.state.counted += 1;
        stream.state.last = now;
        stream.state.paused_until = now.saturating_add(pause);
        let number = stream.messages;
        Some(Signal { pause, locator: self.locators[joined.queue.port.index()], number })
    }

    /// Returns true if a message can and may be sent to the source of a flow.
    fn is_answerable(&mut self, key: &FlowKey) -> bool {
        let FlowKey::Ip(flow) = key else {
            self.counters.not_ip += 1;
            return false;
        };
        // Messages about messages could be answered without end.
        if flow.protocol == Protocol::UDP && flow.dst_port == self.plan.udp_port {
            self.counters.about_itself += 1;
            return false;
        }
        let answerable = is_host(flow);
        self.counters.unanswerable += u64::from(!answerable);
        answerable
    }

    /// Records a selected frame of a flow.
    fn meter(&mut self, now: Instant, joined: &Joined) -> Result<Place, Refusal> {
        let found = self.streams.find(joined.queue, &joined.key);
        let place = match found.filter(|place| !self.streams.is_over(now, *place)) {
            Some(place) => {
                // To the letter, a life begins with the entry and is never renewed.
                if self.plan.dialect.life == Life::SinceLastPicked {
                    self.streams.touch(now, place);
                }
                place
            }
            None => {
                // An expired flow is created again; earlier messages do not count.
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
        self.streams.hot_mut(place).add(joined.octets);
        if self.plan.meter.rate.is_some() {
            let state = &mut self.streams.get_mut(place).state;
            state.rate = state.meter.add(now, joined.octets, self.plan.meter.window);
        }
        Ok(place)
    }

    /// Returns true if a message about a selected flow is due.
    fn is_due(&mut self, now: Instant, place: Place, pause: Duration) -> bool {
        let hot = self.streams.hot_mut(place);
        let (octets, restarts) = (hot.octets, core::mem::take(&mut hot.restarts));
        let stream = self.streams.get_mut(place);
        let young = now.since(stream.created) < self.plan.patience;
        let state = &mut stream.state;
        // The quiet path does not touch the count; it leaves a mark that the count has to restart.
        if restarts || self.plan.dialect.count == Count::PerPause && now >= state.paused_until {
            state.counted = 0;
        }
        // Before the first message `last` is zero and means nothing.
        let soon = stream.messages > 0 && now.since(state.last) < self.plan.spacing;
        let refused = if young || octets < self.plan.octets_min.0 {
            &mut self.counters.not_yet
        } else if self.plan.meter.rate.is_some_and(|least| state.rate < least.get()) {
            &mut self.counters.below_rate
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

/// Returns the minimum time in which a queue of `length` drains to `target`, in whole nanoseconds,
/// rounded down so that a pause is never longer. At most [`Duration::MAX`].
#[must_use]
pub fn pause(length: Bytes, target: Bytes, drain: BitsPerSec) -> Duration {
    let surplus = length.0.saturating_sub(target.0);
    // Up to two gigabytes a 64-bit division suffices, which is much faster.
    if let Some(scaled) = surplus.checked_mul(8_000_000_000) {
        return NANOSECOND.saturating_mul(scaled / drain.get());
    }
    let nanos = u128::from(surplus) * 8_000_000_000 / u128::from(drain.get());
    u64::try_from(nanos).map_or(Duration::MAX, |nanos| NANOSECOND.saturating_mul(nanos))
}

/// Returns true if a message can be sent to a flow's source address.
fn is_host(flow: &FiveTuple) -> bool {
    let src = flow.src;
    let broadcast = matches!(src, core::net::IpAddr::V4(a) if a.is_broadcast());
    !(src.is_unspecified() || src.is_multicast() || src.is_loopback() || broadcast)
}

#[cfg(test)]
mod tests;
