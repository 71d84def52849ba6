//! One priority group (its counters, its limits, its XOFF and XON decisions), the receipt for the
//! space of a frame in it, and the conversion of bytes to cells without a division.

use core::fmt;
use core::num::NonZeroU64;

use super::{GroupKind, GroupPlan, SharedLimit};
use ground::units::{Cells, PRIORITIES, PortId, PriorityGroup};

/// A change of a lossless group's pause state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Crossing {
    /// The group reached its limit: pause its senders.
    Xoff,
    /// The group is far enough below its limit: resume its senders.
    Xon,
}

/// Occupancy of one group.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GroupUsage {
    /// Reserved and shared cells in use.
    pub used: Cells,
    /// The shared part of `used`.
    pub shared: Cells,
    /// Headroom cells in use.
    pub headroom: Cells,
    /// Maximum of cells ever in use, headroom included.
    pub peak: Cells,
    /// Maximum of headroom cells ever in use.
    pub headroom_peak: Cells,
    /// True if its senders are to be paused.
    pub xoff: bool,
}

/// Counters and limits of one group, aligned to one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Group {
    pub(super) used: u32,
    pub(super) headroom: u32,
    pub(super) reserved: u32,
    /// 0 for a lossy group.
    pub(super) headroom_size: u32,
    pub(super) limit: Limit,
    pub(super) xon: u32,
    pub(super) xon_offset: u32,
    pub(super) peak: u32,
    pub(super) headroom_peak: u32,
    pub(super) lossless: bool,
    pub(super) xoff: bool,
}

const _: () = assert!(size_of::<Group>() == 64, "a group must not spill into a second line");

/// A [`SharedLimit`] in a form that is calculated without a branch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit {
    /// The static limit, else `u32::MAX`.
    cap: u32,
    /// All ones if the limit is relative to the maximum that the group could reach (its shared part
    /// and all free cells), 0 if it is relative to the free cells (dynamic).
    own: u32,
    /// The dynamic exponent, as two shifts.
    up: u8,
    down: u8,
}

impl Limit {
    const fn new(limit: SharedLimit) -> Self {
        match limit {
            SharedLimit::Static(Cells(cap)) => Self { cap, own: u32::MAX, up: 0, down: 0 },
            SharedLimit::Unlimited => Self { cap: u32::MAX, own: u32::MAX, up: 0, down: 0 },
            SharedLimit::Dynamic(alpha) => {
                let n = alpha.exponent();
                // Both shifts are done for every frame, one of them by 0, so that no branch depends on the plan.
                let (up, down) = if n < 0 { (0, n.unsigned_abs()) } else { (n.unsigned_abs(), 0) };
                Self { cap: u32::MAX, own: 0, up, down }
            }
        }
    }

    /// Returns the limit of a group with `shared` cells of the pool while `free` are free.
    #[inline]
    pub(super) const fn now(self, shared: u32, free: u32) -> u32 {
        // A group without a dynamic limit can reach its own shared cells and all free ones; the cap follows below.
        let base = (free + (shared & self.own)) as u64;
        // Alpha is at most 2^8 and `base` below 2^32, so nothing is shifted out.
        let n = (base << self.up) >> self.down;
        if n < self.cap as u64 { n as u32 } else { self.cap }
    }
}

impl Group {
    pub(super) const fn new(plan: &GroupPlan) -> Self {
        let (headroom_size, xon, xon_offset, lossless) = match plan.kind {
            GroupKind::Lossy => (0, 0, 0, false),
            GroupKind::Lossless { headroom, xon, xon_offset } => {
                (headroom.0, xon.0, xon_offset.0, true)
            }
        };
        Self {
            used: 0,
            headroom: 0,
            reserved: plan.reserved.0,
            headroom_size,
            limit: Limit::new(plan.limit),
            xon,
            xon_offset,
            peak: 0,
            headroom_peak: 0,
            lossless,
            xoff: false,
        }
    }

    #[inline]
    pub(super) const fn shared(&self) -> u32 {
        // The reserved cells are used first, so what is above them is shared.
        self.used.saturating_sub(self.reserved)
    }

