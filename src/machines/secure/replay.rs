//! Replay protection of an association (802.1AE 10.6.2, 10.6.5).
//!
//! The standard has only the lowest acceptable packet number: within its window a frame may arrive
//! any number of times. Here a number is accepted once, within the last [`REACH_MAX`].

use core::cmp::Ordering;

/// Maximum number of packet numbers that are recorded individually; those of a wider window that
/// are further back are accepted repeatedly, which the standard allows within the whole window.
const REACH_MAX: u64 = 1 << 16;

/// Result for a packet number, if the frame is valid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Age {
    /// Accepted.
    Fresh,
    /// Below the lowest acceptable number, with replay protection off.
    Delayed,
    /// Below the lowest acceptable number.
    Late,
    /// Received before.
    Replayed,
}

/// Replay window of one association.
#[derive(Debug)]
pub(super) struct Window {
    /// Maximum distance behind the next number; `None` without replay protection.
    size: Option<u64>,
    /// Lowest number that was ever acceptable.
    floor: u64,
    /// Highest accepted number; numbers below the first floor count as accepted.
    highest: u64,
    /// Highest accepted number of a MAC control frame.
    control: u64,
    /// A bit for each of the latest numbers, by number modulo their count. A whole word is cleared
    /// when its first number is reached, so one word less is usable. Empty for a window of 0.
    accepted: Box<[u64]>,
}

impl Window {
    /// Creates a window whose lowest acceptable number is `lowest`, at least 1.
    pub(super) fn new(size: Option<u32>, lowest: u64) -> Self {
        let size = size.map(u64::from);
        let words = match size {
            // Without protection, and in strict order, the highest number alone decides.
            None | Some(0) => 0,
            Some(size) => (size.min(REACH_MAX).div_ceil(64) + 1).next_power_of_two(),
        };
        let accepted = vec![0; words as usize].into();
        Self { size, floor: lowest, highest: lowest - 1, control: lowest - 1, accepted }
    }

    /// Returns the lowest acceptable number.
    #[inline]
    pub(super) fn lowest(&self) -> u64 {
        let next = self.highest.saturating_add(1);
        self.floor.max(next.saturating_sub(self.size.unwrap_or(0)))
    }

    /// Returns the number after the highest accepted one; `None` after the last.
    pub(super) const fn next(&self) -> Option<u64> {
        self.highest.checked_add(1)
    }

    /// Raises the lowest acceptable number to `lowest`, if that is higher.
    pub(super) fn raise(&mut self, lowest: u64) {
        self.floor = self.floor.max(lowest);
        // A MAC control frame below the new floor is late, too.
        self.control = self.control.max(self.floor - 1);
        if self.floor > self.highest {
            self.advance(self.floor - 1);
        }
    }

    /// Recovers a packet number from its lower half: the upper half is that of the lowest
    /// acceptable number, or the next if the halves' top bits show that the lower one wrapped
    /// (10.6.2). After the last number the result wraps to the start, which is late.
    #[inline]
    pub(super) fn recover(&self, low: u32) -> u64 {
        const TOP: u32 = 1 << 31;
        let lowest = self.lowest();
        let round = lowest as u32 & TOP != 0 && low & TOP == 0;
        let upper = ((lowest >> 32) as u32).wrapping_add(u32::from(round));
        u64::from(upper) << 32 | u64::from(low)
    }

    /// Classifies a valid data frame.
    #[inline]
    pub(super) fn age(&self, pn: u64) -> Age {
        if pn > self.highest {
            return Age::Fresh;
        }
        // Without replay protection an old frame is delivered, and counted (InPktsDelayed).
        if self.size.is_none() {
            return Age::Delayed;
        }
        if pn < self.lowest() {
            return Age::Late;
        }
        // The highest is acceptable with a window of at least 1, or without a number after it.
        let again = pn == self.highest || self.remembers(pn) && self.bit(pn);
        if again { Age::Replayed } else { Age::Fresh }
    }

    /// Classifies a valid MAC control frame: each must be later than the last.
    #[inline]
    pub(super) fn control_age(&self, pn: u64) -> Age {
        match pn.cmp(&self.control) {
            Ordering::Greater => self.age(pn),
            Ordering::Equal => Age::Replayed,
            Ordering::Less => Age::Late,
        }
    }

    /// Records the number of an accepted frame.
    #[inline]
    pub(super) fn take(&mut self, pn: u64) {
        if pn > self.highest {
            self.advance(pn);
        }
        if self.remembers(pn) {
            let word = self.word(pn);
            self.accepted[word] |= 1 << (pn % 64);
        }
    }

    /// Records the number of an accepted MAC control frame.
    #[inline]
    pub(super) fn take_control(&mut self, pn: u64) {
        self.control = pn;
        self.take(pn);
    }

    /// Moves the highest number up to `pn`, and clears the bits of the numbers that leave the
    /// record.
    #[inline]
    fn advance(&mut self, pn: u64) {
        if !self.accepted.is_empty() {
            let entered = pn / 64 - self.highest / 64;
            // Words that are entered hold bits of numbers a whole record ago.
            for back in 0..entered.min(self.accepted.len() as u64) {
                let word = self.word(pn - 64 * back);
                self.accepted[word] = 0;
            }
        }
        self.highest = pn;
    }

    /// Returns true if `pn`, which is not above the highest, still has a bit.
    #[inline]
    fn remembers(&self, pn: u64) -> bool {
        self.highest / 64 - pn / 64 < self.accepted.len() as u64
    }

    #[inline]
    fn bit(&self, pn: u64) -> bool {
        self.accepted[self.word(pn)] & 1 << (pn % 64) != 0
    }

    /// Returns the word with the bit of `pn`: the number of words is a power of two.
    #[inline]
    fn word(&self, pn: u64) -> usize {
        (pn / 64) as usize & (self.accepted.len() - 1)
    }
}
