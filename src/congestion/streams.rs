//! The table of congesting flows, of Source Flow Control and of Congestion Isolation (802.1Qcz
//! 49.3.7 has its columns; the SFC source reuses them).
//!
//! Bounded in memory and in time whatever comes: everything is allocated by `new`, a look is two
//! buckets of eight, and where a flow falls depends on a seed that a sender does not know. A flow that
//! finds no room is refused and counted; flows that are in stay in, so a flood of distinct flows cannot
//! push out the ones that congest.
//!
//! A stream lives for the table's life since it was last touched. It is over at that instant however
//! late anybody looks: [`StreamTable::is_over`] says so, while its place is reused only when one is
//! needed. So looking more often changes nothing, and no sweep ever takes long.
//!
//! The caller's times never go back.

use super::detect::Queue;
use super::flow_key::{FlowHash, FlowKey};
use crate::time::{Duration, Instant};

/// Places per bucket: with two buckets to choose from and half of the places in use, a full pair is
/// rarer than once in many tables of the largest size.
const WAYS: usize = 8;

/// The most flows of one table: what the index of a place can name.
pub const STREAMS_MAX: usize = 1 << 16;

/// How many streams that are over one insertion takes out at most: more than it adds, so that they
/// become fewer, and so few that no insertion takes long.
const REAP: usize = 2;

/// A touch within this part of a life after the last one is not noted: a flow at full rate would
/// otherwise rewrite three streams per frame.
pub const TOUCH_GRAIN: u64 = 64;

/// No stream.
const NONE: u32 = u32::MAX;

/// Why a flow is in the table: the bits of the create-mask (802.1Qcz 49.4.1.5.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CreateMask(pub u8);

impl CreateMask {
    /// It was picked here.
    pub const LOCAL: Self = Self(1);
    /// A CIM named it.
    pub const CIM: Self = Self(2);

    /// Whether any of `other` is set.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Sets what is set in `other`.
    pub const fn insert(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// Clears what is set in `other`.
    pub const fn remove(&mut self, other: Self) {
        self.0 &= !other.0;
    }
}

/// A congesting flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stream<T> {
    /// The flow.
    pub key: FlowKey,
    /// The queue that it congests.
    pub queue: Queue,
    /// When it was found.
    pub created: Instant,
    /// Why it is here.
    pub mask: CreateMask,
    /// Messages sent about it since then.
    pub messages: u32,
    /// What the table's owner keeps with it.
    pub state: T,
}

/// Where a stream is in its table, until it is removed or the next one is inserted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place(u32);

/// Why a flow was not taken in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// The table holds as many as it may.
    Full,
    /// Both buckets of the flow are full of others.
    Crowded,
}

/// What a table is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StreamPlan {
    /// The most flows at a time. 1 to [`STREAMS_MAX`].
    pub capacity: usize,
    /// How long a flow stays in that is not touched. Not zero.
    pub life: Duration,
    /// What decides where flows fall. To be drawn by chance where senders may be hostile.
    pub seed: u64,
}

/// What happened to flows.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct StreamCounters {
    /// Taken in.
    pub created: u64,
    /// Taken out, by the owner or because they were over.
    pub removed: u64,
    /// Over, but kept for another life because their owner was not done with them.
    pub renewed: u64,
    /// Refused because the table was full.
    pub full: u64,
    /// Refused because their buckets were.
    pub crowded: u64,
}

/// One of two buckets where a flow may be. A tag of 0 is a free place.
#[derive(Clone, Copy, Default)]
struct Bucket {
    tags: [u16; WAYS],
    at: [u16; WAYS],
}

impl Bucket {
    /// Where a tag is, of four places from `first` on: the highest bit of 16 for each. A place behind one
    /// that has the tag may be named without having it.
    #[inline]
    fn ways(&self, first: usize, tag: u16) -> u64 {
        const ONES: u64 = 0x0001_0001_0001_0001;
        const HIGHS: u64 = ONES << 15;
        let of = |n: usize| u64::from(self.tags[first + n]) << (16 * n);
        let unlike = (of(0) | of(1) | of(2) | of(3)) ^ (u64::from(tag) * ONES);
        // What is 0 has a borrow and none of its own bits (as in Hacker's Delight 6-1).
        unlike.wrapping_sub(ONES) & !unlike & HIGHS
    }
}

const _: () = assert!(WAYS % 4 == 0, "the places of a bucket are looked at in fours");

/// A stream and its neighbours in the order in which they were touched.
#[derive(Clone, Copy)]
struct Node<T> {
    stream: Stream<T>,
    touched: Instant,
    older: u32,
    newer: u32,
    bucket: u32,
}

