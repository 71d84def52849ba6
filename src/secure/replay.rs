//! Which packet numbers of an association are still acceptable (802.1AE 10.6.2, 10.6.5).
//!
//! The standard knows the lowest acceptable number alone: within its window a frame may arrive any
//! number of times. Here a number is accepted once, as far back as [`REACH_MAX`] goes.

use core::cmp::Ordering;

/// The most numbers that are remembered one by one; those of a wider window that are further back
/// pass as often as they come, which the standard allows in all of the window.
const REACH_MAX: u64 = 1 << 16;

/// What becomes of a frame with some packet number, if it is valid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Age {
    /// It is accepted.
    Fresh,
    /// It is below the lowest acceptable number and replay protection is off.
    Delayed,
    /// It is below the lowest acceptable number.
    Late,
    /// It came before.
    Replayed,
}

/// The window of one association.
#[derive(Debug)]
pub(super) struct Window {
    /// How far a number may be behind the next one; nothing without replay protection.
    size: Option<u64>,
    /// The lowest number that was ever acceptable.
    floor: u64,
    /// The highest that was accepted; what is below the first floor counts as that.
    highest: u64,
    /// The highest of a MAC control frame.
    control: u64,
    /// A bit for each of the latest numbers, by number modulo their count. A whole word is cleared when
    /// its first number is reached, so that one word less is remembered. Empty for a window of 0.
    seen: Box<[u64]>,
}

impl Window {
    /// A window whose lowest acceptable number is `lowest`, at least 1.
    pub(super) fn new(size: Option<u32>, lowest: u64) -> Self {
        let size = size.map(u64::from);
        let words = match size {
            None | Some(0) => 0,
            Some(size) => (size.min(REACH_MAX).div_ceil(64) + 1).next_power_of_two(),
        };
        let seen = vec![0; words as usize].into();
        Self { size, floor: lowest, highest: lowest - 1, control: lowest - 1, seen }
    }

    /// The lowest acceptable number.
    #[inline]
    pub(super) fn lowest(&self) -> u64 {
        let next = self.highest.saturating_add(1);
        self.floor.max(next.saturating_sub(self.size.unwrap_or(0)))
    }

    /// The number behind the highest that was accepted; nothing behind the last there is.
    pub(super) const fn next(&self) -> Option<u64> {
        self.highest.checked_add(1)
    }

    /// Lifts the lowest acceptable number to `lowest`, if that is higher.
    pub(super) fn raise(&mut self, lowest: u64) {
        self.floor = self.floor.max(lowest);
        self.control = self.control.max(self.floor - 1);
        if self.floor > self.highest {
            self.advance(self.floor - 1);
        }
    }

    /// The whole number whose lower half a frame carried: the upper half is that of the lowest acceptable
    /// number, or the next where the halves' top bits say that the lower one went round (10.6.2). Past
    /// the last number there is, that is one from the start, which is late.
    #[inline]
    pub(super) fn recover(&self, low: u32) -> u64 {
        const TOP: u32 = 1 << 31;
        let lowest = self.lowest();
        let round = lowest as u32 & TOP != 0 && low & TOP == 0;
        let upper = ((lowest >> 32) as u32).wrapping_add(u32::from(round));
        u64::from(upper) << 32 | u64::from(low)
    }

    /// What becomes of a valid frame of data.
    #[inline]
    pub(super) fn age(&self, pn: u64) -> Age {
        if pn > self.highest {
            return Age::Fresh;
        }
        if self.size.is_none() {
            return Age::Delayed;
        }
        if pn < self.lowest() {
            return Age::Late;
        }
        // The highest is acceptable below a window of at least 1, or where there is none behind it.
        let again = pn == self.highest || self.remembers(pn) && self.bit(pn);
        if again { Age::Replayed } else { Age::Fresh }
    }

    /// What becomes of a valid MAC control frame: each has to be younger than the last.
    #[inline]
    pub(super) fn control_age(&self, pn: u64) -> Age {
        match pn.cmp(&self.control) {
            Ordering::Greater => self.age(pn),
            Ordering::Equal => Age::Replayed,
            Ordering::Less => Age::Late,
        }
    }

    /// Notes the number of a frame that was accepted.
    #[inline]
    pub(super) fn take(&mut self, pn: u64) {
        if pn > self.highest {
            self.advance(pn);
        }
        if self.remembers(pn) {
            let at = self.word(pn);
            self.seen[at] |= 1 << (pn % 64);
        }
    }

    /// Notes the number of a MAC control frame that was accepted.
    #[inline]
    pub(super) fn take_control(&mut self, pn: u64) {
        self.control = pn;
        self.take(pn);
    }

    /// Moves the highest number up to `pn`, and forgets those that its place was taken from.
    #[inline]
    fn advance(&mut self, pn: u64) {
        if !self.seen.is_empty() {
            let entered = pn / 64 - self.highest / 64;
            for back in 0..entered.min(self.seen.len() as u64) {
                let at = self.word(pn - 64 * back);
                self.seen[at] = 0;
            }
        }
        self.highest = pn;
    }

    /// Whether `pn`, which is not above the highest, has a bit still.
    #[inline]
    fn remembers(&self, pn: u64) -> bool {
        self.highest / 64 - pn / 64 < self.seen.len() as u64
    }

    #[inline]
    fn bit(&self, pn: u64) -> bool {
        self.seen[self.word(pn)] & 1 << (pn % 64) != 0
    }

    /// Where `pn` has its bit: the words are a power of two in number.
    #[inline]
    fn word(&self, pn: u64) -> usize {
        (pn / 64) as usize & (self.seen.len() - 1)
    }
}
