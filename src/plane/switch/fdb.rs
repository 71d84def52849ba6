//! The filtering database (802.1Q 8.8): VLAN and address to port.
//!
//! Bounded in memory and in time under any load: everything is allocated by `new`, an address is in
//! one of two buckets of eight, and a secret seed selects them, so a lookup reads at most two
//! buckets and no sender can aim at one. The table is never more than half full. When it is full,
//! or when a port is at its limit, new addresses are not learnt, which is counted and only costs
//! flooding. A lookup never returns an aged entry, even one not yet swept; only a flow's shortcut
//! may still lead there, for one part in [`SWEEPS`] of the ageing time.

use crate::{BridgePlan, StaticEntry};
use ground::rand::Rng;
use ground::time::{Duration, Instant};
use ground::units::{Mac, PortId, Vid};

/// Key of a free slot: no VLAN has identifier 0, so no key is 0.
const EMPTY: u64 = 0;
/// Key flag of a static entry.
const STATIC: u64 = 1 << 63;
/// Ages are stored in units of 2^24 ps (16.8 us), so that time and port fit into eight bytes.
const AGE_SHIFT: u32 = 24;
/// Sweeps per ageing time. The age of an active address is updated as often, so an entry may age
/// out one such part early.
const SWEEPS: u64 = 64;
/// Slots per bucket. With two buckets to choose from and half of the slots in use, both are full
/// less than once in many tables of the largest size.
const WAYS: usize = 8;
/// Separates the seed of this table from others derived from a switch's seed.
const SEED: u64 = 0x6664_6200_0000_0000;
/// Maximum seeds tried until all static entries have a slot; the first one practically always
/// works.
const STATIC_TRIES: usize = 16;

/// One slot: VLAN and address in `key`; the time last seen and the port in `seen_port`.
#[derive(Clone, Copy, Debug)]
struct Slot {
    key: u64,
    seen_port: u64,
}

const FREE: Slot = Slot { key: EMPTY, seen_port: 0 };

/// The learnt addresses of one port.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PortAddresses {
    /// Addresses in the table, including aged ones not yet swept.
    pub held: u32,
    /// Frames from which no address was learnt because the port was at its limit.
    pub refused: u64,
}

#[derive(Debug)]
pub struct Fdb {
    slots: Vec<Slot>,
    /// Number of buckets, a power of two, less 1.
    mask: usize,
    secrets: [u64; 2],
    capacity: usize,
    used: usize,
    full: u64,
    port_limit: u32,
    /// By [`PortId`].
    ports: Vec<PortAddresses>,
    ageing: u64,
    sweep_at: Instant,
    sweep_every: Duration,
    sweep_from: usize,
    /// Age in units at which the stored time of an active address is updated.
    fresh: u64,
    version: u32,
}

/// The effect of learning an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Learnt {
    /// Already known at this port.
    Known,
    /// New, moved, or refreshed after a while; other workers must be told.
    News,
    /// Refused: the table is full, the port is at its limit, or the entry is static.
    Refused,
}

/// VLAN and address in one number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Key(u64);

impl Key {
    #[inline]
    pub const fn new(vid: Vid, mac: Mac) -> Self {
        Self::from_parts(vid, mac.to_u64())
    }

    /// As [`Self::new`], for an address that is already a number below 2^48.
    #[inline]
    pub(super) const fn from_parts(vid: Vid, mac: u64) -> Self {
        Self((vid.get() as u64) << 48 | mac)
    }
}

impl Fdb {
    /// Creates the table of a bridge with `ports` ports and its static entries. `None` if the
    /// static entries do not fit.
    pub fn new(plan: &BridgePlan, ports: usize, seed: u64) -> Option<Self> {
        let mut rng = Rng::new(seed ^ SEED);
        (0..STATIC_TRIES).find_map(|_| {
            // Other secrets put the static entries into other buckets, which may have room for all.
            let mut fdb = Self::empty(plan, ports, [rng.next_u64(), rng.next_u64()]);
            plan.statics.iter().all(|entry| fdb.add_static(entry)).then_some(fdb)
        })
    }

    /// An empty table for `plan.table_size` addresses, rounded up to a power of two.
    fn empty(plan: &BridgePlan, ports: usize, secrets: [u64; 2]) -> Self {
        let ageing = plan.ageing.as_picos();
        let capacity = plan.table_size.max(WAYS).next_power_of_two();
        let sweep_every = Duration::from_picos((ageing / SWEEPS).max(1));
        Self {
            // Twice the capacity: the table is never more than half full.
            slots: vec![FREE; capacity * 2],
            mask: capacity * 2 / WAYS - 1,
            secrets,
            capacity,
            used: 0,
            full: 0,
            port_limit: u32::try_from(plan.port_limit).unwrap_or(u32::MAX),
            ports: vec![PortAddresses::default(); ports],
            ageing: ageing >> AGE_SHIFT,
            sweep_at: Instant::ZERO.saturating_add(sweep_every),
            sweep_every,
            sweep_from: 0,
            fresh: (ageing / SWEEPS) >> AGE_SHIFT,
            version: 0,
        }
    }

