//! What was done, and by which numbers: the lines of a log.

use core::fmt;

use super::listed;
use crate::agents::{Failure, Found, Method};
use crate::discovery::{EtsTable, Methods, Party, PeerState};
use crate::time::Instant;
use crate::units::{Cells, Mac, PortId, PriorityGroup, PrioritySet};

/// One step of a port.
#[derive(Clone, PartialEq, Debug)]
pub struct Step {
    /// When.
    pub at: Instant,
    /// Which port.
    pub port: PortId,
    /// What.
    pub kind: StepKind,
}

/// What was done.
#[derive(Clone, PartialEq, Debug)]
pub enum StepKind {
    /// A measurement began.
    Measuring(Method),
    /// It came to its end.
    Found(Found),
    /// It did not.
    Failed(Failure),
    /// A group has its headroom.
    Set {
        /// The group.
        group: PriorityGroup,
        /// What it had.
        from: Cells,
        /// What it has.
        to: Cells,
        /// Octets per cell.
        cell: u32,
        /// What it is made of.
        sum: String,
    },
    /// The buffer cannot carry what a group needs.
    TooLittle {
        /// The group.
        group: PriorityGroup,
        /// What it needs.
        need: Cells,
        /// What it has, and keeps.
        has: Cells,
        /// Octets per cell.
        cell: u32,
        /// Why.
        why: String,
    },
    /// DCBX has another peer, or the peer says something else.
    Peer {
        /// Whether there is one.
        state: PeerState,
        /// Its address.
        peer: Option<Mac>,
        /// What both ends can measure by, if the peer says so.
        methods: Option<Methods>,
    },
    /// PFC runs for these priorities.
    Pfc {
        /// The priorities.
        enable: PrioritySet,
        /// Whose setting it is.
        from: Party,
    },
    /// PFC was to run for these priorities.
    PfcRefused {
        /// The priorities.
        enable: PrioritySet,
        /// Why it does not.
        why: String,
    },
    /// Traffic classes share the link like that.
    Ets {
        /// The table.
        table: EtsTable,
        /// Whose it is.
        from: Party,
    },
    /// Traffic classes were to share the link otherwise.
    EtsRefused {
        /// Why they do not.
        why: String,
    },
}

impl StepKind {
    /// Whether somebody should look at it.
    #[must_use]
    pub const fn is_trouble(&self) -> bool {
        matches!(
            self,
            Self::Failed(_)
                | Self::TooLittle { .. }
                | Self::PfcRefused { .. }
                | Self::EtsRefused { .. }
        )
    }
}

impl fmt::Display for StepKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = |cells: &Cells, cell: &u32| u64::from(cells.0) * u64::from(*cell);
        match self {
            Self::Measuring(method) => write!(f, "measuring the {method}"),
            Self::Found(found) => {
                let d = &found.delay;
                write!(
                    f,
                    "{} over {} rounds: {} least, {} mean, {} most; by {} stamps, +-{}",
                    found.method,
                    found.rounds,
                    d.min,
                    d.mean,
                    d.max,
                    found.stamps,
                    found.uncertainty,
                )
            }
            Self::Failed(failure) => write!(f, "not measured: {failure}"),
            Self::Set { group, from, to, cell, sum } => write!(
                f,
                "group {group}: headroom {} B ({} cells), was {} B: {sum}",
                bytes(to, cell),
                to.0,
                bytes(from, cell),
            ),
            Self::TooLittle { group, need, has, cell, why } => write!(
                f,
                "group {group}: needs {} B ({} cells) of headroom and keeps {} B: {why}; give the \
                 buffer more room, or other groups less",
                bytes(need, cell),
                need.0,
                bytes(has, cell),
            ),
            Self::Peer { state: PeerState::Several, .. } => {
                f.write_str("DCBX: more than one peer speaks on this link, so nothing is agreed")
            }
            Self::Peer { peer: Some(mac), methods, .. } => {
                let can = match methods {
                    None => "does not say what it can measure by",
                    Some(Methods { round_trip: true, ptp: true }) => "measures by both methods",
                    Some(Methods { round_trip: true, .. }) => "measures the round trip",
                    Some(Methods { ptp: true, .. }) => "measures by PTP",
                    Some(_) => "measures by nothing that this port can",
                };
                write!(f, "DCBX: the peer is {mac}, which {can}")
            }
            Self::Peer { .. } => f.write_str("DCBX: no peer any more"),
            Self::Pfc { enable, from } => {
                write!(f, "PFC for priorities {}, {}", listed(*enable), whose(*from))
            }
            Self::PfcRefused { enable, why } => {
                write!(f, "PFC for priorities {} was refused: {why}", listed(*enable))
            }
            Self::Ets { table, from } => {
                let (class, percent) = (table.class, table.bandwidth);
                write!(f, "ETS: classes {class:?}, percent {percent:?}, {}", whose(*from))
            }
            Self::EtsRefused { why } => write!(f, "ETS was refused: {why}"),
        }
    }
}

const fn whose(party: Party) -> &'static str {
    match party {
        Party::Local => "this port's own",
        Party::Peer => "the peer's",
    }
}
