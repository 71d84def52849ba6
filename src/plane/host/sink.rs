//! Reception of one flow: each frame counted once, with its order and its latency.
//!
//! Nearly every frame is the next one of its flow. The fields that such a frame changes lie in two neighbouring
//! cache lines and one counter of the histogram; the bits of received numbers are written only when a
//! frame is missing.

use core::mem::offset_of;

use super::histogram::{Bucket, Spares};
use super::latency::Latency;
use super::plan::FlowId;
use super::probe::{Arrival, Clock, Stamp};
use super::stream::Damage;
use ground::memory::fetch_lines;
use ground::time::Instant;
use ground::units::{Priority, PrioritySet};
use wire::ip::Ecn;

/// Number of frames behind the newest one within which a late frame is distinguished from a
/// duplicate. A choice; 512 bytes per flow.
pub const WINDOW: u64 = 4096;

/// Counters of a received flow.
// The fields that the next frame of a flow changes stand first.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct SinkCounters {
    /// Time from the sender's port to the sink's.
    pub latency: Latency,
    /// Received frames, duplicates excluded.
    pub frames: u64,
    /// Received bytes, FCS included.
    pub bytes: u64,
    /// Sending time of the first received frame, on the sender's clock.
    pub first_sent: Option<Instant>,
    /// Arrival of the last frame that was not a duplicate. With the first this gives the duration
    /// of an unacknowledged message.
    pub last_arrival: Option<Instant>,
    pub id: FlowId,
    pub duplicates: u64,
    /// Frames received after one that was sent later (RFC 4737 3.3).
    pub reordered: u64,
    /// Frames among the reordered that came more than [`WINDOW`] frames late; they count as
    /// received though they may be duplicates.
    pub stale: u64,
    /// Frames from before the last reset. They are in no other counter.
    pub old: u64,
    /// Frames that arrived otherwise than they were sent: cut, or with other bytes. They are in no other
    /// counter. Only streams of a traffic generator are compared ([`MeterPlan::compared`]).
    ///
    /// [`MeterPlan::compared`]: crate::plan::stream::MeterPlan::compared
    pub damaged: u64,
    /// What differed in the first of these.
    pub damage: Option<Damage>,
    /// Frames that arrived with CE set.
    pub ce_marked: u64,
    /// Frames whose sending time was ahead of the sink's clock. They have no latency.
    pub ahead: u64,
    /// Arrival of the first frame.
    pub first_arrival: Option<Instant>,
}

/// The receiving end of one flow.
#[derive(Clone, Debug)]
#[repr(C, align(128))]
pub(super) struct Sink {
    /// Highest received sequence number plus one.
    next: u64,
    /// The priority whose pauses must stop the flow; empty if it is not known.
    stopped_by: PrioritySet,
    counters: SinkCounters,
    /// Lower sequence numbers are from before the last reset.
    floor: u64,
    /// All numbers from here up to `next` were received; they have no bits.
    whole: u64,
    /// Bit n % WINDOW: set if n was received, for n from `next - WINDOW` to `whole - 1`.
    received: Box<[u64; WORDS]>,
}

/// A received frame as its sink counts it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counted {
    pub(super) sequence: u64,
    pub(super) sent: Stamp,
    /// Bytes on the wire, FCS included.
    pub(super) wire_len: u32,
    pub(super) ecn: Ecn,
}

impl Counted {
    #[inline(always)]
    pub(super) const fn new(arrival: &Arrival, wire_len: u32) -> Self {
        let Arrival { probe, ecn } = *arrival;
        Self { sequence: probe.sequence, sent: probe.sent, wire_len, ecn }
    }
}

/// Words of the bits of a window.
const WORDS: usize = (WINDOW / 64) as usize;

// The fields that the next frame of a flow changes are in the first two cache lines.
const _: () = assert!(offset_of!(Sink, counters) + offset_of!(SinkCounters, id) <= 128);

/// Returns the word and mask of a sequence number's bit.
const fn bit(sequence: u64) -> (usize, u64) {
    ((sequence % WINDOW / 64) as usize, 1 << (sequence % 64))
}

