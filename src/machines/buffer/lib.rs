//! The shared-buffer ledger: allocation of the packet buffer, and pausing of senders.
//!
//! [`Ledger`] counts cells, as switch chips do; the memory itself belongs to the world. A frame is
//! charged to its ingress (port, priority group) by [`Ledger::admit`] and holds a [`Charge`] until
//! [`Ledger::release`]. The owner of the ledger guarantees two things: every charge is released
//! exactly once, and each crossing that a call returns is passed to the PFC sender.
//!
//! Its configuration is here, in cells and with SAI's names, and the errors of a plan, whose messages have
//! the numbers and the remedy.

#![warn(missing_docs)]

mod group;
mod ledger;
#[cfg(test)]
mod tests;

pub use group::{Charge, Crossing, GroupUsage};
pub use ledger::{Admission, Ledger, Refusal};

use thiserror::Error;

use ground::units::{Bytes, Cells, PRIORITIES, PortId, PriorityGroup};

/// The shared buffer of one switch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BufferPlan {
    /// Bytes per cell, 1 to 65536. A frame uses whole cells. 1 accounts in bytes.
    pub cell_bytes: u32,
    /// Size of the buffer.
    pub total: Cells,
    /// The priority groups of each port.
    pub groups: Vec<[GroupPlan; PRIORITIES]>,
    /// Subtracted from the shared pool at start, so that delayed updates between workers never
    /// reduce headroom (see `contracts::mesh::exchange`). 0 for one worker.
    pub slack: Cells,
}

impl BufferPlan {
    /// Returns the size of the buffer.
    #[must_use]
    pub const fn octets(&self) -> Bytes {
        Bytes(self.total.0 as u64 * self.cell_bytes as u64)
    }

    /// Returns the cells of a frame of `wire_len` bytes (FCS included), at least one.
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
    /// Limit of its use of the shared pool.
    pub limit: SharedLimit,
    /// Handling of frames above the limit.
    pub kind: GroupKind,
}

/// Handling of a frame above the shared limit of its group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GroupKind {
    /// The frame is dropped.
    Lossy,
    /// The frame is stored in headroom, and the sender is paused (XOFF).
    Lossless {
        /// Private headroom, `xoff` in SONiC's profiles.
        headroom: Cells,
        /// XON if shared use is at most this (`xon_th`) ...
        xon: Cells,
        /// ... or at most this far below the limit (`xon_offset_th`), whichever is higher.
        xon_offset: Cells,
    },
}

/// Limit of the shared pool's use by a group or queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SharedLimit {
    /// A fixed number of cells (`static_th`).
    Static(Cells),
    /// 2^alpha times the free cells of the pool (`dynamic_th`).
    Dynamic(Alpha),
    /// Limited by the pool alone.
    Unlimited,
}

/// The exponent of a dynamic threshold: alpha = 2^n with n from -8 to 8 (SAI's `dynamic_th`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Alpha(i8);

impl Alpha {
    /// Creates an exponent; `None` outside -8 to 8.
    #[must_use]
    pub const fn new(exponent: i8) -> Option<Self> {
        if exponent >= -8 && exponent <= 8 { Some(Self(exponent)) } else { None }
    }

    /// Returns the exponent.
    #[must_use]
    pub const fn exponent(self) -> i8 {
        self.0
    }

    /// Returns alpha times `free`, rounded down, limited to `u32::MAX` cells.
    #[must_use]
    pub const fn of(self, free: Cells) -> Cells {
        let free = free.0 as u64;
        // SAI's dynamic_th; 64 bits hold 2^8 times any number of cells.
        let n = if self.0 >= 0 { free << self.0 } else { free >> -self.0 };
        Cells(if n > u32::MAX as u64 { u32::MAX } else { n as u32 })
    }
}

/// Error in a buffer plan, or in a change of one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[allow(missing_docs)] // The messages explain the fields.
pub enum BufferError {
    /// The cell size is out of range.
    #[error("a cell of {bytes} B is impossible: choose 1 to 65536 octets (1 accounts in octets)")]
    CellSize { bytes: u32 },
    /// The buffer has more cells than the ledger can count.
    #[error(
        "a buffer of {total} cells is more than the ledger counts ({most}): choose larger cells"
    )]
    TooLarge { total: u32, most: u32 },
    /// More ports than port ids.
    #[error("{ports} ports are more than a switch can have: use at most 1024")]
    TooManyPorts { ports: usize },
    /// The private parts exceed the buffer.
    #[error(
        "the buffer is overcommitted: reserved {reserved} + headroom {headroom} + slack {slack} \
         = {sum} cells, but it has {total}: lower them by {} cells, or make the buffer at least \
         {sum} cells ({} B) plus the cells that groups share",
        sum - u64::from(*total),
        sum * u64::from(*cell_bytes)
    )]
    Overcommitted {
        reserved: u64,
        headroom: u64,
        slack: u32,
        sum: u64,
        total: u32,
        cell_bytes: u32,
    },
    /// XON would be sent while the group is still at its XOFF limit.
    #[error(
        "port {port} group {group}: XON at {xon} cells lies above the static limit of {limit} \
         cells at which XOFF is sent: make xon at most {limit}"
    )]
    XonAboveLimit { port: PortId, group: PriorityGroup, xon: u32, limit: u32 },
    /// A lossless group without headroom drops the first frame after XOFF.
    #[error(
        "port {port} group {group}: a lossless group needs headroom for the frames that are on \
         their way when XOFF is sent, and has 0 cells: give it headroom, or make it lossy"
    )]
    NoHeadroom { port: PortId, group: PriorityGroup },
    /// The change is for a port that the plan does not have.
    #[error("port {port} is not in the buffer plan, which has {ports} ports")]
    UnknownPort { port: PortId, ports: usize },
    /// The change would remove headroom that holds frames.
    #[error(
        "port {port} group {group}: {held} cells of headroom hold frames, more than the {size} \
         of the change: nothing was changed; retry when the pause is over"
    )]
    HeadroomInUse { port: PortId, group: PriorityGroup, held: u32, size: u32 },
    /// The change would remove shared cells that hold frames.
    #[error(
        "{used} cells of the shared pool hold frames, more than the {pool} it would keep: nothing \
         was changed; ask for {} cells less, or again when the queues are shorter",
        used - pool
    )]
    PoolInUse { used: u32, pool: u32 },
}
