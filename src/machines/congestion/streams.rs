//! The table of congesting flows, of Source Flow Control and of Congestion Isolation (802.1Qcz
//! 49.3.7 has its columns; the SFC source reuses them).
//!
//! Memory and time are bounded for any input: everything is allocated by `new`, a lookup reads two
//! buckets of sixteen, and the buckets of a flow depend on a seed that a sender does not know. A flow
//! that finds no free slot is refused and counted; existing entries are kept, so a flood of
//! distinct flows cannot evict the congesting ones.
//!
//! A lookup reads one cache line of a bucket, mostly the first, and one of the stream, which has the
//! state that each frame needs (`StreamTable::hot_mut`); the rest of a stream is elsewhere. The flows
//! of a burst are looked up together (`StreamTable::seek`), so that they wait for memory at the
//! same time.
//!
//! A stream expires when it has not been touched for the table's lifetime. [`StreamTable::is_over`]
//! is true from that instant on, while the slot is reused only when one is needed. So the polling
//! rate has no effect, and no sweep takes long.
//!
//! The caller's times never decrease.

mod lookup;

pub(crate) use lookup::Hint;

use super::detect::Queue;
use super::flow_key::{FlowHash, FlowKey, Packed};
use ground::time::{Duration, Instant};
use lookup::{Bucket, WAYS};

/// Used slots up to which the first bucket of a flow is preferred to an emptier second one, so that
/// most lookups end there.
const PREFERRED: u32 = 11;

/// Maximum number of flows per table: the range of a slot's index.
pub const STREAMS_MAX: usize = 1 << 16;

/// Maximum number of expired streams that one insertion removes: more than it adds, so that their
/// number falls, and few, so that no insertion takes long.
const REAP: usize = 2;

/// A touch within this fraction of a lifetime after the last one is not recorded: a flow at full
/// rate would otherwise rewrite three streams per frame.
pub const TOUCH_GRAIN: u64 = 64;

/// No stream.
const NONE: u32 = u32::MAX;

/// Reason for an entry: the bits of the create-mask (802.1Qcz 49.4.1.5.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CreateMask(pub u8);

impl CreateMask {
    /// Selected locally.
    pub const LOCAL: Self = Self(1);
    /// Named by a CIM.
    pub const CIM: Self = Self(2);

    /// Returns true if any bit of `other` is set.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Sets the bits of `other`.
    pub const fn insert(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// Clears the bits of `other`.
    pub const fn remove(&mut self, other: Self) {
        self.0 &= !other.0;
    }
}

/// A congesting flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stream<T> {
    /// Key of the flow.
    pub key: FlowKey,
    /// Queue that it congests.
    pub queue: Queue,
    /// Time of creation.
    pub created: Instant,
    /// Reason for the entry.
    pub mask: CreateMask,
    /// Messages sent about it since creation.
    pub messages: u32,
    /// State of the table's owner.
    pub state: T,
}

/// Slot of a stream in its table, valid until it is removed or the next one is inserted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place(u32);

/// Reason for refusing a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// The table has reached its capacity.
    Full,
    /// Both buckets of the flow are full.
    Crowded,
}

/// Parameters of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StreamPlan {
    /// Maximum number of flows. 1 to [`STREAMS_MAX`].
    pub capacity: usize,
    /// Lifetime of a flow after its last touch. Not zero.
    pub life: Duration,
    /// Seed of the hash. To be random if senders may be hostile.
    pub seed: u64,
}

/// Counters of the table.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct StreamCounters {
    /// Streams inserted.
    pub created: u64,
    /// Streams removed, by the owner or after expiry.
    pub removed: u64,
    /// Expired streams renewed for another lifetime because their owner still needs them.
    pub renewed: u64,
    /// Flows refused because the table was full.
    pub full: u64,
    /// Flows refused because their buckets were full.
    pub crowded: u64,
}

/// The part of a stream that every frame needs, in one cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line<H> {
    /// [`Packed::NONE`] in a free slot.
    packed: Packed,
    touched: Instant,
    hot: H,
}

/// A stream and its neighbours in the order of touches.
#[derive(Clone, Copy)]
struct Node<T> {
    stream: Stream<T>,
    older: u32,
    newer: u32,
    bucket: u32,
}

/// The table of streams: each has a state `T`, and `H` beside its key.
pub struct StreamTable<T, H = ()> {
    plan: StreamPlan,
    /// Age from which a touch is recorded.
    grain: Duration,
    hash: FlowHash,
    buckets: Box<[Bucket]>,
    lines: Vec<Line<H>>,
    nodes: Vec<Node<T>>,
    /// First free node, linked by `newer`.
    free: u32,
    oldest: u32,
    newest: u32,
    len: usize,
    counters: StreamCounters,
}

/// Tag and buckets of a flow.
#[derive(Clone, Copy)]
struct Hashed {
    packed: Packed,
    tag: u16,
    buckets: [usize; 2],
}