/// The table.
pub struct StreamTable<T> {
    plan: StreamPlan,
    hash: FlowHash,
    buckets: Box<[Bucket]>,
    nodes: Vec<Node<T>>,
    /// The first node that is free, linked by `newer`.
    free: u32,
    oldest: u32,
    newest: u32,
    len: usize,
    counters: StreamCounters,
}

/// A flow's tag and buckets.
struct Hashed {
    tag: u16,
    buckets: [usize; 2],
}

impl<T: Copy> StreamTable<T> {
    /// An empty table.
    ///
    /// # Panics
    /// If the plan has a number out of the range that its field states.
    #[must_use]
    pub fn new(plan: StreamPlan) -> Self {
        assert!((1..=STREAMS_MAX).contains(&plan.capacity), "{} flows", plan.capacity);
        assert!(plan.life > Duration::ZERO, "flows that are over at once");
        let buckets = (plan.capacity * 2).div_ceil(WAYS).next_power_of_two().max(2);
        Self {
            plan,
            hash: FlowHash::new(plan.seed),
            buckets: vec![Bucket::default(); buckets].into_boxed_slice(),
            nodes: Vec::with_capacity(plan.capacity),
            free: NONE,
            oldest: NONE,
            newest: NONE,
            len: 0,
            counters: StreamCounters::default(),
        }
    }

    /// Streams in the table, those that are over and not yet taken out among them.
    #[inline]
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// What happened.
    #[must_use]
    pub const fn counters(&self) -> StreamCounters {
        self.counters
    }

    /// Counts from zero again.
    pub fn clear_counters(&mut self) {
        self.counters = StreamCounters::default();
    }

    /// Another life, for streams that are in as well.
    ///
    /// # Panics
    /// If it is zero.
    pub fn set_life(&mut self, life: Duration) {
        assert!(life > Duration::ZERO, "flows that are over at once");
        self.plan.life = life;
    }

    /// The stream of a flow in a queue, over or not.
    #[must_use]
    pub fn find(&self, queue: Queue, key: &FlowKey) -> Option<Place> {
        self.find_hashed(&self.hash(queue, key), queue, key)
    }

    /// A stream.
    #[must_use]
    pub fn get(&self, place: Place) -> &Stream<T> {
        &self.nodes[place.0 as usize].stream
    }

    /// A stream, to change what is kept with it. Its flow and its queue are not to be changed.
    pub fn get_mut(&mut self, place: Place) -> &mut Stream<T> {
        &mut self.nodes[place.0 as usize].stream
    }

    /// Whether a stream's life is over.
    #[must_use]
    pub fn is_over(&self, now: Instant, place: Place) -> bool {
        now.since(self.nodes[place.0 as usize].touched) >= self.plan.life
    }

    /// A stream's life begins anew, unless it did so within its [`TOUCH_GRAIN`]th part.
    pub fn touch(&mut self, now: Instant, place: Place) {
        let node = &mut self.nodes[place.0 as usize];
        if now.since(node.touched) < self.plan.life.div(TOUCH_GRAIN) {
            return;
        }
        node.touched = now;
        self.unlink(place.0);
        self.link_newest(place.0);
    }