impl Sink {
    /// Creates an empty sink.
    pub(super) fn new(id: FlowId, priority: Option<Priority>, spares: &Spares) -> Self {
        let counters = SinkCounters {
            latency: Latency::sparse(spares),
            frames: 0,
            bytes: 0,
            first_sent: None,
            last_arrival: None,
            id,
            duplicates: 0,
            reordered: 0,
            stale: 0,
            old: 0,
            damaged: 0,
            damage: None,
            ce_marked: 0,
            ahead: 0,
            first_arrival: None,
        };
        // As a set, which the loop over a burst combines with others.
        let stopped_by = priority.map_or(PrioritySet::EMPTY, PrioritySet::of);
        Self { next: 0, stopped_by, counters, floor: 0, whole: 0, received: Box::new([0; WORDS]) }
    }

    /// Brings what the next frame changes into the caches.
    #[inline]
    pub(super) fn fetch(&self) {
        fetch_lines(&self.next, 2);
    }

    /// Resets the counters. Sequence numbers stay known: late frames from before count as old.
    pub(super) fn clear(&mut self) {
        let c = &mut self.counters;
        (c.frames, c.bytes, c.duplicates, c.reordered) = (0, 0, 0, 0);
        (c.stale, c.old, c.ce_marked, c.ahead) = (0, 0, 0, 0);
        (c.damaged, c.damage) = (0, None);
        (c.first_sent, c.first_arrival, c.last_arrival) = (None, None, None);
        c.latency.clear();
        // Frames in flight belong to the time before.
        self.floor = self.next;
    }

    /// Returns the priority whose pauses must stop the flow.
    #[inline]
    pub(super) fn priority(&self) -> Option<Priority> {
        self.stopped_by.iter().next()
    }

    /// Returns the same as a set.
    #[inline(always)]
    pub(super) const fn stopped_by(&self) -> PrioritySet {
        self.stopped_by
    }

    pub(super) const fn counters(&self) -> &SinkCounters {
        &self.counters
    }

    /// Counts a frame of this flow.
    #[inline]
    pub(super) fn take(&mut self, now: Instant, arrived: &Counted) {
        if let Some(bucket) = self.take_next(&Clock::new(now), arrived) {
            self.put(bucket);
        }
    }

    /// Counts a frame of this flow, except in its histogram: the caller passes the bucket to
    /// [`Self::put`] before anything else reads the counters. `None` if the frame is in it, or has no
    /// latency.
    #[inline(always)]
    pub(super) fn take_next(&mut self, clock: &Clock, arrived: &Counted) -> Option<Bucket> {
        let age = arrived.sent.usual_age(clock);
        // The first frame has no predecessor, and one that is ahead of the clock has no latency: both are rare.
        let (Some(age), true) = (age, arrived.sequence == self.next && self.counters.frames > 0)
        else {
            self.take_any(clock.at, arrived);
            return None;
        };
        // The next one of its flow: no number is skipped, and some frame was the first.
        self.next += 1;
        let c = &mut self.counters;
        c.frames += 1;
        c.bytes += u64::from(arrived.wire_len);
        // A branch instead of an addition: without ECN it writes nothing.
        if arrived.ecn == Ecn::Ce {
            c.ce_marked += 1;
        }
        // An age is not longer than the time since the start of the world.
        let sent = clock.at.as_picos().wrapping_sub(age.as_picos().into());
        let sent = Instant::from_picos(sent);
        if c.first_sent.is_none_or(|first| sent < first) {
            c.first_sent = Some(sent);
        }
        c.last_arrival = Some(clock.at);
        Some(c.latency.note(age))
    }

    /// Counts a frame in the bucket that [`Self::take_next`] returned.
    #[inline(always)]
    pub(super) fn put(&mut self, bucket: Bucket) {
        self.counters.latency.put(bucket);
    }

    /// Counts a frame in any order, and of any time.
    #[inline(never)]
    fn take_any(&mut self, now: Instant, arrived: &Counted) {
        if !self.is_new(arrived.sequence) {
            return;
        }
        let c = &mut self.counters;
        c.frames += 1;
        c.bytes += u64::from(arrived.wire_len);
        c.ce_marked += u64::from(arrived.ecn == Ecn::Ce);
        let sent = match arrived.sent.age(now) {
            Some(age) => {
                c.latency.record(age);
                now.saturating_sub(age)
            }
            None => {
                // The sender's clock is ahead: the frame counts, its latency does not.
                c.ahead += 1;
                arrived.sent.near(now)
            }
        };
        if c.first_sent.is_none_or(|first| sent < first) {
            c.first_sent = Some(sent);
        }
        if c.first_arrival.is_none() {
            c.first_arrival = Some(now);
        }
        c.last_arrival = Some(now);
    }

