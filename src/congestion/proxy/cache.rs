//! Congested destinations, remembered for flows that begin later.
//!
//! A table of fixed size in sets of eight: a destination has one set, by a keyed hash, and a set whose
//! eight entries all live takes no more. So a flood of destinations costs what it aimed at, memory never
//! grows, and no entry that lives gives way to one that a stranger made up.

use core::net::IpAddr;

use super::plan::{CachePlan, Remember};
use crate::time::{Duration, Instant};
use crate::units::Priority;

/// Entries in a set.
const WAYS: usize = 8;

/// What happened in the cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CacheCounters {
    /// Entries made.
    pub created: u64,
    /// Messages about destinations that were known.
    pub updated: u64,
    /// Messages about destinations that there was no room for.
    pub full: u64,
    /// Flows whose destination was found to be congested.
    pub hits: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    destination: IpAddr,
    priority: Priority,
    pause: Duration,
    until: Instant,
    /// When the entry is over. Entries that never were have been over since the start of the world.
    dies: Instant,
}

#[derive(Debug)]
pub(super) struct Cache {
    entries: Box<[[Entry; WAYS]]>,
    plan: CachePlan,
    seed: u64,
    counters: CacheCounters,
}

impl Cache {
    pub(super) fn new(plan: CachePlan, seed: u64) -> Self {
        let never = Entry {
            destination: IpAddr::V4(core::net::Ipv4Addr::UNSPECIFIED),
            priority: Priority::MIN,
            pause: Duration::ZERO,
            until: Instant::ZERO,
            dies: Instant::ZERO,
        };
        let entries = vec![[never; WAYS]; plan.entries / WAYS].into_boxed_slice();
        Self { entries, plan, seed, counters: CacheCounters::default() }
    }

    /// Whoever sends to `destination` with `priority` is to pause for `pause`. A known destination is
    /// never remembered for less than it was.
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
        if let Some(at) = known {
            (until, pause) = (until.max(set[at].until), pause.max(set[at].pause));
        }
        let life_ends = now.saturating_add(plan.life);
        let dies = match plan.remember {
            Remember::Rest => until.min(life_ends),
            Remember::Whole => life_ends,
        };
        let free = || set.iter().position(|e| e.dies <= now);
        let Some(at) = known.or_else(free) else {
            self.counters.full += 1;
            return;
        };
        set[at] = Entry { destination, priority, pause, until, dies };
        self.counters.updated += u64::from(known.is_some());
        self.counters.created += u64::from(known.is_none());
    }

    /// Until when a flow that begins now has to pause, if its destination is known to be congested.
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

    pub(super) const fn counters(&self) -> CacheCounters {
        self.counters
    }

    fn set(&mut self, destination: IpAddr) -> &mut [Entry; WAYS] {
        let key = match destination {
            IpAddr::V4(a) => u128::from(a.to_bits()),
            IpAddr::V6(a) => a.to_bits(),
        };
        let half = mixed(self.seed ^ (key >> 64) as u64);
        let hash = mixed(half ^ self.seed.rotate_left(32) ^ key as u64);
        let sets = self.entries.len();
        &mut self.entries[hash as usize & (sets - 1)]
    }
}

impl Entry {
    fn is_for(&self, now: Instant, destination: IpAddr, priority: Priority) -> bool {
        self.dies > now && self.destination == destination && self.priority == priority
    }
}

/// Every bit of the result depends on every bit of `x` (the finisher of MurmurHash3).
const fn mixed(x: u64) -> u64 {
    let x = (x ^ (x >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let x = (x ^ (x >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    x ^ (x >> 33)
}
