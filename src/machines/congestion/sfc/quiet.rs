//! Frames of known flows without a signal, which are nearly all while flows congest.
//!
//! A flow that congests sends many frames between two messages. What decides that one of them
//! causes no message is in one cache line with the flow's key, and is found for a whole burst before
//! its first frame joins a queue. A frame that may cause a message takes the full path.

use arrayvec::ArrayVec;

use super::plan::{Count, NANOSECOND, SfcPlan};
use super::{Monitor, SfcPoint};
use crate::detect::{Detect, Queue};
use crate::flow_key::Packed;
use crate::streams::Hint;
use ground::time::{Duration, Instant};
use ground::units::{BitsPerSec, Bytes, PortId, TrafficClass};
use wire::ip::Protocol;

/// Flows of the frames of a burst, in order, looked up ahead of their use.
#[derive(Debug)]
pub struct Ahead {
    hints: ArrayVec<Hint, { Ahead::MOST }>,
    turn: usize,
    /// Queue that all of them join.
    queue: Queue,
    /// Length from which a frame can be handled in short, the frame included.
    from: u64,
    /// Length from which a pause is long enough for a message.
    long: u64,
    /// Streams touched after this are fresh.
    fresh: Instant,
}

impl Default for Ahead {
    fn default() -> Self {
        let queue = Queue { port: PortId::MIN, class: TrafficClass::MIN };
        let (hints, fresh) = (ArrayVec::new(), Instant::NEVER);
        Self { hints, turn: 0, queue, from: u64::MAX, long: u64::MAX, fresh }
    }
}

impl Ahead {
    /// Most flows looked up at once.
    pub const MOST: usize = 32;

    /// Forgets all flows.
    #[inline]
    pub fn clear(&mut self) {
        self.hints.clear();
    }

    /// Adds the flow of the next frame of the burst, in IPv4: addresses, protocol, ports.
    ///
    /// # Panics
    /// If there are [`Self::MOST`] flows.
    #[inline(always)]
    pub fn push(
        &mut self,
        queue: Queue,
        addresses: (u32, u32),
        protocol: Protocol,
        ports: (u16, u16),
    ) {
        let packed = Packed::ipv4(queue, addresses, protocol.0, ports);
        self.hints.push(Hint::of(packed));
    }

    /// Adds a frame of another flow, which is looked up when it is needed.
    ///
    /// # Panics
    /// If there are [`Self::MOST`] flows.
    #[inline]
    pub fn push_other(&mut self) {
        self.hints.push(Hint::NONE);
    }

    /// Sets the number of the frame that is about to join a queue, counted from 0.
    #[inline(always)]
    pub fn set_turn(&mut self, turn: usize) {
        self.turn = turn;
    }
}

impl SfcPoint {
    /// Looks up the flows of a burst, which are in `ahead` and join `queue` at `now`, and calculates for
    /// all of them what decides.
    #[inline]
    pub fn look_ahead(&self, now: Instant, queue: Queue, drain: BitsPerSec, ahead: &mut Ahead) {
        let watched = &self.queues[queue.index()];
        let (from, target) = match watched.monitor {
            // An AQM draws a random number for each frame, so its frames take the full path.
            Some(Monitor { detect: Detect::Length(from), target }) if self.quick.possible => {
                (from.max(watched.floor), target)
            }
            _ => (Bytes(u64::MAX), Bytes(u64::MAX)),
        };
        (ahead.queue, ahead.from) = (queue, from.0.saturating_add(1));
        ahead.long = self.quick.long(target, drain);
        ahead.fresh = self.streams.fresh_since(now);
        self.streams.seek(&mut ahead.hints);
    }

