//! The filtering database (802.1Q 8.8): which port an address of a VLAN is behind.
//!
//! Open addressing with linear probing in a table that is never more than half full. Bounded, no
//! allocation after the start; when it is full new addresses are not learnt, which is counted and
//! only costs flooding. An entry that has aged is not returned, whenever it is swept away; only a
//! flow's shortcut may still lead there, for one part in [`SWEEPS`] of the ageing time.

use crate::time::{Duration, Instant};
use crate::units::{Mac, PortId, Vid};

/// No entry: no VLAN has identifier 0, so no key is 0.
const EMPTY: u64 = 0;
/// Marks the key of a static entry.
const STATIC: u64 = 1 << 63;
/// Ages are kept in units of 2^24 ps (16.8 us), so that time and port fit into eight octets.
const AGE_SHIFT: u32 = 24;
/// The table is swept once in this many parts per ageing time; as often the age of an address that
/// is heard of is written down, so it may be forgotten one such part early.
const SWEEPS: u64 = 64;

/// One slot: VLAN and address in `key`; the time last seen and the port in `seen_port`.
#[derive(Clone, Copy, Debug)]
struct Slot {
    key: u64,
    seen_port: u64,
}

/// The table.
#[derive(Debug)]
pub struct Fdb {
    slots: Vec<Slot>,
    shift: u32,
    capacity: usize,
    used: usize,
    full: u64,
    ageing: u64,
    sweep_at: Instant,
    sweep_every: Duration,
    sweep_from: usize,
    /// How old a written age may be before it is written anew, in units of ages.
    fresh: u64,
    version: u32,
}

/// What learning an address changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Learnt {
    /// Nothing: it was known to be there.
    Known,
    /// It is new, has moved, or was not heard of for a while; other workers are to be told.
    News,
    /// The table is full, or the entry is static.
    Refused,
}

/// A VLAN and an address in it, in one number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Key(u64);

impl Key {
    /// The key of an address in a VLAN.
    #[inline]
    #[must_use]
    pub const fn new(vid: Vid, mac: Mac) -> Self {
        Self::from_parts(vid, mac.to_u64())
    }

    /// The same, for an address that is a number below 2^48 already.
    #[inline]
    pub(super) const fn from_parts(vid: Vid, mac: u64) -> Self {
        Self((vid.get() as u64) << 48 | mac)
    }
}

impl Fdb {
    /// An empty table for `size` addresses (rounded up to a power of two) that live for `ageing`.
    #[must_use]
    pub fn new(size: usize, ageing: Duration) -> Self {
        let capacity = size.max(8).next_power_of_two();
        let slots = capacity * 2;
        let sweep_every = Duration::from_picos((ageing.as_picos() / SWEEPS).max(1));
        Self {
            slots: vec![Slot { key: EMPTY, seen_port: 0 }; slots],
            shift: 64 - slots.trailing_zeros(),
            capacity,
            used: 0,
            full: 0,
            ageing: ageing.as_picos() >> AGE_SHIFT,
            sweep_at: Instant::ZERO.saturating_add(sweep_every),
            sweep_every,
            sweep_from: 0,
            fresh: (ageing.as_picos() / SWEEPS) >> AGE_SHIFT,
            version: 0,
        }
    }

    /// Changes whenever a lookup may give something else than before, time aside.
    #[inline]
    pub(super) const fn version(&self) -> u32 {
        self.version
    }

    /// Makes what was derived from lookups until now void.
    pub(super) const fn invalidate(&mut self) {
        self.version = self.version.wrapping_add(1);
    }

    /// For tests: nothing that is derived from a lookup holds for any time at all.
    #[cfg(test)]
    pub(super) const fn without_freshness(&mut self) {
        self.sweep_every = Duration::ZERO;
    }

    /// How long what was derived from a lookup may be used without asking again.
    pub(super) const fn fresh_for(&self) -> Duration {
        self.sweep_every
    }

