//! What the shared-buffer ledger is told: sizes and limits, in cells, names as SAI has them.

use crate::units::{Cells, PRIORITIES};

/// The shared buffer of one switch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BufferPlan {
    /// Octets per cell, 1 to 65536. A frame takes whole cells. 1 accounts in octets.
    pub cell_bytes: u32,
    /// The whole buffer.
    pub total: Cells,
    /// The priority groups of each port.
    pub groups: Vec<[GroupPlan; PRIORITIES]>,
    /// Taken off the shared pool at start, so that what one worker does not yet know of the
    /// others can never eat headroom (see `runtime::exchange`). 0 for one worker.
    pub slack: Cells,
}

impl BufferPlan {
    /// The cells that a frame of `wire_len` octets (FCS included) takes, at least one.
    #[must_use]
    pub const fn cells_for(&self, wire_len: u32) -> Cells {
        Cells(if wire_len == 0 { 1 } else { wire_len.div_ceil(self.cell_bytes) })
    }
}

/// One ingress (port, priority group).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GroupPlan {
    /// Guaranteed to this group alone (`SAI_BUFFER_PROFILE_ATTR_RESERVED_BUFFER_SIZE`).
    pub reserved: Cells,
    /// How much of the shared pool it may use.
    pub limit: SharedLimit,
    /// What happens above the limit.
    pub kind: GroupKind,
}

/// What happens to a frame above the shared limit of its group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GroupKind {
    /// It is dropped.
    Lossy,
    /// It goes to headroom, and the sender is paused (XOFF).
    Lossless {
        /// Private headroom, `xoff` in SONiC's profiles.
        headroom: Cells,
        /// XON when shared use is at most this (`xon_th`) ...
        xon: Cells,
        /// ... or at most this far below the limit (`xon_offset_th`), whichever is higher.
        xon_offset: Cells,
    },
}

/// How much of the shared pool a group or queue may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SharedLimit {
    /// A fixed number of cells (`static_th`).
    Static(Cells),
    /// 2^alpha times what the pool has free (`dynamic_th`).
    Dynamic(Alpha),
    /// Bound by the pool alone.
    Unlimited,
}

/// The exponent of a dynamic threshold: alpha = 2^n with n from -8 to 8 (SAI's `dynamic_th`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Alpha(i8);

impl Alpha {
    /// The checked constructor: nothing outside -8 to 8.
    #[must_use]
    pub const fn new(exponent: i8) -> Option<Self> {
        if exponent >= -8 && exponent <= 8 { Some(Self(exponent)) } else { None }
    }

    /// The exponent.
    #[must_use]
    pub const fn exponent(self) -> i8 {
        self.0
    }

    /// alpha times `free`, rounded down, or `u32::MAX` cells when that is more.
    #[must_use]
    pub const fn of(self, free: Cells) -> Cells {
        let free = free.0 as u64;
        let n = if self.0 >= 0 { free << self.0 } else { free >> -self.0 };
        Cells(if n > u32::MAX as u64 { u32::MAX } else { n as u32 })
    }
}