    /// Changes to XOFF or XON if the counters require it; `free` is the number of free cells in the
    /// pool.
    ///
    /// XOFF is also sent when the shared part is exactly at the limit, before a frame must go to
    /// headroom; but never within the reserved part, which belongs to the group even if the pool is
    /// full.
    #[inline]
    pub(super) const fn turn(&mut self, free: u32) -> Option<Crossing> {
        let shared = self.shared();
        // A dynamic limit falls with each admission, because the pool has fewer free cells.
        let limit = self.limit.now(shared, free);
        if self.xoff {
            if self.may_resume(shared, limit) {
                self.xoff = false;
                return Some(Crossing::Xon);
            }
        } else if self.lossless
            && (self.headroom > 0
                || (self.used > 0 && self.used >= self.reserved && shared >= limit))
        {
            self.xoff = true;
            return Some(Crossing::Xoff);
        }
        None
    }

    /// Applies SAI's rule: no headroom in use, and the shared part at or below `xon_th`, or
    /// `xon_offset_th` below the limit. The threshold is never below 0, so a group without shared
    /// cells resumes even if the pool is full: it may have no cells left to release.
    #[inline]
    const fn may_resume(&self, shared: u32, limit: u32) -> bool {
        // XON at or below max(xon_th, limit - xon_offset), as in saibuffer.h.
        let below_limit = limit.saturating_sub(self.xon_offset);
        let threshold = if self.xon > below_limit { self.xon } else { below_limit };
        // A group that a change made lossy resumes at once: nothing else would end the pause of its senders.
        !self.lossless || (self.headroom == 0 && shared <= threshold)
    }

    #[inline]
    pub(super) fn note_peaks(&mut self) {
        self.peak = self.peak.max(self.used + self.headroom);
        self.headroom_peak = self.headroom_peak.max(self.headroom);
    }
}

/// Receipt for a frame's buffer space: neither Clone nor Copy, created by admission alone and
/// consumed by release. Only the `buffer` crate can create or open one.
///
/// It is one word, since each step of a frame's way stores it and the next one reads it: a processor that
/// reads several fresh small stores as one waits until all of them are in its cache.
#[derive(PartialEq, Eq)]
#[must_use = "buffer space that is never released is lost to its group"]
pub struct Charge(NonZeroU64);

// From the lowest bit: cells (32 bits), port (16), group (8); the highest bit is set.
const PORT: u32 = 32;
const GROUP: u32 = 48;
const SET: NonZeroU64 = NonZeroU64::new(1 << 63).unwrap();

impl Charge {
    #[inline(always)]
    pub(super) fn new(port: PortId, group: PriorityGroup, cells: Cells) -> Self {
        let group = u64::from(group.get()) << GROUP;
        Self(SET | group | u64::from(port.get()) << PORT | u64::from(cells.0))
    }

    /// Returns the ingress port and group charged, and the cells.
    #[inline(always)]
    pub(super) fn open(self) -> (PortId, PriorityGroup, Cells) {
        let port = PortId::new(self.port()).expect("a charge is made with a PortId");
        (port, self.group(), self.cells())
    }

    /// Index of its group among those of a ledger.
    #[inline(always)]
    pub(super) fn index(&self) -> usize {
        usize::from(self.port()) * PRIORITIES + usize::from(self.group_number())
    }

    #[inline(always)]
    const fn port(&self) -> u16 {
        (self.0.get() >> PORT) as u16
    }

    #[inline(always)]
    const fn group_number(&self) -> u8 {
        (self.0.get() >> GROUP) as u8
    }

    #[inline(always)]
    pub(super) const fn cells(&self) -> Cells {
        Cells(self.0.get() as u32)
    }