    /// Takes a flow in that is not in yet. Streams that are over make room, except those that `may_go`
    /// wants to keep, which live once more.
    ///
    /// # Errors
    /// When there is no room.
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
        let hashed = self.hash(stream.queue, &stream.key);
        debug_assert!(self.find_hashed(&hashed, stream.queue, &stream.key).is_none(), "twice in");
        let Some((bucket, way)) = self.room(now, &hashed, &may_go) else {
            self.counters.crowded += 1;
            return Err(Refusal::Crowded);
        };
        let at = self.new_node(Node {
            stream,
            touched: now,
            older: NONE,
            newer: NONE,
            bucket: bucket as u32,
        });
        self.link_newest(at);
        let slot = &mut self.buckets[bucket];
        (slot.tags[way], slot.at[way]) = (hashed.tag, at as u16);
        self.len += 1;
        self.counters.created += 1;
        Ok(Place(at))
    }

    /// Takes the stream out that was touched longest ago, if it is over; one that `may_go` wants to keep
    /// lives once more.
    pub fn reap(&mut self, now: Instant, may_go: impl Fn(&Stream<T>) -> bool) {
        self.reap_oldest(now, &may_go);
    }

    /// Takes a stream out.
    pub fn remove(&mut self, place: Place) {
        let node = self.nodes[place.0 as usize];
        let bucket = &mut self.buckets[node.bucket as usize];
        let at = |way: &usize| bucket.tags[*way] != 0 && u32::from(bucket.at[*way]) == place.0;
        let way = (0..WAYS).find(at).expect("a stream is in its bucket");
        bucket.tags[way] = 0;
        self.unlink(place.0);
        self.nodes[place.0 as usize].newer = self.free;
        self.free = place.0;
        self.len -= 1;
        self.counters.removed += 1;
    }

    /// All streams, the one touched longest ago first.
    pub fn iter(&self) -> impl Iterator<Item = &Stream<T>> {
        let mut at = self.oldest;
        core::iter::from_fn(move || {
            let node = self.nodes.get(at as usize)?;
            at = node.newer;
            Some(&node.stream)
        })
    }

    /// How many places there are, in use or not.
    #[must_use]
    pub fn places(&self) -> usize {
        self.nodes.len()
    }

    /// The streams in at most `most` places from the one with the number `from` on, each with the number
    /// of its place: for whoever looks at a long table little by little.
    pub fn page(&self, from: usize, most: usize) -> impl Iterator<Item = (u32, &Stream<T>)> {
        let nodes = self.nodes.iter().enumerate().skip(from).take(most);
        nodes.filter_map(|(at, node)| {
            // A place that is free is in no bucket.
            let Bucket { tags, at: places } = &self.buckets[node.bucket as usize];
            let is = |way: usize| tags[way] != 0 && usize::from(places[way]) == at;
            (0..WAYS).any(is).then_some((at as u32, &node.stream))
        })
    }

    fn hash(&self, queue: Queue, key: &FlowKey) -> Hashed {
        let hash = self.hash.of(queue, key);
        let mask = self.buckets.len() - 1;
        let first = (hash >> 16) as usize & mask;
        let second = (hash >> 40) as usize & mask;
        // Two buckets even where both numbers are the same.
        let second = if first == second { first ^ 1 } else { second };
        Hashed { tag: (hash as u16).max(1), buckets: [first, second] }
    }

    fn find_hashed(&self, hashed: &Hashed, queue: Queue, key: &FlowKey) -> Option<Place> {
        for bucket in hashed.buckets.map(|n| &self.buckets[n]) {
            for first in (0..WAYS).step_by(4) {
                let mut ways = bucket.ways(first, hashed.tag);
                while ways != 0 {
                    let way = first + ways.trailing_zeros() as usize / 16;
                    let at = u32::from(bucket.at[way]);
                    let stream = &self.nodes[at as usize].stream;
                    if bucket.tags[way] == hashed.tag && stream.queue == queue && stream.key == *key
                    {
                        return Some(Place(at));
                    }
                    ways &= ways - 1;
                }
            }
        }
        None
    }

    /// A free place in the emptier bucket of a flow, or one of a stream that is over and may go.
    fn room(
        &mut self,
        now: Instant,
        hashed: &Hashed,
        may_go: &impl Fn(&Stream<T>) -> bool,
    ) -> Option<(usize, usize)> {
        let used = |n: usize| self.buckets[n].tags.iter().filter(|tag| **tag != 0).count();
        let [first, second] = hashed.buckets;
        let emptier = if used(second) < used(first) { second } else { first };
        if let Some(way) = self.buckets[emptier].tags.iter().position(|tag| *tag == 0) {
            return Some((emptier, way));
        }
        for bucket in hashed.buckets {
            for way in 0..WAYS {
                let place = Place(u32::from(self.buckets[bucket].at[way]));
                if self.is_over(now, place) && may_go(self.get(place)) {
                    self.remove(place);
                    return Some((bucket, way));
                }
            }
        }
        None
    }

    /// Takes out the stream that was touched longest ago, if it is over.
    fn reap_oldest(&mut self, now: Instant, may_go: &impl Fn(&Stream<T>) -> bool) {
        let place = Place(self.oldest);
        if place.0 == NONE || !self.is_over(now, place) {
            return;
        }
        if may_go(self.get(place)) {
            self.remove(place);
        } else {
            self.counters.renewed += 1;
            self.touch(now, place);
        }
    }

    fn new_node(&mut self, node: Node<T>) -> u32 {
        let at = self.free;
        if at == NONE {
            // Within the capacity that was reserved, as there are no more nodes than streams.
            self.nodes.push(node);
            return self.nodes.len() as u32 - 1;
        }
        self.free = self.nodes[at as usize].newer;
        self.nodes[at as usize] = node;
        at
    }

    fn unlink(&mut self, at: u32) {
        let Node { older, newer, .. } = self.nodes[at as usize];
        match older {
            NONE => self.oldest = newer,
            older => self.nodes[older as usize].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            newer => self.nodes[newer as usize].older = older,
        }
    }

    fn link_newest(&mut self, at: u32) {
        let node = &mut self.nodes[at as usize];
        (node.older, node.newer) = (self.newest, NONE);
        match self.newest {
            NONE => self.oldest = at,
            newest => self.nodes[newest as usize].newer = at,
        }
        self.newest = at;
    }
}

#[cfg(test)]
mod tests;