    /// Returns the version, which changes whenever a lookup may give another result, ageing aside.
    #[inline]
    pub(super) const fn version(&self) -> u32 {
        self.version
    }

    /// Invalidates everything derived from earlier lookups.
    pub(super) const fn invalidate(&mut self) {
        self.version = self.version.wrapping_add(1);
    }

    /// For tests: results derived from a lookup expire at once.
    #[cfg(test)]
    pub(super) const fn without_freshness(&mut self) {
        self.sweep_every = Duration::ZERO;
    }

    /// Returns the time for which results derived from a lookup may be used.
    pub(super) const fn fresh_for(&self) -> Duration {
        self.sweep_every
    }

    /// Returns the number of addresses in the table.
    pub const fn len(&self) -> usize {
        self.used
    }

    /// Returns true if no address is in the table.
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Returns the number of frames from which no address was learnt because the table was full.
    pub const fn refused(&self) -> u64 {
        self.full
    }

    /// Resets the numbers of frames from which no address was learnt.
    pub fn clear_counters(&mut self) {
        self.full = 0;
        self.ports.iter_mut().for_each(|port| port.refused = 0);
    }

    pub fn of_port(&self, port: PortId) -> PortAddresses {
        self.ports.get(port.index()).copied().unwrap_or_default()
    }

    /// Returns the two buckets of a key (folded multiplication by secrets, as in wyhash: both
    /// halves of the product depend on all bits of the key, and on bits that a sender does not
    /// know).
    #[inline]
    const fn buckets(&self, key: u64) -> [usize; 2] {
        // Static or not, an address has one place.
        let product = ((key & !STATIC) ^ self.secrets[0]) as u128 * self.secrets[1] as u128;
        let hash = product as u64 ^ (product >> 64) as u64;
        let first = (hash >> 16) as usize & self.mask;
        let second = (hash >> 40) as usize & self.mask;
        // Always two different buckets.
        [first, if first == second { first ^ 1 } else { second }]
    }

    #[inline]
    fn bucket(&self, number: usize) -> &[Slot] {
        &self.slots[number * WAYS..(number + 1) * WAYS]
    }

    /// Finds the slot of a key.
    #[inline]
    fn find(&self, key: u64) -> Option<usize> {
        let [first, second] = self.buckets(key);
        self.find_in(first, key).or_else(|| self.find_in(second, key))
    }

    #[inline]
    fn find_in(&self, bucket: usize, key: u64) -> Option<usize> {
        let way = self.bucket(bucket).iter().position(|slot| slot.key & !STATIC == key)?;
        Some(bucket * WAYS + way)
    }

    #[inline]
    const fn aged(&self, slot: Slot, now: u64) -> bool {
        slot.key & STATIC == 0 && now.saturating_sub(slot.seen_port >> 16) >= self.ageing
    }

    /// Returns the port of an address.
    #[inline]
    pub fn lookup(&self, now: Instant, key: Key) -> Option<PortId> {
        let slot = self.slots[self.find(key.0)?];
        if self.aged(slot, age(now)) {
            return None;
        }
        PortId::new(slot.seen_port as u16)
    }

    /// Learns that a frame from an address came in by `port`.
    #[inline]
    pub fn learn(&mut self, now: Instant, key: Key, port: PortId) -> Learnt {
        let now = age(now);
        let Some(index) = self.find(key.0) else { return self.learn_new(key.0, now, port) };
        let slot = self.slots[index];
        let old = now.saturating_sub(slot.seen_port >> 16);
        // The usual case reads one slot and writes none.
        if slot.seen_port as u16 == port.get() && old <= self.fresh {
            return Learnt::Known;
        }
        self.learn_again(index, now, port)
    }

    /// Learns an address that is not in the table.
    #[cold]
    fn learn_new(&mut self, key: u64, now: u64, port: PortId) -> Learnt {
        // The limit of the port first: a host that invents addresses must not fill the table for all.
        let of_port = &mut self.ports[port.index()];
        if of_port.held >= self.port_limit {
            of_port.refused += 1;
            return Learnt::Refused;
        }
        let Some(index) = self.room(key, now) else {
            self.full += 1;
            return Learnt::Refused;
        };
        self.ports[port.index()].held += 1;
        self.put(index, Slot { key, seen_port: seen_port(now, port) });
        Learnt::News
    }

