//! Errors of buffer plans. Every message has the numbers and the remedy.

use thiserror::Error;

use ground::units::{PortId, PriorityGroup};

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