impl<T: Copy, H: Copy + Default> StreamTable<T, H> {
    /// Creates an empty table.
    ///
    /// # Panics
    /// If a number of the plan is out of the range that its field states.
    #[must_use]
    pub fn new(plan: StreamPlan) -> Self {
        assert!((1..=STREAMS_MAX).contains(&plan.capacity), "{} flows", plan.capacity);
        assert!(plan.life > Duration::ZERO, "flows that are over at once");
        // Twice as many slots as flows keep full pairs of buckets rare; a flow has two buckets, so there are two at
        // least.
        let buckets = (plan.capacity * 2).div_ceil(WAYS).next_power_of_two().max(2);
        Self {
            plan,
            grain: plan.life.div(TOUCH_GRAIN),
            hash: FlowHash::new(plan.seed),
            buckets: vec![Bucket::default(); buckets].into_boxed_slice(),
            lines: Vec::with_capacity(plan.capacity),
            nodes: Vec::with_capacity(plan.capacity),
            free: NONE,
            oldest: NONE,
            newest: NONE,
            len: 0,
            counters: StreamCounters::default(),
        }
    }

    /// Returns the number of streams, including expired ones that are not yet removed.
    #[inline]
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Returns true if the table is empty.
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the counters.
    #[must_use]
    pub const fn counters(&self) -> StreamCounters {
        self.counters
    }

    /// Resets the counters to zero.
    pub fn clear_counters(&mut self) {
        self.counters = StreamCounters::default();
    }

    /// Sets the lifetime, also of existing streams.
    ///
    /// # Panics
    /// If it is zero.
    pub fn set_life(&mut self, life: Duration) {
        assert!(life > Duration::ZERO, "flows that are over at once");
        (self.plan.life, self.grain) = (life, life.div(TOUCH_GRAIN));
    }

    /// Returns the slot of a flow's stream in a queue, expired or not.
    #[must_use]
    pub fn find(&self, queue: Queue, key: &FlowKey) -> Option<Place> {
        self.find_hashed(&self.hash(self.hash.pack(queue, key)), key)
    }

    /// Returns a stream.
    #[must_use]
    pub fn get(&self, place: Place) -> &Stream<T> {
        &self.nodes[place.0 as usize].stream
    }

    /// Returns a stream for changes of its state. Its flow and queue must not be changed.
    pub fn get_mut(&mut self, place: Place) -> &mut Stream<T> {
        &mut self.nodes[place.0 as usize].stream
    }

    /// Returns true if a stream has expired.
    #[must_use]
    pub fn is_over(&self, now: Instant, place: Place) -> bool {
        now.since(self.lines[place.0 as usize].touched) >= self.plan.life
    }

    /// Restarts a stream's lifetime, unless it was restarted within its last [`TOUCH_GRAIN`]th
    /// part.
    pub fn touch(&mut self, now: Instant, place: Place) {
        if self.is_fresh(now, place) {
            return;
        }
        self.lines[place.0 as usize].touched = now;
        // The list stays in the order of touches, so that the one to expire next is at its start.
        self.unlink(place.0);
        self.link_newest(place.0);
    }

    /// Inserts a flow that is not in the table. Expired streams make room, except those for which
    /// `may_go` is false, which are renewed.
    ///
    /// # Errors
    /// If there is no room.
    pub fn insert(
        &mut self,
        now: Instant,
        stream: Stream<T>,
        may_go: impl Fn(&Stream<T>) -> bool,
    ) -> Result<Place, Refusal> {
        for _ in 0..REAP {
            self.reap_oldest(now, &may_go);
        }
        if self.len == self.plan.capacity {
            self.counters.full += 1;
            return Err(Refusal::Full);
        }
        let hashed = self.hash(self.hash.pack(stream.queue, &stream.key));
        debug_assert!(self.find_hashed(&hashed, &stream.key).is_none(), "twice in");
        let Some((bucket, way)) = self.room(now, &hashed, &may_go) else {
            self.counters.crowded += 1;
            return Err(Refusal::Crowded);
        };
        let node = Node { stream, older: NONE, newer: NONE, bucket: bucket as u32 };
        let line = Line { packed: hashed.packed, touched: now, hot: H::default() };
        let slot = self.new_node(node, line);
        self.link_newest(slot);
        let bucket = &mut self.buckets[bucket];
        bucket.set(way, hashed.tag);
        // Below STREAMS_MAX, which is 2^16.
        bucket.slots[way] = slot as u16;
        self.len += 1;
        self.counters.created += 1;
        Ok(Place(slot))
    }

    /// Removes the least recently touched stream if it has expired; if `may_go` is false for it, it
    /// is renewed.
    pub fn reap(&mut self, now: Instant, may_go: impl Fn(&Stream<T>) -> bool) {
        self.reap_oldest(now, &may_go);
    }