    /// Learns an address again, at another port or after a while.
    #[cold]
    fn learn_again(&mut self, index: usize, now: u64, port: PortId) -> Learnt {
        let slot = self.slots[index];
        if slot.key & STATIC != 0 {
            return Learnt::Refused;
        }
        if slot.seen_port as u16 != port.get() {
            // The old entry is wrong whether or not there is room at the new port.
            self.delete(index);
            return match self.learn_new(slot.key, now, port) {
                Learnt::Refused => Learnt::News,
                learnt => learnt,
            };
        }
        // Other workers keep a copy, which must be refreshed before the address ages out there.
        let part = (self.ageing / 4).max(1);
        // Told four times per ageing time, and not at each refresh, which is 64 times.
        let stale = now / part != (slot.seen_port >> 16) / part;
        self.slots[index].seen_port = seen_port(now, port);
        if stale { Learnt::News } else { Learnt::Known }
    }

    /// Returns a free slot for a key in the emptier of its buckets, or that of an aged entry.
    fn room(&mut self, key: u64, now: u64) -> Option<usize> {
        let buckets = self.buckets(key);
        if self.used < self.capacity {
            let used = |n: usize| self.bucket(n).iter().filter(|slot| slot.key != EMPTY).count();
            // The emptier of two keeps both from filling up (balanced allocation).
            let emptier = if used(buckets[1]) < used(buckets[0]) { buckets[1] } else { buckets[0] };
            if let Some(index) = self.find_in(emptier, EMPTY) {
                return Some(index);
            }
        }
        // An aged entry gives way before the sweep comes to it.
        let mut slots = buckets.into_iter().flat_map(|n| n * WAYS..(n + 1) * WAYS);
        let aged =
            |index: &usize| self.slots[*index].key != EMPTY && self.aged(self.slots[*index], now);
        let index = slots.find(aged)?;
        self.delete(index);
        Some(index)
    }

    /// Adds a static entry. Returns false if there is no room for it.
    #[must_use]
    fn add_static(&mut self, entry: &StaticEntry) -> bool {
        let Key(key) = Key::new(entry.vid, entry.mac);
        // Without a time, which a static entry does not need.
        let seen_port = u64::from(entry.port.get());
        // Of duplicates, the last one applies.
        let Some(index) = self.find(key).or_else(|| self.room(key, 0)) else { return false };
        if self.slots[index].key == EMPTY {
            self.put(index, Slot { key: key | STATIC, seen_port });
        } else {
            self.slots[index].seen_port = seen_port;
        }
        true
    }

    fn put(&mut self, index: usize, slot: Slot) {
        self.slots[index] = slot;
        self.used += 1;
        self.invalidate();
    }

    /// Frees the slot of an entry.
    fn delete(&mut self, index: usize) {
        let slot = core::mem::replace(&mut self.slots[index], FREE);
        if slot.key & STATIC == 0 {
            self.ports[usize::from(slot.seen_port as u16)].held -= 1;
        }
        self.used -= 1;
        self.invalidate();
    }

    /// Removes the learnt addresses of `port`, or of all ports.
    pub fn flush(&mut self, port: Option<PortId>) {
        self.delete_where(0, self.slots.len(), |slot| {
            port.is_none_or(|p| slot.seen_port as u16 == p.get())
        });
    }

    /// Returns the time at which `sweep` has work to do.
    #[inline]
    pub const fn next_deadline(&self) -> Instant {
        self.sweep_at
    }

    /// Frees the aged entries of the next part of the table.
    pub fn sweep(&mut self, now: Instant) {
        if now < self.sweep_at {
            return;
        }
        self.sweep_at = now.saturating_add(self.sweep_every);
        // A part of the table per call, so that no poll takes long.
        let part = self.slots.len().div_ceil(SWEEPS as usize);
        let from = self.sweep_from;
        let to = (from + part).min(self.slots.len());
        self.sweep_from = if to == self.slots.len() { 0 } else { to };
        let (now, ageing) = (age(now), self.ageing);
        self.delete_where(from, to, |slot| now.saturating_sub(slot.seen_port >> 16) >= ageing);
    }

    /// Deletes the learnt entries in a range of slots for which `unwanted` is true.
    fn delete_where(&mut self, from: usize, to: usize, unwanted: impl Fn(&Slot) -> bool) {
        for index in from..to {
            let slot = self.slots[index];
            if slot.key != EMPTY && slot.key & STATIC == 0 && unwanted(&slot) {
                self.delete(index);
            }
        }
    }
}

/// Converts a time to units of ages; 48 bits hold 149 years.
const fn age(now: Instant) -> u64 {
    (now.as_picos() >> AGE_SHIFT) as u64
}

/// Packs the second word of a slot.
const fn seen_port(now: u64, port: PortId) -> u64 {
    now << 16 | port.get() as u64
}

#[cfg(test)]
mod tests;
