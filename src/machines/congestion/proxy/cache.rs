//! Cache of congested destinations, applied to flows that begin later.
//!
//! A table of fixed size in sets of eight: a keyed hash maps a destination to one set, and a set
//! whose eight entries are all valid takes no more. So a flood of destinations fills only the sets
//! that it hits, memory does not grow, and no valid entry is replaced by one of a forged message.

use core::net::IpAddr;

use super::plan::{CachePlan, Remember};
use ground::time::{Duration, Instant};
use ground::units::Priority;

/// Entries per set.
const WAYS: usize = 8;

/// Counters of the cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CacheCounters {
    /// Entries created.
    pub created: u64,
    /// Messages about destinations in the cache.
    pub updated: u64,
    /// Messages about destinations whose set is full.
    pub full: u64,
    /// Flows whose destination is in the cache.
    pub hits: u64,
}

/// Entry of the cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cached {
    /// Congested destination.
    pub destination: IpAddr,
    /// Priority of the flows to it.
    pub priority: Priority,
    /// Complete pause time.
    pub pause: Duration,
    /// End of the pause.
    pub until: Instant,
    /// End of the entry. Entries that were never used ended at time zero.
    pub dies: Instant,
}

#[derive(Debug)]
pub(super) struct Cache {
    entries: Box<[[Cached; WAYS]]>,
    plan: CachePlan,
    seed: u64,
    counters: CacheCounters,
}

impl Cache {
    pub(super) fn new(plan: CachePlan, seed: u64) -> Self {
        let never = Cached {
            destination: IpAddr::V4(core::net::Ipv4Addr::UNSPECIFIED),
            priority: Priority::MIN,
            pause: Duration::ZERO,
            until: Instant::ZERO,
            dies: Instant::ZERO,
        };
        let entries = vec![[never; WAYS]; plan.entries / WAYS].into_boxed_slice();
        Self { entries, plan, seed, counters: CacheCounters::default() }
    }

    /// Records that senders to `destination` with `priority` are to pause for `pause`. The lifetime
    /// of a known destination is never shortened.
    pub(super) fn remember(
        &mut self,
        now: Instant,
        destination: IpAddr,
        priority: Priority,
        pause: Duration,
    ) {
        let (plan, mut until, mut pause) = (self.plan, now.saturating_add(pause), pause);
        let set = self.set(destination);
        let known = set.iter().position(|e| e.is_for(now, destination, priority));
        if let Some(slot) = known {
            // A message, perhaps a forged one, must not shorten what others have requested.
            (until, pause) = (until.max(set[slot].until), pause.max(set[slot].pause));
        }
        let life_ends = now.saturating_add(plan.life);
        let dies = match plan.remember {
            // An entry without a remaining pause would do nothing.
            Remember::Rest => until.min(life_ends),
            Remember::Whole => life_ends,
        };
        // An entry that is alive is never replaced, or forged messages could displace it.
        let free = || set.iter().position(|e| e.dies <= now);
        let Some(slot) = known.or_else(free) else {
            self.counters.full += 1;
            return;
        };
        set[slot] = Cached { destination, priority, pause, until, dies };
        self.counters.updated += u64::from(known.is_some());
        self.counters.created += u64::from(known.is_none());
    }

    /// Returns the end of the pause of a flow that begins now, if its destination is in the cache.
    pub(super) fn until(
        &mut self,
        now: Instant,
        destination: IpAddr,
        priority: Priority,
    ) -> Option<Instant> {
        let remember = self.plan.remember;
        let entry = self.set(destination).iter().find(|e| e.is_for(now, destination, priority))?;
        let until = match remember {
            Remember::Rest => entry.until,
            Remember::Whole => now.saturating_add(entry.pause),
        };
        self.counters.hits += 1;
        Some(until)
    }

    /// Returns the number of slots, used or free.
    pub(super) const fn places(&self) -> usize {
        self.entries.len() * WAYS
    }

    /// Returns the valid entries in at most `most` slots from slot `from` on.
    pub(super) fn page(
        &self,
        now: Instant,
        from: usize,
        most: usize,
    ) -> impl Iterator<Item = Cached> {
        let slots = self.entries.iter().flatten().skip(from).take(most);
        slots.filter(move |entry| entry.dies > now).copied()
    }

    pub(super) const fn counters(&self) -> CacheCounters {
        self.counters
    }

    fn set(&mut self, destination: IpAddr) -> &mut [Cached; WAYS] {
        let key = match destination {
            IpAddr::V4(a) => u128::from(a.to_bits()),
            IpAddr::V6(a) => a.to_bits(),
        };
        // Both halves of an address are mixed with the seed: without it addresses that collide cannot be chosen.
        let half = mixed(self.seed ^ (key >> 64) as u64);
        let hash = mixed(half ^ self.seed.rotate_left(32) ^ key as u64);
        let sets = self.entries.len();
        // The plan has a power of two of entries, and so of sets.
        &mut self.entries[hash as usize & (sets - 1)]
    }
}

impl Cached {
    fn is_for(&self, now: Instant, destination: IpAddr, priority: Priority) -> bool {
        self.dies > now && self.destination == destination && self.priority == priority
    }
}

/// Mixes the bits: every bit of the result depends on every bit of `x` (the finisher of
/// MurmurHash3).
const fn mixed(x: u64) -> u64 {
    let x = (x ^ (x >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let x = (x ^ (x >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    x ^ (x >> 33)
}
