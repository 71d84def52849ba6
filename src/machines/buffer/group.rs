//! One priority group: its counters, its limits, and its XOFF and XON decisions.

use super::{GroupKind, GroupPlan, SharedLimit};
use ground::units::Cells;

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
                let (up, down) = if n < 0 { (0, n.unsigned_abs()) } else { (n.unsigned_abs(), 0) };
                Self { cap: u32::MAX, own: 0, up, down }
            }
        }
    }

    /// Returns the limit of a group with `shared` cells of the pool while `free` are free.
    #[inline]
    pub(super) const fn now(self, shared: u32, free: u32) -> u32 {
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
        let below_limit = limit.saturating_sub(self.xon_offset);
        let threshold = if self.xon > below_limit { self.xon } else { below_limit };
        !self.lossless || (self.headroom == 0 && shared <= threshold)
    }

    #[inline]
    pub(super) fn note_peaks(&mut self) {
        self.peak = self.peak.max(self.used + self.headroom);
        self.headroom_peak = self.headroom_peak.max(self.headroom);
    }
}
