//! Why a buffer plan is refused. Every text has the numbers and what to change.

use thiserror::Error;

use crate::units::{PortId, PriorityGroup};

/// A buffer plan, or a change to one, that cannot hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[allow(missing_docs)] // The fields are what the texts say they are.
pub enum BufferError {
    /// No cell has this size.
    #[error("a cell of {bytes} B is impossible: choose 1 to 65536 octets (1 accounts in octets)")]
    CellSize { bytes: u32 },
    /// More cells than the ledger counts.
    #[error(
        "a buffer of {total} cells is more than the ledger counts ({most}): choose larger cells"
    )]
    TooLarge { total: u32, most: u32 },
    /// More ports than there are port ids.
    #[error("{ports} ports are more than a switch can have: use at most 1024")]
    TooManyPorts { ports: usize },
    /// What is promised privately is more than there is.
    #[error(
        "the buffer is overcommitted: reserved {reserved} + headroom {headroom} + slack {slack} = \
         {sum} cells, but it has {total}: lower them by {} cells, or make the buffer at least \
         {sum} cells ({} B) plus what the groups shall share",
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
    /// XON would come while the group is still at its XOFF limit.
    #[error(
        "port {port} group {group}: XON at {xon} cells lies above the static limit of {limit} \
         cells at which XOFF is sent: make xon at most {limit}"
    )]
    XonAboveLimit { port: PortId, group: PriorityGroup, xon: u32, limit: u32 },
    /// A lossless group without headroom drops the first frame after XOFF.
    #[error(
        "port {port} group {group}: a lossless group needs headroom for what is on its way when \
         XOFF is sent, and has 0 cells: give it headroom, or make it lossy"
    )]
    NoHeadroom { port: PortId, group: PriorityGroup },
    /// The change names a port that the plan does not have.
    #[error("port {port} is not in the buffer plan, which has {ports} ports")]
    UnknownPort { port: PortId, ports: usize },
    /// The change would take headroom that holds frames.
    #[error(
        "port {port} group {group}: {held} cells of headroom hold frames, more than the {size} \
         asked for: nothing was changed; ask again when the pause is over"
    )]
    HeadroomInUse { port: PortId, group: PriorityGroup, held: u32, size: u32 },
    /// The change would take shared cells that hold frames.
    #[error(
        "{used} cells of the shared pool hold frames, more than the {pool} it would keep: nothing \
         was changed; ask for {} cells less, or again when the queues are shorter",
        used - pool
    )]
    PoolInUse { used: u32, pool: u32 },
}