    /// Adds another receipt of the same group to this one, so that both are released together.
    ///
    /// # Errors
    /// The other receipt, if it is for another group.
    #[inline]
    pub fn join(&mut self, other: Self) -> Result<(), Self> {
        // Above the cells are port, group and the highest bit: equal for receipts of one group alone.
        if (self.0.get() ^ other.0.get()) >> PORT != 0 {
            return Err(other);
        }
        // Both are of one buffer, which has at most MAX_CELLS, so the sum fits.
        self.set_cells(self.cells().0 + other.cells().0);
        Ok(())
    }

    /// Splits `cells` off into another receipt, for a part that is released later.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn split(&mut self, cells: u32) -> Self {
        let left = self.cells().0.checked_sub(cells).expect("a part is no larger than the whole");
        let mut part = Self(self.0);
        part.set_cells(cells);
        self.set_cells(left);
        part
    }

    #[inline(always)]
    fn set_cells(&mut self, cells: u32) {
        // Clears the cells and keeps the rest, with the highest bit that makes the word non-zero.
        let place = self.0.get() >> PORT << PORT;
        self.0 = SET | place | u64::from(cells);
    }

    /// Returns the ingress group charged.
    #[inline]
    #[must_use]
    pub fn group(&self) -> PriorityGroup {
        PriorityGroup::new(self.group_number()).expect("a charge is made with a PriorityGroup")
    }
}

impl fmt::Debug for Charge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of {:?} at port {}", self.cells(), self.group(), self.port())
    }
}

/// Divides by a cell size that is fixed at start, rounding up: one multiplication per frame.
///
/// `ceil(len / cell) = floor(n / cell)` with `n = len + cell - 1`. With `m = ceil(2^63 / cell)` and
/// `e = m * cell - 2^63 < cell`, `floor(n * m / 2^63)` is exact while `n * e < 2^63`; here
/// `n < 2^33` and `e < 2^17`, so it is exact for every `u32` length.
#[derive(Clone, Copy, Debug)]
pub(super) struct CellSize {
    reciprocal: u64,
    bytes: u32,
}

impl CellSize {
    /// Maximum cell size in bytes.
    const MAX_BYTES: u32 = 1 << 16;

    /// Creates a cell size of 1 to [`Self::MAX_BYTES`] bytes; `None` for any other size.
    pub(super) const fn new(bytes: u32) -> Option<Self> {
        if bytes == 0 || bytes > Self::MAX_BYTES {
            return None;
        }
        Some(Self { reciprocal: (1_u64 << 63).div_ceil(bytes as u64), bytes })
    }

    /// Returns the bytes per cell.
    pub(super) const fn bytes(self) -> u32 {
        self.bytes
    }

    /// Returns the cells of a frame of `len` bytes, at least one.
    #[inline]
    pub(super) const fn cells_for(self, len: u32) -> u32 {
        let len = if len == 0 { 1 } else { len };
        let n = len as u64 + self.bytes as u64 - 1;
        // Doubling `n` replaces the shift by 63 with taking the upper half of the product.
        (((2 * n) as u128 * self.reciprocal as u128) >> 64) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_out_of_range_are_refused() {
        assert!(CellSize::new(0).is_none() && CellSize::new(CellSize::MAX_BYTES + 1).is_none());
    }

    #[test]
    fn every_frame_length_is_exact() {
        for bytes in [1, 2, 3, 7, 64, 80, 96, 144, 176, 192, 208, 254, 256, 1248, 65_535, 65_536] {
            let cell = CellSize::new(bytes).unwrap();
            for len in 1..=65_535 {
                assert_eq!(cell.cells_for(len), len.div_ceil(bytes), "{len} B in {bytes} B cells");
            }
            assert_eq!(cell.cells_for(0), 1);
        }
    }

    proptest! {
        #[test]
        fn every_length_is_exact(bytes in 1..=CellSize::MAX_BYTES, len in 1..=u32::MAX) {
            let cell = CellSize::new(bytes).unwrap();
            prop_assert_eq!(cell.cells_for(len), len.div_ceil(bytes));
            let whole = (len / bytes) * bytes;
            prop_assert_eq!(cell.cells_for(whole.max(1)), whole.max(1).div_ceil(bytes));
        }
    }
}