    /// How many addresses are known.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.used
    }

    /// Whether no address is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// How often an address could not be learnt because the table was full.
    #[must_use]
    pub const fn refused(&self) -> u64 {
        self.full
    }

    /// Where a key's probe sequence starts (Fibonacci hashing, Knuth 6.4: the upper bits of the
    /// product depend on all bits of the key).
    #[inline]
    const fn home(&self, key: u64) -> usize {
        ((key & !STATIC).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }

    /// The slot of a key, or the empty slot where it would go.
    #[inline]
    fn probe(&self, key: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = self.home(key);
        loop {
            let found = self.slots[at].key & !STATIC;
            if found == key || found == EMPTY {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    #[inline]
    const fn aged(&self, slot: Slot, now: u64) -> bool {
        slot.key & STATIC == 0 && now.saturating_sub(slot.seen_port >> 16) >= self.ageing
    }

    /// The port an address is behind.
    #[inline]
    #[must_use]
    pub fn lookup(&self, now: Instant, key: Key) -> Option<PortId> {
        let slot = self.slots[self.probe(key.0)];
        if slot.key == EMPTY || self.aged(slot, now.as_picos() >> AGE_SHIFT) {
            return None;
        }
        PortId::new(slot.seen_port as u16)
    }

    /// Takes note that a frame from an address came in by `port`.
    #[inline]
    pub fn learn(&mut self, now: Instant, key: Key, port: PortId) -> Learnt {
        let now = now.as_picos() >> AGE_SHIFT;
        let wanted = now << 16 | u64::from(port.get());
        let at = self.probe(key.0);
        let slot = self.slots[at];
        let old = now.saturating_sub(slot.seen_port >> 16);
        if slot.key != EMPTY && slot.seen_port as u16 == port.get() && old <= self.fresh {
            return Learnt::Known;
        }
        self.learn_slow(at, key.0, now, wanted)
    }

    /// The part of learning that writes.
    #[cold]
    fn learn_slow(&mut self, at: usize, key: u64, now: u64, wanted: u64) -> Learnt {
        let slot = self.slots[at];
        if slot.key & STATIC != 0 {
            return Learnt::Refused;
        }
        if slot.key == EMPTY {
            if self.used == self.capacity {
                self.full += 1;
                return Learnt::Refused;
            }
            self.used += 1;
            self.invalidate();
            self.slots[at] = Slot { key, seen_port: wanted };
            return Learnt::News;
        }
        let moved = slot.seen_port as u16 != wanted as u16;
        // Others keep their own copy, which must hear of the address before it ages there.
        let part = self.ageing / 4;
        let stale = now / part.max(1) != (slot.seen_port >> 16) / part.max(1);
        self.slots[at].seen_port = wanted;
        if moved {
            self.invalidate();
        }
        if moved || stale { Learnt::News } else { Learnt::Known }
    }

    /// Adds a static entry. False when the table is full.
    #[must_use]
    pub fn add_static(&mut self, Key(key): Key, port: PortId) -> bool {
        let at = self.probe(key);
        if self.slots[at].key == EMPTY {
            if self.used == self.capacity {
                return false;
            }
            self.used += 1;
        }
        self.invalidate();
        self.slots[at] = Slot { key: key | STATIC, seen_port: u64::from(port.get()) };
        true
    }

    /// Forgets the learnt addresses of `port`, or of all ports.
    pub fn flush(&mut self, port: Option<PortId>) {
        self.retain(0, self.slots.len(), |slot| {
            slot.key & STATIC != 0 || port.is_some_and(|p| slot.seen_port as u16 != p.get())
        });
    }

    /// When `sweep` has work to do.
    #[inline]
    #[must_use]
    pub const fn next_deadline(&self) -> Instant {
        self.sweep_at
    }

    /// Frees the aged entries of the next part of the table.
    pub fn sweep(&mut self, now: Instant) {
        if now < self.sweep_at {
            return;
        }
        self.sweep_at = now.saturating_add(self.sweep_every);
        let part = self.slots.len().div_ceil(SWEEPS as usize);
        let from = self.sweep_from;
        let to = (from + part).min(self.slots.len());
        self.sweep_from = if to == self.slots.len() { 0 } else { to };
        let (now, ageing) = (now.as_picos() >> AGE_SHIFT, self.ageing);
        self.retain(from, to, |slot| {
            slot.key & STATIC != 0 || now.saturating_sub(slot.seen_port >> 16) < ageing
        });
    }

    /// Deletes the entries of a range of slots that `keep` does not want.
    fn retain(&mut self, from: usize, to: usize, keep: impl Fn(&Slot) -> bool) {
        let mut at = from;
        while at < to {
            let slot = self.slots[at];
            if slot.key != EMPTY && !keep(&slot) {
                // Deleting may pull a later entry into this slot, so it is looked at again.
                self.delete(at);
            } else {
                at += 1;
            }
        }
    }

    /// Empties a slot and closes the gap, so that no probe sequence is cut (Knuth 6.4, R).
    fn delete(&mut self, mut hole: usize) {
        let mask = self.slots.len() - 1;
        let mut at = hole;
        self.used -= 1;
        self.invalidate();
        loop {
            at = (at + 1) & mask;
            let slot = self.slots[at];
            if slot.key == EMPTY {
                break;
            }
            let home = self.home(slot.key);
            // It may move when its home is not strictly between the hole and where it is.
            if (at.wrapping_sub(home) & mask) >= (at.wrapping_sub(hole) & mask) {
                self.slots[hole] = slot;
                hole = at;
            }
        }
        self.slots[hole] = Slot { key: EMPTY, seen_port: 0 };
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    fn mac(n: u16) -> Mac {
        let [a, b] = n.to_be_bytes();
        Mac([2, 0, 0, 0, a, b])
    }

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn k(n: u16) -> Key {
        Key::new(Vid::MIN, mac(n))
    }

    #[test]
    fn addresses_are_learnt_move_and_age() {
        let mut fdb = Fdb::new(64, Duration::from_secs(300));
        let (p0, p1) = (PortId::new(0).unwrap(), PortId::new(1).unwrap());
        assert_eq!(fdb.lookup(at(0), k(1)), None);
        assert_eq!(fdb.learn(at(0), k(1), p0), Learnt::News);
        assert_eq!(fdb.learn(at(0), k(1), p0), Learnt::Known);
        assert_eq!(fdb.lookup(at(1), k(1)), Some(p0));
        assert_eq!(fdb.learn(at(2), k(1), p1), Learnt::News);
        assert_eq!(fdb.lookup(at(3), k(1)), Some(p1));
        assert_eq!(fdb.lookup(at(299_000), k(1)), Some(p1));
        assert_eq!(fdb.lookup(at(301_000), k(1)), None);
        assert_eq!(fdb.lookup(at(3), Key::new(Vid::MAX, mac(1))), None, "VLANs learn apart");
    }

    #[test]
    fn static_entries_neither_move_nor_age() {
        let mut fdb = Fdb::new(8, Duration::from_secs(1));
        let (p0, p1) = (PortId::new(0).unwrap(), PortId::new(1).unwrap());
        assert!(fdb.add_static(k(1), p0));
        assert_eq!(fdb.learn(at(0), k(1), p1), Learnt::Refused);
        fdb.flush(None);
        assert_eq!(fdb.lookup(at(100_000), k(1)), Some(p0));
    }

    #[test]
    fn a_full_table_refuses_and_counts() {
        let mut fdb = Fdb::new(8, Duration::from_secs(300));
        let port = PortId::new(0).unwrap();
        for n in 0..20 {
            let _ = fdb.learn(at(0), k(n), port);
        }
        assert_eq!((fdb.len(), fdb.refused()), (8, 12));
        // Aged entries make room once the sweep has come round.
        for n in 0..=SWEEPS {
            fdb.sweep(at(300_000 + n * 5_000));
        }
        assert_eq!(fdb.len(), 0);
        assert_eq!(fdb.learn(at(700_000), k(99), port), Learnt::News);
    }

    proptest! {
        /// The table agrees with a map under any sequence of learning, flushing and sweeping.
        #[test]
        fn it_is_a_map_with_ages(ops in prop::collection::vec((0u8..8, 0u16..40, 0u16..4), 1..300)) {
            let ageing = Duration::from_millis(64);
            let mut fdb = Fdb::new(16, ageing);
            let mut model: HashMap<u16, (u16, u64)> = HashMap::new();
            let mut ms = 0;
            for (op, n, p) in ops {
                ms += u64::from(op);
                let port = PortId::new(p).unwrap();
                match op {
                    0 => { fdb.flush(Some(port)); model.retain(|_, v| v.0 != p); }
                    1 => fdb.sweep(at(ms)),
                    _ => if fdb.learn(at(ms), k(n), port) != Learnt::Refused {
                        model.insert(n, (p, ms));
                    },
                }
                for n in 0..40 {
                    let known = model.get(&n).filter(|(_, seen)| ms - seen < 63).map(|v| v.0);
                    let got = fdb.lookup(at(ms), k(n)).map(PortId::get);
                    // Ages are kept in coarse units, so the last millisecond is either.
                    if model.get(&n).is_none_or(|(_, seen)| (ms - seen).abs_diff(64) > 1) {
                        prop_assert_eq!(got, known, "address {} at {} ms", n, ms);
                    }
                }
            }
        }
    }
}