    /// Counts a frame that arrived otherwise than it was sent. Its numbers may be wrong, so nothing else is
    /// concluded from it, except that one from before the last reset is most likely old.
    pub(super) fn take_damaged(&mut self, sequence: u64, damage: Damage) {
        if sequence < self.floor {
            self.counters.old += 1;
            return;
        }
        self.counters.damaged += 1;
        self.counters.damage.get_or_insert(damage);
    }

    /// Returns true if this sequence number is new; counts it by its order, or as duplicate or old.
    fn is_new(&mut self, sequence: u64) -> bool {
        if sequence >= self.next {
            if sequence > self.next {
                self.skip_to(sequence);
            }
            self.next = sequence.saturating_add(1);
            return true;
        }
        if sequence < self.floor {
            self.counters.old += 1;
            return false;
        }
        // Too late to know if it is a duplicate. It counts as received, so that loss is not overstated.
        if self.next - sequence > WINDOW {
            self.counters.reordered += 1;
            self.counters.stale += 1;
            return true;
        }
        let (word, mask) = bit(sequence);
        // Every number from `whole` on was received, and has no bit.
        if sequence >= self.whole || self.received[word] & mask != 0 {
            self.counters.duplicates += 1;
            return false;
        }
        self.counters.reordered += 1;
        self.received[word] |= mask;
        true
    }

    /// Writes the bits of all numbers below `sequence`: those from `next` on were not received.
    fn skip_to(&mut self, sequence: u64) {
        // At most a window of numbers has bits.
        self.mark(self.whole.max(self.next.saturating_sub(WINDOW)), self.next, true);
        self.mark(self.next.max(sequence.saturating_sub(WINDOW - 1)), sequence, false);
        self.whole = sequence;
    }

    /// Sets or clears the bits of the numbers from `from` up to `to`, at most a window.
    fn mark(&mut self, from: u64, to: u64, received: bool) {
        let mut at = from;
        while at < to {
            // A word at a time, of which the first and the last may be cut.
            let n = (64 - at % 64).min(to - at);
            let mask = (u64::MAX >> (64 - n)) << (at % 64);
            let word = &mut self.received[bit(at).0];
            *word = if received { *word | mask } else { *word & !mask };
            at += n;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;
    use crate::probe::{MODULUS, Probe};

    fn take(sink: &mut Sink, sequence: u64) {
        let probe = Probe::new(FlowId(0), sequence, Instant::ZERO);
        let arrival = Arrival { probe, ecn: Ecn::NotEct };
        sink.take(Instant::from_picos(1_000), &Counted::new(&arrival, 64));
    }

    proptest! {
        #[test]
        fn every_sequence_number_counts_once_within_the_window(
            numbers in prop::collection::vec(0..WINDOW, 1..300)
        ) {
            let mut sink = Sink::new(FlowId(0), None, &Spares::new(1));
            let (mut seen, mut highest, mut reordered) = (HashSet::new(), None, 0);
            for n in &numbers {
                take(&mut sink, *n);
                reordered += u64::from(seen.insert(*n) && Some(*n) < highest);
                highest = highest.max(Some(*n));
            }
            let c = sink.counters();
            prop_assert_eq!(c.frames, seen.len() as u64);
            prop_assert_eq!(c.duplicates, (numbers.len() - seen.len()) as u64);
            prop_assert_eq!(c.reordered, reordered);
            prop_assert_eq!(c.stale, 0);
        }
    }

    #[test]
    fn a_gap_of_any_width_leaves_no_old_bit_behind() {
        let mut sink = Sink::new(FlowId(0), None, &Spares::new(1));
        for n in [0, 1, WINDOW + 1, WINDOW, 10 * WINDOW, MODULUS - 2, MODULUS - 1] {
            take(&mut sink, n);
        }
        assert_eq!((sink.counters().frames, sink.counters().duplicates), (7, 0));
        assert_eq!((sink.counters().reordered, sink.counters().stale), (1, 0));
        take(&mut sink, 5);
        assert_eq!((sink.counters().reordered, sink.counters().stale), (2, 1));
    }
}