    /// Handles the frame of `octets` bytes whose turn it is in `ahead` and that joined a queue, now
    /// of `length` bytes, if it is certain that it causes no signal. Returns false, without effect,
    /// if not: [`Self::on_enqueue`] handles it then. `now` is that of [`Self::look_ahead`].
    #[inline]
    pub fn is_quiet(
        &mut self,
        now: Instant,
        queue: Queue,
        length: Bytes,
        octets: Bytes,
        ahead: &Ahead,
    ) -> bool {
        let Some(hint) = ahead.hints.get(ahead.turn) else { return false };
        if length.0 < ahead.from || queue != ahead.queue {
            return false;
        }
        let Some(place) = self.streams.place_of(*hint) else { return false };
        let quick = &self.quick;
        let is_usual = !hint.packed.goes_to(Protocol::UDP.0, quick.udp_port)
            && self.streams.is_touched_since(ahead.fresh, place);
        let hot = self.streams.hot_mut(place);
        // Within a pause or spacing other reasons apply, which the full path tells apart and counts.
        if !is_usual || now < hot.busy_until {
            return false;
        }
        let more = hot.octets.saturating_add(octets.0);
        let reason = if more < quick.octets_min {
            &mut self.counters.not_yet
        } else if length.0 < ahead.long {
            &mut self.counters.too_short
        } else if !self.budget.would_pass(now) {
            &mut self.counters.over_budget
        } else {
            return false;
        };
        *reason += 1;
        self.queues[queue.index()].counters.congesting += 1;
        // The last pause is over (`busy_until`), and with it the count of its messages (`Count::PerPause`).
        (hot.octets, hot.restarts) = (more, true);
        true
    }

    /// Adapts the known flows to another spacing of messages.
    pub(super) fn settle(&mut self, spacing: Duration) {
        if spacing == self.plan.spacing {
            return;
        }
        for (stream, hot) in self.streams.each_hot() {
            let state = &stream.state;
            // Without a message there is nothing that the next one could follow too soon.
            let next = if stream.messages > 0 { spacing } else { Duration::ZERO };
            hot.busy_until = state.paused_until.max(state.last.saturating_add(next));
        }
    }
}

/// State of a congesting flow that every frame of it needs: with its key, one cache line.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Hot {
    /// Bytes of its selected frames.
    pub(super) octets: u64,
    /// End of the last requested pause, or of the spacing of messages, whichever is later.
    pub(super) busy_until: Instant,
    /// True if the count of messages was to be restarted and is not yet.
    pub(super) restarts: bool,
}

impl Hot {
    #[inline(always)]
    pub(super) fn add(&mut self, octets: Bytes) {
        self.octets = self.octets.saturating_add(octets.0);
    }
}

/// The numbers of a plan that decide about frames without a signal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quick {
    /// False if a decision needs more than [`Hot`] has: a meter, patience, messages counted since
    /// the flow was found, or pauses that are always too short.
    pub(super) possible: bool,
    /// Shortest pause in whole nanoseconds.
    shortest: u64,
    pub(super) octets_min: u64,
    pub(super) udp_port: u16,
}

impl Quick {
    pub(super) fn of(plan: &SfcPlan) -> Self {
        // A pause below a nanosecond cannot be sent.
        let shortest = plan.pause_min.max(NANOSECOND).as_picos().div_ceil(1_000);
        let possible = plan.meter.rate.is_none()
            && plan.patience == Duration::ZERO
            && plan.dialect.count == Count::PerPause
            && shortest <= plan.pause_max.as_nanos();
        let (octets_min, udp_port) = (plan.octets_min.0, plan.udp_port);
        Self { possible, shortest, octets_min, udp_port }
    }

    /// Returns the length of a queue from which a pause for it is at least the shortest one.
    pub(super) fn long(&self, target: Bytes, drain: BitsPerSec) -> u64 {
        // The inverse of `pause`, rounded up: from this length on its result is at least the shortest.
        let surplus = (u128::from(self.shortest) * u128::from(drain.get())).div_ceil(8_000_000_000);
        u64::try_from(surplus + u128::from(target.0)).unwrap_or(u64::MAX)
    }
}