    /// Removes a stream.
    pub fn remove(&mut self, place: Place) {
        let node = self.nodes[place.0 as usize];
        let bucket = &mut self.buckets[node.bucket as usize];
        // A free slot keeps a stale number, so its tag has to be compared as well.
        let holds = |way: &usize| bucket.tag(*way) != 0 && u32::from(bucket.slots[*way]) == place.0;
        let way = (0..WAYS).find(holds).expect("a stream is in its bucket");
        bucket.set(way, 0);
        self.lines[place.0 as usize].packed = Packed::NONE;
        self.unlink(place.0);
        self.nodes[place.0 as usize].newer = self.free;
        self.free = place.0;
        self.len -= 1;
        self.counters.removed += 1;
    }

    /// Returns all streams, least recently touched first.
    pub fn iter(&self) -> impl Iterator<Item = &Stream<T>> {
        let mut slot = self.oldest;
        core::iter::from_fn(move || {
            let node = self.nodes.get(slot as usize)?;
            slot = node.newer;
            Some(&node.stream)
        })
    }

    /// Returns the number of slots, used or free.
    #[must_use]
    pub fn places(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the streams in at most `most` slots from slot `from` on, each with its slot number:
    /// for reading a long table in parts.
    pub fn page(&self, from: usize, most: usize) -> impl Iterator<Item = (u32, &Stream<T>)> {
        self.page_hot(from, most).map(|(slot, stream, _)| (slot, stream))
    }

    #[inline(always)]
    fn hash(&self, packed: Packed) -> Hashed {
        let hash = self.hash.of(packed);
        let mask = self.buckets.len() - 1;
        // Other bits than those of the tag, which otherwise would be alike within a bucket.
        let first = (hash >> 16) as usize & mask;
        let second = (hash >> 40) as usize & mask;
        // Two buckets even if both numbers are equal.
        let second = if first == second { first ^ 1 } else { second };
        Hashed { packed, tag: (hash as u16).max(1), buckets: [first, second] }
    }

    fn find_hashed(&self, hashed: &Hashed, key: &FlowKey) -> Option<Place> {
        let packed = hashed.packed;
        let is_it = |slot: &u32| {
            let same = self.lines[*slot as usize].packed == packed;
            // The second word has the queue.
            same && (packed.is_whole() || self.nodes[*slot as usize].stream.key == *key)
        };
        let find_in = |bucket: usize| self.buckets[bucket].with(hashed.tag).find(is_it).map(Place);
        let [first, second] = hashed.buckets;
        find_in(first).or_else(|| find_in(second))
    }

    /// Returns a free slot in the first bucket of a flow, or in the emptier one if that is fuller
    /// than most, or one of an expired stream that may go.
    fn room(
        &mut self,
        now: Instant,
        hashed: &Hashed,
        may_go: &impl Fn(&Stream<T>) -> bool,
    ) -> Option<(usize, usize)> {
        let used = |n: usize| self.buckets[n].used();
        let [first, second] = hashed.buckets;
        let full = used(first) > PREFERRED && used(second) < used(first);
        let emptier = if full { second } else { first };
        if let Some(way) = self.buckets[emptier].free() {
            return Some((emptier, way));
        }
        // Both buckets are full: any stream in them that has expired makes room.
        for bucket in hashed.buckets {
            for way in 0..WAYS {
                let place = Place(u32::from(self.buckets[bucket].slots[way]));
                if self.is_over(now, place) && may_go(self.get(place)) {
                    self.remove(place);
                    return Some((bucket, way));
                }
            }
        }
        None
    }

    /// Removes the least recently touched stream, if it has expired.
    fn reap_oldest(&mut self, now: Instant, may_go: &impl Fn(&Stream<T>) -> bool) {
        let place = Place(self.oldest);
        if place.0 == NONE || !self.is_over(now, place) {
            return;
        }
        if may_go(self.get(place)) {
            self.remove(place);
        } else {
            // Its owner still needs it. As the newest it does not keep the others from going.
            self.counters.renewed += 1;
            self.touch(now, place);
        }
    }

    fn new_node(&mut self, node: Node<T>, line: Line<H>) -> u32 {
        let slot = self.free;
        if slot == NONE {
            // Within the reserved capacity, as there are no more nodes than streams.
            self.nodes.push(node);
            self.lines.push(line);
            return self.nodes.len() as u32 - 1;
        }
        self.free = self.nodes[slot as usize].newer;
        (self.nodes[slot as usize], self.lines[slot as usize]) = (node, line);
        slot
    }

    fn unlink(&mut self, slot: u32) {
        let Node { older, newer, .. } = self.nodes[slot as usize];
        match older {
            NONE => self.oldest = newer,
            older => self.nodes[older as usize].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            newer => self.nodes[newer as usize].older = older,
        }
    }

    fn link_newest(&mut self, slot: u32) {
        let node = &mut self.nodes[slot as usize];
        (node.older, node.newer) = (self.newest, NONE);
        match self.newest {
            NONE => self.oldest = slot,
            newest => self.nodes[newest as usize].newer = slot,
        }
        self.newest = slot;
    }
}

#[cfg(test)]
mod tests;
